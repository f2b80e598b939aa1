"""A memory file with many entries, for benchmarks: written straight to the store, which is what ingest would leave."""

from __future__ import annotations

from collections.abc import Sequence
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
            for agent in range(len(AGENTS)):
                store.write_frame(_change(agent + 1, agent, newest, ()))
            for first in range(0, len(things), _BATCH):
                rows = range(first, min(first + _BATCH, len(things)))
                entries = zip(rows, make_entries(things, rows, names), strict=True)
                changes = tuple(EntryChange(None, StoredEntry(slot, entry)) for slot, entry in entries)
                revision = store.revision() + 1
                store.write_frame(_change(revision, 0, newest + revision, changes))
    finally:
        store.close()


def _change(revision: int, agent: int, stamp_ns: int, entries: tuple[EntryChange, ...]) -> FrameChange:
    """A frame of an agent at the map's origin; the first one of each brings its anchor."""
    name = AGENTS[agent]
    anchor = Anchor(agent, name, 0, MAP, START_NS, IDENTITY)
    writer = WriterRecord(name, CAMERA, WRITER, 0, 1, 0, revision, stamp_ns)
    frame = StoredFrame(
        frame_id=revision,
        agent_id=name,
        session=0,
        camera=CAMERA,
        stamp_ns=stamp_ns,
        writer=writer,
        sequence=revision,
        map_id=MAP,
        map_frame="map",
        sensor_frame="camera",
        anchor_id=agent,
        sensor_in_anchor=IDENTITY,
        base_in_sensor=OPTICAL_TO_BASE,
        view=View(1.2, 0.9, 0.1, 10.0),
    )
    return FrameChange(
        revision=revision,
        session=SessionRecord(name, 0, 0, START_NS, stamp_ns),
        frame=frame,
        known=False,
        anchor=AnchorRecord(CAMERA, anchor) if revision <= len(AGENTS) else None,
        observations=(),
        entries=entries,
        events=(),
    )
