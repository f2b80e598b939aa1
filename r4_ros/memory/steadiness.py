"""Whether an agent's place in the map can be trusted: SLAM steps are noticed, and what is done about them.

Where the map's relation to odom makes a step, the SLAM has changed its mind, and until a correction says of what, or
until it has kept its mind for ``settle_s``, the agent is unsettled: that it sees a place empty means nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotation_angle
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import NS_PER_S, Anchor, Frame, Pose
from r4_ros.memory.anchor_correction import by_odometry, spread
from r4_ros.memory.anchoring import AnchorBook

STEP_M, STEP_RAD = 0.1, math.radians(2)
ODOMETRY_SPEED, ODOMETRY_SLACK_M = 5.0, 0.5
"""Odometry that claims more than this way (m/s, and m at once) began anew; that is no step of the map."""
HEARD_NS = 2 * NS_PER_S
"""How long after a correction observers may still look at old places."""

_Key = tuple[str, int, str]


@dataclass(slots=True)
class _Belief:
    """What an agent last believed; stamps 0: never. Unsettled since ``began_ns``; settled again at ``until_ns``."""

    stamp_ns: int
    odom_in_map: Pose
    in_odom: Pose
    writer: str
    corrected: Pose | None = None
    stepped_ns: int = 0
    began_ns: int = 0
    until_ns: int = 0


class Steadiness:
    """Follows each agent on each map. Kept in memory only: after a restart every agent is taken for settled."""

    def __init__(self, anchors: AnchorBook, config: MemoryConfig) -> None:
        self._anchors, self._spread = anchors, config.tf_jump == "recent"
        self._settle_ns = nanoseconds(config.settle_s)
        self._beliefs: dict[_Key, _Belief] = {}
        self._trusted: dict[_Key, int] = {}

    def absence_from(self, agent_id: str, session: int, map_id: str) -> int:
        """ABSENT evidence with an earlier stamp means nothing."""
        return self._trusted.get((agent_id, session, map_id), 0)

    def unsettled(self) -> list[str]:
        """Agents that are unsettled, sorted."""
        return sorted({key[0] for key, belief in self._beliefs.items() if belief.began_ns})

    def due(self, frame: Frame, session: int, map_id: str) -> tuple[list[Anchor], str]:
        """Anchors that stand elsewhere because of what a new frame says, and why; nothing is moved here."""
        if frame.sensor_in_odom is None:
            return [], ""
        key = (frame.agent_id, session, map_id)
        odom_in_map = compose(frame.sensor_in_map, inverse(frame.sensor_in_odom))
        now = _Belief(frame.stamp_ns, odom_in_map, frame.sensor_in_odom, frame.writer)
        last = self._beliefs.get(key)
        if last is None or (last.writer != now.writer and now.stamp_ns >= last.stamp_ns):
            self._beliefs[key] = now
            return [], ""
        if now.stamp_ns < last.stamp_ns:
            return [], ""
        anchors: list[Anchor] = []
        stepped = self._stepped(last, now, frame)
        if stepped:
            if self._spread:
                step = compose(odom_in_map, inverse(last.odom_in_map))
                since = [a for a in self._anchors.of(*key) if a.stamp_ns > last.stepped_ns]
                anchors = spread(since, step, frame.sensor_in_odom)
            last.stepped_ns = now.stamp_ns
            last.began_ns = last.began_ns or now.stamp_ns
            last.until_ns = self._trusted[key] = now.stamp_ns + self._settle_ns
        elif last.began_ns and now.stamp_ns >= last.until_ns:
            provisional = [a for a in self._anchors.of(*key) if a.stamp_ns >= last.began_ns]
            anchors = by_odometry(provisional, odom_in_map)
            last.began_ns = 0
        last.stamp_ns, last.odom_in_map, last.in_odom = now.stamp_ns, odom_in_map, now.in_odom
        return anchors, "tf_jump" if stepped else "settled"

    def _stepped(self, last: _Belief, now: _Belief, frame: Frame) -> bool:
        seconds = (now.stamp_ns - last.stamp_ns) / NS_PER_S
        way = math.dist(last.in_odom.position, now.in_odom.position)
        if way > ODOMETRY_SPEED * seconds + ODOMETRY_SLACK_M:
            return False
        if last.corrected is not None and _same(compose(last.corrected, now.in_odom), frame.sensor_in_map):
            last.corrected = None
            return False
        return not _same(compose(last.odom_in_map, now.in_odom), frame.sensor_in_map)

    def corrected(self, agent_id: str, moved: bool) -> None:
        """A correction of the agent's path came; ``moved``: it changed something."""
        for key, belief in self._beliefs.items():
            if key[0] != agent_id:
                continue
            belief.began_ns = 0
            latest = self._anchors.latest(agent_id, key[2], belief.stamp_ns)
            if moved and latest is not None and latest.pose_in_odom is not None:
                belief.corrected = compose(latest.pose_in_map, inverse(latest.pose_in_odom))
                self._trusted[key] = belief.stamp_ns + HEARD_NS


def _same(a: Pose, b: Pose) -> bool:
    near = math.dist(a.position, b.position) <= STEP_M
    return near and rotation_angle(a.orientation, b.orientation) <= STEP_RAD
