"""Noun phrases in our own cut: names, adjectives, possessors, rooms, numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.tokens import DETERMINER_TAGS, MODIFIER_TAGS, NOUN_TAGS, Word

NEVER_NOUN = frozenset(
    """half o'clock left right front behind ago yes no there here now then last first still currently else please many
    much top location whereabouts position distance
    far close near next other relative yesterday today tomorrow tonight oh hi hey hello thanks color colour""".split()
)
ORDINALS = tuple("first second third fourth fifth sixth seventh eighth ninth tenth last".split())
SIDE_NOUNS = frozenset("side hand corner end".split())
INDEFINITE = lexicon.PERSONS | frozenset("something anything everything nothing".split())
NUMBERS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}


@dataclass(frozen=True)
class NounPhrase:
    """Tokens [start, end) with the head noun at ``head``; ``noun`` is its name in the singular."""

    start: int
    end: int
    head: int
    noun: str
    modifiers: tuple[str, ...] = ()
    room: str = ""
    owner: str = ""
    determiner: str = ""
    plural: bool = False
    proper: bool = False
    number: int = 0

    @property
    def definite(self) -> bool:
        """Whether one certain thing is meant."""
        return self.determiner in ("the", "my", "your", "his", "her", "our", "their", "this", "that") or bool(
            self.owner
        )


def noun_phrases(tokens: tuple[Word, ...]) -> list[NounPhrase]:
    """All noun phrases, from left to right."""
    named = _names(tokens)
    found: list[NounPhrase] = []
    i = 0
    while i < len(tokens):
        end = _run(tokens, named, i)
        if end > i:
            phrase = _phrase(tokens, named, i, end)
            if phrase is not None:
                found.append(phrase)
            i = end
        else:
            i += 1
    return found


def _names(tokens: tuple[Word, ...]) -> dict[int, int]:
    """Where the lexicon's names stand: start -> end; longest first. Single words only where they can be nouns."""
    found: dict[int, int] = {}
    i = 0
    while i < len(tokens):
        size = next((n for n in range(lexicon.LONGEST, 0, -1) if _is_name(tokens, i, n)), 0)
        if size:
            found[i] = i + size
        i += max(size, 1)
    return found


def _is_name(tokens: tuple[Word, ...], i: int, n: int) -> bool:
    if i + n > len(tokens):
        return False
    part = tokens[i : i + n]
    if any(w.tag in ("DT", "PRP") or (w.tag == "IN" and w.lower != "of") for w in part):
        return False
    name = " ".join(w.lower for w in part)
    lemma = " ".join([w.lower for w in part[:-1]] + [part[-1].lemma])
    if n > 1:
        return name in lexicon.VOCABULARY or lemma in lexicon.VOCABULARY
    if name not in lexicon.VOCABULARY or part[0].tag in ("IN", "RP", "TO", "CC"):
        return False
    if part[0].tag in NOUN_TAGS:
        return True
    before = tokens[i - 1] if i else None
    return (
        before is None or before.tag in ("DT", "PRP$", "JJ", "JJR", "JJS", "CD", "POS") or part[0].tag in ("RB", "JJ")
    )


def _run(tokens: tuple[Word, ...], named: dict[int, int], start: int) -> int:
    """End of the longest noun phrase that starts here, or ``start``."""
    i = start
    while i < len(tokens) and tokens[i].tag in DETERMINER_TAGS and tokens[i].lower not in ("there", "which", "what"):
        i += 1
    if i == start and (
        tokens[i].tag == "HYPH" or (tokens[i].tag == "VBG" and tokens[i].dep not in ("amod", "compound"))
    ):
        return start
    last = start
    while i < len(tokens):
        word = tokens[i]
        if i in named and (i == start or word.lower not in INDEFINITE):
            i = last = named[i]
        elif word.tag == "CD" and last == i > start:
            numbered = i + 1 == len(tokens) or tokens[i + 1].tag not in NOUN_TAGS | {"JJ", "CD", "HYPH"}
            numbered = numbered or tokens[i + 1].lower in words.STATES  # 'is the printer in room 5 free'
            return i + 1 if numbered and not re.search(r"[:.]", word.text) else last
        elif _continues(tokens, start, last, i):
            i += 1
            if word.tag in NOUN_TAGS:
                last = i
        else:
            break
    return last


def _continues(tokens: tuple[Word, ...], start: int, last: int, i: int) -> bool:
    """Whether token i belongs to the noun phrase begun at ``start`` whose last noun ends at ``last``."""
    word, noun_next = tokens[i], _noun_follows(tokens, i)
    if word.tag == "POS":
        return last == i
    if word.lower in ("and", ",") and last == start and i > start:  # 'black and gray speaker'
        return tokens[i - 1].tag == "JJ" and _noun_ahead(tokens, i + 1)
    if word.tag == "HYPH":
        return i > start and _noun_ahead(tokens, i + 1)
    if word.tag not in MODIFIER_TAGS or not word.lower[0].isalnum():
        return False
    if last == i and word.lower in ("round", "across") and tokens[min(i + 1, len(tokens) - 1)].tag in ("DT", "PRP$"):
        return False  # 'the skip round the back'
    if i > start and (word.lower in INDEFINITE or (last == i and tokens[i - 1].lower in INDEFINITE)):
        return False
    if _begins_clause(tokens, start, last, i) or _is_said_of_name(tokens, start, last, i):
        return False
    if word.tag == "VBG" and last == i > start and word.dep in ("acl", "relcl", "advcl"):
        return False  # 'celebrities wearing black dresses'
    if word.lower in NEVER_NOUN:
        leads = word.lower in ("front", "other", "top") or (word.lower in ORDINALS and last == start)
        sided = word.lower in ("left", "right") and noun_next and tokens[i + 1].lower not in SIDE_NOUNS
        sided = sided and tokens[i + 1].lower not in words.STATES
        leads = leads or (sided and tokens[i - 1].tag != "PRP$")
        return leads and (noun_next or _noun_ahead(tokens, i + 1))
    if word.tag in ("VBN", "VBG") and i == start:
        return False
    made_of = word.lower in words.MATERIALS and word.tag == "JJ"
    predicate = last > start and (word.lower in words.STATES or word.lower in words.COLORS or made_of)
    return noun_next or not predicate


def _is_said_of_name(tokens: tuple[Word, ...], start: int, last: int, i: int) -> bool:
    """'is Rose introvert or extrovert': behind be and a bare name, a word that closes says what it is."""
    name = tokens[start]
    if last != i or i != start + 1 or start != 1 or name.tag != "NNP" or not name.text.istitle():
        return False
    closes = i + 1 == len(tokens) or tokens[i + 1].lower in ("or", ".", "?", ",")
    return closes and tokens[0].lower in ("is", "was") and tokens[i].tag == "NN" and tokens[i].text.islower()


def _begins_clause(tokens: tuple[Word, ...], start: int, last: int, i: int) -> bool:
    """'the mug Tom left on the bench': a name behind a noun, before a verb, begins a clause of its own."""
    word, before = tokens[i], tokens[i - 1]
    if word.tag != "NNP" or last != i or i <= start or before.tag not in ("NN", "NNS") or not word.text[:1].isupper():
        return False
    return i + 1 < len(tokens) and tokens[i + 1].tag in ("VBD", "VBZ", "VBN") and before.text.islower()


def _noun_follows(tokens: tuple[Word, ...], i: int) -> bool:
    return i + 1 < len(tokens) and tokens[i + 1].tag in NOUN_TAGS


def _noun_ahead(tokens: tuple[Word, ...], i: int) -> bool:
    """Whether only words before a noun stand between here and one."""
    while i < len(tokens) and tokens[i].tag in MODIFIER_TAGS and tokens[i].tag not in NOUN_TAGS:
        i += 1
    return i < len(tokens) and tokens[i].tag in NOUN_TAGS and tokens[i].lower not in NEVER_NOUN


def _phrase(tokens: tuple[Word, ...], named: dict[int, int], start: int, end: int) -> NounPhrase | None:
    begin = start
    determiner = ""
    while begin < end and tokens[begin].tag in DETERMINER_TAGS:
        determiner = tokens[begin].lower
        begin += 1
    if begin == end:
        return None
    owner = ""
    apostrophe = next((i for i in range(end - 1, begin, -1) if tokens[i].tag == "POS"), -1)
    if apostrophe >= 0:
        owner = " ".join(w.lower for w in tokens[begin:apostrophe])
        begin = apostrophe + 1
    if begin == end or not (tokens[end - 1].tag in NOUN_TAGS | {"CD"} or end in named.values()):
        return None
    name_start = _name_start(tokens, named, begin, end)
    noun, plural = _singular_name(tokens, name_start, end)
    modifiers = _modifiers(tokens[begin:name_start])
    name_words = noun.split()
    room = ""
    while len(name_words) > 1 and noun not in lexicon.VOCABULARY and not lexicon.is_room(noun):
        first = name_words[0]
        if lexicon.is_room_modifier(first) and (first != "study" or lexicon.kind_of(noun) is not None):
            room = first
        elif len(name_words) > 2 and name_words[1] == "room":
            room, name_words = f"{first} room", name_words[1:]
        elif first in words.COLORS or first in words.MATERIALS:
            modifiers.append(first)
        else:
            break
        name_words = name_words[1:]
        noun = " ".join(name_words)
    proper = tokens[end - 1].tag in ("NNP", "NNPS") and lexicon.kind_of(noun) is None
    number = next((n for w in tokens[begin:name_start] if w.tag == "CD" and (n := _number(w.lower))), 0)
    return NounPhrase(start, end, end - 1, noun, tuple(modifiers), room, owner, determiner, plural, proper, number)


def _lemma(word: Word) -> str:
    """The singular of a noun: where the parser's ends in 'xe', 'che', 'she' or 'sse', it left one letter too many."""
    over = word.lower.endswith(("xes", "ches", "shes", "sses")) and word.lemma.endswith("e")
    return word.lemma[:-1] if over and not word.lower.endswith(("axes", "caches", "aches")) else word.lemma


def _modifiers(tokens: tuple[Word, ...]) -> list[str]:
    """The words before a name, hyphenated ones in one: 'hi-vis', 'l-shaped'."""
    said: list[str] = []
    joins = False
    for word in tokens:
        if word.tag == "HYPH":
            joins = bool(said)
        elif joins:
            said[-1] = f"{said[-1]}-{word.lower}"
            joins = False
        elif word.tag not in ("CD", "RBS", "CC", ","):
            said.append(word.lower)
    return said


def _number(word: str) -> int:
    """A small whole number in words or digits; 0: none."""
    return NUMBERS.get(word, int(word) if word.isdecimal() and len(word) < 4 else 0)


def _name_start(tokens: tuple[Word, ...], named: dict[int, int], begin: int, end: int) -> int:
    """Where the name in a noun phrase begins: a name of the lexicon, with nouns before it; else the trailing nouns."""
    start = end - 1
    for i in range(begin, end):
        if named.get(i) == end:
            start = i
            break
    while start > begin:
        previous = tokens[start - 1]
        if previous.tag == "HYPH" and start - 2 >= begin:
            start -= 2
        elif _belongs(previous, tokens[start]):
            start -= 1
        else:
            break
    return start


def _belongs(previous: Word, word: Word) -> bool:
    """Whether a word before a name is part of it: a noun, the noun before a number, 'living' of 'living room'."""
    if previous.lower.endswith("most") or word.lower in words.ANYTHING:
        return False
    if previous.lower in ("living", "dining"):
        return word.lower == "room"
    return (previous.tag in NOUN_TAGS or word.tag == "CD") and previous.lower not in NEVER_NOUN


def _singular_name(tokens: tuple[Word, ...], start: int, end: int) -> tuple[str, bool]:
    head = tokens[end - 1]
    parts = [w.lower for w in tokens[start : end - 1] if w.tag != "HYPH"]
    name = " ".join([*parts, head.lower])
    plural = head.tag in ("NNS", "NNPS")
    if name in lexicon.PERSONS:
        return "person", head.lower == "people"
    if name in lexicon.ALWAYS_PLURAL or (name in lexicon.KIND_OF and not plural):
        return name, plural
    single = head.lower[:-1] if plural and head.lower[:-1] in lexicon.VOCABULARY else _lemma(head)  # 'vases'
    last = lexicon.IRREGULAR.get(head.lower, single if plural else head.lower)
    return " ".join([*parts, last]), plural or head.lower in lexicon.IRREGULAR
