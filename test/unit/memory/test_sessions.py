from __future__ import annotations

from typing import Any

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, WriterRefused
from r4_ros.core.model import Query
from r4_ros.memory.sessions import Sessions, own_map


def sessions_of(library: Any) -> list[tuple[int, str]]:
    return [(e.session, e.map_id) for e in library.entries()]


def test_a_second_live_writer_is_refused_until_silence(memory: Any, make_robot: Any, clock: Any, thing: Any) -> None:
    first, second = make_robot(writer="a"), make_robot(writer="b")
    memory.ingest(first.frame(1))
    clock.now += 1.9
    with pytest.raises(WriterRefused, match="'a'"):
        memory.ingest(second.frame(2))
    memory.ingest(first.frame(2))
    clock.now += 2.1
    memory.ingest(second.frame(3))
    with pytest.raises(WriterRefused):
        memory.ingest(first.frame(4))


def test_two_cameras_of_one_agent_both_write(memory: Any, make_robot: Any, thing: Any) -> None:
    front, back = make_robot(writer="a"), make_robot(writer="b", camera="back")
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(front.frame(1, mug))
    memory.ingest(back.frame(1, mug))
    (entry,) = memory.entries()
    assert entry.count == 2


def test_another_agents_writer_is_no_rival(memory: Any, make_robot: Any) -> None:
    memory.ingest(make_robot("r1").frame(1))
    memory.ingest(make_robot("r2", writer="b").frame(1))
    assert memory.agents() == ["r1", "r2"]


def test_a_restart_within_a_minute_keeps_session_and_map(memory: Any, make_robot: Any, clock: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(make_robot(writer="a").frame(100, mug))
    clock.now += 10
    memory.ingest(make_robot(writer="b").frame(150, mug))
    assert sessions_of(memory) == [(0, "r1/0")]
    clock.now += 10
    memory.ingest(make_robot(writer="c").frame(230, mug))
    assert sessions_of(memory) == [(0, "r1/0"), (1, "r1/1")]


def test_a_named_map_outlives_sessions(memory: Any, make_robot: Any, clock: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(make_robot(writer="a", map_id="home").frame(100, mug))
    clock.now += 10
    memory.ingest(make_robot(writer="b", map_id="home").frame(90_000, mug))
    (entry,) = memory.entries()
    assert (entry.count, entry.session, entry.map_id) == (2, 1, "home")


def test_time_set_back_begins_a_session_and_overwrites_nothing(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(1000, mug))
    robot.session = 1
    memory.ingest(robot.frame(5, mug))
    old, new = memory.entries()
    assert (old.session, new.session) == (0, 1)
    assert (old.first_seen, old.last_seen) == (1000 * 10**9,) * 2
    assert new.first_seen == 5 * 10**9 and memory.newest_stamp("r1") == 5 * 10**9
    found = memory.retrieve(Query(labels=("mug",)))
    assert [e.entry_id for e in found.entries] == [new.entry_id], "the old map means nothing any more"
    assert memory.retrieve(Query(entry_ids=(old.entry_id,), now_ns=2000 * 10**9)).entries


def test_time_set_back_is_noticed_without_the_writers_help(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(1000, mug))
    memory.ingest(robot.frame(994, mug))
    assert [e.session for e in memory.entries()] == [0, 1]
    memory.ingest(robot.frame(5000, mug))
    assert [e.session for e in memory.entries()] == [0, 1, 2]


def test_on_a_named_map_time_set_back_leaves_later_sightings_alone(memory: Any, robot: Any, thing: Any) -> None:
    robot.map_id = "home"
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(1000, mug))
    robot.session = 1
    memory.ingest(robot.frame(5, mug))
    old, new = memory.entries()
    assert old.sightings[0].start == 1000 * 10**9 and new.sightings[0].start == 5 * 10**9


def test_late_frames_and_resent_ones_stay_in_their_session(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    frames = [robot.frame(t, mug) for t in (100, 101, 98, 102)]
    for frame in frames:
        assert memory.ingest(frame).stored == 1
    for frame in frames:
        assert memory.ingest(frame).stored == 0
    (entry,) = memory.entries()
    assert (entry.count, entry.session) == (4, 0)
    assert (entry.first_seen, entry.last_seen) == (98 * 10**9, 102 * 10**9)


def test_a_resent_frame_of_before_a_time_jump_is_recognised_after_a_restart(
    open_memory: Any, robot: Any, thing: Any
) -> None:
    mug = thing("mug", (2, 0, 0.8))
    first = robot.frame(1000, mug)
    jumped = robot.frame(10, mug)
    library = open_memory()
    library.ingest(first)
    library.ingest(jumped)
    library.close()
    again = open_memory()
    assert again.ingest(first).stored == again.ingest(jumped).stored == 0
    assert len(again.entries()) == 2


def test_sessions_are_numbered_per_agent(make_robot: Any) -> None:
    sessions = Sessions(MemoryConfig(), (), ())
    for agent in ("a", "b"):
        robot = make_robot(agent)
        for stamp in (100, 5):
            sessions.commit(sessions.admit(robot.frame(stamp)))
    assert [(s.session, s.era) for s in sessions.of("b")] == [(0, 0), (1, 1)]
    assert own_map("b", 1) == "b/1" and sessions.era("a", 1) == 1


def test_impossible_numbers_are_refused(memory: Any, robot: Any, thing: Any) -> None:
    for bad in (
        robot.frame(-1),
        robot.frame(1, thing("mug", (float("nan"), 0, 0))),
        robot.frame(1, thing("mug", (1, 0, 0), (-0.1, 0.1, 0.1))),
        robot.frame(1, thing("mug", (1, 0, 0)).seen(confidence=float("inf"))),
    ):
        with pytest.raises(InvalidArgument):
            memory.ingest(bad)
    assert memory.info()["rows"]["frame"] == 0
