"""kill -9 at random moments while frames are stored: nothing acknowledged is lost, and the file opens by itself.

``R4_KILL_ROUNDS=100`` for more rounds than a test run has time for.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from processes import R4, r4

pytestmark = pytest.mark.system

ROUNDS = int(os.environ.get("R4_KILL_ROUNDS", "3"))


@pytest.mark.timeout(120 + 120 * ROUNDS)
def test_what_was_acknowledged_is_there_after_every_kill(tmp_path: Path) -> None:
    db, acks = tmp_path / "memory.db", tmp_path / "acks"
    acks.touch()
    rng, kills = random.Random(2026), 0
    while kills < ROUNDS:
        kills += killed_while_storing(db, acks, rng)
        checked = json.loads(r4("db", "verify", "--db", db, "--acks", acks, "--json", cwd=tmp_path))
        assert checked["missing"] == 0 and checked["integrity"] == "ok"
    assert acks.stat().st_size > 0


def killed_while_storing(db: Path, acks: Path, rng: random.Random) -> bool:
    """Store frames of 1, then 10, then 100 observations until the kill comes; False: all were stored before it."""
    known = acks.stat().st_size
    observations = rng.choice((150, 600, 100_000))
    command = ["bench", "ingest", "--entries", "500", "--observations", str(observations), "--db", str(db)]
    running = subprocess.Popen([*R4, *command, "--acks", str(acks)], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 180
    while acks.stat().st_size == known:
        assert running.poll() is None or acks.stat().st_size > known, running.communicate()[1]
        assert time.monotonic() < until, "nothing was acknowledged"
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.8))
    running.send_signal(signal.SIGKILL)
    running.communicate()
    return running.returncode == -signal.SIGKILL
