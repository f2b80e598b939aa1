"""What kind of answer a question wants, and where in its words that is said."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import words
from r4_ros.reasoner.asking import (
    AUXILIARIES,
    BE,
    FIND_VERBS,
    GO_VERBS,
    GOING_VERBS,
    HEADING,
    LEADING,
    OPENING,
    SEE_LEMMAS,
    SEEKING,
    SOME,
    WANTING,
    Ask,
    Clause,
)
from r4_ros.reasoner.form_how import how
from r4_ros.reasoner.form_what import property_asked, what
from r4_ros.reasoner.form_yes_no import choices_of, yes_no
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.occasions import ORDINALS, event_word, one_that
from r4_ros.reasoner.opening import core
from r4_ros.reasoner.parse import EGO_WORDS, Reading

LISTING = (Form.IDENTIFY, Form.ATTRIBUTE, Form.STATE, Form.EXPLAIN)
"""Forms of what and who that ask for one of the alternatives where these follow."""
RANKING = frozenset("rank sort order".split())


def classify(reading: Reading, masked: frozenset[int], begin: int, end: int) -> Ask:
    """Decide by the question's opening words, then by its verb."""
    start = core(reading, masked, begin, end)
    if start is None:
        return _fragment(reading, begin, end)
    word = reading.lowers[start]
    following = reading.lowers[start + 1] if start + 1 < len(reading.lowers) else ""
    lead = {w.lemma for w in reading.words[begin:start]}
    if lead & {"explain", "describe"} or _for_what(reading, start, end):
        return Ask(Form.EXPLAIN, start, start + 1)
    led = _led(reading, start, end)
    if led >= 0:
        return Ask(Form.NAVIGATE, start, led)
    if word == "how":
        return how(Clause(reading, start, end, masked))
    if word in ("what", "which", "whose"):
        return _chosen(reading, what(reading, start, end, masked), end)
    if word == "where":
        return _where(reading, begin, start, end)
    if word == "when":
        return Ask(Form.WHEN, start, start + 1)
    if word == "why":
        return Ask(Form.EXPLAIN, start, start + 1)
    if word in ("who", "whom"):
        return _who(reading, start, end)
    if word in AUXILIARIES or following in ("n't", "not"):
        if following == "you" and word in ("can", "could", "would", "will") and start + 2 < end:
            verb = start + 2 + (reading.lowers[start + 2] == "please")
            if reading.words[verb].lemma not in SEE_LEMMAS - {"find", "locate"}:
                asked = _command(reading, verb, end)
                if asked != Ask(Form.IDENTIFY, verb, verb + 1):  # 'would you say that it is full or empty'
                    return asked
        return yes_no(Clause(reading, start, end, masked))
    return _command(reading, start, end)


def _for_what(reading: Reading, start: int, end: int) -> bool:
    """'what is the hook for', 'what do we use the hook for', 'what can the hook be used for'."""
    asks = reading.lowers[start] == "what" and reading.words[end - 1].lower == "for"
    following = reading.lowers[start + 1 : start + 2]
    able = any(w.tag == "MD" for w in reading.words[start + 1 : start + 2])
    does = able or following in (("do",), ("does",), ("did",))
    uses = does and any(w.lemma in ("use", "need", "want", "keep", "have") for w in reading.words[start:end])
    return asks and (uses or bool(BE & set(following)))


def _led(reading: Reading, start: int, end: int) -> int:
    """Where 'take me to', 'would you be so kind as to show us to' ends; -1: that isn't said."""
    lowers = reading.lowers
    if lowers[start] in BE:
        return -1  # 'is the path to the gate clear'
    for k in range(start, min(start + OPENING, end - 2)):
        if (
            lowers[k : k + 1] in (("way",), ("route",), ("path",))
            and (j := _way_to(reading, k + 1)) < end - 1
            and lowers[j] in ("to", "towards")
            and reading.phrase_at(j + 1)
            and lowers[k - 1] not in ("your", "my", "any", "no")
        ):
            return j  # 'show me the way to the canteen', 'what is the quickest route to it'
        if lowers[k] == "way" and lowers[k - 1 : k] and reading.words[k - 1].tag == "JJS" and lowers[k + 1] == "out":
            return k + 2  # 'what is the fastest way out of here'
        goal = lowers[k + 2] in ("to", "towards", "back") and lowers[k + 1] in ("me", "us")
        if goal and reading.words[k].lemma in LEADING:
            return k + 2
    return -1


def _way_to(reading: Reading, j: int) -> int:
    """Where 'to' may stand behind 'the way': 'the way back to', 'the way from the ward to'."""
    if reading.lowers[j : j + 2] in (("to", "get"), ("to", "go")):
        j += 2
    j += reading.lowers[j] in ("out", "back", "down", "up", "over", "across", "through")
    if reading.lowers[j : j + 2] == ("from", "here"):
        return j + 2
    origin = reading.phrase_at(j + 1) if reading.lowers[j : j + 1] == ("from",) and j + 1 < len(reading.words) else None
    return origin.end if origin is not None else j


def _chosen(reading: Reading, ask: Ask, end: int) -> Ask:
    """'what is the desk made of, metal or wood': alternatives behind a comma."""
    lowers = reading.lowers
    end = _listed(reading, end)
    comma = next((k for k in range(end - 1, ask.start, -1) if lowers[k] in (",", ":", "-", "?", ";")), -1)
    if comma < 0 or "or" not in lowers[comma:end] or ask.form not in LISTING:
        return ask
    choices, first = choices_of(reading, comma, end)
    return replace(ask, form=Form.CHOOSE, choices=choices, chosen_from=first) if first > comma else ask


def _listed(reading: Reading, end: int) -> int:
    """Where the alternatives end that stand behind a question's mark: 'which cup do you mean? The red or the blue'."""
    close = len(reading.words) - (reading.words[-1].tag == ".")
    rest = reading.words[end + 1 : close]
    lists = reading.lowers[end : end + 1] in (("?",), (";",)) and any(w.lower == "or" for w in rest)
    return close if lists and not any(w.tag in ("VBZ", "VBP", "VBD", "MD", ".") for w in rest) else end


def _who(reading: Reading, start: int, end: int) -> Ask:
    """'who is the tallest, A or B', 'who is taller', 'who saw the mug', 'who is at the door'."""
    someone = Ask(Form.IDENTIFY, start, start + 1, Asked.IDENTITY, bare=True)
    if any(w.tag in ("JJR", "RBR") and reading.lowers[w.i - 1] not in SOME for w in reading.words[start:end]):
        return Ask(Form.COMPARE, start, start + 1, Asked.OTHER)
    listed = _chosen(reading, someone, end)
    if listed.form is Form.CHOOSE:
        return listed
    seen = _who_saw(reading, start, end)
    return Ask(Form.IDENTIFY, start, seen, Asked.AGENT) if seen else someone


def _who_saw(reading: Reading, start: int, end: int) -> int:
    """Where 'who saw', 'who has last seen' ends; 0 for 'who did you see'."""
    i = start + 1
    while i < end and reading.lowers[i] in (
        "has",
        "have",
        "had",
        "last",
        "first",
        "else",
        "ever",
        "recently",
        "of",
        "you",
    ):
        i += 1
    return i + 1 if i < end and reading.words[i].lemma in SEE_LEMMAS else 0


def _where(reading: Reading, begin: int, start: int, end: int) -> Ask:
    lowers = reading.lowers
    lemmas = [reading.words[k].lemma for k in range(start, end)]
    own = [k for k in range(begin, end) if lowers[k] in ("left", "right", "front", "behind")]
    if "or" in lowers[begin:end] and len(own) > 1:  # 'left or right of me, where is the couch'
        choices, first = choices_of(reading, begin, start if "or" in lowers[begin:start] else end)
        if choices:
            return Ask(Form.CHOOSE, min(start, first), start + 1, choices=choices, chosen_from=first)
    end = _listed(reading, end)
    comma = next((k for k in range(end - 1, start, -1) if lowers[k] in (",", ":", "-", "?")), end)
    if "or" in lowers[comma:end]:  # 'where is the mug, on the table or the shelf'
        choices, first = choices_of(reading, comma + 1, end)
        if choices and first > comma:
            return Ask(Form.CHOOSE, start, start + 1, Asked.LOCATION, choices=choices, chosen_from=first)
    related = any(lowers[k : k + 3] == ("in", "relation", "to") for k in range(start, end))
    if "relative" in lemmas or related or lowers[end - 2 : end] in (("from", "me"), ("from", "you"), ("from", "here")):
        return Ask(Form.DIRECTION, start, start + 1)
    asker = next((k for k in range(start + 1, min(start + 4, end)) if lowers[k] in ("i", "we")), -1)
    if asker >= 0 and {w.lemma for w in reading.words[asker : asker + 4]} & GOING_VERBS:
        return Ask(Form.NAVIGATE, start, start + 1)
    return Ask(Form.LOCATE, start, start + 1)


def _command(reading: Reading, start: int, end: int) -> Ask:
    verb = reading.words[start].lemma
    led = _led(reading, start, end)
    if led >= 0:
        return Ask(Form.NAVIGATE, start, led)
    if reading.words[start].lower != verb and verb in SEE_LEMMAS:  # 'a red ladder - seen it?'
        return Ask(Form.EXISTS, start, start + 1)
    tells = verb in ("tell", "give", "show", "name")
    told = property_asked(reading, start, end) if tells else None
    place = _last_place(reading, start, end) if tells or verb == "say" else -1
    if place >= 0:
        return Ask(Form.LOCATE, start, place + 1)  # 'tell me the last place you saw it'
    ordered = reading.lowers.index("order", start, end) if tells and "order" in reading.lowers[start:end] else -1
    if ordered >= 0 and reading.lowers[ordered + 1 : ordered + 2] in (("in",), ("of",), ("that",)):
        return Ask(Form.ORDER, start, ordered + 2)  # 'give me the order in which they came'
    if verb in GO_VERBS | HEADING and told is None:
        return Ask(Form.NAVIGATE, start, start + 1)
    if verb == "pass" and reading.lowers[start + 1] in ("me", "us"):
        return Ask(Form.NAVIGATE, start, start + 2)
    if verb in FIND_VERBS:
        return Ask(Form.LOCATE, start, start + 1)
    arranged = verb in ("put", "arrange") and "order" in reading.lowers[start:end]
    if verb in RANKING or arranged:
        return Ask(Form.ORDER, start, start + 1)
    if verb == "count":
        return Ask(Form.COUNT, start, start + 1)
    return told if told is not None else _told(reading, start, end)


def _told(reading: Reading, start: int, end: int) -> Ask:
    """'read me the label', 'list everything on the desk', 'describe the yard', 'name the animals'."""
    verb = reading.words[start].lemma
    tells = verb in ("tell", "give", "show", "name")
    if tells and set(reading.lowers[start : start + 5]) & words.TEXTS:
        return Ask(Form.ATTRIBUTE, start, start + 1 + (reading.lowers[start + 1] in ("me", "us")), Asked.TEXT)
    if verb in ("tell", "show", "name", "list") and "everything" in reading.lowers[start:end]:
        return Ask(Form.IDENTIFY, start, reading.lowers.index("everything", start) + 1, bare=True)
    if verb == "read":
        return Ask(Form.ATTRIBUTE, start, start + 1 + (reading.lowers[start + 1] == "me"), Asked.TEXT)
    if verb == "list" and "order" in reading.lowers[start:end]:
        return Ask(Form.ORDER, start, start + 1)
    if verb == "describe":
        return Ask(Form.EXPLAIN, start, start + 1)
    return Ask(Form.IDENTIFY, start, start + 1)


def _fragment(reading: Reading, begin: int, end: int) -> Ask:
    """No verb asks: 'telly on or off', 'no. of beds', 'any mugs on the table', 'mug location'."""
    lowers = reading.lowers[begin:end]
    if "or" in lowers:
        choices, first = choices_of(reading, begin, end)
        if choices:
            return Ask(Form.CHOOSE, begin, begin, choices=choices, chosen_from=first)
    if lowers[:2] in (("no", "of"), ("number", "of")) or lowers[:1] == ("count",):
        return Ask(Form.COUNT, begin, begin + 2)
    if "location" in lowers or "whereabouts" in lowers:
        return Ask(Form.LOCATE, begin, begin)
    told = _noted(reading, begin, end)
    if told is not None:
        return told
    place = _last_place(reading, begin, end)
    if place >= 0:
        return Ask(Form.LOCATE, begin, place + 1)  # 'last place you saw them'
    first = begin + (lowers[:1] == ("the",))
    if first < end and reading.lowers[first] in (*ORDINALS, "last") and one_that(reading, first):
        return Ask(Form.IDENTIFY, begin, begin)
    lemmas = {reading.words[k].lemma for k in range(begin, end)}
    goal = _goal(reading, begin, end)
    if goal is not None:
        return goal
    if any(w in ("nearest", "closest") for w in lowers) and not _states(reading, begin, end):
        return Ask(Form.LOCATE, begin, begin)
    see = lemmas & SEE_LEMMAS
    if see or lowers[:1] in (("any",), ("anything",)) or EGO_WORDS & set(lowers[:1]):
        return Ask(Form.EXISTS, begin, begin + (lowers[:1] == ("i",)))
    if any(event_word(reading, k) for k in range(begin, end)) or _states(reading, begin, end):
        return Ask(Form.VERIFY, begin, begin)
    return Ask(Form.EXISTS, begin, begin)


def _last_place(reading: Reading, begin: int, end: int) -> int:
    """Where the noun of 'the last place', 'the first spot' stands; -1: nothing is said so."""
    at = next((k for k in range(begin, min(begin + 6, end)) if reading.lowers[k] in ("place", "spot")), -1)
    return at if at >= 0 and {"first", "last"} & set(reading.lowers[begin:at]) else -1


def _noted(reading: Reading, begin: int, end: int) -> Ask | None:
    """'state of the hose', 'colour of the van', 'I would like the number of jars'."""
    state = next((k for k in range(begin, min(begin + 2, end)) if reading.lowers[k] in ("state", "condition")), -1)
    if state >= 0 and reading.lowers[state + 1 : state + 2] == ("of",):
        return Ask(Form.STATE, begin, state + 2, Asked.CONDITION)
    named = next((k for k in range(begin, min(begin + 2, end)) if reading.lowers[k] in words.PROPERTIES), -1)
    if named >= 0 and reading.lowers[named + 1 : named + 2] == ("of",):
        return Ask(Form.ATTRIBUTE, begin, named + 2, Asked(words.PROPERTIES[reading.lowers[named]]))
    counted = next((k for k in range(begin, end - 1) if reading.lowers[k : k + 2] == ("number", "of")), -1)
    if counted > begin and reading.lowers[begin] in ("i", "we"):  # 'I would like the number of jars'
        return Ask(Form.COUNT, begin, counted + 2)
    return None


def _goal(reading: Reading, begin: int, end: int) -> Ask | None:
    """'I want to go to the stove', 'we need the ladder', 'I can't find my keys', 'looking for a cup'."""
    lowers, tokens = reading.lowers, reading.words
    sought = next((k + 2 for k in range(begin, end - 2) if lowers[k : k + 2] in SEEKING), -1)
    if sought >= 0:
        return Ask(Form.LOCATE, begin, sought)
    if lowers[begin] not in ("i", "we"):
        return None
    to = next((k for k in range(begin + 1, min(begin + 5, end - 1)) if lowers[k] == "to"), -1)
    wanted = to > 0 and tokens[to - 1].lemma in WANTING | {"have", "like"}
    if wanted and tokens[to + 1].lemma in GOING_VERBS | {"get", "leave", "exit", "reach"}:
        return Ask(Form.NAVIGATE, begin, to + 2)
    thing = next((k for k in range(begin, end) if lowers[k] in ("something", "anything")), -1)
    if (
        thing > 0
        and tokens[thing - 1].lemma in WANTING
        and lowers[thing + 1 : thing + 2] in (("to",), ("i",), ("that",))
    ):
        return Ask(Form.IDENTIFY, begin, thing, bare=True)
    lost = next((k for k in range(begin, end) if tokens[k].lemma in WANTING), -1)
    lost = lost if lost >= 0 or "n't" not in lowers[begin:end] else lowers.index("n't", begin) + 1
    if 0 <= lost < end and tokens[lost].lemma in WANTING | {"find"} and _is_sought(reading, lost + 1):
        return Ask(Form.LOCATE, begin, lost + 1)
    return None


def _is_sought(reading: Reading, i: int) -> bool:
    return reading.phrase_at(i) is not None or reading.lowers[i : i + 1] in (("somewhere",), ("someplace",))


def _states(reading: Reading, begin: int, end: int) -> bool:
    """Whether words say something of a thing: a subject before its verb, or a tag behind; not 'there is ..'."""
    if reading.lowers[begin] == "there":
        return False
    subjects = (w for w in reading.words[begin:end] if w.dep in ("nsubj", "nsubjpass"))
    tagged = reading.lowers[end : end + 1] == (",",)
    short = any(w.lower == "'s" and w.tag == "VBZ" and w.i > begin for w in reading.words[begin:end])
    tagged = tagged or short  # 'if the gate's locked'
    return tagged or any(w.i < w.head and reading.words[w.head].tag in ("VBZ", "VBP", "VBD", "VBN") for w in subjects)
