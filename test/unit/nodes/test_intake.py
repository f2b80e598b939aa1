"""Frames that wait: turns, rates, room, and what a batch of them changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from r4_ros.core.errors import InvalidArgument, NotPermitted
from r4_ros.nodes.intake import Intake, check_sender, net_change


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def taken(intake: Intake) -> list[Any]:
    return [one[1] for one in iter(intake.take, None) if one is not None]


def test_agents_take_turns_and_each_ones_frames_keep_their_order() -> None:
    intake = Intake(10, 0.0)
    for number in range(3):
        intake.offer("flood", number)
    for name in ("a", "b"):
        intake.offer(name, name)
    assert intake.pending == 5
    assert taken(intake) == [0, "a", "b", 1, 2]
    assert intake.take() is None and intake.pending == 0


def test_what_has_no_room_goes_from_the_same_agent() -> None:
    intake = Intake(2, 0.0)
    intake.offer("other", "x")
    assert [intake.offer("flood", number) for number in range(4)] == [True, True, False, False]
    assert sorted(map(str, taken(intake))) == ["2", "3", "x"]


def test_what_is_sent_again_while_it_waits_waits_once() -> None:
    intake = Intake(10, 0.0)
    assert [intake.offer("a", data) for data in (b"1", b"2", b"1")] == [True] * 3
    assert taken(intake) == [b"1", b"2"]
    assert intake.offer("a", b"1") and taken(intake) == [b"1"]


def test_an_agent_beyond_its_rate_waits_alone() -> None:
    clock = Clock()
    intake = Intake(100, 10.0, clock)
    for number in range(50):
        intake.offer("fast", number)
    assert taken(intake) == list(range(20))  # two seconds' worth at once
    intake.offer("slow", "s")
    assert taken(intake) == ["s"]
    clock.now = 1.0
    assert taken(intake) == list(range(20, 30))
    clock.now = 100.0
    assert taken(intake) == list(range(30, 50))  # no more than two seconds' worth is saved up


def test_a_slow_rate_lets_single_frames_through() -> None:
    clock = Clock()
    intake = Intake(100, 0.1, clock)
    for number in range(3):
        intake.offer("a", number)
    assert taken(intake) == [0]
    clock.now = 10.0
    assert taken(intake) == [1]


def message(agent: str = "r1", observations: int = 1, label: str = "mug") -> Any:
    seen = SimpleNamespace(
        label_embedding=[0.0] * 10, description_embedding=[], attributes=[], label=label, description="", image=""
    )
    return SimpleNamespace(agent_id=agent, observations=[seen] * observations, view_depth=[])


def test_a_frame_is_its_topics_agents_and_not_too_large() -> None:
    check_sender("r1", message(), 1, 1)
    check_sender("", message("anybody"), 1, 1)
    with pytest.raises(NotPermitted, match="'r2'"):
        check_sender("r1", message("r2"), 1, 1)
    with pytest.raises(InvalidArgument, match="frame_observations, 1"):
        check_sender("r1", message(observations=2), 1, 1)
    with pytest.raises(InvalidArgument, match="frame_kb, 1"):
        check_sender("r1", message(label="m" * 1000), 1, 1)


def test_what_several_frames_changed_is_told_once() -> None:
    def receipt(changed: dict[str, int], *removed: str) -> Any:
        entries = [SimpleNamespace(entry_id=name, count=count) for name, count in changed.items()]
        return SimpleNamespace(changed=entries, removed=removed)

    changed, removed = net_change(
        [receipt({"a": 1, "b": 1}), receipt({"a": 2}, "b"), receipt({"c": 1}), receipt({}, "d"), receipt({"d": 3})]
    )
    assert [(e.entry_id, e.count) for e in changed] == [("a", 2), ("c", 1), ("d", 3)]
    assert removed == ["b"]
