"""``r4 bench`` on tiny memories: what it prints, and that nothing it finds is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import bench, db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Pose
from r4_ros.evaluation import bench_history
from r4_ros.evaluation.bench_correction import Watcher, fill_way, make_way
from r4_ros.evaluation.bench_data import make_things
from r4_ros.evaluation.bench_fill import fill
from r4_ros.evaluation.bench_ingest import Walk
from r4_ros.evaluation.bench_retrieval import SELECTIVITIES
from r4_ros.memory.library import open_library


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    bench.register(made)
    return made


def test_retrieval_as_json(app: typer.Typer) -> None:
    options = ["bench", "retrieval", "--entries", "3000", "--repeats", "4", "--no-peers", "--json"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    assert found["entries"] == 3000 and found["bytes_per_entry"] > 768 and found["rebuild_s"] > 0
    keys = {(r["engine"], r["selectivity"]) for r in found["results"]}
    assert keys == {(engine, percent) for engine in ("r4", "numpy") for percent in SELECTIVITIES}
    assert all(r["recall"] == 1.0 and 0 < r["p50_ms"] <= r["p99_ms"] for r in found["results"])
    assert [r["selectivity"] for r in found["ratios"]] == list(SELECTIVITIES)


def test_ingest_as_json_and_nothing_acknowledged_is_missing(app: typer.Typer, tmp_path: Path) -> None:
    db.register(app)
    memory, acks = str(tmp_path / "memory.db"), tmp_path / "acks"
    options = ["bench", "ingest", "--entries", "500", "--observations", "600", "--db", memory, "--acks", str(acks)]
    for rounds in (1, 2):  # the second round goes on with the file
        ran = CliRunner().invoke(app, [*options, "--json"])
        assert ran.exit_code == 0
        found = json.loads(ran.stdout)
        for frames in (found["frames"], found["frames_elsewhere"]):
            assert [frame["batch"] for frame in frames] == [1, 10, 100]
            assert all(f["observations_per_s"] > 0 and 0 < f["p50_ms"] <= f["p99_ms"] for f in frames)
        assert 0 < found["caller_ms_p50"] <= found["caller_ms_p99"]
        assert found["association_per_s"] > 0 and found["start_s"] > 0 and found["disk_bytes_per_entry"] > 0
        assert len(set(acks.read_text().split())) == rounds * 2 * (100 + 10 * 10 + 3 * 100)
    verify = ["db", "verify", "--db", memory, "--acks", str(acks), "--json"]
    ran = CliRunner().invoke(app, verify)
    found = json.loads(ran.stdout)
    assert ran.exit_code == 0 and found["missing"] == 0 and found["integrity"] == "ok"
    with acks.open("a") as log:
        log.write("0123456789abcdef0123456789abcdef\ncut o")
    ran = CliRunner().invoke(app, verify)
    assert ran.exit_code == 1 and json.loads(ran.stdout)["missing"] == 1


def test_history_as_json_stays_within_its_budget(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_history, "_ALWAYS_MB", 0)
    options = ["bench", "history", "--days", "3", "--minutes", "1", "--mb", "1", "--json"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["within"] and 0 < found["largest_mb"] <= found["budget_mb"] == 1
    assert found["observations"] == 3 * 60 * 50 == found["observations_dropped"] + found["observations_kept"]
    assert found["observations_dropped"] > 0 and 50 < found["bytes_per_observation"] < 200


def test_most_observations_of_the_benchmark_are_of_things_that_are_known(tmp_path: Path) -> None:
    things = make_things(2000)
    fill(tmp_path / "memory.db", things)
    with open_library(tmp_path / "memory.db", MemoryConfig(writer_silence_s=0.0)) as library:
        assert len(library.entries()) == 2000
        receipts = [library.ingest(f) for f in Walk(things, 1, library.newest_stamp("r2"), "w", 3).frames(30, 10)]
        assert sum(r.stored for r in receipts) == 300
        assert 2010 < len(library.entries()) < 2080  # about a tenth is new


def test_correction_as_json_and_no_answer_is_wrong(app: typer.Typer) -> None:
    options = ["bench", "correction", "--entries", "2000", "--anchors", "100", "--rounds", "2", "--json"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert (found["entries"], found["anchors"], found["corrections"], found["merged"]) == (2000, 100, 4, 100)
    assert found["queries"]["wrong"] == 0 and found["queries"]["answered"] > 0
    assert 0 < found["written_bytes_per_anchor"] < 2000 and found["times_numpy"] > 0
    assert set(found["parts"]) == {"path", "places", "pairs", "merging", "swap", "read", "write", "total"}


def test_the_benchmark_notices_a_wrong_answer(tmp_path: Path) -> None:
    way = make_way(800, 20)
    fill_way(tmp_path / "memory.db", way)
    with open_library(tmp_path / "memory.db", MemoryConfig()) as library:
        watcher = Watcher(library, way)
        watcher.ask()
        assert (watcher.wrong, watcher.seen) == (0, {0})
        library.correct_anchors("r1", way.stamps[:10], [Pose((0.1, 0, 0))] * 10)
        watcher.ask()
        assert watcher.wrong == 1


def test_synchronisation_as_json(app: typer.Typer, postgres_server: object) -> None:
    options = ["bench", "sync", "--observations", "300", "--things", "100", "--live", "100", "--robots", "3", "--json"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["crowd"]["down"]["records_each"] > found["down"]["entries"]
    assert found["crowd"]["up"]["flood_frames"] == 256 and found["crowd"]["up"]["missing"] == 0
    assert found["observations"] == 1300 and found["missing"] == found["duplicated"] == 0
    assert found["up"]["bytes_per_observation"] > 0 and found["down"]["entries"] > 0
