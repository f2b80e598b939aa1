"""What perception would make of a robot's messages, in plain words: the part of ``r4 doctor`` that needs no ROS graph.

Messages go through the same stream and pipeline as in the nodes; what was counted on the way becomes findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import median
from typing import Any

import numpy as np

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, R4Error, RefusalReason
from r4_ros.core.intervals import seconds
from r4_ros.core.ports import Segmenter
from r4_ros.perception.capture import Capture
from r4_ros.perception.clouds import decode_cloud
from r4_ros.perception.images import decode_depth
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream
from r4_ros.perception.transforms import TransformBuffer, clean, stamp_of

IMAGES = ("color", "depth", "cloud", "label")
NAMES = {
    "color": "colour image",
    "depth": "depth image",
    "cloud": "point cloud",
    "label": "label image",
    "color_info": "camera_info of the colour camera",
    "depth_info": "camera_info of the depth camera",
    "label_info": "names of label ids",
    "tf": "TF",
    "tf_static": "static TF",
    "odometry": "odometry",
    "pose": "pose",
}
OPTIONAL = ("tf", "tf_static", "depth_info", "label_info")  # told elsewhere if something lacks for it
LOOKS = 15  # depth messages that are looked at, and frames that the segmenter sees
EMPTY_SHARE = 0.2
STALE_S = 1.0
CLOCKS_APART_S = 3600.0


class Level(IntEnum):
    """How bad a finding is: with an ERROR nothing is stored."""

    OK = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, in words; ``about``: which input or part; ``advice``: what to do."""

    level: Level
    about: str
    message: str
    advice: str = ""


@dataclass
class Input:
    """What came of one role."""

    topic: str
    count: int = 0
    stamps: list[int] = field(default_factory=list)
    ages_s: list[float] = field(default_factory=list)  # on arrival, by the clock; live only
    kinds: Counter[str] = field(default_factory=Counter)  # encoding and size
    frames: Counter[str] = field(default_factory=Counter)  # frame_ids

    @property
    def rate_hz(self) -> float:
        """By the median distance of stamps; 0: unknown."""
        steps = np.diff(sorted(self.stamps))
        return 1e9 / float(median(steps)) if len(steps) and median(steps) > 0 else 0.0


class Examination:
    """Takes messages by role, as a Stream does, and says in the end what is right and what is wrong with them.

    topics: where each role comes from. segmenter: finds things in some of the frames; None: they aren't looked for.
    now_ns: the clock that stamps should be near to; None for a recording.
    """

    def __init__(
        self,
        config: PerceptionConfig,
        topics: dict[str, str],
        segmenter: Segmenter | None = None,
        now_ns: Callable[[], int] | None = None,
    ) -> None:
        self.config = config
        self.transforms = TransformBuffer(reorder_s=config.reorder_s)
        self.stream = Stream(config, transforms=self.transforms)
        self.inputs = {role: Input(topics.get(role, "")) for role in self.stream.roles}
        self.complete = 0  # frames with everything that they need
        self.looked = 0  # of them, those that went through the pipeline
        self.labels: Counter[str] = Counter()
        self.times_s: list[float] = []
        self.trouble: list[Finding] = []
        self._measured: list[tuple[float, float, float]] = []  # share with depth, nearest and farthest, m
        self._depth_problems: Counter[str] = Counter()
        self._frame = ""  # of the colour images
        self._now_ns = now_ns
        self._pipeline = Pipeline(config, segmenter, None) if segmenter is not None else None
        self._kept: list[Capture] = []  # looked at in the end, so that a live stream isn't held up

    def add(self, role: str, message: Any) -> None:
        """Take one message."""
        entry = self.inputs.get(role)
        if entry is None:
            return
        entry.count += 1
        header = getattr(message, "header", None)
        if header is not None:
            stamp_ns = stamp_of(header)
            entry.stamps.append(stamp_ns)
            entry.frames[clean(header.frame_id)] += 1
            if self._now_ns is not None and (now_ns := self._now_ns()):  # 0: simulated time that hasn't come
                entry.ages_s.append(seconds(now_ns - stamp_ns))
        if role in IMAGES:
            entry.kinds[_kind(message)] += 1
        if role in ("depth", "cloud") and len(self._measured) + self._depth_problems.total() < LOOKS:
            self._look_at_depth(role, message)
        self._take(self.stream.add(role, message))

    def expire(self, monotonic: float) -> None:
        """A live stream: end waits that are too long."""
        self._take(self.stream.expire(monotonic))

    def finish(self) -> None:
        """Nothing more comes: look for things in what was kept."""
        self._take(self.stream.finish())
        for capture in self._kept:
            self._look_for_things(capture)
        self._kept.clear()

    def _take(self, captures: Sequence[Capture]) -> None:
        self.complete += len(captures)
        self._kept += captures[: LOOKS - len(self._kept)]

    def _look_for_things(self, capture: Capture) -> None:
        if self._pipeline is None:
            return
        try:
            found = self._pipeline.process(capture)
        except FrameRefused as error:
            self.complete -= 1
            self.stream.refusals.add(error)
            return
        self.looked += 1
        self.labels.update(observation.label for observation in found.observations)
        self.times_s.append(self._pipeline.timings_s.get("segment", 0.0))

    def _look_at_depth(self, role: str, message: Any) -> None:
        low, high = self.config.min_depth_m, self.config.max_depth_m
        try:
            depth = decode_depth(message) if role == "depth" else np.linalg.norm(decode_cloud(message), axis=0)
        except FrameRefused as error:
            self._depth_problems[str(error)] += 1
            return
        usable = depth[(depth >= low) & (depth <= high)]
        ends = np.percentile(usable, (2, 98)) if usable.size else (0.0, 0.0)
        self._measured.append((usable.size / max(1, depth.size), float(ends[0]), float(ends[1])))

    # What it all means.

    def findings(self) -> list[Finding]:
        """All that can be said, inputs first, then what becomes of them."""
        found = [finding for role in self.inputs for finding in self._of_input(role)]
        found += self._of_depth()
        found += self._of_poses()
        found += self._of_frames()
        return found + self.trouble + self._of_things()

    @property
    def _blame(self) -> Level:
        """How bad it is what keeps frames from being taken: some come through all the same, or none."""
        return Level.WARNING if self.complete else Level.ERROR

    def _of_input(self, role: str) -> list[Finding]:
        entry, about = self.inputs[role], NAMES[role]
        if not entry.count:
            if role in OPTIONAL:
                return []
            return [Finding(Level.ERROR, about, f"nothing came{_on(entry.topic)}")]
        parts = [f"{entry.count} messages{_on(entry.topic)}"]
        if role in IMAGES:
            parts += [" and ".join(entry.kinds), f"{entry.rate_hz:.1f} Hz"]
        found = [Finding(Level.OK, about, ", ".join(part for part in parts if part))]
        age_s = median(entry.ages_s) if entry.ages_s else 0.0
        if abs(age_s) > CLOCKS_APART_S:
            message = f"stamps are {abs(age_s):.0f} s {'behind' if age_s > 0 else 'ahead of'} the clock"
            advice = "a simulation or a played bag: give --sim-time, and use_sim_time to the nodes"
            found.append(Finding(Level.WARNING, about, message, advice))
        elif role in IMAGES and abs(age_s) > STALE_S:
            message = f"images are {age_s:+.1f} s old when they come"
            found.append(Finding(Level.WARNING, about, message, "synchronise the computers' clocks (chrony, PTP)"))
        return found

    def _of_depth(self) -> list[Finding]:
        found = [Finding(self._blame, "depth", text) for text in self._depth_problems]
        if not self._measured:
            return found
        share, low, high = (median(values) for values in zip(*self._measured, strict=True))
        limits = f"between {self.config.min_depth_m:g} and {self.config.max_depth_m:g} m"
        if not share:
            advice = "is the emitter on, the lens free, min_depth_m and max_depth_m right?"
            return [*found, Finding(Level.ERROR, "depth", f"depth is empty: nothing is measured {limits}", advice)]
        text = f"{share:.0%} of it is measured {limits}, mostly from {low:.1f} to {high:.1f} m"
        return [*found, Finding(Level.WARNING if share < EMPTY_SHARE else Level.OK, "depth", text)]

    def _of_poses(self) -> list[Finding]:
        """The way from the map to the camera, at the newest image."""
        color = self.inputs["color"]
        if not color.count:
            return []
        stamp_ns = max(color.stamps)
        frame = clean(self.config.camera_frame) or color.frames.most_common(1)[0][0] or self.stream.color_frame
        found = [
            Finding(Level.WARNING, "TF", f"{edge} was last told {age_s:.1f} s before the newest image")
            for edge, age_s in self._stale_edges(stamp_ns)
        ]
        wanted = self.stream.name(self.config.map_frame)
        if RefusalReason.NO_POSE not in self.stream.refusals.counts:
            if self.complete:
                found.append(Finding(Level.OK, "TF", f"{wanted} to {frame} is known at the images' stamps"))
            return found
        try:
            self.transforms.lookup(wanted, frame, stamp_ns)
        except FrameRefused as error:
            advice = "start localisation or SLAM, check map_frame, base_frame, camera_frame and pose_source"
            found.append(Finding(self._blame, "TF", f"no way from {wanted} to {frame}: {error}", advice))
        return found

    def _stale_edges(self, stamp_ns: int) -> list[tuple[str, float]]:
        ages = {edge: seconds(stamp_ns - newest) for edge, newest in self.transforms.newest().items()}
        return [(edge, age_s) for edge, age_s in sorted(ages.items()) if age_s > STALE_S]

    def _of_frames(self) -> list[Finding]:
        refused = self.stream.refusals
        found = [
            Finding(self._blame, "frames", f"{count} refused as {name}: {text}")
            for (name, count), text in zip(refused.by_reason().items(), _texts(refused), strict=True)
        ]
        for role, offset_s in self.stream.offsets_s.items():
            if abs(offset_s) > self.config.sync_slop_s:
                text = f"the nearest {NAMES[role]} is {offset_s:+.3f} s off the colour image"
                advice = f"sync_slop_s is {self.config.sync_slop_s:g}; are both stamped by one clock?"
                found.append(Finding(Level.WARNING, "stamps", text, advice))
        if self.inputs["color"].count and not self.complete and not found:
            found.append(Finding(Level.ERROR, "frames", "no frame became complete"))
        if self.complete:
            found.insert(0, Finding(Level.OK, "frames", f"{self.complete} frames have all that they need"))
        return found

    def _of_things(self) -> list[Finding]:
        if self._pipeline is None or not self.looked:
            return []
        dropped = self._pipeline.too_few_points
        if not self.labels:
            text = f"nothing was found in {self.looked} frames"
            if dropped:
                text += f"; {dropped} things had fewer than {self.config.min_points} depth points"
            advice = "look at perception/annotated; is detector_confidence too high, are there things of its classes?"
            return [Finding(Level.WARNING, self.config.segmenter, text, advice)]
        common = ", ".join(f"{label} x {count}" for label, count in self.labels.most_common(6))
        spent = f" in {median(self.times_s) * 1e3:.0f} ms a frame" if self.times_s else ""
        text = f"{self.labels.total()} sightings in {self.looked} frames{spent}: {common}"
        return [Finding(Level.OK, self.config.segmenter, text)]

    def summary(self) -> dict[str, Any]:
        """Numbers for --json."""
        return {
            "inputs": {
                role: {"topic": e.topic, "count": e.count, "rate_hz": round(e.rate_hz, 2), "kinds": dict(e.kinds)}
                for role, e in self.inputs.items()
            },
            "frames": {"complete": self.complete, "refused": self.stream.refusals.by_reason()},
            "sightings": dict(self.labels),
        }


def load_segmenter(make: Callable[[], Segmenter]) -> tuple[Segmenter | None, list[Finding]]:
    """The segmenter with its model loaded, or None and why there is none."""
    try:
        segmenter = make()
        segmenter.load()
    except R4Error as error:
        return None, [Finding(Level.ERROR, "segmenter", str(error))]
    return segmenter, []


def _kind(message: Any) -> str:
    if hasattr(message, "point_step"):
        return f"{message.width} x {message.height} points"
    if hasattr(message, "format"):
        return str(message.format)
    return f"{message.encoding} {message.width} x {message.height}"


def _texts(refusals: Any) -> list[str]:
    return [refusals.messages[reason] for reason in RefusalReason if reason in refusals.counts]


def _on(topic: str) -> str:
    return f" on {topic}" if topic else ""
