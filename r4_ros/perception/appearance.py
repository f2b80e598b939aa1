"""How things look: now and then a picture with an observation, and words of a vision model once it has found them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import Embedding, Episode, Frame, Observation, Visibility
from r4_ros.core.ports import RgbdImage, Segment, VisionModel
from r4_ros.perception.captions import Captions
from r4_ros.perception.capture import Placement
from r4_ros.perception.crops import cut, data_url, jpeg_of
from r4_ros.perception.descriptions import Descriptions
from r4_ros.perception.instances import MOST, Instances
from r4_ros.perception.vision_worker import VisionWorker

MOST_A_FRAME = 4  # pictures, and descriptions asked for: encoding takes its time
MIN_SIDE = 24  # pixels; smaller instances show nothing
LARGE_SIDE = 96  # pixels; of a thing that large a part is enough to describe it


class Appearance:
    """Pictures and, with a ``model``, descriptions and captions. ``load`` before the first frame, ``close`` at the end.

    deliver: gets a frame again once some of its observations are described. tell: gets episodes. Both are called on
    another thread.
    """

    def __init__(
        self,
        config: PerceptionConfig,
        embed: Callable[[str], Embedding | None],
        model: VisionModel | None = None,
        deliver: Callable[[Frame], object] = lambda frame: None,
        tell: Callable[[Episode], object] = lambda episode: None,
    ) -> None:
        self.deliver, self.tell = deliver, tell
        self._config, self._embed, self._model = config, embed, model
        self._private = {label.casefold() for label in config.private_labels}
        self._instances = Instances()
        self._pictured: OrderedDict[int, int] = OrderedDict()  # thing -> stamp of its last picture
        self._worker: VisionWorker | None = None
        self._descriptions: Descriptions | None = None
        self._captions: Captions | None = None
        self._wanted: list[tuple[int, int, bytes]] = []

    def load(self) -> None:
        """Load the model, if there is one. Raises Unavailable, NotPermitted."""
        if self._model is None:
            return
        config = self._config
        self._model.load()
        self._worker = VisionWorker(self._model, config.vision_rate_hz, config.vision_timeout_s)
        self._descriptions = Descriptions(self._worker, self._embed, lambda frame: self.deliver(frame))
        if config.caption_period_s > 0:
            self._captions = Captions(self._worker, config.caption_period_s, lambda episode: self.tell(episode))

    def close(self) -> bool:
        """Free the model. False if it was still at work."""
        ended = self._worker is None or self._worker.close()
        self._worker = self._descriptions = self._captions = None
        if self._model is not None:
            self._model.close()
        return ended

    def finish(self, timeout_s: float) -> bool:
        """Wait for what was asked; True: all is answered."""
        return self._worker is None or self._worker.finish(timeout_s)

    def attach(
        self, image: RgbdImage, segments: Sequence[Segment], seen: Sequence[Observation], placement: Placement
    ) -> tuple[Observation, ...]:
        """The observations, some with a picture or with their thing's description. ``index``: into the segments."""
        self._wanted = []
        if not self._config.crops and self._descriptions is None:
            return tuple(seen)
        numbers = self._instances.numbers(seen, placement)
        attached = list(seen)
        pictures = 0
        for i, (observation, number) in enumerate(zip(seen, numbers, strict=True)):
            segment = segments[observation.index]
            if min(segment.mask.shape) < MIN_SIDE or observation.label.casefold() in self._private:
                continue
            if pictures < MOST_A_FRAME and self._is_due(observation, number, placement.stamp_ns):
                pictures += 1
                if self._config.crops:
                    attached[i] = replace(observation, image=data_url(jpeg_of(cut(image.color, segment))))
                if self._descriptions is not None:
                    attached[i] = self._descriptions.added(attached[i], number)
            if observation.visibility is Visibility.VISIBLE or min(segment.mask.shape) >= LARGE_SIDE:
                self._want(observation.index, number, image, segment)
        return tuple(attached)

    def made(self, image: RgbdImage, frame: Frame) -> None:
        """The frame record of what was attached last: ask the model about it."""
        if self._descriptions is not None and self._wanted:
            self._descriptions.ask(frame, self._wanted)
        if self._captions is not None:
            self._captions.see(image, frame)

    def counts(self) -> dict[str, int]:
        """What was asked, answered, taken and refused."""
        total: Counter[str] = Counter()
        for name, part in (("vision", self._worker), ("described", self._descriptions), ("captions", self._captions)):
            if part is not None:
                total.update({f"{name}.{key}": number for key, number in part.counts.items()})
        return dict(total)

    @property
    def trouble(self) -> str:
        """What the model fails with; empty: it doesn't."""
        return "" if self._worker is None else self._worker.trouble

    def _is_due(self, observation: Observation, number: int, stamp_ns: int) -> bool:
        """A thing's first picture, and a fresh one every so often."""
        last = self._pictured.get(number)
        fresh = last is not None and abs(stamp_ns - last) < nanoseconds(self._config.crop_period_s)
        if fresh or (last is not None and observation.visibility is not Visibility.VISIBLE):
            return False
        self._pictured[number] = stamp_ns
        self._pictured.move_to_end(number)
        if len(self._pictured) > MOST:
            self._pictured.popitem(last=False)
        return True

    def _want(self, index: int, number: int, image: RgbdImage, segment: Segment) -> None:
        if self._descriptions is None or len(self._wanted) >= MOST_A_FRAME or not self._descriptions.wanted(number):
            return
        self._wanted.append((index, number, jpeg_of(cut(image.color, segment, masked=True))))
