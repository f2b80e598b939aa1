"""Transforms: /tf and /tf_static in, interpolated poses out, always at a stamp and never 'the latest'."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from r4_ros.core.errors import FrameRefused, InvalidArgument, RefusalReason
from r4_ros.core.geometry import compose, interpolate, inverse, normalized
from r4_ros.core.intervals import nanoseconds, seconds
from r4_ros.core.model import IDENTITY, Pose

HOUR_NS = nanoseconds(3600)
MAX_SAMPLES = 20_000  # per frame: 10 s at 2 kHz
MAX_DEPTH = 64
HISTORY_S = 30.0
REORDER_S = 5.0
MAX_GAP_S = 10.0


@dataclass
class _Track:
    """The poses of one frame in its parent over time."""

    parent: str
    static: bool
    stamps: list[int] = field(default_factory=list)
    poses: list[Pose] = field(default_factory=list)

    def insert(self, stamp_ns: int, pose: Pose, history_ns: int) -> None:
        at = bisect_left(self.stamps, stamp_ns)
        if at < len(self.stamps) and self.stamps[at] == stamp_ns:
            self.poses[at] = pose
            return
        self.stamps.insert(at, stamp_ns)
        self.poses.insert(at, pose)
        old = bisect_left(self.stamps, self.stamps[-1] - history_ns)
        old = max(old, len(self.stamps) - MAX_SAMPLES)
        if old >= 256 or old > len(self.stamps) // 2:  # dropping in blocks keeps inserting cheap
            del self.stamps[:old], self.poses[:old]


class Transforms(ABC):
    """What a stream keeps transforms in, whoever keeps them.

    A stamp that jumps back by more than ``reorder_s`` or ahead by more than an hour starts that frame's history anew,
    and so does another parent. Nothing is interpolated across a gap of more than ``max_gap_s``, nothing extrapolated.
    """

    name = ""  # told in diagnostics

    def __init__(
        self, history_s: float = HISTORY_S, reorder_s: float = REORDER_S, max_gap_s: float = MAX_GAP_S
    ) -> None:
        self._history_ns = nanoseconds(history_s)
        self._reorder_ns = nanoseconds(reorder_s)
        self._max_gap_ns = nanoseconds(max_gap_s)

    def add_message(self, message: Any, static: bool, skip: Iterable[str] = ()) -> None:
        """Take a ``tf2_msgs/TFMessage``; transforms that are no rotations, and children in ``skip``, are left out."""
        for item in message.transforms:
            child = clean(item.child_frame_id)
            if child in skip:
                continue
            t, q = item.transform.translation, item.transform.rotation
            pose = Pose((float(t.x), float(t.y), float(t.z)), (float(q.x), float(q.y), float(q.z), float(q.w)))
            self.add(item.header.frame_id, child, stamp_of(item.header), pose, static)

    def add(self, parent: str, child: str, stamp_ns: int, pose: Pose, static: bool = False) -> None:
        """``pose`` is the child's pose in the parent. One that isn't finite or no rotation is left out."""
        parent, child = clean(parent), clean(child)
        if not parent or not child or parent == child:
            return
        try:
            pose = Pose(pose.position, normalized(pose.orientation))
        except InvalidArgument:
            return
        if all(abs(v) < 1e9 for v in pose.position):
            self._store(parent, child, stamp_ns, pose, static)

    def lookup(self, target: str, source: str, stamp_ns: int) -> Pose:
        """Pose of ``source`` in ``target`` at the stamp. Raises FrameRefused(NO_POSE) when it isn't known (yet)."""
        target, source = clean(target), clean(source)
        return IDENTITY if target == source else self._find(target, source, stamp_ns)

    def knows(self, frame: str) -> bool:
        """Whether the frame is part of the tree."""
        return clean(frame) in self._frames()

    def _missing(self, target: str, source: str) -> str:
        """What to say when one of the two frames is not in the tree; empty: both are."""
        known = self._frames()
        for frame in (target, source):
            if frame not in known:
                return f"frame '{frame}' is not in TF (known: {', '.join(sorted(known)[:20]) or 'none'})"
        return ""

    @abstractmethod
    def forget_after(self, stamp_ns: int) -> None:
        """Time went back to ``stamp_ns``: drop the histories of frames that haven't noticed yet."""

    @abstractmethod
    def _frames(self) -> set[str]:
        """All frames of the tree."""

    @abstractmethod
    def _store(self, parent: str, child: str, stamp_ns: int, pose: Pose, static: bool) -> None:
        """Keep a valid transform."""

    @abstractmethod
    def _find(self, target: str, source: str, stamp_ns: int) -> Pose:
        """``lookup`` of two different frames."""


class TransformBuffer(Transforms):
    """Poses of frames in their parents over a bounded history, in plain Python."""

    name = "own"

    def __init__(
        self, history_s: float = HISTORY_S, reorder_s: float = REORDER_S, max_gap_s: float = MAX_GAP_S
    ) -> None:
        super().__init__(history_s, reorder_s, max_gap_s)
        self._tracks: dict[str, _Track] = {}

    def newest(self) -> dict[str, int]:
        """Stamp of the newest transform of each moving pair, by 'parent -> child'."""
        return {f"{t.parent} -> {child}": t.stamps[-1] for child, t in self._tracks.items() if not t.static}

    def forget_after(self, stamp_ns: int) -> None:
        """Drop the histories of frames that haven't noticed yet that time went back."""
        limit = stamp_ns + self._reorder_ns
        for name, track in list(self._tracks.items()):
            if not track.static and track.stamps[-1] > limit:
                del self._tracks[name]

    def _frames(self) -> set[str]:
        return {*self._tracks, *(track.parent for track in self._tracks.values())}

    def _store(self, parent: str, child: str, stamp_ns: int, pose: Pose, static: bool) -> None:
        track = self._tracks.get(child)
        if track is None or track.parent != parent or track.static != static or self._jumped(track, stamp_ns):
            track = self._tracks[child] = _Track(parent, static)
        if static:
            track.stamps, track.poses = [stamp_ns], [pose]
        else:
            track.insert(stamp_ns, pose, self._history_ns)

    def _find(self, target: str, source: str, stamp_ns: int) -> Pose:
        up_source = self._chain(source)
        up_target = self._chain(target)
        shared = next((name for name in up_source if name in up_target), None)
        if shared is None:
            roots = f"their roots are {up_target[-1]} and {up_source[-1]}"
            apart = f"'{target}' and '{source}' are not connected in TF: {roots}"
            raise FrameRefused(RefusalReason.NO_POSE, self._missing(target, source) or apart)
        source_in_shared = self._climb(up_source[: up_source.index(shared)], stamp_ns)
        target_in_shared = self._climb(up_target[: up_target.index(shared)], stamp_ns)
        return compose(inverse(target_in_shared), source_in_shared)

    def _jumped(self, track: _Track, stamp_ns: int) -> bool:
        if track.static:
            return False
        ahead = stamp_ns - track.stamps[-1]
        return ahead < -self._reorder_ns or ahead > HOUR_NS

    def _chain(self, frame: str) -> list[str]:
        """The frame and its parents up to the root."""
        names = [frame]
        while (track := self._tracks.get(names[-1])) and len(names) < MAX_DEPTH:
            names.append(track.parent)
        return names

    def _climb(self, frames: list[str], stamp_ns: int) -> Pose:
        pose = IDENTITY
        for name in frames:
            pose = compose(self._pose_at(name, stamp_ns), pose)
        return pose

    def _pose_at(self, child: str, stamp_ns: int) -> Pose:
        track = self._tracks[child]
        if track.static:
            return track.poses[0]
        stamps = track.stamps
        after = bisect_right(stamps, stamp_ns)
        if after and stamps[after - 1] == stamp_ns:
            return track.poses[after - 1]
        edge = f"{track.parent} -> {child}"
        if after == len(stamps):
            late = seconds(stamp_ns - stamps[-1])
            raise FrameRefused(RefusalReason.NO_POSE, f"{edge}: the newest transform is {late:.4f} s older")
        if after == 0:
            early = seconds(stamps[0] - stamp_ns)
            raise FrameRefused(RefusalReason.NO_POSE, f"{edge}: the oldest transform is {early:.4f} s newer")
        begin, end = stamps[after - 1], stamps[after]
        if end - begin > self._max_gap_ns:
            raise FrameRefused(RefusalReason.NO_POSE, f"{edge}: no transform for {seconds(end - begin):.1f} s")
        return interpolate(track.poses[after - 1], track.poses[after], (stamp_ns - begin) / (end - begin))


def clean(frame: str) -> str:
    """A frame name without the leading slash of old."""
    return str(frame).lstrip("/")


def stamp_of(header: Any) -> int:
    """Nanoseconds of a message header's stamp."""
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)
