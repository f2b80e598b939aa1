"""A gone entry and exactly one new one that agree are one thing that moved; in doubt it is said what may be what."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import Entry, EventKind, Pose

HERE, THERE, ELSEWHERE, BEYOND = ((2.0, y, 0.8) for y in (0.0, 5.0, -5.0, 9.0))


class World:
    """One robot sees one thing at a time, at any of a few places, and finds places empty."""

    def __init__(self, memory: Any, robot: Any, thing: Any) -> None:
        self.memory, self.robot, self.thing, self.now_s = memory, robot, thing, 0.0

    def see(self, at: tuple[float, ...], colors: str = "", label: str = "keys", size: float = 0.1, **more: Any) -> None:
        """Sightings at a place, one for each letter of what colour it looked (without any: one)."""
        for color in colors or " ":
            self.now_s += 1
            self.robot.where = (0.0, at[1], 0.0)
            seen = self.thing(label, at, (size, size, size)).seen(**more)
            if color != " ":
                seen = seen.seen(attributes=(("color", color),))
            self.memory.ingest(self.robot.frame(self.now_s, seen))

    def gone(self, at: tuple[float, ...]) -> None:
        """The place of what is there is found empty."""
        entry = self.at(at)
        for _ in range(3):
            self.now_s += 1
            self.memory.ingest(self.robot.absent(self.now_s, entry.entry_id))

    def at(self, at: tuple[float, ...]) -> Entry:
        """The newest entry at a place."""
        found = [p for p in self.memory.placed() if abs(p.box.pose.position[1] - at[1]) < 0.5]
        return next(e for e in self.memory.entries() if e.entry_id == found[-1].entry_id)

    def linked(self, new: tuple[float, ...], old: tuple[float, ...]) -> bool:
        """Whether what is at one place is taken for what was at the other; the events say the same."""
        a, b = self.at(new), self.at(old)
        events = [e for e in self.memory.events() if e.kind is EventKind.MOVED and e.entry_id == a.entry_id]
        assert len(events) == bool(a.moved_from)
        return a.moved_from == b.entry_id

    def may_be(self, new: tuple[float, ...]) -> set[str]:
        entry = self.at(new)
        assert not entry.moved_from
        return set(entry.maybe_same_as)


@pytest.fixture
def world(memory: Any, robot: Any, thing: Any) -> World:
    return World(memory, robot, thing)


def test_the_colour_voted_for_decides_not_one_glimpse(world: World) -> None:
    """Yellow keys that looked red now and then aren't the red ones that turn up elsewhere."""
    world.see(HERE, "yyyyyyyrrr")
    world.gone(HERE)
    world.see(THERE, "r")
    assert not world.linked(THERE, HERE)
    world.see(THERE, "rrrrr")
    assert not world.linked(THERE, HERE) and not world.may_be(THERE)


def test_few_votes_link_nothing_until_there_are_enough(world: World) -> None:
    world.see(HERE, "yyyyr")
    world.gone(HERE)
    world.see(THERE, "y")
    assert world.may_be(THERE) == {world.at(HERE).entry_id}
    world.see(THERE, "yy")
    assert world.linked(THERE, HERE)


def test_a_link_is_withdrawn_when_the_votes_turn(world: World) -> None:
    world.see(HERE, "rrrr")
    world.gone(HERE)
    world.see(THERE, "r")
    assert world.linked(THERE, HERE)
    world.see(THERE, "yyyyy")
    assert not world.linked(THERE, HERE) and not world.may_be(THERE)


def test_a_link_is_withdrawn_when_the_label_turns_and_made_when_it_comes(world: World) -> None:
    world.see(HERE)
    world.gone(HERE)
    world.see(THERE, label="keys")
    assert world.linked(THERE, HERE)
    world.see(THERE, "   ", label="keys", track_id="a")
    world.see(THERE, " " * 9, label="phone", track_id="a")
    assert world.at(THERE).label == "phone" and not world.linked(THERE, HERE)
    world.see(THERE, " " * 9, label="keys", track_id="a")
    assert world.at(THERE).label == "keys" and world.linked(THERE, HERE)


def test_the_old_one_is_back_and_nothing_had_moved(world: World) -> None:
    world.see(HERE)
    world.gone(HERE)
    world.see(THERE)
    assert world.linked(THERE, HERE)
    world.see(HERE)
    assert not world.linked(THERE, HERE)
    assert [e.kind for e in world.memory.events()].count(EventKind.MOVED) == 0


def test_a_look_alike_that_wasnt_seen_since_may_be_it(world: World) -> None:
    world.see(ELSEWHERE)
    world.see(HERE)
    world.gone(HERE)
    world.see(THERE)
    assert world.may_be(THERE) == {world.at(HERE).entry_id}
    world.see(ELSEWHERE)
    world.see(THERE)
    assert world.linked(THERE, HERE), "all others are accounted for now"


def test_a_late_look_alike_that_may_have_stood_there_all_along(world: World) -> None:
    world.see(HERE)
    world.gone(HERE)
    world.see(THERE)
    assert world.linked(THERE, HERE)
    old = world.at(HERE).entry_id
    world.see(ELSEWHERE)
    assert world.may_be(THERE) == world.may_be(ELSEWHERE) == {old}
    world.see(THERE)
    assert world.may_be(THERE) == {old}


def test_a_late_look_alike_that_was_brought_later_changes_nothing(world: World) -> None:
    world.see(HERE)
    world.gone(HERE)
    world.see(THERE)
    world.robot.where = (0.0, ELSEWHERE[1], 0.0)
    world.now_s += 1
    world.memory.ingest(world.robot.frame(world.now_s))  # the place is seen empty
    world.now_s += 30
    world.see(ELSEWHERE)
    assert world.linked(THERE, HERE)


def test_several_gone_and_several_new_stay_open_until_one_is_left(world: World) -> None:
    for place in (HERE, ELSEWHERE, HERE):
        world.see(place)
    world.gone(HERE)
    world.gone(ELSEWHERE)
    both = {world.at(HERE).entry_id, world.at(ELSEWHERE).entry_id}
    world.see(THERE)
    assert world.may_be(THERE) == both
    world.see(BEYOND)
    assert world.may_be(BEYOND) == both
    world.see(ELSEWHERE)  # back
    world.see(THERE)
    assert world.may_be(THERE) == {world.at(HERE).entry_id}, "one went, and two came"


def test_another_size_is_another_thing_as_seen_whole(world: World) -> None:
    world.see(HERE, size=0.1)
    world.gone(HERE)
    world.see(THERE, size=0.4)
    assert not world.linked(THERE, HERE) and not world.may_be(THERE)


def test_two_robots_link_only_what_is_their_own(world: World, make_robot: Any) -> None:
    world.see(HERE)
    world.gone(HERE)
    other = World(world.memory, make_robot("r2", writer="w2", map_id="home"), world.thing)
    other.now_s = world.now_s
    other.see(THERE)
    assert not other.at(THERE).moved_from and not other.at(THERE).maybe_same_as


def test_an_unsettled_robot_links_nothing_and_catches_up(memory: Any, robot: Any, thing: Any) -> None:
    world = World(memory, robot, thing)
    robot.drift = Pose()
    world.see(HERE)
    world.gone(HERE)
    robot.drift = Pose((0.6, 0.0, 0.0), quat_from_yaw(0.1))
    world.see(THERE)
    assert memory.unsettled() == ["r1"] and not world.at(THERE).moved_from and not world.may_be(THERE)
    world.now_s += 6
    world.see(THERE)
    world.see(THERE)
    assert memory.unsettled() == [] and world.at(THERE).moved_from


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["see", "gone"]), st.sampled_from([HERE, THERE, ELSEWHERE]), st.sampled_from(["r", "y", ""])
    ),
    min_size=3,
    max_size=25,
)


@given(steps=STEPS)
@settings(max_examples=50, deadline=None)
def test_whatever_happens_links_are_one_to_one_and_events_tell_them(
    steps: list[tuple[str, tuple[float, ...], str]], make_memory: Any, make_robot: Any, thing: Any
) -> None:
    with make_memory() as memory:
        world = World(memory, make_robot(), thing)
        for what, place, color in steps:
            known = [p for p in memory.placed() if abs(p.box.pose.position[1] - place[1]) < 0.5]
            if what == "see":
                world.see(place, color)
            elif known:
                world.gone(place)
            entries = {e.entry_id: e for e in memory.entries()}
            linked = [e for e in entries.values() if e.moved_from]
            assert len({e.moved_from for e in linked}) == len(linked)
            for e in linked:
                old = entries[e.moved_from]
                assert old.last_seen < e.first_seen and not e.maybe_same_as and old.moved_from != e.entry_id
            events = [e.entry_id for e in memory.events() if e.kind is EventKind.MOVED]
            assert sorted(events) == sorted(e.entry_id for e in linked)
