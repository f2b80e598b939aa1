"""What answers say beside the value: numbers agree, places and times are told, nothing is claimed that wasn't seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import NS_PER_S, Answer, Box, EntryState, EventKind, Interval, Pose, Verdict
from r4_ros.reasoner import parse, sieve, wording
from r4_ros.reasoner.keys import SemanticKey, Step

Ask = Callable[..., Answer]
START = 1_700_000_000 * NS_PER_S


@pytest.mark.parametrize(
    ("noun", "plural"),
    [("keys", True), ("red shoes", True), ("scissors", True), ("people", True), ("bus", False), ("glass", False)],
)
def test_plural_names(noun: str, plural: bool) -> None:
    assert wording.is_plural(noun) is plural
    assert wording.be(noun, past=True) == ("were" if plural else "was")
    assert wording.article(noun).startswith("a ") is not plural


def test_sets_and_pairs_are_counted() -> None:
    assert wording.plural("keys", 2) == "2 sets of keys"
    assert wording.plural("brown shoes", 1) == "1 pair of brown shoes"
    assert wording.several("knife") == "knives"


@pytest.mark.parametrize(
    ("early", "late", "said"),
    [
        (88, 88, "12 s ago"),
        (20, 88, "between 1 min 20 s and 12 s ago"),
        (-START // NS_PER_S, 88, "before 12 s ago"),
        (60, 100, "within the last 40 s"),
    ],
)
def test_bounds_of_times(early: int, late: int, said: str) -> None:
    now = START + 100 * NS_PER_S
    assert wording.between(START + early * NS_PER_S, START + late * NS_PER_S, now) == said


def test_plural_things_were_moved(home: Any, ask: Ask, make: Any, happened: Any) -> None:
    home.entries.append(make("keys", "keys", (0.4, 1.5, 0.92), (0.1, 0.1, 0.02)))
    home.events.append(happened(EventKind.MOVED, "keys", "keys", 70, (0.4, 1.5, 0.92), (0.4, 2.8, 0.92)))
    assert "the keys were moved" in ask("were the keys moved").text
    assert "keys were at" in ask("where were the keys before they were moved").text


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("what is my neighbour's name", "name"),
        ("what is the capital of France", "capital"),
        ("whose laptop is it", "owns"),
        ("who took the backpack", "somebody does"),
        ("will the mug be moved", "will be"),
        ("can I reach the mug", "can"),
        ("what is to my left if I sit on the couch", "viewpoint"),
        ("how old is the couch", "isn't in this memory"),
        ("what is the serial number of the tv", "serial"),
        ("wo ist die Tasse", "English"),
        ("杯子在哪里", "English"),
        ("is the kitchen clean", "room"),
    ],
)
def test_what_nobody_saw_is_unsupported(ask: Ask, question: str, word: str) -> None:
    answer = ask(question)
    assert answer.verdict is Verdict.UNSUPPORTED, answer.text
    assert word in answer.text
    assert answer.value is None


@pytest.mark.parametrize(
    "text", ["where is the Straße", "gizmo", "the mug, where?", "was anything moved", "cups on table"]
)
def test_english_is_not_taken_for_another_language(text: str) -> None:
    assert parse.is_english(text)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("are there three chairs", True),
        ("are there 2 chairs in the kitchen", True),
        ("is there only one couch", True),
        ("are there only 2 chairs", False),
        ("which rooms have chairs", ("kitchen", "living room")),
        ("which room has the most chairs", ("kitchen",)),
        ("which cup is blue", ("cup",)),
        ("how many cups are red", 1),
        ("how many rooms are there", 3),
        ("is there a kitchen", True),
        ("where are you", (6.0, 2.0, 0.0)),
        ("where is rex", (6.0, 2.0, 0.0)),
        ("who saw the tv last", ("rex",)),
        ("how tall is the tv", ("0.70 m high",)),
        ("where was the red mug before", (1.9, 2.2, 0.81)),
        ("hey you fool, where is the tv", (8.6, 2.0, 1.2)),
        ("where the hell is the tv", (8.6, 2.0, 1.2)),
        ("I lost my bowl", (1.8, 1.9, 0.8)),
        ("is there anywhere to sit", True),
    ],
)
def test_answered_too(ask: Ask, question: str, value: object) -> None:
    answer = ask(question)
    assert answer.verdict is Verdict.ANSWERED, answer.text
    numeric = isinstance(value, tuple) and isinstance(value[0], float)
    assert answer.value == (pytest.approx(value) if numeric else value)
    assert answer.evidence


def test_fewer_than_claimed_is_no_proof(ask: Ask) -> None:
    answer = ask("are there 5 chairs")
    assert (answer.verdict, answer.value) == (Verdict.NOT_SEEN, False)


def test_no_is_not_said_at_the_edge_of_a_box(home: Any, ask: Ask, make: Any) -> None:
    home.coverage = 1.0
    assert ask("is there a pillow on the couch").verdict is Verdict.ANSWERED
    home.entries.append(make("pillow", "pillow", (7.7, 0.5, 0.6), (0.4, 0.4, 0.2)))
    answer = ask("is there a pillow on the couch")
    assert (answer.verdict, answer.value) == (Verdict.AMBIGUOUS, None)
    assert {e.entry_id for e in answer.evidence} == {"pillow"}


def test_no_is_not_said_of_the_inside_of_things(home: Any, ask: Ask) -> None:
    home.coverage = 1.0
    assert ask("is there a bottle in the counter").verdict is Verdict.NOT_SEEN
    assert ask("is there a bottle in the kitchen").verdict is Verdict.ANSWERED


def test_what_is_only_called_so_is_no_certain_answer(home: Any, ask: Ask) -> None:
    assert ask("is there a monitor").verdict is Verdict.AMBIGUOUS
    home.coverage = 1.0
    assert ask("is there a bottle on the monitor").verdict is Verdict.NOT_SEEN


def test_readings_of_an_anchor(home: Any, ask: Ask, make: Any) -> None:
    home.entries.append(make("tv2", "tv", (8.6, 3.0, 1.2), (0.1, 0.8, 0.5)))
    differ = ask("what is left of the tv")
    assert differ.verdict is Verdict.AMBIGUOUS
    assert differ.text.count("To the left of the tv") == 2
    home.entries = [e for e in home.entries if e.entry_id != "tv2"]
    home.entries.append(make("tv2", "tv", (8.6, 2.05, 2.2), (0.1, 1.2, 0.7)))
    assert ask("what is left of the tv").verdict is Verdict.ANSWERED


def test_robots_are_no_furniture(home: Any, ask: Ask, make: Any) -> None:
    home.entries.append(make("r2", "robot", (6.2, 3.0, 0.5), (0.4, 0.4, 1.0)))
    assert "robot" not in ask("what is to my left").value  # type: ignore[operator]
    assert ask("how many things are in the living room").value == 5


def test_pieces_of_a_thing_are_not_counted(home: Any, make: Any) -> None:
    whole = make("sofa", "sofa", (2, 3.4, 0.45), (2.06, 0.9, 0.73))
    part = make("part", "sofa", (1.74, 3.8, 0.45), (1.6, 0.14, 0.67))
    chip = replace(make("chip", "sofa", (3.05, 3.4, 0.3), (0.05, 0.2, 0.2)), count=2)
    other = make("other", "sofa", (5, 3.4, 0.45), (2, 0.9, 0.73))
    kept = sieve.sifted(Step(semantic=SemanticKey(text="sofa")), [whole, part, chip, other])
    assert [e.entry_id for e in kept] == ["sofa", "other"]
    stack = [make(str(i), "plate", (2, 3, 0.8 + i * 0.02), (0.2, 0.2, 0.02)) for i in range(3)]
    assert len(sieve.whole(stack)) == 3


def test_the_certain_name_is_preferred(make: Any) -> None:
    table, sideboard = make("t", "table", (0, 0, 0.4), (1, 1, 0.8)), make("s", "gadget", (3, 0, 0.4), (1, 1, 0.8))
    kept = sieve.sifted(Step(semantic=SemanticKey(text="table")), [table, sideboard])
    assert kept == (table,)
    mug, cup = make("m", "mug", (0, 0, 0.4), (0.1, 0.1, 0.1)), make("c", "cup", (3, 0, 0.4), (0.1, 0.1, 0.1))
    assert sieve.sifted(Step(semantic=SemanticKey(text="mug")), [mug, cup]) == (mug,)
    assert sieve.sifted(Step(semantic=SemanticKey(text="cup")), [mug, cup]) == (mug, cup)


def test_what_only_came_into_view_did_not_appear(home: Any, ask: Ask, happened: Any) -> None:
    first_look = replace(happened(EventKind.APPEARED, "tv", "tv", 5, (8.6, 2, 1.2)), earliest_ns=0)
    home.events.append(first_look)
    assert ask("what appeared").verdict is Verdict.NOT_SEEN
    home.events[-1] = replace(first_look, earliest_ns=START)
    home.entries = [replace(e, first_seen=START + 5 * NS_PER_S) if e.entry_id == "tv" else e for e in home.entries]
    assert ask("what appeared").verdict is Verdict.AMBIGUOUS


def test_taken_away_and_brought_back_is_told(home: Any, ask: Ask, happened: Any) -> None:
    home.events.append(happened(EventKind.DISAPPEARED, "plant", "potted plant", 40, (8.5, 3.4, 0.4)))
    home.events.append(happened(EventKind.REAPPEARED, "plant", "potted plant", 60, (8.5, 3.4, 0.4)))
    answer = ask("was the plant moved")
    assert answer.verdict is Verdict.AMBIGUOUS
    assert "came back" in answer.text


def test_several_witnesses_narrow_the_time(home: Any, ask: Ask) -> None:
    lost = home.events[1]
    early = replace(
        lost, earliest_ns=START + 10 * NS_PER_S, latest_ns=START + 80 * NS_PER_S, stamp_ns=START + 80 * NS_PER_S
    )
    late = replace(
        early, event_id="b", agent_id="bob", earliest_ns=START + 61 * NS_PER_S, latest_ns=START + 90 * NS_PER_S
    )
    home.events[1:] = [early, late]
    assert "between 39 s and 20 s ago" in ask("when did the backpack disappear").text


def test_each_robot_tells_its_own_sighting(home: Any, ask: Ask) -> None:
    home.trails["bob"] = lambda _: Pose((1.0, 1.0, 0.0))
    tv = next(e for e in home.entries if e.entry_id == "tv")
    home.entries.append(replace(tv, entry_id="tv_b", agent_id="bob", last_seen=START + 20 * NS_PER_S))
    answer = ask("who saw the tv last")
    assert answer.value == ("rex",)
    assert "bob" in answer.text
    places = ask("where are you")
    assert places.verdict is Verdict.AMBIGUOUS
    assert "bob is at" in places.text and "rex is at" in places.text


def test_nearly_ahead_is_slightly_to_a_side(ask: Ask) -> None:
    turned = Pose((6, 2, 0), quat_from_yaw(0.3))
    assert ask("is the tv to my left or right", viewpoint=turned).value == ("right",)
    assert ask("is the tv to my left or right").verdict is Verdict.AMBIGUOUS


def test_gone_things_keep_their_colour(home: Any, ask: Ask) -> None:
    answer = ask("what colour is the backpack")
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, ("blue",))
    assert "gone" in answer.text


def test_a_vanished_look_alike_is_not_counted_with_the_living(home: Any, ask: Ask, make: Any) -> None:
    gone = replace(make("old", "tv", (8.6, 2, 1.2), (0.1, 1.3, 0.8)), state=EntryState.GONE)
    home.entries.append(replace(gone, box=Box(gone.box.pose, gone.box.extent)))
    assert ask("how many tvs are there").value == 1


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("when did the plant come back", START + 60 * NS_PER_S),
        ("what came back", ("potted plant",)),
        ("is the plant back", True),
        ("how long ago did you see the tv", START + 95 * NS_PER_S),
        ("how many chairs does the kitchen have", 2),
        ("where were you when the mug was moved", (6.0, 2.0, 0.0)),
        ("are the chairs in the kitchen black", True),
    ],
)
def test_more_words_for_time_and_place(home: Any, ask: Ask, happened: Any, question: str, value: object) -> None:
    home.events.append(happened(EventKind.REAPPEARED, "plant", "potted plant", 60, (8.5, 3.4, 0.4)))
    answer = ask(question)
    assert answer.verdict is Verdict.ANSWERED, answer.text
    assert answer.value == value


def test_happenings_that_may_lie_outside_the_asked_time_are_not_claimed(home: Any, ask: Ask) -> None:
    t = [START + second * NS_PER_S for second in range(100)]
    home.events[0] = replace(home.events[0], earliest_ns=t[10], stamp_ns=t[90], latest_ns=t[90])
    assert ask("what was moved in the last 30 seconds").verdict is Verdict.AMBIGUOUS
    assert ask("was the red mug moved in the last 30 seconds").verdict is Verdict.AMBIGUOUS
    assert ask("what was moved").verdict is Verdict.ANSWERED
    assert ask("where were you when the mug was moved").verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize("question", ["is there space on the counter", "is there a gizmo on the counter"])
def test_no_is_said_only_of_kinds_that_would_be_seen(home: Any, ask: Ask, question: str) -> None:
    home.coverage = 1.0
    assert ask(question).verdict is Verdict.NOT_SEEN
    assert ask("is there a bottle on the counter").verdict is Verdict.ANSWERED


def test_what_may_have_left_by_then_is_no_certain_answer(home: Any, ask: Ask) -> None:
    t = [START + second * NS_PER_S for second in range(101)]
    home.events[1] = replace(home.events[1], earliest_ns=t[60], stamp_ns=t[90], latest_ns=t[90])
    there = home.entries[11].present
    home.entries[11] = replace(home.entries[11], present=replace(there, end=t[90]))
    assert ask("was there a backpack in the living room 50 seconds ago").verdict is Verdict.ANSWERED
    answer = ask("was there a backpack in the living room 20 seconds ago")
    assert (answer.verdict, answer.value) == (Verdict.AMBIGUOUS, True)
    assert "had left by then" in answer.text
    assert ask("how many backpacks were in the living room in the last 30 seconds").verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize(("asked", "meant"), [("where is the bakpack", "backpack"), ("where is the coutch", "couch")])
def test_misspelt_things_are_asked_back(ask: Ask, asked: str, meant: str) -> None:
    answer = ask(asked)
    assert answer.verdict in (Verdict.AMBIGUOUS, Verdict.STALE)
    assert meant in answer.text


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("if I sit on the couch facing the tv what is to my left", ("chair",)),
        ("were is the tv", (8.6, 2.0, 1.2)),
        ("where is the robot rex", None),
    ],
)
def test_without_commas_and_with_slips(ask: Ask, question: str, value: object) -> None:
    answer = ask(question)
    assert answer.value == (pytest.approx(value) if isinstance(value, tuple) and len(value) == 3 else value)


def test_one_robot_at_a_time(home: Any, ask: Ask) -> None:
    answer = ask("what has robot1 seen that robot2 has not")
    assert answer.verdict is Verdict.UNSUPPORTED
    assert "one robot" in answer.text


def test_before_needs_a_thing(ask: Ask) -> None:
    assert ask("what was on the table before").verdict is Verdict.UNSUPPORTED
    assert ask("what is the bowl next to").form == "locate"


def test_one_who_walks_about_is_not_many(ask: Ask, home: Any, make: Any) -> None:
    """Seen in several places one after the other: perhaps one person. Seen at the same time: surely two."""
    for k, (first, last) in enumerate(((5, 8), (20, 25), (60, 66))):
        home.entries.append(make(f"p{k}", "person", (1.0 + 2 * k, 1.0, 0.9), (0.5, 0.4, 1.7), first=first, last=last))
    many = ask("how many people are there")
    assert (many.verdict, many.value) == (Verdict.AMBIGUOUS, 1) and "At least" in many.text, many.text
    last = ask("where did you last see a person")
    assert last.verdict is Verdict.ANSWERED and last.value == (5.0, 1.0, 0.9), last.text
    home.entries.append(make("other", "person", (8.0, 1.0, 0.9), (0.5, 0.4, 1.7), first=62, last=70))
    assert ask("how many people are there").value == 2
    home.entries = [e for e in home.entries if e.entry_id not in ("p0", "p1")]
    two = ask("how many people are there")
    assert (two.verdict, two.value) == (Verdict.ANSWERED, 2), two.text


def test_who_looked_at_a_room_through_a_door_counts_at_least(ask: Ask, home: Any) -> None:
    home.coverage = 0.1
    few = ask("how many chairs are in the kitchen")
    assert (few.verdict, few.value) == (Verdict.AMBIGUOUS, 2) and "At least" in few.text and "10%" in few.text
    home.coverage = 0.9
    assert ask("how many chairs are in the kitchen").verdict is Verdict.ANSWERED


def test_what_another_robot_saw_after_that_time_had_not_left_by_then(home: Any, ask: Ask) -> None:
    """One robot last saw it at 60 s and found it gone at 90 s; another one saw it there at 85 s."""
    t = [START + second * NS_PER_S for second in range(101)]
    home.events[1] = replace(home.events[1], earliest_ns=t[60], stamp_ns=t[90], latest_ns=t[90])
    pack = home.entries[11]
    sightings = (*pack.sightings, Interval(t[84], t[86]))
    home.entries[11] = replace(pack, present=replace(pack.present, end=t[90]), sightings=sightings, last_seen=t[85])
    answer = ask("was there a backpack in the living room 20 seconds ago")
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, True), answer.text
