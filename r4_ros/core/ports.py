"""Where the rooms meet: each room asks for these and knows nothing of who provides them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import R4Error
from r4_ros.core.lessons import Advice, Lesson, Situation
from r4_ros.core.model import (
    Answer,
    Feedback,
    FeedbackRecord,
    Float32Array,
    Frame,
    Intrinsics,
    PlacedEntry,
    Query,
    Question,
    Receipt,
    Retrieval,
    TaskRecord,
)


class Clock(Protocol):
    """The time that 'now' means."""

    def now_ns(self) -> int:
        """ROS time in nanoseconds."""


@dataclass(frozen=True, eq=False, slots=True)
class RgbdImage:
    """One colour image with depth registered to it (same size, same camera).

    color: uint8 [H, W, 3] RGB. depth: float32 [H, W], metres along the optical axis, 0 where unknown.
    labels: int32 [H, W] instance ids of a simulated camera (0: background), with ``legend`` id -> label.
    depth_spacing: pixels between measured depths; more than 1 where depth comes from a sparse cloud and was filled.
    """

    color: npt.NDArray[np.uint8]
    depth: Float32Array
    intrinsics: Intrinsics
    labels: npt.NDArray[np.int32] | None = None
    legend: dict[int, str] = field(default_factory=dict)
    depth_spacing: float = 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """One instance in an image.

    mask: bool [h, w] in the window whose upper left pixel is (left, top); so 30 masks cost no 30 images.
    depth: float32 [h, w] metres, where the segmenter knows more than the image (screens and glass give no depth).
    """

    label: str
    confidence: float
    left: int
    top: int
    mask: npt.NDArray[np.bool_]
    track_id: str = ""
    depth: Float32Array | None = None


class Segmenter(Protocol):
    """Finds object instances in an image. ``load`` may be slow (a model); ``close`` frees what it took."""

    def load(self) -> None:
        """Make ready; raises Unavailable where the model or its library is missing."""

    def segment(self, image: RgbdImage) -> list[Segment]:
        """The instances of one image, each with its mask."""

    def close(self) -> None:
        """Free what ``load`` took."""


class Embedder(Protocol):
    """Turns texts into unit vectors, float32 [n, dimension]."""

    @property
    def name(self) -> str:
        """Name of the model; vectors of two models never mix."""

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """One unit vector a text, in order."""


@dataclass(frozen=True, slots=True)
class VisionRequest:
    """One question to a vision model about images (JPEG bytes), with the system's prompt for it."""

    system: str
    text: str
    images: tuple[bytes, ...]
    max_tokens: int = 100
    temperature: float = 0.0  # above 0: replies are drawn, so that several to one request may differ


@dataclass(frozen=True, slots=True)
class Affirmed:
    """How far a model says yes, 0..1: 0 or 1 by its words, or by the log-probabilities of its first token.

    These are the model's own belief; nobody has calibrated them.
    """

    share: float
    by_probability: bool = False


class VisionModel(Protocol):
    """A frozen vision language model. ``load`` may be slow; ``close`` frees what it took."""

    @property
    def name(self) -> str:
        """Name of the model, as it is kept with what it wrote."""

    def load(self) -> None:
        """Make ready; raises Unavailable, NotPermitted where images would leave for a host that isn't allowed."""

    def reply(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[str | R4Error]:
        """For each request its reply, or the error that it met (ModelError, DeadlineExceeded), in order."""

    def affirm(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[Affirmed | R4Error]:
        """The same for questions of yes or no: how far each reply says yes."""

    def interrupt(self) -> None:
        """End the replies at work, from another thread."""

    def close(self) -> None:
        """Free what ``load`` took."""


class LanguageModel(Protocol):
    """A frozen language model: one completion, constrained to a JSON schema where the server can."""

    @property
    def name(self) -> str:
        """Name of the model, as traces tell it."""

    def complete(self, system: str, user: str, schema: dict[str, object] | None, deadline_s: float) -> str:
        """The completion as text; raises ModelError or DeadlineExceeded."""

    def interrupt(self) -> None:
        """End the completion at work, from another thread; its caller gets a ModelError at once."""

    def close(self) -> None:
        """Free what it took."""


class Eyes(Protocol):
    """A vision model on what the robot's camera sees now."""

    def agreement(self, thing: str, now_ns: int, deadline_s: float) -> Affirmed | None:
        """How far looks at the picture of ``now_ns`` see the thing, on average; None: no picture, or no reply."""

    def interrupt(self) -> None:
        """End the looks at work, from another thread."""


class Memory(Protocol):
    """What the reasoner needs of the memory; the library provides it directly, a client over ROS."""

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """What satisfies the query, best first, and what explains an empty result."""


class ObservationSink(Protocol):
    """Who takes frame records and says, after COMMIT, what became of them."""

    def ingest(self, frame: Frame) -> Receipt:
        """Store one frame record; the same one again changes nothing."""


class EntrySource(Protocol):
    """What perception needs of the memory: the entries that should be around."""

    def entries_near(self, agent_id: str, limit: int) -> Sequence[PlacedEntry]:
        """At most ``limit`` entries, nearest to the agent's latest pose first."""


class TaskLog(Protocol):
    """Where finished tasks are recorded before anybody says whether they were right."""

    def record_task(self, question: Question, answer: Answer, stamp_ns: int) -> None:
        """Record a finished task; it is durable when this returns."""

    def record_feedback(self, task_id: str, feedback: Feedback, correction: str, source: str) -> None:
        """Record what became of a recorded task; raises ExperienceError for an unknown one."""


class TaskStore(Protocol):
    """Where the experience room keeps finished tasks and what was said about them; every write is durable on return."""

    def add_task(self, record: TaskRecord) -> bool:
        """Store a task; False where it was there already (stamp aside). Raises ExperienceError for another one."""

    def add_feedback(self, record: FeedbackRecord) -> None:
        """Append to the feedback of a stored task; raises ExperienceError for an unknown one."""

    def task(self, task_id: str) -> TaskRecord | None:
        """The record of a task; None: unknown."""

    def feedback(self, task_id: str) -> tuple[FeedbackRecord, ...]:
        """All that was said about a task, in the order in which it came."""

    def tasks(self, limit: int = 100) -> tuple[TaskRecord, ...]:
        """The tasks recorded last, latest first."""

    def tally(self) -> dict[Feedback | None, int]:
        """How many tasks have which latest feedback; None: nothing was said yet."""

    def close(self) -> None:
        """Release the file."""


class LessonStore(Protocol):
    """Where the experience room keeps lessons, apart from all facts; every update is one transaction."""

    def others(self) -> tuple[tuple[str, Lesson], ...]:
        """What other agents learnt, each lesson with whose it is; nothing where the store isn't shared."""

    def lessons(self) -> dict[str, Lesson]:
        """All lessons by id."""

    def task_count(self) -> int:
        """How many tasks were learnt from."""

    def due(self, limit: int) -> tuple[tuple[TaskRecord, Feedback], ...]:
        """Tasks with feedback that weren't learnt from, oldest first, each with what was said last."""

    def update(
        self,
        task_ids: Sequence[str],
        written: Mapping[str, Lesson],
        dropped: Sequence[str],
        audit: Sequence[tuple[str, str, str]],
    ) -> None:
        """Mark tasks as learnt from and write what came of it, all or nothing; StoreError for one learnt twice."""


class Advisor(Protocol):
    """Who knows how evidence was found before."""

    def advise(self, situation: Situation) -> Advice:
        """What to try first in such a situation; an empty focus where nothing fits."""
