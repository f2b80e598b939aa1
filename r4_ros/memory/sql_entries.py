"""Entries in a store: one row each, with the last stay, sighting and presence; see ``sql_parts``."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
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
    dump_votes,
    load_attributes,
    load_list,
    load_votes,
    unpack_vector,
)
from r4_ros.memory.sql import Database, Row
from r4_ros.memory.sql_parts import (
    COLUMNS,
    Groups,
    Parts,
    PartTables,
    last_parts,
    part_row,
    parts_row,
    snapshot_row,
    stay_of,
)
from r4_ros.memory.sql_vectors import keep_vector
from r4_ros.memory.store import EntryChange, StoredEntry

Key = TypeVar("Key")
Value = TypeVar("Value")

_OWN_COLUMNS = (
    "slot, entry_id, agent_id, session, map_id, revision, label, votes, description, attributes, label_vector, "
    "description_vector, visibility, confidence, count, state, motion, moved_from, maybe_same_as, absent_first, "
    "absent_count"
)
_COLUMNS = f"{_OWN_COLUMNS}, {COLUMNS}"
_COUNTS = [_COLUMNS.split(", ").index(name) for name in ("stays", "sightings", "presences")]
_OWN, _ALL = _OWN_COLUMNS.count(",") + 1, _COLUMNS.count(",") + 1
_CHANGED = [name for name in _COLUMNS.split(", ") if name not in ("slot", "entry_id")]
_UPSERT = (
    f"INSERT INTO entry({_COLUMNS}) VALUES ({', '.join('?' * _ALL)}) "
    f"ON CONFLICT(slot) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _CHANGED)}"
)
_SEEN_COLUMNS = (
    f"session, revision, votes, visibility, confidence, count, state, motion, absent_first, absent_count, {COLUMNS}"
)
_UPDATE_SEEN = f"UPDATE entry SET {', '.join(f'{name} = ?' for name in _SEEN_COLUMNS.split(', '))} WHERE slot = ?"
"""For an entry of which no words changed: what a sighting changes."""
_SELECT = (
    f"SELECT {_COLUMNS}, model.name, vector.data FROM entry LEFT JOIN vector ON vector_no = description_vector "
    "LEFT JOIN model USING(model_no) WHERE "
)
_MOST_KNOWN = 20_000
"""Vectors, and numbers of vectors, that are remembered; the rest is read again."""
_CHUNK = 500


class EntryTable:
    """Reads and writes entries; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file, self._parts = file, PartTables(file)
        self._vector_numbers: dict[tuple[str, str], int] = {}
        self._embeddings: dict[int, Embedding] = {}

    def write(self, changes: Sequence[EntryChange]) -> None:
        """Write what differs between before and after."""
        whole, seen = list[Row](), list[Row]()
        for change in changes:
            if change.before is not None and _same_words(change.before.entry, change.after.entry):
                seen.append(_seen_row(change.after))
            else:
                whole.append((*self._own_row(change.after), *parts_row(change.after.entry)))
        self._file.execute_many(_UPSERT, whole)
        self._file.execute_many(_UPDATE_SEEN, seen)
        self._parts.write(changes)

    def keep_vectors(self, observations: Iterable[Observation]) -> None:
        """Keep what labels and descriptions mean also where no entry took them over."""
        for o in observations:
            self._vector_number(o.label, o.label_embedding)
            if o.description:
                self._vector_number(o.description, o.description_embedding)

    def snapshot(self, stored: StoredEntry) -> str:
        """An entry as text, for a record of what it was."""
        e = stored.entry
        parts: dict[str, Parts] = {"stay": e.stays, "sighting": e.sightings, "presence": e.presence}
        rows = {name: [part_row(part) for part in some] for name, some in parts.items()}
        return json.dumps({"entry": self._own_row(stored), **rows}, ensure_ascii=False, default=bytes.hex)

    def restored(self, text: str) -> StoredEntry:
        """The entry that ``snapshot`` made a text of."""
        record = json.loads(text)
        stays = ((0, 0, *snapshot_row(row)) for row in record["stay"])
        sightings = tuple(Interval(*row) for row in record["sighting"])
        presence = tuple(Presence(*row) for row in record["presence"])
        row, described = tuple(record["entry"]), self._embedding(record["entry"][11])
        return self._stored(row, tuple(map(stay_of, stays)), sightings, presence, described)

    def read(self, slots: Collection[int] | None = None, also_merged: bool = False) -> Iterator[StoredEntry]:
        """Whole entries by slot, ascending; None: all. Without merged ones, unless these are asked for too."""
        which = "TRUE" if also_merged else "merged_into IS NULL"
        if slots is None:
            yield from self._read(self._file.iterate(f"{_SELECT} {which} ORDER BY slot"), self._parts.read(None))
            return
        ordered = sorted(slots)
        for i in range(0, len(ordered), _CHUNK):
            chunk = ordered[i : i + _CHUNK]
            among = f"slot IN ({', '.join('?' * len(chunk))})"
            rows = self._file.execute(f"{_SELECT} {which} AND {among} ORDER BY slot", chunk)
            longer = [row[0] for row in rows if max(row[i] for i in _COUNTS) > 1]
            yield from self._read(rows, self._parts.read(longer))

    def _read(self, rows: Iterable[Row], earlier: Groups) -> Iterator[StoredEntry]:
        for row in rows:
            slot = row[0]
            stay, sighting, presence = last_parts(row[_OWN:_ALL])
            described = None if row[11] is None else Embedding(row[_ALL], unpack_vector(row[_ALL + 1]))
            yield self._stored(
                row,
                (*earlier.stays(slot), stay),
                (*earlier.sightings(slot), sighting),
                (*earlier.presence(slot), presence),
                described,
            )

    def _own_row(self, stored: StoredEntry) -> tuple[Any, ...]:
        e = stored.entry
        return (
            stored.slot,
            e.entry_id,
            e.agent_id,
            e.session,
            e.map_id,
            e.revision,
            e.label,
            dump_votes(e.label_votes, e.label),
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
            label_votes=load_votes(row[7], row[6]),
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
            number = keep_vector(self._file, text, embedding)
            _remember(self._vector_numbers, key, number)
        return number

    def _embedding(self, number: int | None) -> Embedding | None:
        if number is None:
            return None
        if number not in self._embeddings:
            [(model, data)] = self._file.execute(
                "SELECT name, data FROM vector JOIN model USING(model_no) WHERE vector_no = ?", (number,)
            )
            _remember(self._embeddings, number, Embedding(model, unpack_vector(data)))
        return self._embeddings[number]

    def forget_unwritten(self) -> None:
        """After a transaction that failed: numbers of vectors that it had added are void."""
        self._vector_numbers.clear()


def _remember(known: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep a pair; begin anew where there are too many."""
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = value


def _same_words(before: Entry, after: Entry) -> bool:
    """Whether an entry differs at most in what ``_SEEN_COLUMNS`` say."""
    return (
        before.label == after.label
        and before.description == after.description
        and before.label_embedding is after.label_embedding
        and before.description_embedding is after.description_embedding
        and before.attributes == after.attributes
        and before.moved_from == after.moved_from
        and before.maybe_same_as == after.maybe_same_as
    )


def _seen_row(stored: StoredEntry) -> Row:
    e = stored.entry
    return (
        e.session,
        e.revision,
        dump_votes(e.label_votes, e.label),
        int(e.visibility),
        e.confidence,
        e.count,
        int(e.state),
        int(e.motion),
        stored.absent_first,
        stored.absent_count,
        *parts_row(e),
        stored.slot,
    )
