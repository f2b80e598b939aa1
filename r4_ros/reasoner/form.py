"""What kind of answer a question wants, and where in its words that is said."""

from __future__ import annotations

from dataclasses import dataclass, replace

from r4_ros.reasoner import temporal, words
from r4_ros.reasoner.clocktime import UNITS
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.parse import EGO_WORDS, Reading

AUXILIARIES = frozenset(
    """is are was were am do does did has have had can could will would should may might 's isn't aren't wasn't
    weren't ain't""".split()
)
BE = frozenset("is are was were am be been 's 're".split())
WH = frozenset("what where when which who whose whom why how what's where's".split())
GO_VERBS = frozenset(
    "take guide lead navigate bring escort drive walk go move head come steer fetch get give hand".split()
)
FIND_VERBS = frozenset("find locate".split())
SEE_LEMMAS = frozenset("see saw notice spot observe detect find perceive remember encounter".split())
FILLERS = frozenset(", . hi hey hello ok okay please so and well oh robot excuse um then also sorry".split())
STRANDED = frozenset("in on at under to behind near".split())
SEEKING = (("looking", "for"), ("searching", "for"), ("look", "for"))
WANTING = frozenset("lose seek need want miss".split())
SOME = frozenset("a an some something anything anyone someone anybody somebody nobody any".split())
PEOPLE = frozenset("anyone anybody someone somebody nobody".split())
IMAGINING = frozenset("imagine suppose say picture position assume pretend".split())
WAY_VERBS = frozenset("go turn head walk run exit leave move get travel reach drive".split())
SIZE_WORDS = frozenset("big large tall high wide small deep heavy thick".split())
STATES_OF_AFFAIRS = frozenset("state condition order color colour shape direction way language year month case".split())
RESOLVING = frozenset("tell know remember remind say show explain recall wonder like idea clue".split())


@dataclass(frozen=True)
class Ask:
    """The form; the words [start, end) that say it; ``subject`` where the target's words may begin."""

    form: Form
    start: int
    end: int
    asked: Asked | None = None
    choices: tuple[str, ...] = ()
    chosen_from: int = -1  # where the alternatives begin
    bare: bool = False  # 'what', 'who': the target itself is what is asked


def sentence(reading: Reading, masked: frozenset[int]) -> tuple[int, int]:
    """The words of the first sentence that asks something (the whole text if none does)."""
    lowers = reading.lowers
    ends = [i for i, w in enumerate(lowers) if w in ("?", "!", ".", ";") and i not in masked] + [len(lowers)]
    begin = 0
    spans = []
    for end in ends:
        if end > begin:
            spans.append((begin, end))
        begin = end + 1
    asking = [s for s in spans if _core(reading, masked, *s) is not None]
    return asking[0] if asking else (spans[-1] if spans else (0, len(lowers)))


def classify(reading: Reading, masked: frozenset[int], begin: int, end: int) -> Ask:
    """Decide by the question's opening words, then by its verb."""
    start = _core(reading, masked, begin, end)
    if start is None:
        return _fragment(reading, begin, end)
    word = reading.lowers[start]
    following = reading.lowers[start + 1] if start + 1 < len(reading.lowers) else ""
    if word == "how":
        return _how(reading, start, end, following)
    if word in ("what", "which", "whose"):
        return _what(reading, masked, start, end)
    if word == "where":
        return _where(reading, start, end)
    if word == "when":
        return Ask(Form.WHEN, start, start + 1)
    if word == "why":
        return Ask(Form.EXPLAIN, start, start + 1)
    if word in ("who", "whom"):
        if any(w.tag in ("JJR", "RBR") for w in reading.words[start:end]):
            return Ask(Form.COMPARE, start, start + 1, Asked.OTHER)
        seen = _who_saw(reading, start, end)
        if seen:
            return Ask(Form.IDENTIFY, start, seen, Asked.AGENT)
        if any(
            w.lemma in ("take", "move", "steal", "bring", "put", "remove", "drop") for w in reading.words[start:end]
        ):
            return Ask(Form.ACTION, start, start + 1)
        return Ask(Form.IDENTIFY, start, start + 1, Asked.IDENTITY, bare=True)
    if word in AUXILIARIES or following in ("n't", "not"):
        return _yes_no(reading, masked, start, end)
    return _command(reading, start, end)


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


def _core(reading: Reading, masked: frozenset[int], begin: int, end: int) -> int | None:
    """Where the asking begins, behind greetings, 'can you tell me' and leading clauses."""
    lowers = reading.lowers
    i = begin
    while i < end and (lowers[i] in FILLERS or i in masked):
        i += 1
    if i >= end:
        return None
    inner = next((k for k in range(i + 1, end) if lowers[k] in WH and k not in masked), None)
    lead = {reading.words[k].lemma for k in range(i, inner or i)}
    if inner is not None and lead & RESOLVING and lowers[i] not in WH:
        return inner
    if inner is not None and lowers[i] in IMAGINING | {"from"}:
        return inner
    if lowers[i] in WH or lowers[i] in AUXILIARIES:
        return i
    preposition = reading.words[i].tag in ("IN", "TO") and lowers[i + 1 : i + 2] in (("what",), ("which",), ("when",))
    if preposition:
        return i + 1
    verb = reading.words[i].lemma
    if verb in GO_VERBS | FIND_VERBS | {"count", "list", "name", "describe", "show", "tell"} and _imperative(
        reading, i
    ):
        return i
    after_comma = [k + 1 for k in range(i, end - 1) if lowers[k] == ","]
    for k in after_comma:
        while k < end and (lowers[k] in FILLERS or k in masked):
            k += 1
        if k < end and (lowers[k] in WH or lowers[k] in AUXILIARIES):
            return k
    return inner if inner is not None and lowers[inner] != "which" else None


def _imperative(reading: Reading, i: int) -> bool:
    opens = i == 0 and reading.lowers[i + 1 : i + 2] in (("to",), ("me",), ("us",))
    return opens or (
        reading.words[i].tag in ("VB", "VBP", "NN") and (i == 0 or reading.words[i - 1].tag not in ("DT", "PRP"))
    )


def _how(reading: Reading, start: int, end: int, following: str) -> Ask:
    lowers = reading.lowers
    lemmas = {reading.words[k].lemma for k in range(start, end)}
    unit = lowers[start + 2].rstrip("s") if start + 2 < end else ""
    if following == "many" and unit in UNITS:
        ago = lowers[start + 3 : start + 4] == ("ago",)
        return Ask(Form.WHEN if ago else Form.DURATION, start, start + 3 + ago)
    if following == "many" and unit in ("meter", "metre", "yard", "feet", "foot", "mile", "centimeter", "step"):
        return Ask(Form.DISTANCE, start, start + 3)
    if following in ("many", "much", "long", "far") and "than" in lowers[start:end]:
        return Ask(Form.COMPARE, start, start + 2, Asked.NUMBER if following == "many" else Asked.OTHER)
    if following in ("many", "much"):
        return Ask(Form.COUNT, start, start + 2)
    if following in ("far", "close", "near"):
        return Ask(Form.DISTANCE, start, start + 2)
    if following == "long" and lowers[start + 2 : start + 3] == ("ago",):
        return Ask(Form.WHEN, start, start + 3)
    if following == "long":
        size = lowers[start + 2 : start + 3] and lowers[start + 2] in BE and not lemmas & {"stay", "sit", "stand"}
        verbs = any(w.tag in ("VBD", "VBN", "VBG", "IN") for w in reading.words[start + 3 : end])
        return Ask(Form.ATTRIBUTE, start, start + 2, Asked.SIZE) if size and not verbs else _duration(start)
    if following in SIZE_WORDS or following == "old":
        return Ask(Form.ATTRIBUTE, start, start + 2, Asked.OTHER if following in ("old", "heavy") else Asked.SIZE)
    if lemmas & {"exit", "leave", "get", "reach"} and set(lowers[start:end]) & {"i", "we"}:
        return Ask(Form.NAVIGATE, start, start + 1)
    serves = start + 3 < end and reading.words[start + 3].lemma in words.PURPOSES
    if serves and following in ("can", "could", "do") and lowers[start + 2] in ("i", "we", "you", "one"):
        return Ask(Form.IDENTIFY, start, start + 1, bare=True)
    return Ask(Form.EXPLAIN, start, start + 1)


def _duration(start: int) -> Ask:
    return Ask(Form.DURATION, start, start + 2)


def _where(reading: Reading, start: int, end: int) -> Ask:
    lowers = reading.lowers
    lemmas = [reading.words[k].lemma for k in range(start, end)]
    own = [k for k in range(start, end) if lowers[k] in ("left", "right", "front", "behind")]
    if "or" in lowers[start:end] and len(own) > 1:
        choices, first = _choices(reading, start, end)
        return Ask(Form.CHOOSE, start, start + 1, choices=choices, chosen_from=first)
    if "relative" in lemmas or lowers[end - 2 : end] in (("from", "me"), ("from", "you"), ("from", "here")):
        return Ask(Form.DIRECTION, start, start + 1)
    if set(lemmas[:5]) & {"go", "head", "turn"} and "i" in lowers[start:end] and lemmas[1] in ("should", "do", "can"):
        return Ask(Form.NAVIGATE, start, start + 1)
    return Ask(Form.LOCATE, start, start + 1)


def _what(reading: Reading, masked: frozenset[int], start: int, end: int) -> Ask:
    lowers, tokens = reading.lowers, reading.words
    noun = next((k for k in range(start + 1, min(start + 5, end)) if tokens[k].tag.startswith("NN")), -1)
    directly = noun >= 0 and all(tokens[k].tag in ("JJ", "NN", "HYPH", "DT") for k in range(start + 1, noun))
    lemmas = {tokens[k].lemma for k in range(start, end)}
    if lowers[start + 1 : start + 2] == ("of",) and not {"or"} & set(lowers[start:end]):  # 'which of the bins'
        return Ask(Form.IDENTIFY, start, start + 2)
    head = lowers[noun] if noun >= 0 and directly else ""
    if head in ("time", "date", "day", "hour") or lowers[start + 1 : start + 2] == ("time",):
        return Ask(Form.WHEN, start, start + 2)
    if any(t.tag in ("JJR", "RBR") for t in tokens[start:end]) and "or" in lowers[start:end]:
        return Ask(Form.COMPARE, start, start + 1 + (head in ("one", "ones")), Asked.OTHER)
    if head in ("way", "direction"):
        wants = (lemmas & WAY_VERBS and set(lowers[start:end]) & {"i", "we"}) or {"i", "want"} <= set(lowers[:start])
        return Ask(Form.NAVIGATE if wants else Form.DIRECTION, start, noun + 1)
    if head == "side":
        return Ask(Form.DIRECTION, start, noun + 1)
    if head == "state" or lowers[start + 1 : start + 4] in (("is", "the", "state"), ("was", "the", "state")):
        return Ask(Form.STATE, start, noun + 1, Asked.CONDITION)
    described = _property(reading, start, end)
    if described is not None:
        return described
    if head in ("robot", "robots", "agent") and lemmas & SEE_LEMMAS:
        return Ask(Form.IDENTIFY, start, noun + 1, Asked.AGENT)
    stranded = tokens[end - 1].tag in ("IN", "RP") and tokens[end - 1].lower in STRANDED
    before = lowers[start - 1] if start else ""
    if head and before in ("in", "on", "at", "under", "behind", "inside") and head not in STATES_OF_AFFAIRS:
        return Ask(Form.LOCATE, start, noun + 1)
    if noun >= 0 and lowers[noun] in ("relationship", "personality", "character"):
        return Ask(Form.EXPLAIN, start, start + 1)
    of_rooms = head == "rooms" or (head == "room" and lemmas & {"have", "contain"})
    if of_rooms and any(noun < p.start < end for p in reading.phrases):
        return Ask(Form.IDENTIFY, start, noun + 1, Asked.LOCATION)
    placed = head in ("room", "part", "place", "shelf", "region") or (stranded and lowers[start] == "which")
    if head and placed and (stranded or before in ("in", "on", "at", "to") or head == "room"):
        go = bool(lemmas & {"go", "head"}) and bool(set(lowers[start:end]) & {"i", "we", "you"})
        return Ask(Form.NAVIGATE if go else Form.LOCATE, start, noun + 1)
    whole = reading.phrase_at(start + 2) if lowers[start + 1 : start + 2] and lowers[start + 1] in BE else None
    tail = end - 2 if lowers[end - 2 : end] in (("next", "to"), ("close", "to")) else end - 1
    if stranded and lowers[start] == "what" and whole is not None and (whole.start, whole.end) == (start + 2, tail):
        return Ask(Form.LOCATE, start, start + 1)  # 'what is the mug on'
    made_of = next((k for k in range(start, end - 1) if lowers[k : k + 2] == ("made", "of")), -1)
    if made_of >= 0 and not head:
        return Ask(Form.ATTRIBUTE, start, start + 1, Asked.MATERIAL)
    if _doing(reading, start, end):
        return Ask(Form.ACTION, start, start + 1)
    if (lemmas & {"next", "follow"} and "to" not in lowers[start:end]) or (
        lowers[start + 1 : start + 2] == ("came",) and lowers[start + 2 : start + 3] != ("back",)
    ):
        return Ask(Form.ORDER, start, start + 1)
    return Ask(Form.IDENTIFY, start, start + 1, bare=not directly)


def _property(reading: Reading, start: int, end: int) -> Ask | None:
    """'what color is ...', 'what is the size of ...', 'what is the distance between ...', 'what is the location of'."""
    lowers = reading.lowers
    for k in range(start + 1, min(start + 5, end)):
        word = lowers[k]
        of = lowers[k + 1 : k + 2] == ("of",)
        if word in ("distance",):
            return Ask(Form.DISTANCE, start, k + 1)
        if word in ("location", "position", "whereabouts"):
            return Ask(Form.LOCATE, start, k + 1 + of)
        counted = lowers[k - 1] in ("the", "what", "total", "is", "exact")
        if word in ("number", "count", "amount") and (of or k + 1 == end) and counted:
            return Ask(Form.COUNT, start, k + 1 + of)
        if word == "time" and lowers[k - 1] in ("latest", "last", "first", "exact"):
            return Ask(Form.WHEN, start, k + 1)
        if word in words.PROPERTIES:
            kind_of_thing = word in ("type", "kind", "sort", "make", "style") and of
            near = k <= start + 2 or of
            if kind_of_thing and k == start + 1 and not reading.words[k + 2 : k + 3]:
                continue
            if near:
                return Ask(Form.ATTRIBUTE, start, k + 1 + of, Asked(words.PROPERTIES[word]))
    return None


def _doing(reading: Reading, start: int, end: int) -> bool:
    lemmas = [reading.words[k].lemma for k in range(start, end)]
    lowers = reading.lowers[start:end]
    asks = len(lowers) > 1 and lowers[1] in ("did", "does", "do", "is", "are", "was", "were", "should", "will")
    return (asks and ("do" in lemmas[2:] or "doing" in lowers)) or "happened" in lowers or "happening" in lowers


def _yes_no(reading: Reading, masked: frozenset[int], start: int, end: int) -> Ask:
    lowers, tokens = reading.lowers, reading.words
    following = lowers[start + 1 : end]
    if following[:1] == ("you",) and tokens[start].lower in ("can", "could", "would", "will") and len(following) > 1:
        verb = start + 2 + (following[1] == "please")
        if tokens[verb].lemma not in SEE_LEMMAS - {"find", "locate"}:
            return _command(reading, verb, end)
    if reading.lowers[end + 1 : end + 3] == ("if", "so"):
        return Ask(Form.IDENTIFY, start, start + 2, bare=True)
    lemmas = [tokens[k].lemma for k in range(start, end)]
    ask = Ask(Form.VERIFY, start, start + 1)
    named = following.index("of") if "of" in following[1:4] else -1
    if named > 0 and following[named - 1] in words.PROPERTIES:  # 'is the shape of the desk round'
        ask = replace(ask, end=start + named + 2, asked=Asked(words.PROPERTIES[following[named - 1]]))
    if "odd" in following and "even" in following:
        return replace(ask, form=Form.COUNT, choices=("odd", "even"))
    if "or" in following and "either" not in following:
        choices, begin = _choices(reading, start, end)
        if choices:
            return replace(ask, form=Form.CHOOSE, choices=choices, chosen_from=begin)
    if "than" in following or ("same" in following and "room" not in following):
        return replace(ask, form=Form.COMPARE, asked=Asked.NUMBER if "number" in lemmas or "more" in lemmas else None)
    may_i = tokens[start].lower in ("can", "could") and following[:1] in (("i",), ("we",))
    if may_i and start + 2 < end and tokens[start + 2].lemma in words.PURPOSES:
        return replace(ask, form=Form.EXISTS)
    there = next((k for k in range(start, min(start + 4, end)) if lowers[k] in ("there", "their", "any")), -1)
    if there >= 0 and (
        (tokens[there].tag in ("EX", "PRP$", "RB", "DT") and there == start + 1) or lowers[there] == "any"
    ):
        return replace(ask, form=Form.EXISTS, end=there + (lowers[there] != "any"))
    verb = next((k for k in range(start + 1, min(start + 6, end)) if tokens[k].lemma in SEE_LEMMAS), -1)
    if verb >= 0 and {"i", "you", "we", "anyone", "anybody", "robot"} & set(lowers[start + 1 : verb]) | _robots(
        reading
    ):
        return replace(ask, form=Form.EXISTS, end=verb + 1)
    if following and following[0] in SOME:
        acts = following[0] in PEOPLE and any(t.dep == "dobj" for t in tokens[start:end])
        return replace(ask, form=Form.VERIFY if acts else Form.EXISTS)
    return ask


def _robots(reading: Reading) -> set[str]:
    return {w for w in reading.lowers if w.startswith("robot")}


def _choices(reading: Reading, start: int, end: int) -> tuple[tuple[str, ...], int]:
    """The alternatives around 'or', and where they begin: as many words as follow it, at most back to the verb."""
    lowers = reading.lowers
    at = next(k for k in range(start, end) if lowers[k] == "or")
    if lowers[at + 1 : at + 2] in (("not",), ("no",)):
        return (), -1
    right = reading.said(at + 1, end)
    size = max(1, min(end - at - 1, at - start - 1))
    phrase = reading.phrase_at(at - 1)
    left_start = phrase.start if phrase is not None and reading.phrase_at(at + 1) is not None else at - min(size, 1)
    if reading.words[at + 1].tag == "IN" if at + 1 < end else False:
        left_start = at - min(size, at - start - 1)
    return tuple(c for c in (reading.said(left_start, at), right) if c), left_start


def _command(reading: Reading, start: int, end: int) -> Ask:
    verb = reading.words[start].lemma
    if verb in GO_VERBS:
        return Ask(Form.NAVIGATE, start, start + 1)
    if verb in FIND_VERBS:
        return Ask(Form.LOCATE, start, start + 1)
    if verb == "count":
        return Ask(Form.COUNT, start, start + 1)
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
        choices, first = _choices(reading, begin, end)
        if choices:
            return Ask(Form.CHOOSE, begin, begin, choices=choices, chosen_from=first)
    if lowers[:2] in (("no", "of"), ("number", "of")) or lowers[:1] == ("count",):
        return Ask(Form.COUNT, begin, begin + 2)
    if "location" in lowers or "whereabouts" in lowers:
        return Ask(Form.LOCATE, begin, begin)
    lemmas = {reading.words[k].lemma for k in range(begin, end)}
    sought = next((k + 2 for k in range(begin, end - 2) if reading.lowers[k : k + 2] in SEEKING), -1)
    if sought >= 0:
        return Ask(Form.LOCATE, begin, sought)
    wants = next(
        (k for k in range(begin, end) if reading.words[k].lemma in ("lose", "seek", "need", "want", "miss")), -1
    )
    if wants >= 0 and lowers[:1] in (("i",), ("we",)) and reading.phrase_at(wants + 1) is not None:
        return Ask(Form.LOCATE, begin, wants + 1)
    see = lemmas & SEE_LEMMAS
    if see or lowers[:1] in (("any",), ("anything",)) or EGO_WORDS & set(lowers[:1]):
        return Ask(Form.EXISTS, begin, begin + (lowers[:1] == ("i",)))
    if any(temporal.event_word(reading, k) for k in range(begin, end)):
        return Ask(Form.VERIFY, begin, begin)
    return Ask(Form.EXISTS, begin, begin)
