"""``r4 view`` over a real memory: what the command draws, prints and refuses."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from r4_ros.cli.view import scene_of
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import (
    NS_PER_S,
    Box,
    EntryState,
    Frame,
    Observation,
    Pose,
    Region,
    Vec3,
    View,
    Visibility,
)
from r4_ros.memory.library import Library, open_library

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]
START = 1000 * NS_PER_S
KITCHEN = Region("kitchen", ((-1.0, -2.0), (5.0, -2.0), (5.0, 3.0), (-1.0, 3.0)))


def thing(index: int, label: str, place: Vec3, track: str = "") -> Observation:
    return Observation(index, label, Box(Pose(place), (0.4, 0.4, 0.4)), track_id=track)


def frame(second: float, x: float, observations: list[Observation], agent: str = "robot") -> Frame:
    """A frame of a sensor at (x, 0, 1) whose axes are the map's; boxes are given in the map."""
    back = [
        replace(o, box=Box(Pose((o.box.pose.position[0] - x, *o.box.pose.position[1:])), o.box.extent))
        for o in observations
    ]
    return Frame(
        agent_id=agent,
        camera="camera",
        writer=f"test-{agent}",
        sequence=round(second * 10) + 1,
        session=0,
        stamp_ns=START + round(second * NS_PER_S),
        map_id="home",
        map_frame="map",
        sensor_frame="optical",
        sensor_in_map=Pose((x, 0.0, 0.0)),
        view=View(1.5, 1.2, 0.1, 10.0),
        base_in_sensor=Pose(),
        observations=tuple(back),
    )


def fill(library: Library) -> None:
    """A mug that is found gone after 20 s, a chair that is pushed along x from 10 s on, a second robot."""
    library.set_regions([KITCHEN])
    mug_id = ""
    for k in range(31):
        second = float(k)
        chair = thing(0, "chair", (1.0 if k < 10 else 3.0, 2.0, 0.4), "track")
        seen = [chair]
        if k < 20:
            seen.append(thing(1, "mug", (2.0, -1.0, 0.8)))
        elif mug_id:
            gone = thing(1, "mug", (2.0, -1.0, 0.8))
            seen.append(replace(gone, visibility=Visibility.ABSENT, entry_id=mug_id))
        receipt = library.ingest(frame(second, 0.1 * k, seen))
        mug_id = mug_id or next((e.entry_id for e in receipt.changed if e.label == "mug"), "")
    library.ingest(frame(5.0, 4.0, [thing(0, "plant", (4.5, 2.5, 0.4))], agent="other"))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with open_library(path, MemoryConfig()) as library:
        fill(library)
    return path


def r4_view(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "r4_ros.cli.main", "view", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_the_scene_is_what_is_known_now_and_what_was_known_then(db: Path) -> None:
    with open_library(db, MemoryConfig(), read_only=True) as library:
        now, then, before = scene_of(library), scene_of(library, "15s ago"), scene_of(library, "1005s")
    states = {t.label: (t.state, t.moved_from is not None) for t in now.things}
    assert states["mug"] == (EntryState.GONE, False)
    assert states["chair"] == (EntryState.PRESENT, True)
    assert {t.label: t.state for t in then.things}["mug"] != EntryState.GONE
    chair_before = next(t for t in before.things if t.label == "chair")
    chair_now = next(t for t in now.things if t.label == "chair")
    assert chair_before.moved_from is None
    assert chair_before.centre[0] == pytest.approx(1.0, abs=0.05)
    assert chair_now.centre[0] == pytest.approx(3.0, abs=0.05)
    assert chair_now.moved_from is not None
    assert chair_now.moved_from[0] == pytest.approx(1.0, abs=0.05)
    assert {w.agent_id for w in now.walks} == {"robot", "other"}
    assert now.walks[-1].length == pytest.approx(3.0, abs=0.05)
    assert before.walks[-1].length == pytest.approx(0.5, abs=0.05)
    assert [r.name for r in now.regions] == ["kitchen"]


def test_only_the_agents_asked_for_are_drawn(db: Path) -> None:
    with open_library(db, MemoryConfig(), read_only=True) as library:
        scene = scene_of(library, agents={"other"})
        with pytest.raises(InvalidArgument, match="nobody; it knows other, robot"):
            scene_of(library, agents={"nobody"})
    assert [t.label for t in scene.things] == ["plant"]
    assert [w.agent_id for w in scene.walks] == ["other"]


def test_the_command_draws_and_prints_the_path(db: Path, tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    run = r4_view("--db", str(db), "--out", str(out), "--size", "800", "--at", "15s ago")
    assert (run.returncode, run.stdout.strip()) == (0, str(out)), run.stderr
    with Image.open(out) as picture:
        assert picture.format == "PNG"
        assert picture.width == 800
    assert r4_view("--db", str(db)).stdout.strip() == str(db.with_suffix(".png"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--at", "yesterday"], "can't read the time"),
        (["--agents", "nobody"], "no agent nobody"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_on_stderr(db: Path, arguments: list[str], says: str) -> None:
    run = r4_view("--db", str(db), *arguments)
    assert (run.returncode, run.stdout) == (1, "")
    assert says in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_an_empty_memory_has_nothing_to_draw(tmp_path: Path) -> None:
    open_library(tmp_path / "empty.db", MemoryConfig()).close()
    run = r4_view("--db", str(tmp_path / "empty.db"))
    assert (run.returncode, run.stdout) == (1, "")
    assert "nothing to draw" in run.stderr


def test_before_the_first_frame_only_the_rooms_are_drawn(db: Path) -> None:
    with open_library(db, MemoryConfig(), read_only=True) as library:
        scene = scene_of(library, "5s")
    assert (scene.things, scene.walks) == ((), ())
    assert len(scene.regions) == 1


def test_a_memory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    run = r4_view("--db", str(tmp_path / "none.db"))
    assert run.returncode == 1
    assert "none.db" in run.stderr
    assert list(tmp_path.iterdir()) == []
