"""Whether an agent's place in the map can be trusted: SLAM steps are noticed, and what is done about them.

Where the map's relation to odom makes a step, the SLAM has changed its mind, and until a correction says of what, or
until it has kept its mind for ``settle_s``, the agent is unsettled: that it sees a place empty means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotation_angle
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import NS_PER_S, Anchor, Frame, Pose
from r4_ros.memory.anchor_correction import by_odometry, spread
from r4_ros.memory.anchor_records import BeliefRecord
from r4_ros.memory.anchoring import AnchorBook

STEP_M, STEP_RAD = 0.1, math.radians(2)
ODOMETRY_SPEED, ODOMETRY_SLACK_M = 5.0, 0.5
"""Odometry that claims more than this way (m/s, and m at once) began anew; that is no step of the map."""
HEARD_NS = 2 * NS_PER_S
"""How long after a correction observers may still look at old places."""

_Key = tuple[str, int, str]


class Steadiness:
    """Follows each agent on each map. ``beliefs``: what they said last; ``changed`` tells what a restart must know."""

    def __init__(self, anchors: AnchorBook, config: MemoryConfig, beliefs: Iterable[BeliefRecord] = ()) -> None:
        self._anchors, self._spread = anchors, config.tf_jump == "recent"
        self._settle_ns = nanoseconds(config.settle_s)
        self._beliefs: dict[_Key, BeliefRecord] = {(b.agent_id, b.session, b.map_id): b for b in beliefs}
        self._changed: set[_Key] = set()
        self._before: tuple[_Key, BeliefRecord | None] | None = None

    def changed(self) -> list[BeliefRecord]:
        """Beliefs that say more than the newest frame does and weren't kept yet."""
        return [self._beliefs[key] for key in sorted(self._changed)]

    def kept(self) -> None:
        """All that changed is stored."""
        self._changed.clear()

    def absence_from(self, agent_id: str, session: int, map_id: str) -> int:
        """ABSENT evidence with an earlier stamp means nothing."""
        belief = self._beliefs.get((agent_id, session, map_id))
        return 0 if belief is None else belief.trusted_ns

    def unsettled(self) -> list[str]:
        """Agents that are unsettled, sorted."""
        return sorted({belief.agent_id for belief in self._beliefs.values() if belief.began_ns})

    def due(self, frame: Frame, session: int, map_id: str) -> tuple[list[Anchor], str]:
        """Anchors that stand elsewhere because of what a new frame says, and why; nothing is moved here."""
        key = (frame.agent_id, session, map_id)
        self._before = key, self._beliefs.get(key)
        if frame.sensor_in_odom is None:
            return [], ""
        odom_in_map = compose(frame.sensor_in_map, inverse(frame.sensor_in_odom))
        last = self._beliefs.get(key)
        if last is None or (last.writer != frame.writer and frame.stamp_ns >= last.stamp_ns):
            trusted = 0 if last is None else last.trusted_ns
            new = BeliefRecord(*key, frame.stamp_ns, frame.writer, odom_in_map, frame.sensor_in_odom)
            self._take(replace(new, trusted_ns=trusted))
            return [], ""
        if frame.stamp_ns < last.stamp_ns:
            return [], ""
        now = replace(last, stamp_ns=frame.stamp_ns, odom_in_map=odom_in_map, in_odom=frame.sensor_in_odom)
        anchors, why = list[Anchor](), "settled"
        if self._goes_on(last, now) and not self._follows(last, frame.sensor_in_map, now.in_odom):
            why, until = "tf_jump", now.stamp_ns + self._settle_ns
            if self._spread:
                step = compose(odom_in_map, inverse(last.odom_in_map))
                since = [a for a in self._anchors.of(*key) if a.stamp_ns > last.stepped_ns]
                anchors = spread(since, step, frame.sensor_in_odom)
            began = last.began_ns or now.stamp_ns
            now = replace(now, stepped_ns=now.stamp_ns, began_ns=began, until_ns=until, trusted_ns=until)
        elif last.began_ns and now.stamp_ns >= last.until_ns:
            provisional = [a for a in self._anchors.of(*key) if a.stamp_ns >= last.began_ns]
            anchors = by_odometry(provisional, odom_in_map)
            now = replace(now, began_ns=0)
        if last.corrected is not None and _same(compose(last.corrected, now.in_odom), frame.sensor_in_map):
            now = replace(now, corrected=None)
        self._take(now)
        return anchors, why

    def take_back(self) -> None:
        """The frame that was asked about last couldn't be stored, nor were its anchors moved: it will come again."""
        if self._before is not None:
            key, belief = self._before
            if belief is None:
                self._beliefs.pop(key, None)
                self._changed.discard(key)
            else:
                self._take(belief)

    def _take(self, now: BeliefRecord) -> None:
        key = (now.agent_id, now.session, now.map_id)
        last = self._beliefs.get(key)
        if (_KEPT if last is None else _kept(last)) != _kept(now):
            self._changed.add(key)
        self._beliefs[key] = now

    @staticmethod
    def _goes_on(last: BeliefRecord, now: BeliefRecord) -> bool:
        """Whether odometry goes on, rather than having begun anew."""
        seconds = (now.stamp_ns - last.stamp_ns) / NS_PER_S
        way = math.dist(last.in_odom.position, now.in_odom.position)
        return way <= ODOMETRY_SPEED * seconds + ODOMETRY_SLACK_M

    @staticmethod
    def _follows(last: BeliefRecord, in_map: Pose, in_odom: Pose) -> bool:
        """Whether the map is where it was against odom, or where a correction says that it is."""
        known = (last.odom_in_map,) if last.corrected is None else (last.corrected, last.odom_in_map)
        return any(_same(compose(odom_in_map, in_odom), in_map) for odom_in_map in known)

    def corrected(self, agent_id: str, moved: bool) -> None:
        """A correction of the agent's path came; ``moved``: it changed something."""
        for belief in [b for b in self._beliefs.values() if b.agent_id == agent_id]:
            now = replace(belief, began_ns=0)
            latest = self._anchors.latest(agent_id, belief.map_id, belief.stamp_ns)
            if moved and latest is not None and latest.pose_in_odom is not None:
                corrected = compose(latest.pose_in_map, inverse(latest.pose_in_odom))
                now = replace(now, corrected=corrected, trusted_ns=belief.stamp_ns + HEARD_NS)
            self._take(now)


_KEPT = (None, 0, 0, 0, 0)


def _kept(b: BeliefRecord) -> tuple[Pose | None, int, int, int, int]:
    """What frames don't tell."""
    return b.corrected, b.stepped_ns, b.began_ns, b.until_ns, b.trusted_ns


def _same(a: Pose, b: Pose) -> bool:
    near = math.dist(a.position, b.position) <= STEP_M
    return near and rotation_angle(a.orientation, b.orientation) <= STEP_RAD
