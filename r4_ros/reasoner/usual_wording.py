"""Saying what is usual: places, times of day, and how many occasions speak for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from r4_ros.core.model import NS_PER_S, Fact
from r4_ros.reasoner import wording

SELDOM = 0.05
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HAPPENED = {"APPEARED": "appears", "MOVED": "is moved", "DISAPPEARED": "disappears", "REAPPEARED": "comes back"}
PLURAL = {"appears": "appear", "is moved": "are moved", "disappears": "disappear", "comes back": "come back"}


def share(fact: Fact) -> float:
    """Its share of the time, or of the occasions, without what makes up for few of them."""
    return min(1.0, fact.weight * (fact.total + 1) / fact.total) if fact.total else 0.0


def places_text(own: Sequence[Fact], zone: tzinfo) -> str:
    """Where a thing usually is, and where else, by its usual places, the first one first."""
    first, others = own[0], [f for f in own[1:] if share(f) >= SELDOM]
    be = wording.be(first.label)
    text = f"The {first.label} {be} usually {spot(first)}: {part(first)}, {since(zone, own)}."
    if others:
        text += f" Otherwise {wording.listed([f'{spot(f, False)} ({part(f)})' for f in others], 4)}."
    return text


def spot(fact: Fact, exact: bool = True) -> str:
    """'on the table in the kitchen at (..) m'."""
    held = f"{fact.object.split(' ', 1)[0]} the {fact.object.split(' ', 1)[1]}" if " " in fact.object else ""
    room = f"in the {fact.region}" if fact.region else ""
    at = f"at {wording.point(fact.place)}" if fact.place is not None and (exact or not (held or room)) else ""
    return " ".join(part for part in (held, room, at) if part)


def part(fact: Fact) -> str:
    """'8 of 16 occasions, 62 % of the time'."""
    return f"{fact.count} of {wording.plural('occasion', fact.total)}, {share(fact):.0%} of the time"


def since(zone: tzinfo, facts: Sequence[Fact]) -> str:
    """'since 2026-03-02', 'over 40 min'."""
    first, last = min(f.first_ns for f in facts), max(f.last_ns for f in facts)
    if wording.has_clock(first) and last - first >= 86400 * NS_PER_S:
        return f"since {datetime.fromtimestamp(first // NS_PER_S, zone):%Y-%m-%d}"
    return f"over {wording.age((last - first) / NS_PER_S)}"


def habit_text(fact: Fact) -> str:
    """'The tv is usually on': what happens or holds, without when."""
    be = wording.be(fact.label)
    if fact.object in HAPPENED:
        happens = HAPPENED[fact.object]
        return f"The {fact.label} usually {PLURAL[happens] if wording.is_plural(fact.label) else happens}"
    if "->" in fact.object:
        return f"The {fact.label} usually changes ({fact.object})"
    if ": " in fact.object:
        return f"The {fact.label} {be} usually {fact.object.split(': ', 1)[1]}"
    return f"The {fact.label} {be} usually {spot(fact, False)}"


def times(zone: tzinfo, fact: Fact) -> str:
    """'from 20:00 to 21:15 UTC on weekdays'."""
    start, end = (0.0 if s is None else s for s in (fact.day_from_s, fact.day_to_s))
    name = datetime.fromtimestamp(fact.last_ns // NS_PER_S, zone).tzname() or ""
    days = {(): "", (0, 1, 2, 3, 4): " on weekdays", (5, 6): " at weekends"}.get(fact.weekdays)
    if days is None:
        days = f" on {wording.listed([f'{DAYS[d]}s' for d in fact.weekdays], 7)}"
    if (end - start) % 86400 < 60:
        return f"at {clock(start)} {name}{days}"
    return f"from {clock(start)} to {clock(end)} {name}{days}"


def clock(second: float) -> str:
    """'08:15'."""
    minutes = int(second // 60) % 1440
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
