"""Where agents were: base poses over time, read from the stored frames and placed by the anchors of today.

In common coordinates (see ``anchoring``).
"""

from __future__ import annotations

from r4_ros.core.geometry import compose, interpolate
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import TrailPoint
from r4_ros.memory.anchor_records import TrailRecord
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.codec import single_pose
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store import MemoryStore, StoredFrame

_LONGEST_GAP_NS = nanoseconds(10.0)


class Trails:
    """Reads base poses of agents."""

    def __init__(self, store: MemoryStore, sessions: Sessions, anchors: AnchorBook) -> None:
        self._store, self._sessions, self._anchors = store, sessions, anchors
        self._newest: dict[tuple[str, int], StoredFrame] = {}

    def took(self, frame: StoredFrame) -> None:
        """A frame was stored: where agents are now is asked often."""
        key = (frame.agent_id, frame.session)
        newest = self._newest.get(key)
        if newest is None or newest.stamp_ns < frame.stamp_ns:
            self._newest[key] = frame

    def between(self, agent_id: str, start_ns: int, end_ns: int) -> list[TrailPoint]:
        """The poses in [start, end), session after session, oldest first."""
        return [
            self._point(agent_id, record)
            for session in self._sessions.of(agent_id)
            if session.first_ns < end_ns and session.newest_ns >= start_ns
            for record in self._store.trail(agent_id, session.session, start_ns, end_ns)
        ]

    def at(self, agent_id: str, stamp_ns: int, own: bool = False) -> TrailPoint | None:
        """The pose at a stamp, in the newest session that had begun by then; None before the first frame.

        Interpolated between two frames; where these are more than 10 s apart or the second is missing, the pose held
        last. Its stamp is the asked one, or the last known one's. ``own``: on the agent's own map.
        """
        for session in reversed(self._sessions.of(agent_id)):
            if session.first_ns > stamp_ns:
                continue
            newest = self._newest.get((agent_id, session.session))
            if newest is not None and newest.stamp_ns == stamp_ns:
                return self._point(agent_id, _record(newest), own)
            before, after = self._store.trail_around(agent_id, session.session, stamp_ns)
            if before is None:
                continue
            last = self._point(agent_id, before, own)
            if after is None or after.map_id != before.map_id or after.stamp_ns - before.stamp_ns > _LONGEST_GAP_NS:
                return last
            if after.stamp_ns == before.stamp_ns:
                return last
            share = (stamp_ns - before.stamp_ns) / (after.stamp_ns - before.stamp_ns)
            pose = interpolate(last.pose, self._point(agent_id, after, own).pose, share)
            return TrailPoint(agent_id, stamp_ns, last.map_id, pose)
        return None

    def _point(self, agent_id: str, record: TrailRecord, own: bool = False) -> TrailPoint:
        if own:
            pose = self._anchors.in_map(record.anchor_id, record.base_in_anchor)
            return TrailPoint(agent_id, record.stamp_ns, record.map_id, pose)
        pose = self._anchors.in_common(record.anchor_id, record.base_in_anchor)
        return TrailPoint(agent_id, record.stamp_ns, self._anchors.common_map(record.anchor_id), pose)


def _record(frame: StoredFrame) -> TrailRecord:
    """What the store gives of the frame, whose poses are rounded there."""
    base = compose(single_pose(frame.sensor_in_anchor), single_pose(frame.base_in_sensor))
    return TrailRecord(frame.stamp_ns, frame.map_id, frame.map_frame, frame.anchor_id, base)
