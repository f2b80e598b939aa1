"""Entries as evidence: each as it was at the time asked about and as it is known now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from r4_ros.core.intervals import merge, seconds
from r4_ros.core.model import Entry, EntryState, Evidence, FloatArray, Interval, Region, Stay
from r4_ros.core.template import DESCRIBED_BY, TEMPLATE, template_description
from r4_ros.memory import areas
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.claims import Said, attributes_of, place_of, presence_of
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.existence import Shown, Witness, existence, label_share
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.presence import present_at, state_at
from r4_ros.memory.spatial import Scene
from r4_ros.memory.store import StoredEntry
from r4_ros.memory.ties import NOTHING_TOLD, Told
from r4_ros.memory.working import EntryCache


class Ranked(Protocol):
    """Slots in order, with their scores."""

    @property
    def slots(self) -> Slots:
        """Best first."""

    @property
    def semantic(self) -> FloatArray:
        """Scores 0..1."""

    @property
    def spatial(self) -> FloatArray:
        """Scores 0..1."""


class EvidenceMaker:
    """Makes evidence of slots."""

    def __init__(self, index: Index, cache: EntryCache, coverage: Coverage, in_view_ns: int) -> None:
        self._index, self._cache, self._in_view_s = index, cache, seconds(in_view_ns)
        self._witness = Witness(coverage)

    def make(
        self,
        ranked: Ranked,
        scene: Scene,
        map_frames: Mapping[str, str],
        sources: Mapping[int, Sequence[int]],
        told: Told = NOTHING_TOLD,
    ) -> tuple[Evidence, ...]:
        """Evidence of the slots, in their order; ``sources``: all entries of those that speak for several.

        ``told``: what people said of them, which stands among the attributes.
        """
        stored = self._cache.get_many(ranked.slots.tolist())
        made = []
        for s, semantic, spatial in zip(stored, ranked.semantic, ranked.spatial, strict=True):
            one = self._one(s.entry, float(semantic), float(spatial), scene, map_frames)
            known = self._cache.get_many(sources.get(s.slot, (s.slot,)))
            if s.slot in sources:
                one = self._with_sightings_of(one, [x.entry for x in known], scene)
            said = dict.fromkeys(t for slot in sources.get(s.slot, (s.slot,)) for t in told.of.get(slot, ()))
            one = self._disputed(self._unless_absent(one, s.slot, scene), known, scene)
            made.append(replace(one, attributes=(*one.attributes, *said)) if said else one)
        return self._believed(made, ranked.slots.tolist(), sources, scene)

    def _believed(
        self, made: Sequence[Evidence], slots: Sequence[int], sources: Mapping[int, Sequence[int]], scene: Scene
    ) -> tuple[Evidence, ...]:
        """The evidence, with how surely each thing is there, by all that saw it."""
        groups = [sources.get(slot, (slot,)) for slot in slots]
        stored = self._cache.get_many([slot for group in groups for slot in group])
        stays = [stay_at(s.entry.stays, scene.place_ns) for s in stored]
        shown = [Shown(s.slot, s.entry, t, self._index.shown_box(t)) for s, t in zip(stored, stays, strict=True)]
        seen, entries = iter(self._witness.seen(shown, scene.now_ns)), iter(stored)
        believed = []
        for one, group in zip(made, groups, strict=True):
            looks, share = [next(seen) for _ in group], max(label_share(next(entries).entry) for _ in group)
            sure, missed = existence(looks), sum(s.looks - s.hits for s in looks)
            believed.append(replace(one, existence=sure, missed=missed, label_share=share))
        return tuple(believed)

    def _disputed(self, one: Evidence, known: Sequence[StoredEntry], scene: Scene) -> Evidence:
        """The evidence with what holds of what its sources say, and where they disagree."""
        if len(known) == 1 and one.state is not EntryState.GONE:
            return one
        said = [self._said(stored, scene) for stored in known]
        claims = presence_of(said, one.state is EntryState.GONE)
        if len(said) == 1:
            return replace(one, claims=claims) if claims else one
        attributes, differing = attributes_of(said, one.entry_id)
        made = tuple(pair for pair in one.attributes if pair == (DESCRIBED_BY, TEMPLATE) and pair not in attributes)
        claims += (*place_of(said, one.entry_id), *differing)
        return replace(one, attributes=(*attributes, *made), claims=claims)

    def _said(self, stored: StoredEntry, scene: Scene) -> Said:
        """What one source says, as known at the scene's now."""
        entry, slot = stored.entry, stored.slot
        last_seen = until(entry.sightings, scene.now_ns)[-1].end - 1
        end, absent = entry.presence[-1].end, self._index.absences.end(slot, last_seen, scene.now_ns)
        finder = self._index.absences.found_by(slot, absent) if absent >= 0 else ""
        gone = end if end <= scene.now_ns else absent
        return Said(entry, last_seen, self._index.box(entry.stays[-1]), gone, finder)

    def _unless_absent(self, one: Evidence, slot: int, scene: Scene) -> Evidence:
        """The evidence, gone where another agent found it so after the last sighting."""
        end = self._index.absences.end(slot, one.last_seen, scene.now_ns)
        if end < 0:
            return one
        present = None if one.present is None or end <= scene.place_ns else replace(one.present, end=end)
        return replace(one, state=EntryState.GONE, present=present)

    def _one(
        self, entry: Entry, semantic: float, spatial: float, scene: Scene, map_frames: Mapping[str, str]
    ) -> Evidence:
        box = self._index.shown_box(stay_at(entry.stays, scene.place_ns))
        sightings = until(entry.sightings, scene.now_ns)
        last_seen = sightings[-1].end - 1
        map_id = self._index.anchors.common_map(entry.stays[-1].anchor_id)
        description, attributes = entry.description, current_attributes(entry.attributes)
        if not description:
            description = template_description(entry.label, attributes, box.extent)
            attributes = (*attributes, (DESCRIBED_BY, TEMPLATE))
        return Evidence(
            entry_id=entry.entry_id,
            agent_id=entry.agent_id,
            label=entry.label,
            box=box,
            frame=map_frames.get(map_id, ""),
            map_id=map_id,
            first_seen=entry.first_seen,
            last_seen=last_seen,
            present=present_at(entry.presence, scene.place_ns),
            sightings=sightings,
            visibility=entry.visibility,
            state=state_at(entry.presence, last_seen, scene.now_ns, self._in_view_s),
            motion=entry.motion,
            count=entry.count,
            confidence=entry.confidence,
            score=semantic * spatial,
            semantic_score=semantic,
            spatial_score=spatial,
            description=description,
            attributes=attributes,
            regions=containing(scene.regions, map_id, box.pose.position),
        )

    def _with_sightings_of(self, evidence: Evidence, sources: Sequence[Entry], scene: Scene) -> Evidence:
        """Evidence that counts what all sources saw; what any of them sees now is in view."""
        sightings = merge(s for source in sources for s in until(source.sightings, scene.now_ns))
        last_seen = sightings[-1].end - 1
        recent = seconds(scene.now_ns - last_seen) <= self._in_view_s
        state = EntryState.PRESENT if recent and evidence.state is EntryState.UNKNOWN else evidence.state
        return replace(
            evidence,
            first_seen=sightings[0].start,
            last_seen=last_seen,
            state=state,
            sightings=sightings,
            count=sum(source.count for source in sources),
        )


def stay_at(stays: Sequence[Stay], stamp_ns: int) -> Stay:
    """The stay that held at a time: the last one begun by then, else the first."""
    return next((stay for stay in reversed(stays) if stay.interval.start <= stamp_ns), stays[0])


def until(sightings: Sequence[Interval], now_ns: int) -> tuple[Interval, ...]:
    """The sightings known at a time."""
    return tuple(Interval(s.start, min(s.end, now_ns + 1)) for s in sightings if s.start <= now_ns)


def containing(regions: Sequence[Region], map_id: str, point: Sequence[float]) -> tuple[str, ...]:
    """Names of the regions of a map that contain a point."""
    centre = np.asarray(point, float)[None]
    here = (r for r in regions if r.map_id in ("", map_id))
    return tuple(dict.fromkeys(r.name for r in here if areas.in_region(r, centre)[0]))
