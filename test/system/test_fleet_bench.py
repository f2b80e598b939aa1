"""``r4 bench fleet``, small: robots go offline, the map server is killed, PostgreSQL restarted; nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from processes import R4

from r4_ros.evaluation.postgres_server import why_not

pytest.importorskip("rclpy", reason="needs ROS 2")
pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")
pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")]


def test_a_fleet_loses_nothing_whatever_happens_to_the_server_and_the_database() -> None:
    options = "--robots 4 --rate 40 --seconds 20 --processes 2 --offline 0.25 --kill-server 1 --restart-database 1"
    command = [*R4, "bench", "fleet", *options.split(), "--drain", "300", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=540, env=os.environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["acknowledged"] == found["stored"] == found["sent"] == 4 * 40 * 20
    assert found["missing"] == found["duplicated"] == found["unacknowledged"] == 0
    assert found["cpu_us_per_observation"] > 0 and found["lag_p99_s"] > 0
