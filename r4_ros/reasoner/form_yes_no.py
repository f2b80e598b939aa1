"""Questions that begin with a form of be, do, have or a modal: is it there, is it so, which of two, as many as."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import lexicon, uses_words, words
from r4_ros.reasoner.asking import ALIKE, BE, PEOPLE, SEE_LEMMAS, SOME, Ask, Clause, Reader, first_of
from r4_ros.reasoner.clocktime import UNITS
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.phrases import NUMBERS
from r4_ros.reasoner.spatial_words import EVERYWHERE, HAVING

POSSIBLE = ("is", "it", "possible", "to")
ASIDE = (("is", "it", "me", "or"), ("is", "it", "just", "me", "or"), ("am", "i", "mad", "or"))
"""What is said before a question and asks nothing."""


AGAIN = (("was",), ("is",), ("are",), ("were",))
NEGATED = frozenset("wo did do does has have had ca".split())


def yes_no(clause: Clause) -> Ask:
    """The form of a question whose first word is an auxiliary."""
    said = next((len(a) for a in ASIDE if clause.lowers[: len(a)] == a), 0)
    if said:
        clause = replace(clause, start=clause.start + said)
    return first_of(READERS, clause) or Ask(Form.VERIFY, clause.start, clause.start + 1)


def _if_so(clause: Clause) -> Ask | None:
    """'is there something I can use? If so, what?': the second part asks."""
    rest = clause.reading.lowers[clause.end + 1 :]
    if rest[:2] != ("if", "so"):
        return None
    where = "where" in rest[2:4]
    there = clause.at(1) == "there" or (clause.words[2:] and clause.words[2].lemma in SEE_LEMMAS)
    end = clause.start + (2 if clause.at(1) == "there" else 3) if there else clause.start + 1
    return Ask(Form.LOCATE if where else Form.IDENTIFY, clause.start, end, bare=not where)


def _odd_or_even(clause: Clause) -> Ask | None:
    if clause.has("odd", "even", "divisible", "divided") and clause.has("number", "amount", "odd", "total"):
        return Ask(Form.COUNT, clause.start, _property_end(clause)[0], choices=("odd", "even"))
    return None


def _property_end(clause: Clause) -> tuple[int, Asked | None]:
    """Where 'is the shape of' ends, and the property: (the auxiliary's end, None) where none is named."""
    of = clause.lowers.index("of") if "of" in clause.lowers[2:5] else 0
    named = words.PROPERTIES.get(clause.at(of - 1)) if of > 1 else None
    if named is None:
        return clause.start + 1, None
    return clause.start + of + 1, Asked(named)


def _chosen(clause: Clause) -> Ask | None:
    """'is it A or B'."""
    lowers = clause.lowers
    aside = "without" in lowers and "or" in lowers and lowers.index("without") < lowers.index("or")
    modal = clause.at(0) in ("can", "could") and clause.at(1) in ("i", "we")  # 'can I turn it on or off without ..'
    degree = any(clause.at(k) == "or" and clause.at(k - 1) in ("more", "less") for k in range(len(clause.words)))
    aside = aside or (degree and clause.has("than"))  # 'more or less than the other'
    both = clause.has("or") and _is_any(clause, lowers.index("or"))
    if not clause.has("or") or both or aside or clause.has("either") or (modal and clause.has("without")):
        return None
    choices, begin = choices_of(clause.reading, clause.start, clause.end)
    end, named = _property_end(clause)
    if not choices:
        return None
    last = clause.untimed[-1]
    if last.tag == "JJR" and clause.reading.phrase_at(last.i) is None:  # 'is the grey one or the white one taller'
        return _compared(clause)
    return Ask(Form.CHOOSE, clause.start, end, named, choices=choices, chosen_from=begin)


def _is_any(clause: Clause, at: int) -> bool:
    """'any books or magazines', 'any training or background': either is asked about."""
    phrase = clause.reading.phrase_at(clause.start + at - 1)
    return phrase is not None and phrase.determiner == "any"


def _more_than(clause: Clause) -> Ask | None:
    """'is there more than one bed': a number; 'are the blinds more than half open': a state; else a comparison."""
    if not clause.has("than"):
        return None
    at = clause.lowers.index("than")
    amount = clause.at(at + 1)
    more = clause.at(at - 1) in ("more", "fewer", "less")
    if more and (amount in NUMBERS or amount.isdecimal()):
        counts = clause.reading.phrase_at(clause.start + at + 1) is not None
        if clause.at(at + 2) == "times" or clause.at(at + 2).removesuffix("s") in UNITS:  # '.. more than five minutes'
            return Ask(Form.VERIFY, clause.start, clause.start + 1, Asked.NUMBER)
        return Ask(Form.COUNT, clause.start, clause.start + at + 2) if counts else None
    other = clause.at(at - 1) in ("other", "rather")
    return None if other or (more and amount.startswith("half")) else _compared(clause)


def _compared(clause: Clause) -> Ask:
    number = "number" in clause.lemmas or "more" in clause.lemmas
    end, named = _property_end(clause)
    return Ask(Form.COMPARE, clause.start, end, Asked.NUMBER if number else named)


def _alike(clause: Clause) -> Ask | None:
    """'are they the same colour', 'do the two match', 'as many .. as'."""
    alike = clause.at(clause.lowers.index("same") + 1) if clause.has("same") else ""
    same = clause.has("same") and alike not in ("room", "place", "time", "spot", "position")
    equal = clause.lowers.count("as") > 1 and "as" in clause.lowers[:-2]
    return _compared(clause) if same or equal or clause.has(*ALIKE) else None


def _able(clause: Clause) -> Ask | None:
    """'can I sit on the floor': whether something is there that serves; 'can Tom drive': what somebody can."""
    may_i = clause.at(0) in ("can", "could") and clause.at(1) in ("i", "we")
    serves = may_i and len(clause.words) > 2 and clause.words[2].lemma in uses_words.PURPOSES
    return Ask(Form.EXISTS, clause.start, clause.start + 1) if serves else None


def _there(clause: Clause) -> Ask | None:
    """'is there', 'are any'."""
    reading, start = clause.reading, clause.start
    there = next((k for k in range(4) if clause.at(k) in ("there", "their", "any")), -1)
    if there < 0:
        return None
    if clause.at(there + 1) == "enough" and clause.at(there + 2) not in ("room", "space"):
        return Ask(Form.VERIFY, start, start + there + 2, Asked.NUMBER)  # 'are there enough chairs'
    more = clause.at(there + 1) in ("more", "fewer", "less") and clause.at(0) in ("was", "were")
    if more and clause.at(there) == "there":
        return Ask(Form.COMPARE, start, start + there + 2, Asked.NUMBER)  # 'was there more flour before'
    if there == 2 and clause.at(0) in BE | NEGATED and clause.at(1) in ("n't", "not"):  # 'was n't there a mirror'
        return Ask(Form.EXISTS, start, start + 3)
    if clause.at(there + 1) == "of" and clause.at(there) == "any" and words.STATES.keys() & set(clause.lowers[there:]):
        return Ask(Form.VERIFY, start, start + 1)  # 'were any of the windows open'
    if clause.at(there) == "any" and there > 1 and clause.at(there - 1) not in ("there", "have", "see", "got", "has"):
        return None  # 'did it get any warmer'
    opens = there == 1 and reading.words[start + 1].tag in ("EX", "PRP$", "RB", "DT")
    if not opens and clause.at(there) != "any":
        return None
    return Ask(Form.EXISTS, start, start + there + (clause.at(there) != "any"))


def _seen(clause: Clause) -> Ask | None:
    """'did you see a dog', 'has the other robot noticed', 'could you make out'."""
    verb = next((k for k, w in enumerate(clause.words[:8]) if k and w.lemma in SEE_LEMMAS | {"pass"}), -1)
    if verb < 0:
        return None
    if clause.lowers[:4] == POSSIBLE and verb == 4:
        return Ask(Form.EXISTS, clause.start, clause.start + verb + 1)
    sees = {"i", "you", "we", "anyone", "anybody", "robot"} | {w for w in clause.reading.lowers if "robot" in w}
    looker = next((k for k in range(1, verb) if clause.at(k) in sees), -1)
    another = clause.at(looker - 1) == "other"
    able = clause.words[verb].lemma in SEE_LEMMAS or clause.at(1) == "you"
    return Ask(Form.EXISTS, clause.start, clause.start + verb + 1) if 0 < looker < 3 + another and able else None


def _holds(clause: Clause) -> Ask | None:
    """'does the kitchen have a window', 'did the box contain any nails': whether something is there."""
    whole = clause.reading.phrase_at(clause.start + 1) if len(clause.words) > 1 else None
    if whole is None or clause.at(0) not in ("does", "do", "did"):
        return None
    verb = clause.reading.words[clause.reading.words[whole.head].head]  # 'does the drawer by the sink contain ..'
    held = whole.end + 1 < clause.end and clause.reading.words[whole.end].lemma in HAVING
    held = held or (verb.lemma in HAVING and verb.tag == "VB" and clause.reading.words[whole.head].dep == "nsubj")
    thing = lexicon.is_room(whole.noun) or lexicon.kind_of(whole.noun) not in (None, "person")
    everywhere = whole.noun in EVERYWHERE
    if not held or not (thing or everywhere):
        return None
    return Ask(Form.EXISTS, clause.start, whole.end + 1 if everywhere else clause.start + 1)


def _some(clause: Clause) -> Ask | None:
    """'is anyone in the hall', 'was something left on the bench'; what somebody did to a thing is verified."""
    if clause.at(1) not in SOME:
        return None
    acts = clause.at(1) in PEOPLE and any(t.dep == "dobj" for t in clause.words[2:])
    return Ask(Form.VERIFY if acts else Form.EXISTS, clause.start, clause.start + 1)


def _present(clause: Clause) -> Ask | None:
    """'was the cat around': whether it was there at all."""
    subject = clause.reading.phrase_at(clause.start + 1) if len(clause.words) > 2 else None
    if subject is None or clause.at(0) not in BE:
        return None
    said = [w for w in clause.untimed if w.i >= subject.end]
    around = said and said[0].lower in ("around", "about", "present") and len(said) == 1
    after = said[1].i if len(said) > 1 else clause.end
    around = around or (
        len(said) > 1 and said[0].lower == "around" and clause.reading.lowers[after : after + 2] == ("at", "any")
    )
    return Ask(Form.EXISTS, clause.start, clause.start + 1) if around else None


def _named(clause: Clause) -> Ask | None:
    """'is the shape of the desk round'."""
    end, named = _property_end(clause)
    return Ask(Form.VERIFY, clause.start, end, named) if named is not None else None


READERS: tuple[Reader, ...] = (
    _if_so,
    _odd_or_even,
    _chosen,
    _more_than,
    _alike,
    _able,
    _there,
    _seen,
    _holds,
    _some,
    _present,
    _named,
)


def choices_of(reading: Reading, start: int, end: int) -> tuple[tuple[str, ...], int]:
    """The alternatives around 'or', and where they begin: as many words as follow it, at most back to the verb."""
    lowers = reading.lowers
    at = next(k for k in range(start, end) if lowers[k] == "or")
    if lowers[at + 1 : at + 2] in (("not",), ("no",)):
        return (), -1
    state = lowers[at + 1] in words.STATES or lowers[at + 1] in ("up", "down") if at + 2 < end else False
    if state and reading.words[at + 2].tag in ("TO", "IN"):
        end = at + 2  # 'up or down to my left'
    again = at + 1 if reading.lowers[at + 1 : at + 2] not in AGAIN else at + 3  # '.. or was it by the lift'
    right = reading.said(again, end)
    size = max(1, min(end - at - 1, at - start - 1))
    phrase = reading.phrase_at(at - 1)
    left_start = phrase.start if phrase is not None and reading.phrase_at(at + 1) is not None else at - min(size, 1)
    if reading.words[at + 1].tag == "IN" if at + 1 < end else False:
        left_start = at - min(size, at - start - 1)
    return tuple(c for c in (reading.said(left_start, at), right) if c), left_start
