"""Nearest, tallest, leftmost, second from the left: which one of several is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from r4_ros.reasoner.keys import By
from r4_ros.reasoner.occasions import ORDINALS
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase

WORDS: dict[str, tuple[By, Literal["min", "max"]]] = {
    "nearest": (By.DISTANCE, "min"),
    "closest": (By.DISTANCE, "min"),
    "farthest": (By.DISTANCE, "max"),
    "furthest": (By.DISTANCE, "max"),
    "largest": (By.SIZE, "max"),
    "biggest": (By.SIZE, "max"),
    "smallest": (By.SIZE, "min"),
    "littlest": (By.SIZE, "min"),
    "widest": (By.SIZE, "max"),
    "broadest": (By.SIZE, "max"),
    "longest": (By.SIZE, "max"),
    "narrowest": (By.SIZE, "min"),
    "tallest": (By.HEIGHT, "max"),
    "shortest": (By.HEIGHT, "min"),
    "highest": (By.HEIGHT, "max"),
    "lowest": (By.HEIGHT, "min"),
    "topmost": (By.TOP, "max"),
    "leftmost": (By.LEFT, "max"),
    "rightmost": (By.RIGHT, "max"),
    "oldest": (By.AGE, "max"),
    "eldest": (By.AGE, "max"),
    "youngest": (By.AGE, "min"),
    "newest": (By.AGE, "min"),
    "cheapest": (By.PRICE, "min"),
}
COMPARATIVES: dict[str, tuple[By, Literal["min", "max"]]] = {
    "nearer": (By.DISTANCE, "min"),
    "closer": (By.DISTANCE, "min"),
    "farther": (By.DISTANCE, "max"),
    "further": (By.DISTANCE, "max"),
    "larger": (By.SIZE, "max"),
    "bigger": (By.SIZE, "max"),
    "smaller": (By.SIZE, "min"),
    "taller": (By.HEIGHT, "max"),
    "shorter": (By.HEIGHT, "min"),
    "higher": (By.HEIGHT, "max"),
    "lower": (By.HEIGHT, "min"),
    "older": (By.AGE, "max"),
    "newer": (By.AGE, "min"),
}
"""Of two ('which of the two lamps is taller')."""
OF_THE_THING = frozenset("tallest shortest taller shorter widest broadest longest narrowest".split())
MEETING = frozenset("hit reach meet bump run collide encounter pass touch".split())
"""Verbs of what comes first on a way."""
MOST = {"left": By.LEFT, "right": By.RIGHT}


@dataclass(frozen=True)
class Extreme:
    """A superlative as read: words [start, end), the phrase it picks from (None: the target) and its reference."""

    by: By
    direction: Literal["min", "max"]
    start: int
    end: int
    phrase: NounPhrase | None
    reference: NounPhrase | None = None
    ego: bool = False
    side: str = ""
    rank: int = 1
    own: bool = False


def find(reading: Reading, masked: frozenset[int]) -> list[Extreme]:
    """All superlatives, from left to right."""
    found = []
    of_two = "which" in reading.lowers and not {"than", "or"} & set(reading.lowers)
    for i, word in enumerate(reading.words):
        if i in masked:
            continue
        of_them = i and reading.lowers[i - 1] == "the" and reading.lowers[i + 1 : i + 2] in (("of",), ("one",))
        kind = (
            WORDS.get(word.lower) if (word.lower, word.tag) != ("longest", "RBS") else None
        )  # 'which of them stayed longest'
        kind = kind or (COMPARATIVES.get(word.lower) if of_two or of_them else None)
        if kind is None and word.lower in ("most", "far") and reading.lowers[i - 1 : i] and i:
            side = MOST.get(reading.lowers[i - 1])
            kind = (side, "max") if side is not None else None
        if (
            kind is None
            and word.tag in ("JJS", "RBS")
            and word.lower not in ("most", "least", "last", "latest", "earliest", "best", "worst")
        ):
            kind = By.OTHER, "max"
        if kind is None and word.lower in ("most", "fewest", "least") and word.tag == "JJS" and _counts(reading, i):
            direction: Literal["min", "max"] = "max" if word.lower == "most" else "min"
            found.append(Extreme(By.OTHER, direction, i, i + 1, None))  # 'which shelf has the most jars'
            continue
        graded = word.lower in ("most", "least") and i + 1 < len(reading.words)
        graded = graded and reading.words[i + 1].tag in ("JJ", "VBN", "RB")
        if kind is None and graded and reading.lowers[i + 1] not in ("likely", "recent", "common"):
            by = By.PRICE if reading.lowers[i + 1] in ("expensive", "costly") else By.OTHER
            kind = by, "max" if word.lower == "most" else "min"  # 'the most crowded'
        spans = i > 0 and reading.lowers[i - 1] in ("from", "to") and {"from", "to"} <= set(reading.lowers)
        if kind is not None and not spans:  # not 'rank them from emptiest to fullest'
            found.append(_extreme(reading, i, *kind))
        ordinal = _ordinal(reading, i)
        if ordinal is not None:
            found.append(ordinal)
    return found


def _counts(reading: Reading, i: int) -> bool:
    """'the most jars', 'the least laundry'."""
    named = i + 1 < len(reading.words) and reading.words[i + 1].tag in ("NN", "NNS")
    return i > 0 and reading.lowers[i - 1] == "the" and named


def _extreme(reading: Reading, i: int, by: By, direction: Literal["min", "max"]) -> Extreme:
    phrase = reading.phrase_at(i)
    end = i + 1
    if phrase is None and reading.lowers[i + 1 : i + 2] == ("of",) and i + 2 < len(reading.lowers):
        phrase = reading.phrase_at(i + 2)  # 'the smaller of the two suitcases'
    elif phrase is None and i and reading.lowers[i - 1] in ("the", "is", "'s", "are", "was"):
        phrase = reading.phrase_at(i - 2) if reading.lowers[i - 1] != "the" and i > 1 else None
        phrase = None if phrase is not None and reading.lowers[i - 1] != "the" and phrase.head != i - 2 else phrase
    elif phrase is None and i:
        phrase = reading.phrase_at(i - 1)
    owner_end = phrase.end if phrase is not None and phrase.start <= i < phrase.end else i + 1
    reference, ego = None, False
    if by is By.DISTANCE:
        reference, ego, end = _reference(reading, i, owner_end)
        if reference is None and not ego and phrase is not None and phrase.start <= i - 1 and phrase.end > i + 1:
            ego = False
    rank = ORDINALS.get(reading.lowers[i - 1], 0) if i else 0  # 'the second largest'
    own = reading.lowers[i] in OF_THE_THING
    return Extreme(by, direction, i - bool(rank), end, phrase, reference, ego, rank=max(1, rank), own=own)


def _reference(reading: Reading, i: int, after: int) -> tuple[NounPhrase | None, bool, int]:
    """What 'nearest' is measured from: '(to|from) NP' right behind the word or its noun."""
    lowers = reading.lowers
    for j in (i + 1, after):
        k = j + (lowers[j : j + 1] in (("to",), ("from",), ("by",)))
        if k == j and j != i + 1:
            continue
        if k < len(lowers) and lowers[k] in EGO_WORDS | {"here"}:
            return None, True, k + 1
        phrase = reading.phrase_at(k) if k < len(lowers) else None
        if phrase is not None and not phrase.start <= i < phrase.end:
            return phrase, False, phrase.end
    return None, False, i + 1


def met_first(reading: Reading, i: int) -> bool:
    """'what would I hit first': the nearest one of the way."""
    before = {w.lemma for w in reading.words[max(0, i - 5) : i]}
    return reading.lowers[i] == "first" and bool(before & MEETING) and bool(before & {"would", "will", "'d", "'ll"})


def _ordinal(reading: Reading, i: int) -> Extreme | None:
    """'second stool from the left'; 'first object' is the nearest one of a direction."""
    rank = ORDINALS.get(reading.lowers[i], 0)
    if rank and met_first(reading, i):
        return Extreme(By.DISTANCE, "min", i, i + 1, None, ego=True)
    phrase = reading.phrase_at(i)
    lowers = reading.lowers
    along = i + 1 + (lowers[i + 1 : i + 2] in (("along",), ("in",), ("down",), ("up",), ("over",), ("one",)))
    if rank and phrase is None and lowers[along : along + 1] == ("from",):  # 'second along from the aisle'
        origin = reading.phrase_at(along + 1)
        side = lowers[along + 2] if lowers[along + 1 : along + 2] == ("the",) and along + 2 < len(lowers) else ""
        side = side if side in ("left", "right", "top", "bottom") else ""
        end = origin.end if origin is not None else along + 3
        return Extreme(By.ORDER, "min", i, end, None, None if side else origin, side=side, rank=rank)
    if not rank or phrase is None:
        return None
    after = phrase.end + (lowers[phrase.end : phrase.end + 1] in (("along",), ("down",), ("in",), ("up",), ("over",)))
    after = after if lowers[after : after + 1] == ("from",) else phrase.end  # 'the second stall along from the door'
    tail = lowers[after : after + 3]
    if tail[:2] == ("from", "the") and tail[2:] in (("left",), ("right",), ("top",), ("bottom",)):
        return Extreme(By.ORDER, "min", i, after + 3, phrase, side=tail[2], rank=rank)
    origin = reading.phrase_at(after + 1) if tail[:1] == ("from",) and after + 1 < len(lowers) else None
    if origin is not None and origin.definite and phrase.definite:  # 'the second pillar from the entrance'
        return Extreme(By.ORDER, "min", i, origin.end, phrase, origin, rank=rank)
    if rank == 1 and phrase.noun in ("object", "thing", "item"):
        return Extreme(By.DISTANCE, "min", i, i + 1, phrase, ego=True)
    return None
