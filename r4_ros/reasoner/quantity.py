"""'at least two', 'none of the', 'every': of how many things something is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from r4_ros.reasoner.phrases import NUMBERS, NounPhrase

Bound = Literal["", "exact", "least", "most"]
Share = Literal["", "all", "none", "most", "half"]

NUMBER = rf"(?:{'|'.join(NUMBERS)}|\d{{1,3}})\b"
OF = r"(?:of )(?=(?:the|these|those|my|your|our|them|all)\b)"
ASKING = r"^((?:(?:and|so|but|please|hey|hi|robot),? )*(?:(?:is|are|was|were|do|does|did|has|have|had)(?: not|n't)? )?)"
LEAST = "at least|no fewer than|no less than|not less than|a minimum of"
MOST = "at most|no more than|not more than|up to|a maximum of"
EXACT = "exactly|precisely|only|just"
UNITS = r"m|cm|mm|km|met(?:re|er)s?|feet|foot|inch(?:es)?|sec\w*|min\w*|hours?|days?|weeks?|times?|percent|%|o'clock"
MEASURE = rf"(?! ?(?:{UNITS})(?!\w))"
SHARES: dict[str, Share] = {
    "all": "all",
    "each": "all",
    "each one": "all",
    "every one": "all",
    "every single one": "all",
    "both": "all",
    "none": "none",
    "neither": "none",
    "most": "most",
    "the majority": "most",
    "more than half": "most",
    "half": "half",
    "exactly half": "half",
}
SHARED = re.compile(rf"{ASKING}({'|'.join(sorted(SHARES, key=len, reverse=True))}) {OF}", re.IGNORECASE)
HALF = re.compile(rf"{ASKING}((?:more than |exactly )?half) (?=the\b)", re.IGNORECASE)
SPANS = r"mornings|afternoons|evenings|nights|weeks|weekends|months|years|times|\w*days"
MOSTLY = re.compile(rf"{ASKING}(most) (?!(?:{SPANS})\b)(?=(?:of )?(?:\w+ )?\w+s\b)", re.IGNORECASE)
COUNTED = re.compile(rf"{ASKING}(?:({LEAST}|{MOST}|{EXACT}) )?({NUMBER}) {OF}", re.IGNORECASE)
BOUNDED = re.compile(rf"\b({LEAST}|{MOST}) (?={NUMBER}{MEASURE})", re.IGNORECASE)
EVERY = frozenset("all every each both".split())
NONE = frozenset("no neither".split())
EXACTLY = frozenset(EXACT.split("|"))


@dataclass(frozen=True)
class Quantity:
    """How many: a number with its bound, or a share of all that are meant."""

    number: int = 0
    bound: Bound = ""
    share: Share = ""

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return self != NOTHING


NOTHING = Quantity()


def taken(text: str) -> tuple[str, Quantity]:
    """The question without what would hide the thing from a parse ('at least', 'none of'), and what that said."""
    for pattern in (SHARED, HALF, MOSTLY):
        match = pattern.search(text)
        if match is not None:
            said = match[2].casefold()
            number = 2 if said in ("both", "neither") else 0
            return pattern.sub(r"\1", text, count=1), Quantity(number, share=SHARES[said])
    match = COUNTED.search(text)
    if match is not None:
        return COUNTED.sub(r"\1", text, count=1), Quantity(_number(match[3]), _bound(match[2] or ""))
    match = BOUNDED.search(text)
    if match is not None:
        return BOUNDED.sub("", text, count=1), Quantity(bound=_bound(match[1]))
    return text, NOTHING


def _number(word: str) -> int:
    return NUMBERS.get(word.casefold()) or int(word if word.isdecimal() else 0)


def _bound(said: str) -> Bound:
    word = said.casefold()
    return "exact" if word in EXACTLY else "most" if word in MOST.split("|") else "least"


def of_phrase(lowers: tuple[str, ...], phrase: NounPhrase, verifies: bool) -> Quantity:
    """What stands in a noun phrase and before it: 'more than three chairs', 'only two', 'every chair', 'no chair'."""
    before = lowers[max(0, phrase.start - 2) : phrase.start]
    inside = lowers[phrase.start : phrase.head]
    number = phrase.number
    if number and before[-1:] == ("than",) and before[:1] in (("more",), ("fewer",), ("less",)):
        more = before[0] == "more"
        return Quantity(number + 1 if more else number - 1, "least" if more else "most")
    if number and EXACTLY & {*before, *inside}:
        return Quantity(number, "exact")
    if phrase.noun == "everything":
        return Quantity(share="all")
    if EVERY & {*inside, *before[-1:]}:
        return Quantity(2 if "both" in (*inside, *before[-1:]) else number, share="all")
    if NONE & set(inside):
        return Quantity(number, share="none")
    return Quantity(number, "least" if number and verifies and not phrase.determiner else "")


def of_step(
    said: Quantity, lowers: tuple[str, ...], phrase: NounPhrase | None, is_target: bool, verifies: bool
) -> Quantity:
    """Of how many things a step speaks; a share or bound goes into the plan of the target only."""
    if phrase is None or not is_target:
        return NOTHING if phrase is None else Quantity(phrase.number)
    own = of_phrase(lowers, phrase, verifies)
    share = said.share or (own.share if verifies or own.share == "none" else "")
    return Quantity(said.number or own.number, said.bound or own.bound, share)
