"""Verbs that a small model takes for nouns in questions, and nouns that it takes for verbs."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.tokens import (
    BE,
    CLOSING,
    DETERMINER_TAGS,
    MEASURED,
    MODIFIER_TAGS,
    NAMING,
    NOMINAL,
    NOUN_TAGS,
    Word,
)

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
PARTICLES = frozenset("off out away up down".split())
PARTICLED = frozenset(
    "switch turn take pick knock throw put set lock shut clean hang blow use tidy fill pull wash".split()
)
"""Verbs whose particle may stand before their object."""


def is_third_person(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where are the blinds', 'how many stoves to my left': a plural that was taken for a verb."""
    if word.tag == "VBZ" and word.i and tokens[word.i - 1].lower == "many":
        return True
    return word.tag == "VBZ" and word.dep in NOMINAL and word.lower not in BE | {"does", "has"}


def is_doing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'which way was the statue looking', 'what is the remote standing on': the end of what was taken for one name."""
    if word.tag not in ("NN", "JJ") or not word.lower.endswith("ing") or word.lower in lexicon.ING_NOUNS or word.i < 2:
        return False
    begin = word.i - 1
    while begin > 0 and tokens[begin].tag in NOUN_TAGS | DETERMINER_TAGS | {"JJ", "CD", "POS", "VBN"}:
        begin -= 1
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in CLOSING
    subject = tokens[begin].tag == "IN" and tokens[0].lower in NAMING and tokens[1].lower in BE
    subject = subject and tokens[2].tag in DETERMINER_TAGS  # 'what are the men behind the shed arguing about'
    subject = subject and tokens[word.i - 1].tag in NOUN_TAGS
    return closes and begin < word.i - 1 and (tokens[begin].lower in BE or subject)


def is_left_by_doing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the remote standing', 'the blind hanging': an adjective whose noun turned out to be a verb."""
    if word.tag != "JJ" or word.i + 1 == len(tokens) or tokens[word.i + 1].tag not in ("VBG", "RB"):
        return False
    return bool(word.i) and tokens[word.i - 1].tag in DETERMINER_TAGS and tokens[word.i + 1].dep in NOMINAL | {"amod"}


def with_particles(tokens: tuple[Word, ...]) -> tuple[Word, ...]:
    """'switched off the radiator', 'put away the pans': no preposition; what follows is the verb's object."""
    found = list(tokens)
    for word in tokens:
        verb = tokens[word.i - 1] if word.i else word
        turned = word.lower == "on" and verb.lemma in ("turn", "switch")
        split = (word.lower in PARTICLES or turned) and verb.lemma in PARTICLED and verb.tag.startswith("VB")
        if not split or word.tag != "IN" or word.i + 1 == len(tokens):
            continue
        found[word.i] = replace(word, tag="RP", dep="prt", head=verb.i)
        inner = (w for w in tokens if w.head == word.i and w.dep == "pobj")
        for thing in inner:
            found[thing.i] = replace(thing, dep="dobj", head=verb.i)
    return tuple(found)


def is_governed(tokens: tuple[Word, ...], word: Word) -> bool:
    """'does the case behind me contain nails', 'does the cat often sleep': do governs a plain verb."""
    return word.tag == "VBP" and word.dep == "ROOT" and tokens[0].lower in ("do", "does", "did") and word.i > 1


def is_past(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the thing the electrician carried in': a participle with a subject of its own and no auxiliary."""
    if word.tag != "VBN":
        return False
    own = [w for w in tokens if w.head == word.i and w.i < word.i]
    return any(w.dep == "nsubj" for w in own) and not any(w.dep in ("aux", "auxpass") for w in own)


def is_thing(tokens: tuple[Word, ...], word: Word) -> bool:
    """'take the robot mop back': a known thing behind a noun, where another verb commands."""
    if word.tag not in ("VBN", "VBD", "VB", "VBP") or not word.i or lexicon.exact_kind(word.lower) is None:
        return False
    return tokens[word.i - 1].tag in NOUN_TAGS and tokens[0].tag == "VB" and word.dep not in ("ROOT", "relcl", "xcomp")


def is_done(tokens: tuple[Word, ...], word: Word) -> bool:
    """'did somebody last water the ferns', 'when did the bell last ring': behind do and first or last, a verb."""
    if word.tag != "NN" or word.i < 2 or tokens[word.i - 1].lower not in ("first", "last"):
        return False
    asks = any(w.lower in DOING for w in tokens[: word.i])
    ends = word.i + 1 == len(tokens) or tokens[word.i + 1].tag == "."
    ends = ends and tokens[word.i - 2].tag not in DETERMINER_TAGS and not any(w.tag == "VB" for w in tokens)
    return asks and (ends or (word.i + 1 < len(tokens) and tokens[word.i + 1].tag in DETERMINER_TAGS))


def is_able_to(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where can I workout': between can and the end, behind a pronoun, stands a verb."""
    if word.tag != "NN" or word.i < 2 or tokens[word.i - 1].tag != "PRP" or tokens[word.i - 2].tag != "MD":
        return False
    return word.i + 1 == len(tokens) or tokens[word.i + 1].tag in (".", ",", "IN")


def is_no_verb(tokens: tuple[Word, ...], word: Word) -> bool:
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


def swallowed_verb(tokens: tuple[Word, ...]) -> int:
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
    if any(w.tag == "VB" and w.dep == "ROOT" for w in tokens[closes:]):
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
    nouns = [k for k in range(do + 1, end) if tokens[k].tag in NOUN_TAGS or lexicon.exact_kind(tokens[k].lower)]
    acting = (k for k in reversed(nouns[1:]) if tokens[k].tag == "NN" and lexicon.exact_kind(tokens[k].lower) is None)
    return next((k for k in acting if "verb" in tokens[k].can), -1)


def is_inverted(tokens: tuple[Word, ...], word: Word) -> bool:
    """Whether a noun phrase right behind a form of be ends before this word: 'was the piano (lid)'."""
    begin = word.i - 1
    if begin < 1 or tokens[begin].tag not in NOUN_TAGS:
        return False
    while begin > 0 and tokens[begin].tag in NOUN_TAGS | DETERMINER_TAGS | {"JJ", "CD", "POS"}:
        begin -= 1
    opens = begin == 0 or tokens[begin - 1].tag in ("WP", "WRB", "WDT", ",", "NN", "NNS", "RB", "NNP", "CC")
    return tokens[begin].lower in BE and opens and tokens[begin + 1].tag not in NOUN_TAGS


def is_named(tokens: tuple[Word, ...], word: Word) -> bool:
    """'was the piano lid up', 'where were the keys': behind be and its subject stands no finite verb."""
    unchanged = word.tag == "VBN" and word.lemma == word.lower and word.lower not in UNCHANGED
    return (word.tag in ("VB", "VBP") or unchanged) and is_inverted(tokens, word)


def are_named(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where were the locks': the same in plural."""
    return word.tag == "VBZ" and word.lower not in BE and is_inverted(tokens, word)


def has_been(tokens: tuple[Word, ...], word: Word) -> bool:
    """'has the drip stand been moved': between have and its participle stands no plain verb."""
    if word.tag not in ("VB", "VBP") or word.i < 2 or tokens[word.i - 1].tag not in NOUN_TAGS | {"JJ", "VBG", "VB"}:
        return False
    has = tokens[0].lower in ("has", "have", "had") and tokens[1].tag in DETERMINER_TAGS
    return has and any(w.tag == "VBN" for w in tokens[word.i + 1 :])


def which_named(tokens: tuple[Word, ...], word: Word) -> bool:
    """'which rack was the emptiest': behind which, before a verb, stands a noun."""
    named = word.i > 0 and tokens[word.i - 1].tag == "WDT" and tokens[word.i - 1].lower == "which" and word.i < 3
    following = tokens[word.i + 1] if word.i + 1 < len(tokens) else word
    later = any(w.tag in ("VBZ", "VBD", "VBP", "MD") for w in tokens[word.i + 1 :])  # 'which object on the shelf is ..'
    asks = following.lower in BE | {"did", "does", "had"} or (following.tag == "IN" and later)
    return named and word.tag in ("VB", "VBP") and "noun" in word.can and asks


def is_unlicensed(tokens: tuple[Word, ...], word: Word) -> bool:
    """'are the drawers by the clothing rack stand open': behind a noun, where be asks, nothing governs a plain verb."""
    if word.tag != "VB" or "noun" not in word.can or not word.i or tokens[word.i - 1].tag not in NOUN_TAGS:
        return False
    if word.i + 1 < len(tokens) and tokens[word.i + 1].lower == "be" and word.dep in NOMINAL:
        return True  # 'where would the shoe rack be'
    asks = tokens[0].lower in BE or (tokens[0].lower in NAMING and len(tokens) > 1 and tokens[1].lower in BE)
    return asks and not any(w.tag in ("MD", "TO", "WP", "WDT", "PRP") or w.lemma == "do" for w in tokens[1 : word.i])


def is_compounded(tokens: tuple[Word, ...], word: Word) -> bool:
    """'closest to charging station 2', 'behind operating table 3': no article stands before a name."""
    if word.tag != "VBG" or word.i + 1 >= len(tokens) or tokens[word.i + 1].tag not in NOUN_TAGS or not word.i:
        return False
    before = tokens[word.i - 1].lower
    measured = before == "to" and word.i > 1 and tokens[word.i - 2].lower in MEASURED
    return measured or before in ("near", "behind", "beside", "under", "above", "opposite")


def is_told_of_name(tokens: tuple[Word, ...], word: Word) -> bool:
    """'the book Lucky read', with its verb taken for a noun: a name between a thing and what was done to it."""
    if word.tag not in ("NN", "VB", "VBP") or word.i < 3 or "verb" not in word.can or not word.text.islower():
        return False
    thing, name = tokens[word.i - 2 : word.i]
    clause = name.tag == "NNP" and name.text.istitle() and thing.tag in ("NN", "NNS") and thing.text.islower()
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in CLOSING
    return clause and closes and tokens[0].lower not in DOING and tokens[word.i - 3].tag in DETERMINER_TAGS | {"JJ"}


def is_participle(tokens: tuple[Word, ...], word: Word) -> bool:
    """'must be locked', 'when was the cat last fed'."""
    before = tokens[word.i - 1].lower if word.i else ""
    said_small = word.tag == "NNP" and word.text.islower() and before in ("last", "first", "been")
    return said_small or (word.tag == "NN" and before == "be")


def is_short_is(tokens: tuple[Word, ...], word: Word) -> bool:
    """'where is the cat's hiding', 'if the gate's locked' are no possessives: 's before what is done, or a state."""
    following = tokens[word.i + 1] if word.i + 1 < len(tokens) else word
    said = following.tag == "VBG" or following.lower in words.STATES
    return word.tag == "POS" and said and (word.i + 2 == len(tokens) or tokens[word.i + 2].tag not in MODIFIER_TAGS)


def is_container(tokens: tuple[Word, ...], word: Word) -> bool:
    """'what colour is the soda can': no modal, as nothing follows that it could govern."""
    closes = word.i + 1 == len(tokens) or tokens[word.i + 1].tag in (".", ",", "IN", ":")
    return word.tag == "MD" and word.lower == "can" and word.i > 0 and closes
