"""A recording into a memory: directly, or as messages for the live nodes."""

from __future__ import annotations

import hashlib
import heapq
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from r4_ros.bridges.playback import TimedMessage
from r4_ros.bridges.recording import COMPRESSED, IMAGE_ROLES, Recorded, Recording
from r4_ros.core.errors import FrameRefused, InvalidArgument, RefusalReason
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import Frame, Visibility
from r4_ros.core.ports import EntrySource, ObservationSink
from r4_ros.perception.capture import Capture
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream
from r4_ros.perception.transforms import stamp_of

ENTRIES_LIMIT = 500
POSE_ROLES = ("odometry", "pose")
LOOK_AHEAD_NS = nanoseconds(1.0)  # the largest slop: depth farther off than this isn't matched
ROLE_TOPICS = {
    "color": "color/image_raw",
    "depth": "depth/image_raw",
    "cloud": "cloud",
    "label": "label/image_raw",
    "color_info": "color/camera_info",
    "depth_info": "depth/camera_info",
    "label_info": "label/label_info",
    "odometry": "odom",
    "pose": "pose",
}


class MemoryPort(ObservationSink, EntrySource, Protocol):
    """What a replay needs of the memory."""


@dataclass
class ReplayReport:
    """What a replay did. refused: frames by reason."""

    frames: int = 0
    observations: int = 0
    absent: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    wall_s: float = 0.0


def writer_of(recording: Recording) -> str:
    """A writer id that is the same for every replay of one recording: replaying twice changes nothing."""
    digest = hashlib.blake2b(recording.name.encode(), digest_size=8)
    for role, topic in sorted(recording.roles.items()):
        digest.update(f"{role} {topic.name} {topic.type_name} {topic.count}\n".encode())
    first = next(recording.messages(), None)
    digest.update(f"{first.stamp_ns if first else 0}".encode())
    return f"replay-{digest.hexdigest()}"


def replay(
    recording: Recording,
    memory: MemoryPort,
    stream: Stream,
    pipeline: Pipeline,
    progress: Callable[[ReplayReport], None] | None = None,
) -> ReplayReport:
    """Feed a recording through perception into the memory, as fast as it goes; ``progress`` hears after every frame.

    Each frame is checked against the entries that memory has after the one before, as the live nodes do in lockstep.
    """
    report, start = ReplayReport(), time.monotonic()

    def take(captures: list[Capture]) -> None:
        for capture in captures:
            try:
                frame = pipeline.process(capture, memory.entries_near(pipeline.config.agent_id, ENTRIES_LIMIT))
            except FrameRefused as error:
                stream.refusals.add(error)
            else:
                memory.ingest(frame)
                _count(report, frame)
            report.refused = stream.refusals.by_reason()
            report.wall_s = time.monotonic() - start
            if progress is not None:
                progress(report)

    for recorded in recording.messages(stream.roles):
        try:
            message = recorded.decode()
        except InvalidArgument as error:  # a damaged message; the recording goes on
            stream.refusals.add(FrameRefused(RefusalReason.TRUNCATED_DATA, str(error), recorded.header_ns))
            continue
        take(stream.add(recorded.role, message))
    take(stream.finish())
    report.refused = stream.refusals.by_reason()
    report.wall_s = time.monotonic() - start
    return report


def _count(report: ReplayReport, frame: Frame) -> None:
    absent = sum(o.visibility is Visibility.ABSENT for o in frame.observations)
    report.frames += 1
    report.absent += absent
    report.observations += sum(not o.entry_id for o in frame.observations)


def timed_messages(
    recording: Recording, agent: str, namespace: str = "", lockstep: bool = False
) -> Iterator[TimedMessage]:
    """The recording as messages for playback, on the topics that the nodes listen to.

    In lockstep each frame's images are kept together: colour goes out after the depth that decides its match and after
    the poses at the stamps of both, so that no frame waits for what is held back.
    """
    topics = {role: _topic(role, topic.type_name, namespace) for role, topic in recording.roles.items()}
    frames = _Frames(recording) if lockstep else None
    waiting: list[tuple[tuple[int, int, bool, int], TimedMessage]] = []
    for index, recorded in enumerate(recording.messages()):
        position, number = frames.place(recorded, index) if frames else (index, -1)
        frame_ns = frames.stamp(number) if frames else None
        item = TimedMessage(
            stamp_ns=recorded.stamp_ns,
            topic=topics[recorded.role],
            type_name=recorded.topic.type_name,
            payload=bytes(recorded.raw),
            latched=recorded.role in ("tf_static", "label_info"),
            lockstep_key=agent if frame_ns is not None else "",
            frame_ns=frame_ns,
        )
        heapq.heappush(waiting, ((position, number, recorded.role == "color", index), item))
        while waiting and waiting[0][0][0] <= index:
            yield heapq.heappop(waiting)[1]
    while waiting:
        yield heapq.heappop(waiting)[1]


def _topic(role: str, type_name: str, namespace: str) -> str:
    if role in ("tf", "tf_static"):
        return role if namespace else f"/{role}"
    if type_name != COMPRESSED:
        return ROLE_TOPICS[role]
    return ROLE_TOPICS[role] + ("/compressedDepth" if role == "depth" else "/compressed")


class _Frames:
    """Which image messages make up a frame, and where in the order they may go out. Frames are numbered by stamp."""

    def __init__(self, recording: Recording) -> None:
        colors: dict[int, int] = {}  # stamp -> index
        self._partners: dict[str, list[tuple[int, int]]] = {}  # role -> (stamp, index)
        self._poses: dict[str, list[tuple[int, int]]] = {}  # moving frame -> (stamp, index)
        for index, recorded in enumerate(recording.messages()):
            if recorded.role == "tf":
                for item in recorded.decode().transforms:
                    self._poses.setdefault(item.child_frame_id, []).append((stamp_of(item.header), index))
            elif recorded.header_ns is None:
                continue
            elif recorded.role == "color":
                colors.setdefault(recorded.header_ns, index)
            elif recorded.role in IMAGE_ROLES:
                self._partners.setdefault(recorded.role, []).append((recorded.header_ns, index))
            elif recorded.role in POSE_ROLES:
                self._poses.setdefault(recorded.role, []).append((recorded.header_ns, index))
        self._stamps = sorted(colors)
        for messages in (*self._partners.values(), *self._poses.values()):
            messages.sort()
        self._ends: list[int] = []  # position of each frame's colour image, the last to go out
        for stamp_ns in self._stamps:
            self._ends.append(max([*self._ends[-1:], colors[stamp_ns], *self._deciders(stamp_ns)]))

    def place(self, recorded: Recorded, index: int) -> tuple[int, int]:
        """Position in the order, and the number of the frame that the message belongs to (-1: to none)."""
        if recorded.role not in IMAGE_ROLES or recorded.header_ns is None:
            return index, -1
        if recorded.role == "color":
            number = bisect_left(self._stamps, recorded.header_ns)
            return self._ends[number], number
        partners = self._partners[recorded.role]
        at = bisect_left(partners, (recorded.header_ns, index))
        before = partners[at - 1][0] if at else -1
        number = bisect_left(self._stamps, before + 1)
        if number < len(self._stamps) and self._stamps[number] <= recorded.header_ns:
            return max([index, *self._ends[max(0, number - 1) : number]]), number
        return index, -1

    def stamp(self, number: int) -> int | None:
        """Stamp of a frame's colour image; None for no frame."""
        return self._stamps[number] if number >= 0 else None

    def _deciders(self, stamp_ns: int) -> Iterator[int]:
        """Indices of the first partner messages at or after a colour image's stamp, and of the poses at theirs."""
        for partners in self._partners.values():
            at = bisect_left(partners, (stamp_ns, -1))
            if at == len(partners):
                continue
            partner_ns, index = partners[at]
            yield index
            if partner_ns - stamp_ns > LOOK_AHEAD_NS:
                continue
            for poses in self._poses.values():
                after = bisect_left(poses, (partner_ns, -1))
                if after < len(poses):
                    yield poses[after][1]
