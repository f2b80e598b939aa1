"""The kinds of questions that a run is asked, and those about the people in it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from r4_ros.core.model import NS_PER_S
from r4_ros.evaluation.sim import candidates as c
from r4_ros.evaluation.sim.candidates import Asked, Source
from r4_ros.evaluation.sim.cases import Want
from r4_ros.evaluation.sim.spans import SLACK_S, people
from r4_ros.evaluation.sim.truth import Truth


def _person_seen(truth: Truth, _: str) -> Iterator[Asked]:
    seen = any(walker.glimpses for walker in truth.walkers)
    if not seen or any(True for _ in people(truth)):
        yield Asked({}, Want("bool", seen))


def _person_place(truth: Truth, _: str) -> Iterator[Asked]:
    for walker, clear_ns, any_ns in people(truth):
        slack = 1.0 + math.dist(walker.at(clear_ns), walker.at(any_ns))
        yield Asked({}, Want("place", tolerance=slack, centre=walker.at(clear_ns), extent=walker.extent))


def _person_room(truth: Truth, _: str) -> Iterator[Asked]:
    for walker, clear_ns, any_ns in people(truth):
        rooms = {truth.room_of(*walker.at(stamp)[:2]) for stamp in (clear_ns, any_ns)}
        if len(rooms) == 1:
            room, at = rooms.pop(), walker.at(clear_ns)
            yield Asked({}, Want("words", (room,), 1.0, at, walker.extent), "in")


def _person_when(truth: Truth, _: str) -> Iterator[Asked]:
    for _walker, clear_ns, any_ns in people(truth):
        middle, slack_s = (clear_ns + any_ns) // 2, (any_ns - clear_ns) / NS_PER_S / 2
        yield Asked({}, Want("time", middle, slack_s + SLACK_S))


SOURCES: dict[str, tuple[str, str, Source, int]] = {
    "locate_now": ("locate", "now", c.located, 12),
    "locate_last": ("locate", "last", c.located, 8),
    "locate_ago": ("locate", "ago", c.located_at, 12),
    "locate_before_moved": ("locate", "before", c.before, 6),
    "locate_first": ("locate", "first", c.first_place, 8),
    "navigate": ("navigate", "none", c.located, 6),
    "room_of": ("identify", "now", c.in_room, 8),
    "surface_of": ("identify", "now", c.on_surface, 6),
    "exists_seen": ("exists", "none", c.existing, 10),
    "exists_in": ("exists", "none", c.exists_in, 10),
    "verify_on": ("verify", "now", c.is_on, 10),
    "verify_on_ago": ("verify", "ago", c.was_on, 10),
    "verify_in": ("verify", "now", c.is_in, 8),
    "verify_in_ago": ("verify", "ago", c.was_in, 8),
    "verify_near": ("verify", "now", c.is_near, 8),
    "verify_moved": ("verify", "change", c.has_moved, 6),
    "verify_color": ("verify", "none", c.is_colored, 6),
    "count_in": ("count", "now", c.counted(True), 8),
    "count_all": ("count", "none", c.counted(False), 6),
    "identify_on": ("identify", "now", c.listed, 8),
    "identify_on_ago": ("identify", "ago", c.listed_ago, 8),
    "color": ("attribute", "none", c.colors, 6),
    "when_last": ("when", "last", c.when(True), 6),
    "when_first": ("when", "first", c.when(False), 6),
    "distance": ("distance", "now", c.distances, 8),
    "distance_ego": ("distance", "now", c.ego_distances, 6),
    "direction": ("direction", "now", c.directions, 6),
    "side_choose": ("choose", "now", c.sides, 4),
    "compare_high": ("compare", "none", c.higher, 3),
    "compare_high_is": ("compare", "none", c.is_higher, 3),
    "compare_near": ("compare", "now", c.nearer, 4),
    "compare_big": ("compare", "none", c.bigger, 3),
    "compare_big_is": ("compare", "none", c.is_bigger, 3),
    "order_first": ("order", "first", c.first_of_two, 5),
    "person_seen": ("exists", "none", _person_seen, 2),
    "person_place": ("locate", "last", _person_place, 2),
    "person_room": ("identify", "last", _person_room, 1),
    "person_when": ("when", "last", _person_when, 1),
    "ambiguous": ("locate", "now", c.look_alikes, 5),
    "unanswerable_thing": ("unanswerable", "none", c.never_seen, 10),
    "unanswerable_room": ("unanswerable", "none", c.never_visited, 4),
    "unanswerable_mind": ("unanswerable", "none", c.minds, 8),
}
"""Kinds of questions: form, temporal operator, where they come from, and how many of them a scenario gets."""
