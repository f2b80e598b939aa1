"""The memory as the rest of the suite sees it: frames in, evidence out. Safe to use from several threads."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from r4_ros.core.alignments import Alignments
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.limits import check_place
from r4_ros.core.model import (
    Correction,
    Entry,
    Event,
    Frame,
    PlacedEntry,
    Query,
    Receipt,
    Region,
    Retrieval,
)
from r4_ros.core.ports import Embedder
from r4_ros.memory import rooms
from r4_ros.memory.alignable import Alignable
from r4_ros.memory.anchor_correctable import AnchorCorrectable
from r4_ros.memory.anchor_correction import AnchorCorrector
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.anew import Again
from r4_ros.memory.attachable import Attachable
from r4_ros.memory.attachments import with_pictures, without_pictures
from r4_ros.memory.codec import single_pose
from r4_ros.memory.concerned import Concerned
from r4_ros.memory.corrector import Corrector
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.divide import Divider
from r4_ros.memory.episodes import EpisodeBook
from r4_ros.memory.episodic import Episodic
from r4_ros.memory.index import Index
from r4_ros.memory.ingest import Ingest, check
from r4_ros.memory.loading import load
from r4_ros.memory.merger import AnchorMover, Merger, apply_merges
from r4_ros.memory.placed import Placer
from r4_ros.memory.receipts import told
from r4_ros.memory.recheck import Rechecker
from r4_ros.memory.remake import Remaker
from r4_ros.memory.retention import Retention
from r4_ros.memory.retrieve import Retriever
from r4_ros.memory.said import Said
from r4_ros.memory.sessions import Admission, Sessions
from r4_ros.memory.steadiness import Steadiness
from r4_ros.memory.store import (
    FrameChange,
    MemoryStore,
    StoredFrame,
    StoredView,
)
from r4_ros.memory.store_upkeep import Dropped
from r4_ros.memory.stores import open_store
from r4_ros.memory.summary import summary_of
from r4_ros.memory.syncable import Syncable
from r4_ros.memory.trails import Trails
from r4_ros.memory.vector_model import VectorModel
from r4_ros.memory.working import EntryCache


def open_library(
    database: str | Path, config: MemoryConfig, embedder: Embedder | None = None, read_only: bool = False
) -> Library:
    """Open the memory in a SQLite file, or in PostgreSQL by its URL, or begin one. Raises StoreError, SchemaError.

    Raises InvalidArgument where it holds vectors of another model than the embedder's, unless it is only read.
    """
    store = open_store(database, config.durability, read_only)
    try:
        return Library(store, config, embedder)
    except BaseException:
        store.close()  # and its lock, not when the collector comes by
        raise


class Library(AnchorCorrectable, Episodic, Attachable, Alignable, Syncable):
    """A memory on a store.

    ``monotonic`` is the clock for the silence of writers; ``coverage``: what is known of looks (None: as stored).
    """

    def __init__(
        self,
        store: MemoryStore,
        config: MemoryConfig,
        embedder: Embedder | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        coverage: Coverage | None = None,
    ) -> None:
        self._store, self._config = store, config
        self._writing, self._lock = threading.RLock(), threading.RLock()
        self._vector_model = VectorModel(store.vector_models(), embedder, store.path, store.read_only)
        self._alignments = list(store.alignments())
        self._anchors = AnchorBook(config, store.anchors(), Alignments(self._alignments))
        self._sessions = Sessions(config, store.sessions(), store.writers(), monotonic)
        self._index = Index(self._anchors, max(config.epsilon_max_m, 0.1))
        self._coverage = coverage or Coverage(self._anchors)
        self._cache = EntryCache(store)
        load(store, self._index, self._coverage)
        self._said = Said(self._index, self._cache, config)
        self._corrector = Corrector(store, self._index, self._cache, self._anchors, self._said, embedder)
        self._divider = Divider(
            store, self._index, self._anchors, self._coverage, self._cache, self._sessions, self._said, config
        )
        self._placer = Placer(self._index, self._sessions, config)
        self._steadiness = Steadiness(self._anchors, config, store.beliefs())
        self._ingest = Ingest(
            store, self._anchors, self._index, self._coverage, self._cache, self._steadiness, config, self._said
        )
        self._trails = Trails(store, self._sessions, self._anchors)
        self._anchor_corrector = AnchorCorrector(store, self._sessions, self._anchors)
        merger = Merger(
            store, self._anchors, self._index, self._coverage, self._cache, self._sessions, self._said, config
        )
        self._mover = AnchorMover(store, self._anchors, self._index, self._cache, merger)
        again = Again(self._anchors, self._coverage, config, self._another)
        self._astray = deque()
        self._concerned = Concerned(self._index, self._cache, self._said, config)
        self._remaker = Remaker(store, self._index, self._anchors, self._cache, again)
        self._rechecker = Rechecker(store, self._index, self._anchors, self._cache, config)
        self._regions = store.regions()
        self._map_frames = store.map_frames()
        self._revision = store.revision()
        self._live = store.is_live()
        self._next_frame = store.next_frame_id()
        self._retention = Retention(store, self._sessions, config)
        self._episodes = EpisodeBook(store, self._anchors, config, embedder)
        self._begin_hearing()
        self._retriever = Retriever(
            store,
            self._index,
            self._cache,
            self._sessions,
            self._trails,
            self._coverage,
            config,
            embedder,
            self._episodes,
        )

    @staticmethod
    def _another(store: MemoryStore, config: MemoryConfig, coverage: Coverage) -> Library:
        """A memory of the same kind, in which whoever writes may."""
        return Library(store, config, None, itertools.count(0.0, 3600.0).__next__, coverage)

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the store."""
        with self._writing, self._lock:
            self._store.close()

    @property
    def revision(self) -> int:
        """Grows with every change."""
        return self._revision

    @property
    def live(self) -> bool:
        """Whether the stamps run on the wall clock (a robot's), rather than on a recording's or a simulator's."""
        return self._live

    def set_live(self, live: bool) -> None:
        """Keep that, also for the next start. Raises StoreError."""
        with self._writing, self._lock:
            if live != self._live:
                self._refuse_if_read_only()
                self._store.set_live(live)
                self._live = live

    @contextmanager
    def together(self) -> Iterator[None]:
        """Frames that are ingested in it are committed together, when it ends; only then they survive kill -9.

        Where it raises StoreError nothing of them is stored, yet this memory knows of them: open it anew.
        """
        with self._writing, self._lock, self._store.together():
            yield

    def ingest(self, frame: Frame, tell: bool = True) -> Receipt:
        """Store a frame and work it in; on return it survives kill -9. The same frame again changes nothing.

        But for descriptions: where it has some that its observations lacked, their entries take them over.
        ``tell``: whether the receipt says how the entries stand that it changed.

        Raises InvalidArgument for impossible numbers or vectors of another model than its own, WriterRefused while
        another writer serves this camera, and StoreError where nothing could be stored.
        """
        with self._writing, self._lock:
            self._refuse_if_read_only()
            self._refuse_if_others(frame.agent_id)
            check(frame)
            self._vector_model.check(frame)
            admission = self._sessions.admit(frame)
            if self._retention.is_gone(frame.agent_id, admission.session.session, frame.stamp_ns):
                return Receipt(frame.agent_id, frame.writer, frame.sequence, self._revision, 0)  # it was known once
            where = (frame.agent_id, admission.session.session, frame.camera, frame.stamp_ns)
            known = None if admission.newest else self._store.find_frame(*where)
            frame_id, indices = known or (self._next_frame, {})
            told = (o for o in frame.observations if not o.is_hidden_entry)  # that a place is hidden changes nothing
            observations = sorted((o for o in told if o.index not in indices), key=lambda o: o.index)
            if known and not observations:
                return self._described(frame, *known)
            observations, pictures = without_pictures(observations)
            settled = self._settle(frame, admission)
            change = self._ingest.prepare(frame, admission, frame_id, observations, self._revision + 1)
            if known:
                change = replace(change, known=True)
            change = with_pictures(change, pictures, self._config.crops_mb * 1_000_000)
            if beliefs := self._steadiness.changed():
                change = replace(change, beliefs=tuple(beliefs))
            self._store.write_frame(change)
            self._steadiness.kept()
            self._sessions.commit(admission)
            return self._with(settled, self._divide(change, self._applied(frame, change, tell)))

    def _settle(self, frame: Frame, admission: Admission) -> Correction:
        """Move anchors where the frame says that the map stepped, or holds still again."""
        due = self._steadiness.due(frame, admission.session.session, admission.map_id)
        try:
            return self._move(frame.agent_id, *due)
        except BaseException:
            self._steadiness.take_back()
            raise

    def _applied(self, frame: Frame, change: FrameChange, tell: bool) -> Receipt:
        self._revision = change.revision
        self._vector_model.took(frame)
        if change.anchor is not None:
            self._anchors.add(change.anchor)
        self._index.apply([(c.before.entry if c.before else None, c.after) for c in change.entries])
        for c in change.entries:
            self._cache.put(c.after)
        apply_merges(change.merges, self._index, self._cache)
        self._index.absences.take(change.absences)
        self._said.hide()
        f = change.frame
        if not change.known:
            self._next_frame += 1
            self._map_frames[f.map_id] = f.map_frame
            self._trails.took(f)
            self._cover(f)
        self._ingest.applied(change)
        shown, removed, events = told(change, self._said.is_hidden)
        return Receipt(
            agent_id=frame.agent_id,
            writer=frame.writer,
            sequence=frame.sequence,
            revision=change.revision,
            stored=len(change.observations),
            changed=tuple(self._placed(shown)) if tell else (),
            removed=removed,
            events=tuple(events),
        )

    def _cover(self, f: StoredFrame) -> None:
        if f.prolongs is not None:
            self._coverage.prolong(f.agent_id, f.camera, f.stamp_ns)
        elif f.view.depth.size:
            key = (f.frame_id, f.agent_id, f.camera, f.map_id, f.stamp_ns, f.stamp_ns)
            self._coverage.add(StoredView(*key, f.anchor_id, single_pose(f.sensor_in_anchor), f.view))
            if self._coverage.is_behind:
                self._settle_views()

    def keep_history(self) -> Dropped:
        """Drop a slice of the history where it is older or more than configured; queries go on. Raises StoreError.

        What entries know of themselves stays. What was looked at long ago becomes coarse.
        """
        with self._writing:
            self._refuse_if_read_only()
            with self._lock:
                self._settle_views()
            return self._retention.drop()

    def writer_ended(self, agent_id: str, camera: str, writer: str) -> None:
        """Nothing more comes of this writer: another one may take over at once."""
        with self._writing, self._lock:
            self._sessions.writer_ended(agent_id, camera, writer)

    def used_bytes(self) -> int:
        """Size of the database without room that is free again; what ``history_mb`` is about."""
        return self._store.used_bytes()

    @property
    def history_exceeds(self) -> bool:
        """Whether all history that may be dropped is gone, and the database is still larger than configured."""
        return self._retention.too_small

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """What satisfies the query, best first, and what explains an empty result.

        Ids of no entry find nothing. Raises UnknownEntry for an agent or region that isn't known, InvalidArgument for
        what can't be, and DeadlineExceeded.
        """
        with self._lock:
            return self._retriever.retrieve(
                query, self._revision, self._regions, self._common_frames(), time.monotonic() + deadline_s
            )

    def entries_near(self, agent_id: str, limit: int, common: bool = False) -> list[PlacedEntry]:
        """What is known on the map where the agent is: its own first, then the nearest, at most ``limit``.

        In the coordinates of the agent's own map, as its perception needs them, or in ``common`` ones.
        """
        with self._lock:
            newest = self._sessions.newest(agent_id)
            own = None if newest is None else self._trails.at(agent_id, newest.newest_ns, own=True)
            return [] if own is None else self._placer.near(own, limit, self._cache, common)

    def entries(self) -> list[Entry]:
        """All entries, whole, in the order in which they were first stored."""
        with self._lock:
            return self._shown()

    def _shown(self) -> list[Entry]:
        return [stored.entry for stored in self._store.entries() if not self._said.is_hidden(stored.slot)]

    def placed(self) -> list[PlacedEntry]:
        """All entries as they are now, in common coordinates."""
        with self._lock:
            return self._placer.placed(self._shown())

    def _placed(self, entries: Sequence[Entry]) -> list[PlacedEntry]:
        return self._placer.placed(entries, own=True)

    def events(self, since_ns: int | None = None) -> list[Event]:
        """Events that may have happened at or after a stamp (None: all), oldest first, placed as of now."""
        with self._lock:
            shown = (event for event in self._store.events(since_ns) if not self._said.is_hidden(event.slot))
            return [self._retriever.placed_event(event) for event in shown]

    def agents(self) -> list[str]:
        """All agents that ever wrote, sorted."""
        with self._lock:
            return self._sessions.agents()

    def newest_stamp(self, agent_id: str = "") -> int:
        """Newest stamp of an agent's newest session (empty: of any agent); 0 where there is none."""
        with self._lock:
            agents = [agent_id] if agent_id else self._sessions.agents()
            return max((s.newest_ns for s in map(self._sessions.newest, agents) if s is not None), default=0)

    def set_regions(self, regions: Iterable[Region]) -> None:
        """Replace all named regions. Raises InvalidArgument for one without a name or with fewer than 3 corners."""
        new = sorted(regions, key=lambda r: (r.name, r.map_id))
        for region in new:
            if not region.name or len(region.polygon) < 3 or region.z_max <= region.z_min:
                raise InvalidArgument(f"region '{region.name}' needs a name, 3 corners and z_min below z_max")
            for x, y in region.polygon:
                check_place((x, y, 0.0), f"region '{region.name}': the corner")
        with self._writing, self._lock:
            if new == self._regions:
                return
            self._refuse_if_read_only()
            self._store.set_regions(new, self._revision + 1)
            self._revision += 1
            self._regions = new

    def regions(self) -> list[Region]:
        """All named regions, by name."""
        with self._lock:
            return list(self._regions)

    def rooms(self, map_id: str) -> list[Region]:
        """Rooms of a map grown from what was seen on the way, largest first, without names; none is kept."""
        with self._lock:
            views = [view for view in self._store.views() if view.map_id == map_id]
            views = views[:: 1 + len(views) // rooms.MOST_VIEWS]
            poses = [self._anchors.in_map(view.anchor_id, view.sensor_in_anchor) for view in views]
        return rooms.grow((rooms.sight_of(v.view, pose) for v, pose in zip(views, poses, strict=True)), map_id)

    def snapshot(self, path: str | Path) -> int:
        """A consistent copy of the whole memory; gives its size in bytes. Raises StoreError."""
        with self._lock:
            return self._store.backup(Path(path))

    def info(self) -> dict[str, object]:
        """Counts, sizes, agents and time span, as plain values; see ``summary``."""
        with self._lock:
            return summary_of(self._store)
