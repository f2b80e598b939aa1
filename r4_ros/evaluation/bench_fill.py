"""A memory file with many entries, for benchmarks: written straight to the store, which is what ingest would leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from r4_ros.core.model import IDENTITY, OPTICAL_TO_BASE, Anchor, View
from r4_ros.evaluation.bench_data import AGENTS, MAP, START_NS, Things, make_entries
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.store import (
    AnchorRecord,
    EntryChange,
    FrameChange,
    SessionRecord,
    StoredEntry,
    StoredFrame,
    WriterRecord,
)

CAMERA, WRITER = "front", "fill"
_BATCH = 5000


def fill(path: Path, things: Things, names: Sequence[str] = ()) -> None:
    """Write the things into a new file, as entries that four agents saw in their first session."""
    store = SqliteStore(path)
    try:
        if store.revision() == 0:
            newest = int(things.last.max())
            anchors = [Anchor(i, agent, 0, MAP, START_NS, IDENTITY) for i, agent in enumerate(AGENTS)]
            for anchor in anchors:
                store.write_frame(empty_frame(anchor.anchor_id + 1, anchor, newest))
            for first in range(0, len(things), _BATCH):
                rows = range(first, min(first + _BATCH, len(things)))
                entries = zip(rows, make_entries(things, rows, names), strict=True)
                changes = tuple(EntryChange(None, StoredEntry(slot, entry)) for slot, entry in entries)
                revision = store.revision() + 1
                frame = empty_frame(revision, anchors[0], newest + revision)
                store.write_frame(replace(frame, anchor=None, entries=changes))
    finally:
        store.close()


def empty_frame(revision: int, anchor: Anchor, stamp_ns: int) -> FrameChange:
    """The frame of that number, in which nothing was seen, taken where the anchor is, which it brings."""
    agent = anchor.agent_id
    frame = StoredFrame(
        frame_id=revision,
        agent_id=agent,
        session=0,
        camera=CAMERA,
        stamp_ns=stamp_ns,
        writer=WriterRecord(agent, CAMERA, WRITER, 0, 1, 0, revision, stamp_ns),
        sequence=revision,
        map_id=MAP,
        map_frame="map",
        sensor_frame="camera",
        anchor_id=anchor.anchor_id,
        sensor_in_anchor=IDENTITY,
        base_in_sensor=OPTICAL_TO_BASE,
        view=View(1.2, 0.9, 0.1, 10.0),
    )
    return FrameChange(
        revision=revision,
        session=SessionRecord(agent, 0, 0, START_NS, stamp_ns),
        frame=frame,
        known=False,
        anchor=AnchorRecord(CAMERA, anchor),
        observations=(),
        entries=(),
        events=(),
    )
