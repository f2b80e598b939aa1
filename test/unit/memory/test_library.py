from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import (
    FOREVER,
    Episode,
    EpisodeSource,
    Interval,
    Pose,
    Query,
    Region,
    Visibility,
    observation_id,
)
from r4_ros.memory.library import open_library

S = 1_000_000_000
LABELS = ("mug", "chair", "plate")


def story(robot: Any, thing: Any, frames: int = 25) -> list[Any]:
    """Frames of a drive past things of which one is carried along, with absences."""
    told = []
    for i in range(frames):
        robot.where = (0.1 * i, 0.02 * i, 0.01 * i)
        things = [thing(label, (3 + k, k - 1, 0.8)) for k, label in enumerate(LABELS) if (i + k) % 4]
        things.append(thing("box", (2 + 0.15 * i, 1.5, 0.5)).seen(track_id="9", attributes=(("color", "red"),)))
        told.append(robot.frame(i * 0.3, *things))
    return told


def content(library: Any) -> Any:
    return library.entries(), library.events(), library.trail("r1", 0, FOREVER), library.placed()


def test_a_receipt_names_what_changed(memory: Any, robot: Any, thing: Any) -> None:
    receipt = memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    assert (receipt.agent_id, receipt.writer, receipt.sequence, receipt.stored) == ("r1", "w1", 1, 1)
    assert receipt.revision == memory.revision == 1
    (placed,) = receipt.changed
    assert placed.label == "mug" and placed.box.pose.position == pytest.approx((2, 0, 0.8))
    assert placed.entry_id == observation_id("r1", 0, "front", S, 0)[:16]
    assert [e.entry_id for e in receipt.events] == [placed.entry_id]


def test_the_same_frame_again_changes_nothing(memory: Any, robot: Any, thing: Any) -> None:
    told = story(robot, thing)
    for frame in told:
        memory.ingest(frame)
    before, revision = content(memory), memory.revision
    for frame in (*told, *reversed(told)):
        assert memory.ingest(frame).stored == 0
    assert content(memory) == before and memory.revision == revision


def test_only_the_unknown_observations_of_a_known_frame_are_taken(memory: Any, robot: Any, thing: Any) -> None:
    whole = robot.frame(1, thing("mug", (2, 0, 0.8)), thing("plate", (2, 1, 0.8)))
    assert memory.ingest(replace(whole, observations=whole.observations[:1])).stored == 1
    receipt = memory.ingest(whole)
    assert receipt.stored == 1 and [p.label for p in receipt.changed] == ["plate"]
    assert memory.info()["rows"]["frame"] == 1


@given(st.lists(st.integers(0, 9), max_size=25))
@settings(max_examples=15, deadline=None)
def test_duplicates_in_any_order_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, make_robot: Any, thing: Any, again: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("again")
    told = story(make_robot(), thing, 10)
    with (
        open_library(folder / "once.db", MemoryConfig()) as once,
        open_library(folder / "more.db", MemoryConfig()) as more,
    ):
        for frame in told:
            once.ingest(frame)
        for i, frame in enumerate(told):
            more.ingest(frame)
            for j in again:
                if j <= i:
                    more.ingest(told[j])
        assert content(more) == content(once)


def test_a_restart_in_the_middle_makes_no_difference(open_memory: Any, make_robot: Any, thing: Any) -> None:
    straight = open_memory("straight.db")
    for frame in story(make_robot(), thing):
        straight.ingest(frame)
    for frame in story(make_robot(), thing):
        library = open_memory("restarted.db")
        library.ingest(frame)
        library.close()
    restarted = open_memory("restarted.db")
    assert content(restarted) == content(straight)
    query = Query(labels=("mug",), with_events=True)
    assert restarted.retrieve(query) == straight.retrieve(query)


def test_intervals_are_sound(memory: Any, robot: Any, thing: Any) -> None:
    for frame in story(robot, thing, 40):
        memory.ingest(frame)
    for entry in memory.entries():
        for parts in (entry.sightings, entry.presence, [s.interval for s in entry.stays]):
            assert all(a.start < a.end for a in parts)
            assert all(a.end <= b.start for a, b in itertools.pairwise(parts))
        assert entry.presence[-1].last_seen == entry.last_seen
        assert entry.stays[-1].interval.end == FOREVER


WRITER = """
import sys
sys.path[:0] = {paths!r}
from conftest import Robot, Thing
from r4_ros.core.config import MemoryConfig
from r4_ros.memory.library import open_library
robot = Robot()
library = open_library({path!r}, MemoryConfig())
for i in range(100_000):
    library.ingest(robot.frame(i * 0.1, Thing("mug", (2, 0, 0.8)), Thing("cup", (2, 1 + i * 0.5, 0.8))))
    print(i, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    here = Path(__file__).resolve()
    program = WRITER.format(path=str(path), paths=[str(here.parent), str(here.parents[3])])
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = -1
    for line in process.stdout:
        acknowledged = int(line)
        if acknowledged == 40:
            os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with open_library(path, MemoryConfig()) as library:
        assert library._store.problems() == []
        rows = library.info()["rows"]
        assert rows["frame"] >= acknowledged + 1 and rows["observation"] == 2 * rows["frame"]  # type: ignore[index]
        assert len(library.entries()) == 1 + rows["frame"]  # type: ignore[index]
        assert len(library.trail("r1", 0, FOREVER)) == rows["frame"]  # type: ignore[index]


def test_a_write_that_fails_leaves_the_memory_as_it_was(
    memory: Any, robot: Any, thing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    before = content(memory)
    frame = robot.frame(2, thing("mug", (2, 0, 0.8)), thing("plate", (2, 1, 0.8)))

    def full(change: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(memory._store, "_write_seldom", full)
        with pytest.raises(StoreError, match="full"):
            memory.ingest(frame)
    assert content(memory) == before and len(memory.retrieve(Query()).entries) == 1
    assert memory.ingest(frame).stored == 2
    assert [e.count for e in memory.entries()] == [2, 1]


def test_read_only_reads_while_another_writes(open_memory: Any, robot: Any, thing: Any) -> None:
    writer = open_memory()
    writer.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    reader = open_memory(read_only=True)
    assert reader.entries() == writer.entries()
    for change in (
        lambda: reader.ingest(robot.frame(2)),
        lambda: reader.set_regions([Region("a", ((0, 0), (1, 0), (1, 1)))]),
        lambda: reader.add_episode(Episode("", "r1", "hello", Interval(0, 1), EpisodeSource.UTTERANCE)),
    ):
        with pytest.raises(StoreError, match="read-only"):
            change()


def test_several_threads_may_read_while_one_writes(memory: Any, robot: Any, thing: Any) -> None:
    told = story(robot, thing, 40)
    memory.ingest(told[0])
    problems: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                found = memory.retrieve(Query(labels=("box",), with_events=True))
                assert all(e.label == "box" for e in found.entries)
                memory.entries_near("r1", 5)
        except BaseException as error:
            problems.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for frame in told[1:]:
        memory.ingest(frame)
    done.set()
    for reader in readers:
        reader.join()
    assert not problems


def test_entries_near_gives_the_nearest_on_the_same_map(memory: Any, make_robot: Any, thing: Any) -> None:
    robot, other = make_robot(), make_robot("r2", writer="x")
    memory.ingest(robot.frame(1, *(thing("mug", (1 + i, 0, 0.8)) for i in range(6))))
    memory.ingest(other.frame(1, thing("mug", (0.5, 0, 0.8))))
    robot.where = (5.2, 0, 0)
    memory.ingest(robot.frame(2))
    near = memory.entries_near("r1", 3)
    assert [round(p.box.pose.position[0]) for p in near] == [5, 6, 4]
    assert memory.entries_near("nobody", 3) == []


def test_the_trail_is_that_of_the_base(memory: Any, robot: Any) -> None:
    for i in range(5):
        robot.where = (i, 2 * i, 0.1 * i)
        memory.ingest(robot.frame(i))
    trail = memory.trail("r1", 1 * S, 4 * S)
    assert [p.stamp_ns // S for p in trail] == [1, 2, 3]
    assert trail[1].pose.position == pytest.approx((2, 4, 1), abs=1e-6)
    assert trail[1].pose.orientation == pytest.approx(quat_from_yaw(0.2), abs=1e-6)


def test_things_hang_on_anchors_by_odometry(memory: Any, robot: Any, thing: Any) -> None:
    """The map jumps by a metre, the odometry doesn't: until the next anchor is due, nothing moves in the map."""
    robot.drift = Pose()
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8))))
    frame = robot.frame(0.1, thing("mug", (2, 0, 0.8)))
    memory.ingest(replace(frame, sensor_in_map=Pose((1, 0, 1), frame.sensor_in_map.orientation)))
    (entry,) = memory.entries()
    assert entry.count == 2
    assert memory.placed()[0].box.pose.position == pytest.approx((2, 0, 0.8))


def test_episodes_are_kept_once_and_hang_on_the_agents_path(memory: Any, robot: Any) -> None:
    memory.ingest(robot.frame(1))
    told = Episode(
        "", "r1", "Anna puts the mug away", Interval(S, 3 * S), EpisodeSource.UTTERANCE, place=(2.0, 0.0, 1.0)
    )
    first = memory.add_episode(told)
    assert memory.add_episode(told) == first and first
    (found,) = memory.retrieve(Query(text="mug", with_episodes=True)).episodes
    assert (found.text, found.map_id, found.episode_id) == (told.text, "r1/0", first)
    assert found.place == pytest.approx(told.place)
    assert memory.retrieve(Query(text="piano", with_episodes=True)).episodes == ()
    with pytest.raises(InvalidArgument):
        memory.add_episode(replace(told, text=" "))


def test_regions_are_replaced_and_kept(open_memory: Any) -> None:
    kitchen = Region("kitchen", ((0, 0), (4, 0), (4, 3), (0, 3)))
    library = open_memory()
    library.set_regions([Region("hall", ((9, 9), (10, 9), (10, 10)))])
    library.set_regions([kitchen])
    library.close()
    assert open_memory().regions() == [kitchen]
    with pytest.raises(InvalidArgument, match="corners"):
        open_memory("other.db").set_regions([Region("line", ((0, 0), (1, 0)))])


def test_a_snapshot_is_a_whole_memory(memory: Any, robot: Any, thing: Any, tmp_path: Path) -> None:
    for frame in story(robot, thing):
        memory.ingest(frame)
    assert memory.snapshot(tmp_path / "copy.db") > 0
    with open_library(tmp_path / "copy.db", MemoryConfig(), read_only=True) as copy:
        assert content(copy) == content(memory)


def test_info_counts(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8)).seen(visibility=Visibility.OCCLUDED)))
    info = memory.info()
    assert info["rows"]["entry"] == 1 and info["agents"]["r1"]["newest_ns"] == S
    assert info["maps"] == {"r1/0": "map"} and info["bytes"] > 0
