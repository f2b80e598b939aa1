"""The store's statements as PostgreSQL and psycopg want them."""

from __future__ import annotations

import re
from functools import lru_cache

from r4_ros.memory.postgres_schema import TABLES

_WIDTHS = """SELECT sum(n * (32 + coalesce((SELECT sum(avg_width) FROM pg_stats
    WHERE schemaname = 'public' AND tablename = name), 200))) * 1.3 FROM ({}) AS of_tables(name, n)"""
USED = _WIDTHS.format("SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE schemaname = 'public'")
USED_INSIDE = _WIDTHS.format(" UNION ALL ".join(f"SELECT '{t}', count(*) FROM {t}" for t in TABLES))


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
