"""Which of several times: 'the last time', 'your second round', 'first seen', 'the latest anyone came'."""

from __future__ import annotations

from r4_ros.reasoner.keys import TemporalKey, TemporalOp
from r4_ros.reasoner.occasions import HAPPENINGS, ORDINALS, VISITS, is_event, is_happening, one_that
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.superlative import met_first
from r4_ros.reasoner.tokens import NOUN_TAGS

Found = tuple[TemporalKey, int, int]
"""A key and its words [start, end)."""

LATEST = frozenset("last previous latest final".split())
EXTREMES = {"earliest": TemporalOp.FIRST, "latest": TemporalOp.LAST}
TIMES = frozenset("time times occasion".split())
OWNERS = frozenset("your my our his her their".split())


def ranked(reading: Reading, i: int) -> Found | None:
    """The key that an ordinal, last, latest or recent at token i means; None where it counts no times."""
    if met_first(reading, i):
        return None  # 'what would I hit first'
    return next((found for read in READERS if (found := read(reading, i)) is not None), None)


def _op(word: str) -> tuple[TemporalOp, int] | None:
    """The operator and rank of a word: first is the first of all, second the nth."""
    rank = ORDINALS.get(word, 0)
    if rank:
        return (TemporalOp.NTH if rank > 1 else TemporalOp.FIRST), rank
    if word == "penultimate":
        return TemporalOp.NTH, 0
    return (TemporalOp.LAST, 0) if word in LATEST else None


def _begin(reading: Reading, i: int) -> int:
    """Where 'the', 'your', 'on your' before a word begins."""
    start = i - (reading.lowers[i - 1 : i] in tuple((w,) for w in ("the", *OWNERS)))
    start -= start and reading.lowers[start - 1] in OWNERS | {"the"}
    return start - (start > 0 and reading.lowers[start - 1] in ("on", "at", "in", "during"))


def _most_recent(reading: Reading, i: int) -> Found | None:
    """'on your most recent round'."""
    lowers = reading.lowers
    named = lowers[i + 2] if i + 2 < len(lowers) else ""
    if lowers[i : i + 2] != ("most", "recent") or named not in HAPPENINGS | TIMES:
        return None
    return TemporalKey(op=TemporalOp.LAST, arg=named), _begin(reading, i), i + 3


def _last_few(reading: Reading, i: int) -> Found | None:
    """'the last two times'."""
    lowers = reading.lowers
    counted = i + 1 < len(lowers) and reading.words[i + 1].tag == "CD"
    named = lowers[i + 2] if counted and i + 2 < len(lowers) else ""
    if lowers[i] != "last" or named.removesuffix("s") not in VISITS | {"time"}:
        return None
    return TemporalKey(op=TemporalOp.LAST, arg=reading.said(i + 1, i + 3)), _begin(reading, i), i + 3


def _one_that(reading: Reading, i: int) -> Found | None:
    """'the last person to leave', 'first thing you spotted'."""
    if _op(reading.lowers[i]) is None or not one_that(reading, i):
        return None
    op, rank = _op(reading.lowers[i]) or (TemporalOp.LAST, 0)
    return TemporalKey(op=op, arg=reading.said(i + 2, len(reading.lowers)), rank=rank), i, i + 1


def _time(reading: Reading, i: int) -> Found | None:
    """'the last time', 'your previous lap', 'the second delivery', 'did the first alarm go off'."""
    lowers = reading.lowers
    found = _op(lowers[i])
    named = lowers[i + 1] if i + 1 < len(lowers) else ""
    if found is None or not named:
        return None
    op, rank = found
    own = lowers[i - 1 : i] in tuple((w,) for w in OWNERS) or i == 0 or lowers[i] in ("previous", "penultimate")
    if named in VISITS | TIMES or (own and is_happening(named)):
        return TemporalKey(op=op, arg=named, rank=rank), _begin(reading, i), i + 2
    if (rank or lowers[i] == "last") and is_event(reading, i):
        phrase = reading.phrase_at(i)
        arg = reading.said(i, phrase.end) if phrase is not None else lowers[i]
        return TemporalKey(op=op, arg=arg, rank=rank), i, i + 1
    return None


def _first_to(reading: Reading, i: int) -> Found | None:
    """'who was the first to sit down', 'the last one out'."""
    acts = i + 2 < len(reading.words) and reading.words[i + 2].tag == "VB" and reading.lowers[i + 1] == "to"
    goes = i > 1 and "who" in reading.lowers[:i] and reading.lowers[i - 1] == "the"
    goes = goes and reading.words[min(i + 2, len(reading.words) - 1)].tag not in NOUN_TAGS  # 'the first in line'
    goes = goes and reading.lowers[i + 1 : i + 2] in (("in",), ("out",), ("through",), ("up",), ("home",))
    found = _op(reading.lowers[i]) if acts or goes else None
    return (
        None if found is None else (TemporalKey(op=found[0], arg=reading.said(i + 2, i + 3), rank=found[1]), i, i + 1)
    )


def _looked(reading: Reading, i: int) -> Found | None:
    """'last you looked', 'last I checked', 'the earliest you saw him', 'the last one'."""
    lowers = reading.lowers
    named = lowers[i + 1] if i + 1 < len(lowers) else ""
    if lowers[i] == "last" and named == "one" and "did" in lowers:
        return TemporalKey(op=TemporalOp.LAST, arg="one"), i, i + 1
    subject = i + 1 < len(lowers) and (reading.words[i + 1].tag == "PRP" or named.startswith(("any", "some")))
    acts = i + 2 < len(lowers) and reading.words[i + 2].tag.startswith("VB")
    if not subject or not acts or lowers[i] not in ("last", *EXTREMES):
        return None
    op = EXTREMES.get(lowers[i], TemporalOp.LAST)
    end = min(i + 3, len(lowers)) if lowers[i] == "last" else i + 1
    return TemporalKey(op=op, arg=reading.said(i + 1, len(lowers)), rank=int(op is TemporalOp.FIRST)), i, end


def _adverb(reading: Reading, i: int) -> Found | None:
    """'which jar did you reach into second', 'when was it last open', 'when did you first see it'."""
    lowers, words = reading.lowers, reading.words
    rank = ORDINALS.get(lowers[i], 0)
    closes = i + 1 == len(words) or words[i + 1].tag in (".", ",", "DT", "IN")
    counts = rank > 1 and i and closes and words[i - 1].tag not in ("DT", "PRP$", "JJ", "POS", "CC")
    if counts and lowers[i - 1] != "in":
        return TemporalKey(op=TemporalOp.NTH, arg=lowers[i], rank=rank), i, i + 1
    if lowers[i] not in ("first", "last") or _goes_on(reading, i):
        return None
    following = words[i + 1] if i + 1 < len(words) else None
    ends = following is None or following.tag in (".", ",", "IN", "CC", "EX", "TO", "WRB")
    verbal = following is not None and (following.tag.startswith("VB") or following.lemma in ("see", "saw"))
    described = following is not None and words[i].tag == "RB" and following.tag not in NOUN_TAGS
    if not (ends or verbal or described) or (i and lowers[i - 1] == "the" and not verbal):
        return None
    op = TemporalOp.FIRST if rank else TemporalOp.LAST
    return TemporalKey(op=op, arg=reading.said(i + 1, i + 2) if verbal else "", rank=rank), i, i + 1


def _goes_on(reading: Reading, i: int) -> bool:
    """'how long did the storm last', 'does the battery last long': last is the verb behind do and its subject."""
    does = next((k for k in range(i) if reading.lowers[k] in ("do", "does", "did", "will")), -1)
    if reading.lowers[i] != "last" or does < 0 or "when" in reading.lowers:
        return False
    return not any(w.tag.startswith("VB") for k, w in enumerate(reading.words) if k > does and k != i)


READERS = (_most_recent, _last_few, _time, _one_that, _first_to, _looked, _adverb)
