"""Saying it: times, ages, places and things as a person would, every number taken from evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import bounds, box_gap, box_gaps
from r4_ros.core.model import NS_PER_S, Evidence, FloatArray, Vec3

CLOCK_EPOCH_NS = 315_576_000 * NS_PER_S
"""Stamps before 1980 aren't wall-clock time (a simulation that starts at 0): they are told relative to now only."""
CONTACT_M = 0.15  # DESIGN: 'on' needs contact in height within this
SINGULAR_IN_S = frozenset("lens canvas gas series christmas".split())
IN_PAIRS = frozenset("shoes boots sneakers slippers socks gloves glasses scissors trousers jeans skis".split())


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
    return "just now" if round(abs(seconds)) == 0 else f"{age(seconds)} ago" if seconds > 0 else f"in {age(seconds)}"


def between(early_ns: int, late_ns: int, now_ns: int) -> str:
    """'12 s ago' where the bounds are close, else 'between 20 s and 12 s ago'; 'before ..' where nobody looked yet."""
    if late_ns - early_ns <= NS_PER_S:
        return ago(late_ns, now_ns)
    if early_ns <= 0:
        return f"before {age((now_ns - late_ns) / NS_PER_S)} ago"
    if now_ns - late_ns < NS_PER_S:
        return f"within the last {age((now_ns - early_ns) / NS_PER_S)}"
    return f"between {age((now_ns - early_ns) / NS_PER_S)} and {age((now_ns - late_ns) / NS_PER_S)} ago"


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


def is_plural(noun: str) -> bool:
    """Whether the name itself is plural: keys, scissors, shoes (but not a bus, a glass)."""
    last = noun.split()[-1].casefold() if noun.split() else ""
    if last == "people":
        return True
    return last.endswith("s") and not last.endswith(("ss", "us", "is")) and last not in SINGULAR_IN_S


def be(noun: str, past: bool = False, count: int = 1) -> str:
    """'is', 'are', 'was' or 'were', as the noun and how many of it there are want it."""
    many = count != 1 or is_plural(noun)
    return ("were" if many else "was") if past else ("are" if many else "is")


def article(noun: str) -> str:
    """The noun with a or an; none where it is plural."""
    if is_plural(noun):
        return noun
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def plural(noun: str, count: int) -> str:
    """'3 chairs', '1 cup', '2 sets of keys'."""
    if is_plural(noun):
        unit = "pair" if noun.split()[-1] in IN_PAIRS else "set"
        return f"{count} {unit}{'' if count == 1 else 's'} of {noun}"
    return f"{count} {noun}" if count == 1 or not noun else f"{count} {several(noun)}"


def several(noun: str) -> str:
    """The plural of a noun: 'chairs', 'people', 'shelves'."""
    if is_plural(noun) or not noun:
        return noun
    if noun.endswith("person"):
        return f"{noun[:-6]}people"
    if noun.endswith("mouse") and noun.startswith("computer"):
        return f"{noun[:-5]}mice"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    if noun.endswith(("shelf", "knife", "loaf")):
        return f"{noun.rstrip('e')[:-1]}ves"
    return noun + ("es" if noun.endswith(("sh", "ch", "x", "s")) else "s")


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


def inventory(evidence: Sequence[Evidence], limit: int = 8) -> str:
    """'a red cup, 2 chairs and a tv', in the order found."""
    counts = Counter(thing(e) for e in evidence)
    return listed([article(name) if n == 1 else plural(name, n) for name, n in counts.items()], limit)


def its(evidence: Sequence[Evidence]) -> str:
    """'its' or 'their'."""
    return "their" if len(evidence) > 1 or any(is_plural(e.label) for e in evidence) else "its"


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def all_seen(evidence: Sequence[Evidence], now_ns: int) -> str:
    """How fresh a list is, by its oldest member: 'last seen 12 s ago', 'all seen within the last 12 s'."""
    oldest = min(e.last_seen for e in evidence)
    if now_ns - oldest < NS_PER_S:
        return "seen just now"
    if len(evidence) == 1:
        return f"last seen {ago(oldest, now_ns)}"
    return f"all seen within the last {age((now_ns - oldest) / NS_PER_S)}"


def spot(evidence: Evidence, said: str = "") -> str:
    """'in the kitchen at (1.20, -0.40, 0.75) m'; without the room where that is ``said`` already."""
    if not evidence.place_known:
        return f"on {evidence.agent_id}'s map '{evidence.map_id}', which isn't aligned with yours"
    room = f"in the {evidence.regions[0]} " if evidence.regions and evidence.regions[0] not in said else ""
    return f"{room}at {point(evidence.box.pose.position)}"


def spots(evidence: Sequence[Evidence], limit: int = 5, said: str = "") -> str:
    """'a red cup in the kitchen at (..) m and a white cup at (..) m'."""
    return listed([f"{article(thing(e))} {spot(e, said)}" for e in evidence], limit)


def valued(evidence: Evidence, value: str) -> str:
    """'the cup in the kitchen at (..) m is white'."""
    return f"the {evidence.label} {spot(evidence)} {be(evidence.label)} {value}"


def size(evidence: Evidence) -> str:
    """'1.20 x 0.80 m wide and deep, 0.75 m high': the larger horizontal side first."""
    x, y, z = evidence.box.extent
    return f"{max(x, y):.2f} x {min(x, y):.2f} m across and {z:.2f} m high"


def height(evidence: Evidence) -> str:
    """'0.75 m high'."""
    return f"{evidence.box.extent[2]:.2f} m high"


def context(evidence: Evidence, around: Sequence[Evidence]) -> str:
    """Where a thing is in words: what it stands on or else what is next to it, and its room; '' if nothing is known."""
    said = []
    others = [o for o in around if o.entry_id != evidence.entry_id and o.label != evidence.label]
    supports = [o for o in others if stands_on(evidence, o)]
    if supports:
        said.append(f"on the {thing(min(supports, key=lambda o: _rise(evidence, o)))}")
    else:
        rooms = set(evidence.regions)
        beside = [o for o in others if not rooms or not o.regions or rooms & set(o.regions)]
        apart = gaps([evidence], beside)[0] if beside else np.zeros(0)
        if beside and apart.min() <= 1.0:
            said.append(f"next to the {thing(beside[int(apart.argmin())])}")
    if evidence.regions:
        said.append(f"in the {evidence.regions[0]}")
    return " ".join(said)


def stands_on(upper: Evidence, lower: Evidence) -> bool:
    """Whether one box rests on another: half of its footprint over it, and contact in height, or within a seat."""
    (a_low, a_high), (b_low, b_high) = bounds(upper.box), bounds(lower.box)
    shared = np.clip(np.minimum(a_high, b_high)[:2] - np.maximum(a_low, b_low)[:2], 0, None).prod()
    own, other = (a_high - a_low)[:2].prod(), (b_high - b_low)[:2].prod()
    if other < own or shared < 0.5 * own:
        return False
    seat = shared >= 0.8 * own and b_low[2] + (b_high - b_low)[2] / 6 < a_low[2] < b_high[2]
    return abs(float(a_low[2] - b_high[2])) <= CONTACT_M or bool(seat)


def could_rest(upper: Evidence, lower: Evidence) -> bool:
    """Whether the height alone would let one rest on the other: on its top, or within its upper part."""
    low, (b_low, b_high) = bounds(upper.box)[0][2], bounds(lower.box)
    return bool(b_low[2] + (b_high - b_low)[2] / 6 < low <= b_high[2] + CONTACT_M)


def _rise(upper: Evidence, lower: Evidence) -> float:
    """How far the underside of one is from the top of another, m."""
    return abs(float(bounds(upper.box)[0][2] - bounds(lower.box)[1][2]))


def gaps(things: Sequence[Evidence], others: Sequence[Evidence]) -> FloatArray:
    """Metres [n, m] between the nearest sides of boxes."""
    return box_gaps([e.box for e in things], [o.box for o in others])


def nearest_gaps(things: Sequence[Evidence], others: Sequence[Evidence]) -> list[float]:
    """Metres [n] from each thing to the nearest of the others; 0 where there are none."""
    if not things or not others:
        return [0.0] * len(things)
    return [float(v) for v in gaps(things, others).min(axis=1)]


def gap(a: Evidence, b: Evidence) -> float:
    """Metres between the nearest sides of two boxes."""
    return box_gap(a.box, b.box)
