"""A memory as JSON Lines and back, from whole recordings; and all of ``r4 db`` while another process writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memories import content, plain

from r4_ros.bridges.apartment.feed import feed
from r4_ros.bridges.apartment.simulation import Simulation
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, quat_from_yaw
from r4_ros.core.model import CorrectionKind, EntryCorrection, Episode, EpisodeSource, Interval, Pose
from r4_ros.memory.library import open_library

pytestmark = pytest.mark.system


def r4(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "r4_ros.cli.main", *map(str, arguments)]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    return subprocess.run(command, capture_output=True, text=True, timeout=540, env=environment, check=False)


def round_trip(db: Path, folder: Path) -> dict[str, Any]:
    """Export and import with the commands; gives what the import said, after the two memories were compared."""
    stream, copy = folder / "out.jsonl", folder / "copy.db"
    done = r4("db", "export", "--db", db, "--out", stream)
    assert done.returncode == 0, done.stderr
    done = r4("db", "import", stream, "--db", copy, "--strict", "--json")
    assert done.returncode == 0, done.stderr
    original, copied = content(db), content(copy)
    for name, value in original.items():
        assert plain(value) == copied[name], name
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_kitchen_comes_back_as_it_was(shared_data: Path, tmp_path: Path) -> None:
    bag, model = shared_data / "kitchen_mcap", shared_data / "models" / "centernet_coco.onnx"
    if not bag.is_dir() or not model.is_file():
        pytest.skip("the kitchen recording or its detector (../shared/data) is not here")
    db = tmp_path / "k.db"
    done = r4("replay", bag, "--db", db, "--detector", model, "--json")
    assert done.returncode == 0, done.stderr
    told = round_trip(db, tmp_path)
    assert told["frames"] == 84 and told["observations"] == json.loads(done.stdout)["observations"]


def test_an_apartment_with_all_that_people_and_slam_said_comes_back_as_it_was(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    simulation = Simulation(duration_s=24.0, rate_hz=2.5, size=(96, 72))
    with open_library(db, MemoryConfig(embedder="none"), None) as library:
        feed(simulation, library)
        agent = library.agents()[0]
        trail = library.trail(agent)
        shift = Pose((0.3, -0.2, 0.0), quat_from_yaw(0.01))
        nodes = [p.stamp_ns for p in trail[::3]], [compose(shift, p.pose) for p in trail[::3]]
        assert library.correct_anchors(agent, *nodes).anchors > 3
        entries = library.entries()
        for kind, entry in ((CorrectionKind.RENAME, entries[0]), (CorrectionKind.FORGET, entries[1])):
            library.correct(EntryCorrection(kind, entry.entry_id, "what it really is", source="anna"), 7)
        span = Interval(trail[3].stamp_ns, trail[5].stamp_ns)
        library.add_episode(Episode("", agent, "tea was made", span, EpisodeSource.OPERATOR, place=(1.0, 2.0, 0.5)))
        counts = len(entries), len(library.events())
    told = round_trip(db, tmp_path)
    assert (told["paths"], told["corrections"], told["episodes"], told["refused"]) == (1, 2, 1, 0)
    assert told["regions"] > 3 and min(counts) > 20


WRITER = """
import sys, time
import numpy as np
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Box, Frame, Observation, OPTICAL_TO_BASE, Pose, View
from r4_ros.memory.library import open_library
with open_library(sys.argv[1], MemoryConfig()) as library:
    for n in range(1, 100_000):
        cup = Observation(0, f"cup {n % 7}", Box(Pose((n % 7 - 3.0, 0.0, 2.0)), (0.1, 0.1, 0.1)))
        frame = Frame("r", "c", "w", n, 0, n * 10**8, "home", "map", "o", Pose(), View(1.0, 0.8, 0.1, 5.0),
                      sensor_in_odom=Pose(), base_in_sensor=OPTICAL_TO_BASE, observations=(cup,))
        library.ingest(frame)
        print(n, flush=True)
        time.sleep(0.002)
"""


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    """A memory that another process writes to all the time."""
    path = tmp_path / "live.db"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 50:
            break
    drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
    yield path
    went_on = process.poll() is None
    process.kill()
    process.wait()
    drain.wait()
    assert went_on, "nothing that was done disturbed the writer"


@pytest.mark.slow
def test_all_commands_that_read_work_while_another_process_writes(written: Path, tmp_path: Path) -> None:
    info = [json.loads(r4("db", "info", "--db", written, "--json").stdout)["rows"]["frame"] for _ in range(2)]
    assert 50 <= info[0] < info[1]
    verified = r4("db", "verify", "--db", written, "--json")
    assert verified.returncode == 0 and json.loads(verified.stdout)["integrity"] == "ok"
    stream, copy, built = tmp_path / "s.jsonl", tmp_path / "copy.db", tmp_path / "built.db"
    for command in (("export", "--out", stream), ("backup", "--out", copy), ("correct", "list"), ("correct", "merges")):
        done = r4("db", *command, "--db", written)
        assert done.returncode == 0, (command, done.stderr)
    assert json.loads(r4("db", "verify", "--db", copy, "--json").stdout)["integrity"] == "ok"
    told = json.loads(r4("db", "import", stream, "--db", built, "--json", "--embedder", "none").stdout)
    assert told["frames"] > info[1] and told["refused"] == 0
    with open_library(built, MemoryConfig(), read_only=True) as library:
        assert sum(e.count for e in library.entries()) == told["frames"] and len(library.entries()) == 7


def test_what_writes_is_refused_in_one_line_that_says_what_to_do(written: Path, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("")
    for command in (("import", tmp_path / "s.jsonl"), ("correct", "undo")):
        done = r4("db", *command, "--db", written)
        assert done.returncode == 1 and done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1 and "another process is writing" in done.stderr, done.stderr
