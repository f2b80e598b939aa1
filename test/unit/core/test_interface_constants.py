"""The enums of the core carry the same numbers as the constants of the interface files, both ways."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import pytest

from r4_ros.core import errors
from r4_ros.core.errors import FrameRefused, OutcomeCode, R4Error, RefusalReason, StoreError
from r4_ros.core.model import (
    CorrectionKind,
    EntryState,
    EpisodeSource,
    EventKind,
    Feedback,
    Motion,
    Order,
    Reference,
    TemporalKind,
    Verdict,
    Visibility,
)

ROOT = Path(__file__).resolve().parents[3]
CONSTANT = re.compile(r"^\s*u?int\d+\s+([A-Z][A-Z0-9_]*)\s*=\s*(\d+)", re.MULTILINE)

PAIRS = [
    (OutcomeCode, "msg/Outcome.msg", ""),
    (Visibility, "msg/Observation.msg", ""),
    (EntryState, "msg/ObjectEntry.msg", "STATE_"),
    (Motion, "msg/ObjectEntry.msg", "MOTION_"),
    (EventKind, "msg/MemoryEvent.msg", ""),
    (EpisodeSource, "msg/Episode.msg", ""),
    (Reference, "msg/SpatialConstraint.msg", "REFERENCE_"),
    (TemporalKind, "msg/TemporalConstraint.msg", ""),
    (Order, "srv/Retrieve.srv", "ORDER_"),
    (Feedback, "srv/RecordOutcome.srv", ""),
    (CorrectionKind, "srv/CorrectEntry.srv", ""),
]


def constants(path: str, prefix: str) -> dict[str, int]:
    found = CONSTANT.findall((ROOT / path).read_text())
    return {name.removeprefix(prefix): int(value) for name, value in found if name.startswith(prefix)}


@pytest.mark.parametrize(("enum", "path", "prefix"), PAIRS, ids=lambda p: getattr(p, "__name__", None))
def test_an_enum_equals_the_constants_of_its_interface(enum: type[Enum], path: str, prefix: str) -> None:
    assert {member.name: member.value for member in enum} == constants(path, prefix)


def test_the_verdicts_are_those_that_the_answer_documents() -> None:
    line = next(row for row in (ROOT / "msg/Answer.msg").read_text().splitlines() if row.startswith("string verdict"))
    assert [v.strip() for v in line.split("#")[1].split(",")] == [v.value for v in Verdict]


def all_errors() -> list[type[R4Error]]:
    return [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, R4Error)]


def test_every_error_owns_a_code_and_only_kinds_of_store_errors_share_one() -> None:
    own = [e for e in all_errors() if e is not R4Error and StoreError not in e.__bases__]
    codes = [e.code for e in own]
    assert len(set(codes)) == len(codes)
    assert set(codes) == set(OutcomeCode) - {OutcomeCode.OK, OutcomeCode.INTERNAL}
    assert {e.code for e in all_errors() if issubclass(e, StoreError)} == {StoreError.code}


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))
    assert drawn == {e.__name__ for e in all_errors() if e is not R4Error}


def test_a_refused_frame_says_why_in_words_and_in_a_countable_reason() -> None:
    refused = FrameRefused(RefusalReason.NO_POSE, "no transform map -> camera")
    assert (str(refused), refused.reason.value) == ("no transform map -> camera", "no_pose")
