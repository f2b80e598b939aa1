"""Words of a question as the parser has them, and what kinds of tags there are."""

from __future__ import annotations

from dataclasses import dataclass

NOUN_TAGS = frozenset("NN NNS NNP NNPS".split())
MODIFIER_TAGS = frozenset("JJ JJR JJS CD VBN VBG HYPH AFX RBS ADD".split()) | NOUN_TAGS
DETERMINER_TAGS = frozenset("DT PRP$ PDT WDT WP$".split())
NOMINAL = frozenset("nsubj nsubjpass dobj pobj attr".split())
MEASURED = frozenset("nearest closest next close near nearer farthest furthest adjacent".split())

BE = frozenset("is are was were be been 's 're".split())
CLOSING = frozenset(". , : IN TO RB RP WRB".split())
NAMING = frozenset("what where who which whose".split())
"""Words whose questions need nothing said of their subject ('where is the coffee table')."""


@dataclass(frozen=True)
class Word:
    """One token: lower-case text, lemma, Penn tag, dependency and head as spaCy has them.

    ``can`` is what the dictionary says that the word may be: any of noun, verb, adj, adv.
    """

    i: int
    text: str
    lower: str
    lemma: str
    tag: str
    dep: str
    head: int
    can: frozenset[str] = frozenset()
