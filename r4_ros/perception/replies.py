"""What a vision model is asked, by versioned prompts, and which of its replies are taken.

A reply is text from outside: it is judged by its form, cut to one sentence and kept as quoted data, whatever it says.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from pathlib import Path

PROMPTS = Path(__file__).with_name("prompts")
DESCRIBE, CAPTION = "describe-1", "caption-1"
MAX_WORDS = {DESCRIBE: 32, CAPTION: 50}
MAX_CHARACTERS = 300

WORDS = r"(?:(?!(?:in|on|at|of|near|by|inside|from|for|with|has|and|that|which)\b)[\w'’-]+\s+)"  # inside a noun phrase
ROOMS = r"(?:room|kitchen|bedroom|bathroom|office|hallway|corridor|interior|scene|setting|environment|space|area)"
PICTURE = r"(?:image|photo|photograph|picture|scene|screenshot|snapshot|view|frame|crop|clip|video)"
MANY = r"(?:two|three|four|five|six|seven|eight|nine|ten|dozens?|several|many|some|multiple|various|numerous|both|\d+)"
GROUP = r"(?:group|set|collection|stack|pile|row|bunch|variety|number|couple|assortment|selection|cluster)"
SCENE = re.compile(
    rf"^(?:(?:this|it|that) is )?(?:this|the|an?)?\s*(?:\w+\s+)?{PICTURE}\b|\b(?:shows|depicts|showing|captures)\b|"
    rf"\bin the (?:background|foreground|{PICTURE})\b|"
    rf"^(?:an?|the)\s+{WORDS}{{0,3}}{ROOMS}\s*(?:with|containing|featuring|where|full|filled|and|[,.]|$)",
    re.I,
)
SEVERAL = re.compile(
    rf"^(?:there are|these|those|they|{MANY})\b|^an?\s+(?:\w+\s+)?{GROUP} of\b|"
    rf"^(?:an?|the)\s+{WORDS}{{0,4}}[\w'’-]+(?:\s+and|,)\s+(?:an?|the|{MANY})\s+|"
    r"^(?:the\s+)?(?:[\w'’-]+\s+){0,2}\w+s are\b|\b(?:several|multiple|various|many) (?:objects|items|things|people)\b",
    re.I,
)
PAIR = re.compile(r"^a\s+(?:\w+\s+)?pair of\b", re.I)
REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|language model|unable to|not able to|can(?:'|’)?(?:no)?t (?:see|tell|be|help|"
    r"describe|identify|determine|assist|provide)|could(?: not|n't) (?:see|tell|identify)|i (?:do not|don(?:'|’)t)|"
    r"not (?:visible|possible|clear|recogni[sz]able)|unclear|unidentifi\w+|no (?:object|description|discernible))\b|"
    r"^(?:unknown|none|nothing|n/?a)\W*$",
    re.I,
)
ODD = re.compile(
    r"[<>{}\[\]`|\\\x00-\x08\x0e-\x1f]|https?:|www\.|\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|instruction|"
    r"prompt|above|rules)|\b(?:system|assistant|user)\s*:|\binstructions?\b",
    re.I,
)
LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+", re.M)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“])")


class ReplyFault(str, Enum):
    """Why a reply isn't taken; counted by these names."""

    EMPTY = "empty"
    REFUSAL = "refusal"
    TOO_LONG = "too_long"
    SCENE = "scene"
    SEVERAL = "several"
    ODD = "odd"
    FOREIGN = "foreign"


class ReplyRefused(Exception):
    """A reply that isn't taken."""

    def __init__(self, fault: ReplyFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


@lru_cache(maxsize=8)
def _parts(name: str) -> tuple[str, str]:
    system, _, text = (PROMPTS / f"{name}.md").read_text(encoding="utf-8").partition("\n===\n")
    return system.strip(), text.strip()


def prompt(name: str, **values: object) -> tuple[str, str]:
    """System prompt and question of a version, with its {places} filled."""
    system, text = _parts(name)
    for key, value in values.items():
        system, text = (part.replace(f"{{{key}}}", " ".join(str(value).split())) for part in (system, text))
    return system, text


def description_of(reply: str, label: str) -> str:
    """The sentence about one instance that a reply holds. Raises ReplyRefused."""
    text = _sentence(reply, DESCRIBE)
    scene = SCENE.search(text)
    if scene and not set(scene[0].lower().split()) & set(label.lower().split()):
        raise ReplyRefused(ReplyFault.SCENE)
    plural = label.strip().lower().endswith("s")
    several = SEVERAL.search(text)
    if several and not (plural and not re.match(rf"^(?:{MANY}|an?\s+(?:\w+\s+)?{GROUP})\b", text, re.I)):
        raise ReplyRefused(ReplyFault.SEVERAL)
    if PAIR.match(text) and not plural:
        raise ReplyRefused(ReplyFault.SEVERAL)
    return text


def caption_of(reply: str) -> str:
    """The sentence about a clip that a reply holds. Raises ReplyRefused."""
    return _sentence(reply, CAPTION)


def _sentence(reply: str, kind: str) -> str:
    """One sentence on one line, without quotes and markup around it."""
    text = reply.strip().strip("\"'“”*_ ").strip()
    if not text:
        raise ReplyRefused(ReplyFault.EMPTY)
    if REFUSAL.search(text):
        raise ReplyRefused(ReplyFault.REFUSAL)
    if LISTED.search(text) or ODD.search(text):
        raise ReplyRefused(ReplyFault.ODD)
    text = SENTENCE_END.split(" ".join(text.split()))[0].strip("\"'“”*_ ")
    if len(text) > MAX_CHARACTERS or len(text.split()) > MAX_WORDS[kind]:
        raise ReplyRefused(ReplyFault.TOO_LONG)
    letters = [c for c in text if c.isalpha()]
    if not letters:
        raise ReplyRefused(ReplyFault.EMPTY)
    if sum(c.isascii() for c in letters) < 0.8 * len(letters):
        raise ReplyRefused(ReplyFault.FOREIGN)
    return text
