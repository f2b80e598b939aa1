"""What happens in front of the camera, in words: every so often a vision model sees a few moments and says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from r4_ros.core.errors import R4Error
from r4_ros.core.geometry import compose
from r4_ros.core.intervals import nanoseconds, seconds
from r4_ros.core.model import Episode, EpisodeSource, Frame, Interval
from r4_ros.core.ports import RgbdImage, VisionRequest
from r4_ros.perception.crops import fitted, jpeg_of
from r4_ros.perception.replies import CAPTION, ReplyRefused, caption_of, prompt
from r4_ros.perception.vision_worker import VisionWorker

MOMENTS = 4  # pictures of a clip
SIDE = 448  # pixels
MAX_BYTES = 60_000
MAX_TOKENS = 120


class Captions:
    """Clips of ``period_s`` seconds each; ``deliver`` gets an episode for each in which something happened."""

    def __init__(self, worker: VisionWorker, period_s: float, deliver: Callable[[Episode], object]) -> None:
        self.counts: Counter[str] = Counter()  # taken, refused.<fault>
        self._worker, self._deliver = worker, deliver
        self._step_ns = nanoseconds(period_s) // MOMENTS
        self._moments: list[tuple[Frame, bytes]] = []

    def see(self, image: RgbdImage, frame: Frame) -> None:
        """A frame's image; most are only looked at for their stamp."""
        if self._moments:
            last = self._moments[-1][0]
            if last.session != frame.session or last.map_id != frame.map_id:
                self._moments = []
            elif frame.stamp_ns - last.stamp_ns < self._step_ns:
                return
        self._moments.append((frame, jpeg_of(fitted(image.color, SIDE), MAX_BYTES)))
        if len(self._moments) == MOMENTS:
            frames = [frame for frame, _ in self._moments]
            length = f"{seconds(frames[-1].stamp_ns - frames[0].stamp_ns):.0f}"
            system, text = prompt(CAPTION, count=MOMENTS, seconds=length)
            pictures = tuple(picture for _, picture in self._moments)
            self._worker.ask(VisionRequest(system, text, pictures, MAX_TOKENS), self._answer(frames[0], frames[-1]))
            self._moments = []

    def _answer(self, first: Frame, last: Frame) -> Callable[[str | R4Error], None]:
        def answered(reply: str | R4Error) -> None:
            if isinstance(reply, R4Error):
                return
            try:
                text = caption_of(reply)
            except ReplyRefused as refused:
                self.counts[f"refused.{refused.fault.value}"] += 1
                return
            self.counts["taken"] += 1
            self._deliver(_episode(first, last, text))

        return answered


def _episode(first: Frame, last: Frame, text: str) -> Episode:
    """At the robot's place at its end; memory gives it an id."""
    return Episode(
        episode_id="",
        agent_id=last.agent_id,
        text=text,
        interval=Interval(first.stamp_ns, last.stamp_ns + 1),
        source=EpisodeSource.CAPTION,
        map_id=last.map_id,
        place=compose(last.sensor_in_map, last.base_in_sensor).position,
    )
