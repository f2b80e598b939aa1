"""What words mean the same thing, what is a kind of what, and which kinds must never be taken for each other."""

from __future__ import annotations

import difflib
from functools import lru_cache

from r4_ros.reasoner import words

Labels = tuple[str, ...]


def _lines(table: str, mark: str) -> list[tuple[str, Labels]]:
    rows = [line.split(mark) for line in table.strip().splitlines()]
    return [(left.strip(), tuple(w.strip() for w in right.split(",") if w.strip())) for left, right in rows]


SYNONYMS: dict[str, Labels] = dict(_lines(words.KINDS, "="))
NARROWER: dict[str, Labels] = dict(_lines(words.NARROWER, ">"))
STANDS_FOR: dict[str, Labels] = dict(_lines(words.STANDS_FOR, ">"))
KIND_OF: dict[str, str] = {name: kind for kind, names in SYNONYMS.items() for name in names}
KIND_OF.update({kind: kind for kind in SYNONYMS})
VOCABULARY = frozenset(KIND_OF) | frozenset(NARROWER)
PERSONS = frozenset("people persons somebody someone anybody anyone everybody everyone nobody human humans".split())
"""Words that mean just a person."""
ALWAYS_PLURAL = frozenset(
    """stairs glasses scissors clothes blinds skis elevenses headphones binoculars pliers tongs shears tweezers specs
    goggles trousers""".split()
)
IRREGULAR = {
    "geese": "goose",
    "mice": "mouse",
    "feet": "foot",
    "teeth": "tooth",
    "men": "man",
    "women": "woman",
    "children": "child",
    "knives": "knife",
    "loaves": "loaf",
    "leaves": "leaf",
    "wolves": "wolf",
    "oxen": "ox",
    "cacti": "cactus",
}
ING_NOUNS = frozenset(
    """building ceiling painting railing clothing landing wing ring swing string crossing clearing opening dwelling
    lining awning siding wiring casing covering bedding king spring drawing carving filing scaffolding tubing thing
    something anything everything nothing evening morning meeting reading icing dressing earring ironing parking
    heating lighting flooring sling sibling darling duckling shelving seating plumbing piping coating fitting""".split()
)
"""Nouns that end like what somebody does."""
STANDING = frozenset(NARROWER["furniture"]) | {kind.replace("_", " ") for kind in words.STANDING.split()}
"""Kinds of things that stay where they stand."""
SITES = (("car", "park"), ("parking", "lot"), ("loading", "bay"), ("front", "yard"))
SHORTEST, ALIKE = 4, 0.8
LONGEST = max(len(name.split()) for name in VOCABULARY)


@lru_cache(maxsize=8192)
def kind_of(noun: str) -> str | None:
    """The kind that a label or noun names: itself, else what its last words name ('red coffee mug': cup)."""
    parts = noun.casefold().replace("_", " ").replace("-", " ").rstrip("0123456789 ").split()
    for start in range(len(parts)):
        name = " ".join(parts[start:])
        for form in (name, _singular(name)):
            if form in KIND_OF:
                return KIND_OF[form]
    return None


def exact_kind(noun: str) -> str | None:
    """The kind that exactly this noun names."""
    return KIND_OF.get(noun) or KIND_OF.get(_singular(noun))


@lru_cache(maxsize=4096)
def kinds_within(noun: str) -> frozenset[str]:
    """All kinds that are such a thing: its own and, for wider words, the narrower ones."""
    noun = noun if noun in VOCABULARY else _singular(noun)
    own = KIND_OF.get(noun)
    found = {own} if own else set()
    for wide in {noun, own or noun}:
        for narrow in NARROWER.get(wide, ()):
            found.add(narrow)
            found.update(n for n in NARROWER.get(narrow, ()) if wide not in NARROWER.get(n, ()))
    return frozenset(found)


@lru_cache(maxsize=4096)
def labels_for(noun: str) -> Labels:
    """Labels that mean this noun, itself first; just itself where the noun isn't known."""
    names = [noun, _singular(noun)]
    for kind in sorted(kinds_within(noun), key=lambda k: (k != KIND_OF.get(noun), k)) + list(stand_ins(noun)):
        names += [kind, *SYNONYMS[kind]]
    return tuple(dict.fromkeys(n for n in names if n))


def stand_ins(noun: str) -> Labels:
    """Kinds that people also call so, where there is nothing better ('table' for a desk)."""
    return STANDS_FOR.get(exact_kind(noun) or "", ())


@lru_cache(maxsize=8192)
def is_stand_in(noun: str, label: str) -> bool:
    """Whether a label fits the noun only for want of better."""
    return kind_of(label) in stand_ins(noun)


def is_standing(noun: str) -> bool:
    """Whether such things stay where they stand: furniture, and what is fitted, hung up, or too big to carry."""
    return kind_of(noun) in STANDING


def wider(noun: str) -> str:
    """A less certain name to look under: the wider kind, else the last word of a compound; '' if there is none."""
    kind = exact_kind(noun)
    if kind is None:
        parts = noun.split()
        return parts[-1] if len(parts) > 1 else ""
    for wide, narrow in NARROWER.items():
        if kind in narrow and wide in SYNONYMS and wide not in NARROWER.get(kind, ()):
            return wide
    return ""


def respelled(noun: str) -> str:
    """The known name that an unknown one may be a misspelling of; '' if there is none."""
    if len(noun) < SHORTEST or kind_of(noun) is not None:
        return ""
    return next(iter(difflib.get_close_matches(noun, sorted(VOCABULARY), 1, ALIKE)), "")


@lru_cache(maxsize=8192)
def same_kind(noun: str, label: str) -> bool | None:
    """Whether a thing with this label may be what the noun asks for; None: the words don't say."""
    if label.casefold() in labels_for(noun):
        return True
    if label.casefold().endswith(f" {noun}"):
        return True
    found = kind_of(label)
    if found is not None:
        return found in kinds_within(noun) or found in stand_ins(noun)
    modifiers, _, head = label.casefold().rpartition(" ")
    named = any(f" {name} " in f" {modifiers} " for name in labels_for(noun))
    return False if named and head.isalpha() else None  # a tv stand is no tv; a 'robot 2' is a robot


def is_anything(noun: str) -> bool:
    """Whether the noun restricts nothing."""
    return noun in words.ANYTHING


def is_room(noun: str) -> bool:
    """Whether a noun names a room or site ('kitchen', 'living room', 'room 12')."""
    parts = noun.split()
    if not parts:
        return False
    if tuple(parts[-2:]) in SITES:
        return True
    if parts[-1] in ("room", "rooms") or (parts[0] in ("room", "ward", "bay", "dock") and len(parts) == 2):
        return True
    return parts[-1] in words.ROOMS and parts[-1] not in ("toilet", "dining", "living", "guest", "waiting")


def is_room_modifier(word: str) -> bool:
    """Whether a noun before another names the room it is in ('kitchen table', 'lab whiteboard')."""
    return word in words.ROOMS and word not in words.ROOM_KINDS


def property_of(word: str) -> tuple[str, str] | None:
    """(name, value) of an adjective that names a colour, material, shape or state."""
    if word in words.COLORS:
        return "color", words.COLORS[word]
    if word in words.MATERIALS:
        return "material", {"wooden": "wood"}.get(word, word)
    if word in words.SHAPES:
        return "shape", word
    return words.STATES.get(word)


def value_of(name: str, said: str) -> str:
    """The value that a memory would hold for a word of the question: 'grey' is 'gray', 'wooden' is 'wood'."""
    known = property_of(said)
    return known[1] if known is not None and known[0] == name else said


def same_value(name: str, asked: str, known: str) -> bool:
    """Whether a remembered value of a property is the one asked ('grey' is 'gray', 'dark red' is red)."""
    asked, known = value_of(name, asked.casefold()), known.casefold()
    if asked == known:
        return True
    if name == "color":
        return words.COLORS.get(asked, asked) in {words.COLORS.get(w, w) for w in known.replace("-", " ").split()}
    return asked in known.split()


def _singular(noun: str) -> str:
    if noun in KIND_OF:
        return noun
    *before, last = noun.split() or [""]
    if last in IRREGULAR:
        return " ".join([*before, IRREGULAR[last]])
    for ending, put in (("ves", "f"), ("shes", "sh"), ("ches", "ch"), ("sses", "ss"), ("xes", "x"), ("ies", "y")):
        if noun.endswith(ending):
            return {"knif": "knife"}.get(noun[: -len(ending)] + put, noun[: -len(ending)] + put)
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
