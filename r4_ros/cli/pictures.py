"""Pictures of single things, as memory kept them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r4_ros.core.errors import InvalidArgument, UnknownEntry

if TYPE_CHECKING:
    from r4_ros.core.model import PlacedEntry

MOST_NAMES = 15


def save_picture(db: str | Path, thing: str, out: Path | None) -> Path:
    """Write the newest picture of a thing, named by its label or entry id; of several, of the one seen last.

    ``out``: .jpg or .png; None: beside the database. Raises UnknownEntry where there is no such thing or no picture.
    """
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.database_name import beside
    from r4_ros.memory.library import open_library

    with open_library(db, MemoryConfig(), read_only=True) as library:
        known = library.placed()
        named = named_so(known, thing)
        kept = next((crop for entry in named if (crop := library.crop(entry.entry_id)) is not None), None)
    if not named:
        labels = ", ".join(sorted({entry.label for entry in known})[:MOST_NAMES]) or "nothing"
        raise UnknownEntry(f"the memory knows no '{thing}'; it knows {labels}")
    if kept is None:
        raise UnknownEntry(f"no picture of '{thing}' is kept: none was sent, or older ones made room (crops_mb)")
    path = out or beside(db, f"-{_file_name(thing)}.jpg")
    path.write_bytes(_encoded(kept.jpeg, path))
    return path


def named_so(entries: Sequence[PlacedEntry], thing: str) -> list[PlacedEntry]:
    """The entries with this id or label, seen last first."""
    wanted = thing.casefold()
    found = [entry for entry in entries if wanted in (entry.entry_id.casefold(), entry.label.casefold())]
    return sorted(found, key=lambda entry: -entry.last_seen)


def _encoded(jpeg: bytes, path: Path) -> bytes:
    kind = path.suffix.lower()
    if kind in (".jpg", ".jpeg"):
        return jpeg
    if kind != ".png":
        raise InvalidArgument(f"{path}: a picture is written as .jpg or .png")
    from PIL import Image

    target = io.BytesIO()
    Image.open(io.BytesIO(jpeg)).save(target, "PNG")
    return target.getvalue()


def _file_name(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text)
