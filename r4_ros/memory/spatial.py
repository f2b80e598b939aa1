"""The spatial key: resolves what constraints refer to and gives each candidate its degree.

Directions around a thing are those of a viewpoint: the constraint's pose where one is given, else the ego agent at the
constraint's stamp or the time asked about, else the pose from which the thing was last seen, else the ego agent now.
Where regions are known, directions and nearness don't reach through walls: what they refer to and the candidate share
a region, or the candidate is in none, or was in view of the ego agent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, UnknownEntry
from r4_ros.core.geometry import bounds, inside_polygon
from r4_ros.core.model import (
    IDENTITY,
    NS_PER_S,
    Box,
    FloatArray,
    Pose,
    Reference,
    Region,
    SpatialConstraint,
    TrailPoint,
)
from r4_ros.memory import areas, constraints, relations, views
from r4_ros.memory.boxes import Boxes, gaps, observer_box, pairs_within, point_box
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.moments import TemporalKey
from r4_ros.memory.trails import Trails

IN_VIEW_NS = NS_PER_S
_SLACK_M = 1e-6
_FEW_PLACES = 4
"""So few are compared with all candidates one by one."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a query's spatial constraints are resolved against. ``at_ns`` None: the latest known places."""

    now_ns: int
    at_ns: int | None
    ego_agent: str
    regions: Sequence[Region]
    deadline: float = math.inf  # on the monotonic clock
    trail: dict[int, TrailPoint | None] = field(default_factory=dict)  # where the ego agent was, as looked up so far
    known: dict[SpatialConstraint, list[Place]] = field(default_factory=dict)  # what was referred to so far

    @property
    def place_ns(self) -> int:
        """The time whose places count."""
        return self.now_ns if self.at_ns is None else self.at_ns

    def check_time(self) -> None:
        """Raise DeadlineExceeded where the time for the query is up."""
        if time.monotonic() > self.deadline:
            raise DeadlineExceeded("the memory's time for this query is up; ask for less or allow more time")


@dataclass(frozen=True, slots=True)
class Place:
    """One thing that a constraint refers to. ``map_id`` "": on any map; ``slot`` -1: it is no entry."""

    box: Boxes
    map_id: str = ""
    slot: int = -1
    observer: Pose | None = None
    region: Region | None = None
    oriented: Box | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Boxes of the map, low and high corners [n, 3], of which whatever satisfies a constraint touches one."""

    low: FloatArray
    high: FloatArray

    @property
    def area(self) -> float:
        """Of the ground that they cover at most, m^2."""
        return float((self.high - self.low)[:, :2].prod(axis=1).sum())

    def joined(self) -> Bounds:
        """One box around all."""
        return Bounds(self.low.min(axis=0, keepdims=True), self.high.max(axis=0, keepdims=True))


class SpatialKey:
    """Places candidates and computes degrees of constraints."""

    def __init__(self, index: Index, temporal: TemporalKey, trails: Trails) -> None:
        self._index, self._temporal, self.trails = index, temporal, trails

    def boxes(self, slots: Slots, scene: Scene) -> Boxes:
        """Boxes of entries where they were at the scene's time."""
        rows = self._temporal.stay_rows(slots, scene.place_ns)
        centre, half = self._index.stays["centre"][rows], self._index.stays["half"][rows]
        return Boxes(centre - half, centre + half)

    def ego(self, scene: Scene, stamp_ns: int | None = None) -> TrailPoint | None:
        """Where the ego agent was at a stamp (None: at the scene's time)."""
        stamp = scene.place_ns if stamp_ns is None else stamp_ns
        if stamp not in scene.trail:
            scene.trail[stamp] = self.trails.at(scene.ego_agent, stamp)
        return scene.trail[stamp]

    def filter(
        self, constraint: SpatialConstraint, slots: Slots, boxes: Boxes, scene: Scene, maps: Slots | None = None
    ) -> tuple[Mask, FloatArray]:
        """Which candidates satisfy a constraint, and to what degree 0..1.

        ``maps``: codes of the maps that they are on, where they aren't entries (then their slots are -1).
        Raises InvalidArgument for an unknown relation, UnknownEntry for an unknown region.
        """
        constraints.check(constraint)
        maps = self._index.entries["common"][slots] if maps is None else maps
        places = self.places(constraint, scene)
        reach = relations.REACH_M.get(constraint.relation)
        if reach is not None and constraint.reference is Reference.ENTRIES and len(places) > _FEW_PLACES:
            degree = self._by_pairs(constraint, slots, boxes, maps, places, scene)
        else:
            degree = np.zeros(len(slots))
            for place in places:
                scene.check_time()
                np.maximum(degree, self._at_place(constraint, slots, boxes, maps, place, scene), out=degree)
        if constraint.negate:
            return degree < relations.HELD, 1 - degree
        return degree >= relations.HELD, degree

    def _at_place(
        self, constraint: SpatialConstraint, slots: Slots, boxes: Boxes, maps: Slots, place: Place, scene: Scene
    ) -> FloatArray:
        """Degrees of all candidates for one place."""
        d = self._degree(constraint, slots, boxes, place, scene)
        low, high = constraint.min_distance, constraint.max_distance
        if low > 0 or high > 0:
            distance = self.distances(boxes, place)
            d = np.where((distance >= low) & ((high <= 0) | (distance <= high)), d, 0.0)
        here = self._on_map(maps, place) & ((slots < 0) | (slots != place.slot))
        walled = constraint.relation in relations.AMONG_NEIGHBOURS
        there = np.flatnonzero(here & (d > 0) & walled)
        if len(there) and place.region is None:
            here[there] &= self._in_reach(constraint, slots[there], boxes.take(there), place, scene)
        return np.where(here, d, 0.0)

    def _by_pairs(
        self,
        constraint: SpatialConstraint,
        slots: Slots,
        boxes: Boxes,
        maps: Slots,
        places: Sequence[Place],
        scene: Scene,
    ) -> FloatArray:
        """The same for many entries as places, of which each concerns only the candidates around it."""
        everywhere = Boxes(np.concatenate([p.box.low for p in places]), np.concatenate([p.box.high for p in places]))
        across, up = _reach(constraint, places[0])
        rows, others = pairs_within(boxes, everywhere, 2 * _sides((across, up)))
        codes = np.array([self._index.maps.find(p.map_id) for p in places])
        here = (maps[rows] == codes[others]) & (slots[rows] != np.array([p.slot for p in places])[others])
        rows, others = rows[here], others[here]
        degree = relations.degrees(constraint.relation, boxes.take(rows), everywhere.take(others))
        low, high = constraint.min_distance, constraint.max_distance
        if low > 0 or high > 0:
            distance = gaps(boxes.take(rows), everywhere.take(others))
            degree[(distance < low) | ((high > 0) & (distance > high))] = 0.0
        if constraint.relation in relations.AMONG_NEIGHBOURS and scene.regions:
            degree[self._walled_off(boxes, rows, places, others, scene)] = 0.0
        scene.check_time()
        best = np.zeros(len(slots))
        np.maximum.at(best, rows, degree)
        return best

    def _walled_off(self, boxes: Boxes, rows: Slots, places: Sequence[Place], others: Slots, scene: Scene) -> Mask:
        """Which pairs of a candidate and a place are in rooms, and not in the same one."""
        walled = np.zeros(len(rows), np.bool_)
        order = np.argsort(others, kind="stable")
        for pairs in np.split(order, np.flatnonzero(np.diff(others[order])) + 1) if len(order) else ():
            own, inside = self._rooms(boxes.take(rows[pairs]), places[others[pairs[0]]], scene)
            walled[pairs] = own.any() & inside.any(axis=0) & ~inside[own].any(axis=0)
        return walled

    def bounds(self, constraint: SpatialConstraint, scene: Scene) -> Bounds | None:
        """Where in the map the things are that satisfy a constraint; None: it may be anywhere."""
        constraints.check(constraint)
        if constraint.negate:
            return None
        places = self.places(constraint, scene)
        if constraint.relation == "between":
            return self._bounds_between(places, self._entries(constraint.other_entry_ids, scene))
        reach = [_reach(constraint, place) for place in places]
        if any(r[0] >= relations.ANYWHERE_M for r in reach):
            return None
        sides = np.array([_sides(r) for r in reach]).reshape(-1, 3)
        low, high = (np.array([corner(p) for p in places]).reshape(-1, 3) for corner in (_low, _high))
        return _fewest(Bounds(low - sides, high + sides))

    def _bounds_between(self, places: Sequence[Place], others: Sequence[Place]) -> Bounds:
        if not places or not others:
            return Bounds(np.zeros((0, 3)), np.zeros((0, 3)))
        every = [*places, *others]
        low, high = np.min([_low(p) for p in every], axis=0), np.max([_high(p) for p in every], axis=0)
        reach = relations.reach_between(np.linalg.norm([high - low], axis=1)) + _SLACK_M
        return Bounds((low - reach)[None], (high + reach)[None])

    def _degree(
        self, constraint: SpatialConstraint, slots: Slots, boxes: Boxes, place: Place, scene: Scene
    ) -> FloatArray:
        relation = constraint.relation
        if relation == "between":
            return self._between(constraint, slots, boxes, place, scene)
        if relation in views.FROM_A_POSE and place.observer is not None:
            fov = constraint.horizontal_fov, constraint.vertical_fov
            return views.from_pose(relation, boxes, place.observer, fov)
        if place.oriented is not None and relation in ("in", "inside"):
            return areas.in_box(place.oriented, boxes.centre)
        if relation == "same_room":
            return self._same_room(boxes, place, scene).astype(float)
        if place.region is not None and relation not in (*views.DIRECTIONS, "through"):
            return areas.of_region(relation, boxes, place.region)
        if place.observer is not None and relation in (*views.DIRECTIONS, *views.AHEAD):
            observe = views.ahead if relation in views.AHEAD else views.around_observer
            return observe(relation, boxes, place.observer)
        if relation == "facing":
            raise InvalidArgument("which way a thing faces isn't known; only an asker or a viewpoint faces things")
        if relation not in (*views.DIRECTIONS, "through"):
            return relations.degrees(relation, boxes, place.box)
        viewer = self._viewer(constraint, place, scene)
        if viewer is None:
            return np.zeros(len(slots))
        if relation == "through":
            return views.through(boxes, place.box, viewer)
        return views.from_viewpoint(relation, boxes, place.box, viewer)

    def _same_room(self, boxes: Boxes, place: Place, scene: Scene) -> Mask:
        """Which candidates are in a region that the place is in, too; none where it is in no region."""
        own, inside = self._rooms(boxes, place, scene)
        return np.asarray(inside[own].any(axis=0)) if own.any() else np.zeros(len(boxes.low), bool)

    def _rooms(self, boxes: Boxes, place: Place, scene: Scene) -> tuple[Mask, Mask]:
        """Which regions [m] a place is in, and which candidates each holds [m, n]."""
        at = place.box.centre[:, :2] if place.observer is None else np.asarray(place.observer.position[:2])[None]
        known = [r for r in scene.regions if not place.map_id or r.map_id in ("", place.map_id)]
        own = np.array([inside_polygon(r.polygon, at)[0] for r in known], bool)
        inside = np.zeros((len(known), len(boxes.low)), bool)
        for i, region in enumerate(known):
            inside[i] = inside_polygon(region.polygon, boxes.centre[:, :2])
        return own, inside

    def _between(
        self, constraint: SpatialConstraint, slots: Slots, boxes: Boxes, place: Place, scene: Scene
    ) -> FloatArray:
        others = [o for o in self._entries(constraint.other_entry_ids, scene) if o.slot != place.slot]
        others = [o for o in others if o.map_id == place.map_id or not place.map_id]
        if not others:
            return np.zeros(len(slots))
        boxes_of = Boxes(np.concatenate([o.box.low for o in others]), np.concatenate([o.box.high for o in others]))
        themselves = np.array([o.slot for o in others])[:, None] == slots
        return relations.between(boxes, place.box, boxes_of, themselves)

    def _viewer(self, constraint: SpatialConstraint, place: Place, scene: Scene) -> Pose | None:
        if constraint.pose != IDENTITY and constraint.reference in (Reference.ENTRIES, Reference.REGION):
            return constraint.pose
        stamp = constraint.stamp_ns if constraint.stamp_ns is not None else scene.at_ns
        if stamp is None and place.slot >= 0:
            agent = self._index.agents.texts[self._index.entries["agent"][place.slot]]
            seen_from = self.trails.at(agent, int(self._temporal.last_seen(np.array([place.slot]), scene.now_ns)[0]))
            if seen_from is not None:
                return seen_from.pose
        ego = self.ego(scene, scene.now_ns if stamp is None else stamp)
        return None if ego is None else ego.pose

    def _in_reach(self, constraint: SpatialConstraint, slots: Slots, boxes: Boxes, place: Place, scene: Scene) -> Mask:
        """Whether no wall is likely between: in the same room, in no room, or in view of the ego agent then."""
        around, inside = self._rooms(boxes, place, scene)
        if not around.any():
            return np.ones(len(slots), bool)
        near: Mask = np.asarray(inside[around].any(axis=0) | ~inside.any(axis=0))
        if constraint.reference is Reference.EGO:
            stamp = constraint.stamp_ns if constraint.stamp_ns is not None else scene.place_ns
            agent = self._index.agents.find(scene.ego_agent)
            mine = np.flatnonzero((slots >= 0) & ~near)
            mine = mine[self._index.entries["agent"][slots[mine]] == agent]
            near[mine] = self._temporal.in_view(slots[mine], stamp, IN_VIEW_NS)
        return near

    def _on_map(self, maps: Slots, place: Place) -> Mask:
        if not place.map_id:
            return np.ones(len(maps), bool)
        return np.asarray(maps == self._index.maps.find(place.map_id))

    def distances(self, boxes: Boxes, place: Place) -> FloatArray:
        """Gaps [n] to what a constraint refers to."""
        if place.region is not None:
            return areas.distance_to_region(place.region, boxes.centre)
        return gaps(boxes, place.box)

    def places(self, constraint: SpatialConstraint, scene: Scene) -> list[Place]:
        """What a constraint refers to; none where the ego agent's pose isn't known. Raises UnknownEntry."""
        if constraint not in scene.known:
            scene.known[constraint] = self._places(constraint, scene)
        return scene.known[constraint]

    def _places(self, constraint: SpatialConstraint, scene: Scene) -> list[Place]:
        kind = constraint.reference
        if kind is Reference.EGO:
            ego = self.ego(scene, constraint.stamp_ns)
            if ego is None:
                return []
            return [Place(observer_box(ego.pose), ego.map_id, observer=ego.pose)]
        if kind is Reference.POSE:
            return [Place(observer_box(constraint.pose), observer=constraint.pose)]
        if kind is Reference.POINT:
            return [Place(point_box(constraint.pose))]
        if kind is Reference.REGION:
            named = [r for r in scene.regions if r.name == constraint.region]
            if not named:
                raise UnknownEntry(f"no region is named '{constraint.region}'")
            return [Place(areas.region_box(r), r.map_id, region=r) for r in named]
        if kind is Reference.POLYGON:
            prism = Region("", constraint.polygon, constraint.z_min, constraint.z_max)
            return [Place(areas.region_box(prism), region=prism)]
        if kind is Reference.BOX:
            box = Box(constraint.pose, constraint.extent)
            low, high = bounds(box)
            return [Place(Boxes(low[None], high[None]), oriented=box)]
        if constraint.relation == "between" and not constraint.other_entry_ids:
            raise InvalidArgument("'between' needs two groups of entries")
        return self._entries(constraint.entry_ids, scene)

    def _entries(self, entry_ids: Sequence[str], scene: Scene) -> list[Place]:
        slots = np.array([self._index.slots[i] for i in entry_ids if i in self._index.slots], np.int64)
        if scene.at_ns is not None and slots.size:
            unknown_yet = self._index.entries["first_seen"][slots] > scene.at_ns  # an anchor is taken to have stood
            slots = slots[self._temporal.present(slots, scene.at_ns) | unknown_yet]
        if not slots.size:
            return []
        boxes = self.boxes(slots, scene)
        maps = self._index.entries["common"][slots]
        return [
            Place(boxes.one(i), self._index.maps.texts[maps[i]], int(slot)) for i, slot in enumerate(slots.tolist())
        ]


def _reach(constraint: SpatialConstraint, place: Place) -> tuple[float, float]:
    """How far from the place's box, across the ground and in height, things can be that satisfy a constraint."""
    relation, most = constraint.relation, constraint.max_distance
    if place.region is None or relation in (*views.DIRECTIONS, "through", "same_room"):
        across, up = relations.REACH_M.get(relation, (relations.ANYWHERE_M, relations.ANYWHERE_M))
    else:
        across, up = (1.0, relations.ANYWHERE_M) if relation in areas.OUTSIDE else (0.0, 0.0)
    if most > 0:
        across = min(across, most)
        up = up if place.region is not None else min(up, most)
    return across, up


def _sides(reach: tuple[float, float]) -> FloatArray:
    return np.array([reach[0], reach[0], reach[1]]) + _SLACK_M


def _low(place: Place) -> FloatArray:
    return np.asarray(place.box.low[0])


def _high(place: Place) -> FloatArray:
    return np.asarray(place.box.high[0])


def _fewest(bounds: Bounds) -> Bounds:
    """The boxes, or one around them where that is no larger than all together."""
    if not len(bounds.low):
        return bounds
    joined = bounds.joined()
    return joined if joined.area <= bounds.area else bounds
