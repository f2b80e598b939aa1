"""Moves of anchors in a store: each with where the anchors stood before, and what agents believed last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import compose, inverse
from r4_ros.core.model import Anchor, Pose
from r4_ros.memory.anchor_records import BeliefRecord, PathRecord
from r4_ros.memory.codec import dump, pack_known_pose, pack_pose, unpack_known_pose, unpack_pose, unpack_poses
from r4_ros.memory.merge_records import AnchorChange
from r4_ros.memory.sql import Database

CORRECTION = "correction"
_NEWEST_SESSIONS = """SELECT agent_id, session, session_no FROM session s
    WHERE session = (SELECT max(session) FROM session o WHERE o.agent_id = s.agent_id) ORDER BY agent_id"""
_KEEP = """INSERT INTO steadiness VALUES (?, ?, ?, ?)
    ON CONFLICT(agent_id, session, map_id) DO UPDATE SET belief = excluded.belief"""
_NEWEST = """SELECT f.stamp_ns, w.writer, s.map_id, f.anchor_id, f.sensor_in_anchor, f.believed
    FROM frame f JOIN stream s USING(stream_id) JOIN writer w USING(writer_no) WHERE session_no = ?
    ORDER BY f.stamp_ns DESC, f.frame_id DESC LIMIT 1"""


class ShiftTable:
    """Writes moves of anchors, inside the caller's transaction, and keeps beliefs."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def write(self, c: AnchorChange) -> None:
        """The anchors as they stand now, and the record of it."""
        rows = [(pack_pose(a.pose_in_map), pack_known_pose(a.recorded_in_map), a.anchor_id) for a in c.anchors]
        self._file.execute_many("UPDATE anchor SET pose_in_map = ?, recorded_in_map = ? WHERE anchor_id = ?", rows)
        [(frame_id, correction_no)] = self._file.execute(
            "SELECT (SELECT max(frame_id) FROM frame), (SELECT max(correction_no) FROM correction)"
        )
        numbers = np.array([a.anchor_id for a in c.anchors], "<i4").tobytes()
        before = b"".join(map(pack_pose, c.before))
        self._file.execute(
            "INSERT INTO shift(agent_id, reason, frame_id, correction_no, revision, anchors, before) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (c.agent_id, c.reason, frame_id or 0, correction_no or 0, c.revision, numbers, before),
        )

    def keep(self, belief: BeliefRecord) -> None:
        """What an agent believes."""
        values = asdict(belief)
        key = tuple(values.pop(name) for name in ("agent_id", "session", "map_id"))
        poses = {name: pack_known_pose(getattr(belief, name)) for name in ("odom_in_map", "in_odom", "corrected")}
        values |= {name: None if pose is None else pose.hex() for name, pose in poses.items()}
        self._file.execute(_KEEP, (*key, dump(values)))

    def kept(self) -> list[BeliefRecord]:
        """What was kept."""
        return [_belief(*row) for row in self._file.execute("SELECT * FROM steadiness ORDER BY 1, 2, 3")]

    def newest(self) -> Iterator[BeliefRecord]:
        """What the newest frame of each agent's newest session says, where it has odometry."""
        for agent, session, number in self._file.execute(_NEWEST_SESSIONS):
            for stamp, writer, map_id, anchor_id, sensor, believed in self._file.execute(_NEWEST, (number,)):
                [(in_map, in_odom)] = self._file.execute(
                    "SELECT pose_in_map, pose_in_odom FROM anchor WHERE anchor_id = ?", (anchor_id,)
                )
                if in_odom is not None:
                    local = unpack_pose(sensor)
                    odom = compose(unpack_pose(in_odom), local)
                    place = unpack_known_pose(believed) or compose(unpack_pose(in_map), local)
                    yield BeliefRecord(agent, session, map_id, stamp, writer, compose(place, inverse(odom)), odom)


def _belief(agent_id: str, session: int, map_id: str, text: str) -> BeliefRecord:
    values: dict[str, Any] = json.loads(text)
    for name in ("odom_in_map", "in_odom", "corrected"):
        if values[name] is not None:
            values[name] = unpack_pose(bytes.fromhex(values[name]))
    return BeliefRecord(agent_id=agent_id, session=session, map_id=map_id, **values)


@dataclass(frozen=True, slots=True, eq=False)
class _Shift:
    """A move, made after a frame and a person's correction: of whom, why, and which anchors stood where afterwards."""

    number: int
    frame_id: int
    correction_no: int
    agent_id: str
    reason: str
    anchors: npt.NDArray[np.int32]
    after: list[Pose]


class _Poses(dict[int, Pose]):
    """Where anchors stood, as far as that differs from where they stand now."""

    def __init__(self, anchors: Mapping[int, Anchor]) -> None:
        super().__init__()
        self._anchors = anchors

    def __missing__(self, number: int) -> Pose:
        return self._anchors[number].pose_in_map


class Shifts:
    """The anchors as they stood at any time, played through once, from the first frame to the last.

    ``after``: only moves with greater numbers. ``done``: the number of the last one that was made.
    """

    def __init__(self, file: Database, anchors: Mapping[int, Anchor], after: int = 0) -> None:
        self._anchors, self.done = anchors, after
        self.poses = _Poses(anchors)
        self._bases: dict[int, Pose] = {}
        self.waiting = list(reversed([self._undone(*row) for row in file.execute(_LATEST_FIRST, (after,))]))

    def _undone(
        self, shift_no: int, frame_id: int, correction_no: int, agent: str, reason: str, numbers: bytes, old: bytes
    ) -> _Shift:
        anchors = np.frombuffer(numbers, "<i4")
        after = [self.poses[number] for number in anchors.tolist()]
        before = unpack_poses([old[i : i + 56] for i in range(0, len(old), 56)]).poses() if old else []
        self.poses.update(zip(anchors.tolist(), before, strict=True))
        return _Shift(shift_no, frame_id, correction_no, agent, reason, anchors, after)

    def hung(self, anchor_id: int, stamp_ns: int, base_in_sensor: Pose) -> None:
        """A frame came that hangs on an anchor; the first one is the one that it was made of."""
        if anchor_id not in self._bases or stamp_ns == self._anchors[anchor_id].stamp_ns:
            self._bases[anchor_id] = base_in_sensor

    def next(self) -> Iterator[PathRecord]:
        """Make the next move; gives the correction that it was, path by path, if it was one."""
        shift = self.waiting.pop(0)
        self.done = shift.number
        self.poses.update(zip(shift.anchors.tolist(), shift.after, strict=True))
        if shift.reason != CORRECTION:
            return
        known = [self._anchors[n] for n in self._bases if self._anchors[n].agent_id == shift.agent_id]
        if not known:
            return
        moved = {(a.session, a.map_id) for a in (self._anchors[n] for n in shift.anchors.tolist())}
        for session, map_id in sorted(moved) or [max((a.session, a.map_id) for a in known)]:
            on_it = sorted((a.stamp_ns, a.anchor_id) for a in known if (a.session, a.map_id) == (session, map_id))
            nodes = {stamp: compose(self.poses[n], self._bases[n]) for stamp, n in reversed(on_it)}
            stamps = tuple(sorted(nodes))
            yield PathRecord(shift.agent_id, session, map_id, stamps, tuple(nodes[stamp] for stamp in stamps))


_LATEST_FIRST = """SELECT shift_no, frame_id, correction_no, agent_id, reason, anchors, before FROM shift
    WHERE shift_no > ? ORDER BY shift_no DESC"""
