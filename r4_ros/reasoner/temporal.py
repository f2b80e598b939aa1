"""Time in questions: which words say when, as temporal keys."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from r4_ros.reasoner import ranks, timely
from r4_ros.reasoner.calendar_words import CALENDAR, CLAUSES, DAY_PARTS, DAYS, LONG_CLAUSES, MOMENTS, NOW
from r4_ros.reasoner.clocktime import clock, quantity, spoken, unit_of
from r4_ros.reasoner.keys import ClockTime, EventKey, EventName, TemporalKey, TemporalOp
from r4_ros.reasoner.occasions import ORDINALS, event_word, is_happening, sighting
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.tokens import NOUN_TAGS

QUESTION = frozenset("what where who which how did was were is are had has have do does can could".split())
POSING = frozenset("stand be look see know show say use".split())
"""'as they stood', 'as you know': how, not when."""
MOVING = frozenset("go pass come get reach arrive return enter leave".split())
"""'when you go past the office, tell me ..': no place to imagine."""
BE = frozenset("is are was were be been being 's 're".split())
LASTING = frozenset("be have look stand sit lie hang live keep like store work smell feel call".split())
"""'what did they use to keep here' asks of former times, 'what did they use to cut it' of a tool."""


@dataclass(frozen=True)
class Mention:
    """A temporal key, its words [start, end), and the clause [clause, end) that names an event (-1: none)."""

    key: TemporalKey
    start: int
    end: int
    clause: int = -1
    happened: EventName | None = None
    seen: Literal["", "first", "last"] = ""


def find(reading: Reading) -> list[Mention]:
    """All words that say when, from left to right, not overlapping."""
    found: list[Mention] = []
    i = 0
    while i < len(reading.words):
        mention = next((m for read in READERS if (m := read(reading, i)) is not None), None)
        if mention is not None and mention.end > i:
            found.append(mention)
            i = mention.end
        else:
            i += 1
    return found


def primary(keys: tuple[TemporalKey, ...]) -> TemporalKey | None:
    """The one that labels a question: since, then first/last/nth, change, what is usual, then any that says when."""
    ranks = [
        (TemporalOp.SINCE,),
        (TemporalOp.NTH, TemporalOp.FIRST, TemporalOp.LAST),
        (TemporalOp.CHANGE,),
        (TemporalOp.HABIT,),
        tuple(op for op in TemporalOp if op not in (TemporalOp.NOW, TemporalOp.HABIT)),
        tuple(TemporalOp),
    ]
    return next((key for rank in ranks for key in keys if key.op in rank), None)


def labelled(key: TemporalKey) -> TemporalOp:
    """The operator as people label it: 'after you last saw it' is a last one."""
    said = key.arg.split()
    if key.op not in (TemporalOp.BEFORE, TemporalOp.AFTER, TemporalOp.WHILE):
        return key.op
    pairs = list(itertools.pairwise([*said, ""]))
    if any(a == "last" and b not in CALENDAR and not is_happening(b) for a, b in pairs):
        return TemporalOp.LAST
    if any(a == "first" and not is_happening(b) for a, b in pairs):
        return TemporalOp.FIRST
    counted = any(a in ORDINALS and b == "time" for a, b in itertools.pairwise(said))
    return TemporalOp.NTH if counted else key.op


def _ago(reading: Reading, i: int) -> Mention | None:
    start = i
    if reading.lowers[i] in ("about", "around", "roughly", "over", "exactly"):
        i += 1
    amount = quantity(reading, i) if i < len(reading.lowers) else None
    if amount is None or amount[1] >= len(reading.lowers):
        return None
    seconds, end = amount
    last = reading.lowers[end]
    if last not in ("ago", "earlier", "back", "before"):
        return None
    if last == "before" and end + 1 < len(reading.lowers) and reading.lowers[end + 1] not in "?.,!":
        return None
    key = TemporalKey(op=TemporalOp.AGO, arg=reading.said(start, end), seconds=seconds)
    return Mention(key, start, end + 1)


def _named(reading: Reading, i: int) -> Mention | None:
    """Times by their names: days, seasons, habits, beginnings and ends."""
    found = timely.named(reading, i)
    return Mention(*found) if found is not None else None


def _ranked(reading: Reading, i: int) -> Mention | None:
    """The first, last or second time, visit, thing that was done."""
    found = ranks.ranked(reading, i)
    return Mention(*found) if found is not None else None


def _recently(reading: Reading, i: int) -> Mention | None:
    lowers = reading.lowers
    if lowers[i] not in ("in", "over", "for", "during", "within") or i + 2 >= len(lowers):
        return None
    j = i + 1 + (lowers[i + 1] == "the")
    if lowers[j] not in ("last", "past", "previous"):
        return None
    amount = quantity(reading, j + 1) if j + 1 < len(lowers) else None
    if amount is None and j + 1 < len(lowers) and (unit := unit_of(lowers[j + 1])):
        amount = unit, j + 2
    if amount is None:
        return None
    return Mention(TemporalKey(op=TemporalOp.SINCE, arg=reading.said(i, amount[1]), seconds=amount[0]), i, amount[1])


def _between(reading: Reading, i: int) -> Mention | None:
    lowers = reading.lowers
    joint = {"between": "and", "from": "to"}.get(lowers[i])
    if joint is None:
        return None
    j = next((k for k in range(i + 2, min(i + 7, len(lowers))) if lowers[k] in (joint, "till", "until")), -1)
    if j < 0 or j + 1 >= len(lowers):
        return None
    first, second = clock(reading, i + 1), clock(reading, j + 1)
    timely = first is not None and second is not None and first[1] == j
    arrival = reading.phrase_at(j + 1) if first is not None and first[1] == j and not timely else None
    if arrival is not None and (
        is_happening(arrival.noun) or reading.words[min(arrival.end, len(lowers) - 1)].tag == "VBG"
    ):
        end = next((k for k in range(j, len(lowers)) if lowers[k] in (",", "?", ".")), len(lowers))
        return Mention(TemporalKey(op=TemporalOp.BETWEEN, arg=reading.said(i + 1, end)), i, end)
    if not timely and not (lowers[i + 1] in DAYS and lowers[j + 1] in DAYS):
        return None
    end = second[1] if second is not None else j + 2
    while not timely and end < len(lowers) and lowers[end] in ("noon", "midnight", "morning", "night"):
        end += 1
    if timely and _counts_things(reading, end):
        return None
    start_time, end_time = (first[0], second[0]) if timely and first and second else (None, None)
    key = TemporalKey(op=TemporalOp.BETWEEN, arg=reading.said(i + 1, end), start=start_time, end=end_time)
    return Mention(key, i, end)


def _counts_things(reading: Reading, end: int) -> bool:
    """Whether the number that ends here counts the noun that follows ('between two monitors')."""
    return end < len(reading.words) and reading.words[end].tag in ("NN", "NNS")


def _at(reading: Reading, i: int) -> Mention | None:
    lowers = reading.lowers
    if lowers[i] in ("this", "yesterday", "last") and i + 1 < len(lowers) and lowers[i + 1] in DAY_PARTS:
        low, high = DAY_PARTS[lowers[i + 1]]
        day = 0 if lowers[i] == "this" else -1
        span = ClockTime(hour=low, day=day), ClockTime(hour=high, day=day)
        return Mention(TemporalKey(op=TemporalOp.AT, arg=reading.said(i, i + 2), start=span[0], end=span[1]), i, i + 2)
    if lowers[i] == "yesterday":
        span = ClockTime(hour=0, day=-1), ClockTime(hour=24, day=-1)
        return Mention(TemporalKey(op=TemporalOp.AT, arg="yesterday", start=span[0], end=span[1]), i, i + 1)
    bare = bool(i == 0 and spoken(lowers, i))
    if lowers[i] not in ("at", "around") and not bare:
        return None
    start = i if bare else i + 1
    moment = clock(reading, start)
    faced = moment is not None and lowers[moment[1] - 1] == "o'clock" and EGO_WORDS & set(lowers)
    if faced and not any(w.tag == "VBD" for w in reading.words):
        return None  # 'the first object I run into at 8 o'clock'
    if moment is None or (lowers[moment[1] - 1] == "o'clock" and lowers[moment[1] : moment[1] + 1] == ("of",)):
        return None
    if _counts_things(reading, moment[1]):
        return None
    return Mention(TemporalKey(op=TemporalOp.AT, arg=reading.said(start, moment[1]), start=moment[0]), i, moment[1])


def _clause(reading: Reading, i: int) -> Mention | None:
    """Before, after, since, while, when ... and the event's words up to the end or the next comma."""
    op, begin = _opened(reading, i)
    if op is None or begin >= len(reading.lowers) or reading.lowers[begin] in ("what", "which", "when", "whatever"):
        return None
    if reading.lowers[i] == "when" and (asks_when(reading, i)):
        return None
    if reading.lowers[i] == "following" and reading.lowers[i - 1 : i] in (("by",), ("is",), ("are",), ("the",)):
        return None
    verb = reading.words[begin + 1] if begin + 1 < len(reading.words) else None
    asker = op is TemporalOp.WHILE and reading.lowers[begin] in ("i", "you") and verb is not None
    away = verb is not None and verb.lemma in ("have", "'ve")  # 'while I've been away'
    away = away or (verb is not None and reading.lowers[i : begin + 1] == ("when", "you") and verb.lemma in MOVING)
    if asker and not away and verb is not None and (verb.tag == "VBP" or verb.lower in ("sit", "stand", "face")):
        return None  # where the asker imagines to be, not when
    if op is TemporalOp.WHILE and reading.words[begin].tag == "VBG" and reading.lowers[i - 2 : i] == ("you", "see"):
        return None  # 'the wall you see when leaving the bedroom'
    if op is TemporalOp.BEFORE and reading.lowers[i] in ("until", "till") and _commands(reading):
        return None  # 'reverse until the pillar is on your left'
    acts = verb is not None and verb.tag.startswith("VB")
    if reading.lowers[i] == "before" and reading.lowers[begin] in ("me", "you") and not acts:
        return None
    end = next((k for k in range(begin, len(reading.lowers)) if _closes(reading, begin, k)), -1)
    end = len(reading.lowers) if end < 0 else end
    if end == begin:
        return None
    start = i
    if i and reading.lowers[i - 1] in ("immediately", "right", "just", "directly", "shortly", "ever"):
        start = i - 1
    if reading.lowers[begin] == "now" and op is TemporalOp.BEFORE:
        return None  # 'before now, when was it last open'
    start = _counted_to(reading, start)
    moment = clock(reading, begin)
    arg = reading.said(begin, end)
    if moment is not None and not _counts_things(reading, moment[1]):
        return Mention(TemporalKey(op=op, arg=reading.said(begin, moment[1]), start=moment[0]), start, moment[1])
    happened = next((e for k in range(begin, end) if (e := event_word(reading, k)) is not None), None)
    seen = sighting(reading, begin, end)
    return Mention(TemporalKey(op=op, arg=arg), start, end, begin, happened, seen)


def _counted_to(reading: Reading, i: int) -> int:
    """'ten minutes (before the gong)', 'in the hour (after lunch)': where the amount of time begins."""
    if i and unit_of(reading.lowers[i - 1]) and reading.lowers[i - 3 : i - 1] in (("in", "the"), ("within", "the")):
        return i - 3
    for k in range(max(0, i - 4), i):
        amount = quantity(reading, k)
        if amount is not None and amount[1] == i:
            lead = k - (reading.lowers[k - 1 : k] == ("the",))
            return lead - (reading.lowers[lead - 1 : lead] in (("in",), ("for",), ("within",)))
    return i


def _commands(reading: Reading) -> bool:
    """Whether something is to be done: 'reverse until ..', 'could you wait until ..'."""
    first = 2 if reading.lowers[:2] in (("could", "you"), ("can", "you"), ("would", "you")) else 0
    return len(reading.words) > first and reading.words[first].tag == "VB"


def _opened(reading: Reading, i: int) -> tuple[TemporalOp | None, int]:
    """The operator of the words that open a clause of time at token i, and where the clause begins."""
    lowers, words = reading.lowers, reading.words
    for said, long in LONG_CLAUSES.items():
        if lowers[i : i + len(said)] == said:
            return long, i + len(said)
    marks = words[i].dep == "mark" or (words[i].tag == "IN" and words[i].dep == "advmod")
    marks = marks or (lowers[i] == "once" and words[words[i].head].dep == "advcl")
    if lowers[i] in ("once", "as") and marks:
        verb = words[words[i].head]  # 'once the alarm had stopped', 'as you came in'; not 'as shown'
        finite = verb.tag in ("VBD", "VBP", "VBZ") or any(w.head == verb.i and w.tag == "VBD" for w in words)
        finite = finite and (verb.lemma not in POSING or lowers[i] == "once")
        subject = any(w.head == verb.i and w.dep.startswith("nsubj") and i < w.i < verb.i for w in words)
        if verb.i > i and finite and subject:
            return (TemporalOp.AFTER if lowers[i] == "once" else TemporalOp.WHILE), i + 1
    moment = i + 2 if lowers[i : i + 2] in (("at", "the"), ("on", "the")) else i + 1
    if moment < len(lowers) and lowers[moment - 1] == "the" and lowers[moment] in MOMENTS:
        begin = moment + 1 + (lowers[moment + 1 : moment + 2] in (("that",), ("when",)))
        named = reading.phrase_at(begin) if begin < len(words) else None
        verb_at = named.end if named is not None else begin + 1
        pronoun = begin < len(words) and words[begin].tag == "PRP"
        acts = verb_at < len(words) and words[verb_at].tag in ("VBD", "VBZ", "VBP", "MD", "RB")
        if acts and (pronoun or (named is not None and named.start == begin)):
            return TemporalOp.WHILE, begin
    return (None if words[i].tag in NOUN_TAGS else CLAUSES.get(lowers[i])), i + 1  # 'at the till'


def _closes(reading: Reading, begin: int, k: int) -> bool:
    """Whether a clause ends at token k: at a mark, or where the question goes on ('before the bell did she leave')."""
    asks = reading.lowers[k] in ("did", "does") and k > begin and reading.words[k - 1].tag.startswith("NN")
    return asks or reading.lowers[k] in (",", "?", "!", ";", ".")


def asks_when(reading: Reading, i: int) -> bool:
    """Whether the 'when' at token i asks for a time: an auxiliary follows, or it opens the question."""
    after = [w for w in reading.lowers[i + 1 : i + 3] if w not in ("exactly", "precisely")]
    following = after[0] if after else ""
    if following in ("was", "were", "is", "are", "did", "do", "does", "has", "have", "had", "will"):
        return True
    before = set(reading.lowers[:i]) - {"please", "hi", "hey", "hello", "robot"}
    before -= {","} if len(before) == 1 else set()
    if not before and "," in reading.lowers[i:]:
        comma = reading.lowers.index(",", i)
        commands = reading.words[min(comma + 1, len(reading.words) - 1)].tag == "VB"
        if commands or QUESTION & set(reading.lowers[i + 1 :]):
            return False
    told = before & {"tell", "know", "remember", "remind", "say", "record", "show", "exactly"}
    asks = before & {"what", "where", "who", "which", "how"}
    verb_first = bool(before & {"did", "was", "were", "is", "are"})
    return bool(told and not asks) or (not asks and not verb_first and "," not in before)


def _simple(reading: Reading, i: int) -> Mention | None:
    lowers, word = reading.lowers, reading.lowers[i]
    for phrase in NOW:
        counts = phrase == ("any", "more") and _counts_things(reading, i + 2)
        if lowers[i : i + len(phrase)] == phrase and not counts:
            return Mention(TemporalKey(op=TemporalOp.NOW), i, i + len(phrase))
    bare = lowers[i + 1 : i + 2] in ((), ("?",), (".",), ("!",))
    formerly = word == "previously" or (word == "originally" and lowers[i + 1 : i + 2] != ("from",))
    if (word == "before" and bare) or formerly:
        event = EventKey(kinds=("moved", "disappeared"))
        return Mention(TemporalKey(op=TemporalOp.BEFORE, arg="it was moved or taken", event=event), i, i + 1)
    if lowers[i : i + 2] in (("most", "recently"), ("most", "recent")) or word == "lately":
        return Mention(TemporalKey(op=TemporalOp.LAST), i, i + (2 if word == "most" else 1))
    if word == "since" and lowers[i + 1 : i + 2] in ((), ("?",), (".",), (",",), ("then",)):
        return Mention(TemporalKey(op=TemporalOp.SINCE, arg=reading.said(i + 1, i + 2)), i, min(i + 2, len(lowers)))
    if reading.words[i].lemma in ("get", "grow", "become") and _grown(reading, i + 1):
        return Mention(TemporalKey(op=TemporalOp.CHANGE), i, i + 1)
    if _used_to(reading, i):
        return Mention(TemporalKey(op=TemporalOp.CHANGE), i, i + 2)
    return None


def _grown(reading: Reading, i: int) -> bool:
    """'(has it got) any shorter', '(did it get) bigger'; not 'get a cooler drink'."""
    named = reading.phrase_at(i)
    if named is not None and reading.words[named.head].tag in NOUN_TAGS:
        return False
    i += reading.lowers[i : i + 1] in (("any",), ("much",), ("a",))
    i += reading.lowers[i : i + 1] in (("bit",), ("little",), ("lot",))
    return (
        i < len(reading.words)
        and reading.words[i].tag in ("JJR", "RBR")
        and reading.lowers[i] not in ("closer", "more")
    )


def _used_to(reading: Reading, i: int) -> bool:
    """'it used to be', 'did it use to be'; but not 'is used to', 'the wood used to make it' and 'can use to'."""
    lowers, words = reading.lowers, reading.words
    if lowers[i + 1 : i + 2] != ("to",) or i + 2 >= len(lowers):
        return False
    if lowers[i] == "used":
        return words[i].dep != "acl" and not any(k in BE for k in lowers[max(0, i - 3) : i] if words[i].tag == "VBN")
    tool = {"what", "which", "whose", "many"} & set(lowers[:i]) and words[i + 2].lemma not in LASTING
    return lowers[i] == "use" and "did" in lowers[:i] and words[i + 2].tag == "VB" and not tool


READERS = (_ago, _recently, _between, _at, _named, _ranked, _clause, _simple)


def is_said_of_past(reading: Reading, mention: Mention, begin: int) -> bool:
    """'I had two this morning. Where's the other one?': when a statement was true, before the question."""
    ended = [k for k in range(mention.end, begin) if reading.lowers[k] in (".", "!")]
    past = any(w.tag == "VBD" for w in reading.words[: mention.start])
    asks_now = any(w.tag in ("VBZ", "VBP") and w.lemma != "do" for w in reading.words[begin : begin + 3])
    return bool(ended) and past and asks_now
