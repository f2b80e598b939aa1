"""Entries and vectors read from a store as columns, for the start: many at a time, no record for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.bulk import NO_VECTOR, EntryBatch, IntervalColumns, Numbers, StayColumns, VectorBatch
from r4_ros.memory.codec import load_attributes, unpack_boxes, unpack_shares
from r4_ros.memory.sql import Database, Row

_BATCH = 16_384
_ENTRIES = """SELECT slot, entry_id, agent_id, map_id, session, label, description, visibility, motion,
    label_vector, description_vector, attributes, moved_from, stays + sightings + presences > 3,
    coalesce(stay_start_ns, present_start_ns), stay_anchor, stay_box, stay_shares,
    coalesce(sighting_start_ns, present_start_ns), sighting_end_ns, present_start_ns,
    coalesce(present_end_ns, 9223372036854775807)
    FROM entry WHERE slot >= ? AND merged_into IS NULL ORDER BY slot LIMIT ?"""
_EARLIER = "SELECT slot, {} FROM {} WHERE slot BETWEEN ? AND ? ORDER BY slot, n"
_VECTORS = "SELECT vector_no, model_no, data FROM vector WHERE vector_no > ? ORDER BY vector_no LIMIT ?"


def entry_batches(file: Database) -> Iterator[EntryBatch]:
    """All entries but merged ones, by slot."""
    first = 0
    while True:
        rows = file.execute(_ENTRIES, (first, _BATCH))
        if not rows:
            return
        yield _batch(file, rows)
        first = rows[-1][0] + 1


def vector_batches(file: Database) -> Iterator[VectorBatch]:
    """All vectors, by number, each batch of one model."""
    last = -1
    names: dict[int, str] = dict(file.execute("SELECT model_no, name FROM model"))
    while True:
        rows = file.execute(_VECTORS, (last, _BATCH))
        if not rows:
            return
        last = rows[-1][0]
        for model in dict.fromkeys(row[1] for row in rows):
            its = [row for row in rows if row[1] == model]
            vectors = np.frombuffer(b"".join(row[2] for row in its), "<f2").reshape(len(its), -1)
            yield VectorBatch(names[model], np.array([row[0] for row in its], np.int64), vectors)


def _batch(file: Database, rows: Sequence[Row]) -> EntryBatch:
    columns = list(zip(*rows, strict=True))
    slots = np.array(columns[0], np.int64)
    longer = any(columns[13])

    def parts(table: str, names: str, first: int) -> tuple[Numbers, list[Sequence[Any]]]:
        """How many parts of one kind each entry has, and their values, entry after entry."""
        last = columns[first : first + names.count(",") + 1]
        earlier = file.execute(_EARLIER.format(names, table), (rows[0][0], rows[-1][0])) if longer else []
        return _joined(slots, earlier, last)

    stays, (start, anchor, boxes, shares) = parts("stay", "start_ns, anchor_id, box, shares", 14)
    known = {i: load_attributes(text) for i, text in enumerate(columns[11]) if text != "[]"}
    return EntryBatch(
        slots=slots,
        ids=columns[1],
        agents=columns[2],
        maps=columns[3],
        sessions=np.array(columns[4], np.int64),
        labels=columns[5],
        descriptions=columns[6],
        visibility=np.array(columns[7], np.int64),
        motion=np.array(columns[8], np.int64),
        attributes={i: current_attributes(history) for i, history in known.items()},
        moved_from={i: entry_id for i, entry_id in enumerate(columns[12]) if entry_id},
        stays=StayColumns(
            stays,
            np.array(start, np.int64),
            np.array(anchor, np.int64),
            unpack_boxes(boxes),
            {i: unpack_shares(blob) for i, blob in enumerate(shares) if blob is not None},
        ),
        sightings=_intervals(*parts("sighting", "start_ns, end_ns", 18)),
        presence=_intervals(*parts("presence", "start_ns, end_ns", 20)),
        label_vectors=_numbers(columns[9]),
        description_vectors=_numbers(columns[10]),
    )


def _joined(
    slots: Numbers, earlier: Sequence[Row], last: Sequence[Sequence[Any]]
) -> tuple[Numbers, list[Sequence[Any]]]:
    """Earlier parts (slot and values, by slot) and each entry's last one; merged entries between have earlier ones."""
    places = np.searchsorted(slots, np.array([row[0] for row in earlier], np.int64))
    ours = [row for row, place in zip(earlier, places.tolist(), strict=True) if slots[place] == row[0]]
    if not ours:
        return np.ones(len(slots), np.int64), list(last)
    owners = np.concatenate([np.searchsorted(slots, np.array([row[0] for row in ours])), np.arange(len(slots))])
    order = np.argsort(owners, kind="stable").tolist()
    joined = [[*before, *after] for before, after in zip(list(zip(*ours, strict=True))[1:], last, strict=True)]
    return np.bincount(owners), [[values[i] for i in order] for values in joined]


def _intervals(counts: Numbers, values: Sequence[Sequence[Any]]) -> IntervalColumns:
    return IntervalColumns(counts, np.array(values[0], np.int64), np.array(values[1], np.int64))


def _numbers(values: Sequence[Any]) -> Numbers:
    return np.array([NO_VECTOR if value is None else value for value in values], np.int64)
