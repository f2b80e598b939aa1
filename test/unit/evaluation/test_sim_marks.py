"""Marks of answers, foreign questions, wordings, and what the scenarios' scripts do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r4_ros.bridges.apartment.layout import furnish
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Box, Pose
from r4_ros.evaluation.sim.ask import fill, wordings
from r4_ros.evaluation.sim.cases import Case, Want, read_cases
from r4_ros.evaluation.sim.kinds import SOURCES
from r4_ros.evaluation.sim.marks import mark
from r4_ros.evaluation.sim.scenarios import scenarios
from r4_ros.evaluation.sim.surfaces import SURFACES, surface_under
from r4_ros.evaluation.sim.truth import Truth, gap, related

SECOND = 1_000_000_000
LOG: dict[str, Any] = {
    "rooms": [{"name": "kitchen"}],
    "robots": ["robot1"],
    "objects": [
        {
            "id": 1,
            "name": "red mug",
            "label": "mug",
            "color": "red",
            "movable": True,
            "stays": [
                {
                    "start_ns": 0,
                    "end_ns": 60 * SECOND,
                    "centre": [8.0, 2.9, 0.79],
                    "extent": [0.1, 0.1, 0.1],
                    "room": "kitchen",
                },
                {
                    "start_ns": 60 * SECOND,
                    "end_ns": 101 * SECOND,
                    "centre": [1.9, 2.1, 0.482],
                    "extent": [0.1, 0.1, 0.1],
                    "room": "living room",
                },
            ],
        },
    ],
    "emptied": {"1@0": 12},
    "frames": [
        {
            "agent_id": "robot1",
            "stamp_ns": t * SECOND,
            "base": [0, 0, 0],
            "pixels": {"1": 300} if t < 50 or t > 80 else {},
        }
        for t in range(101)
    ],
}


def case(want: Want, kind: str = "k", things: tuple[str, ...] = ()) -> Case:
    return Case("1", "s", "?", kind, "verify", "", "none", want, things=things)


def answer(verdict: str, value: Any = None, text: str = "", evidence: list[dict[str, Any]] | None = None) -> Any:
    return {"verdict": verdict, "value": value, "answer": text, "evidence": evidence or []}


def cited(x: float, first_s: int, last_s: int, label: str = "mug") -> dict[str, Any]:
    seen = {"first_seen": first_s * SECOND, "last_seen": last_s * SECOND}
    return {"entry_id": str(x), "label": label, "position": [x, 2.9, 0.79], **seen}


@pytest.mark.parametrize(
    ("want", "value", "right", "fabricated"),
    [
        (Want("bool", True), True, True, False),
        (Want("bool", True), "yes", True, False),
        (Want("bool", True), False, False, True),
        (Want("bool", True), ["mug"], False, False),
        (Want("int", 2), 2, True, False),
        (Want("int", 2), 3, False, True),
        (Want("int", 1), True, False, False),
        (Want("number", 2.0, 0.4), 2.3, True, False),
        (Want("number", 2.0, 0.4), 2.5, False, True),
        (Want("time", 100 * SECOND, 2.0), 99 * SECOND, True, False),
        (Want("time", 100 * SECOND, 2.0), 97 * SECOND, False, True),
        (Want("place", tolerance=0.3, centre=(1, 1, 1), extent=(2, 2, 2)), [1.9, 1, 1], True, False),
        (Want("place", tolerance=0.3, centre=(1, 1, 1), extent=(0.1, 0.1, 0.1)), [1.9, 1, 1], False, True),
        (Want("labels", ("bowl", "mug")), ["mug", "bowl", "mug"], True, False),
        (Want("labels", ("bowl", "mug")), ["mug"], False, False),
        (Want("labels", ("bowl", "mug")), ["mug", "pan"], False, True),
        (Want("words", ("left",)), ["ahead and to the left"], True, False),
        (Want("words", ("left",)), ["right"], False, True),
    ],
)
def test_values_are_right_or_claims_are_false(want: Want, value: Any, right: bool, fabricated: bool) -> None:
    found = mark(case(want), answer("ANSWERED", value), None)
    assert (found.right, found.fabricated) == (right, fabricated)
    hedged = mark(case(want), answer("AMBIGUOUS", value), None)
    assert (hedged.right, hedged.hedged, hedged.fabricated) == (False, right, False)


def test_a_room_told_in_words_beside_the_place_counts() -> None:
    want = Want("words", ("kitchen",), 0.3, (1, 1, 1), (0.1, 0.1, 0.1))
    assert mark(case(want), answer("ANSWERED", [1, 1, 1], "It is in the kitchen."), None).right
    assert not mark(case(want), answer("ANSWERED", [1, 1, 1], "It is in the hall."), None).right


def test_not_seen_is_a_right_no_and_never_a_yes() -> None:
    assert mark(case(Want("bool", False)), answer("NOT_SEEN"), None).right
    assert mark(case(Want("bool", True)), answer("NOT_SEEN", False), None).silent


def test_what_cannot_be_known_must_not_be_claimed() -> None:
    want = Want("none", verdicts=("NOT_SEEN",))
    assert mark(case(want), answer("NOT_SEEN"), None).right
    assert mark(case(want), answer("ANSWERED", [0, 0, 0]), None).fabricated
    alike = Want("none", verdicts=("AMBIGUOUS",))
    both = [cited(1.0, 0, 1), cited(2.0, 0, 1)]
    assert mark(case(alike, "ambiguous", ("a", "b")), answer("ANSWERED", [0, 0, 0], "", both), None).right
    assert not mark(case(alike, "ambiguous", ("a", "b")), answer("ANSWERED", [0, 0, 0], "", both[:1]), None).right


def test_cited_evidence_must_have_been_there() -> None:
    truth = Truth(LOG)
    yes = case(Want("bool", True))
    assert mark(yes, answer("ANSWERED", True, "", [cited(8.0, 0, 49)]), truth).right
    assert mark(yes, answer("ANSWERED", True, "", [cited(5.0, 0, 49)]), truth).fabricated
    assert mark(yes, answer("ANSWERED", True, "", [cited(8.0, 85, 99)]), truth).fabricated
    assert mark(yes, answer("ANSWERED", True, "", [cited(8.0, 0, 49, "cup")]), truth).fabricated


def test_what_was_seen_decides_what_is_known() -> None:
    truth = Truth(LOG)
    mug = truth.things[0]
    assert truth.where_now(mug) is mug.stays[1]
    assert mug.is_known_at(30 * SECOND, truth.now_ns)
    assert not mug.is_known_at(55 * SECOND, truth.now_ns), "seen there before, and never again"
    assert not mug.is_known_at(70 * SECOND, truth.now_ns), "moved, and not seen there yet"
    assert truth.named(mug) == "mug"
    assert (mug.stays[0].surface, mug.stays[1].surface) == (SURFACES[3], SURFACES[0])


def test_gaps_and_kinds() -> None:
    a, b = (Box(Pose((x, 0.0, 0.0)), (1.0, 1.0, 1.0)) for x in (0.0, 2.5))
    assert gap(a, b) == pytest.approx(1.5) and gap(a, a) == 0
    assert related("mug", "cup") and not related("mug", "chair")


def test_each_kind_has_wordings_and_each_wording_its_gaps_filled() -> None:
    assert set(wordings()) == set(SOURCES)
    slots = {"x": "red shoes", "y": "bed", "s": "desk", "r": "study", "n": "a minute", "k": "mugs", "c": "red"}
    for lines in wordings().values():
        for line in lines:
            text = fill(line, slots)
            assert "{" not in text and "is the red shoes" not in text and "a red shoes" not in text, text


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        ("where's the {x}", "where are the keys"),
        ("Is the {x} near?", "Are the keys near?"),
        ("Did you see a {x}?", "Did you see any keys?"),
        ("When was the {x} seen?", "When were the keys seen?"),
    ],
)
def test_plurals_agree(wording: str, text: str) -> None:
    assert fill(wording, {"x": "keys"}) == text


def test_scripts_put_things_onto_free_room() -> None:
    made = scenarios(4)
    for scenario in made:
        things = {t.name: t for t in furnish(scenario.seed)}
        for change in scenario.script:
            if change.to is None:
                continue
            placed = things[change.name].moved(change.to).box()
            back = change.to == things[change.name].position
            assert back or surface_under(placed) is not None, (scenario.name, change)
    assert scenarios(2) == made[:2] and len({s.seed for s in made}) == 4


def test_foreign_questions_are_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    place = {"kind": "place", "centre": [1, 2, 3], "tolerance": 0.5}
    file.write_text(json.dumps({"text": "where is it", "want": place}) + "\n")
    (read,) = read_cases(file)
    assert read.want.centre == (1, 2, 3) and mark(read, answer("ANSWERED", [1, 2, 3.2]), None).right
    wrong: list[dict[str, Any]] = [{}, {"text": "x"}, {"text": "x", "want": {"kind": "odd"}}]
    for row in [*wrong, {"text": "x", "want": {"kind": "place"}}]:
        file.write_text(json.dumps(row))
        with pytest.raises(InvalidArgument, match="line 1"):
            read_cases(file)
