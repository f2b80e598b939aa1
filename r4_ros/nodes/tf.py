"""The live nodes' transform buffer: tf2's where that is installed, otherwise the one that ``r4 replay`` has."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Transform, TransformStamped
from std_msgs.msg import Header

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.nodes import convert
from r4_ros.perception.transforms import (
    HISTORY_S,
    MAX_GAP_S,
    REORDER_S,
    TransformBuffer,
    Transforms,
    stamp_of,
)

try:
    from tf2_py import BufferCore, TransformException
except ImportError:
    BufferCore = None

AUTHORITY = "r4_ros"


class Tf2Buffer(Transforms):
    """tf2's buffer, with our rules for jumps of time and gaps."""

    name = "tf2"

    def __init__(
        self, history_s: float = HISTORY_S, reorder_s: float = REORDER_S, max_gap_s: float = MAX_GAP_S
    ) -> None:
        super().__init__(history_s, reorder_s, max_gap_s)
        sec, nanosec = divmod(self._history_ns, NS_PER_S)
        self._core = BufferCore(Duration(sec=sec, nanosec=nanosec))
        self._newest: dict[str, TransformStamped] = {}  # by child
        self._anew: set[str] = set()  # children of which nothing counts once a moving transform comes

    def forget_after(self, stamp_ns: int) -> None:
        """Drop the histories of frames that haven't noticed yet that time went back."""
        for child, kept in self._newest.items():
            if child not in self._anew and stamp_of(kept.header) > stamp_ns + self._reorder_ns:
                self._anew.add(child)
                self._start_anew(kept)

    def _frames(self) -> set[str]:
        return {*self._newest, *(kept.header.frame_id for kept in self._newest.values())}

    def _store(self, parent: str, child: str, stamp_ns: int, pose: Pose, static: bool) -> None:
        if stamp_ns < 0 and not static:  # tf2 would read it as a late one
            return
        header = Header(stamp=convert.time_to_msg(stamp_ns), frame_id=parent)
        message = TransformStamped(header=header, child_frame_id=child)
        message.transform = Transform(translation=convert.vector_to_msg(pose.position))
        message.transform.rotation = convert.pose_to_msg(pose).orientation
        kept = self._newest.get(child)
        if static:
            self._anew.add(child)
            self._core.set_transform_static(message, AUTHORITY)
        elif kept is None or child in self._anew or self._breaks(kept, parent, stamp_ns):
            self._anew.discard(child)
            self._start_anew(message)
        else:
            self._core.set_transform(message, AUTHORITY)
            if stamp_ns < stamp_of(kept.header):
                return
        self._newest[child] = message

    def _breaks(self, kept: TransformStamped, parent: str, stamp_ns: int) -> bool:
        ahead_ns = stamp_ns - stamp_of(kept.header)
        return kept.header.frame_id != parent or not -self._reorder_ns <= ahead_ns <= self._max_gap_ns

    def _start_anew(self, message: TransformStamped) -> None:
        """Make this all that is known of its child: becoming static, a frame loses its history in tf2."""
        self._core.set_transform_static(message, AUTHORITY)
        self._core.set_transform(message, AUTHORITY)

    def _find(self, target: str, source: str, stamp_ns: int) -> Pose:
        try:
            found = self._core.lookup_transform_core(target, source, convert.time_to_msg(stamp_ns))
        except TransformException as error:
            raise FrameRefused(RefusalReason.NO_POSE, self._missing(target, source) or str(error)) from error
        if stamp_of(found.header) != stamp_ns:  # stamp 0 asks tf2 for the latest
            raise FrameRefused(RefusalReason.NO_POSE, f"tf2 can't look up '{source}' in '{target}' at {stamp_ns} ns")
        t, q = found.transform.translation, found.transform.rotation
        return Pose((t.x, t.y, t.z), (q.x, q.y, q.z, q.w))


def make_buffer(reorder_s: float) -> Transforms:
    """An empty buffer, the best that can be had here."""
    return TransformBuffer(reorder_s=reorder_s) if BufferCore is None else Tf2Buffer(reorder_s=reorder_s)
