"""Stays, sightings and presence of entries in a store.

The last one of each stands in the entry's own row, since that is what a sighting changes; those before it are rows of
tables of their own, written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from r4_ros.core.model import FOREVER, Entry, Interval, Presence, Stay
from r4_ros.memory.codec import (
    pack_exact_box,
    pack_exact_matrix3,
    pack_shares,
    pack_turn,
    unpack_box,
    unpack_matrix3,
    unpack_shares,
    unpack_turn,
)
from r4_ros.memory.sql import Database, Row
from r4_ros.memory.store import EntryChange
from r4_ros.memory.tables import first_difference

Part = Stay | Interval | Presence
Parts = Sequence[Part]

_TABLES = {
    "stay": "slot, n, start_ns, end_ns, anchor_id, box, covariance, count, whole, revision, turned, shares",
    "sighting": "slot, n, start_ns, end_ns",
    "presence": "slot, n, start_earliest_ns, start_ns, last_seen_ns, end_ns",
}
_PARTS: dict[str, Callable[[Entry], Parts]] = {
    "stay": attrgetter("stays"),
    "sighting": attrgetter("sightings"),
    "presence": attrgetter("presence"),
}
_BLOBS = ("box", "covariance", "turned", "shares")
LAST_IN_ENTRY = frozenset(_TABLES)
"""The tables that lack the last row of each entry."""
_REPLACE = {
    table: f"INSERT INTO {table}({columns}) VALUES ({', '.join('?' * (columns.count(',') + 1))}) "
    f"ON CONFLICT(slot, n) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in columns.split(', ')[2:])}"
    for table, columns in _TABLES.items()
}
COLUMNS = (
    "stays, stay_start_ns, stay_end_ns, stay_anchor, stay_box, stay_covariance, stay_count, stay_whole, stay_revision, "
    "sightings, sighting_start_ns, sighting_end_ns, presences, present_earliest_ns, present_start_ns, present_seen_ns, "
    "present_end_ns, stay_turned, stay_shares"
)
"""Of the entry's row: how many of each there are, and the last one.

The end of what is open is NULL. So is what is usual: that the stay, the sighting or the presence at the earliest began
when the presence did, and that the thing was last seen there when the sighting ended. Older rows say that, too.
"""
_CHUNK = 500


def parts_row(entry: Entry) -> tuple[Any, ...]:
    """The values of ``COLUMNS``; without calls for what is usual, since a frame writes many."""
    stays, sightings, presence = entry.stays, entry.sightings, entry.presence
    stay, seen, present = stays[-1], sightings[-1], presence[-1]
    interval, start, seen_end = stay.interval, present.start, seen.end
    return (
        len(stays),
        None if interval.start == start else interval.start,
        None if interval.end == FOREVER else interval.end,
        stay.anchor_id,
        pack_exact_box(stay.box),
        pack_exact_matrix3(stay.position_covariance),
        stay.count,
        stay.whole,
        stay.revision,
        len(sightings),
        None if seen.start == start else seen.start,
        seen_end,
        len(presence),
        None if present.start_earliest == start else present.start_earliest,
        start,
        None if present.last_seen == seen_end - 1 else present.last_seen,
        None if present.end == FOREVER else present.end,
        None if stay.turned is None else pack_turn(stay.turned),
        pack_shares(stay.shares) if stay.shares else None,
    )


def last_parts(row: Row) -> tuple[Stay, Interval, Presence]:
    """What ``parts_row`` made a row of."""
    until, end = (FOREVER if row[i] is None else row[i] for i in (2, 16))
    start = row[14]
    stayed, seen, earliest = (start if row[i] is None else row[i] for i in (1, 10, 13))
    last_seen = row[11] - 1 if row[15] is None else row[15]
    place = unpack_box(row[4]), unpack_matrix3(row[5])
    stay = Stay(
        Interval(stayed, until), row[3], *place, row[6], row[7], row[8], unpack_turn(row[17]), unpack_shares(row[18])
    )
    return stay, Interval(seen, row[11]), Presence(earliest, start, last_seen, end)


class PartTables:
    """What came before the last parts of entries."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def write(self, changes: Sequence[EntryChange]) -> None:
        """Write what differs between before and after; inside the caller's transaction."""
        for table, parts_of in _PARTS.items():
            rows: list[Row] = []
            for change in changes:
                after = parts_of(change.after.entry)
                before = () if change.before is None else parts_of(change.before.entry)
                if (len(after) > 1 or len(before) > 1) and before[:-1] != after[:-1]:  # the newest: in the entry's row
                    rows += self._differing(table, change.after.slot, before, after)
            if rows:
                self._file.execute_many(_REPLACE[table], rows)

    def _differing(self, table: str, slot: int, before: Parts, after: Parts) -> list[Row]:
        kept, known = len(after) - 1, max(0, len(before) - 1)
        if known > kept:
            self._file.execute(f"DELETE FROM {table} WHERE slot = ? AND n >= ?", (slot, kept))
        first = min(first_difference(before, after), known)
        changed = (n for n in range(first, kept) if n >= known or before[n] is not after[n])
        return [(slot, n, *part_row(after[n])) for n in changed]

    def read(self, slots: Sequence[int] | None) -> Groups:
        """All rows, or those of some slots, which may be none."""
        if slots is None:
            return Groups({table: self._file.iterate(self._select(table, "")) for table in _TABLES})
        if not slots:
            return Groups(dict.fromkeys(_TABLES, ()))
        return Groups({table: self._of_slots(table, slots) for table in _TABLES})

    def _of_slots(self, table: str, slots: Sequence[int]) -> list[Row]:
        rows: list[Row] = []
        for i in range(0, len(slots), _CHUNK):
            chunk = slots[i : i + _CHUNK]
            where = f"WHERE slot IN ({', '.join('?' * len(chunk))})"
            rows += self._file.execute(self._select(table, where), chunk)
        return rows

    @staticmethod
    def _select(table: str, where: str) -> str:
        return f"SELECT {_TABLES[table]} FROM {table} {where} ORDER BY slot, n"


class Groups:
    """Rows of the part tables, each sorted by slot, handed out slot after slot."""

    def __init__(self, rows: Mapping[str, Iterable[Row]]) -> None:
        self._groups = {table: groupby(of_table, key=itemgetter(0)) for table, of_table in rows.items()}
        self._next = {table: next(groups, None) for table, groups in self._groups.items()}

    def stays(self, slot: int) -> tuple[Stay, ...]:
        """The stays of a slot but the last."""
        return tuple(map(stay_of, self._of("stay", slot)))

    def sightings(self, slot: int) -> tuple[Interval, ...]:
        """The sightings of a slot but the last."""
        return tuple(Interval(row[2], row[3]) for row in self._of("sighting", slot))

    def presence(self, slot: int) -> tuple[Presence, ...]:
        """The presence of a slot but the last."""
        return tuple(Presence(*row[2:]) for row in self._of("presence", slot))

    def _of(self, table: str, slot: int) -> list[Row]:
        group = self._next[table]
        while group is not None and group[0] < slot:
            group = self._next[table] = next(self._groups[table], None)
        if group is None or group[0] != slot:
            return []
        rows = list(group[1])
        self._next[table] = next(self._groups[table], None)
        return rows


def stay_of(row: Row) -> Stay:
    """The stay of a row of its table."""
    place = unpack_box(row[5]), unpack_matrix3(row[6])
    more = unpack_turn(row[10]), unpack_shares(row[11])
    return Stay(Interval(row[2], row[3]), row[4], *place, row[7], row[8], row[9], *more)


def snapshot_row(row: Sequence[Any]) -> Row:
    """What ``part_row`` made of a stay, from a snapshot: there, blobs are hex, and an older one lacks the last."""
    blobs = [i for i, name in enumerate(_TABLES["stay"].split(", ")[2:]) if name in _BLOBS]
    padded = [*row, *(None for _ in range(len(row), blobs[-1] + 1))]
    return tuple(bytes.fromhex(v) if i in blobs and v is not None else v for i, v in enumerate(padded))


def part_row(part: Part) -> Row:
    """A row of a part's table, but for its slot and number."""
    if isinstance(part, Interval):
        return part.start, part.end
    if isinstance(part, Presence):
        return part.start_earliest, part.start, part.last_seen, part.end
    return (
        part.interval.start,
        part.interval.end,
        part.anchor_id,
        pack_exact_box(part.box),
        pack_exact_matrix3(part.position_covariance),
        part.count,
        part.whole,
        part.revision,
        pack_turn(part.turned),
        pack_shares(part.shares),
    )
