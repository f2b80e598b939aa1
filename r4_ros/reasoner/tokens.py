"""Words of a question as the parser has them, with the tags put right that a small model gets wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from r4_ros.reasoner import lexicon, words

NOUN_TAGS = frozenset("NN NNS NNP NNPS".split())
MODIFIER_TAGS = frozenset("JJ JJR JJS CD VBN VBG HYPH AFX RBS ADD".split()) | NOUN_TAGS
DETERMINER_TAGS = frozenset("DT PRP$ PDT WDT WP$".split())
NOMINAL = frozenset("nsubj nsubjpass dobj pobj attr".split())
MEASURED = frozenset("nearest closest next close near nearer farthest furthest adjacent".split())

BE = frozenset("is are was were be been 's 're".split())
CLOSING = frozenset(". , : IN TO RB RP WRB".split())
COMPARING = frozenset("nearer closer farther further taller shorter bigger larger smaller higher lower wider".split())
NAMING = frozenset("what where who which whose".split())
"""Words whose questions need nothing said of their subject ('where is the coffee table')."""
UNCHANGED = frozenset(
    "put set shut cut hit let cast split spread bet burst cost hurt quit read rid upset run come become".split()
)
"""Verbs whose participle is their plain form."""
DOING = frozenset("did does do would could can will should might".split())
VERBISH = frozenset(
    """show look say read mean depict smell sound feel work start stop end change move shift turn fall switch swap
    return fit stand break vanish ring run drop arrive leave open close""".split()
)
"""Verbs that look like nouns behind a noun."""


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


def mended(tokens: tuple[Word, ...]) -> tuple[Word, ...]:
    """Tags that a small model gets wrong in questions, put right by what the words around them ask for."""
    for is_wrong, tag in RULES:
        tokens = tuple(replace(w, tag=tag) if w.tag != tag and is_wrong(tokens, w) else w for w in tokens)
    verb = _swallowed_verb(tokens)
    if verb < 0:
        return tokens
    before = replace(tokens[verb - 1], tag="NN") if tokens[verb - 1].tag == "JJ" else tokens[verb - 1]
    return (*tokens[: verb - 1], before, replace(tokens[verb], tag="VB"), *tokens[verb + 1 :])


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
    if word.tag == "JJR" and tokens[word.i - 1].lower in ("any", "much"):
        return False  # 'did it get any warmer'
    return word.i + 1 == len(tokens) or tokens[word.i + 1].tag not in MODIFIER_TAGS


def _is_container(tokens: tuple[Word, ...], word: Word) -> bool:
    """'what colour is the soda can': no modal, as nothing follows that it could govern."""
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in (".", ",", "IN", ":")
    return word.tag == "MD" and word.lower == "can" and word.i > 0 and closes


def _is_short_is(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where is the cat's hiding', 'if the gate's locked' are no possessives: 's before what is done, or a state."""
    following = tokens[word.i + 1] if word.i + 1 < len(tokens) else word
    said = following.tag == "VBG" or following.lower in words.STATES
    return word.tag == "POS" and said and (word.i + 2 == len(tokens) or tokens[word.i + 2].tag not in MODIFIER_TAGS)


def _is_listed(tokens: tuple[Word, ...], word: Word) -> bool:
    """'a loud, piercing sound': one of several adjectives."""
    listed = word.tag in ("NN", "VBG") and word.dep == "amod"
    return listed and word.i + 1 < len(tokens) and tokens[word.i + 1].lower == ","


def _is_participle(tokens: tuple[Word, ...], word: Word) -> bool:
    """'must be locked'."""
    return word.tag == "NN" and word.i > 0 and tokens[word.i - 1].lower == "be"


def _is_third_person(tokens: tuple[Word, ...], word: Word) -> bool:
    return word.tag == "VBZ" and word.dep in NOMINAL and word.lower not in BE | {"does", "has"}


def _is_doing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'which way was the statue looking', 'what is the remote standing on': the end of what was taken for one name."""
    if word.tag not in ("NN", "JJ") or not word.lower.endswith("ing") or word.lower in lexicon.ING_NOUNS or word.i < 2:
        return False
    begin = word.i - 1
    while begin > 0 and tokens[begin].tag in NOUN_TAGS | DETERMINER_TAGS | {"JJ", "CD", "POS", "VBN"}:
        begin -= 1
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in CLOSING
    return closes and begin < word.i - 1 and tokens[begin].lower in BE


def _is_left_by_doing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the remote standing', 'the blind hanging': an adjective whose noun turned out to be a verb."""
    if word.tag != "JJ" or word.i + 1 == len(tokens) or tokens[word.i + 1].tag not in ("VBG", "RB"):
        return False
    return bool(word.i) and tokens[word.i - 1].tag in DETERMINER_TAGS and tokens[word.i + 1].dep in NOMINAL | {"amod"}


def _is_said_of(tokens: tuple[Word, ...], word: Word) -> bool:
    """'is the stool nearer to me': a comparative that was taken for a noun."""
    of = word.i + 1 < len(tokens) and tokens[word.i + 1].lower == "of"
    behind = bool(word.i) and tokens[word.i - 1].tag in NOUN_TAGS
    grown = word.i > 1 and any(w.lemma in ("get", "grow", "become") for w in tokens[word.i - 2 : word.i])
    compared = (word.lower in COMPARING and (behind or of)) or ("comparative" in word.can and grown)
    return word.tag == "NN" and compared


def _is_when(tokens: tuple[Word, ...], word: Word) -> bool:
    """'when was the safe last open': first and last before a noun come before its adjectives, not behind them."""
    if word.lower not in ("first", "last", "next") or word.tag not in ("JJ", "NN") or not word.i:
        return False
    return tokens[word.i - 1].tag in NOUN_TAGS | {"JJ", "PRP"} and tokens[word.i - 1].lower not in ("very", "second")


def _is_thing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'take the robot mop back': a known thing behind a noun, where another verb commands."""
    if word.tag not in ("VBN", "VBD", "VB", "VBP") or not word.i or lexicon.exact_kind(word.lower) is None:
        return False
    return tokens[word.i - 1].tag in NOUN_TAGS and tokens[0].tag == "VB" and word.dep not in ("ROOT", "relcl", "xcomp")


def _is_done(tokens: tuple[Word, ...], word: Word) -> bool:
    """'did somebody last water the ferns', 'when did the bell last ring': behind do and first or last, a verb."""
    if word.tag != "NN" or word.i < 2 or tokens[word.i - 1].lower not in ("first", "last"):
        return False
    asks = any(w.lower in DOING for w in tokens[: word.i])
    ends = word.i + 1 == len(tokens) or tokens[word.i + 1].tag == "."
    ends = ends and tokens[word.i - 2].tag not in DETERMINER_TAGS and not any(w.tag == "VB" for w in tokens)
    return asks and (ends or (word.i + 1 < len(tokens) and tokens[word.i + 1].tag in DETERMINER_TAGS))


def _is_able_to(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where can I workout': between can and the end, behind a pronoun, stands a verb."""
    if word.tag != "NN" or word.i < 2 or tokens[word.i - 1].tag != "PRP" or tokens[word.i - 2].tag != "MD":
        return False
    return word.i + 1 == len(tokens) or tokens[word.i + 1].tag in (".", ",", "IN")


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


def _acts(tokens: tuple[Word, ...], i: int) -> bool:
    return i < len(tokens) and tokens[i].tag in ("VB", "VBP")


def _ends_as_verb(tokens: tuple[Word, ...], do: int, k: int, closes: int) -> bool:
    """'does the lamp beside the bed flicker': what is last behind a preposition, no thing by itself or in one name."""
    if k + 1 != closes or "verb" not in tokens[k].can or all(w.tag != "IN" for w in tokens[do:k]):
        return False
    pair = f"{tokens[k - 1].lower} {tokens[k].lower}"
    ends = closes == len(tokens) or tokens[closes].tag in (".", ",")
    return ends and lexicon.exact_kind(tokens[k].lower) is None and lexicon.exact_kind(pair) is None


def _swallowed_verb(tokens: tuple[Word, ...]) -> int:
    """'did the pillow move': behind do, its verb was taken for a noun of the subject; -1: there is a verb."""
    does = (w.i for w in tokens if w.lower in DOING and (not w.i or w.tag not in NOUN_TAGS))  # no trash can
    do = next((i for i in does if i + 2 < len(tokens)), -1)
    if do < 0 or tokens[do + 1].tag in ("PRP", "EX"):
        return -1
    end = do + 1
    named = (DETERMINER_TAGS | MODIFIER_TAGS | {"POS"}) - {"WDT", "WP$"}
    while end < len(tokens) and tokens[end].tag in named:
        end += 1
    closes = end
    while closes < len(tokens) and tokens[closes].tag in named | {"IN", "RB"}:
        closes += 1
    if any(w.tag in ("VB", "VBP") for w in tokens[do + 1 : closes]) or _acts(tokens, closes):
        return -1
    for k in range(do + 3, closes):  # 'does the art in the hallway show', 'did the mural change colour'
        if tokens[k].tag != "NN" or tokens[k - 1].tag not in NOUN_TAGS | {"JJ"}:
            continue
        following = tokens[k + 1].tag if k + 1 < closes else ""
        verbal = tokens[k].lower in VERBISH and (
            not following or following in NOUN_TAGS | DETERMINER_TAGS | {"IN", "JJ"}
        )
        governs = "verb" in tokens[k].can and following in ("NNS", "DT", "PRP$")  # 'does the club favor dances'
        if verbal or governs or _ends_as_verb(tokens, do, k, closes):
            return k
    last = end - 1
    nouns = sum(t.tag in NOUN_TAGS or lexicon.exact_kind(t.lower) is not None for t in tokens[do + 1 : end])
    return last if nouns > 1 and tokens[last].tag == "NN" and lexicon.exact_kind(tokens[last].lower) is None else -1


def _is_inverted(tokens: tuple[Word, ...], word: Word) -> bool:
    """Whether a noun phrase right behind a form of be ends before this word: 'was the piano (lid)'."""
    begin = word.i - 1
    if begin < 1 or tokens[begin].tag not in NOUN_TAGS:
        return False
    while begin > 0 and tokens[begin].tag in NOUN_TAGS | DETERMINER_TAGS | {"JJ", "CD", "POS"}:
        begin -= 1
    opens = begin == 0 or tokens[begin - 1].tag in ("WP", "WRB", "WDT", ",", "NN", "NNS", "RB", "NNP", "CC")
    return tokens[begin].lower in BE and opens and tokens[begin + 1].tag not in NOUN_TAGS


def _is_named(tokens: tuple[Word, ...], word: Word) -> bool:
    """'was the piano lid up', 'where were the keys': behind be and its subject stands no finite verb."""
    unchanged = word.tag == "VBN" and word.lemma == word.lower and word.lower not in UNCHANGED
    return (word.tag in ("VB", "VBP") or unchanged) and _is_inverted(tokens, word)


def _are_named(tokens: tuple[Word, ...], word: Word) -> bool:
    return word.tag == "VBZ" and word.lower not in BE and _is_inverted(tokens, word)


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
    if word.tag != "NN" or "adj" not in word.can or not _is_inverted(tokens, word):
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
    if not closes or word.tag not in ("NN", "RB") or "adj" not in word.can or tokens[0].lower not in BE or word.i < 4:
        return False
    if any(w.tag in ("JJ", "VBN", "VBG", "CC") and w.dep not in ("amod", "compound") for w in tokens[1 : word.i]):
        return False
    behind = tokens[word.i - 1]
    known = behind.tag in NOUN_TAGS and lexicon.exact_kind(behind.lower) is not None
    return (
        known and lexicon.exact_kind(word.lower) is None and lexicon.exact_kind(f"{behind.lower} {word.lower}") is None
    )


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


def _has_been(tokens: tuple[Word, ...], word: Word) -> bool:
    """'has the drip stand been moved': between have and its participle stands no plain verb."""
    if word.tag not in ("VB", "VBP") or word.i < 2 or tokens[word.i - 1].tag not in NOUN_TAGS | {"JJ", "VBG", "VB"}:
        return False
    has = tokens[0].lower in ("has", "have", "had") and tokens[1].tag in DETERMINER_TAGS
    return has and any(w.tag == "VBN" for w in tokens[word.i + 1 :])


def _which_named(tokens: tuple[Word, ...], word: Word) -> bool:
    """'which rack was the emptiest': behind which, before a verb, stands a noun."""
    named = word.i > 0 and tokens[word.i - 1].tag == "WDT" and tokens[word.i - 1].lower == "which" and word.i < 3
    following = tokens[word.i + 1] if word.i + 1 < len(tokens) else word
    return named and word.tag in ("VB", "VBP") and "noun" in word.can and following.lower in BE | {"did", "does", "had"}


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
    (_is_named, "NN"),
    (_has_been, "NN"),
    (_which_named, "NN"),
    (_are_named, "NNS"),
    (_is_predicate, "JJ"),
    (_is_doing, "VBG"),
    (_is_said_of, "JJR"),
    (_is_done, "VB"),
    (_is_able_to, "VB"),
    (_is_when, "RB"),
    (_is_state, "JJ"),
    (_is_left_by_doing, "NN"),
    (_is_nominal, "NN"),
    (_is_no_verb, "NN"),
    (_is_thing, "NN"),
    (_is_container, "NN"),
    (_is_short_is, "VBZ"),
    (_is_third_person, "NNS"),
    (_is_listed, "JJ"),
    (_is_participle, "VBN"),
)
"""What is wrong, and the tag that is right; each sees what those before it put right."""
