"""What goes wrong between a robot and a map server is noticed, told and got over."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from fleet import Fleet, Robot, check_alike, check_observations, settle

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, NotPermitted, StoreError
from r4_ros.core.model import CorrectionKind, EntryCorrection, Episode, EpisodeSource, Interval, Query
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory import envelope, outbox, transfer
from r4_ros.memory.attachments import DATA_URL
from r4_ros.memory.envelope import Head, Told
from r4_ros.memory.library import open_library
from r4_ros.memory.map_link import MapLink
from r4_ros.memory.outbox import Outbox
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer
from r4_ros.memory.transfer import Importer, export_lines

S = 1_000_000_000
MakeRobot = Callable[..., Robot]


@pytest.mark.parametrize("offset_s", [-3.0, 0.4, 3.0])
def test_clocks_too_far_apart_are_refused_and_said(
    fleet: Fleet, synced: MakeRobot, robot: Any, offset_s: float
) -> None:
    mine = synced()
    mine.library.ingest(robot.frame(1))
    wanted = SyncConfig(fleet.as_robot("r1"), clock_s=1.0)
    sync = Synchronizer(
        lambda: mine.library, wanted, lambda c: MapLink(c.url, wall_ns=lambda: time.time_ns() + round(offset_s * S))
    )
    sync.step()
    if abs(offset_s) < 1.0:
        assert sync.state.error == "" and sync.state.offset_ns == pytest.approx(-offset_s * S, abs=0.2 * S)
        assert fleet.work() == 1
        assert fleet.sql("SELECT offset_ns FROM synced WHERE agent_id = 'r1'")[0][0] == sync.state.offset_ns
    else:
        assert "clock" in sync.state.error and ("ahead" if offset_s > 0 else "behind") in sync.state.error
        assert fleet.work() == 0
    sync.close()


def test_errors_are_paused_for_longer_and_longer_by_the_monotonic_clock(fleet: Fleet, synced: MakeRobot) -> None:
    mine, tried, now = synced(), list[float](), [0.0]

    def connect(config: SyncConfig) -> MapLink:
        tried.append(now[0])
        raise StoreError("no network")

    sync = Synchronizer(lambda: mine.library, SyncConfig("x"), connect, lambda: now[0])
    for tenth in range(3000):
        now[0] = tenth / 10
        assert sync.step() is False
    assert sync.state.error == "no network"
    pauses = [b - a for a, b in itertools.pairwise(tried)]
    assert pauses[0] == pytest.approx(0.5) and max(pauses) == pytest.approx(60) and pauses == sorted(pauses)


def test_a_robot_writes_nothing_in_anothers_name(fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any) -> None:
    other = make_robot(agent_id="r2")
    with open_library(synced().path.with_name("x.db"), MemoryConfig()) as library:
        library.ingest(other.frame(1, thing("cup", (2, 0, 1))))
        box = Outbox(Path(str(library.store.path)), "r2")
        batch = box.read(Told(), 10, lambda model, texts: set())
        box.close()
    assert batch is not None
    link = MapLink(fleet.as_robot("r1"))
    link.put("w", 1, envelope.pack(Head(batch.after, batch.told), batch.lines))  # says that it is r2's
    link.agent_id = "r2"
    with pytest.raises(NotPermitted):
        link.put("w", 1, b"x")
    link.close()
    done = fleet.inbox.work()
    assert done is not None and done.refused == 1 and "takes nothing of 'r2'" in done.problem
    assert fleet.library.agents() == [] and fleet.inbox.work() is None
    with pytest.raises(NotPermitted, match="not of 'r2'"):
        MapLink(fleet.as_robot("r1"), "r2")
    with pytest.raises(InvalidArgument, match="belongs to no robot"):
        MapLink(fleet.url)


@pytest.mark.parametrize("content", [b"", b"xxxx", envelope.pack(Head(Told(), Told(1)), ("{}",))[:-3], b"\xff" * 99])
def test_what_is_no_batch_is_refused_and_the_next_one_taken(fleet: Fleet, content: bytes) -> None:
    link = MapLink(fleet.as_robot("r1"))
    link.put("w", 1, content)
    link.put("w", 2, envelope.pack(Head(Told(), Told(5)), ('{"type": "region"}', "no json")))
    link.close()
    first, second = fleet.inbox.work(), fleet.inbox.work()
    assert first is not None and first.refused == 1 and first.problem
    assert second is not None and second.refused == 2 and fleet.inbox.work() is None
    assert fleet.sql("SELECT sequence FROM synced") == [(2,)]


@pytest.mark.parametrize(("reads", "problem"), [(True, "a zero byte is no text"), (False, "zero character")])
def test_one_record_that_cant_be_stored_holds_nothing_else_up(
    fleet: Fleet,
    synced: MakeRobot,
    robot: Any,
    thing: Any,
    monkeypatch: pytest.MonkeyPatch,
    reads: bool,
    problem: str,
) -> None:
    if not reads:  # nobody notices before the database does
        monkeypatch.setattr(transfer, "_ZERO_BYTE", re.compile("(?!)"))
    mine = synced()
    for stamp, label in ((1, "cup"), (2, "a\0b"), (3, "jug")):
        mine.library.ingest(robot.frame(stamp, thing(label, (2.0, stamp - 2, 1.0))))
    settle(fleet, mine)
    assert mine.sync.state.refused == 1 and problem in mine.sync.state.problem
    assert [e.label for e in fleet.library.entries()] == ["cup", "jug"]


def test_frames_too_large_are_refused_as_those_by_topic_and_the_robot_learns_why(
    postgres_server: Server, robot: Any, thing: Any, tmp_path: Path
) -> None:
    fleet = Fleet(postgres_server, "r1", config=MemoryConfig(frame_observations=2, frame_kb=1))
    mine = Robot(tmp_path / "r1.db", "r1", fleet)
    jug, pot = thing("jug", (2, -1, 1)), thing("pot", (2, 1, 1))
    mine.library.ingest(robot.frame(1, thing("cup", (2, 0, 1))))
    mine.library.ingest(robot.frame(2, jug, pot, thing("hat", (3, 0, 1))))
    settle(fleet, mine)
    assert (
        mine.sync.state.refused == 1 and "3 observations is more than frame_observations, 2" in mine.sync.state.problem
    )
    depth = np.full((20, 20), 4.0, np.float32)
    mine.library.ingest(replace(robot.frame(3, jug), view=replace(robot.frame(3).view, depth=depth)))
    long = robot.frame(4, jug)
    seen = replace(long.observations[0], description="blue " * 400)
    mine.library.ingest(replace(long, observations=(seen,)))
    mine.library.ingest(robot.frame(5, pot))
    settle(fleet, mine)
    assert mine.sync.state.refused == 3 and "2 kB is more than frame_kb, 1" in mine.sync.state.problem
    assert [e.label for e in fleet.library.entries()] == ["cup", "pot"]
    mine.close()
    fleet.library.close()


@pytest.mark.parametrize("wrong", [{"observations": 5}, {"view": []}, {"observations": [{"label": 7}, 3]}])
def test_what_is_no_frame_is_refused_before_it_is_measured(fleet: Fleet, wrong: dict[str, Any]) -> None:
    link = MapLink(fleet.as_robot("r1"))
    link.put("w", 1, envelope.pack(Head(Told(), Told(1)), (json.dumps({"type": "frame", "agent": "r1", **wrong}),)))
    link.close()
    done = fleet.inbox.work()
    assert done is not None and done.refused == 1 and fleet.inbox.work() is None


def test_a_file_put_back_from_an_older_copy_is_noticed_and_told_again(
    fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any, tmp_path: Path
) -> None:
    mine = synced()
    for stamp in range(1, 6):
        mine.library.ingest(robot.frame(stamp, thing("cup", (2, 0, 1))))
    settle(fleet, mine)
    mine.library.snapshot(tmp_path / "copy.db")
    for stamp in range(6, 9):
        mine.library.ingest(robot.frame(stamp, thing("cup", (2, 0, 1))))
    settle(fleet, mine)
    had = set(fleet.library.store.observation_ids())
    mine.close()
    for suffix in ("-wal", "-shm"):
        mine.path.with_name(mine.path.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "copy.db", mine.path)
    mine.begin()
    mine.sync.step()
    assert "older copy" in mine.sync.state.notice
    for stamp in range(20, 30):
        mine.library.ingest(robot.frame(stamp, thing("jug", (2, 1, 1))))
    settle(fleet, mine)
    stored = list(fleet.library.store.observation_ids())
    assert len(stored) == len(set(stored)) == 18
    assert set(stored) == had | set(mine.library.store.observation_ids())
    mine.kill()
    mine.sync.step()
    assert mine.sync.state.notice == ""


def test_a_server_put_back_from_an_older_copy_is_told_and_heard_anew(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any, postgres_server: Server
) -> None:
    robots, bodies = [synced("r1"), synced("r2")], [make_robot(agent_id=n, map_id=n) for n in ("r1", "r2")]

    def drive(first: int, last: int) -> None:
        for stamp in range(first, last):
            for robot, body in zip(robots, bodies, strict=True):
                robot.library.ingest(body.frame(stamp, thing(f"thing {stamp % 7}", (2, stamp % 7, 1))))

    drive(1, 10)
    settle(fleet, *robots)
    for robot in robots:
        robot.sync.close()
    fleet.library.close()
    old = postgres_server.database()
    name, copy = (url.split("/")[3].split("?")[0] for url in (fleet.url, old))
    where = ("-h", postgres_server.folder, "-p", postgres_server.port, "-U", "r4")
    postgres_server._run("dropdb", *where, copy)
    postgres_server._run("createdb", *where, "-T", name, copy)
    fleet.anew()
    drive(10, 20)
    settle(fleet, *robots)
    for robot in robots:
        robot.sync.close()
    fleet.url = old
    fleet.anew()
    for robot in robots:
        robot.close()
        robot.begin()
    drive(20, 25)
    settle(fleet, *robots)
    check_observations(fleet, robots)
    for robot in robots:
        check_alike(robot.library, fleet.library, "r1", "r2")


def test_what_was_described_while_its_frame_was_under_way_is_told(
    fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any
) -> None:
    mine = synced()
    frame = robot.frame(1, thing("cup", (2, 0, 1)))
    mine.library.ingest(frame)
    mine.sync.step()  # in the inbox, not worked in
    said = tuple(replace(o, description="a blue cup") for o in frame.observations)
    mine.library.ingest(replace(frame, observations=said))
    settle(fleet, mine)
    assert [e.description for e in fleet.library.entries()] == ["a blue cup"]
    rows = mine.library.store.file.execute("SELECT count(*) FROM late")
    assert rows == [(1,)]


def test_corrections_travel_and_are_taken_back(fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any) -> None:
    mine, theirs = synced("r1"), synced("r2")
    for stamp in (1, 2):
        mine.library.ingest(robot.frame(stamp, thing("cup", (2, 0, 1)), thing("jug", (2, 1, 1))))
    cup, jug = (e.entry_id for e in mine.library.entries())
    settle(fleet, mine, theirs)
    fleet.library.ingest(replace(robot.frame(1), agent_id="r3"))
    named = mine.library.correct(EntryCorrection(CorrectionKind.RENAME, cup, label="beaker", source="me"), 3 * S)
    mine.library.correct(EntryCorrection(CorrectionKind.FORGET, jug, source="me"), 4 * S)
    settle(fleet, mine, theirs)
    for library in (fleet.library, theirs.library):
        assert [e.label for e in library.entries() if e.agent_id == "r1"] == ["beaker"]
    undone = EntryCorrection(CorrectionKind.UNDO, correction_id=named.correction_id, source="me")
    mine.library.correct(undone, 5 * S)
    settle(fleet, mine, theirs)
    theirs.kill()
    for library in (fleet.library, theirs.library):
        assert [e.label for e in library.entries() if e.agent_id == "r1"] == ["cup"]
        assert not library.retrieve(Query(labels=("jug",))).entries


def test_what_was_erased_at_the_server_goes_from_robots_too(
    fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any
) -> None:
    mine, theirs = synced("r1"), synced("r2")
    mine.library.ingest(robot.frame(1, thing("cup", (2, 0, 1)), thing("jug", (2, 1, 1))))
    settle(fleet, mine, theirs)
    jug = fleet.library.entries()[1].entry_id
    fleet.library.correct(EntryCorrection(CorrectionKind.FORGET, jug, source="boss"), 9 * S)
    fleet.library.store.erase(10 * S)
    fleet.anew()
    settle(fleet, mine, theirs)
    assert [e.label for e in theirs.library.entries()] == ["cup"]
    theirs.kill()
    assert [e.label for e in theirs.library.entries()] == ["cup"] and not theirs.library.store.problems()


def test_what_one_robot_finds_gone_of_anothers_is_known_to_all(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any
) -> None:
    mine, theirs = synced("r1"), synced("r2")
    mine.library.ingest(make_robot(agent_id="r1", map_id="home").frame(1, thing("cup", (2, 0, 1))))
    settle(fleet, mine, theirs)
    cup, body = mine.library.entries()[0].entry_id, make_robot(agent_id="r2", map_id="home")
    theirs.library.ingest(body.frame(10))
    for stamp in (11, 12, 13):
        theirs.library.ingest(body.absent(stamp, cup))
    settle(fleet, mine, theirs)
    for library in (mine.library, fleet.library, theirs.library):
        assert [e.kind.name for e in library.events()][-1] == "DISAPPEARED"
        [found] = library.retrieve(Query(labels=("cup",), now_ns=20 * S)).entries
        assert found.present is None


def test_history_that_wasnt_told_is_kept_until_the_disk_must_come_first(
    fleet: Fleet, tmp_path: Path, robot: Any, thing: Any
) -> None:
    config = replace(MemoryConfig(), history_days=100 / 86400, sync="postgresql://r1@x/y")
    with open_library(tmp_path / "a.db", config) as library:
        for stamp in range(0, 400, 2):
            library.ingest(robot.frame(stamp, thing("cup", (2, 0, 1))))
        assert library.keep_history().observations == 0
        library.told("r1", 100)
        kept = sum(library.keep_history().observations for _ in range(10))
        assert 90 <= kept <= 100 and library.untold_lost == 0
    tight = replace(config, history_days=0.0, history_mb=1)
    with open_library(tmp_path / "a.db", tight) as library:
        library._retention._max_bytes = 1  # smaller than anything
        dropped = sum(library.keep_history().observations for _ in range(10))
        assert library.untold_lost == dropped > 0 and library.history_exceeds


def test_pictures_go_along_where_they_may(fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any) -> None:
    jpeg = b"\xff\xd8\xff" + bytes(200)
    picture = DATA_URL + base64.b64encode(jpeg).decode()
    for name, images in (("r1", True), ("r2", False)):
        one = synced(name, images=images)
        frame = robot.frame(1, thing("cup", (2, 0, 1)).seen(image=picture))
        one.library.ingest(replace(frame, agent_id=name))
        settle(fleet, one)
        [entry] = [e for e in fleet.library.entries() if e.agent_id == name]
        found = fleet.library.crop(entry.entry_id)
        assert (found is not None and found.jpeg == jpeg) == images


def test_a_full_inbox_is_waited_for(fleet: Fleet, synced: MakeRobot, robot: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(outbox, "FRAMES", 2)
    mine = synced()
    for stamp in range(1, 41):
        mine.library.ingest(robot.frame(stamp))
    while mine.sync.step():
        pass
    assert mine.sync.state.sent_batches == 8 and mine.sync.state.waiting_frames == 40
    fleet.inbox.work()
    assert mine.sync.step()
    assert mine.sync.state.sent_batches == 9 and mine.sync.state.waiting_frames == 38
    settle(fleet, mine)
    check_observations(fleet, [mine])


def test_lost_notifications_cost_a_period_and_nothing_else(
    fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any
) -> None:
    mine, theirs = synced("r1"), synced("r2")
    settle(fleet, mine, theirs)
    theirs.sync.wait(0.01)
    mine.library.ingest(robot.frame(1, thing("cup", (2, 0, 1))))
    mine.sync.step()
    theirs.cut()  # whatever is notified now, it doesn't hear
    fleet.work()
    theirs.sync.wait(0.01)
    theirs.sync._not_before = 0.0
    settle(fleet, mine, theirs)
    assert [e.label for e in theirs.library.entries()] == ["cup"]
    mine.library.ingest(robot.frame(2, thing("cup", (2, 0, 1))))
    mine.sync.step()
    fleet.work()
    assert theirs.sync._link is not None and theirs.sync._link.wait(100.0)


def test_a_new_file_of_a_known_robot_counts_on_so_that_ids_agree(
    fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any
) -> None:
    mine = synced()
    mine.library.ingest(robot.frame(1, thing("cup", (2, 0, 1))))
    settle(fleet, mine)
    mine.close()
    for suffix in ("", "-wal", "-shm"):
        mine.path.with_name(mine.path.name + suffix).unlink(missing_ok=True)
    mine.begin()
    mine.sync.step()
    assert "knows more of this robot" in mine.sync.state.notice
    mine.library.ingest(replace(robot.frame(1000, thing("jug", (2, 1, 1))), writer="w2"))
    [jug] = mine.library.entries()
    for stamp in (1003, 1004, 1005):
        mine.library.ingest(replace(robot.absent(stamp, jug.entry_id), writer="w2"))
    settle(fleet, mine)
    assert mine.library.entries()[0].state.name == "GONE"
    assert [(e.label, e.state.name) for e in fleet.library.entries()] == [("cup", "PRESENT"), ("jug", "GONE")]
    assert fleet.library.entries()[1].entry_id == jug.entry_id


def test_an_export_tells_of_a_robot_what_it_saw_itself(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any, tmp_path: Path
) -> None:
    mine, theirs = synced("r1"), synced("r2")
    for number, one in enumerate((mine, theirs)):
        body = make_robot(agent_id=one.name, map_id="home")
        one.library.ingest(body.frame(1 + number, thing("cup", (2, 0, 1))))
        when = Interval(S, 2 * S)
        one.library.add_episode(Episode("", one.name, f"{one.name} began", when, EpisodeSource.CAPTION))
    settle(fleet, mine, theirs)
    assert mine.library.agents() == ["r1", "r2"]
    lines = list(export_lines(mine.library.store))
    assert any("r1 began" in line for line in lines) and not any("r2" in line for line in lines)
    with open_library(tmp_path / "copy.db", MemoryConfig()) as copy:
        Importer(copy).read(lines, strict=True)
        check_alike(copy, mine.library, "r1")


def test_what_others_told_makes_nobody_ask_who_me_is(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any
) -> None:
    mine, theirs = synced("r1"), synced("r2")
    for one in (mine, theirs):
        one.library.ingest(make_robot(agent_id=one.name, map_id="home").frame(1, thing("cup", (2, 0, 1))))
    settle(fleet, mine, theirs)
    for _ in range(2):
        found = mine.library.retrieve(Query(labels=("cup",)))
        assert found.ego is not None and found.ego.agent_id == "r1" and not found.ego_candidates
        assert len(found.entries) == 1
        mine.kill()
    assert fleet.library.retrieve(Query(labels=("cup",))).ego_candidates == ("r1", "r2")


def test_a_map_server_that_somebody_else_wrote_to_opens_its_memory_anew(
    fleet: Fleet, synced: MakeRobot, robot: Any, thing: Any
) -> None:
    mine = synced()
    mine.library.ingest(robot.frame(1, thing("cup", (2, 0, 1))))
    mine.sync.step()
    file = fleet.library.store.file
    file._connection.close()  # type: ignore[attr-defined]
    with open_library(fleet.url, MemoryConfig()) as other:
        other.ingest(replace(robot.frame(1), agent_id="r9"))
    with pytest.raises(StoreError):
        fleet.inbox.work()
    done = fleet.inbox.work()
    assert done is not None and done.frames == 1
    assert fleet.library.agents() == ["r1", "r9"]
