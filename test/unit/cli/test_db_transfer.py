"""r4 db export, import, backup and prune, on files and while a node writes."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, R4Error, StoreError, StoreFull, UnknownEntry
from r4_ros.core.model import Box, Frame, Observation, Pose, View
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.sqlite_file import SqliteFile
from r4_ros.memory.store_upkeep import KEPT_NS

S = 1_000_000_000


def run(*arguments: object) -> Any:
    app = typer.Typer()
    db.register(app)
    result = CliRunner().invoke(app, ["db", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def frame(i: int) -> Frame:
    """Four frames a second; every 2 s the view is kept."""
    mug = Observation(0, "mug", Box(Pose((0.0, 0.2, 2.0)), (0.1, 0.1, 0.1)), description="x" * 200)
    view = View(1.2, 0.9, 0.1, 10.0, np.full((6, 8), 4.0, np.float32))
    where = Pose((0.001 * i, 0.0, 0.0))
    return Frame("r1", "front", "w", i, 0, 10 * S + i * S // 4, "home", "map", "cam", where, view, observations=(mug,))


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with open_library(path, MemoryConfig()) as library:
        for i in range(200):
            library.ingest(frame(i))
    return path


def known(library: Library) -> Any:
    return library.entries(), library.events(), library.placed()


def test_export_and_import_also_while_a_node_writes(memory_file: Path, tmp_path: Path) -> None:
    out, copy = tmp_path / "out.jsonl", tmp_path / "copy.db"
    with open_library(memory_file, MemoryConfig()) as library:
        shown = run("export", "--db", memory_file, "--out", out)
        labels = [entry.label for entry in library.entries()]
    assert shown.exit_code == 0 and not out.with_name("out.jsonl.part").exists()
    report = json.loads(run("import", out, "--db", copy, "--json").stdout)
    assert (report["frames"], report["refused"], report["observations"]) == (200, 0, 200)
    with open_library(copy, MemoryConfig(), read_only=True) as library:
        assert [entry.label for entry in library.entries()] == labels
    assert run("export", "--db", copy, "--out", "-").stdout.splitlines() == out.read_text().splitlines()
    assert "200 known already" in run("import", out, "--db", copy).stdout


def test_bad_lines_are_told_with_their_numbers(tmp_path: Path) -> None:
    stream = tmp_path / "bad.jsonl"
    stream.write_text('{"type": "region", "name": "hall", "polygon": [[0,0],[1,0],[1,1]]}\nnonsense\n')
    shown = run("import", stream, "--db", tmp_path / "m.db")
    assert shown.exit_code == 0 and "line 2: no JSON" in shown.stderr and "1 lines refused" in shown.stdout
    with pytest.raises(InvalidArgument, match="line 2"):
        run("import", stream, "--db", tmp_path / "m2.db", "--strict")
    stream.write_text("nonsense\n" * 20)
    shown = run("import", stream, "--db", tmp_path / "m3.db")
    assert shown.exit_code == 1 and "and 10 more" in shown.stderr


def test_a_missing_source_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="can't be read"):
        run("import", tmp_path / "none.jsonl", "--db", tmp_path / "m.db")
    for command in ("export", "backup"):
        with pytest.raises(StoreError, match="no such database"):
            run(command, "--db", tmp_path / "none.db", "--out", tmp_path / "out")
    with pytest.raises(StoreError, match="no such database"):
        run("prune", "--db", tmp_path / "none.db", "--max-mb", 1)
    assert not list(tmp_path.glob("none*"))


def test_a_backup_is_whole_and_replaces_nothing_unasked(memory_file: Path, tmp_path: Path) -> None:
    with open_library(memory_file, MemoryConfig()) as library:
        assert run("backup", "--db", memory_file, "--out", tmp_path / "b.db").exit_code == 0
        with open_library(tmp_path / "b.db", MemoryConfig(), read_only=True) as copy:
            assert known(copy) == known(library)
    with pytest.raises(InvalidArgument, match="--force"):
        run("backup", "--db", memory_file, "--out", tmp_path / "b.db")
    told = json.loads(run("backup", "--db", memory_file, "--out", tmp_path / "b.db", "--force", "--json").stdout)
    assert told == {"path": str(tmp_path / "b.db"), "bytes": (tmp_path / "b.db").stat().st_size}
    with pytest.raises(InvalidArgument, match="exists already"):
        run("backup", "--db", memory_file, "--out", memory_file, "--force")


def test_prune_keeps_what_the_entries_know(memory_file: Path) -> None:
    before = 10 * S + 30 * S
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        kept, trail, size = known(library), library.trail("r1"), library.info()
    planned = json.loads(
        run("prune", "--db", memory_file, "--observations-before", before, "--dry-run", "--json").stdout
    )
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        assert library.info()["rows"] == size["rows"], "a dry run drops nothing"
    done = json.loads(run("prune", "--db", memory_file, "--observations-before", before, "--json").stdout)
    assert {**planned, "dry_run": False} == done
    assert done["observations"] == 120 and done["frames"] > 80 and done["before_ns"] == before - S // 4 + 1
    assert done["bytes_after"] < done["bytes_before"]
    with open_library(memory_file, MemoryConfig()) as library:
        assert known(library) == kept
        assert set(library.trail("r1")) < set(trail)
        for point in trail:
            told = library.trail_at("r1", point.stamp_ns)
            assert told is not None and np.allclose(told.pose.position, point.pose.position, atol=0.05)
        for i in range(200):
            assert library.ingest(frame(i)).stored == 0, "what was dropped isn't new when it is sent again"
        assert known(library) == kept
        assert library.ingest(replace(frame(200), writer="w")).stored == 1


def test_prune_to_a_size_drops_the_oldest_and_says_where_it_ends(memory_file: Path) -> None:
    size = memory_file.stat().st_size
    done = json.loads(run("prune", "--db", memory_file, "--max-mb", size * 0.8 / 1e6, "--json").stdout)
    assert 0 < done["observations"] < 200 and done["bytes_after"] <= size * 0.8
    assert memory_file.stat().st_size <= size * 0.8
    shown = run("prune", "--db", memory_file, "--max-mb", 0.001)
    assert "never dropped" in shown.stderr
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        assert library.entries()[0].count == 200 and library.info()["rows"]["observation"] == 0  # type: ignore[index]
    out = memory_file.with_name("out.jsonl")
    run("export", "--db", memory_file, "--out", out)
    assert "had dropped old history" in run("import", out, "--db", memory_file.with_name("again.db")).stderr


def test_prune_takes_ages_and_dates(memory_file: Path) -> None:
    for text, count in (("30s", 79), ("1970-01-01T00:00:40", 120), ("1970-01-01", 0), ("1d", 0)):
        shown = run("prune", "--db", memory_file, "--observations-before", text, "--dry-run", "--json")
        assert json.loads(shown.stdout)["observations"] == count, text
    with pytest.raises(InvalidArgument, match="no date"):
        run("prune", "--db", memory_file, "--observations-before", "soon")
    with pytest.raises(InvalidArgument, match="say what may go"):
        run("prune", "--db", memory_file)


def test_what_writes_is_refused_while_a_node_runs(memory_file: Path, tmp_path: Path) -> None:
    stream = tmp_path / "s.jsonl"
    stream.write_text("")
    with open_library(memory_file, MemoryConfig()):
        for command in (("prune", "--forgotten-before", "1d"), ("import", stream)):
            with pytest.raises(R4Error, match="another process is writing"):
                run(*command, "--db", memory_file)


def test_corrections_from_the_command_line(memory_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("r4_ros.cli.embedding.embedder_for", lambda db: None)
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        (entry,) = library.entries()
    options = ("--db", memory_file, "--source", "anna")
    made = json.loads(run("correct", "rename", entry.entry_id[:6], "cup", *options, "--json").stdout)
    assert made["correction_id"] == 1 and made["changed"][0]["label"] == "cup"
    assert "at (1.00, 2.00, -3.50)" in run("correct", "pin", entry.entry_id, *options, "--at", 1, 2, -3.5).stdout
    half = 10 * S + 20 * S
    assert (
        len(json.loads(run("correct", "split", entry.entry_id, *options, "--at", half, "--json").stdout)["changed"])
        == 2
    )
    run("correct", "undo", *options)
    assert "shown no more" in run("correct", "forget", entry.entry_id, *options).stdout
    with pytest.raises(UnknownEntry, match="no entry"):
        run("correct", "merge", entry.entry_id, "other", *options)
    with open_library(memory_file, MemoryConfig()):
        listed = json.loads(run("correct", "list", "--db", memory_file, "--json").stdout)
        with pytest.raises(StoreError, match="another process is writing"):
            run("correct", "undo", *options)
    assert [(row["number"], row["kind"], row["undone_by"]) for row in listed] == [
        (1, "RENAME", 0),
        (2, "PIN", 0),
        (3, "SPLIT", 4),
        (4, "UNDO", 0),
        (5, "FORGET", 0),
    ]
    assert "1: rename" in run("correct", "list", "--db", memory_file).stdout and listed[0]["source"] == "anna"
    run("correct", "undo", 5, "--db", memory_file)
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        assert [(e.entry_id, e.label) for e in library.entries()] == [(entry.entry_id, "cup")]


def test_what_the_memory_merged_is_listed_and_taken_apart(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    looks = [(stamp, 1.0 if stamp > 5 else 0.0) for stamp in range(1, 10)]
    cup = {"label": "cup", "box": [0, 0, 2, 0.1, 0.1, 0.1]}
    lines = [
        {
            "type": "frame",
            "agent": "a",
            "stamp": stamp * S,
            "base_in_map": [0, off, 0, 0, 0, 0, 1],
            "sensor_in_odom": [0, off, 0, 0, 0, 0, 1],
            "observations": [cup],
        }
        for stamp, off in looks
    ]
    lines.append({"type": "path", "agent": "a", "nodes": [[stamp * S, 0, 0, 0, 0, 0, 0, 1] for stamp, _ in looks]})
    stream = tmp_path / "s.jsonl"
    stream.write_text("\n".join(map(json.dumps, lines)))
    run("import", stream, "--db", db, "--embedder", "none")
    [merge] = json.loads(run("correct", "merges", "--db", db, "--json").stdout)
    assert (merge["label"], merge["reason"], merge["undone_by"]) == ("cup", "correction", 0)
    assert f"{merge['part']} (cup) is {merge['entry_id']}: correction" in run("correct", "merges", "--db", db).stdout
    for wrong in ((), ("--at", 5 * S, "--part", merge["part"])):
        with pytest.raises(InvalidArgument, match="--at a time, or --part"):
            run("correct", "split", merge["entry_id"], *wrong, "--db", db)
    split = ("correct", "split", merge["entry_id"], "--part", merge["part"][:8], "--db", db, "--json")
    assert {e["entry_id"] for e in json.loads(run(*split).stdout)["changed"]} == {merge["entry_id"], merge["part"]}
    assert "taken apart by correction 1" in run("correct", "merges", "--db", db).stdout
    assert "shown no more" in run("correct", "undo", "--db", db).stdout


def test_what_is_forgotten_can_be_erased(memory_file: Path) -> None:
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        (entry,) = library.entries()
    with pytest.raises(InvalidArgument, match="give it alone"):
        run("prune", "--db", memory_file, "--forgotten-before", "1d", "--dry-run")
    shown = run("correct", "forget", entry.entry_id, "--db", memory_file, "--erase").stdout
    assert "is shown no more" in shown and "erased, with 200 observations" in shown
    told = json.loads(run("prune", "--db", memory_file, "--forgotten-before", "0d", "--json").stdout)
    assert (told["entries"], told["observations"]) == (0, 0)
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        assert library.entries() == [] and library.info()["rows"]["entry"] == 0  # type: ignore[index]


def test_prune_beside_a_node_leaves_it_what_it_needs(memory_file: Path) -> None:
    """What another process drops meanwhile is gone for the one that writes, too, and nothing else is."""
    with open_library(memory_file, MemoryConfig(writer_silence_s=0.0)) as library:
        for i in range(200, 500):
            library.ingest(frame(i))
        newest = library.newest_stamp()
        kept, rows = known(library), library.info()["rows"]
        options = ("prune", "--db", memory_file, "--observations-before", "1s", "--json")
        planned = json.loads(run(*options, "--dry-run").stdout)
        assert library.info()["rows"] == rows and list(memory_file.parent.glob("r4-prune*")) == []
        done = json.loads(run(*options).stdout)
        assert {**planned, "dry_run": False, "room_stays": done["room_stays"]} == done and done["room_stays"]
        assert done["observations"] == 259 and done["before_ns"] <= newest - KEPT_NS, "its newest minute stays"
        assert known(library) == kept
        for i in (0, 100, 258, 259, 300, 499):
            assert library.ingest(frame(i)).stored == 0, "what was dropped isn't new when it is sent again"
        assert library.ingest(frame(500)).stored == 1
        assert library.info()["rows"]["observation"] == 501 - 259  # type: ignore[index]
        kept = known(library)
    with open_library(memory_file, MemoryConfig()) as library:
        assert known(library) == kept


def test_prune_on_a_disk_without_room_for_a_copy_says_that_the_file_keeps_its_size(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: SqliteFile) -> None:
        raise StoreFull("the disk is full")

    monkeypatch.setattr(SqliteFile, "vacuum", full)
    shown = run("prune", "--db", memory_file, "--observations-before", "1s")
    assert shown.exit_code == 0 and "dropped 19" in shown.stdout and "keeps its size: the disk is full" in shown.stderr
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        assert library.info()["dropped"]["observations"] > 190  # type: ignore[index]


def test_wherever_a_page_is_damaged_it_is_told_and_what_can_be_read_makes_a_whole_memory(
    memory_file: Path, tmp_path: Path
) -> None:
    with open_library(memory_file, MemoryConfig(), read_only=True) as library:
        kept = [(entry.label, entry.count, entry.first_seen, entry.last_seen) for entry in library.entries()]
    with sqlite3.connect(memory_file) as file:
        places = file.execute("SELECT name, tbl_name, rootpage FROM sqlite_master WHERE rootpage > 0").fetchall()
    file.close()
    content, whole = memory_file.read_bytes(), list[str]()
    for name, table, page in places:
        damaged, out = tmp_path / f"{name}.db", tmp_path / f"{name}.jsonl"
        damaged.write_bytes(content[: (page - 1) * 4096] + b"\x5a" * 300 + content[(page - 1) * 4096 + 300 :])
        told = json.loads(run("verify", "--db", damaged, "--json").stdout)
        assert told["integrity"] == "damaged", name
        assert name == "meta" or told["problems"][0] == f"table {table} or an index of it is damaged"
        try:
            run("export", "--db", damaged, "--out", out)
        except StoreError as error:
            assert "restore a backup" in str(error)
            continue
        whole.append(name)
        assert run("import", out, "--db", tmp_path / "new.db", "--embedder", "none").exit_code == 0
        with open_library(tmp_path / "new.db", MemoryConfig(), read_only=True) as library:
            assert [(e.label, e.count, e.first_seen, e.last_seen) for e in library.entries()] == kept, name
        (tmp_path / "new.db").unlink()
    assert {"sighting", "event", "event_stamp", "stay", "presence"} <= set(whole)
