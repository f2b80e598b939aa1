"""kill -9 of robots, of their map server and of PostgreSQL while they synchronise: in the end all know the same.

``R4_KILL_ROUNDS=100`` for more rounds than a test run has time for; ``R4_KILL_SEED`` for others.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from fleet import Fleet, Robot, check_alike, check_observations, settle
from processes import ENDS_WITH_US, R4

from r4_ros.evaluation.postgres_server import Server

pytestmark = pytest.mark.system

ROUNDS = int(os.environ.get("R4_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("R4_KILL_SEED", "2026"))
DRIVING = Path(__file__).parents[1] / "support" / "driving.py"
ROBOTS = ("r1", "r2")


@pytest.mark.timeout(240 + 120 * ROUNDS)
def test_whatever_is_killed_all_know_the_same_in_the_end(tmp_path: Path, own_postgres_server: Server) -> None:
    fleet = Fleet(own_postgres_server, *ROBOTS)
    fleet.library.close()
    rng, running = random.Random(SEED), dict[str, subprocess.Popen[bytes]]()

    def start(name: str) -> None:
        command = [sys.executable, str(DRIVING), str(tmp_path / f"{name}.db"), fleet.as_robot(name)]
        command += [str(tmp_path / f"{name}.acks"), name]
        inbox = [*R4, "db", "inbox", "--db", fleet.url]
        running[name] = subprocess.Popen([*ENDS_WITH_US, *(inbox if name == "server" else command)])

    def kill(name: str) -> None:
        running[name].send_signal(signal.SIGKILL)
        running[name].wait()

    try:
        for name in ("server", *ROBOTS):
            start(name)
        for number in range(ROUNDS):
            _grown([tmp_path / f"{name}.acks" for name in ROBOTS])
            time.sleep(rng.uniform(0.5, 2.0))
            for name in rng.sample(("server", *ROBOTS), 2):
                kill(name)
                start(name)
            if number % 3 == 1:
                own_postgres_server.restart(kill=True)
        time.sleep(rng.uniform(0.5, 2.0))
    finally:
        for name in running:
            kill(name)
    _compare(fleet, tmp_path)


def _grown(files: list[Path]) -> None:
    """Wait until more was acknowledged in each."""
    sizes = [f.stat().st_size if f.exists() else 0 for f in files]
    until = time.monotonic() + 180
    while not all(f.exists() and f.stat().st_size > size for f, size in zip(files, sizes, strict=True)):
        assert time.monotonic() < until, "nothing was acknowledged"
        time.sleep(0.05)


def _compare(fleet: Fleet, folder: Path) -> None:
    fleet.library = _opened(fleet)
    robots = [Robot(folder / f"{name}.db", name, fleet) for name in ROBOTS]
    settle(fleet, *robots)
    check_observations(fleet, robots)
    stored = set(fleet.library.store.observation_ids())
    for robot in robots:
        text = (folder / f"{robot.name}.acks").read_text()
        acknowledged = set(text[: text.rfind("\n") + 1].split())
        assert acknowledged and acknowledged <= stored
        check_alike(robot.library, fleet.library, *ROBOTS)
        assert robot.sync.state.refused == 0 and not robot.sync.state.notice
        assert not robot.library.store.problems()
        robot.close()
    print(f"{ROUNDS} rounds (seed {SEED}): {len(stored)} observations, none missing, none twice")
    fleet.library.close()


def _opened(fleet: Fleet) -> Any:
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library

    return open_library(fleet.url, MemoryConfig())
