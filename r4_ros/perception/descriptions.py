"""Descriptions of instances by a vision model: asked once a thing, taken if they fit, told when they come."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from r4_ros.core.errors import R4Error
from r4_ros.core.model import Embedding, Frame, Observation
from r4_ros.core.ports import VisionRequest
from r4_ros.core.template import DESCRIBED_BY
from r4_ros.perception.replies import DESCRIBE, ReplyRefused, description_of, prompt
from r4_ros.perception.vision_worker import VisionWorker

MOST = 4000
MAX_TRIES = 3  # other views of a thing whose description wasn't taken
MAX_TOKENS = 80


@dataclass(slots=True)
class _Known:
    tries: int = 0
    asked: bool = False
    text: str = ""


@dataclass(slots=True)
class _Open:
    """A frame some of whose observations are being described."""

    frame: Frame
    left: int


class Descriptions:
    """``deliver`` gets, on the worker's thread, the frame again with the descriptions that have come for it.

    ``embed`` gives a text's vector, or None. Things are numbered by ``instances.Instances``.
    """

    def __init__(
        self,
        worker: VisionWorker,
        embed: Callable[[str], Embedding | None],
        deliver: Callable[[Frame], object],
        most: int = MOST,
    ) -> None:
        self.counts: Counter[str] = Counter()  # taken, refused.<fault>
        self._worker, self._embed, self._deliver, self._most = worker, embed, deliver, most
        self._by = f"{worker.name} {DESCRIBE}"
        self._lock = threading.Lock()
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._open: dict[tuple[int, int], _Open] = {}

    def wanted(self, number: int) -> bool:
        """Whether a thing is to be described: it isn't, nobody is about to, and it wasn't tried too often."""
        with self._lock:
            known = self._known.get(number)
            return known is None or not (known.text or known.asked or known.tries >= MAX_TRIES)

    def added(self, observation: Observation, number: int) -> Observation:
        """The observation with the description of its thing, where one is known."""
        with self._lock:
            known = self._known.get(number)
        return observation if known is None or not known.text else self._with(observation, known.text)

    def ask(self, frame: Frame, pictures: Sequence[tuple[int, int, bytes]]) -> None:
        """Have observations of a frame described: each one's index, its thing's number and its picture (JPEG)."""
        with self._lock:
            self._open[frame.session, frame.stamp_ns] = _Open(frame, len(pictures))
            for _, number, _ in pictures:
                self._known.setdefault(number, _Known()).asked = True
                self._known.move_to_end(number)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        labels = {o.index: o.label for o in frame.observations}
        key = frame.session, frame.stamp_ns
        for index, number, picture in pictures:
            system, text = prompt(DESCRIBE, label=labels[index])
            request = VisionRequest(system, text, (picture,), MAX_TOKENS)
            self._worker.ask(request, self._answer(key, index, number, labels[index]))

    def _answer(self, key: tuple[int, int], index: int, number: int, label: str) -> Callable[[str | R4Error], None]:
        def answered(reply: str | R4Error) -> None:
            text = ""
            if isinstance(reply, str):
                try:
                    text = description_of(reply, label)
                except ReplyRefused as refused:
                    self.counts[f"refused.{refused.fault.value}"] += 1
                else:
                    self.counts["taken"] += 1
            self._note(key, index, number, text, tried=isinstance(reply, str))

        return answered

    def _note(self, key: tuple[int, int], index: int, number: int, text: str, tried: bool) -> None:
        with self._lock:
            known = self._known.setdefault(number, _Known())
            known.asked, known.text = False, text
            known.tries += tried
            entry = self._open[key]
            entry.left -= 1
            if text:
                entry.frame = _replaced(entry.frame, index, lambda o: self._with(o, text))
            frame = entry.frame
            if not entry.left:
                del self._open[key]
        if text:
            self._deliver(frame)

    def _with(self, observation: Observation, text: str) -> Observation:
        attributes = (*observation.attributes, (DESCRIBED_BY, self._by))
        return replace(observation, description=text, description_embedding=self._embed(text), attributes=attributes)


def _replaced(frame: Frame, index: int, change: Callable[[Observation], Observation]) -> Frame:
    return replace(frame, observations=tuple(change(o) if o.index == index else o for o in frame.observations))
