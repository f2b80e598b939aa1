"""The query language: a question becomes steps of three keys, and the form of the answer.

A step retrieves things by a semantic, spatial and temporal key and an order; a later step may refer to what an
earlier one found. The last step finds the target. One schema for the rules, for models and for programs.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from r4_ros.core.model import EventKind


class Form(str, Enum):
    """What kind of answer is wanted."""

    EXISTS = "exists"
    VERIFY = "verify"
    COUNT = "count"
    IDENTIFY = "identify"
    ATTRIBUTE = "attribute"
    STATE = "state"
    LOCATE = "locate"
    NAVIGATE = "navigate"
    DIRECTION = "direction"
    DISTANCE = "distance"
    WHEN = "when"
    DURATION = "duration"
    ORDER = "order"
    CHOOSE = "choose"
    COMPARE = "compare"
    EXPLAIN = "explain"
    ACTION = "action"


class Asked(str, Enum):
    """The property that is asked about."""

    COLOR = "color"
    MATERIAL = "material"
    SHAPE = "shape"
    SIZE = "size"
    BRAND = "brand"
    TEXT = "text"
    PATTERN = "pattern"
    TYPE = "type"
    OPENNESS = "openness"
    POWER = "power"
    FULLNESS = "fullness"
    CLEANLINESS = "cleanliness"
    AVAILABILITY = "availability"
    CONDITION = "condition"
    POSE = "pose"
    TEMPERATURE = "temperature"
    IDENTITY = "identity"
    LOCATION = "location"
    NUMBER = "number"
    AGENT = "agent"
    OTHER = "other"


class Relation(str, Enum):
    """How a thing stands to a reference; memory/relations.py defines each with its tolerances."""

    ON = "on"
    IN = "in"
    AT = "at"
    UNDER = "under"
    ABOVE = "above"
    BELOW = "below"
    NEXT_TO = "next_to"
    NEAR = "near"
    BETWEEN = "between"
    BEHIND = "behind"
    IN_FRONT_OF = "in_front_of"
    LEFT_OF = "left_of"
    RIGHT_OF = "right_of"
    ACROSS_FROM = "across_from"
    AROUND = "around"
    AGAINST = "against"
    ATTACHED_TO = "attached_to"
    FACING = "facing"
    CORNER = "corner"
    END = "end"
    CENTRE = "centre"
    TOP = "top"
    BOTTOM = "bottom"
    SIDE = "side"
    ALONG = "along"
    THROUGH = "through"
    SAME_ROOM = "same_room"


class TemporalOp(str, Enum):
    """When; ``NONE`` is only written in signatures (a step without a temporal key has none)."""

    NONE = "none"
    NOW = "now"
    AT = "at"
    BETWEEN = "between"
    AGO = "ago"
    BEFORE = "before"
    AFTER = "after"
    WHILE = "while"
    FIRST = "first"
    LAST = "last"
    NTH = "nth"
    SINCE = "since"
    START = "start"
    END = "end"
    HABIT = "habit"
    CHANGE = "change"


class By(str, Enum):
    """What a superlative compares."""

    DISTANCE = "distance"
    HEIGHT = "height"
    SIZE = "size"
    LEFT = "left"
    RIGHT = "right"
    TOP = "top"
    ORDER = "order"
    PRICE = "price"
    AGE = "age"
    OTHER = "other"


class Key(BaseModel):
    """Base of all parts of a plan: immutable, nothing unknown is taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reference(Key):
    """What a spatial key or a superlative refers to."""

    kind: Literal["ego", "step", "region"]
    step: int = Field(-1, description="index of an earlier step, for kind 'step'")
    region: str = Field("", description="name of a region or room as asked, for kind 'region'")

    @model_validator(mode="after")
    def _complete(self) -> Reference:
        if (self.kind == "step") != (self.step >= 0):
            raise ValueError("a reference to a step, and only that, has a step index")
        if (self.kind == "region") != bool(self.region):
            raise ValueError("a reference to a region, and only that, has a region name")
        return self


EGO = Reference(kind="ego")


class SpatialKey(Key):
    """The thing stands in ``relation`` to ``reference`` (for 'between' also to ``other``).

    ``subject`` is given only in ``Plan.ego``: 'with the river at my back' is the river behind me.
    """

    relation: Relation
    reference: Reference
    subject: Reference | None = None
    other: Reference | None = None
    min_distance: float = Field(0.0, ge=0, description="metres; 0: none")
    max_distance: float = Field(0.0, ge=0, description="metres; 0: none")
    negate: bool = False


class ClockTime(Key):
    """A time of day in the question's time zone, on a day counted from today (-1: yesterday)."""

    hour: int = Field(ge=0, le=24)
    minute: int = Field(0, ge=0, le=59)
    second: int = Field(0, ge=0, le=59)
    day: int = Field(0, le=0)


EventName = Literal["appeared", "moved", "disappeared", "reappeared", "changed"]
EVENT_KINDS: dict[str, EventKind] = {
    "appeared": EventKind.APPEARED,
    "moved": EventKind.MOVED,
    "disappeared": EventKind.DISAPPEARED,
    "reappeared": EventKind.REAPPEARED,
    "changed": EventKind.ATTRIBUTE_CHANGED,
}


class EventKey(Key):
    """Something that happened: to the thing of an earlier step (or to the step's own thing, for step -1).

    Instead of ``kinds``: a sighting (``seen``), a robot's own way (``own``, ``region``), what episodes tell (``text``).
    """

    kinds: tuple[EventName, ...] = ()
    step: int = -1
    seen: Literal["", "first", "last"] = Field("", description="instead of a kind: its first or last sighting")
    own: Literal["", "entered", "left", "was_in"] = Field("", description="what the robot itself did")
    region: str = Field("", description="the room that it entered, left or was in")
    agent: str = Field("", description="which robot; empty: the one that is asked")
    text: str = Field("", description="words to look for among episodes ('the meeting')")
    rank: int = Field(0, description="which of several: 1 the first, 2 the second, -1 the last; 0: the last")

    @model_validator(mode="after")
    def _one_of(self) -> EventKey:
        if not (self.kinds or self.seen or self.own or self.text):
            raise ValueError("an event has kinds, a sighting, a way of its own, or a text")
        if bool(self.own) != bool(self.region):
            raise ValueError("a robot enters, leaves or is in a region, and only then a region is named")
        return self


class TemporalKey(Key):
    """When: an operator with the words asked, and what they were understood as (nothing: not understood)."""

    op: TemporalOp
    arg: str = ""
    seconds: float | None = Field(None, ge=0, description="for ago; for since: 'in the last N seconds'")
    start: ClockTime | None = None
    end: ClockTime | None = None
    event: EventKey | None = None
    rank: int = Field(0, ge=0, description="for nth, from 1")


class Superlative(Key):
    """Of all that match, the extreme one: nearest, largest, second from the left."""

    by: By
    direction: Literal["min", "max"]
    reference: Reference | None = None
    side: str = Field("", description="for order: the side that is counted from")
    own: bool = Field(False, description="for height: its own (tallest), not how high; for size: its width")
    rank: int = Field(1, ge=1)


class Attribute(Key):
    """A property that restricts the thing, as asked; ``name`` is empty where only the word is known.

    ``owner`` is whose it is, ``with`` what belongs to it ('the pillow with a face'): a description may tell.
    """

    name: str = ""
    value: str
    negate: bool = False

    @property
    def is_known(self) -> bool:
        """Whether a memory may hold such a property."""
        return self.name not in ("", "owner", "with")


class SemanticKey(Key):
    """What kind of thing: the noun as asked, labels that mean the same, properties, purpose, exclusions."""

    text: str = ""
    labels: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    purpose: str = ""
    exclude: tuple[str, ...] = ()
    also: tuple[str, ...] = Field((), description="other things asked for with it ('the fork and the knife')")
    name: bool = Field(False, description="a proper name: only that very label matches")
    anything: bool = Field(False, description="the noun restricts nothing (object, thing)")


class Step(Key):
    """One retrieval by any of the three keys."""

    semantic: SemanticKey = SemanticKey()
    spatial: tuple[SpatialKey, ...] = ()
    temporal: tuple[TemporalKey, ...] = ()
    superlative: Superlative | None = None
    agents: tuple[str, ...] = Field((), description="as asked: 'seen by robot 2'")
    definite: bool = Field(False, description="one certain thing is meant ('the mug')")
    plural: bool = False
    number: int = Field(0, ge=0, description="how many are spoken of ('two chairs'); 0: not said")
    bound: Literal["", "exact", "least", "most"] = Field(
        "", description="the number is exact ('only two'), the least ('at least two') or the most; empty: as it is"
    )
    share: Literal["", "all", "none", "most", "half"] = Field(
        "", description="of how many of those meant it is claimed ('every chair'); for rooms: which have none"
    )
    in_view: bool = Field(False, description="it was seen at the time, not only there ('what did you see')")


class Claim(Key):
    """What a yes/no question says of its target: one of a relation, a property, an event."""

    spatial: SpatialKey | None = None
    attribute: Attribute | None = None
    event: EventKey | None = None
    still: bool = Field(False, description="it is said to be at its old place")
    negate: bool = False


class Comparison(Key):
    """What the target is compared with, and by what ('is the lamp taller than the shelf'); also what came first."""

    others: tuple[Reference, ...] = Field((), description="earlier steps; empty: the things of the last step alone")
    direction: Literal["same", "max", "min"]
    by: By | None = Field(None, description="what is compared, where that isn't the asked property")
    reference: Reference | None = Field(None, description="for distances: nearer to what")
    which: bool = Field(False, description="which of them is asked, not whether it is the target")


class Plan(Key):
    """A question in the query language."""

    question: str
    form: Form
    asked: Asked | None = None
    steps: tuple[Step, ...] = Field(min_length=1)
    ego: tuple[SpatialKey, ...] = Field((), description="where the asker imagines to stand")
    claim: Claim | None = None
    event: EventKey | None = Field(None, description="the event that is asked about: what was moved, when was it moved")
    to_other: Reference | None = Field(None, description="the other end of an asked distance or direction")
    choices: tuple[str, ...] = ()
    alternatives: tuple[SpatialKey, ...] = Field((), description="the choices, where they are places, in order")
    compared: Comparison | None = Field(None, description="for the forms compare and order")
    about: Literal["thing", "robot", "robots", "rooms"] = Field(
        "thing", description="what is asked about, where that is no remembered thing: a robot's own place, the rooms"
    )
    past: bool = Field(False, description="asked in the past tense")
    rest: str = Field("", description="a second question in the text, which this plan doesn't answer")
    unsupported: str = Field("", description="why this can't be answered")

    @model_validator(mode="after")
    def _earlier_steps(self) -> Plan:
        for i, step in enumerate(self.steps):
            if any(r.step >= i for r in references(step)):
                raise ValueError(f"step {i} refers to a step that isn't earlier")
        last = len(self.steps)
        outer = [r for s in self.ego for r in (s.reference, s.subject)] + [self.to_other]
        outer += [r for s in self.alternatives for r in (s.reference, s.other)]
        outer += [*self.compared.others, self.compared.reference] if self.compared is not None else []
        if any(r is not None and r.step >= last for r in outer):
            raise ValueError("a reference to a step that doesn't exist")
        return self

    @property
    def target(self) -> Step:
        """The step that finds what is asked about."""
        return self.steps[-1]


def anchors(step: Step) -> list[Reference]:
    """What a step's place and order refer to."""
    found = [r for s in step.spatial for r in (s.reference, s.other) if r is not None]
    if step.superlative is not None and step.superlative.reference is not None:
        found.append(step.superlative.reference)
    return found


def references(step: Step) -> list[Reference]:
    """Everything a step refers to."""
    events = [t.event.step for t in step.temporal if t.event is not None and t.event.step >= 0]
    return anchors(step) + [Reference(kind="step", step=index) for index in events]
