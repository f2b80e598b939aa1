"""The frames in a store, as they came, and what was corrected in between: read for an export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.geometry import compose
from r4_ros.core.model import (
    FOREVER,
    Anchor,
    CorrectionRecord,
    Embedding,
    Float32Array,
    Frame,
    Observation,
    View,
    Visibility,
)
from r4_ros.memory.anchor_records import PathRecord
from r4_ros.memory.codec import unpack_depth, unpack_known_pose, unpack_pose
from r4_ros.memory.sql import Database, Row
from r4_ros.memory.sql_erase import ERASED
from r4_ros.memory.sql_rows import observation_of
from r4_ros.memory.sql_shifts import Shifts
from r4_ros.memory.sql_vectors import vector_models, vector_of
from r4_ros.memory.store import KeptFrame

_FRAMES = """SELECT frame_id, s.agent_id, s.camera, w.writer, f.sequence, w.writer_session, f.stamp_ns, s.map_id,
    s.map_frame, s.sensor_frame, f.anchor_id, f.sensor_in_anchor, f.base_in_sensor, s.horizontal_fov, s.vertical_fov,
    s.min_depth, s.max_depth, f.rows, f.depth, f.until_ns, f.believed
    FROM frame f JOIN stream s USING(stream_id) JOIN writer w USING(writer_no)
    WHERE frame_id > ? AND frame_id <= ? AND ? IN ('', s.agent_id) ORDER BY frame_id"""
_OBSERVATIONS = """SELECT frame_id, idx, o.label, box, covariance, o.visibility, o.confidence, track_id, o.description,
    o.attributes, image, entry_id FROM observation o LEFT JOIN entry USING(slot)
    WHERE frame_id > ? AND frame_id <= ? ORDER BY frame_id, idx"""
_BASES = """SELECT anchor_id, stamp_ns, base_in_sensor FROM frame WHERE frame_id IN (SELECT min(frame_id)
    FROM frame JOIN stream USING(stream_id) WHERE frame_id <= ? AND agent_id = ? GROUP BY anchor_id)"""
_LAST_DEPTH = """SELECT camera, max(frame_id) FROM frame JOIN stream USING(stream_id)
    WHERE depth IS NOT NULL AND frame_id <= ? AND agent_id = ? AND frame_id > ? GROUP BY camera"""
_DEPTH = """SELECT agent_id, camera, stamp_ns, until_ns, map_id, rows, depth
    FROM frame JOIN stream USING(stream_id) WHERE frame_id = ?"""
_BACK = 5000
"""So many frames back a depth may lie that still holds."""


@dataclass(frozen=True, slots=True)
class Since:
    """Of one agent, only what came after a frame, a move of anchors and a person's correction (by their numbers)."""

    agent_id: str = ""
    frame: int = -1
    shift: int = 0
    correction: int = 0


WHOLE = Since()


class History:
    """All frames, and what was corrected in between, in the order in which they came, as far as the store kept them."""

    def __init__(
        self,
        file: Database,
        anchors: Mapping[int, Anchor],
        said: Sequence[tuple[int, CorrectionRecord]],
        since: Since = WHOLE,
        aligned: Sequence[tuple[AlignmentRecord, int, int]] = (),
    ) -> None:
        self._file, self._anchors, self._since = file, anchors, since
        self._said = [s for s in said if s[1].correction_id > since.correction]
        self._shifts, self._aligned = Shifts(file, anchors, since.shift), list(aligned)
        self._models = vector_models(file)
        self._vectors: dict[str, Embedding | None] = {}
        self._kept: dict[tuple[str, str], tuple[int, int, str]] = {}
        if since.frame > 0 and self._shifts.waiting:
            for anchor_id, stamp_ns, base in file.iterate(_BASES, (since.frame, since.agent_id)):
                self._shifts.hung(anchor_id, stamp_ns, unpack_pose(base))

    @property
    def moves_told(self) -> int:
        """Number of the last move of anchors that was told."""
        return self._shifts.done

    def held_depths(self) -> dict[str, Float32Array]:
        """By camera the last depth before the first frame, which may hold for that too."""
        since, found = self._since, dict[str, Float32Array]()
        back = (since.frame, since.agent_id, since.frame - _BACK)
        for camera, frame_id in self._file.execute(_LAST_DEPTH, back) if since.frame > 0 else ():
            [row] = self._file.execute(_DEPTH, (frame_id,))
            self._kept[row[0], row[1]] = (row[2], row[3], row[4])
            found[camera] = unpack_depth(row[6], row[5])
        return found

    def all(self, until: int = FOREVER) -> Iterator[KeptFrame | PathRecord | CorrectionRecord | AlignmentRecord]:
        """One after the other, up to a frame; see ``MemoryStore.history``."""
        groups = groupby(self._file.iterate(_OBSERVATIONS, (self._since.frame, until)), key=itemgetter(0))
        group = next(groups, None)
        for row in self._file.iterate(_FRAMES, (self._since.frame, until, self._since.agent_id)):
            yield from self._corrected(before_frame=row[0])
            observations: tuple[Observation, ...] = ()
            while group is not None and group[0] < row[0]:
                group = next(groups, None)
            if group is not None and group[0] == row[0]:
                observations = tuple(self._observation(r) for r in group[1] if r[5] != ERASED)
                group = next(groups, None)
            yield self._frame(row, observations)
        if until == FOREVER:
            yield from self._corrected(before_frame=None)

    def _corrected(self, before_frame: int | None) -> Iterator[PathRecord | CorrectionRecord | AlignmentRecord]:
        """What was corrected before a frame (None: all that is left)."""
        while True:
            said, shift, aligned = self._said[:1], self._shifts.waiting[:1], self._aligned[:1]
            if before_frame is not None:
                said = [s for s in said if s[0] < before_frame]
                shift = [s for s in shift if s.frame_id < before_frame]
                aligned = [a for a in aligned if a[1] < before_frame]
            if aligned and not (said and said[0][1].correction_id <= aligned[0][2]):
                yield self._aligned.pop(0)[0]
            elif said and not (shift and shift[0].correction_no < said[0][1].correction_id):
                yield self._said.pop(0)[1]
            elif shift:
                yield from self._shifts.next()
            else:
                return

    def _frame(self, row: Row, observations: tuple[Observation, ...]) -> KeptFrame:
        anchor, in_anchor = self._anchors[row[10]], unpack_pose(row[11])
        odom = None if anchor.pose_in_odom is None else compose(anchor.pose_in_odom, in_anchor)
        place = unpack_known_pose(row[20]) or compose(self._shifts.poses[row[10]], in_anchor)
        self._shifts.hung(row[10], row[6], unpack_pose(row[12]))
        depth = np.zeros((0, 0), np.float32) if row[18] is None else unpack_depth(row[18], row[17])
        frame = Frame(
            agent_id=row[1],
            camera=row[2],
            writer=row[3],
            sequence=row[4],
            session=row[5],
            stamp_ns=row[6],
            map_id=row[7],
            map_frame=row[8],
            sensor_frame=row[9],
            sensor_in_map=place,
            view=View(row[13], row[14], row[15], row[16], depth),
            sensor_in_odom=odom,
            base_in_sensor=unpack_pose(row[12]),
            observations=observations,
        )
        return KeptFrame(row[0], frame, self._is_held(frame, row[19]))

    def _is_held(self, frame: Frame, until_ns: int) -> bool:
        """Whether the depth that this camera kept last holds for the frame too."""
        key = (frame.agent_id, frame.camera)
        if frame.view.depth.size:
            self._kept[key] = (frame.stamp_ns, until_ns, frame.map_id)
            return False
        since, until, map_id = self._kept.get(key, (0, -1, ""))
        return since <= frame.stamp_ns <= until and map_id == frame.map_id

    def _observation(self, row: Row) -> Observation:
        told = observation_of(row[1:11], self._vector)
        return replace(told, entry_id=row[11] or "") if told.visibility == Visibility.ABSENT else told

    def _vector(self, text: str) -> Embedding | None:
        """The vector kept for a text, the newest model's."""
        if text not in self._vectors:
            self._vectors[text] = vector_of(self._file, self._models, text)
        return self._vectors[text]
