"""The store's statements as PostgreSQL and psycopg want them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from r4_ros.memory.postgres_schema import TABLES

_WIDTHS = """SELECT sum(n * (32 + coalesce((SELECT sum(avg_width) FROM pg_stats
    WHERE schemaname = 'public' AND tablename = name), 200))) * 1.3 FROM ({}) AS of_tables(name, n)"""
Types = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Tables with their columns, each with its type."""

USED = _WIDTHS.format("SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE schemaname = 'public'")
USED_INSIDE = _WIDTHS.format(" UNION ALL ".join(f"SELECT '{t}', count(*) FROM {t}" for t in TABLES))

COLUMNS = """SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
    WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"""
DOUBTFUL = """SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE NOT convalidated UNION ALL
    SELECT indrelid::regclass::text, indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"""
"""What of a database doesn't hold."""
AT_START = (
    "SELECT pg_catalog.set_config('search_path', 'public', false)",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '10min'",
)
"""What a connection begins with."""


def without_secrets(url: str) -> str:
    """The URL as it may be shown: no password, no parameters."""
    return re.sub(r"(://[^:/@]*):[^@/]*@", r"\1@", url.partition("?")[0])


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """The statement with psycopg's marks for parameters: ``?`` and ``:name`` are the store's."""
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", sql.replace("%", "%%").replace("?", "%s"))


@lru_cache(maxsize=1024)
def has_rows(sql: str) -> bool:
    """Whether a statement gives rows."""
    return sql.lstrip()[:6].upper() in ("SELECT", "WITH") or "RETURNING" in sql


_INSERT = re.compile(r"(INSERT INTO \w+(?:\([\w\s,]+\))? VALUES )(\([?,\s]+\))( ON CONFLICT DO NOTHING)?")
_UPDATE = re.compile(r"UPDATE (\w+) SET ((?:\w+ = \?(?:, )?)+) WHERE (\w+) = \?(?: AND (\w+) < \?)?")


_PORTIONS = (128, 64, 32, 16, 8, 4, 2, 1)
PREPARED = 400
"""Statements that a connection keeps ready: some twenty, for each of these numbers of rows."""


def portions(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Sequence[Any]]]:
    """The rows in portions of few different sizes: each size is a statement of its own to the server."""
    at = 0
    for size in _PORTIONS:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


def for_rows(sql: str, rows: Sequence[Sequence[Any]], types: Types) -> str:
    """One statement that does for so many rows what ``sql`` does for one; its parameters ($1, $2, ...) are theirs.

    ``types``: of each table its columns in order, with their types. Empty where it is no plain INSERT, nor an UPDATE of
    the row with a key, which is another one in each row.
    """
    made = _for_rows(sql, len(rows), types)
    if made.startswith("UPDATE"):
        key = _key_at(sql)
        return made if len({row[key] for row in rows}) == len(rows) else ""
    return made


@lru_cache(maxsize=64)
def _key_at(sql: str) -> int:
    """Which of an UPDATE's parameters is the key."""
    return sql[: sql.index(" WHERE ")].count("?")


@lru_cache(maxsize=512)
def _for_rows(sql: str, count: int, types: Types) -> str:
    if found := _INSERT.fullmatch(sql):
        begin, row, conflict = found.groups()
        return _numbered(f"{begin}{', '.join([row] * count)}{conflict or ''}")
    if found := _UPDATE.fullmatch(sql):
        table, setting, key, less = found.groups()
        of_table, set_ = dict(dict(types)[table]), re.findall(r"(\w+) = \?", setting)
        columns = [*set_, key, *([less] if less else [])]
        first = ", ".join(f"CAST(? AS {of_table[name]})" for name in columns)
        rows = [f"({first})"] + [f"({', '.join('?' * len(columns))})"] * (count - 1)
        values = ", ".join(f"v{i}" for i in range(len(columns)))
        changed = ", ".join(f"{name} = v{i}" for i, name in enumerate(set_))
        where = f"{key} = v{len(set_)}" + (f" AND {less} < v{len(set_) + 1}" if less else "")
        return _numbered(f"UPDATE {table} SET {changed} FROM (VALUES {', '.join(rows)}) AS r({values}) WHERE {where}")
    return ""


def _numbered(sql: str) -> str:
    """PostgreSQL's own marks for parameters, which psycopg passes on as they are."""
    numbers = itertools.count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql)
