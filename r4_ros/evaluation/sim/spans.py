"""What is known of things over time: where they were, before and first, and when they were in view."""

from __future__ import annotations

from collections.abc import Iterator

from r4_ros.core.model import NS_PER_S
from r4_ros.evaluation.sim.truth import CLEAR_FRAMES, Stay, Thing, Truth, Walker

AGO = {
    "40 seconds": 40,
    "a minute": 60,
    "90 seconds": 90,
    "two minutes": 120,
    "2.5 minutes": 150,
    "3 minutes": 180,
    "200 seconds": 200,
    "4 minutes": 240,
}
"""How long ago, as people say it, and in seconds."""
MARGIN_S = 12.0
SLACK_S = 2.5


def past_places(truth: Truth) -> Iterator[tuple[Thing, str, Stay, str]]:
    """Where things were some time ago, where what was seen decides it and nothing changed close to that time."""
    for thing in truth.things:
        name = truth.named(thing)
        for words, ago_s in AGO.items():
            at_ns = truth.now_ns - ago_s * NS_PER_S
            stay = thing.at(at_ns)
            if not name or stay is None or at_ns < truth.start_ns or not thing.is_known_at(at_ns, truth.now_ns):
                continue
            margin = round(MARGIN_S * NS_PER_S)
            if thing.at(at_ns - margin) is stay is thing.at(min(at_ns + margin, truth.now_ns)) and thing.well_seen:
                yield thing, name, stay, words


def before_moved(truth: Truth) -> Iterator[tuple[Thing, str, Stay]]:
    """Where things that were moved once stood before, both places well seen."""
    for thing in truth.things:
        if len(thing.stays) == 2 and thing.well_seen and truth.named(thing):
            first, second = thing.stays
            apart = first.end_ns == second.start_ns and first.room + str(first.surface) != second.room + str(
                second.surface
            )
            if apart and thing.is_clear(first) and thing.is_clear(second) and first.emptied:
                yield thing, truth.named(thing), first


def first_places(truth: Truth) -> Iterator[tuple[Thing, str, Stay]]:
    """Where things were when they were first seen, if that was seen well."""
    for thing in truth.things:
        if thing.well_seen and truth.named(thing):
            stay = thing.at(thing.glimpses[0][0])
            if stay is not None and thing.is_clear(stay):
                yield thing, truth.named(thing), stay


def sightings(truth: Truth, last: bool) -> Iterator[tuple[Thing, str, int, float]]:
    """When things were first or last seen: the middle of the times that can be meant, and the slack in seconds.

    The times are those from the first glimpse of a few pixels to the first clear view.
    """
    for thing in truth.things:
        clear = thing.views(truth.start_ns, truth.now_ns + 1)
        name = truth.named(thing)
        if not (clear and name and thing.well_seen):
            continue
        any_ns = thing.glimpses[-1][0] if last else thing.glimpses[0][0]
        clear_ns = clear[-1] if last else clear[0]
        apart_s = abs(any_ns - clear_ns) / NS_PER_S
        if apart_s <= 10:
            yield thing, name, (any_ns + clear_ns) // 2, apart_s / 2 + SLACK_S


def people(truth: Truth) -> Iterator[tuple[Walker, int, int]]:
    """People who were seen well enough, with when they were last seen clearly and last seen at all."""
    for walker in truth.walkers:
        clear = walker.clear()
        if len(clear) >= CLEAR_FRAMES and walker.glimpses[-1][0] - clear[-1] < 3 * NS_PER_S:
            yield walker, clear[-1], walker.glimpses[-1][0]
