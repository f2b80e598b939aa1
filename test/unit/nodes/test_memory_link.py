from __future__ import annotations

import threading

import pytest

from r4_ros.core.errors import OutcomeCode
from r4_ros.core.model import IDENTITY, NO_COVARIANCE, Box, EntryState, Motion, PlacedEntry, Visibility
from r4_ros.nodes.memory_link import KEPT_FRAMES, MemoryLink


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def link(clock: Time) -> MemoryLink:
    return MemoryLink(clock)


def entry(entry_id: str, revision: int = 1) -> PlacedEntry:
    return PlacedEntry(
        entry_id=entry_id,
        agent_id="a",
        revision=revision,
        map_id="",
        label="cup",
        box=Box(IDENTITY, (0.1, 0.1, 0.1)),
        position_covariance=NO_COVARIANCE,
        state=EntryState.PRESENT,
        motion=Motion.MOVABLE,
        visibility=Visibility.VISIBLE,
        confidence=1.0,
        count=1,
        first_seen=1,
        last_seen=1,
    )


def ids(link: MemoryLink) -> list[str]:
    return [e.entry_id for e in link.entries()]


def test_a_frame_is_kept_until_its_ack(link: MemoryLink, clock: Time) -> None:
    link.sent(1, "one")
    link.sent(2, "two")
    link.acknowledged(1, 0, "", 1)
    clock.now = 6.0
    assert link.due() == ["two"]
    assert link.unacknowledged == 1


def test_resending_gets_rarer(link: MemoryLink, clock: Time) -> None:
    link.sent(1, "one")
    sent_at = []
    for second in range(100):
        clock.now = float(second)
        if link.due():
            sent_at.append(second)
    assert sent_at == [5, 15, 35, 75]


def test_a_memory_that_returns_gets_everything_soon(link: MemoryLink, clock: Time) -> None:
    link.sent(1, "one")
    clock.now = 5.0
    link.due()
    link.memory_returned()
    clock.now = 6.5
    assert link.due() == ["one"]


@pytest.mark.parametrize("code", [OutcomeCode.STORE_FAILED, OutcomeCode.WRITER_REFUSED, OutcomeCode.NOT_READY])
def test_a_refusal_that_may_pass_keeps_the_frame(link: MemoryLink, code: OutcomeCode) -> None:
    link.sent(1, "one")
    link.acknowledged(1, code, "why", 0)
    assert (link.unacknowledged, link.refusal) == (1, "why")
    link.acknowledged(1, 0, "", 1)
    assert (link.unacknowledged, link.refusal) == (0, "")


def test_a_frame_that_memory_can_never_take_is_let_go(link: MemoryLink) -> None:
    link.sent(1, "one")
    link.acknowledged(1, OutcomeCode.INVALID_ARGUMENT, "why", 0)
    assert link.unacknowledged == 0


def test_no_more_than_200_frames_are_kept(link: MemoryLink) -> None:
    for sequence in range(1, KEPT_FRAMES + 11):
        link.sent(sequence, sequence)
    assert (link.unacknowledged, link.lost) == (KEPT_FRAMES, 10)


def test_deltas_follow_the_whole_state(link: MemoryLink) -> None:
    link.replace([entry("b"), entry("a")], 3)
    link.apply([entry("c")], ["a"], 3, 4)
    assert ids(link) == ["b", "c"]
    link.replace([entry("a")], 3)  # an older state that arrives late
    assert ids(link) == ["b", "c"]


def test_a_memory_that_begins_empty_needs_no_whole_state(link: MemoryLink) -> None:
    link.apply([entry("a")], [], 0, 1)
    link.apply([entry("b")], [], 1, 2)
    link.replace([], 1)
    assert ids(link) == ["a", "b"]


def test_after_a_gap_the_next_whole_state_counts(link: MemoryLink) -> None:
    link.replace([entry("a")], 3)
    link.apply([entry("z")], [], 5, 6)
    link.replace([entry("b")], 6)
    assert ids(link) == ["b"]


def test_another_database_replaces_what_was_known(link: MemoryLink) -> None:
    link.replace([entry("a")], 90)
    link.apply([entry("x")], [], 1, 2)
    link.replace([entry("x")], 2)
    assert ids(link) == ["x"]


def test_a_delta_that_is_known_already_changes_nothing(link: MemoryLink) -> None:
    link.replace([entry("a")], 4)
    link.apply([entry("old")], ["a"], 3, 4)
    assert ids(link) == ["a"]


def test_settled_means_acknowledged_and_known(link: MemoryLink) -> None:
    assert link.wait_settled(0.0)
    link.replace([], 0)
    link.sent(1, "one")
    assert not link.wait_settled(0.0)
    link.acknowledged(1, 0, "", 7)
    assert not link.wait_settled(0.0)
    link.apply([], [], 0, 7)
    assert link.wait_settled(0.0)


def test_waiting_ends_with_the_ack(link: MemoryLink) -> None:
    link.sent(1, "one")
    timer = threading.Timer(0.05, lambda: (link.apply([], [], 0, 1), link.acknowledged(1, 0, "", 1)))
    timer.start()
    assert link.wait_settled(30.0)
    timer.join()


def test_a_silent_memory_is_waited_for_only_once(link: MemoryLink) -> None:
    link.sent(1, "one")
    assert not link.wait_settled(0.01)
    ended = threading.Event()
    threading.Thread(target=lambda: (link.wait_settled(1000.0), ended.set()), daemon=True).start()
    assert ended.wait(30.0)
