"""``r4 replay`` on recordings written here: a label camera needs no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli.replay import register
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import R4Error
from r4_ros.memory.library import open_library

S = 1_000_000_000


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    return made


@pytest.fixture
def bag(tmp_path: Path, bags: Any) -> Path:
    """Five frames of a crate, named by a latched topic."""
    names = bags.make("std_msgs/msg/String", data='{"7": "crate"}')
    messages = [("/camera/label/label_info", 5 * S, names)]
    for i in range(5):
        stamp = 5 * S + i * S // 10
        messages += bags.frame(stamp)
        labels = np.zeros((24, 32), np.uint16)
        labels[8:18, 10:22] = 7
        messages.append(("/camera/label/image_raw", stamp, bags.image(stamp, labels, "16UC1")))
    return Path(bags.write(tmp_path / "bag", messages))


def run(app: typer.Typer, *arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_one_json_document(app: typer.Typer, bag: Path, tmp_path: Path) -> None:
    db = tmp_path / "k.db"
    done = run(app, bag, "--db", db, "--agent", "walle", "--embedder", "none", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result.pop("wall_s") >= 0
    assert result == {
        "frames": 5, "observations": 5, "absent": 0, "entries": 1, "refused": {}, "db": str(db), "agent": "walle",
        "vision": {},
    }  # fmt: skip
    with open_library(db, MemoryConfig(agent_id="walle"), None, read_only=True) as library:
        [entry] = library.placed()
        assert (entry.label, entry.agent_id, entry.count) == ("crate", "walle", 5)


def test_words_for_people_and_the_same_memory_from_the_same_messages(
    app: typer.Typer, bag: Path, tmp_path: Path
) -> None:
    entries = []
    for name in ("a.db", "b.db"):
        done = run(app, bag, "--db", tmp_path / name, "--embedder", "none")
        assert "5 frames" in done.stdout
        assert "1 entries" in done.stdout
        with open_library(tmp_path / name, MemoryConfig(agent_id="robot"), None, read_only=True) as library:
            entries.append(library.entries())
    assert entries[0] == entries[1]


def test_refusals_are_counted_and_explained(app: typer.Typer, bag: Path, tmp_path: Path) -> None:
    done = run(app, bag, "--db", tmp_path / "k.db", "--embedder", "none", "--map-frame", "world", "--json")
    result = json.loads(done.stdout)
    assert (result["frames"], result["entries"], result["refused"]) == (0, 0, {"no_pose": 5})
    assert "'world' is not in TF" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--segmenter", "detector"], "--detector"),
        (["--slop", "-1"], "sync_slop_s"),
        (["--depth-topic", "/x"], "no topic /x"),
        (["--legend", "none.yaml"], r"none\.yaml"),
        (["--intrinsics", "a,b"], "four numbers"),
    ],
)
def test_wrong_options_say_what_to_do(
    app: typer.Typer, bag: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = run(app, bag, "--db", tmp_path / "k.db", "--embedder", "none", *arguments)
    assert isinstance(done.exception, R4Error)
    with pytest.raises(R4Error, match=words):
        raise done.exception


@pytest.mark.parametrize(
    ("param", "told"),
    [
        ("min_points", "name=value is needed"),
        ("min_points=many", "must be a int"),
        ("min_points=0", "must be at least 1"),
        ("no_such=1", "unknown parameter 'no_such'"),
        ("min_points=[", "is no value"),
    ],
)
def test_a_wrong_parameter_is_told(app: typer.Typer, bag: Path, tmp_path: Path, param: str, told: str) -> None:
    done = run(app, bag, "--db", tmp_path / "k.db", "--param", param)
    assert isinstance(done.exception, R4Error)
    assert told in str(done.exception)


def test_any_parameter_of_perception_can_be_given(app: typer.Typer, bag: Path, tmp_path: Path) -> None:
    options = ("--embedder", "none", "--json", "--param", "min_points=1000", "--param", "camera=7")
    done = run(app, bag, "--db", tmp_path / "k.db", *options)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["observations"] == 0  # the crate has fewer points


def test_a_cloud_takes_the_place_of_depth_where_there_is_none_or_it_is_named(
    app: typer.Typer, tmp_path: Path, bags: Any
) -> None:
    def recorded(name: str, depth: bool) -> Path:
        messages = [("/label/label_info", 5 * S, bags.make("std_msgs/msg/String", data='{"7": "crate"}'))]
        labels = np.zeros((24, 32), np.uint16)
        labels[8:18, 10:22] = 7
        for stamp in range(5 * S, 6 * S, S // 5):
            messages += [m for m in bags.frame(stamp) if depth or "depth" not in m[0]]
            messages += [("/label/image_raw", stamp, bags.image(stamp, labels, "16UC1"))]
            messages += [("/lidar/points", stamp, bags.cloud(stamp))]
        return Path(bags.write(tmp_path / name, messages))

    without, both = recorded("without", False), recorded("both", True)
    places = []
    for bag, *options in ((without,), (both,), (both, "--cloud-topic", "/lidar/points")):
        db = tmp_path / f"{len(places)}.db"
        done = run(app, bag, "--db", db, "--embedder", "none", "--json", *options)
        assert (done.exit_code, json.loads(done.stdout)["frames"]) == (0, 5), done.output
        with open_library(db, MemoryConfig(agent_id="robot"), None, read_only=True) as library:
            places.append(library.placed()[0].box.pose.position)
    assert places[0] == places[2] == pytest.approx(places[1], abs=1e-3)


def test_a_recording_without_depth_says_what_would_do(app: typer.Typer, tmp_path: Path, bags: Any) -> None:
    bag = bags.write(tmp_path / "bag", [m for m in bags.frame(5 * S) if "depth" not in m[0]])
    done = run(app, bag, "--db", tmp_path / "a.db")
    assert isinstance(done.exception, R4Error)
    assert "has no depth topic (or name it: --depth-topic, --cloud-topic)" in str(done.exception)
