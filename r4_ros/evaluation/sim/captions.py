"""A baseline: no entries, only captions of every few seconds, found by text, position and time, as ReMEmbR does.

(Anwar et al., ICRA 2025: a vision language model captions 3 s of video; captions are kept with their time and the
robot's position in a vector store, which an agent queries by text, position or time.) The captions are made of the same
observations as the memory, and better than a model's: each names everything that was in view with its colour, what it
stood on, and about where it was, to half a metre. The same planner asks, and the same judges write the answers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from r4_ros.core.geometry import bounds, compose, inside_polygon, inverse, transform_box
from r4_ros.core.model import (
    FOREVER,
    NS_PER_S,
    Box,
    EntryState,
    Evidence,
    Interval,
    Motion,
    Order,
    Pose,
    Presence,
    Query,
    Reference,
    Region,
    Retrieval,
    SpatialConstraint,
    TemporalKind,
    Vec3,
    Visibility,
)
from r4_ros.core.ports import Embedder, Memory
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.store import KeptFrame

WINDOW_NS = 3 * NS_PER_S
ROUGH_M = 0.5
CONTACT_M = 0.1
NEAR_M, FAR_M, SAME_M = 1.5, 10.0, 1.0
ALIKE = 0.6
SIZE: Vec3 = (0.3, 0.3, 0.3)
"""Captions tell no sizes."""


@dataclass(frozen=True)
class Mention:
    """What one caption says of one thing; ``at``: metres in the map, rounded; ``on``: the label of what it is on."""

    label: str
    color: str
    at: Vec3
    room: str
    on: str

    @property
    def key(self) -> str:
        """What a reader takes for one thing: the same name at about the same place."""
        cell = "/".join(str(math.floor(v / SAME_M)) for v in self.at[:2])
        return f"{self.color} {self.label}@{cell}"


@dataclass(frozen=True)
class Caption:
    """What was in view for three seconds, of one robot."""

    agent_id: str
    start_ns: int
    end_ns: int
    mentions: tuple[Mention, ...]


def captions(frames: Iterable[KeptFrame], regions: Sequence[Region]) -> list[Caption]:
    """The captions of all frames."""
    windows: dict[tuple[str, int], list[KeptFrame]] = defaultdict(list)
    for kept in frames:
        windows[kept.frame.agent_id, kept.frame.stamp_ns // WINDOW_NS].append(kept)
    found = []
    for (agent, number), kept_frames in windows.items():
        mentions: dict[str, Mention] = {}
        for kept in kept_frames:
            mentions |= {m.key: m for m in _mentions(kept, regions)}
        end = max(k.frame.stamp_ns for k in kept_frames) + 1
        found.append(Caption(agent, number * WINDOW_NS, end, tuple(mentions.values())))
    return sorted(found, key=lambda c: c.start_ns)


def _mentions(kept: KeptFrame, regions: Sequence[Region]) -> Iterator[Mention]:
    frame = kept.frame
    seen = [o for o in frame.observations if not o.entry_id]
    boxes = [transform_box(frame.sensor_in_map, o.box) for o in seen]
    limits = [bounds(b) for b in boxes]
    for o, box, (low, _) in zip(seen, boxes, limits, strict=True):
        x, y, z = box.pose.position
        under = [
            other.label
            for other, (bottom, top) in zip(seen, limits, strict=True)
            if other is not o and abs(top[2] - low[2]) < CONTACT_M and bottom[0] < x < top[0] and bottom[1] < y < top[1]
        ]
        at: Vec3 = (_rough(x), _rough(y), _rough(z))
        room = next((r.name for r in regions if inside_polygon(r.polygon, [(x, y)])[0]), "")
        yield Mention(o.label, dict(o.attributes).get("color", ""), at, room, under[0] if under else "")


def _rough(value: float) -> float:
    return round(value / ROUGH_M) * ROUGH_M


class Captions:
    """A memory of captions; where the robots were is asked of the whole memory."""

    def __init__(self, db: Path, whole: Memory, embedder: Embedder | None) -> None:
        self._whole, self._embedder = whole, embedder
        store = SqliteStore(db, "normal", read_only=True)
        try:
            self._regions = list(store.regions())
            kept = (k for k in store.history() if isinstance(k, KeptFrame))
            self._captions = captions(kept, self._regions)
        finally:
            store.close()
        self._vectors: dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """What the captions say that fits a query; nothing is ever gone, and nobody knows where nobody looked."""
        about = Query(now_ns=query.now_ns, at_ns=query.at_ns, ego_agent=query.ego_agent, agents=query.agents, limit=1)
        base = self._whole.retrieve(about, deadline_s)
        told = self._told(query, base.now_ns)
        fitting = [e for e in told if not query.entry_ids or e.entry_id in query.entry_ids]
        fitting = [scored for e in fitting if (scored := self._meant(e, query)) is not None]
        everything = {e.entry_id: e for e in told}
        ego = base.ego.pose if base.ego is not None else None
        for constraint in query.spatial:
            fitting = [e for e in fitting if self._holds(e, constraint, everything, ego) is not constraint.negate]
        latest = query.order is Order.LAST_SEEN
        fitting.sort(key=lambda e: (-e.last_seen if latest else -e.score, -e.last_seen))
        rooms = [c.region for c in query.spatial if c.reference is Reference.REGION]
        visited = all(any(m.room == room for c in self._captions for m in c.mentions) for room in rooms)
        return replace(base, entries=tuple(fitting[: query.limit]), events=(), visited=visited, coverage=-1.0)

    def _told(self, query: Query, now_ns: int) -> list[Evidence]:
        """One piece of evidence for each thing that captions of the asked time name, as the last of them says."""
        groups: dict[str, list[tuple[Caption, Mention]]] = defaultdict(list)
        for caption in self._captions:
            if self._is_timely(caption, query):
                for mention in caption.mentions:
                    groups[mention.key].append((caption, mention))
        return [self._evidence(key, group, now_ns) for key, group in groups.items()]

    @staticmethod
    def _is_timely(caption: Caption, query: Query) -> bool:
        if query.agents and caption.agent_id not in query.agents:
            return False
        if query.at_ns is not None and caption.start_ns > query.at_ns:
            return False
        for t in query.temporal:
            if t.kind is TemporalKind.LAST_SEEN_BEFORE:
                fits = caption.start_ns < t.end_ns
            elif t.kind is TemporalKind.FIRST_SEEN_AFTER:
                fits = caption.end_ns > t.start_ns
            elif t.kind in (TemporalKind.SEEN_IN, TemporalKind.ONLY_SEEN_IN):
                fits = caption.start_ns < t.end_ns and t.start_ns < caption.end_ns
            else:
                fits = caption.start_ns < t.end_ns  # present then: told before
            if not fits:
                return False
        return True

    def _evidence(self, key: str, group: Sequence[tuple[Caption, Mention]], now_ns: int) -> Evidence:
        last, mention = group[-1]
        first_ns, last_ns = group[0][0].start_ns, last.end_ns - 1
        return Evidence(
            entry_id=f"caption {key}",
            agent_id=last.agent_id,
            label=mention.label,
            box=Box(Pose(mention.at), SIZE),
            frame="map",
            map_id="",
            first_seen=first_ns,
            last_seen=last_ns,
            present=Presence(first_ns, first_ns, last_ns, FOREVER),
            sightings=tuple(Interval(c.start_ns, c.end_ns) for c, _ in group),
            visibility=Visibility.VISIBLE,
            state=EntryState.PRESENT if now_ns - last_ns < WINDOW_NS else EntryState.UNKNOWN,
            motion=Motion.STATIC,
            count=len(group),
            confidence=0.9,
            score=1.0,
            description=f"{mention.color} {mention.label} {f'on the {mention.on}' if mention.on else ''}".strip(),
            attributes=(("color", mention.color),) if mention.color else (),
            regions=(mention.room,) if mention.room else (),
        )

    def _meant(self, e: Evidence, query: Query) -> Evidence | None:
        """The evidence with how well its name fits the text; None: it is something else."""
        colors = [value for name, value in query.attributes if name == "color"]
        if e.label in query.exclude_labels or (colors and dict(e.attributes).get("color") not in colors):
            return None
        if e.label in query.labels or not (query.text or query.labels):
            return e
        alike = self._alike(e.label, query.text) if query.text else 0.0
        return replace(e, score=alike, semantic_score=alike) if alike >= ALIKE else None

    def _alike(self, label: str, text: str) -> float:
        if self._embedder is None:
            return float(label == text)
        for words in (label, text):
            if words not in self._vectors:
                self._vectors[words] = self._embedder.embed([words])[0]
        return float(self._vectors[label] @ self._vectors[text])

    def _holds(self, e: Evidence, c: SpatialConstraint, known: dict[str, Evidence], ego: Pose | None) -> bool:
        """Whether a reader would say so, from rooms, from what things are said to be on, and from rough places."""
        if c.reference is Reference.REGION:
            return c.region in e.regions
        if c.reference is Reference.ENTRIES:
            others = [known[i] for i in c.entry_ids if i in known]
            return any(_relates(e, other, c) for other in others)
        pose = c.pose if c.reference is Reference.POSE else ego
        return pose is not None and _is_beside(e, pose, c)


def _relates(e: Evidence, other: Evidence, c: SpatialConstraint) -> bool:
    apart = math.dist(e.box.pose.position, other.box.pose.position)
    if c.relation in ("on", "in", "above"):
        return e.description.endswith(f" on the {other.label}") and apart < 2 * NEAR_M
    if c.relation in ("under", "below"):
        return other.description.endswith(f" on the {e.label}") and apart < 2 * NEAR_M
    if c.relation == "same_room":
        return bool(set(e.regions) & set(other.regions))
    return c.min_distance <= apart <= (c.max_distance or NEAR_M)


def _is_beside(e: Evidence, pose: Pose, c: SpatialConstraint) -> bool:
    x, y, _ = compose(inverse(pose), Pose(e.box.pose.position)).position
    if not c.min_distance <= math.hypot(x, y) <= (c.max_distance or FAR_M):
        return False
    side = {"left_of": y > abs(x), "right_of": -y > abs(x), "in_front_of": x > abs(y), "behind": -x > abs(y)}
    return side.get(c.relation, math.hypot(x, y) <= (c.max_distance or NEAR_M))
