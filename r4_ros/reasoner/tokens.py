"""Words of a question as the parser has them, with the tags put right that a small model gets wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

from r4_ros.reasoner import lexicon

NOUN_TAGS = frozenset("NN NNS NNP NNPS".split())
MODIFIER_TAGS = frozenset("JJ JJR JJS CD VBN VBG HYPH AFX RBS ADD".split()) | NOUN_TAGS
DETERMINER_TAGS = frozenset("DT PRP$ PDT WDT WP$".split())
NOMINAL = frozenset("nsubj nsubjpass dobj pobj attr".split())
MEASURED = frozenset("nearest closest next close near nearer farthest furthest adjacent".split())

DOING = frozenset("did does do would could can will should might".split())
VERBISH = frozenset(
    """show look say read mean depict smell sound feel work start stop end change move shift turn fall switch swap
    return fit stand break vanish ring run drop arrive leave open close""".split()
)
"""Verbs that look like nouns behind a noun."""


@dataclass(frozen=True)
class Word:
    """One token: lower-case text, lemma, Penn tag, dependency and head as spaCy has them."""

    i: int
    text: str
    lower: str
    lemma: str
    tag: str
    dep: str
    head: int


def mended(tokens: tuple[Word, ...]) -> tuple[Word, ...]:
    """Tags that a small model gets wrong in questions, put right by what the words around them ask for."""
    right = [replace(w, tag="NN") if _is_nominal(tokens, w) or _is_no_verb(tokens, w) else w for w in tokens]
    right = [replace(w, tag="NN") if _is_container(tokens, w) else w for w in right]
    right = [replace(w, tag="VBZ") if _is_short_is(tokens, w) else w for w in right]
    right = [replace(w, tag="NNS") if w.tag == "VBZ" and w.dep in NOMINAL else w for w in right]
    listed = [w.tag in ("NN", "VBG") and w.dep == "amod" and tokens[w.i + 1].lower == "," for w in tokens[:-1]]
    right = [
        replace(w, tag="JJ") if w.i < len(listed) and listed[w.i] else w for w in right
    ]  # 'a loud, piercing sound'
    right = [replace(w, tag="VBN") if w.tag == "NN" and w.i and tokens[w.i - 1].lower == "be" else w for w in right]
    verb = _swallowed_verb(tuple(right))
    if verb >= 0:
        right[verb] = replace(tokens[verb], tag="VB")
        right[verb - 1] = replace(tokens[verb - 1], tag="NN") if right[verb - 1].tag == "JJ" else right[verb - 1]
    return tuple(right)


def _is_nominal(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the blind', 'the aquarium': an adjective that stands for a noun, as no noun follows its article."""
    if (
        word.tag not in ("JJ", "JJR")
        or word.dep not in NOMINAL
        or not word.i
        or tokens[word.i - 1].tag not in DETERMINER_TAGS
    ):
        return False
    if word.tag == "JJR" and tokens[min(word.i + 1, len(tokens) - 1)].lower in ("of", "one"):
        return False  # 'the smaller of the two'
    return word.i + 1 == len(tokens) or tokens[word.i + 1].tag not in MODIFIER_TAGS


def _is_container(tokens: tuple[Word, ...], word: Word) -> bool:
    """'what colour is the soda can': no modal, as nothing follows that it could govern."""
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in (".", ",", "IN", ":")
    return word.tag == "MD" and word.lower == "can" and word.i > 0 and closes


def _is_short_is(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where is the cat's hiding' is no possessive: 's before what is done."""
    doing = word.i + 1 < len(tokens) and tokens[word.i + 1].tag == "VBG"
    return word.tag == "POS" and doing and (word.i + 2 == len(tokens) or tokens[word.i + 2].tag not in MODIFIER_TAGS)


def _is_listed(tokens: tuple[Word, ...], word: Word) -> bool:
    """'a loud, piercing sound': one of several adjectives."""
    return word.tag in ("NN", "VBG") and word.dep == "amod" and tokens[word.i + 1].lower == ","


def _is_no_verb(tokens: tuple[Word, ...], word: Word) -> bool:
    """'nearest to dock 3', 'cotton swabs', 'the door handle?': a noun that was taken for a verb."""
    if word.tag not in ("VB", "VBP") or not word.i:
        return False
    before = tokens[word.i - 1]
    if before.tag == "TO":
        return word.i > 1 and tokens[word.i - 2].lower in MEASURED
    last = word.i + 1 == len(tokens) or tokens[word.i + 1].tag == "."
    if last and before.tag in NOUN_TAGS:
        return not any(w.tag in ("MD", "TO", "VBD") or w.lemma == "do" for w in tokens[: word.i])
    return word.dep in ("compound", "nsubj", "pobj")


def _swallowed_verb(tokens: tuple[Word, ...]) -> int:
    """'did the pillow move': behind do, its verb was taken for a noun of the subject; -1: there is a verb."""
    do = next((w.i for w in tokens if w.lower in DOING and w.i + 2 < len(tokens)), -1)
    if do < 0 or tokens[do + 1].tag in ("PRP", "EX"):
        return -1
    end = do + 1
    while end < len(tokens) and tokens[end].tag in DETERMINER_TAGS | MODIFIER_TAGS | {"POS"}:
        end += 1
    closes = end
    while closes < len(tokens) and tokens[closes].tag in DETERMINER_TAGS | MODIFIER_TAGS | {"POS", "IN", "RB"}:
        closes += 1
    if any(w.tag in ("VB", "VBP") for w in tokens[do + 1 : closes + 1]):
        return -1
    for k in range(do + 3, closes):  # 'does the art in the hallway show', 'did the mural change colour'
        verbal = tokens[k].lower in VERBISH and tokens[k].tag == "NN" and tokens[k - 1].tag in NOUN_TAGS | {"JJ"}
        if verbal and (k + 1 == closes or tokens[k + 1].tag in NOUN_TAGS | DETERMINER_TAGS | {"IN"}):
            return k
    last = end - 1
    nouns = sum(t.tag in NOUN_TAGS or lexicon.exact_kind(t.lower) is not None for t in tokens[do + 1 : end])
    return last if nouns > 1 and tokens[last].tag == "NN" and lexicon.exact_kind(tokens[last].lower) is None else -1
