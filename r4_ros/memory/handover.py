"""``r4 db import`` into a memory whose node runs: the stream is handed over beside the database's file, and the node,
which alone writes, works it in between its frames.

The stream lies in FILE-import until the node takes it, then in FILE-importing until it is done, so that a node that was
killed goes on; what became of it is told in FILE-imported.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from r4_ros.core.errors import InvalidArgument, R4Error, StoreError, StoreInUse
from r4_ros.core.ports import Embedder
from r4_ros.memory.library import Library
from r4_ros.memory.transfer import Imported, Importer

TAKEN_S = 10.0
"""A node takes what is handed over within this time; a process that doesn't is none."""
_POLL_S = 0.05
_ERROR = "error"
_HEAD = {strict: json.dumps({"strict": strict}) + "\n" for strict in (False, True)}
"""The first line of what is handed over."""


class Handover:
    """The place beside a database where a stream is handed over."""

    def __init__(self, database: Path) -> None:
        self._database = database = database.resolve()
        self._given, self._taken, self._told = (
            database.with_name(database.name + ending) for ending in ("-import", "-importing", "-imported")
        )

    # The command's side.

    def give(self, lines: Iterable[str], strict: bool) -> None:
        """Hand a stream over. Raises InvalidArgument while another one is worked in, StoreError without room."""
        if self._given.exists() or self._taken.exists():
            raise InvalidArgument("another import is worked into this memory; try again when it is done")
        part = self._given.with_name(f"{self._given.name}-{os.getpid()}")
        try:
            self._told.unlink(missing_ok=True)
            with part.open("w", encoding="utf-8") as file:
                file.write(_HEAD[strict])
                file.writelines(lines)
            part.replace(self._given)
        except OSError as error:
            raise StoreError(f"{part}: the stream can't be handed over to the node ({error.strerror})") from error
        finally:
            part.unlink(missing_ok=True)

    def result(self, is_owned: Callable[[], bool], taken_s: float = TAKEN_S) -> Imported:
        """Wait for what became of it. ``is_owned``: whether another process still writes to the database.

        Raises StoreInUse where that one takes nothing (the stream is taken back), StoreError where the node ended or
        could store no more.
        """
        began = asked = time.monotonic()
        while not self._told.exists():
            now = time.monotonic()
            if now > began + taken_s and self._take_back():
                raise StoreInUse(
                    f"{self._database}: another process is writing to this database, and is no memory node that "
                    "would take the stream; stop it first, or import into another file"
                )
            if now > asked + taken_s:
                asked = now
                if not is_owned():
                    raise StoreError(f"{self._database}: the node ended; it goes on with the stream when it runs again")
            if not any(path.exists() for path in (self._given, self._taken, self._told)):
                raise StoreError(f"{self._told}: can't be written by the node; free space, and import again")
            time.sleep(_POLL_S)
        told = json.loads(self._told.read_text(encoding="utf-8"))
        self._told.unlink(missing_ok=True)
        if error := told.pop(_ERROR, ""):
            raise StoreError(error)
        return Imported(**told)

    def _take_back(self) -> bool:
        with suppress(FileNotFoundError):  # it was taken
            self._given.unlink()
            return True
        return False

    # The node's side.

    def take(self, library: Library, embedder: Embedder | None) -> Handed | None:
        """What was handed over, also what was begun before this process; None: nothing."""
        with suppress(OSError):
            if not self._taken.exists():
                self._given.rename(self._taken)
            return Handed(self._taken, self._told, library, embedder)
        return None


class Handed:
    """A stream that was handed over, worked in a slice at a time. Raises OSError."""

    def __init__(self, taken: Path, told: Path, library: Library, embedder: Embedder | None) -> None:
        self._taken, self._told = taken, told
        self._file = taken.open(encoding="utf-8", errors="replace")
        self._strict = self._file.readline() == _HEAD[True]
        self._importer = Importer(library, lambda: embedder)
        self._number = 0

    def work(self, seconds: float) -> bool:
        """Work lines in for so long; False: that was the last one, and the command is told."""
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                line = self._file.readline()
                if not line:
                    self._tell(asdict(self._importer.finish()))
                    return False
                self._number += 1
                self._importer.take(self._number, line, self._strict)
        except (R4Error, OSError) as error:
            self._tell({**asdict(self._importer.done), _ERROR: str(error)})
            return False
        return True

    def _tell(self, said: dict[str, object]) -> None:
        self._file.close()
        part = self._told.with_name(self._told.name + ".part")
        with suppress(OSError):  # no room even for this: the command sees that nothing is left
            part.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
            part.replace(self._told)
        self._taken.unlink(missing_ok=True)
