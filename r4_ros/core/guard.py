"""The guard of free text about queries: it may speak of ways of asking, never of what was asked for or found."""

from __future__ import annotations

import re

MOST_WORDS = 40
WORDS = frozenset(
    """
    a about add after again all also always an and another any anywhere around as ask asking at attribute attributes
    be because been before both broad broader but by call called can change changed close closer color colour
    condition conditions constraint constraints could description detail details did different directly do does drop
    dropped dropping earlier either else elsewhere empty even evidence exact exactly fail failed fails few first fit
    for found from general gone had has have if ignore in instead into is it its just keep key keys kind kinds label
    labels last later leave left less like look loosen may meaning might more most move moved name named names
    narrow near nearby needs neighbouring never next no none not nothing now object objects of often older on once
    one only or order other others out over past place places plan property properties queries query question
    questions rather region regions relation relations relax remove removing repeat result results retrieve
    retrieved room rooms rule same search searching seen semantic several should similar since size smaller so some
    something sort spatial specific spelling start still such synonym synonyms temporal than that the them then
    there these they thing things this those time times to together too try trying two type types under until use
    used very wait was way were what when where which while who wide widen wider will window with within without
    word words work would wrong
    """.split()
)
"""What a note may be made of. No name, number or thing is among them."""
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|\S", re.UNICODE)
_PLAIN = frozenset(".,;:-()")


def strangers(note: str) -> list[str]:
    """What isn't allowed in a note: all words, numbers and signs but those of asking.

    So no entity, number, quote or answer can be in it. Too long a note is refused whole.
    """
    tokens = [token.casefold() for token in _TOKEN.findall(note)]
    if len(tokens) > 2 * MOST_WORDS:
        return [f"{len(tokens)} words"]
    return [t for t in tokens if t not in WORDS and t not in _PLAIN]
