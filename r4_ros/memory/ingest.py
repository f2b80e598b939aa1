"""From a frame record to all that it changes: anchor, places, association, entries, events. Nothing is stored here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.limits import is_place, is_pose
from r4_ros.core.model import Frame, Observation, Pose, Vec3, View, Visibility, observation_id
from r4_ros.memory import happenings, observe, presence
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.anchoring import AnchorBook, apart, frame_in_anchor
from r4_ros.memory.associate import Associator
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.following import Follower
from r4_ros.memory.index import Index
from r4_ros.memory.moves import MoveFinder
from r4_ros.memory.one_space import OneSpace
from r4_ros.memory.revise import held
from r4_ros.memory.said import Said
from r4_ros.memory.sessions import Admission
from r4_ros.memory.stays import FrameContext, Seen, Sighted, Views, merged, new_stays, place
from r4_ros.memory.steadiness import Steadiness
from r4_ros.memory.store import FrameChange, MemoryStore, StoredEvent, StoredFrame
from r4_ros.memory.working import EntryCache, Working

_CLEAR_M = 0.3
_SAME = 1e-4
"""Metres and rad; a frame that was believed to be nearer to where its anchor puts it is simply there."""
_MOST_TRACKS = 10_000


class Ingest:
    """Works frames in. ``prepare`` computes, ``applied`` remembers tracks after the frame is stored."""

    def __init__(
        self,
        store: MemoryStore,
        anchors: AnchorBook,
        index: Index,
        coverage: Coverage,
        cache: EntryCache,
        steadiness: Steadiness,
        config: MemoryConfig,
        said: Said,
    ) -> None:
        self._said, self._steadiness = said, steadiness
        self._anchors, self._index, self._coverage, self._cache, self._config = anchors, index, coverage, cache, config
        self._associator = Associator(index, config)
        self._follower = Follower(store, index, anchors, said, config)
        self._moves = MoveFinder(index, config)
        self._one_space = OneSpace(store, index, said, config)
        self._track_gap = nanoseconds(config.sighting_gap_s)
        self._tracks: dict[tuple[str, int, str, str], tuple[int, int]] = {}
        for session in store.sessions():
            key = (session.agent_id, session.session)
            for camera, track_id, slot, stamp in store.live_tracks(*key, session.newest_ns - self._track_gap):
                self._tracks[session.agent_id, session.session, camera, track_id] = (slot, stamp)

    def prepare(
        self, frame: Frame, admission: Admission, frame_id: int, observations: Sequence[Observation], revision: int
    ) -> FrameChange:
        """What the frame changes. ``observations``: those of it that aren't known yet."""
        session, map_id = admission.session.session, admission.map_id
        anchor, new_anchor = self._anchors.hang(frame, session, map_id)
        in_anchor = frame_in_anchor(anchor, frame)
        sensor_in_map = compose(anchor.pose_in_map, in_anchor)
        context = FrameContext(
            agent_id=frame.agent_id,
            session=session,
            era_start=admission.era_start,
            map_id=map_id,
            stamp_ns=frame.stamp_ns,
            revision=revision,
            anchor=anchor,
            sensor=sensor_in_map.position,
            anchors=self._anchors,
            config=self._config,
            absence_from=self._steadiness.absence_from(frame.agent_id, session, map_id),
        )
        working = Working(self._cache, self._index.entries.rows)
        sightings = [o for o in observations if o.visibility != Visibility.ABSENT]
        seen = place(sightings, sensor_in_map)
        slots, events = self._work_in(*seen, frame, sensor_in_map, context, working)
        assigned: dict[int, int | None] = {o.index: slot for o, slot in zip(sightings, slots, strict=True)}
        for o in observations:
            if o.visibility == Visibility.ABSENT:
                assigned[o.index], more = self._absent(o, context, working)
                events += more
        absences, found = self._absent_of_others(observations, context, working)
        for o, record in found:
            assigned[o.index] = record.slot
        events += [happenings.found_gone(working.get(r.slot).entry, r, context) for r in absences if r.enough]
        merges = self._one_space.merges(working, slots, events, context)
        stored_frame = self._stored_frame(frame, admission, frame_id, anchor.anchor_id, in_anchor, sensor_in_map)
        return FrameChange(
            revision=revision,
            session=admission.session,
            frame=stored_frame,
            known=False,
            anchor=new_anchor,
            observations=tuple((o, assigned[o.index]) for o in observations),
            entries=working.changes(),
            events=tuple(events),
            merges=tuple(merges),
            absences=tuple(absences),
            voided=tuple(working.voided),
        )

    def _work_in(
        self,
        seen: Sequence[Seen],
        views: Views,
        frame: Frame,
        sensor: Pose,
        context: FrameContext,
        working: Working,
    ) -> tuple[list[int], list[StoredEvent]]:
        """Sightings into entries; gives each one's slot."""
        tracked = self._said.tracked(seen, self._tracked(seen, frame, context), context)
        matched = self._associator.match(seen, views, tracked, context, self._said.never(context))
        matched = self._said.resolved(seen, matched, context)
        matched = self._follower.followed(seen, views, matched, frame, sensor, context)
        gone = self._index.entries["gone"]
        came = [s.centre for s, slot in zip(seen, matched, strict=True) if slot is None or gone[slot]]
        looked = self._looked_before(came, context)
        stays = self._merged_stays(seen, views, matched, context, working)
        began = new_stays([s for s, slot in zip(seen, matched, strict=True) if slot is None], context)
        slots, events, possible = [], list[StoredEvent](), []
        for i, (s, slot) in enumerate(zip(seen, matched, strict=True)):
            if slot is None:
                slot = working.new_slot()
                first_id = observation_id(
                    context.agent_id, context.session, frame.camera, frame.stamp_ns, s.observation.index
                )
                stored, happened = observe.begin(s, began.pop(0), first_id, slot, looked.pop(0), context)
                possible.append(slot)
            else:
                before = working.get(slot)
                again = stays.pop(slot, None) or merged([before.entry.stays[-1]], [s], views.of([i]), context)[0]
                stored, happened = observe.sight(before, s, again, context, looked.pop(0) if gone[slot] else 0)
                if self._said.is_pinned(slot):
                    stored = replace(stored, entry=held(before.entry, stored.entry))
                if len(stored.entry.presence) > len(before.entry.presence):
                    self._moves.unlink(working, stored.entry, context)
                if self._moves.may_link(stored.entry):
                    possible.append(slot)
            working.put(stored)
            if stored.entry.moved_from:
                self._moves.check(working, stored, context)
            slots.append(slot)
            events += happened
        for slot in possible:
            events += self._moves.link(working, slot, context)
        return slots, events

    def _merged_stays(
        self,
        seen: Sequence[Seen],
        views: Views,
        matched: Sequence[int | None],
        context: FrameContext,
        working: Working,
    ) -> dict[int, Sighted]:
        """By slot: the entry's last stay with its first sighting in this frame; a merged thing may be seen twice."""
        first: dict[int, int] = {}
        for i, slot in enumerate(matched):
            if slot is not None:
                first.setdefault(slot, i)
        working.load(first)
        stays, rows = [working.get(slot).entry.stays[-1] for slot in first], first.values()
        return dict(zip(first, merged(stays, [seen[i] for i in rows], views.of(rows), context), strict=True))

    def _absent(
        self, observation: Observation, context: FrameContext, working: Working
    ) -> tuple[int | None, list[StoredEvent]]:
        """Evidence that an entry of this agent is not at its place; gives its slot if it meant something."""
        slot = self._index.slots.get(observation.entry_id)
        if slot is None or context.stamp_ns < context.absence_from:
            return None, []
        before = working.get(slot)
        if before.absent_first < context.absence_from:
            before = replace(before, absent_first=0, absent_count=0)
        if before.entry.agent_id != context.agent_id or before.entry.map_id != context.map_id:
            return None, []
        absence = presence.absent(before, context.stamp_ns, observation.entry_revision, self._config)
        if absence is None:
            return None, []
        after = replace(absence.stored, entry=absence.stored.entry.evolve(revision=context.revision))
        working.put(after)
        if not absence.closed:
            return slot, []
        return slot, [happenings.disappeared(after.entry, slot, context), *self._moves.link(working, slot, context)]

    def _absent_of_others(
        self, observations: Sequence[Observation], context: FrameContext, working: Working
    ) -> tuple[list[FoundAbsent], list[tuple[Observation, FoundAbsent]]]:
        """Records of other agents' entries that aren't at their place, and which observations they come from."""
        found = []
        for o in observations:
            slot = self._index.slots.get(o.entry_id) if o.visibility == Visibility.ABSENT else None
            if slot is None or context.stamp_ns < context.absence_from:
                continue
            entry = working.get(slot).entry
            map_of = self._anchors.alignments.map_of
            here = map_of(entry.agent_id, entry.map_id) == map_of(context.agent_id, context.map_id)
            if entry.agent_id == context.agent_id or not here:
                continue
            evidence = context.agent_id, context.stamp_ns, o.entry_revision, self._config
            record = self._index.absences.with_one_more(slot, entry, *evidence)
            if record is not None:
                found.append((o, record))
        return list({record.slot: record for _, record in found}.values()), found

    def _tracked(self, seen: Sequence[Seen], frame: Frame, context: FrameContext) -> list[int | None]:
        """The slots that live tracks point to, each at most once."""
        used: set[int] = set()
        result: list[int | None] = []
        map_code = self._index.maps.find(context.map_id)
        for s in seen:
            track = self._tracks.get((frame.agent_id, context.session, frame.camera, s.observation.track_id))
            slot = None
            if track and s.observation.track_id and abs(frame.stamp_ns - track[1]) <= self._track_gap:
                slot = track[0] if track[0] not in used and self._index.entries["map"][track[0]] == map_code else None
            if slot is not None:
                used.add(slot)
            result.append(slot)
        return result

    def _looked_before(self, places: Sequence[Vec3], context: FrameContext) -> list[int]:
        """When each place was last seen to be empty before this frame; 0: never."""
        if not places:
            return []
        where = self._coverage.in_common(context.agent_id, context.map_id, np.array(places))
        looks = self._coverage.last_looks(*where, end_ns=context.stamp_ns, clearance_m=_CLEAR_M)
        return [max(0, int(stamp)) for stamp in looks]

    def _stored_frame(
        self, frame: Frame, admission: Admission, frame_id: int, anchor_id: int, in_anchor: Pose, sensor_in_map: Pose
    ) -> StoredFrame:
        view = frame.view
        holding = None
        if view.depth.size:
            key = (frame.agent_id, frame.camera, admission.map_id, frame.stamp_ns)
            holding = self._coverage.holding(*key, sensor_in_map)
        if holding is not None:
            view = View(view.horizontal_fov, view.vertical_fov, view.min_depth, view.max_depth)
        return StoredFrame(
            frame_id=frame_id,
            agent_id=frame.agent_id,
            session=admission.session.session,
            camera=frame.camera,
            stamp_ns=frame.stamp_ns,
            writer=admission.writer,
            sequence=frame.sequence,
            map_id=admission.map_id,
            map_frame=frame.map_frame,
            sensor_frame=frame.sensor_frame,
            anchor_id=anchor_id,
            sensor_in_anchor=in_anchor,
            base_in_sensor=frame.base_in_sensor,
            view=view,
            prolongs=holding,
            believed=frame.sensor_in_map if apart(frame.sensor_in_map, sensor_in_map) > _SAME else None,
        )

    def applied(self, change: FrameChange) -> None:
        """Remember the tracks of a frame that was stored, and who was seen in it."""
        self._follower.took(change)
        f = change.frame
        for observation, slot in change.observations:
            if observation.track_id and slot is not None:
                self._tracks[f.agent_id, f.session, f.camera, observation.track_id] = (slot, f.stamp_ns)
        if len(self._tracks) > _MOST_TRACKS:
            oldest = f.stamp_ns - self._track_gap
            self._tracks = {key: track for key, track in self._tracks.items() if track[1] >= oldest}


def check(frame: Frame) -> None:
    """Raise InvalidArgument for numbers that can't be: not finite, no rotation, negative sizes or stamps."""
    problem = ""
    if frame.stamp_ns < 0:
        problem = f"stamp {frame.stamp_ns} ns is negative"
    poses = [frame.sensor_in_map, frame.base_in_sensor, *(o.box.pose for o in frame.observations)]
    if frame.sensor_in_odom is not None:
        poses.append(frame.sensor_in_odom)
    for pose in poses:
        if not is_pose(pose):
            problem = f"a pose has no possible place or no unit quaternion: {pose}"
    for o in frame.observations:
        if not is_place(o.box.extent) or min(o.box.extent) < 0:
            problem = f"observation {o.index} has an impossible extent: {o.box.extent}"
        if not -1e-6 <= o.confidence <= 1.000001 or not math.isfinite(sum(o.position_covariance)):
            problem = f"observation {o.index} has a confidence outside 0 to 1, or a covariance that is not finite"
    if len({o.index for o in frame.observations}) != len(frame.observations):
        problem = "two observations have the same index"
    if problem:
        raise InvalidArgument(f"frame {frame.sequence} of agent '{frame.agent_id}': {problem}")
