"""The vocabulary of the experience room: how a retrieval run went, and what was learnt from it. Holds no facts.

Everything here is a closed choice: a lesson can say 'relax the place first', never what was found, where or by whom.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.guard import strangers


class Anomaly(str, Enum):
    """What a run notices about itself, from its own queries and what they returned."""

    EMPTY = "empty"  # nothing matched
    REPEATED = "repeated"  # the same query again
    STALLED = "stalled"  # two rounds with hardly anything new
    UNANSWERED = "unanswered"  # the budget is about to end


class Key(str, Enum):
    """The keys of a query; see DESIGN's three keys."""

    SEMANTIC = "semantic"
    SPATIAL = "spatial"
    TEMPORAL = "temporal"
    AGENT = "agent"


class Relax(str, Enum):
    """One way to ask for less, in the order in which a run tries them by itself; see ``own_rank``."""

    REGION = "region"  # without the named place
    ATTRIBUTE = "attribute"  # without the colour, size ...
    KIND = "kind"  # a wider kind of thing
    SPELLING = "spelling"  # what the word was probably meant to be
    ALIKE = "alike"  # what sounds alike and was taken for another kind
    ANY_KIND = "any_kind"  # whatever has that property at that place
    TIME = "time"  # at any time
    AGENT = "agent"  # seen by anybody
    NEARBY = "nearby"  # around the named place
    PLACE = "place"  # anywhere


RELAX_KEY = {
    Relax.REGION: Key.SPATIAL,
    Relax.ATTRIBUTE: Key.SEMANTIC,
    Relax.KIND: Key.SEMANTIC,
    Relax.SPELLING: Key.SEMANTIC,
    Relax.ALIKE: Key.SEMANTIC,
    Relax.ANY_KIND: Key.SEMANTIC,
    Relax.TIME: Key.TEMPORAL,
    Relax.AGENT: Key.AGENT,
    Relax.NEARBY: Key.SPATIAL,
    Relax.PLACE: Key.SPATIAL,
}
"""Which key each relaxation loosens."""
_OWN_ORDER = tuple(Relax)


class Polarity(str, Enum):
    """Whether a lesson tells what helped or what failed."""

    SUCCESS = "success"
    FAILURE = "failure"


class FailureMode(str, Enum):
    """How a run went wrong."""

    NONE = "none"
    MISLED = "misled"  # a relaxation found something, and the answer was wrong
    EXHAUSTED = "exhausted"  # nothing that was tried found anything


FORMS = frozenset(
    """exists verify count identify attribute state locate navigate direction distance when duration order choose
    compare explain action""".split()
)
CORE = frozenset([f"emptied_by:{f.value}" for f in Key] + ["semantic:standing"])
"""What of a situation decides how to go on; see ``Situation.core``."""
FACETS = frozenset(
    [f"semantic:{f}" for f in "anything named kind attribute strange alike standing".split()]
    + [
        f"spatial:{f}"
        for f in (
            """region on in at under above below next_to near between behind in_front_of left_of right_of across_from
        around against attached_to facing corner end centre top bottom side along through same_room"""
        ).split()
    ]
    + [
        f"temporal:{f}"
        for f in ("none now at between ago before after while first last nth since start end habit change").split()
    ]
    + [f"emptied_by:{f.value}" for f in Key]
    + ["agent:named", "chained", "past", "reference"]
)
"""All that a situation can say. A word that isn't here can't get into a lesson, whatever it names."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a question asks for, by type only: its form and the facets of its plan, such as ``spatial:on``.

    Raises InvalidArgument for a form or facet outside the closed vocabulary.
    """

    form: str
    facets: tuple[str, ...]
    anomaly: Anomaly = Anomaly.EMPTY

    def __post_init__(self) -> None:
        foreign = [f for f in self.facets if f not in FACETS] + [self.form] * (self.form not in FORMS)
        if foreign:
            raise InvalidArgument(f"'{foreign[0][:40]}' isn't in the vocabulary of situations")

    @property
    def core(self) -> tuple[Anomaly, frozenset[str]]:
        """What of it decides how to go on: the anomaly, which key left nothing over, whether the thing stays put."""
        return self.anomaly, CORE.intersection(self.facets)

    def __str__(self) -> str:
        return f"{self.anomaly.value}; {self.form}; {' '.join(self.facets)}"

    @staticmethod
    def parse(text: str) -> Situation:
        """The situation that was written as text. Raises InvalidArgument."""
        try:
            anomaly, form, facets = text.split("; ", 2)
            return Situation(form, tuple(facets.split(" ")) if facets else (), Anomaly(anomaly))
        except InvalidArgument:
            raise
        except ValueError:
            raise InvalidArgument(f"'{text[:40]}' is no situation: expected 'anomaly; form; facets'") from None


def own_rank(dropped: Sequence[Relax], anomaly: Anomaly, facets: Collection[str]) -> tuple[int, int, int]:
    """Where a run by itself puts a query that drops this, least first: what loosens the key that left nothing over.

    The place isn't blamed for a thing that stays where it stands: what else was said of it is the likelier mistake.
    Two conditions come after single ones; after rounds that brought nothing new they, and the whole kind, come first.
    """
    pair, stalled = len(dropped) > 1, anomaly is Anomaly.STALLED
    if pair or (stalled and dropped[0] is Relax.ANY_KIND):
        return (0 if stalled else 2, int(pair), 0)
    key = RELAX_KEY[dropped[0]]
    standing = key is Key.SPATIAL and f"{Key.SEMANTIC.value}:standing" in facets
    blamed = f"emptied_by:{key.value}" in facets and not standing
    return 1, int(not blamed), _OWN_ORDER.index(dropped[0])


@dataclass(frozen=True, slots=True)
class Focus:
    """Advice for the query writer: which query comes before which. Nobody else accepts one.

    ``prefer`` and ``avoid`` are one query each, by the conditions that it drops (two of them: both at once). What is
    preferred comes before what is to be avoided; without one to avoid, before all others; one to avoid alone comes
    last. ``note``: words for a query writer that is a language model; others don't read it. Raises InvalidArgument for
    a note with any word that doesn't speak of asking (``core.guard``).
    """

    prefer: tuple[Relax, ...] = ()
    avoid: tuple[Relax, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        strange = strangers(self.note)
        if strange:
            raise InvalidArgument(f"'{strange[0][:40]}' has no place in a note about asking")

    def __str__(self) -> str:
        prefer, avoid = (" and ".join(r.value for r in dropped) for dropped in (self.prefer, self.avoid))
        if prefer and avoid:
            return f"drop {prefer} before {avoid}"
        return f"drop {prefer} first" if prefer else f"drop {avoid} last" if avoid else "nothing to change"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What runs of one kind have shown about asking. Counters: tasks that used it, and how these ended.

    ``created`` and ``last_used`` count finished tasks, so that ageing is the same on a busy and on an idle robot.
    """

    lesson_id: str
    polarity: Polarity
    when_to_use: Situation
    evidence_need: Key
    failure_mode: FailureMode
    correction: Focus
    support: int = 1  # tasks that taught it
    uses: int = 0
    helped: float = 0.0
    hurt: float = 0.0
    created: int = 0
    last_used: int = 0
    agents: tuple[str, ...] = field(default=())  # whose tasks taught it


@dataclass(frozen=True, slots=True)
class Advice:
    """A focus and the lessons it comes from, which are credited or blamed for how the task ends."""

    focus: Focus = Focus()
    lesson_ids: tuple[str, ...] = ()
