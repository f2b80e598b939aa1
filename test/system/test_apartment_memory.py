"""The simulated apartment through perception into memory, compared with the truth; and the command that does it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from r4_ros.bridges.apartment.feed import feed
from r4_ros.bridges.apartment.simulation import START_NS, Simulation
from r4_ros.cli.main import app, load_commands
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S, Entry, EventKind
from r4_ros.evaluation.compare import Comparison, compare
from r4_ros.evaluation.identity import Identity, identity
from r4_ros.memory.library import open_library
from r4_ros.memory.regions import load_regions
from r4_ros.perception.label_segmenter import load_legend

pytestmark = pytest.mark.system
MIN_PIXELS = 100
"""At 160 x 120; as many as 400 at 320 x 240."""


Run = tuple[Comparison, list[Entry], list[tuple[str, str, float]], Identity]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Robot 1 for 72 s: it sees things, they are moved and taken away, and it comes back to two of their places."""
    simulation = Simulation(duration_s=72.0, rate_hz=2.5, size=(160, 120), robots=("robot1",))
    db = tmp_path_factory.mktemp("apartment") / "memory.db"
    with open_library(db, MemoryConfig(embedder="none"), None) as library:
        feed(simulation, library)
        truth = json.loads(json.dumps(simulation.truth_log()))
        comparison = compare(truth, library, MIN_PIXELS)
        events = [(e.kind.name, e.label, (e.stamp_ns - START_NS) / NS_PER_S) for e in library.events()]
        return comparison, library.entries(), events, identity(truth, library)


def test_what_was_well_seen_is_remembered_once_and_in_its_place(run: Run) -> None:
    comparison = run[0]
    assert comparison.seen > 60
    assert comparison.recall >= 0.98, comparison.missed
    assert comparison.duplicate_share < 0.02, comparison.doubled
    assert comparison.unexplained <= 1
    assert comparison.median_error_m < 0.05
    assert comparison.p95_error_m <= 0.40  # of large things seen in part only


def test_look_alikes_are_kept_apart(run: Run) -> None:
    found = run[3]
    assert found.sightings > 1000 and found.alike > 40
    assert found.mixed <= 1, "of two apples in a bowl, a few pixels each, only one was found at first"
    assert found.idf1 > 0.98
    assert found.switches <= 2, found.switched  # of things that were carried


def test_what_was_taken_away_is_known_to_be_gone_and_nothing_else_is(run: Run) -> None:
    comparison, _, events, _ = run
    assert comparison.ended_right == comparison.ended >= 2
    assert comparison.ended_wrongly == 0, comparison.wrong_ends
    gone = {label for kind, label, _ in events if kind == EventKind.DISAPPEARED.name}
    assert {"backpack", "plant"} <= gone


def test_the_command_writes_a_memory_and_all_files(tmp_path: Path) -> None:
    load_commands()
    files = {name: tmp_path / f"{name}.out" for name in ("legend", "regions", "truth")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    command = ["sim", "--db", str(tmp_path / "s.db"), "--duration", "2", "--rate", "2", "--size", "64x48"]
    result = CliRunner().invoke(app, [*command, *options, "--embedder", "none", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["frames"] == 8 and report["refused"] == {} and report["entries"] > 3
    assert "mug" in load_legend(files["legend"]).values()
    assert {region.name for region in load_regions(files["regions"])} >= {"kitchen", "living room", "bedroom"}
    truth = json.loads(files["truth"].read_text())
    assert len(truth["frames"]) == 8 and len(truth["objects"]) >= 45


def test_the_command_makes_a_picture_of_the_rooms(tmp_path: Path) -> None:
    load_commands()
    result = CliRunner().invoke(app, ["sim", "--picture", str(tmp_path / "rooms.png")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "rooms.png").read_bytes().startswith(b"\x89PNG")


def test_the_measure_is_a_command(tmp_path: Path) -> None:
    load_commands()
    db = tmp_path / "m.db"
    command = ["eval", "memory", "--duration", "2", "--rate", "2", "--size", "64x48", "--embedder", "none"]
    result = CliRunner().invoke(app, [*command, "--db", str(db), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["frames"] == 8 and found["entries"] > 3 and found["mixed"] == 0 and db.is_file()
    assert CliRunner().invoke(app, command).stdout.count("duplicate share") == 1
    assert CliRunner().invoke(app, [*command, "--db", str(db)]).exit_code != 0, "it would be no measure of this run"


@pytest.mark.parametrize("wrong", [["--size", "wide"], ["--namespace", "a", "--robots", "2"]])
def test_the_command_refuses_what_makes_no_sense(wrong: list[str]) -> None:
    load_commands()
    result = CliRunner().invoke(app, ["sim", *wrong])
    assert result.exit_code != 0
