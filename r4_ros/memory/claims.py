"""Where robots that saw one thing disagree: what each says of it, since when, how clearly, and what holds.

Of what changes (states, presence, place) the newest sighting holds; among those within 30 s of it, the least occluded.
Of what lasts (colour, material ...), what was seen most clearly, then most often. What one robot saw minutes before the
other is no disagreement but a change, and neither is what the other one saw itself before it changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from r4_ros.core.geometry import box_gap
from r4_ros.core.model import NS_PER_S, AttributeValue, Box, Claim, Entry, Vec3, Visibility
from r4_ros.memory.attributes import LASTING, LATEST, current_values

SAME_TIME_NS = 30 * NS_PER_S
"""Among sightings this near to each other, visibility decides."""
STILL_NS = 300 * NS_PER_S
"""What was seen longer before is no disagreement but a change."""
APART_M = 0.3
RANKS = {Visibility.VISIBLE: 3, Visibility.TRUNCATED: 2, Visibility.OCCLUDED: 1}
PRESENCE, PLACE = "presence", "place"
GONE, THERE = "gone", "there"


@dataclass(frozen=True, slots=True)
class Said:
    """What one source's memory says: the entry, its box as it is now, and who found it gone when (-1: nobody)."""

    entry: Entry
    last_seen: int
    box: Box
    gone_ns: int = -1
    found_by: str = ""


def attributes_of(said: Sequence[Said], speaker: str) -> tuple[tuple[tuple[str, str], ...], tuple[Claim, ...]]:
    """The attributes that hold of what several know, sorted by name, and where they disagree.

    ``speaker``: id of the entry whose words count for what is said of the newest description only.
    """
    known: dict[str, list[tuple[AttributeValue, Entry]]] = {}
    for one in said:
        for name, value in current_values(one.entry.attributes).items():
            if name.casefold() not in LATEST or one.entry.entry_id == speaker:
                known.setdefault(name, []).append((value, one.entry))
    held: list[tuple[str, str]] = []
    claims: list[Claim] = []
    for name in sorted(known):
        value, holder = _holding(name, known[name])
        held.append((name, value.value))
        others = [(v, e) for v, e in known[name] if v.value.casefold() != value.value.casefold()]
        if name.casefold() not in LASTING:
            others = [(v, e) for v, e in others if not _changed_since(v, value, holder)]
        if others:
            claims += [_claim(name, v, e, e is holder) for v, e in ((value, holder), *others)]
    return tuple(held), tuple(claims)


def _holding(name: str, known: Sequence[tuple[AttributeValue, Entry]]) -> tuple[AttributeValue, Entry]:
    if name.casefold() in LASTING:
        return max(known, key=lambda k: (RANKS.get(k[1].visibility, 0), k[0].count, k[0].last_seen))
    newest = max(value.last_seen for value, _ in known)
    late = [k for k in known if k[0].last_seen >= newest - SAME_TIME_NS]
    return max(late, key=lambda k: (RANKS.get(k[1].visibility, 0), k[0].last_seen))


def _changed_since(other: AttributeValue, value: AttributeValue, holder: Entry) -> bool:
    """Whether what another one saw was so before it changed: long ago, or as the holder itself saw it then."""
    if value.last_seen - other.last_seen > STILL_NS:
        return True
    return any(
        a.name == value.name and a.value.casefold() == other.value.casefold() and a.last_seen >= other.last_seen
        for a in holder.attributes
    )


def _claim(name: str, value: AttributeValue, entry: Entry, holds: bool) -> Claim:
    return Claim(name, value.value, entry.agent_id, entry.entry_id, value.last_seen, entry.visibility, holds)


def presence_of(said: Sequence[Said], is_gone: bool) -> tuple[Claim, ...]:
    """Who saw it there, and who found it gone, at about the same time. ``is_gone``: what holds.

    What was there before it was found gone has left: no disagreement, but for looks at the same time.
    """
    gone = [s for s in said if s.gone_ns >= s.last_seen]
    there = [s for s in said if s.gone_ns < s.last_seen]
    there += [s for s in gone if s.found_by and s.found_by != s.entry.agent_id]  # its own robot knows nothing of it
    if not gone or not there:
        return ()
    missed = max(gone, key=lambda s: s.gone_ns)
    finder = missed.found_by or missed.entry.agent_id
    seen = max((s for s in there if s.entry.agent_id != finder), key=lambda s: s.last_seen, default=None)
    own = max((s.last_seen for s in said if s.entry.agent_id == finder), default=-1)
    if seen is None or own >= seen.last_seen:
        return ()
    if not missed.gone_ns - SAME_TIME_NS <= seen.last_seen <= missed.gone_ns + STILL_NS:
        return ()
    entry = missed.entry
    absent = Claim(PRESENCE, GONE, finder, entry.entry_id, missed.gone_ns, Visibility.ABSENT, is_gone)
    visible = seen.entry.visibility
    present = Claim(PRESENCE, THERE, seen.entry.agent_id, seen.entry.entry_id, seen.last_seen, visible, not is_gone)
    return (absent, present) if is_gone else (present, absent)


def place_of(said: Sequence[Said], speaker: str) -> tuple[Claim, ...]:
    """Who saw it elsewhere at about the time when the one that holds saw it where it is; views of its parts touch."""
    holder = next(s for s in said if s.entry.entry_id == speaker)
    start = holder.entry.stays[-1].interval.start
    before = max((stay.interval.end - 1 for stay in holder.entry.stays[:-1]), default=-1)  # it saw it there itself
    recent = [s for s in said if s.last_seen > before and s.last_seen >= start - SAME_TIME_NS]
    recent = [s for s in recent if abs(s.last_seen - holder.last_seen) <= STILL_NS]
    others = [s for s in recent if _apart_m(s, holder) > APART_M and box_gap(s.box, holder.box) > 0]
    if not others:
        return ()
    every = ((s, s.entry) for s in (holder, *others))
    return tuple(
        Claim(PLACE, _text(s.box.pose.position), e.agent_id, e.entry_id, s.last_seen, e.visibility, s is holder)
        for s, e in every
    )


def _apart_m(a: Said, b: Said) -> float:
    return math.dist(a.box.pose.position, b.box.pose.position)


def _text(place: Vec3) -> str:
    return " ".join(f"{v + 0.0:.2f}" for v in place)
