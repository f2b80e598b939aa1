"""Tags that a small model gets wrong in questions, put right by what the words around them ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.mended_verbs import (
    are_named,
    has_been,
    is_able_to,
    is_compounded,
    is_container,
    is_doing,
    is_done,
    is_governed,
    is_inverted,
    is_left_by_doing,
    is_named,
    is_no_verb,
    is_participle,
    is_past,
    is_short_is,
    is_thing,
    is_third_person,
    is_told_of_name,
    is_unlicensed,
    swallowed_verb,
    which_named,
    with_particles,
)
from r4_ros.reasoner.tokens import BE, CLOSING, DETERMINER_TAGS, MODIFIER_TAGS, NAMING, NOMINAL, NOUN_TAGS, Word

COMPARING = frozenset("nearer closer farther further taller shorter bigger larger smaller higher lower wider".split())


def mended(tokens: tuple[Word, ...]) -> tuple[Word, ...]:
    """Tags that a small model gets wrong in questions, put right by what the words around them ask for."""
    tokens = with_particles(tokens)
    for is_wrong, tag in RULES:
        tokens = tuple(replace(w, tag=tag) if w.tag != tag and is_wrong(tokens, w) else w for w in tokens)
    verb = swallowed_verb(tokens)
    if verb < 0:
        return tokens
    before = replace(tokens[verb - 1], tag="NN") if tokens[verb - 1].tag == "JJ" else tokens[verb - 1]
    return (*tokens[: verb - 1], before, replace(tokens[verb], tag="VB"), *tokens[verb + 1 :])


def _is_rank(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the second largest box'."""
    ranks = word.tag == "RB" and word.lower in ("second", "third", "fourth", "fifth")
    return ranks and word.i + 1 < len(tokens) and tokens[word.i + 1].tag == "JJS"


def _is_listed_thing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the safe or the desk'."""
    joined = word.i + 1 < len(tokens) and tokens[word.i + 1].lower in ("or", "and")
    listed = joined and word.dep in ("appos", "conj", "dep")
    return listed and "noun" in word.can and lexicon.property_of(word.lower) is None


def _is_nominal(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the blind', 'the aquarium': an adjective that stands for a noun, as no noun follows its article."""
    if (
        word.tag not in ("JJ", "JJR")
        or (word.dep not in NOMINAL and not _is_listed_thing(tokens, word))
        or not word.i
        or tokens[word.i - 1].tag not in DETERMINER_TAGS
    ):
        return False
    if word.tag == "JJR" and tokens[min(word.i + 1, len(tokens) - 1)].lower in ("of", "one"):
        return False  # 'the smaller of the two'
    if word.tag == "JJR" and tokens[word.i - 1].lower in ("any", "much"):
        return False  # 'did it get any warmer'
    return word.i + 1 == len(tokens) or tokens[word.i + 1].tag not in MODIFIER_TAGS


def _is_listed(tokens: tuple[Word, ...], word: Word) -> bool:
    """'a loud, piercing sound': one of several adjectives."""
    listed = word.tag in ("NN", "VBG") and word.dep == "amod"
    return listed and word.i + 1 < len(tokens) and tokens[word.i + 1].lower == ","


def _is_said_of(tokens: tuple[Word, ...], word: Word) -> bool:
    """'is the stool nearer to me': a comparative that was taken for a noun."""
    of = word.i + 1 < len(tokens) and tokens[word.i + 1].lower == "of"
    behind = bool(word.i) and tokens[word.i - 1].tag in NOUN_TAGS
    grown = word.i > 1 and any(w.lemma in ("get", "grow", "become") for w in tokens[word.i - 2 : word.i])
    measured = word.i + 1 < len(tokens) and tokens[word.i + 1].lower == "than" and not _opens(tokens, word.i)
    compared = (word.lower in COMPARING and (behind or of)) or ("comparative" in word.can and (grown or measured))
    return word.tag == "NN" and compared


def _opens(tokens: tuple[Word, ...], i: int) -> bool:
    """Whether a word stands right behind an article."""
    return bool(i) and tokens[i - 1].tag in DETERMINER_TAGS


def _is_around(tokens: tuple[Word, ...], word: Word) -> bool:
    """'were round the campfire', 'sat round it': a preposition, where no noun follows that could be round."""
    if word.lower != "round" or word.tag == "IN" or _opens(tokens, word.i) or word.i + 1 == len(tokens):
        return False
    return tokens[word.i + 1].tag in DETERMINER_TAGS | {"PRP"}


def _is_when(tokens: tuple[Word, ...], word: Word) -> bool:
    """'when was the safe last open': first and last before a noun come before its adjectives, not behind them."""
    if word.lower not in ("first", "last", "next") or word.tag not in ("JJ", "NN") or not word.i:
        return False
    return tokens[word.i - 1].tag in NOUN_TAGS | {"JJ", "PRP"} and tokens[word.i - 1].lower not in ("very", "second")


def _is_name(tokens: tuple[Word, ...], word: Word) -> bool:
    """'can Gage drive a car': a capital inside a sentence."""
    if not word.i or not word.text[:1].isupper() or len(word.text) < 3 or word.tag[:2] not in ("VB", "MD", "UH", "RB"):
        return False
    spelt = sum(w.text[:1].isupper() for w in tokens)
    return tokens[word.i - 1].tag not in (".", ":", "''", "``", ",") and 2 * spelt < len(tokens)


def _is_joined(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the walk-in freezer': a part of a hyphened word before a noun."""
    if word.tag not in ("VB", "VBP", "RP", "IN", "RB", "TO"):
        return False
    near = [tokens[k].tag for k in (word.i - 1, word.i + 1) if 0 <= k < len(tokens)]
    ahead = [w.tag for w in tokens[word.i + 1 : word.i + 5] if w.tag not in ("HYPH", "JJ")]
    return "HYPH" in near and bool(set(ahead[:2]) & NOUN_TAGS)


def _is_state(tokens: tuple[Word, ...], word: Word) -> bool:
    """'last open'."""
    return word.tag == "NN" and word.lower in words.STATES and word.i > 0 and tokens[word.i - 1].tag == "RB"


def _is_predicate(tokens: tuple[Word, ...], word: Word) -> bool:
    """'how long was the crane idle': an adjective that was taken for the name's last noun."""
    if word.tag != "NN" or "adj" not in word.can or not is_inverted(tokens, word):
        return False
    if word.dep not in ("attr", "acomp") and (tokens[0].lower in NAMING or word.dep not in ("nsubj", "ROOT")):
        return False
    return lexicon.exact_kind(word.lower) is None and (word.i + 1 == len(tokens) or tokens[word.i + 1].tag in CLOSING)


def _is_only_noun(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the hanger rack', 'the sink level': the dictionary knows a noun, and not what the word was taken for."""
    needs = {"JJ": "adj", "JJR": "adj", "RB": "adv", "RBR": "adv", "VB": "verb", "VBP": "verb"}.get(word.tag)
    if needs is None or "noun" not in word.can or needs in word.can or word.lower in COMPARING:
        return False
    return word.lemma == word.lower and word.lower not in BE and lexicon.property_of(word.lower) is None


def _is_said_at_last(tokens: tuple[Word, ...], word: Word) -> bool:
    """'is the shelf over the sink level': a yes/no question with nothing else said; the last word is no thing."""
    closes = word.i + 1 == len(tokens) or (tokens[word.i + 1].tag == "." and word.i + 2 == len(tokens))
    if not closes or word.tag not in ("NN", "RB") or tokens[0].lower not in BE or word.i < 4:
        return False
    if "adj" not in word.can and word.lower not in words.MATERIALS:
        return False
    if any(w.tag in ("JJ", "VBN", "VBG", "CC") and w.dep not in ("amod", "compound") for w in tokens[1 : word.i]):
        return False
    behind = tokens[word.i - 1]
    known = behind.tag in NOUN_TAGS and lexicon.exact_kind(behind.lower) is not None
    return (
        known and lexicon.exact_kind(word.lower) is None and lexicon.exact_kind(f"{behind.lower} {word.lower}") is None
    )


def _is_dash(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the X-ray corridor': what joins two parts of one name."""
    return word.lower == "-" and word.tag in NOUN_TAGS


def _is_quality(tokens: tuple[Word, ...], word: Word) -> bool:
    """'pet-friendly' with no noun behind; 'to my right round or square'."""
    after = [w.tag for w in tokens[word.i + 1 : word.i + 4]]
    joined = word.tag in ("NN", "RB") and after[:1] == ["HYPH"] and after[1:2] in (["JJ"], ["VBN"], ["RB"])
    if joined:
        return after[2:] == [] or after[2] not in NOUN_TAGS
    sided = word.i > 1 and tokens[word.i - 1].lower in ("left", "right") and tokens[word.i - 2].lower in ("my", "your")
    return word.tag == "NN" and sided and lexicon.property_of(word.lower) is not None


def _is_one(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the one with the broken handle'."""
    stands = word.lower == "one" and word.tag == "CD" and word.i > 0 and tokens[word.i - 1].tag in ("DT", "JJ", "WDT")
    after = tokens[word.i + 1] if word.i + 1 < len(tokens) else None
    return stands and (
        after is None or (after.tag in ("IN", ".", ",", "VBZ", "VBD", "WDT", "RB") and after.lower != "of")
    )


def _is_part_of_name(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the coat rack', 'what is the teddy bear on': a verb by its tag, but part of a known thing's name."""
    if word.tag[:2] not in ("VB", "IN", "RB", "UH", "MD"):
        return False
    for size in (2, 3):
        for start in range(max(0, word.i - size + 1), word.i + 1):
            part = tokens[start : start + size]
            named = " ".join(w.lower for w in part) in lexicon.VOCABULARY and len(part) == size
            if named and (start == 0 or tokens[start - 1].tag in DETERMINER_TAGS | {"JJ", "CD", "POS"}):
                return True
    return False


def _is_only_adjective(tokens: tuple[Word, ...], word: Word) -> bool:
    """'is Anna timid': the dictionary knows the word as an adjective only."""
    if not word.i or "adj" not in word.can or lexicon.exact_kind(word.lower) is not None:
        return False
    only = word.tag == "NN" and not word.can & {"noun", "verb"}
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in (".", ",")
    behind_name = tokens[word.i - 1].tag == "NNP" and tokens[word.i - 1].text.istitle() and word.text.islower()
    return only or (behind_name and closes and word.tag in ("NN", "NNP") and tokens[0].lower in BE)


RULES: tuple[tuple[Callable[[tuple[Word, ...], Word], bool], str], ...] = (
    (_is_only_adjective, "JJ"),
    (_is_part_of_name, "NN"),
    (_is_only_noun, "NN"),
    (_is_one, "NN"),
    (_is_quality, "JJ"),
    (_is_said_at_last, "JJ"),
    (_is_name, "NNP"),
    (_is_joined, "JJ"),
    (_is_rank, "JJ"),
    (is_named, "NN"),
    (has_been, "NN"),
    (which_named, "NN"),
    (are_named, "NNS"),
    (_is_predicate, "JJ"),
    (is_doing, "VBG"),
    (_is_said_of, "JJR"),
    (_is_around, "IN"),
    (is_done, "VB"),
    (is_able_to, "VB"),
    (_is_when, "RB"),
    (_is_state, "JJ"),
    (is_left_by_doing, "NN"),
    (_is_nominal, "NN"),
    (is_no_verb, "NN"),
    (is_governed, "VB"),
    (is_past, "VBD"),
    (is_thing, "NN"),
    (is_unlicensed, "NN"),
    (is_compounded, "NN"),
    (is_told_of_name, "VBD"),
    (_is_dash, "HYPH"),
    (is_container, "NN"),
    (is_short_is, "VBZ"),
    (is_third_person, "NNS"),
    (_is_listed, "JJ"),
    (is_participle, "VBN"),
)
"""What is wrong, and the tag that is right; each sees what those before it put right."""
