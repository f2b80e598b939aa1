"""Where the asking begins: behind greetings, 'can you tell me', 'I'd like to' and leading clauses."""

from __future__ import annotations

from r4_ros.reasoner.asking import (
    AUXILIARIES,
    CHECKING,
    COMMANDS,
    FILLERS,
    FIND_VERBS,
    GO_VERBS,
    IMAGINING,
    OPENING,
    PEOPLE,
    RESOLVING,
    SEE_LEMMAS,
    TAGS,
    WH,
)
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.tokens import NOUN_TAGS

POLITE = frozenset("grateful great nice good lovely kind glad appreciate wonderful helpful obliged".split())
DOES = tuple((w,) for w in AUXILIARIES)
ABSTRACT = frozenset("idea chance way time moment".split())
FIRSTS = frozenset("first last second third".split())


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
    asking = [s for s in spans if embedded(reading, *s) or core(reading, masked, *s) is not None]
    marked = [s for s in asking if lowers[s[1] : s[1] + 1] == ("?",)]
    asking = marked or asking
    begin, end = asking[0] if asking else (spans[-1] if spans else (0, len(lowers)))
    said = next((k for k in range(begin, end) if k not in masked and lowers[k] != ","), begin)
    return embedded(reading, said, end) or begin, _untagged(reading, begin, end)


def _untagged(reading: Reading, begin: int, end: int) -> int:
    """Where a sentence ends without its tag: ', right', ', isn't it'."""
    comma = next((k for k in range(end - 1, begin, -1) if reading.lowers[k] == ","), -1)
    tag = reading.lowers[comma + 1 : end]
    asks = len(tag) in (2, 3) and tag[0] in AUXILIARIES | {"ca", "wo"} and reading.words[end - 1].tag in ("PRP", "EX")
    if reading.lowers[end - 2 : end] in (("or", "what"), ("or", "not"), ("or", "something")):
        return end - 2
    return comma if comma > begin + 1 and (tag in TAGS or asks) else end


def embedded(reading: Reading, begin: int, end: int) -> int:
    """Where the clause begins that 'can you check whether' or 'any idea if' opens; 0 where there is none."""
    for k in range(begin + 1, min(begin + OPENING, end - 1)):
        lead = reading.words[begin:k]
        if reading.lowers[k] in ("if", "whether") and (
            lead[-1].lemma in CHECKING or lead[-1].lower in ("me", "us", "at", "out")
        ):
            return 0 if any(w.lower in WH for w in lead) else k + 1
        sided = len(lead) > 1 and lead[-2].lower in ("my", "your", "the")
        polite = reading.lowers[k] == "if" and lead[-1].lower in POLITE | {"it"} and reading.lowers[k + 1] == "you"
        if polite and k + 3 < end and reading.words[k + 2].tag in ("MD", "VBD"):
            return k + 3  # 'I'd be grateful if you'd fetch ..'
        if reading.lowers[k] == "that" and not sided and lead[-1].lower in ("right", "true", "correct", "sure"):
            return k + 1
    return 0


def core(reading: Reading, masked: frozenset[int], begin: int, end: int) -> int | None:
    """Where the asking begins, behind greetings, 'can you tell me' and leading clauses."""
    lowers = reading.lowers
    i = begin
    while i < end and (lowers[i] in FILLERS or i in masked):
        i += 1
    if i >= end:
        return None
    listed = next((k for k in range(i, min(i + OPENING, end - 2)) if lowers[k : k + 2] == ("list", "of")), -1)
    if listed > i and reading.words[i].tag[:2] in ("VB", "MD", "PR"):
        return listed  # 'give me a list of ..', 'I need a list of ..'
    if lowers[i : i + 2] in (("how", "about"), ("what", "about")):
        return _behind_mark(reading, masked, i, end)  # 'how about the blue chair, is it still broken'
    aside = i + 1 if lowers[i] == "from" else i  # 'from where I am sitting, what ..'
    inner = next((k for k in range(aside + 1, end) if _asks(reading, aside, k) and k not in masked), None)
    lead = {reading.words[k].lemma for k in range(i, inner or i)}
    others = lowers[i] in AUXILIARIES and not (EGO_WORDS | PEOPLE | {"n't"}) & set(lowers[i + 1 : i + 2])
    if inner is not None and lead & (RESOLVING | {"check"}) and lowers[i] not in WH and not others:
        return inner  # not 'does Anna know how ..'
    if inner is not None and lowers[i] in IMAGINING | {"from"}:
        return inner
    comma = next((k for k in range(i, end) if lowers[k] == ","), -1)
    if lowers[i] == "when" and EGO_WORDS & set(lowers[i + 1 : i + 2]) and i < comma < end - 1:
        return inner if inner is not None else _behind_when(reading, i, comma)
    if end - 1 > i and lowers[end - 1] == "where" and {"last", "first"} & set(lowers[begin:end]):
        return end - 1  # 'my glasses, last seen where'
    at = _opening_word(reading, begin, i, end)
    if inner is not None and lowers[i] == "do" and reading.words[i].tag == "VB" and lowers[inner - 1] == ",":
        return inner  # 'do a turn to the left, which lamp is in front of me'
    if at is None:
        at = _behind_mark(reading, masked, i, end)
    relative = inner is not None and lowers[inner] == "which" and not _which_asks(reading, inner, end)
    return at if at is not None or relative else inner


def _behind_when(reading: Reading, i: int, comma: int) -> int:
    """'when you pass the shop, count the loaves': where the asking begins; 'when I look up, ..' with no asking word."""
    commands = reading.words[comma + 1].tag == "VB"
    return comma + 1 if commands or reading.lowers[comma + 1] in AUXILIARIES else i


def _which_asks(reading: Reading, k: int, end: int) -> bool:
    """'to leave the shed which way do I turn', 'the tiles are of which colour': no relative clause."""
    after = next((j for j in range(k + 1, end) if reading.words[j].tag not in NOUN_TAGS | {"JJ"}), end)
    return after > k + 1 and (after == end or reading.lowers[after] in AUXILIARIES)


def _opening_word(reading: Reading, begin: int, i: int, end: int) -> int | None:
    """Where the words at i ask or command at once: 'where ..', 'seen ..', 'in which ..', 'count ..'."""
    lowers = reading.lowers
    seen = lowers[i] in ("seen", "spotted", "noticed") and i + 1 < end
    if lowers[i] in WH or lowers[i] in AUXILIARIES or seen:
        return i
    asked = set(lowers[i + 1 : i + 2]) & {"what", "which", "when", "how"}
    if asked and reading.words[i].tag in ("IN", "TO"):
        return i + 1
    verb = reading.words[i].lemma
    if verb in GO_VERBS | FIND_VERBS | {"count", "list", "name", "describe", "show", "tell"} and _imperative(
        reading, i
    ):
        return i
    if verb in COMMANDS and reading.words[i].tag in ("VB", "VBP") and i == begin:
        return i
    return None


def _behind_mark(reading: Reading, masked: frozenset[int], i: int, end: int) -> int | None:
    """Where the asking begins behind a comma, a colon or a dash."""
    lowers = reading.lowers
    after_comma = [k + 1 for k in range(i, end - 1) if lowers[k] in (",", ":", "-", "–", "—")]
    for k in after_comma:
        while k < end and (lowers[k] in FILLERS or k in masked):
            k += 1
        commands = (
            k < end and reading.words[k].tag == "VB" and reading.words[k].lemma in COMMANDS | GO_VERBS | FIND_VERBS
        )
        if commands and reading.lowers[k + 1 : k + 2] != ("and",):
            return k
        participle = k < end and reading.words[k].tag == "VBN" and reading.words[k].lemma in SEE_LEMMAS
        if k < end and (lowers[k] in WH or lowers[k] in AUXILIARIES or participle):
            return k
    return None


def _asks(reading: Reading, begin: int, k: int) -> bool:
    """Whether the word at k asks; a 'when' behind other words only does where something asks to be told."""
    if reading.lowers[k] not in WH:
        return False
    told = [w.tag for w in reading.words[k + 1 : k + 2]] == ["PRP"]
    if reading.lowers[k] == "where" and reading.words[k - 1].tag == "IN" and told:
        return False  # 'from where I am sitting'
    if reading.lowers[k] == "which" and reading.words[k - 1].tag == "IN" and reading.words[k - 2].tag in NOUN_TAGS:
        return False  # 'the order in which they came'
    word, before = reading.words[k], reading.words[k - 1]
    told = before.lemma in RESOLVING or word.lower in ("why", "how")  # 'any idea why'
    if before.tag in NOUN_TAGS and reading.words[word.head].dep == "relcl" and not told:
        return False  # 'show me the chair which is by the door'
    named = reading.phrase_at(k - 1) if k else None
    if reading.lowers[k] in ("where", "who", "whose") and named is not None and named.determiner == "the":
        return False  # 'the dock where the truck unloaded'
    clause = reading.lowers[k] == "when" and k > begin + 1 and reading.lowers[k + 1 : k + 2] not in DOES
    clause = clause and reading.words[k - 1].tag != "IN"  # 'any record of when'
    if clause and not any(w.lemma in RESOLVING for w in reading.words[begin:k]):
        return False  # 'fire door 3, open or shut when you last went by'
    told = reading.lowers[k] != "when" or any(w.lemma in RESOLVING for w in reading.words[begin:k])
    opens = FIRSTS & set(reading.lowers[max(0, begin - 1) : begin + 2])  # 'first thing you saw when ..'
    return told or reading.lowers[k - 1] in (",", ":", "-") or not opens


def _imperative(reading: Reading, i: int) -> bool:
    opens = i == 0 and reading.lowers[i + 1 : i + 2] in (("to",), ("me",), ("us",))
    return opens or (
        reading.words[i].tag in ("VB", "VBP", "NN") and (i == 0 or reading.words[i - 1].tag not in ("DT", "PRP"))
    )


def joined(reading: Reading, masked: frozenset[int], begin: int, end: int) -> int:
    """Where a second question begins behind the one in [begin, end): '.. and who saw it'; -1 if none does."""
    lowers = reading.lowers
    for k in range(begin + 1, end - 1):
        asks = lowers[k] in WH or (lowers[k] in AUXILIARIES and reading.words[k].tag != "VBN")
        asks = asks or lowers[k + 1] == "whom"
        named = reading.phrase_at(k + 1) if lowers[k] in AUXILIARIES else None
        whole = lowers[k] not in AUXILIARIES or (named is not None and named.start == k + 1)
        if lowers[k - 1] == "and" and asks and whole and k not in masked:
            return k
    return -1


def second(reading: Reading, masked: frozenset[int], begin: int, end: int) -> str:
    """What is asked beside the question in [begin, end): 'when and where ..', '.. ? and the keys?'; '' if nothing."""
    lowers, at = reading.lowers, joined(reading, masked, begin, end)
    if at >= 0:
        return reading.said(at, end)
    if lowers[end : end + 1] != ("?",) or "?" not in lowers[end + 1 :]:
        return ""
    close = lowers.index("?", end + 1)
    named = any(end < p.start < close and p.noun not in ABSTRACT for p in reading.phrases)
    return reading.said(end + 1, close) if named and "if" not in lowers[end : end + 3] else ""
