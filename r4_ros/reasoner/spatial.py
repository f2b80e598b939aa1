"""Place in questions: words for relations, what they refer to, and the thing that they restrict."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import lexicon, negation, words
from r4_ros.reasoner.keys import Relation
from r4_ros.reasoner.occasions import is_happening
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import READERS, Place, is_abstract, is_excluded, is_left_out, is_worn, seen_from
from r4_ros.reasoner.spatial_words import (
    ABILITIES,
    ABSTRACTLY_ON,
    BODY,
    COUNTED_FROM,
    EVERYWHERE,
    FACES,
    FETCHING,
    HAVING,
    LEAVING,
    LINKS,
    LONGEST,
    OWN,
    OWN_PARTS,
    PARTITIVE,
    RELATIONSHIPS,
    SAT_AT,
    SIDES,
    SURFACES,
    TAKING,
    TIMELY,
    TURNING,
)
from r4_ros.reasoner.tokens import NOUN_TAGS

R = Relation


SUBORDINATE = frozenset("advcl ccomp relcl acl pcomp".split())
"""Dependencies of verbs that aren't the question's own."""
ANY_OF = tuple((w, "of") for w in ("any", "one", "each", "either", "some", "all", "both"))
"""'under any of the pots'."""
AIMING = frozenset("look stare glance gaze aim point peek".split())
"""'at' behind these says what is looked at."""


def find(reading: Reading, masked: frozenset[int]) -> list[Place]:
    """All spatial restrictions in words that aren't masked (as words of time are), with what they restrict."""
    found: list[Place] = seen_from(reading)
    i = found[0].end if found and found[0].start == 0 else 0
    while i < len(reading.words):
        places = next((p for read in READERS if i not in masked and (p := read(reading, i))), [])
        places = places or ([] if i in masked else _relation(reading, i, masked))
        found += places
        i = max([i + 1, *(p.start + 1 for p in places), *(_phrase_end(p) for p in places)])
    read = masked | {i for p in found for i in range(p.start, p.end)}
    return _with_subjects(reading, found, masked) + _rooms(reading, masked, read) + _sided(reading, masked)


def _phrase_end(place: Place) -> int:
    """Where reading goes on: before the anchor, as more may hang on it."""
    return place.anchor.start if place.anchor is not None and place.other is None else place.end


def _relation(reading: Reading, i: int, masked: frozenset[int]) -> list[Place]:
    lowers = reading.lowers
    for size in range(min(LONGEST, len(lowers) - i), 0, -1):
        part = lowers[i : i + size]
        own = OWN.get(part)
        inside = reading.phrase_at(i + size - 1)
        led = inside is not None and inside.head >= i + size  # 'on the left wall'
        led = led or (reading.lowers[i + size : i + size + 1] != () and reading.lowers[i + size] in BODY - {"hand"})
        led = led or (part[-1] in SIDES and reading.lowers[i + size : i + size + 1] == ("hand",) and size < 4)
        asked = part[-1] == "face" and reading.words[max(0, i - 1)].tag in ("MD", "VBP")  # 'which way would I face'
        if own is not None and not led and not asked and lowers[i + size : i + size + 1] != ("of",):
            return [Place(own, i, i + size, ego=True)]
        relation = TAKING.get(part)
        if relation is None:
            continue
        place = _anchored(reading, relation, i, i + size, masked)
        if place is not None:
            return [place]
    return []


def _anchored(reading: Reading, relation: Relation, i: int, j: int, masked: frozenset[int]) -> Place | None:
    """The place whose relation stands at [i, j), with what follows as its anchor; None where that is no place."""
    lowers = reading.lowers
    if _is_no_place(reading, relation, i):
        return None
    while j < len(lowers) and lowers[j] in ("directly", "immediately", "either", "both"):
        j += 1
    if j >= len(lowers) or j in masked:
        return None
    if lowers[j] in EGO_WORDS | {"my", "your"} and (own := _at_asker(reading, relation, i, j)) is not None:
        return own
    picked = lowers[j] == "the" and j + 3 < len(lowers) and reading.words[j + 1].tag in ("JJS", "JJR")
    j += 3 if picked and lowers[j + 2] == "of" else 0  # 'in the tallest of the cupboards'
    j += 2 if lowers[j : j + 2] in ANY_OF and j + 2 < len(lowers) else 0
    j += 2 if lowers[j : j + 2] == ("the", "next") and reading.phrase_at(j) is None else 0
    phrase = reading.phrase_at(j) or _meant(reading, j, masked)
    if phrase is None or (phrase.start not in (j, j - 1) and phrase.end > j) or phrase.head in masked:
        return None
    if phrase.noun in FACES and lowers[phrase.end : phrase.end + 1] == ("of",) and phrase.end + 1 < len(lowers):
        phrase = reading.phrase_at(phrase.end + 1) or phrase  # 'off the back of the door'
    if relation is R.BETWEEN:
        return _between(reading, i, phrase)
    if relation is R.BEHIND and lowers[i] != "behind" and lexicon.is_room(phrase.noun):
        relation = R.IN  # 'at the back of the kitchen'
    if _is_no_anchor(reading, relation, i, phrase):
        return None
    if lowers[i : i + 1] == ("across",) and lexicon.kind_of(phrase.noun) in ("ceiling", "floor", "wall"):
        relation = R.ON  # 'spread across the ceiling'
    return Place(relation, i, max(phrase.end, j + (phrase.end <= j)), anchor=phrase)


def _at_asker(reading: Reading, relation: Relation, i: int, j: int) -> Place | None:
    """'behind me', 'near my position', 'between me and the door'."""
    lowers = reading.lowers
    if relation is R.BETWEEN and lowers[j] in EGO_WORDS and lowers[j + 1 : j + 2] == ("and",):
        far = reading.phrase_at(j + 2) if j + 2 < len(lowers) else None
        return Place(relation, i, far.end, ego=True, other=far) if far is not None else None
    if lowers[j] in EGO_WORDS and relation not in (R.IN, R.ON, R.THROUGH, R.ALONG):
        return Place(relation, i, j + 1, ego=True)
    if lowers[j] in ("my", "your") and set(lowers[j + 1 : j + 2]) & OWN_PARTS:
        return Place(relation, i, j + 2, ego=True)
    return None


def _is_no_anchor(reading: Reading, relation: Relation, i: int, phrase: NounPhrase) -> bool:
    """Whether what follows a relation is no thing or room: a time, a manner, 'the scene', clothes."""
    lowers, kind = reading.lowers, lexicon.kind_of(phrase.noun)
    if "same" in phrase.modifiers and relation not in (R.IN, R.FACING):
        return True
    if phrase.noun in ("something", "anything", "nothing", "everything") and phrase.end - phrase.start == 1:
        return True
    if lowers[i] in ("at", "in", "on") and phrase.noun.split()[-1] in TIMELY and kind is None:
        return True
    bare = not phrase.modifiers or phrase.determiner in ("a", "an")
    if relation is R.IN and phrase.noun in EVERYWHERE and not phrase.owner and bare:
        return True
    if lowers[i] == "in" and phrase.noun in ("front", "direction"):
        return True
    if phrase.determiner == "this" and phrase.noun in ("floor", "level", "storey") and lowers[i] in ("on", "at"):
        return True  # where the asker is
    if lowers[i] in ("in", "on", "at", "by", "under", "into", "through") and is_abstract(phrase.noun):
        return True
    out = relation is R.THROUGH and lowers[i] == "out" and kind not in ("window", "door")
    return out or is_worn(reading, relation, i, phrase)


def _meant(reading: Reading, j: int, masked: frozenset[int]) -> NounPhrase | None:
    """'the drawer below the sink: what is in it', 'there was a tin. Is anything on it': what a pronoun stands for."""
    after = reading.words[j + 1].tag if j + 1 < len(reading.words) and j + 1 not in masked else "."
    if reading.lowers[j] not in ("it", "them", "that", "those") or after in ("NN", "NNS", "JJ", "VBZ", "VBD", "VBP"):
        return None
    parted = next((k for k in range(j - 1, 0, -1) if reading.lowers[k] in (",", ":", ".", ";", "-", "?")), -1)
    before = (
        p for p in reading.phrases if p.end <= parted and p.head not in masked and not lexicon.is_anything(p.noun)
    )
    return next(before, None)


def _is_no_place(reading: Reading, relation: Relation, i: int) -> bool:
    """'made by hand', 'based on the label', 'good at chess', 'the difference between': no place is meant."""
    word, head = reading.words[i], reading.words[reading.words[i].head]
    if word.lower == "by" and (word.dep == "agent" or head.tag == "VBN") and head.lower not in LINKS:
        named = reading.phrase_at(i + 1) if i + 1 < len(reading.words) else None
        return named is None or not (named.definite and lexicon.is_standing(named.noun))  # '.. by the window'
    if word.lower == "by" and i + 1 < len(reading.words) and reading.words[i + 1].tag == "NN":
        return True  # 'by plane', 'by hand'
    if word.lower == "near" and i and reading.words[i - 1].tag in ("DT", "PRP$"):
        return True  # 'the near hedge'
    if word.lower == "into" and head.lemma in TURNING:
        return True
    before = reading.words[i - 1].lemma if i else ""
    if word.lower == "at" and before in AIMING:
        return True
    particle = word.dep == "prt" and reading.lowers[i + 1 : i + 2] != ("from",)
    if particle or (word.lower == "on" and before in ABSTRACTLY_ON):
        return True
    if word.lower in ("at", "in") and i and reading.lowers[i - 1] in ABILITIES:
        return True
    if relation is not R.BETWEEN or not i:
        return False
    named = reading.phrase_at(i - 1)
    return named is not None and named.noun.split()[-1] in RELATIONSHIPS


def _between(reading: Reading, i: int, phrase: NounPhrase) -> Place:
    lowers = reading.lowers
    if lowers[phrase.end : phrase.end + 1] == ("and",):
        if lowers[phrase.end + 1 : phrase.end + 2] and lowers[phrase.end + 1] in EGO_WORDS:
            return Place(R.BETWEEN, i, phrase.end + 2, anchor=phrase, ego=True)
        other = reading.phrase_at(phrase.end + 1)
        if other is not None:
            return Place(R.BETWEEN, i, other.end, anchor=phrase, other=other)
    later = next((k for k in range(phrase.end, min(phrase.end + 6, len(lowers))) if lowers[k] == "and"), -1)
    far = reading.phrase_at(later + 1) if later >= 0 and later + 1 < len(lowers) else None
    if far is not None and not {",", "?", "."} & set(lowers[phrase.end : later]):
        return Place(R.BETWEEN, i, far.end, anchor=phrase, other=far)  # 'between the doors with curtains and the sofa'
    both = next((k for k in range(phrase.start, phrase.head) if lowers[k] == "and"), -1)
    if both > phrase.start:  # 'the brown and green sofa'
        first, second = lowers[both - 1], lowers[both + 1]
        one = replace(phrase, modifiers=tuple(m for m in phrase.modifiers if m != second))
        other = replace(phrase, start=both + 1, modifiers=tuple(m for m in phrase.modifiers if m != first))
        return Place(R.BETWEEN, i, phrase.end, anchor=one, other=other)
    return Place(R.BETWEEN, i, phrase.end, anchor=phrase, other=phrase)


def _with_subjects(reading: Reading, places: list[Place], masked: frozenset[int]) -> list[Place]:
    """Each relation restricts the noun phrase right before it (or the one that its fellow restricts)."""
    done: list[Place] = []
    for place in places:
        subject = _subject(reading, place, done, masked)
        negate = negation.denied(reading, place.start) or is_left_out(reading, place.start)
        before = reading.phrase_at(place.start - 1) if place.start else None
        if before is not None and before.noun in ("one", "ones") and not place.viewer and is_excluded(reading, before):
            done.append(replace(place, negate=True))  # 'apart from the one in the study'
            continue
        if place.viewer:
            done.append(place)
            continue
        done.append(replace(place, subject=subject, negate=negate))
    return done


def _subject(reading: Reading, place: Place, before: list[Place], masked: frozenset[int]) -> NounPhrase | None:
    for earlier in before:
        if earlier.start == place.start:
            return earlier.subject
    i = place.start - 1
    if i > 2 and reading.lowers[i - 2 : i] == ("from", "the") and reading.lowers[i] in COUNTED_FROM:
        i -= 3  # 'the third shelf from the bottom in the pantry'
    while i >= 0 and (reading.lowers[i] in LINKS or i in masked) and reading.phrase_at(i) is None:
        if reading.lowers[i] in ("is", "are", "was", "were", "'s") and _question_verb(reading, i):
            return None
        i -= 1
    if i >= 0 and reading.lowers[i] == "and" and before:
        return before[-1].subject
    phrase = reading.phrase_at(i) if i >= 0 else None
    phrase = _object(reading, phrase, range(i + 1, place.start)) or phrase
    if phrase is not None and phrase.noun == "one" and phrase.determiner and not phrase.modifiers:
        named = [p for p in reversed(reading.phrases) if p.end < phrase.start]
        as_one = reading.lowers[phrase.start - 1 : phrase.start] in (("as",), ("than",))  # 'the same as the one on it'
        anchors = [e.anchor for e in before] if as_one else []
        phrase = next((p for p in named if p not in anchors), phrase)
    if phrase is not None and (place.anchor is phrase or phrase.head in masked):
        return None
    own = next((p for p in before if p.ego and p.anchor is None and p.end == i + 1), None)
    return own.subject if own is not None else phrase


def _object(reading: Reading, phrase: NounPhrase | None, between: range) -> NounPhrase | None:
    """'the items that Anna put in the box': what is there is what was put, not who did it."""
    if phrase is None or reading.words[phrase.head].dep != "nsubj":
        return None
    verb = reading.words[phrase.head].head
    if verb not in between:
        return None
    objects = (p for p in reading.phrases if reading.words[p.head].dep in ("dobj", "nsubjpass"))
    return next((p for p in objects if reading.words[p.head].head == verb and p is not phrase), None)


def _question_verb(reading: Reading, i: int) -> bool:
    """Whether this form of 'be' is the question's own ('what is on ...'), not a relative clause's ('that is on')."""
    verb = reading.words[i] if reading.words[i].dep != "aux" else reading.words[reading.words[i].head]
    return (i == 0 or reading.lowers[i - 1] not in ("that", "which", "who")) and verb.dep not in SUBORDINATE


def _sided(reading: Reading, masked: frozenset[int]) -> list[Place]:
    """'the left wall' is the wall to my left."""
    found = []
    for phrase in reading.phrases:
        side = next((i for i in range(phrase.start, phrase.head) if reading.lowers[i] in SIDES), -1)
        if phrase.noun in BODY and reading.lowers[phrase.start - 1 : phrase.start] == ("in",):
            continue
        if side >= 0 and side not in masked and "most" not in reading.lowers[side + 1 : side + 2]:
            found.append(Place(SIDES[reading.lowers[side]], side, side + 1, ego=True, subject=phrase))
    return found


def _is_part(part: NounPhrase, whole: NounPhrase) -> bool:
    """'the table of room 12', 'the cap of the red bottle'; not 'a cup of coffee', 'a picture of the king'."""
    if lexicon.is_room(whole.noun):
        named = part.noun in words.PROPERTIES or part.noun in words.TOLD_OF or is_happening(part.noun)
        return lexicon.kind_of(part.noun) is not None or not (
            named or is_abstract(part.noun) or part.noun.split()[-1] in PARTITIVE
        )
    last = part.noun.split()[-1]
    if whole.noun in EVERYWHERE or is_abstract(whole.noun):
        return False
    return whole.definite and not whole.proper and last not in PARTITIVE and not is_abstract(part.noun)


def _seats(reading: Reading) -> bool:
    return any(lexicon.kind_of(p.noun) in lexicon.kinds_within("seat") for p in reading.phrases)


def _end(reading: Reading) -> int:
    """Where the closing mark stands."""
    return len(reading.words) - (reading.words[-1].tag == ".")


def _rooms(reading: Reading, masked: frozenset[int], read: frozenset[int]) -> list[Place]:
    """'the kitchen table' is a table in the kitchen; 'the table of room 12' too."""
    found = []
    for phrase in reading.phrases:
        room_of = reading.phrase_at(phrase.end + 1) if reading.lowers[phrase.end : phrase.end + 1] == ("of",) else None
        if room_of is not None and phrase.end not in read and _is_part(phrase, room_of):
            relation = R.IN if lexicon.is_room(room_of.noun) else R.ON
            found.append(Place(relation, phrase.end, room_of.end, anchor=room_of, subject=phrase))
        holds = reading.lowers[phrase.start - 1 : phrase.start] in (("do",), ("does",), ("did",))
        have = next((w.i for w in reading.words[phrase.end :] if w.lower in HAVING), -1)
        kind = lexicon.kind_of(phrase.noun)
        subject = lexicon.is_room(phrase.noun) or (
            kind not in (None, "person") and reading.words[phrase.head].dep == "nsubj"
        )
        ends = have >= 0 and have + 1 in (len(reading.words), _end(reading))
        ends = ends and kind is None and not phrase.proper and phrase.noun not in EVERYWHERE
        subject = subject or (ends and reading.words[phrase.head].dep == "nsubj")
        compares = "same" in reading.lowers[have : have + 3]
        if holds and subject and have >= 0 and not compares and reading.words[have].tag in ("VB", "VBP"):
            relation = R.AROUND if kind in SAT_AT and _seats(reading) else R.IN
            found.append(Place(relation, phrase.start, phrase.end, anchor=phrase))
        left = phrase.start > 1 and reading.lowers[phrase.start - 1] == "from"
        gone = reading.words[phrase.start - 2] if left else None
        gone = gone if phrase.start not in masked else None
        fetched = left and any(w.lemma in FETCHING and w.tag == "VB" for w in reading.words[: phrase.start - 1])
        fetched = fetched and gone is not None and gone.tag in NOUN_TAGS
        if gone is not None and (fetched or gone.lemma in LEAVING or gone.lower in ("gone", "missing")):
            relation = R.ON if lexicon.kind_of(phrase.noun) in SURFACES else R.IN
            of = reading.phrase_at(phrase.start - 2) if fetched else None
            found.append(Place(relation, phrase.start - 1, phrase.end, anchor=phrase, subject=of))
        if phrase.room and phrase.start not in masked:
            room = NounPhrase(phrase.start, phrase.start, phrase.start, phrase.room, determiner="the")
            found.append(Place(R.IN, phrase.start, phrase.end, anchor=room, subject=phrase))
    return found
