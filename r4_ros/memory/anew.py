"""What was seen of some entries, worked in again from where the robot is known to have been now.

That is done by another memory, of which nothing stays but what it makes of the sightings: its entries, hung on the
anchors of this one, and what happened to them. It knows the views that are kept, so it can tell what was looked at.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotate_covariance, vec3
from r4_ros.core.model import (
    FOREVER,
    IDENTITY,
    Box,
    Entry,
    EntryState,
    Frame,
    Interval,
    Matrix3,
    Observation,
    PlacedEntry,
    Pose,
    Stay,
    Vec3,
    View,
    Visibility,
)
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.codec import single
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.division_records import KeptSighting
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.stays import Seen, place, reach
from r4_ros.memory.store import MemoryStore, StoredEvent

if TYPE_CHECKING:
    from r4_ros.memory.library import Library

AT_HAND_M = 0.05
"""What is said to be nearer to the camera than this wasn't placed at all."""
_NO_VIEW = View(0.0, 0.0, 0.0, 0.0, np.zeros((0, 0), np.float32))
_AROUND = 500
_COVERED = 0.8
"""Of a thing's box: so much of it must have been seen to be empty."""
_NEAR_M = 0.15
"""So far beside its place, or by half of its size, a thing that stood there would have been seen."""
_NOISE_M = 0.02
_Key = tuple[int, int]


class Borrowed(Coverage):
    """The views of another memory; those that come are not added."""

    def add(self, stored: object) -> None:
        """Leave it."""

    def prolong(self, agent_id: str, camera: str, stamp_ns: int) -> None:
        """Leave it."""

    def holding(self, agent_id: str, camera: str, map_id: str, stamp_ns: int, sensor_in_map: Pose) -> int | None:
        """None: every frame is its own."""
        return None

    @staticmethod
    def of(coverage: Coverage) -> Borrowed:
        """These views, to be read."""
        other = Borrowed(coverage._anchors)
        other.__dict__.update(coverage.__dict__)
        return other


@dataclass(frozen=True, slots=True)
class Made:
    """An entry made anew: hung on the anchors of the memory that asked, with the keys of its sightings and its events.

    Its id, slot and links are those of the other memory.
    """

    entry: Entry
    slot: int
    keys: frozenset[_Key]
    events: tuple[StoredEvent, ...]


@dataclass(frozen=True, slots=True)
class _Look:
    """A place that was found empty; ``again``: what was looked for was seen there later.

    ``elsewhere``: when the like was first seen at places out of reach of it.
    """

    seen: Seen
    again: bool
    elsewhere: tuple[int, ...]


Opened = Callable[[MemoryStore, MemoryConfig, Coverage], "Library"]


class Again:
    """Works sightings in again. ``opened``: makes a memory on a store, with a coverage of its own."""

    def __init__(self, anchors: AnchorBook, coverage: Coverage, config: MemoryConfig, opened: Opened) -> None:
        self._anchors, self._coverage, self._config, self._opened = anchors, coverage, config, opened

    def made(self, agent_id: str, map_id: str, rows: Sequence[KeptSighting]) -> list[Made]:
        """What these sightings and absences, in the order they came, are by where anchors stand now."""
        with tempfile.TemporaryDirectory(prefix="r4-again-") as folder:
            store = SqliteStore(Path(folder) / "again.db")
            with self._opened(store, self._config, Borrowed.of(self._coverage)) as library:
                frames = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.frame_id)]
                looks = self._looks(frames)
                with library.together():
                    for number, (some, look) in enumerate(zip(frames, looks, strict=True)):
                        library.ingest(self._frame(library, agent_id, map_id, number, some, look), tell=False)
                return self._taken(store, library, agent_id, frames)

    def _looks(self, frames: Sequence[Sequence[KeptSighting]]) -> list[list[_Look]]:
        """What each frame looked for in vain, and where; told from behind, so that it is known what was seen later."""
        later, first = dict[str, list[Vec3]](), self._first_seen(frames)
        near, looks = reach(self._config, 0.0), []
        for rows in reversed(frames):
            sensor = self._anchors.in_map(rows[0].anchor_id, rows[0].sensor_in_anchor)
            found = []
            for row, seen in zip(rows, place([row.observation for row in rows], sensor)[0], strict=True):
                label = row.observation.label.casefold()
                if row.observation.visibility == Visibility.ABSENT:
                    again = any(math.dist(seen.centre, there) < near for there in later.get(label, ()))
                    new = (stamp for stamp, there in first.get(label, ()) if math.dist(seen.centre, there) > near)
                    found.append(_Look(seen, again, tuple(new)))
                elif not any(math.dist(seen.centre, there) < _NOISE_M for there in later.get(label, ())):
                    later.setdefault(label, []).append(seen.centre)
            looks.append(found)
        return looks[::-1]

    def _first_seen(self, frames: Sequence[Sequence[KeptSighting]]) -> dict[str, list[tuple[int, Vec3]]]:
        """By label the places out of reach of each other where it was seen, and when first."""
        first, near = dict[str, list[tuple[int, Vec3]]](), reach(self._config, 0.0)
        for rows in frames:
            rows = [row for row in rows if row.observation.visibility != Visibility.ABSENT]
            sensor = self._anchors.in_map(rows[0].anchor_id, rows[0].sensor_in_anchor) if rows else IDENTITY
            for seen in place([row.observation for row in rows], sensor)[0]:
                known = first.setdefault(seen.observation.label.casefold(), [])
                if all(math.dist(seen.centre, there) >= near for _, there in known):
                    known.append((rows[0].stamp_ns, seen.centre))
        return first

    def _frame(
        self,
        library: Library,
        agent_id: str,
        map_id: str,
        number: int,
        rows: Sequence[KeptSighting],
        looks: Sequence[_Look],
    ) -> Frame:
        first = rows[0]
        seen = [row.observation for row in rows if row.observation.visibility != Visibility.ABSENT]
        if looks:
            free = itertools.count(1 + max(row.observation.index for row in rows))
            known = library.entries_near(agent_id, _AROUND)
            seen += [replace(o, index=next(free)) for o in self._absences(known, looks)]
        return Frame(
            agent_id=agent_id,
            camera=first.camera,
            writer="again",
            sequence=number,
            session=first.session,
            stamp_ns=first.stamp_ns,
            map_id=map_id,
            map_frame="map",
            sensor_frame="",
            sensor_in_map=self._anchors.in_map(first.anchor_id, first.sensor_in_anchor),
            base_in_sensor=IDENTITY,
            view=_NO_VIEW,
            observations=tuple(seen),
        )

    def _absences(self, known: Sequence[PlacedEntry], looks: Sequence[_Look]) -> Iterator[Observation]:
        """Of what is known there that it is not, where a frame found places empty, whatever it was looking for."""
        for entry in known:
            if entry.state != EntryState.GONE and any(self._says(look, entry) for look in looks):
                yield replace(looks[0].seen.observation, entry_id=entry.entry_id, entry_revision=0)

    def _says(self, look: _Look, entry: PlacedEntry) -> bool:
        """Whether a look says that a thing is gone; farther beside its place, too, where the like came up elsewhere."""
        moved = any(stamp > entry.last_seen for stamp in look.elsewhere)
        near = reach(self._config, max(entry.box.extent)) if moved else 0.0
        return says_gone(look.seen, look.again, entry.box, entry.label, near)

    def _taken(
        self, store: SqliteStore, library: Library, agent_id: str, frames: Sequence[Sequence[KeptSighting]]
    ) -> list[Made]:
        hung = self._hung(store, frames)
        number = {i + 1: some[0].frame_id for i, some in enumerate(frames)}
        into = {slot: kept for slot, _, kept in store.merged()}
        entries = list(store.entries())
        slots = [*(stored.slot for stored in entries), *into]
        keys: dict[int, set[_Key]] = {stored.slot: set() for stored in entries}
        for row in store.sightings(agent_id, Interval(0, FOREVER), slots, 1 << 60):
            keys[into.get(row.slot, row.slot)].add((number[row.frame_id], row.observation.index))
        events: dict[int, list[StoredEvent]] = {slot: [] for slot in keys}
        for event in store.events():
            events[into.get(event.slot, event.slot)].append(hung.event(event))
        return [Made(hung.entry(s.entry), s.slot, frozenset(keys[s.slot]), tuple(events[s.slot])) for s in entries]

    def _hung(self, store: SqliteStore, frames: Sequence[Sequence[KeptSighting]]) -> _Hung:
        """How what hangs on the other memory's anchors hangs on those of this one."""
        own = {(some[0].camera, some[0].stamp_ns): some[0].anchor_id for some in frames}
        on = dict[int, tuple[int, Pose]]()
        for record in store.anchors():
            anchor = self._anchors[own[record.camera, record.anchor.stamp_ns]]
            pose = compose(inverse(anchor.pose_in_map), record.anchor.pose_in_map)
            on[record.anchor.anchor_id] = anchor.anchor_id, pose
        return _Hung(on)


@dataclass(frozen=True, slots=True)
class _Hung:
    """By anchor of the other memory: an anchor of this one, and where that one stands in its frame."""

    on: dict[int, tuple[int, Pose]]

    def entry(self, entry: Entry) -> Entry:
        """An entry with all its stays on anchors of this memory."""
        return entry.evolve(stays=tuple(map(self._stay, entry.stays)))

    def _stay(self, stay: Stay) -> Stay:
        anchor, pose = self.on[stay.anchor_id]
        shares = []
        for share in stay.shares:
            other, there = self.on[share.anchor_id]
            position = compose(there, Pose(share.position)).position
            shares.append(replace(share, anchor_id=other, position=vec3(np.array(position, np.float32))))
        return replace(
            stay,
            anchor_id=anchor,
            box=single(Box(compose(pose, stay.box.pose), stay.box.extent)),
            position_covariance=_rounded(rotate_covariance(pose.orientation, stay.position_covariance)),
            shares=tuple(shares),
        )

    def event(self, stored: StoredEvent) -> StoredEvent:
        """An event, likewise."""
        anchor, pose = self.on[stored.anchor_id]
        made = replace(stored, anchor_id=anchor, place=compose(pose, Pose(stored.place)).position)
        if stored.from_anchor is None or stored.from_place is None:
            return made
        anchor, pose = self.on[stored.from_anchor]
        return replace(made, from_anchor=anchor, from_place=compose(pose, Pose(stored.from_place)).position)


def says_gone(looked: Seen, again: bool, box: Box, label: str, near: float = 0.0) -> bool:
    """Whether a place found empty is a thing's; or it was looked for right beside it, and not seen ``again``."""
    if _share_inside(box, looked) >= _COVERED:
        return True
    same = looked.observation.label.casefold() in ("", label.casefold())
    return same and not again and math.dist(looked.centre, box.pose.position) < max(near, _NEAR_M, max(box.extent) / 2)


def _share_inside(box: Box, seen: Seen) -> float:
    """How much of an aligned box lies inside of a seen one."""
    own, middle, extent = np.maximum(box.extent, 1e-3), np.asarray(box.pose.position), np.asarray(seen.extent)
    low = np.maximum(middle - own / 2, seen.centre - extent / 2)
    high = np.minimum(middle + own / 2, seen.centre + extent / 2)
    return float(np.clip((high - low) / own, 0, 1).prod())


def _rounded(covariance: Matrix3) -> Matrix3:
    a, b, c, d, e, f, g, h, i = np.array(covariance, np.float32).tolist()
    return a, b, c, d, e, f, g, h, i
