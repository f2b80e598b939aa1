"""What a question asks for, as found in its words, and the words that ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.tokens import Word

AUXILIARIES = frozenset(
    """is are was were am do does did has have had can could will would should may might 's isn't aren't wasn't
    weren't ain't""".split()
)
BE = frozenset("is are was were am be been 's 're".split())
WH = frozenset("what where when which who whose whom why how what's where's".split())
GO_VERBS = frozenset(
    "take guide lead navigate bring escort drive walk go move head come steer fetch get give hand".split()
)
GOING_VERBS = frozenset("go head turn walk run move drive".split())
LEADING = frozenset("take guide lead navigate escort drive walk show bring direct point steer get".split())
COMMANDS = frozenset(
    """rank sort order put arrange pick choose select identify point reverse proceed approach wait stop follow
    return""".split()
)
"""Verbs that command, where they open a sentence and are verbs there."""
HEADING = frozenset("reverse proceed approach wait stop follow return".split())
ALIKE = frozenset("identical similar different alike match matches matching equal resemble".split())
POINTS_IN_TIME = frozenset(
    "time date day hour point moment stage instant year month week decade century season weekday occasion".split()
)
EXPLAINED = frozenset(
    """relationship personality character attitude opinion view reason purpose impression feeling motivation motive
    meaning significance difference similarity cause intention approach role function importance benefit advantage
    drawback philosophy nature point""".split()
)
"""What asks for an explanation: 'what is Anna's attitude to ..'."""
FIND_VERBS = frozenset("find locate".split())
SEE_LEMMAS = frozenset("see saw notice spot observe detect find perceive remember encounter".split())
FILLERS = frozenset(", . hi hey hello ok okay please so and well oh robot excuse um then also sorry".split())
STRANDED = frozenset("in on at under to behind near by beside against".split())
PLACING = frozenset(
    "in on at under between behind inside beneath near by beside opposite outside above below over against "
    "underneath".split()
)
SEEKING = (("looking", "for"), ("searching", "for"), ("look", "for"))
WANTING = frozenset("lose seek need want miss".split())
SOME = frozenset("a an some something anything anyone someone anybody somebody nobody any".split())
PEOPLE = frozenset("anyone anybody someone somebody nobody".split())
IMAGINING = frozenset("imagine suppose say picture position assume pretend".split())
TAGS = (("right",), ("correct",), ("yes",), ("no",), ("eh",), ("huh",), ("ok",), ("innit",), ("am", "i", "right"))
"""What makes a question of a statement, behind a comma."""
WAY_VERBS = frozenset("go turn head walk run exit leave move get travel reach drive".split())
SIZE_WORDS = frozenset("big large tall high wide small deep heavy thick".split())
STATES_OF_AFFAIRS = frozenset("state condition order color colour shape direction way language year month case".split())
RESOLVING = frozenset(
    "tell know remember remind say show explain recall wonder like idea clue guess reckon think suppose believe".split()
)
CHECKING = RESOLVING | frozenset("notice recall check confirm verify ask see sure find look make ensure".split())
"""Verbs that 'if' and 'whether' open a question behind: 'can you check whether the door is open'."""
OPENING = 9  # words of 'could you please have a look and tell me'
POSTURES = frozenset("stand sit rest lie lay hang lean perch stay place put be set mount keep locate position".split())
"""Verbs of where something is."""


@dataclass(frozen=True)
class Ask:
    """The form; the words [start, end) that say it; ``subject`` where the target's words may begin."""

    form: Form
    start: int
    end: int
    asked: Asked | None = None
    choices: tuple[str, ...] = ()
    chosen_from: int = -1  # where the alternatives begin
    bare: bool = False  # 'what', 'who': the target itself is what is asked


@dataclass(frozen=True)
class Clause:
    """The words [start, end) that ask, from the asking word on; ``masked`` are words of time."""

    reading: Reading
    start: int
    end: int
    masked: frozenset[int] = frozenset()

    @property
    def words(self) -> tuple[Word, ...]:
        """The words, asking word first."""
        return self.reading.words[self.start : self.end]

    @property
    def lowers(self) -> tuple[str, ...]:
        """The words in lower case."""
        return self.reading.lowers[self.start : self.end]

    @property
    def untimed(self) -> tuple[Word, ...]:
        """The words that don't say when."""
        return tuple(w for w in self.words if w.i not in self.masked)

    @property
    def lemmas(self) -> frozenset[str]:
        """The dictionary forms of the words."""
        return frozenset(w.lemma for w in self.words)

    def at(self, i: int) -> str:
        """Word i behind the asking word; '' beyond the end."""
        return self.reading.lowers[self.start + i] if 0 <= self.start + i < self.end else ""

    def has(self, *said: str) -> bool:
        """Whether one of these words stands there."""
        return not frozenset(said).isdisjoint(self.lowers)


Reader = Callable[[Clause], "Ask | None"]


def first_of(readers: tuple[Reader, ...], clause: Clause) -> Ask | None:
    """What the first reader understands that understands anything."""
    return next((ask for read in readers if (ask := read(clause)) is not None), None)
