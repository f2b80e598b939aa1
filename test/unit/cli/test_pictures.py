"""``r4 view --thing``: pictures of single things."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from r4_ros.cli import view
from r4_ros.cli.pictures import save_picture
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.model import Box, Frame, Observation, Pose, View
from r4_ros.memory.library import open_library


def jpeg(color: str) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(target, "JPEG")
    return target.getvalue()


def image(color: str) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(color)).decode()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "home.db"
    box = (0.1, 0.1, 0.1)
    seen = {
        1: [
            Observation(0, "mug", Box(Pose((0, 0, 2)), box), image=image("red")),
            Observation(1, "book", Box(Pose((1, 0, 2)), box)),
        ],
        2: [Observation(0, "mug", Box(Pose((-1.5, 0, 2)), box), image=image("blue"))],
    }
    with open_library(path, MemoryConfig()) as library:
        for number in seen:
            stamp = number * 1_000_000_000
            view_of = View(1.2, 0.9, 0.1, 10.0)
            library.ingest(
                Frame(
                    "r", "c", "w", number, 0, stamp, "", "map", "cam", Pose(), view_of, observations=tuple(seen[number])
                )
            )
    return path


def test_the_picture_of_what_was_seen_last_is_written(db: Path, tmp_path: Path) -> None:
    assert save_picture(db, "Mug", None).read_bytes() == jpeg("blue")
    assert (tmp_path / "home-Mug.jpg").is_file()
    with open_library(db, MemoryConfig(), read_only=True) as library:
        first = library.entries()[0].entry_id
    app = typer.Typer()
    view.register(app)
    ran = CliRunner().invoke(app, ["--db", str(db), "--thing", first, "--out", str(tmp_path / "m.png")])
    assert ran.exit_code == 0 and ran.stdout.strip() == str(tmp_path / "m.png")
    red, green, _ = Image.open(tmp_path / "m.png").convert("RGB").getpixel((20, 15))
    assert red > 200 and green < 60


def test_what_isn_t_there_is_told(db: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownEntry, match="knows no 'cat'; it knows book, mug"):
        save_picture(db, "cat", None)
    with pytest.raises(UnknownEntry, match="no picture of 'book' is kept"):
        save_picture(db, "book", None)
    with pytest.raises(InvalidArgument, match=r"\.jpg or \.png"):
        save_picture(db, "mug", tmp_path / "m.gif")
