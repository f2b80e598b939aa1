"""``r4 bench fleet``: many robots stream to one map server with PostgreSQL; is anything lost, and what does it cost?"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.errors import Unavailable
from r4_ros.core.model import observation_id
from r4_ros.evaluation.postgres_server import Server, why_not
from r4_ros.memory.stores import open_store

READY_S = 150.0
"""For all processes to start and find each other before the robots drive."""
DRAIN_S = 60.0
"""For acknowledgements after the drive; what has none by then is told as unacknowledged."""
_END_S = 30.0  # for the robots' processes to end after that
MOST_PROCESSES = 8
_SERVER, _CAMERA = "/map_server", "camera"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Fleet:
    """What is simulated: ``rate`` observations a second of each robot, ``frame`` in a frame."""

    robots: int
    rate: float
    seconds: float
    frame: int = 10
    offline: float = 0.0  # share of the robots that are offline for half of the time
    kill_server: int = 0
    restart_database: int = 0
    drain_s: float = DRAIN_S


class MapServer:
    """The memory node as a process of its own, that may be killed and started again."""

    def __init__(self, url: str, fleet: Fleet, folder: Path) -> None:
        agents = "[" + ", ".join(f"robot{i}" for i in range(fleet.robots)) + "]"
        settings = {
            "db": url,
            "agents": agents,
            "embedder": "none",
            "agent_id": "map_server",
            "writer_silence_s": "0.0",
        }
        parameters = [word for name, value in settings.items() for word in ("-p", f"{name}:={value}")]
        self._command = [sys.executable, "-m", "r4_ros.nodes.memory_node", "--ros-args", "-r", f"__ns:={_SERVER}"]
        self._command += parameters
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._spent = 0.0
        self.start()

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self) -> None:
        """With kill -9."""
        self.stop(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        assert self._process is not None
        self._spent += cpu_s(self._process.pid)
        self._process.send_signal(number)
        self._process.wait(60)
        self._process = None

    def spent_s(self) -> float:
        """Processor time so far."""
        return self._spent + (cpu_s(self._process.pid) if self._process is not None else 0.0)

    def tail(self) -> str:
        """The last of what it said."""
        return self._log.read_text(errors="replace")[-2000:]


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children that ended."""
    try:
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, numbers[11:15])) / _TICKS


def bench_fleet(fleet: Fleet, processes: int, url: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run it; ``url``: an empty database, or '' for a server of its own. Raises Unavailable."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends too
    with tempfile.TemporaryDirectory(prefix="r4-fleet-") as name, _database(url, fleet) as (database, postgres):
        folder = Path(name)
        environment = {"ROS_DOMAIN_ID": str(random.randrange(60, 100)), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        os.environ.update(environment, ROS_HOME=name, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        server, robots, said = MapServer(database, fleet, folder), list[subprocess.Popen[bytes]](), list[Any]()
        try:
            robots = _start_robots(fleet, min(processes, MOST_PROCESSES), folder)
            _wait_for(lambda: len(list(folder.glob("ready*"))) == len(robots), server)
            began = time.time() + 1.0
            (folder / "starting").write_text(repr(began), encoding="ascii")
            (folder / "starting").rename(folder / "start")
            say(f"{fleet.robots} robots in {len(robots)} processes drive for {fleet.seconds:g} s")
            time.sleep(max(0.0, began - time.time()))
            idle = server.spent_s(), postgres.cpu_s() if postgres is not None else 0.0
            _trouble(fleet, began, server, postgres, say)
            for process in robots:
                process.wait(max(0.0, began + fleet.seconds + fleet.drain_s + _END_S - time.time()))
            spent = server.spent_s() - idle[0], postgres.cpu_s() - idle[1] if postgres is not None else 0.0
            for i in range(len(robots)):
                said.append(json.loads((folder / f"result{i}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"the fleet couldn't be simulated: {error}; the server said: {server.tail()}") from error
        finally:
            for process in robots:
                process.kill()
            server.stop(signal.SIGKILL)
        return _result(fleet, said, database, spent)


@contextmanager
def _database(url: str, fleet: Fleet) -> Iterator[tuple[str, Server | None]]:
    if url:
        if fleet.restart_database:
            raise Unavailable("only a server of its own is restarted: leave out --db")
        yield url, None
        return
    if reason := why_not():
        raise Unavailable(reason)
    postgres = Server(safe=True)
    try:
        yield postgres.database(), postgres
    finally:
        postgres.close()


def _wait_for(ready: Callable[[], bool], server: MapServer) -> None:
    until = time.monotonic() + READY_S
    while not ready():
        if time.monotonic() > until:
            raise Unavailable(f"the robots don't find the map server; it said: {server.tail()}")
        time.sleep(0.1)


def _start_robots(fleet: Fleet, processes: int, folder: Path) -> list[subprocess.Popen[bytes]]:
    away = range(round(fleet.robots * fleet.offline))
    quarter = fleet.seconds / 4
    started = []
    for i in range(min(processes, fleet.robots)):
        settings = {
            "process": i,
            "robots": list(range(i, fleet.robots, processes)),
            "server": _SERVER,
            "folder": str(folder),
            "seconds": fleet.seconds,
            "rate": fleet.rate,
            "frame": fleet.frame,
            "offline": [(robot, quarter, 3 * quarter) for robot in away],
            "drain_s": fleet.drain_s,
        }
        path = folder / f"settings{i}.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        started.append(subprocess.Popen([sys.executable, "-m", "r4_ros.bridges.fleet_robots", str(path)]))
    return started


def _trouble(
    fleet: Fleet, began: float, server: MapServer, postgres: Server | None, say: Callable[[str], None]
) -> None:
    """Kill the server and restart the database, spread over the time."""
    moments = [(began + fleet.seconds * (i + 1) / (fleet.kill_server + 1), "kill") for i in range(fleet.kill_server)]
    share = fleet.seconds / (fleet.restart_database + 1)
    moments += [(began + share * (i + 0.6), "restart") for i in range(fleet.restart_database)]
    for moment, what in sorted(moments):
        time.sleep(max(0.0, moment - time.time()))
        if what == "kill":
            say("the map server is killed")
            server.kill()
            server.start()
        elif postgres is not None:
            say("PostgreSQL is restarted")
            postgres.restart()
    time.sleep(max(0.0, began + fleet.seconds - time.time()))


def _result(fleet: Fleet, said: list[Any], database: str, spent_s: tuple[float, float]) -> dict[str, Any]:
    """``spent_s``: processor time of the map server and of PostgreSQL, from the start of the drive on."""
    robots = {name: robot for process in said for name, robot in process["robots"].items()}
    acked = {
        observation_id(name, 0, _CAMERA, stamp, index)
        for name, robot in robots.items()
        for stamp in robot["acked"]
        for index in range(fleet.frame)
    }
    store = open_store(database, read_only=True)
    try:
        stored = Counter(store.observation_ids())
        problems = store.problems()
    finally:
        store.close()
    lags = np.array([lag for robot in robots.values() for lag in robot["lags"]] or [0.0])

    def each(seconds: float) -> float:
        return round(1e6 * seconds / max(1, len(acked)), 1)

    sent = fleet.frame * sum(robot["sent"] for robot in robots.values())
    return {
        "robots": fleet.robots,
        "rate": fleet.rate,
        "seconds": fleet.seconds,
        "frame": fleet.frame,
        "sent": sent,
        "acknowledged": len(acked),
        "stored": sum(stored.values()),
        "missing": len(acked - set(stored)),
        "duplicated": sum(stored.values()) - len(stored),
        "unacknowledged": fleet.frame * sum(robot["waiting"] for robot in robots.values()),
        "given_up": fleet.frame * sum(robot["given_up"] for robot in robots.values()),
        "waited_s": round(sum(robot["waited_s"] for robot in robots.values()), 1),
        "refused": dict(sum((Counter(robot["refused"]) for robot in robots.values()), Counter())),
        "lag_p50_s": round(float(np.percentile(lags, 50)), 4),
        "lag_p99_s": round(float(np.percentile(lags, 99)), 4),
        "cpu_us_per_observation": each(spent_s[0]),
        "database_cpu_us_per_observation": each(spent_s[1]),
        "robots_cpu_us_per_observation": each(sum(process["cpu_s"] for process in said)),
        "problems": problems,
    }
