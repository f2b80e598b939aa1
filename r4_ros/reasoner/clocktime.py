"""Amounts and times of day in words: 'half an hour', '10:02', 'half past six', '0600'."""

from __future__ import annotations

import re

from r4_ros.reasoner.keys import ClockTime
from r4_ros.reasoner.parse import Reading

UNITS = {
    "second": 1.0,
    "sec": 1.0,
    "s": 1.0,
    "minute": 60.0,
    "min": 60.0,
    "hour": 3600.0,
    "hr": 3600.0,
    "h": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
    "fortnight": 1209600.0,
    "month": 2592000.0,
    "year": 31536000.0,
}
NUMBERS = {
    word: float(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty""".split()
    )
}
NUMBERS |= {"thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "ninety": 90.0}
NUMBERS |= {"a": 1.0, "an": 1.0, "half": 0.5, "couple": 2.0, "few": 3.0, "several": 5.0}
CLOCK = re.compile(r"^(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?$")
MILITARY = re.compile(r"^([01]\d|2[0-3])([0-5]\d)$")


def quantity(reading: Reading, i: int) -> tuple[float, int] | None:
    """Seconds and end of 'two hours', 'half an hour', 'a couple of minutes', '90 s' at token i."""
    lowers = reading.lowers
    number, j = _number(lowers, i)
    if number is None or j >= len(lowers):
        return None
    unit = unit_of(lowers[j])
    if unit is None:
        return None
    j += 1
    if lowers[j : j + 3] == ("and", "a", "half"):
        number, j = number + 0.5, j + 3
    return number * unit, j


def clock(reading: Reading, i: int) -> tuple[ClockTime, int] | None:
    """A time of day at token i: '10:02', '3 pm', 'half past six', 'noon', '0600'."""
    lowers = reading.lowers
    if i >= len(lowers):
        return None
    word = lowers[i]
    if word in ("noon", "midday", "midnight"):
        return ClockTime(hour=0 if word == "midnight" else 12), i + 1
    past = spoken(lowers, i)
    if past is not None:
        return past
    military = MILITARY.match(word)
    if military:
        return ClockTime(hour=int(military[1]), minute=int(military[2])), i + 1
    match = CLOCK.match(word)
    hour = float(match[1]) if match else NUMBERS.get(word) if word not in ("a", "an", "half") else None
    if hour is None or hour > 24:
        return None
    minute, second = (int(match[g] or 0) for g in (2, 3)) if match else (0, 0)
    hour, end = _half_of_day(lowers, i + 1, int(hour))
    if minute > 59 or second > 59:
        return None
    if end == i + 1 and not (match and match[2]) and lowers[end : end + 1] in (("o'clock",), ("oclock",)):
        end += 1
    return ClockTime(hour=hour, minute=minute, second=second), end


def spoken(lowers: tuple[str, ...], i: int) -> tuple[ClockTime, int] | None:
    """'half past six', 'quarter to ten', 'half six', 'ten past nine', 'at twenty to four' at token i."""
    i += lowers[i] == "a" and lowers[i + 1 : i + 2] == ("quarter",)
    minute = {"half": 30, "quarter": 15}.get(lowers[i])
    j = i + 1
    if minute is None and lowers[j : j + 1] in (("past",), ("to",)):
        said = NUMBERS.get(lowers[i], 0.0)
        timed = lowers[j] == "past" or (i > 0 and lowers[i - 1] in ("at", "by", "around", "about"))
        minute = int(said) if timed and said in (5, 10, 20) else None
    if minute is None or j >= len(lowers):
        return None
    to = lowers[j] == "to"
    j += lowers[j] in ("past", "to")
    hour = NUMBERS.get(lowers[j]) if j < len(lowers) else None
    if hour is None and j < len(lowers) and lowers[j].isdigit():
        hour = float(lowers[j])
    if hour is None or not 1 <= hour <= 12 or lowers[j] in ("a", "an"):
        return None
    whole, end = _half_of_day(lowers, j + 1, int(hour))
    return (ClockTime(hour=(whole - 1) % 24, minute=60 - minute) if to else ClockTime(hour=whole, minute=minute)), end


def _half_of_day(lowers: tuple[str, ...], j: int, hour: int) -> tuple[int, int]:
    word = lowers[j].replace(".", "") if j < len(lowers) else ""
    if word == "pm" or lowers[j : j + 3] in (("in", "the", "evening"), ("in", "the", "afternoon")):
        return (hour + 12 if hour < 12 else hour), j + (1 if word == "pm" else 3)
    if word == "am":
        return hour % 12, j + 1
    if lowers[j : j + 2] == ("this", "morning"):
        return hour, j + 2
    return hour, j


def _number(lowers: tuple[str, ...], i: int) -> tuple[float | None, int]:
    j = i
    if lowers[j : j + 2] in (("half", "an"), ("half", "a")):
        return 0.5, j + 2
    quarters = j + (lowers[j : j + 1] in (("a",), ("three",)))
    if lowers[quarters : quarters + 3] in (("quarter", "of", "an"), ("quarters", "of", "an")):
        return 0.75 if lowers[quarters] == "quarters" else 0.25, quarters + 3
    if lowers[j : j + 1] in (("a",), ("an",)) and lowers[j + 1 : j + 2] in (("couple",), ("few",)):
        j += 1
    if j >= len(lowers):
        return None, j
    word = lowers[j]
    value = float(word) if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", word) else NUMBERS.get(word)
    if value is not None and word in NUMBERS and value >= 20 and lowers[j + 1 : j + 2] and value % 10 == 0:
        ones = NUMBERS.get(lowers[j + 1], 0.0)
        if 1 <= ones <= 9 and lowers[j + 1] not in ("a", "an"):
            value, j = value + ones, j + 1
    j += 1
    return value, j + (lowers[j : j + 1] == ("of",))


def unit_of(word: str) -> float | None:
    """Seconds of a unit of time; None for other words."""
    return UNITS.get(word) or UNITS.get(word.rstrip("."), UNITS.get(word[:-1] if word.endswith("s") else ""))
