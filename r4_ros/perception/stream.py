"""Messages by role in, complete captures out. The live node and ``r4 replay`` both feed this, so they see the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.intervals import nanoseconds, seconds
from r4_ros.core.model import Intrinsics, Pose
from r4_ros.perception.cameras import intrinsics_of
from r4_ros.perception.capture import Capture
from r4_ros.perception.label_segmenter import load_legend
from r4_ros.perception.placing import Camera, Placer
from r4_ros.perception.refusals import Refusals
from r4_ros.perception.sync import Match, Matcher
from r4_ros.perception.transforms import HOUR_NS, TransformBuffer, Transforms, clean, stamp_of

MOST_VARIANCE = 1e6  # m^2, rad^2; some drivers say 'unknown' by larger numbers
ROLES = (
    "color", "depth", "cloud", "label", "color_info", "depth_info", "label_info", "tf", "tf_static", "odometry", "pose"
)  # fmt: skip


@dataclass
class _Pending:
    """A matched set that waits for its pose or its intrinsics."""

    match: Match
    session: int
    error: FrameRefused | None = None
    deadline: float | None = None  # monotonic


class Stream:
    """Matches images by stamp, waits a bounded time for poses, counts sessions and refusals.

    ``add`` takes a message by its role and returns the captures that became complete. Time is message time: the same
    messages in the same order give the same captures. A live node also calls ``expire`` now and then.
    """

    def __init__(
        self, config: PerceptionConfig, refusals: Refusals | None = None, transforms: Transforms | None = None
    ) -> None:
        self.config = config
        self.refusals = refusals if refusals is not None else Refusals()
        self.transforms = transforms if transforms is not None else TransformBuffer(reorder_s=config.reorder_s)
        self._placer = Placer(config, self.transforms)
        self._depth_role = "cloud" if config.depth_source == "cloud" else "depth"
        self.legend = load_legend(config.label_legend) if config.label_legend else {}
        self.session = 0
        self.received: dict[str, int] = {}
        self._reorder_ns = nanoseconds(config.reorder_s)
        self._wait_ns = nanoseconds(config.tf_wait_s)
        partners = [(self._depth_role, RefusalReason.NO_DEPTH)]
        if config.segmenter == "label_image":
            partners.append(("label", RefusalReason.NO_LABELS))
        self._matcher = Matcher(partners, config.sync_slop_s, config.reorder_s)
        self._partner_roles = {role for role, _ in partners}
        self._pending: list[_Pending] = []
        self._newest: int | None = None
        self._waits_since: float | None = None  # monotonic time since which colour images wait for their partners
        self._seen: dict[int, None] = {}  # stamps of this session, newest last
        self._infos: dict[str, tuple[str, Intrinsics] | FrameRefused] = {}
        handlers: dict[str, Callable[[Any], None]] = {
            "color": self._on_color,
            "depth": lambda message: self._on_partner("depth", message),
            "cloud": lambda message: self._on_partner("cloud", message),
            "label": lambda message: self._on_partner("label", message),
            "color_info": lambda message: self._on_info("color", message),
            "depth_info": lambda message: self._on_info("depth", message),
            "label_info": self._on_legend,
            "tf": lambda message: self.transforms.add_message(message, static=False, skip=(self._placer.pose_child,)),
            "tf_static": lambda message: self.transforms.add_message(message, static=True),
            "odometry": self._on_odometry,
            "pose": self._on_pose,
        }
        self._handlers = handlers

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that matter with this configuration; messages of others change nothing."""
        unused = {"odometry", "pose"} - {self.config.pose_source}
        unused |= {"depth", "depth_info"} if self._depth_role == "cloud" else {"cloud"}
        if "label" not in self._partner_roles:
            unused |= {"label", "label_info"}
        return tuple(role for role in ROLES if role not in unused)

    @property
    def offsets_s(self) -> dict[str, float]:
        """Last measured stamp of each partner role minus the colour image's, seconds."""
        return self._matcher.offsets_s

    def add(self, role: str, message: Any) -> list[Capture]:
        """Take one message; returns the captures that are complete now, oldest first."""
        self.received[role] = self.received.get(role, 0) + 1
        self._handlers[role](message)
        return self._complete()

    def expire(self, monotonic: float) -> list[Capture]:
        """Decide about frames that waited ``tf_wait_s`` of the monotonic clock (a live stream may have stopped)."""
        if self._waits_since is None or not self._matcher.waiting:
            self._waits_since = monotonic
        elif monotonic - self._waits_since >= self.config.tf_wait_s:
            self._waits_since = None
            self._take(*self._matcher.finish())
        ready = self._complete()
        for pending in self._pending:
            if pending.deadline is None:
                pending.deadline = monotonic + self.config.tf_wait_s
        return ready + self._give_up(lambda pending: pending.deadline is not None and pending.deadline <= monotonic)

    def finish(self) -> list[Capture]:
        """The recording is over: decide everything that still waits."""
        self._take(*self._matcher.finish())
        return self._complete() + self._give_up(lambda _: True)

    def _on_color(self, message: Any) -> None:
        stamp_ns = stamp_of(message.header)
        if self._newest is not None and self._jumped(stamp_ns - self._newest):
            self._restart(stamp_ns)
        if stamp_ns in self._seen:
            second = f"a second colour image of stamp {stamp_ns} ns"
            self.refusals.add(FrameRefused(RefusalReason.OUT_OF_ORDER, second, stamp_ns))
            return
        self._seen[stamp_ns] = None
        if len(self._seen) > 1000:
            del self._seen[next(iter(self._seen))]
        self._newest = stamp_ns if self._newest is None else max(self._newest, stamp_ns)
        self._waits_since = None
        self._take(*self._matcher.add_lead(stamp_ns, message))

    def _on_partner(self, role: str, message: Any) -> None:
        if role in self._partner_roles:
            self._take(*self._matcher.add_partner(role, stamp_of(message.header), message))

    def _jumped(self, ahead_ns: int) -> bool:
        return ahead_ns < -self._reorder_ns or ahead_ns > HOUR_NS

    def _restart(self, stamp_ns: int) -> None:
        """Time went back, or far ahead: a new session, in which nothing of the old one counts."""
        self.session += 1
        for pending in self._pending:
            self._refuse(pending)
        self._pending.clear()
        for dropped in self._matcher.restart(stamp_ns, self.config.reorder_s):
            self.refusals.add(FrameRefused(RefusalReason.OUT_OF_ORDER, "time jumped while this frame waited", dropped))
        self.transforms.forget_after(stamp_ns)
        self._seen.clear()
        self._newest = None

    def _on_info(self, camera: str, message: Any) -> None:
        try:
            self._infos[camera] = (clean(message.header.frame_id), intrinsics_of(message))
        except FrameRefused as error:
            if not isinstance(self._infos.get(camera), tuple):
                self._infos[camera] = error

    def _on_legend(self, message: Any) -> None:
        """Names of label ids: ``vision_msgs/LabelInfo``, or a ``std_msgs/String`` with a JSON object."""
        if hasattr(message, "class_map"):
            self.legend = {int(item.class_id): str(item.class_name) for item in message.class_map}
            return
        try:
            self.legend = {int(key): str(name) for key, name in json.loads(message.data).items()}
        except (ValueError, AttributeError) as error:
            self.refusals.add(
                FrameRefused(RefusalReason.NO_LABELS, f"label_info isn't a JSON object id -> name: {error}")
            )

    def _on_odometry(self, message: Any) -> None:
        if self.config.pose_source == "odometry":
            self._on_source(message, clean(message.child_frame_id) or self._placer.name(self.config.base_frame))

    def _on_pose(self, message: Any) -> None:
        if self.config.pose_source == "pose":
            self._on_source(message, self._placer.name(self.config.base_frame) or self.color_frame)

    def _on_source(self, message: Any, child: str) -> None:
        """A pose topic stands in for the dynamic transform of its child frame."""
        self._placer.pose_child = child
        with_covariance = hasattr(message.pose, "pose")
        pose = message.pose.pose if with_covariance else message.pose
        p, q = pose.position, pose.orientation
        placed = Pose((float(p.x), float(p.y), float(p.z)), (float(q.x), float(q.y), float(q.z), float(q.w)))
        self.transforms.add(message.header.frame_id, child, stamp_of(message.header), placed)
        if with_covariance:
            values = tuple(float(v) for v in message.pose.covariance)
            trusted = len(values) == 36 and any(values) and all(abs(v) < MOST_VARIANCE for v in values)
            self._placer.covariance = values if trusted else ()

    def _take(self, matches: list[Match], refused: list[FrameRefused]) -> None:
        self._pending += [_Pending(match, self.session) for match in matches]
        for error in refused:
            self.refusals.add(error)

    def _complete(self) -> list[Capture]:
        ready: list[Capture] = []
        waiting: list[_Pending] = []
        for pending in self._pending:
            try:
                ready.append(self._capture(pending))
                continue
            except FrameRefused as error:
                pending.error = error
            waiting.append(pending)
        self._pending = waiting
        if self._newest is not None:
            newest = self._newest
            ready += self._give_up(lambda pending: newest - pending.match.stamp_ns > self._wait_ns)
        return ready

    def _give_up(self, condition: Callable[[_Pending], bool]) -> list[Capture]:
        """End the wait of these: take them if only the pose at the depth's own stamp is missing, else refuse them."""
        ready: list[Capture] = []
        for pending in [p for p in self._pending if condition(p)]:
            self._pending.remove(pending)
            try:
                ready.append(self._capture(pending, wait=False))
            except FrameRefused:
                self._refuse(pending)
        return ready

    def _refuse(self, pending: _Pending) -> None:
        reason = pending.error.reason if pending.error else RefusalReason.NO_POSE
        waited = f"{pending.error} (waited {seconds(self._wait_ns):.2f} s)"
        self.refusals.add(FrameRefused(reason, waited, pending.match.stamp_ns))

    def _capture(self, pending: _Pending, wait: bool = True) -> Capture:
        """Raises FrameRefused while a pose or the intrinsics aren't known."""
        match, stamp_ns = pending.match, pending.match.stamp_ns
        depth = match.partners[self._depth_role]
        color, color_camera = self._color_camera(match.lead.header, stamp_ns)
        other, depth_camera = self._depth_camera(depth.header, match.lead.header, color, stamp_ns)
        placement = self._placer.placement(color, stamp_ns, pending.session)
        depth_in_color = self._depth_in_color(color, other, stamp_ns, stamp_of(depth.header), wait)
        labels = match.partners.get("label")
        if labels is not None and not self.legend:
            raise FrameRefused(RefusalReason.NO_LABELS, "no names of label ids came: set label_legend, or publish them")
        return Capture(
            placement, match.lead, depth, labels, color_camera, depth_camera, depth_in_color, dict(self.legend)
        )

    def _depth_in_color(self, color: Camera, other: Camera, stamp_ns: int, depth_ns: int, wait: bool) -> Pose:
        """Each at its own stamp. The pose at a later stamp may still come; at an earlier one it won't."""
        try:
            return self._placer.between(color, stamp_ns, other, depth_ns)
        except FrameRefused:
            if wait and depth_ns > stamp_ns:
                raise
            return self._placer.between(color, stamp_ns, other, stamp_ns)

    def _color_camera(self, header: Any, stamp_ns: int) -> tuple[Camera, Intrinsics]:
        frame, camera = self._info("color", header)
        return self._placer.camera(clean(self.config.camera_frame) or frame, stamp_ns), camera

    def _depth_camera(
        self, header: Any, color_header: Any, color: Camera, stamp_ns: int
    ) -> tuple[Camera, Intrinsics | None]:
        """Frame and intrinsics of what measures depth; a cloud has none, and its frame isn't an optical one.

        What says that it is of the colour camera's frame, or of none, is where that camera is.
        """
        if self._depth_role == "cloud":
            frame = clean(self.config.depth_frame) or clean(header.frame_id)
            return (Camera(frame) if frame else color), None
        frame, camera = self._info("depth", header)
        override = clean(self.config.depth_frame)
        if not override and frame in ("", clean(color_header.frame_id), color.frame):
            return color, camera
        return self._placer.camera(override or frame, stamp_ns), camera

    def _info(self, role: str, header: Any) -> tuple[str, Intrinsics]:
        """Frame and intrinsics of an image. A depth image of the colour frame may do without its own info."""
        frame = clean(header.frame_id)
        info = self._infos.get(role)
        if info is None and role == "depth":
            color = self._infos.get("color")
            info = color if isinstance(color, tuple) and frame in ("", color[0]) else None
        if info is None:
            raise FrameRefused(RefusalReason.NO_INTRINSICS, f"no {role} camera_info came")
        if isinstance(info, FrameRefused):
            raise info
        return frame or info[0], info[1]

    def name(self, frame: str) -> str:
        """A frame's name in this robot's TF."""
        return self._placer.name(frame)

    @property
    def color_frame(self) -> str:
        """The colour camera's frame, as far as its camera_info or the configuration tells; '': not yet."""
        info = self._infos.get("color")
        return clean(self.config.camera_frame) or (info[0] if isinstance(info, tuple) else "")
