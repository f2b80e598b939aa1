"""Saying it: times, ages, places and things as a person would, every number taken from evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import bounds, box_gap
from r4_ros.core.model import NS_PER_S, Evidence, Vec3

CLOCK_EPOCH_NS = 315_576_000 * NS_PER_S
"""Stamps before 1980 aren't wall-clock time (a simulation that starts at 0): they are told relative to now only."""
CONTACT_M = 0.15  # DESIGN: 'on' needs contact in height within this


def zone_of(name: str) -> tzinfo:
    """A time zone by its IANA name; empty: UTC. Raises InvalidArgument for an unknown one."""
    if not name:
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidArgument(f"'{name}' is no IANA time zone; write for example Europe/Berlin") from error


def has_clock(stamp_ns: int) -> bool:
    """Whether a stamp is wall-clock time."""
    return stamp_ns >= CLOCK_EPOCH_NS


def age(seconds: float) -> str:
    """'12 s', '3 min 20 s', '2 h 5 min', '3 days'."""
    whole = round(abs(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if whole < 86400:
        hours, minutes = divmod(whole // 60, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days = whole // 86400
    return f"{days} day" + ("s" if days > 1 else "")


def ago(stamp_ns: int, now_ns: int) -> str:
    """'12 s ago', 'just now'."""
    seconds = (now_ns - stamp_ns) / NS_PER_S
    return "just now" if abs(seconds) < 0.5 else f"{age(seconds)} ago" if seconds > 0 else f"in {age(seconds)}"


def clock(stamp_ns: int, now_ns: int, zone: tzinfo) -> str:
    """'10:02:13 UTC', 'on 2026-05-01' where that isn't today; empty for stamps that aren't wall-clock time."""
    if not has_clock(stamp_ns):
        return ""
    moment = datetime.fromtimestamp(stamp_ns // NS_PER_S, zone)
    today = datetime.fromtimestamp(now_ns // NS_PER_S, zone).date()
    day = "" if moment.date() == today else moment.strftime(" on %Y-%m-%d")
    return f"{moment:%H:%M:%S} {moment.tzname() or ''}".strip() + day


def when(stamp_ns: int, now_ns: int, zone: tzinfo) -> str:
    """Relative and, where there is one, absolute: '12 s ago, at 10:02:13 UTC'."""
    absolute = clock(stamp_ns, now_ns, zone)
    return f"{ago(stamp_ns, now_ns)}, at {absolute}" if absolute else ago(stamp_ns, now_ns)


def point(position: Vec3) -> str:
    """'(1.20, -0.40, 0.75) m'."""
    return "(" + ", ".join(f"{v + 0.0:.2f}" for v in position) + ") m"


def article(noun: str) -> str:
    """The noun with a or an."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def plural(noun: str, count: int) -> str:
    """'3 chairs', '1 cup'."""
    if count == 1 or noun.endswith("s") or not noun:
        return f"{count} {noun}"
    if noun == "person":
        return f"{count} people"
    ending = "es" if noun.endswith(("sh", "ch", "x", "ss")) else "s"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{count} {noun[:-1]}ies"
    if noun.endswith(("shelf", "knife")):
        return f"{count} {noun.rstrip('e')[:-1]}ves"
    return f"{count} {noun}{ending}"


def attribute(evidence: Evidence, name: str) -> str:
    """A remembered property; '' if it isn't known."""
    return next((value for key, value in evidence.attributes if key == name), "")


def thing(evidence: Evidence) -> str:
    """'red cup'."""
    color = attribute(evidence, "color")
    label = evidence.label
    return f"{color} {label}" if color and color not in label.split() else label


def listed(items: Sequence[str], limit: int = 5) -> str:
    """'a, b and c'; long lists say how many more there are."""
    shown = list(items[:limit])
    if len(items) > limit:
        shown.append(f"{len(items) - limit} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def inventory(evidence: Sequence[Evidence]) -> str:
    """'a red cup, 2 chairs and a tv', in the order found."""
    counts = Counter(thing(e) for e in evidence)
    return listed([article(name) if n == 1 else plural(name, n) for name, n in counts.items()], 8)


def context(evidence: Evidence, around: Sequence[Evidence]) -> str:
    """Where a thing is in words: its room, what it stands on or else what is next to it; '' if nothing is known."""
    said = []
    others = [o for o in around if o.entry_id != evidence.entry_id and o.label != evidence.label]
    support = next((o for o in others if stands_on(evidence, o)), None)
    if support is not None:
        said.append(f"on the {thing(support)}")
    else:
        near = min(((gap(evidence, o), i) for i, o in enumerate(others)), default=None)
        if near is not None and near[0] <= 1.0:
            said.append(f"next to the {thing(others[near[1]])}")
    if evidence.regions:
        said.append(f"in the {evidence.regions[0]}")
    return " ".join(said)


def stands_on(upper: Evidence, lower: Evidence) -> bool:
    """Whether one box rests on another: overlap on the floor plan, and contact in height."""
    (a_low, a_high), (b_low, b_high) = bounds(upper.box), bounds(lower.box)
    overlap = bool(((a_low[:2] < b_high[:2]) & (b_low[:2] < a_high[:2])).all())
    larger = float((b_high - b_low)[:2].prod()) >= float((a_high - a_low)[:2].prod())
    return overlap and larger and abs(float(a_low[2] - b_high[2])) <= CONTACT_M


def gap(a: Evidence, b: Evidence) -> float:
    """Metres between the nearest sides of two boxes."""
    return box_gap(a.box, b.box)
