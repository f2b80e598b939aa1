"""Entries in the SQLite store: an entry is one row, its stays, sightings and presence are rows of their own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from r4_ros.core.model import (
    Embedding,
    Entry,
    EntryState,
    Interval,
    Motion,
    Observation,
    Presence,
    Stay,
    Visibility,
)
from r4_ros.memory.codec import (
    dump,
    dump_attributes,
    load_attributes,
    load_list,
    load_pairs,
    pack_box,
    pack_matrix3,
    pack_vector,
    unpack_box,
    unpack_matrix3,
    unpack_vector,
)
from r4_ros.memory.sqlite_file import Row, SqliteFile
from r4_ros.memory.store import EntryChange, StoredEntry

Key = TypeVar("Key")
Value = TypeVar("Value")

_ENTRY_COLUMNS = (
    "slot, entry_id, agent_id, session, map_id, revision, label, votes, description, attributes, label_vector, "
    "description_vector, visibility, confidence, count, state, motion, moved_from, maybe_same_as, absent_first, "
    "absent_count"
)
_UPSERT_ENTRY = (
    f"INSERT INTO entry({_ENTRY_COLUMNS}) VALUES ({', '.join('?' * 21)}) ON CONFLICT(slot) DO UPDATE SET "
    + (
        ", ".join(
            f"{name} = excluded.{name}" for name in _ENTRY_COLUMNS.split(", ") if name not in ("slot", "entry_id")
        )
    )
)
_SELECT_ENTRIES = (
    f"SELECT {_ENTRY_COLUMNS}, vector.model, vector.data FROM entry LEFT JOIN vector ON vector_no = description_vector"
)
_MOST_KNOWN = 20_000
"""Vectors, and numbers of vectors, that are remembered; the rest is read again."""
_PART_TABLES = {
    "stay": "slot, n, start_ns, end_ns, anchor_id, box, covariance, count, whole, revision",
    "sighting": "slot, n, start_ns, end_ns",
    "presence": "slot, n, start_earliest_ns, start_ns, last_seen_ns, end_ns",
}
_REPLACE_PART = {
    table: f"INSERT OR REPLACE INTO {table}({columns}) VALUES ({', '.join('?' * (columns.count(',') + 1))})"
    for table, columns in _PART_TABLES.items()
}
_CHUNK = 500


class EntryTable:
    """Reads and writes entries; writing happens inside the caller's transaction."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._vector_numbers: dict[tuple[str, str], int] = {}
        self._embeddings: dict[int, Embedding] = {}

    def write(self, changes: Sequence[EntryChange]) -> None:
        """Write what differs between before and after."""
        self._file.execute_many(_UPSERT_ENTRY, [self._entry_row(change.after) for change in changes])
        for table in _PART_TABLES:
            rows: list[tuple[Any, ...]] = []
            for change in changes:
                before, after = _parts(change.before, table), _parts(change.after, table)
                slot = change.after.slot
                for n, part in enumerate(after):
                    if n >= len(before) or before[n] != part:
                        rows.append((slot, n, *_part_row(part)))
                if len(before) > len(after):
                    self._file.execute(f"DELETE FROM {table} WHERE slot = ? AND n >= ?", (slot, len(after)))
            if rows:
                self._file.execute_many(_REPLACE_PART[table], rows)

    def keep_vectors(self, observations: Iterable[Observation]) -> None:
        """Keep what labels and descriptions mean also where no entry took them over."""
        for o in observations:
            self._vector_number(o.label, o.label_embedding)
            if o.description:
                self._vector_number(o.description, o.description_embedding)

    def snapshot(self, stored: StoredEntry) -> str:
        """An entry as text, for a record of what it was."""
        parts = {table: [_part_row(part) for part in _parts(stored, table)] for table in _PART_TABLES}
        return json.dumps({"entry": self._entry_row(stored), **parts}, ensure_ascii=False, default=bytes.hex)

    def restored(self, text: str) -> StoredEntry:
        """The entry that ``snapshot`` made a text of."""
        record = json.loads(text)
        stays = ((0, 0, *r[:3], *(bytes.fromhex(blob) for blob in r[3:5]), *r[5:]) for r in record["stay"])
        sightings = tuple(Interval(*row) for row in record["sighting"])
        presence = tuple(Presence(*row) for row in record["presence"])
        row, described = tuple(record["entry"]), self._embedding(record["entry"][11])
        return self._stored(row, tuple(map(_stay, stays)), sightings, presence, described)

    def read(self, slots: Collection[int] | None = None) -> Iterator[StoredEntry]:
        """Whole entries by slot, ascending, without merged ones; None: all."""
        if slots is None:
            yield from self._read_where("WHERE 1", ())
            return
        ordered = sorted(slots)
        for i in range(0, len(ordered), _CHUNK):
            chunk = ordered[i : i + _CHUNK]
            yield from self._read_where(f"WHERE slot IN ({', '.join('?' * len(chunk))})", chunk)

    def _read_where(self, where: str, parameters: Sequence[int]) -> Iterator[StoredEntry]:
        parts = {table: _Groups(self._part_rows(table, where, parameters)) for table in _PART_TABLES}
        for row in self._file.iterate(f"{_SELECT_ENTRIES} {where} AND merged_into IS NULL ORDER BY slot", parameters):
            stays = tuple(_stay(r) for r in parts["stay"].of(row[0]))
            sightings = tuple(Interval(r[2], r[3]) for r in parts["sighting"].of(row[0]))
            presence = tuple(Presence(*r[2:]) for r in parts["presence"].of(row[0]))
            described = None if row[11] is None else Embedding(row[21], unpack_vector(row[22]))
            yield self._stored(row, stays, sightings, presence, described)

    def _part_rows(self, table: str, where: str, parameters: Sequence[int]) -> Iterator[Row]:
        return self._file.iterate(f"SELECT {_PART_TABLES[table]} FROM {table} {where} ORDER BY slot, n", parameters)

    def _entry_row(self, stored: StoredEntry) -> tuple[Any, ...]:
        e = stored.entry
        return (
            stored.slot,
            e.entry_id,
            e.agent_id,
            e.session,
            e.map_id,
            e.revision,
            e.label,
            dump(e.label_votes),
            e.description,
            dump_attributes(e.attributes),
            self._vector_number(e.label, e.label_embedding),
            self._vector_number(e.description, e.description_embedding),
            int(e.visibility),
            e.confidence,
            e.count,
            int(e.state),
            int(e.motion),
            e.moved_from,
            dump(e.maybe_same_as),
            stored.absent_first,
            stored.absent_count,
        )

    def _stored(
        self,
        row: Row,
        stays: tuple[Stay, ...],
        sightings: tuple[Interval, ...],
        presence: tuple[Presence, ...],
        described: Embedding | None,
    ) -> StoredEntry:
        entry = Entry(
            entry_id=row[1],
            agent_id=row[2],
            session=row[3],
            map_id=row[4],
            revision=row[5],
            label=row[6],
            label_votes=load_pairs(row[7]),
            stays=stays,
            sightings=sightings,
            presence=presence,
            description=row[8],
            attributes=load_attributes(row[9]),
            label_embedding=self._embedding(row[10]),
            description_embedding=described,
            visibility=Visibility(row[12]),
            confidence=row[13],
            count=row[14],
            state=EntryState(row[15]),
            motion=Motion(row[16]),
            moved_from=row[17],
            maybe_same_as=tuple(load_list(row[18])),
        )
        return StoredEntry(row[0], entry, row[19], row[20])

    def _vector_number(self, text: str, embedding: Embedding | None) -> int | None:
        """Number of the vector of a text; each text's is kept once."""
        if embedding is None:
            return None
        key = (embedding.model, text)
        number = self._vector_numbers.get(key)
        if number is None:
            self._file.execute(
                "INSERT OR IGNORE INTO vector(model, text, data) VALUES (?, ?, ?)",
                (*key, pack_vector(embedding.vector)),
            )
            [(number,)] = self._file.execute("SELECT vector_no FROM vector WHERE model = ? AND text = ?", key)
            _remember(self._vector_numbers, key, number)
        return int(number)

    def _embedding(self, number: int | None) -> Embedding | None:
        if number is None:
            return None
        if number not in self._embeddings:
            [(model, text, data)] = self._file.execute(
                "SELECT model, text, data FROM vector WHERE vector_no = ?", (number,)
            )
            _remember(self._embeddings, number, Embedding(model, unpack_vector(data)))
            _remember(self._vector_numbers, (model, text), number)
        return self._embeddings[number]

    def forget_unwritten(self) -> None:
        """After a transaction that failed: numbers of vectors that it had added are void."""
        self._vector_numbers.clear()


def _remember(known: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep a pair; begin anew where there are too many."""
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = value


class _Groups:
    """Rows sorted by slot, handed out slot after slot."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next = next(self._groups, None)

    def of(self, slot: int) -> list[Row]:
        while self._next is not None and self._next[0] < slot:
            self._next = next(self._groups, None)
        if self._next is None or self._next[0] != slot:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _parts(stored: StoredEntry | None, table: str) -> tuple[Stay | Interval | Presence, ...]:
    if stored is None:
        return ()
    entry = stored.entry
    if table == "stay":
        return entry.stays
    return entry.sightings if table == "sighting" else entry.presence


def _part_row(part: Stay | Interval | Presence) -> tuple[Any, ...]:
    if isinstance(part, Interval):
        return part.start, part.end
    if isinstance(part, Presence):
        return part.start_earliest, part.start, part.last_seen, part.end
    return (
        part.interval.start,
        part.interval.end,
        part.anchor_id,
        pack_box(part.box),
        pack_matrix3(part.position_covariance),
        part.count,
        part.whole,
        part.revision,
    )


def _stay(row: Row) -> Stay:
    return Stay(Interval(row[2], row[3]), row[4], unpack_box(row[5]), unpack_matrix3(row[6]), row[7], row[8], row[9])
