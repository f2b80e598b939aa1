"""``r4 doctor`` on a recording: what a replay would make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from r4_ros.bridges.examination import NAMES, Examination, Finding, Level
from r4_ros.bridges.recording import ROLE_TYPES, Recording, Topic, listing
from r4_ros.bridges.sources import FolderOptions, open_recording
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, InvalidArgument, RefusalReason
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.ports import Segmenter


def open_examined(
    path: Path, chosen: Mapping[str, str], options: FolderOptions
) -> tuple[Recording | None, list[Finding]]:
    """The recording, or None and why it can't be read."""
    try:
        return open_recording(path, chosen, options), []
    except InvalidArgument as error:
        return None, [Finding(Level.ERROR, "recording", str(error))]


def examine(
    bag: Recording,
    config: PerceptionConfig,
    segmenter: Segmenter | None,
    duration_s: float,
    progress: Callable[[int], None] | None = None,
) -> tuple[Examination, list[Finding]]:
    """Look at the first ``duration_s`` seconds of a recording (0: at all of it)."""
    topics = {role: topic.name for role, topic in bag.roles.items()}
    exam = Examination(config, topics, segmenter)
    found = _missing(exam, bag.topics, topics)
    try:
        _feed(exam, bag, duration_s, progress)
    except InvalidArgument as error:
        found.append(Finding(Level.ERROR, "recording", str(error)))
    exam.finish()
    return exam, found


def _feed(exam: Examination, bag: Recording, duration_s: float, progress: Callable[[int], None] | None) -> None:
    first: int | None = None
    for count, recorded in enumerate(bag.messages(exam.stream.roles)):
        first = recorded.stamp_ns if first is None else first
        if duration_s and recorded.stamp_ns - first > nanoseconds(duration_s):
            return
        try:
            message = recorded.decode()
        except InvalidArgument as error:
            refused = FrameRefused(RefusalReason.TRUNCATED_DATA, str(error), recorded.header_ns)
            exam.stream.refusals.add(refused)
            continue
        exam.add(recorded.role, message)
        if progress is not None:
            progress(count)


def _missing(exam: Examination, topics: Sequence[Topic], known: Mapping[str, str]) -> list[Finding]:
    """Roles without any topic, with the topics that might do."""
    found: list[Finding] = []
    for role in exam.inputs:
        if role in known or role in ("depth_info", "label_info", "tf_static"):
            continue
        fitting = [topic.name for topic in topics if topic.type_name in ROLE_TYPES[role]]
        might = f"of its type there are {', '.join(fitting)}: name it with --{role.replace('_', '-')}-topic"
        advice = might if fitting and role not in ("tf",) else listing(topics)
        found.append(Finding(Level.ERROR, NAMES[role], "the recording has no topic for it", advice))
    return found
