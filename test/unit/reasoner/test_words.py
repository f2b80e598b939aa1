"""The lexicon, times, wording and geometry that answers are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import NS_PER_S, Event, EventKind, Pose
from r4_ros.reasoner import lexicon, moments, uses_words, viewpoint, wording
from r4_ros.reasoner.keys import (
    EGO,
    ClockTime,
    EventKey,
    Form,
    Plan,
    Reference,
    Relation,
    SemanticKey,
    SpatialKey,
    Step,
    TemporalKey,
    TemporalOp,
)

START = 1_700_000_000 * NS_PER_S  # 22:13:20 UTC
DAY = 86400 * NS_PER_S


@pytest.mark.parametrize(
    ("noun", "label", "same"),
    [
        ("mug", "cup", True),
        ("mug", "coffee mug", True),
        ("cup", "blue mug", True),
        ("couch", "sofa", True),
        ("television", "tv", True),
        ("tv", "monitor", True),
        ("tv", "tv stand", False),
        ("table", "dining table", True),
        ("table", "desk", True),
        ("seat", "armchair", True),
        ("armchair", "chair", False),
        ("chair", "armchair", True),
        ("bed", "couch", False),
        ("elephant", "bear", False),
        ("toy car", "car", False),
        ("hot dog", "dog", False),
        ("gizmo", "cup", False),
        ("gizmo", "doodad", None),
        ("robot", "robot 2", True),
        ("dog", "dog bowl", False),
        ("fruit", "banana", True),
        ("people", "person", True),
    ],
)
def test_same_kind(noun: str, label: str, same: bool | None) -> None:
    assert lexicon.same_kind(noun, label) is same


def test_every_kind_of_the_tables_is_known() -> None:
    narrow = {kind for kinds in (*lexicon.NARROWER.values(), *lexicon.STANDS_FOR.values()) for kind in kinds}
    purposes = {kind for kinds in uses_words.PURPOSES.values() for kind in kinds}
    assert narrow | purposes <= set(lexicon.SYNONYMS)


def test_no_word_names_two_kinds() -> None:
    names = [name for names in lexicon.SYNONYMS.values() for name in names]
    assert len(names) == len(set(names))


def test_labels_begin_with_the_word_itself() -> None:
    for noun in ("mug", "table", "gizmo", "furniture", "shelves"):
        assert lexicon.labels_for(noun)[0] == noun


@pytest.mark.parametrize(
    ("noun", "wide"), [("armchair", "chair"), ("desk", ""), ("fruit bowl", "bowl"), ("backpack", "bag"), ("gizmo", "")]
)
def test_wider(noun: str, wide: str) -> None:
    assert lexicon.wider(noun) == wide


@pytest.mark.parametrize(
    ("name", "asked", "known", "same"),
    [
        ("color", "gray", "grey", True),
        ("color", "red", "dark red", True),
        ("color", "red", "blue", False),
        ("openness", "open", "open", True),
        ("openness", "open", "closed", False),
    ],
)
def test_same_value(name: str, asked: str, known: str, same: bool) -> None:
    assert lexicon.same_value(name, asked, known) is same


def times(now_ns: int = START, events: Sequence[Event] = ()) -> moments.Times:
    return moments.Times(now_ns, timezone.utc, lambda key: events)


def window(*keys: TemporalKey, now_ns: int = START, events: Sequence[Event] = ()) -> moments.Window:
    return moments.resolve(keys, times(now_ns, events))


def test_ago_is_an_instant() -> None:
    found = window(TemporalKey(op=TemporalOp.AGO, seconds=90))
    assert (found.at_ns, found.end_ns - found.start_ns) == (START - 90 * NS_PER_S, 1)


def test_a_time_of_day_that_is_still_to_come_was_yesterday() -> None:
    past = window(TemporalKey(op=TemporalOp.AT, start=ClockTime(hour=22, minute=10)))
    future = window(TemporalKey(op=TemporalOp.AT, start=ClockTime(hour=22, minute=20)))
    assert past.at_ns == START - 200 * NS_PER_S
    assert future.at_ns == START + 400 * NS_PER_S - DAY


def test_a_span_over_midnight() -> None:
    found = window(TemporalKey(op=TemporalOp.BETWEEN, start=ClockTime(hour=23), end=ClockTime(hour=1)))
    assert found.end_ns - found.start_ns == 2 * 3600 * NS_PER_S
    assert found.end_ns <= START
    assert list(found.instants) == sorted(found.instants)


def test_before_and_after_an_event() -> None:
    moved = Event("e", EventKind.MOVED, "mug", "rex", "cup", START - 50, START - 60, START - 40, "m", (0, 0, 0))
    key = EventKey(kinds=("moved",))
    before = window(TemporalKey(op=TemporalOp.BEFORE, event=key), events=[moved])
    after = window(TemporalKey(op=TemporalOp.AFTER, event=key), events=[moved])
    assert before.at_ns == START - 61
    assert after.start_ns == START - 40


def test_times_that_exclude_each_other() -> None:
    early = TemporalKey(op=TemporalOp.BEFORE, start=ClockTime(hour=9))
    late = TemporalKey(op=TemporalOp.AFTER, start=ClockTime(hour=10))
    with pytest.raises(UnsupportedQuestion, match="exclude"):
        window(early, late)


@pytest.mark.parametrize(
    "key",
    [
        TemporalKey(op=TemporalOp.BEFORE, arg="the meeting"),
        TemporalKey(op=TemporalOp.HABIT),
        TemporalKey(op=TemporalOp.NTH, rank=2),
        TemporalKey(op=TemporalOp.AFTER, event=EventKey(kinds=("moved",))),
    ],
)
def test_unknown_times_are_refused(key: TemporalKey) -> None:
    with pytest.raises(UnsupportedQuestion):
        window(key)


@settings(max_examples=60, deadline=None)
@given(
    now_s=st.integers(0, 4_000_000_000),
    seconds=st.floats(0, 1e12),
    hour=st.integers(0, 24),
    minute=st.integers(0, 59),
    day=st.integers(-400, 0),
)
def test_windows_are_never_empty_or_negative(now_s: int, seconds: float, hour: int, minute: int, day: int) -> None:
    clock = ClockTime(hour=hour, minute=minute, day=day)
    keys = (TemporalKey(op=TemporalOp.AGO, seconds=seconds), TemporalKey(op=TemporalOp.AT, start=clock))
    for key in keys:
        try:
            found = window(key, now_ns=now_s * NS_PER_S)
        except UnsupportedQuestion:
            continue
        assert 0 <= found.start_ns < found.end_ns


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (12, "12 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
        (90000, "1 day"),
        (3e5, "3 days"),
    ],
)
def test_age(seconds: float, said: str) -> None:
    assert wording.age(seconds) == said


def test_when_names_the_date_only_if_it_is_another() -> None:
    assert wording.when(START - 5 * NS_PER_S, START, timezone.utc) == "5 s ago, at 22:13:15 UTC"
    assert wording.when(START - DAY, START, timezone.utc) == "1 day ago, at 22:13:20 UTC on 2023-11-13"
    assert wording.when(5 * NS_PER_S, 10 * NS_PER_S, timezone.utc) == "5 s ago"


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "cup", "1 cup"),
        (2, "cup", "2 cups"),
        (2, "couch", "2 couches"),
        (3, "person", "3 people"),
        (2, "shelf", "2 shelves"),
    ],
)
def test_plural(count: int, noun: str, said: str) -> None:
    assert wording.plural(noun, count) == said


def test_lists_are_cut_and_say_so() -> None:
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"
    assert wording.listed(list("abcdefg"), 2) == "a, b and 5 more"


@pytest.mark.parametrize(
    ("degrees", "word", "hour"),
    [
        (0, "ahead", 12),
        (90, "left", 9),
        (-90, "right", 3),
        (180, "behind", 6),
        (-45, "ahead and to the right", 2),
        (120, "behind and to the left", 8),
    ],
)
def test_directions(degrees: float, word: str, hour: int) -> None:
    ego = Pose((1.0, 2.0, 0.0), quat_from_yaw(0.7))
    angle = 0.7 + math.radians(degrees)
    found, distance = viewpoint.bearing(ego, (1 + 3 * math.cos(angle), 2 + 3 * math.sin(angle), 1.0))
    assert distance == pytest.approx(3.0)
    assert (viewpoint.direction_word(found), viewpoint.o_clock(found)) == (word, hour)


@settings(max_examples=100, deadline=None)
@given(angle=st.floats(-math.pi, math.pi))
def test_every_direction_has_a_word_and_an_hour(angle: float) -> None:
    assert viewpoint.direction_word(angle)
    assert 1 <= viewpoint.o_clock(angle) <= 12


def test_plans_refer_only_to_earlier_steps() -> None:
    on_itself = SpatialKey(relation=Relation.ON, reference=Reference(kind="step", step=0))
    with pytest.raises(ValidationError, match="earlier"):
        Plan(question="", form=Form.EXISTS, steps=(Step(spatial=(on_itself,)),))
    with pytest.raises(ValidationError, match="exist"):
        Plan(question="", form=Form.DISTANCE, steps=(Step(),), to_other=Reference(kind="step", step=3))
    with pytest.raises(ValidationError):
        Reference(kind="step")
    with pytest.raises(ValidationError):
        Reference(kind="region")
    with pytest.raises(ValidationError):
        SemanticKey.model_validate({"text": "mug", "sql": "DROP"})


def test_the_language_has_a_json_schema() -> None:
    schema = Plan.model_json_schema()
    assert {"question", "form", "steps"} <= set(schema["required"])
    plan = Plan(
        question="q", form=Form.IDENTIFY, steps=(Step(spatial=(SpatialKey(relation=Relation.LEFT_OF, reference=EGO),)),)
    )
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
