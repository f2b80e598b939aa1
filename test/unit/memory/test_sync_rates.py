"""No robot floods a map server: what is beyond its rate waits with it, the others don't, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from fleet import Fleet, Robot, check_observations

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import StoreError
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory import envelope, outbox
from r4_ros.memory.envelope import RECORDS, Head, Told
from r4_ros.memory.frame_limits import Credit
from r4_ros.memory.map_link import MapLink
from r4_ros.memory.postgres_roles import INBOX_BYTES, INBOX_ROW_BYTES, INBOX_ROWS

MakeRobot = Callable[..., Robot]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two frames a batch."""
    monkeypatch.setattr(outbox, "FRAMES", 2)


def see(robot: Robot, body: Any, thing: Any, count: int) -> None:
    for stamp in range(1, count + 1):
        robot.library.ingest(body.frame(stamp, thing("cup", (2, 0, 1))))


def frames(fleet: Fleet, agent: str) -> int:
    sql = "SELECT count(*) FROM frame JOIN stream USING(stream_id) WHERE agent_id = ?"
    [(count,)] = fleet.sql(sql, agent)
    return int(count)


def test_one_robots_flood_keeps_no_other_waiting(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any, few: None
) -> None:
    flood, calm = synced("r1"), synced("r2")
    see(flood, make_robot("r1"), thing, 40)
    while flood.sync.step():
        pass
    fleet.inbox.work()
    see(calm, make_robot("r2"), thing, 1)
    calm.sync.step()
    assert [work.agent_id for work in (fleet.inbox.work(), fleet.inbox.work()) if work] == ["r2", "r1"]
    assert (frames(fleet, "r1"), frames(fleet, "r2")) == (4, 1)


def test_what_is_beyond_a_robots_rate_waits_with_it_and_comes_through_in_the_end(
    postgres_server: Server, tmp_path: Path, make_robot: Any, thing: Any, few: None
) -> None:
    clock = Clock()
    fleet = Fleet(postgres_server, "r1", "r2", config=MemoryConfig(agent_rate_hz=4.0), monotonic=clock)
    flood, calm = (Robot(tmp_path / f"{name}.db", name, fleet) for name in ("r1", "r2"))
    see(flood, make_robot("r1"), thing, 60)

    def turn() -> int:
        for robot in (flood, calm):
            while robot.sync.step():
                pass
            assert not robot.sync.state.error
        return fleet.work()

    while turn():
        pass
    assert frames(fleet, "r1") == 8, "two seconds' worth at once"
    assert flood.sync.state.waiting_batches == 8 and flood.sync.state.waiting_frames == 52
    assert fleet.inbox.held_s == pytest.approx(0.25)
    see(calm, make_robot("r2"), thing, 5)
    while turn():
        pass
    assert (frames(fleet, "r1"), frames(fleet, "r2")) == (8, 5)
    clock.now += 2.0
    while turn():
        pass
    assert frames(fleet, "r1") == 16
    for _ in range(40):
        clock.now += 0.5
        turn()
    assert frames(fleet, "r1") == 60 and fleet.inbox.held_s == 0.0 and turn() == 0
    check_observations(fleet, [flood, calm])
    assert flood.sync.state.refused == 0
    for robot in (flood, calm):
        robot.close()
    fleet.library.close()


def test_a_batch_of_too_many_records_is_cut_and_paid_for(postgres_server: Server) -> None:
    clock = Clock()
    fleet = Fleet(postgres_server, "r1", "r2", config=MemoryConfig(agent_rate_hz=100.0), monotonic=clock)
    record = {"type": "episode", "agent": "r1", "start": 1, "source": "CAPTION"}
    lines = tuple(json.dumps({**record, "text": f"number {n}"}) for n in range(RECORDS + 5))
    link = MapLink(fleet.as_robot("r1"))
    for sequence in (1, 2):
        link.put("w", sequence, envelope.pack(Head(Told(), Told(episode=1), again=True), lines))
    link.close()
    done = fleet.inbox.work()
    assert done is not None and done.refused == 5 and f"at most {RECORDS} records" in done.problem
    assert fleet.inbox.work() is None and fleet.inbox.held_s > 5.0
    clock.now += 10.0
    assert fleet.inbox.work() is not None
    fleet.library.close()


def test_a_record_that_unpacks_to_megabytes_is_refused(fleet: Fleet) -> None:
    """A batch of zeros is small on the way; what it says would come down to all robots."""
    long, place = "0" * 30_000_000, {"pose": [0.0] * 6 + [1.0]}
    records: list[dict[str, Any]] = [
        {"type": "episode", "agent": "r1", "start": 1, "text": long},
        {"type": "alignment", "agent": "r1", "stamp": 1, "map_id": "a", "common_id": long, "source": "", **place},
        {"type": "coverage", "agent": "r1", "start": 1, "low": [0, 0, 0], "size": [1, 1, 1], "looked": long},
        {"type": "embedding", "model": "m", "text": long, "vector": "AAAA"},
    ]
    link = MapLink(fleet.as_robot("r1"))
    for number, record in enumerate(records, start=1):
        head = Head(Told(), Told(episode=number), again=True)
        link.put("w", number, envelope.pack(head, (json.dumps(record),)))
        done = fleet.inbox.work()
        assert done is not None and done.refused == 1 and "30000" in done.problem
    link.close()


@pytest.mark.parametrize(("size", "room"), [(10, INBOX_ROWS), (INBOX_ROW_BYTES, INBOX_BYTES // INBOX_ROW_BYTES)])
def test_a_robot_cant_fill_the_servers_disk(fleet: Fleet, size: int, room: int) -> None:
    link, other = MapLink(fleet.as_robot("r1")), MapLink(fleet.as_robot("r2"))
    content = bytes(size)
    for sequence in range(room):
        link.put("w", sequence + 1, content)
    with pytest.raises(StoreError, match="takes no more of this robot"):
        link.put("w", room + 1, content)
    other.put("w", 1, content)
    assert fleet.inbox.work() is not None
    link.put("w", room + 1, content)
    link.close()
    other.close()


def test_credit_is_earned_by_time_and_may_be_owed() -> None:
    clock = Clock()
    credit = Credit(10.0, clock)
    credit.spend(20)
    assert credit.wait_s() == pytest.approx(0.1)
    credit.spend(30)
    assert credit.wait_s() == pytest.approx(3.1)
    clock.now = 3.2
    assert credit.wait_s() == 0.0
    clock.now = 1000.0
    assert credit.wait_s() == 0.0
    credit.spend(20)
    assert credit.wait_s() > 0.0
    free = Credit(0.0, clock)
    free.spend(10**9)
    assert free.wait_s() == 0.0
