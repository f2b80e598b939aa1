"""The option that names a memory."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT = "r4.db"
Db = Annotated[
    str, typer.Option("--db", metavar="FILE|URL", help="the memory: a SQLite file, or postgresql://USER@HOST/NAME")
]
