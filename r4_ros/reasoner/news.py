"""Which remembered events are news, and several robots' notice of one happening put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.model import Episode, Event, EventKind, Evidence

FEW = 3  # episodes that a piece of text asks for
SURELY = 0.7  # with less certainty than this, what was seen may be a mistake of the detector
THERE, BESIDE, MISTAKEN = 0.9, 0.97, 0.2
"""So much existence is believed, so much beside what is surely there; with so little, it is taken for a mistake."""


def well_seen(evidence: Evidence, there: float = THERE) -> bool:
    """Whether there is little doubt that it is there: by the recogniser's confidence and by the looks at its place.

    A detector that says 0.4 must say so three times, a camera that knows what it sees, once. What was hardly ever seen
    where it should have been again and again may be a mistake of a recogniser that is sure of itself, too.
    """
    doubt: float = (1 - min(max(evidence.confidence, 0.0), 1.0)) ** max(1, evidence.count)
    return 1 - doubt >= SURELY and evidence.existence >= there


def mistaken(evidence: Evidence) -> bool:
    """Whether it is more likely a mistake of the recogniser than anything else."""
    return evidence.existence < MISTAKEN


def is_news(event: Event, evidence: Evidence, moves: Sequence[Event]) -> bool:
    """Whether that happened: not where it only came into view, or is known to have been moved."""
    if event.kind is EventKind.APPEARED:
        looked_before = 0 < event.earliest_ns <= evidence.first_seen
        return looked_before and well_seen(evidence) and all(m.entry_id != event.entry_id for m in moves)
    return not _found_again(event, moves)


def visits(events: Sequence[Event], until_ns: int) -> list[Event]:
    """Stays of robots in a region, from their entering to their leaving (until now where they are still there).

    The events of one stay are told as one, [earliest, latest] from when it began to when it ended.
    """
    told: list[Event] = []
    for agent in dict.fromkeys(e.agent_id for e in events):
        entered: Event | None = None
        for event in sorted((e for e in events if e.agent_id == agent), key=lambda e: e.stamp_ns):
            if event.kind is EventKind.ENTERED:
                entered = event
            elif event.kind is EventKind.LEFT:
                begun = entered.stamp_ns if entered is not None else event.earliest_ns
                told.append(replace(event, stamp_ns=begun, earliest_ns=begun, latest_ns=event.stamp_ns))
                entered = None
        if entered is not None:
            told.append(replace(entered, earliest_ns=entered.stamp_ns, latest_ns=until_ns))
    return sorted(told, key=lambda e: (e.stamp_ns, e.event_id))


def told_of(episode: Episode) -> Event:
    """An episode, told as an event without a thing."""
    return Event(
        event_id=episode.episode_id,
        kind=EventKind.APPEARED,
        entry_id="",
        agent_id=episode.agent_id,
        label=episode.text,
        stamp_ns=episode.interval.start,
        earliest_ns=episode.interval.start,
        latest_ns=max(episode.interval.start, episode.interval.end - 1),
        map_id=episode.map_id,
        place=episode.place or (0.0, 0.0, 0.0),
    )


def witnessed(events: Sequence[Event]) -> list[Event]:
    """What several robots noticed of one happening, as one: it happened while none of them looked."""
    told: list[Event] = []
    for event in sorted(events, key=lambda e: (e.latest_ns, e.event_id)):
        same = (
            i
            for i, t in enumerate(told)
            if t.entry_id == event.entry_id and t.kind is event.kind and t.agent_id != event.agent_id
        )
        i = next((i for i in same if event.earliest_ns <= told[i].latest_ns), -1)
        if i < 0:
            told.append(event)
        else:
            told[i] = replace(told[i], earliest_ns=max(told[i].earliest_ns, event.earliest_ns))
    return told


def _found_again(event: Event, moves: Sequence[Event]) -> bool:
    """Whether what disappeared is known to have been moved: a thing of that kind came from that place."""
    if event.kind is not EventKind.DISAPPEARED:
        return False
    alike = (m for m in moves if m.label == event.label and m.from_place is not None)
    return any(math.dist(event.place, m.from_place or event.place) < 0.1 for m in alike)
