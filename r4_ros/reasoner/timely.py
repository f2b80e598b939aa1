"""Times that have names: 'on Saturdays', 'last week', 'every afternoon', 'at the start of the day', 'as a rule'."""

from __future__ import annotations

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.calendar_words import (
    AT_FIRST,
    CALENDAR,
    DAY_PARTS,
    DAYS,
    EDGES,
    FEASTS,
    HABITS,
    HOURS_OF_DAY,
    MEALS,
    MONTHS,
    OPENERS,
    SPANS,
    WEEKDAYS,
)
from r4_ros.reasoner.clocktime import quantity
from r4_ros.reasoner.keys import TemporalKey, TemporalOp
from r4_ros.reasoner.occasions import ORDINALS, is_happening
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.tokens import NOUN_TAGS

LONG = frozenset(
    """road street corridor aisle row pier path garden yard bar platform drive lane queue line bridge tunnel track fence
    hedge river shaft rope pole stick passage walkway pipe building block field""".split()
)
"""What has ends in space."""


Found = tuple[TemporalKey, int, int]
"""A key and its words [start, end)."""


def named(reading: Reading, i: int) -> Found | None:
    """The time that words at token i name; None where they name none."""
    edge = _edge(reading, i)
    if edge is not None:
        op, end, whole = edge
        return TemporalKey(op=op, arg=reading.said(whole, end)), i, end
    for read in (_habit, _between, _relative, _dated, _loosely):
        found = read(reading, i)
        if found is not None:
            op, end = found
            plain = op is TemporalOp.HABIT and reading.lowers[i:end] in HABITS
            return TemporalKey(op=op, arg="" if plain else reading.said(i, end)), i, end
    return None


def _habit(reading: Reading, i: int) -> tuple[TemporalOp, int] | None:
    """'usually', 'as a rule', 'every afternoon', 'on Saturdays', 'most mornings', 'in the evenings'."""
    lowers = reading.lowers
    for said in HABITS:
        end = i + len(said)
        if lowers[i:end] == said and not (reading.words[end - 1].tag == "JJ" and _names(reading, end)):
            return TemporalOp.HABIT, end
    j = i + (lowers[i] in ("on", "at", "in", "over", "of"))
    j += lowers[j : j + 1] == ("the",)
    if lowers[j : j + 1] in (("every",), ("each",), ("most",)):
        end = j + 1 + (lowers[j + 1 : j + 2] in (("other",), ("single",)))
        word = lowers[end] if end < len(lowers) else ""
        single = _singular(word)
        if single in CALENDAR and (lowers[j] != "most" or word != single):
            return TemporalOp.HABIT, end + 1 + (lowers[end + 1 : end + 2] in tuple((p,) for p in DAY_PARTS))
    word = lowers[j] if j > i and j < len(lowers) else ""
    plural = word != _singular(word) and _singular(word) in WEEKDAYS | set(DAY_PARTS) | {"weekend", "weekday"}
    return (TemporalOp.HABIT, j + 1) if plural else None


def _names(reading: Reading, i: int) -> bool:
    """Whether a noun follows, which makes 'daily' an adjective: 'the daily menu', 'her usual chair'."""
    return i < len(reading.words) and reading.words[i].tag in NOUN_TAGS


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and word not in FEASTS else word


def _edge(reading: Reading, i: int) -> tuple[TemporalOp, int, int] | None:
    """'at the start of the day', 'in the final seconds of the clip', 'at first'; with where the whole begins."""
    lowers = reading.lowers
    for said, op in AT_FIRST.items():
        if lowers[i : i + len(said)] == said:
            return op, i + len(said), i + len(said)
    if lowers[i] not in ("at", "by", "in", "from", "towards", "near", "during"):
        return None
    j = i + 1 + (lowers[i + 1 : i + 2] == ("the",))
    j += lowers[j : j + 1] == ("very",)
    word = lowers[j] if j < len(lowers) else ""
    after = lowers[j + 1] if j + 1 < len(lowers) else ""
    if word in OPENERS and after != _singular(after) and _singular(after) in SPANS:
        end = j + 2
        found = OPENERS[word] if lowers[end : end + 1] == ("of",) or word not in ("first", "last") else None
    else:
        end = j + 1
        spatial = word in EDGES and EDGES[word] is TemporalOp.END and is_spatial_end(reading, end)
        loose = lowers[i] in ("in", "near", "during") or (after != "of" and word in ("opening", "finish"))
        found = EDGES[word] if word in EDGES and not spatial and not loose else None
    if found is None:
        return None
    whole = reading.phrase_at(end + 1) if lowers[end : end + 1] == ("of",) and end + 1 < len(lowers) else None
    return (found, whole.end, end + 1) if whole is not None else (found, end, end)


def is_spatial_end(reading: Reading, i: int) -> bool:
    """Whether 'the end of' what follows is a place (the corridor), not a time (the day)."""
    if reading.lowers[i : i + 1] != ("of",):
        return False
    whole = reading.phrase_at(i + 1)
    if whole is None or lexicon.is_room(whole.noun) or lexicon.kind_of(whole.noun) is not None:
        return whole is not None
    return whole.noun.split()[-1] in LONG


def _between(reading: Reading, i: int) -> tuple[TemporalOp, int] | None:
    """'between breakfast and lunch', 'between the two visits', 'from the moment it rang until it stopped'."""
    lowers = reading.lowers
    joint = {"between": ("and",), "from": ("to", "until", "till")}.get(lowers[i])
    if joint is None:
        return None
    at = next((k for k in range(i + 2, min(i + 12, len(lowers))) if lowers[k] in joint), -1)
    ordinals = [k for k in range(i + 1, min(i + 6, len(lowers))) if lowers[k] in ORDINALS or lowers[k] == "last"]
    both = len(ordinals) == 2 and lowers[ordinals[1] - 1] in ("and", "the", "your", "my")
    if lowers[i] == "between" and both:  # 'between your first and second rounds'
        named = reading.phrase_at(ordinals[1])
        if named is not None and (is_happening(named.noun) or named.noun == "time"):
            return TemporalOp.BETWEEN, named.end
    first, second = reading.phrase_at(i + 1), reading.phrase_at(at + 1) if 0 < at < len(lowers) - 1 else None
    if first is None:
        return None
    if lowers[i] == "from" and at > 0 and first.noun.split()[-1] in SPANS | {"time"}:
        end = next((k for k in range(at, len(lowers)) if lowers[k] in (",", "?", ".", "!")), len(lowers))
        return TemporalOp.BETWEEN, end
    counted = reading.lowers[max(0, i - 1)] == "times"
    if not counted and not _is_time(first.noun):
        return None
    if counted and second is not None:
        return TemporalOp.BETWEEN, second.end
    if second is not None and _is_time(second.noun):
        return TemporalOp.BETWEEN, second.end
    return (TemporalOp.BETWEEN, first.end) if lowers[i] == "between" and first.plural else None


def _is_time(noun: str) -> bool:
    """Whether a noun is a time or a happening: breakfast, the visit, Monday, the delivery."""
    last = noun.split()[-1]
    return last in MEALS | HOURS_OF_DAY | CALENDAR | DAYS or is_happening(last)


def _relative(reading: Reading, i: int) -> tuple[TemporalOp, int] | None:
    """'last week', 'this summer', 'tomorrow', 'yesterday evening', 'as of last month', 'a week last Monday'."""
    lowers = reading.lowers
    j = i + 2 if lowers[i : i + 2] in (("as", "of"), ("as", "at")) else i + (lowers[i] in ("by", "in", "on"))
    j += lowers[j : j + 1] == ("the",) and lowers[j + 1 : j + 2] in (("other",), ("previous",))
    amount = quantity(reading, j) if j < len(lowers) else None
    j = amount[1] if amount is not None and amount[1] < len(lowers) else j
    word = lowers[j] if j < len(lowers) else ""
    after = lowers[j + 1] if j + 1 < len(lowers) else ""
    whole = i + 2 if lowers[i : i + 2] in (("the", "whole"), ("the", "entire")) else i + 1
    if (word == "all" or whole > i + 1) and lowers[whole : whole + 1] and lowers[whole] in CALENDAR | {"time"}:
        return (TemporalOp.AT, whole + 1) if lowers[whole] != "time" else None  # 'all weekend', 'the whole day'
    part = lowers[j + 2] if j + 2 < len(lowers) else ""
    if word in ("last", "this", "next", "previous", "other") and after in CALENDAR | {"lunchtime", "teatime"}:
        if word == "other" and lowers[j - 1] != "the":
            return None
        return TemporalOp.AT, j + 2 + (part in DAY_PARTS)
    if word in ("yesterday", "tomorrow", "today") and after in {*DAY_PARTS, "lunchtime"} and word != "today":
        return TemporalOp.AT, j + 2
    titled = j + 1 < len(lowers) and reading.words[j + 1].tag in ("NNP", "NNPS")
    if (word in ("tomorrow", "tonight") and not titled) or (lowers[i : i + 2] == ("earlier", "today")):
        return TemporalOp.AT, j + 1 + (word == "earlier")
    if lowers[i : i + 4] in (("the", "day", "before", "yesterday"), ("the", "night", "before", "last")):
        return TemporalOp.AT, i + 4
    return (TemporalOp.AT, j + 1) if amount is not None and word in WEEKDAYS else None


def _dated(reading: Reading, i: int) -> tuple[TemporalOp, int] | None:
    """'on the 4th', 'on Tuesday morning', 'in March', 'at dusk', 'in the morning', 'over Christmas', 'at lunch'."""
    lowers = reading.lowers
    if lowers[i : i + 2] in (("of", "a"), ("of", "an")) and set(lowers[i + 2 : i + 3]) & set(DAY_PARTS):
        return TemporalOp.HABIT, i + 3  # 'of a morning'
    if lowers[i] not in ("on", "in", "at", "over", "around", "about", "by"):
        return (TemporalOp.AT, i + 1) if lowers[i] == "overnight" else None
    stroke = lowers[i + 1 : i + 4] == ("the", "stroke", "of")
    j = i + 4 if stroke else i + 1 + (lowers[i + 1 : i + 2] == ("the",))
    word = lowers[j] if j < len(lowers) else ""
    after = lowers[j + 1] if j + 1 < len(lowers) else ""
    if lowers[i] == "on" and (end := _on_day(reading, i, j)) > 0:
        return TemporalOp.AT, end
    if lowers[i] == "by" and (word in WEEKDAYS or word in MONTHS):
        return TemporalOp.BEFORE, j + 1
    if lowers[i] in ("in", "by") and (word in MONTHS or (word.isdecimal() and 1900 <= int(word) < 2200)):
        return TemporalOp.AT, j + 1 + (after.isdecimal() and len(after) == 4)
    named = reading.phrase_at(j) if j < len(lowers) else None
    hour = named is not None and named.noun.endswith(("time", "tide")) and bool(named.modifiers or " " in named.noun)
    if lowers[i] == "at" and named is not None and hour and "same" not in named.modifiers:
        return TemporalOp.AT, named.end  # 'at closing time', 'at low tide'
    if (stroke or lowers[i] in ("at", "around", "about", "over", "by")) and word in MEALS | HOURS_OF_DAY | FEASTS | {
        "weekend"
    }:
        phrase = reading.phrase_at(j)
        if phrase is not None and phrase.head > j:  # 'at lunch tables'
            return None
        return (TemporalOp.BEFORE if lowers[i] == "by" else TemporalOp.AT), j + 1
    if lowers[i] == "in" and lowers[i + 1 : i + 2] == ("the",) and word in DAY_PARTS and after != "light":
        return TemporalOp.AT, j + 1
    middle = lowers[i : i + 4] == ("in", "the", "middle", "of") and lowers[i + 4 : i + 6] == ("the", "night")
    return (TemporalOp.AT, i + 6) if middle else None


def _on_day(reading: Reading, i: int, j: int) -> int:
    """Where the day ends that begins at j behind 'on' ('Tuesday morning', 'New Year's Eve', 'market day'); 0: none."""
    word, after = (reading.lowers[k] if k < len(reading.lowers) else "" for k in (j, j + 1))
    if word in WEEKDAYS or _is_date(word, after):
        return j + 1 + (after in DAY_PARTS or after in MONTHS) + 2 * (after == "of")
    whole = reading.phrase_at(j) if j < len(reading.lowers) else None
    if whole is not None and whole.start > i and whole.noun.split()[-1] in ("eve", "day", "night", "morning"):
        return whole.end
    return j + 2 if word in MONTHS else 0


def _is_date(word: str, after: str) -> bool:
    """'4th', '21st'; not '2nd' of '2nd shelf'."""
    return (
        word[:1].isdecimal()
        and word[-2:] in ("st", "nd", "rd", "th")
        and (not after.isalpha() or after in MONTHS | {"of", "at", "in"})
    )


def _loosely(reading: Reading, i: int) -> tuple[TemporalOp, int] | None:
    """'a moment ago', 'a while back', 'ages ago'."""
    lowers = reading.lowers
    j = i + (lowers[i] in ("a", "an", "some", "just"))
    j += lowers[j : j + 1] in (("little",), ("long",), ("short",), ("a",))
    loose = lowers[j : j + 1] and lowers[j] in ("moment", "moments", "while", "time", "ages", "bit", "instant")
    return (TemporalOp.AGO, j + 2) if loose and lowers[j + 1 : j + 2] in (("ago",), ("back",), ("earlier",)) else None
