"""What can be asked of a run, by kind: the words to fill in, the right answer. Cases near a threshold are left out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from r4_ros.core.model import NS_PER_S
from r4_ros.evaluation.sim.cases import Want
from r4_ros.evaluation.sim.sets import counts, lists, rooms_of_kinds
from r4_ros.evaluation.sim.spans import AGO, before_moved, first_places, past_places, sightings
from r4_ros.evaluation.sim.truth import MIXED, Stay, Thing, Truth, gap, plain_color, related

NEVER_THERE = (
    "piano",
    "bicycle",
    "surfboard",
    "hammer",
    "tent",
    "wheelchair",
    "aquarium",
    "helmet",
    "violin",
    "skateboard",
    "hair dryer",
    "telescope",
    "baby stroller",
    "drum",
)
SAID_NOTHING = ("NOT_SEEN", "NEVER_VISITED", "UNSUPPORTED", "AMBIGUOUS")
SMALL_M = 1.2
NEAR_M, FAR_M = 0.8, 1.3
"""Gaps: 20 % and more below and above the metre that 'near' ends at."""


@dataclass(frozen=True)
class Asked:
    """One possible question: the words for a wording's gaps, and its right answer."""

    slots: dict[str, str]
    want: Want
    relation: str = ""
    things: tuple[Thing, ...] = field(default=())


Source = Callable[[Truth, str], Iterator[Asked]]


def place_want(stay: Stay) -> Want:
    """A place is right inside the thing's box or within 30 cm of its centre."""
    return Want("place", tolerance=0.3, centre=stay.box.pose.position, extent=stay.box.extent)


def _told(stay: Stay, *words: str) -> Want:
    """A place that is told in words."""
    return Want("words", words, 0.3, stay.box.pose.position, stay.box.extent)


def nameable(truth: Truth) -> list[tuple[Thing, str, Stay]]:
    """Things with a name of their own whose place now is known."""
    found = []
    for thing in truth.things:
        stay = truth.where_now(thing)
        if stay is not None and thing.well_seen and truth.named(thing):
            found.append((thing, truth.named(thing), stay))
    return found


def located(truth: Truth, _: str) -> Iterator[Asked]:
    """Where things are now."""
    for thing, name, stay in nameable(truth):
        yield Asked({"x": name}, place_want(stay), things=(thing,))


def in_room(truth: Truth, _: str) -> Iterator[Asked]:
    """Which room things are in."""
    for thing, name, stay in nameable(truth):
        if truth.is_inside(stay):
            yield Asked({"x": name}, _told(stay, stay.room), "in", (thing,))


def on_surface(truth: Truth, _: str) -> Iterator[Asked]:
    """What small things stand on."""
    for thing, name, stay in nameable(truth):
        if stay.surface is not None and thing.movable:
            told = _told(stay, stay.surface.thing, stay.surface.thing.split()[-1])
            yield Asked({"x": name}, told, "on", (thing,))


def is_on(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether small things are on a surface: theirs, and others."""
    surfaces = sorted({s.surface.thing for t in truth.things for s in t.stays if s.surface and s.room != "study"})
    for thing, name, stay in nameable(truth):
        if thing.movable and stay.surface is not None:
            for surface in surfaces:
                yield Asked({"x": name, "s": surface}, Want("bool", surface == stay.surface.thing), "on", (thing,))


def is_in(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether things are in a room."""
    for (thing, name, stay), room in itertools.product(nameable(truth), ("living room", "kitchen", "bedroom")):
        if truth.is_inside(stay):
            yield Asked({"x": name, "r": room}, Want("bool", stay.room == room), "in", (thing,))


def is_near(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether a small thing is near another one."""
    things = [(t, n, s) for t, n, s in nameable(truth) if max(s.box.extent) <= SMALL_M]
    for (a, x, p), (b, y, q) in itertools.permutations(things, 2):
        apart = gap(p.box, q.box)
        if a.movable and (apart >= FAR_M or (apart <= NEAR_M and p.room == q.room)):
            yield Asked({"x": x, "y": y}, Want("bool", apart <= NEAR_M), "near", (a, b))


def has_moved(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether things were carried elsewhere, where the robots saw both places well."""
    for thing, name, stay in nameable(truth):
        if not thing.movable:
            continue
        first = thing.stays[0]
        if len(thing.stays) == 1 and len(thing.glimpses) > 10:
            yield Asked({"x": name}, Want("bool", False), things=(thing,))
        elif len(thing.stays) == 2 and thing.is_clear(first) and first.emptied and stay is thing.stays[1]:
            far = math.dist(first.box.pose.position, stay.box.pose.position) > 1.0
            yield from [Asked({"x": name}, Want("bool", True), things=(thing,))] * far


def colors(truth: Truth, _: str) -> Iterator[Asked]:
    """The colour of small things of one plain colour."""
    for thing, name, _stay in nameable(truth):
        plain = plain_color(thing.color)
        if plain and name == thing.label and thing.name not in MIXED and max(thing.stays[0].box.extent) <= SMALL_M:
            yield Asked({"x": name}, Want("words", (plain, plain.replace("grey", "gray"))), things=(thing,))


def is_colored(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether small things have a colour, right or wrong."""
    for asked in colors(truth, ""):
        right = asked.want.value[0]
        for color in ("red", "green", "blue", "white"):
            yield Asked({**asked.slots, "c": color}, Want("bool", color == right), things=asked.things)


def distances(truth: Truth, _: str) -> Iterator[Asked]:
    """How far small things are from each other, centre to centre."""
    things = [(t, n, s) for t, n, s in nameable(truth) if max(s.box.extent) <= SMALL_M]
    for (a, x, p), (b, y, q) in itertools.combinations(things, 2):
        apart = math.dist(p.box.pose.position, q.box.pose.position)
        if apart > 1.0:
            yield Asked({"x": x, "y": y}, Want("number", apart, max(0.3, 0.2 * apart)), "distance", (a, b))


def ego_distances(truth: Truth, ego: str) -> Iterator[Asked]:
    """How far things are from the robot, over the floor."""
    for thing, name, stay in nameable(truth):
        apart, _ = _bearing(truth, ego, stay)
        if apart > 1.0 and max(stay.box.extent) <= SMALL_M:
            yield Asked({"x": name}, Want("number", apart, max(0.3, 0.2 * apart)), "ego distance", (thing,))


def directions(truth: Truth, ego: str) -> Iterator[Asked]:
    """Which way things are from the robot: plainly ahead, left, right or behind."""
    for thing, name, stay in nameable(truth):
        apart, degrees = _bearing(truth, ego, stay)
        names = ((0, ("ahead", "front")), (90, ("left",)), (-90, ("right",)), (180, ("behind",)), (-180, ("behind",)))
        for centre, words in names:
            if apart > 1.0 and abs(degrees - centre) <= 18 and max(stay.box.extent) <= SMALL_M:
                yield Asked({"x": name}, Want("words", words), "ego", (thing,))


def sides(truth: Truth, ego: str) -> Iterator[Asked]:
    """Left or right of the robot."""
    for thing, name, stay in nameable(truth):
        apart, degrees = _bearing(truth, ego, stay)
        if 1.0 < apart < 3.2 and 54 <= abs(degrees) <= 126 and max(stay.box.extent) <= SMALL_M:
            yield Asked({"x": name}, Want("words", ("left" if degrees > 0 else "right",)), "ego", (thing,))


def nearer(truth: Truth, ego: str) -> Iterator[Asked]:
    """Which of two things is nearer to the robot."""
    things = [(t, n, s, _bearing(truth, ego, s)[0]) for t, n, s in nameable(truth) if max(s.box.extent) <= SMALL_M]
    for (a, x, _p, m), (b, y, _q, n) in itertools.permutations(things, 2):
        if abs(m - n) > 0.3 * max(m, n) and abs(m - n) > 0.5:
            yield Asked({"x": x, "y": y}, Want("words", _either(a, b, x, y, m < n)), "ego distance", (a, b))


def higher(truth: Truth, _: str) -> Iterator[Asked]:
    """Which of two things is higher up."""
    for a, b, x, y, first in _ranked(truth, lambda s: s.box.pose.position[2], 0.4):
        yield Asked({"x": x, "y": y}, Want("words", _either(a, b, x, y, first)), "height", (a, b))


def is_higher(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether one thing is higher up than another."""
    for a, b, x, y, first in _ranked(truth, lambda s: s.box.pose.position[2], 0.4):
        yield Asked({"x": x, "y": y}, Want("bool", first), "height", (a, b))


def bigger(truth: Truth, _: str) -> Iterator[Asked]:
    """Which of two small things is bigger, by far."""
    for a, b, x, y, first in _ranked(truth, lambda s: math.log(math.prod(s.box.extent)), math.log(6)):
        yield Asked({"x": x, "y": y}, Want("words", _either(a, b, x, y, first)), "size", (a, b))


def is_bigger(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether one small thing is bigger than another, by far."""
    for a, b, x, y, first in _ranked(truth, lambda s: math.log(math.prod(s.box.extent)), math.log(6)):
        yield Asked({"x": x, "y": y}, Want("bool", first), "size", (a, b))


def look_alikes(truth: Truth, _: str) -> Iterator[Asked]:
    """'The mug' where there are several: which one is meant, nobody can tell."""
    known = [t for t in truth.things if truth.where_now(t) is not None and t.well_seen]
    for label in sorted({t.label for t in known}):
        alike = [t for t in known if t.label == label]
        places = [t.stays[-1].box.pose.position for t in alike]
        if len(alike) > 1 and min(math.dist(p, q) for p, q in itertools.combinations(places, 2)) > 1.0:
            yield Asked({"x": label}, Want("none", verdicts=("AMBIGUOUS",)), "look-alike", tuple(alike))


def never_seen(truth: Truth, _: str) -> Iterator[Asked]:
    """Things that aren't there, or that stand where no robot looked."""
    unseen = {t.label for t in truth.things if not t.seen}
    labels = [
        n for n in sorted({*NEVER_THERE, *unseen}) if not any(t.seen and related(t.label, n) for t in truth.things)
    ]
    for label in labels:
        yield Asked({"x": label}, Want("none", verdicts=SAID_NOTHING))


def never_visited(truth: Truth, _: str) -> Iterator[Asked]:
    """Rooms that nothing was seen of."""
    for room in truth.rooms:
        if not any(t.seen for t in truth.things for s in t.stays if s.room == room):
            yield Asked({"r": room}, Want("none", verdicts=SAID_NOTHING), "in")


def minds(truth: Truth, _: str) -> Iterator[Asked]:
    """What nobody can see in things."""
    for thing, name, _stay in nameable(truth):
        yield Asked({"x": name}, Want("none", verdicts=SAID_NOTHING), things=(thing,))


def existing(truth: Truth, _: str) -> Iterator[Asked]:
    """Whether a kind was seen at all: kinds that were, and kinds that weren't."""
    for thing, name, _stay in nameable(truth):
        if name == thing.label:
            yield Asked({"x": name}, Want("bool", True), things=(thing,))
    for asked in never_seen(truth, ""):
        yield Asked(asked.slots, Want("bool", False))


def _bearing(truth: Truth, ego: str, stay: Stay) -> tuple[float, float]:
    """Distance over the floor, metres, and degrees to the left of a robot's heading now."""
    x, y, yaw = truth.base(ego, truth.now_ns)
    dx, dy = stay.box.pose.position[0] - x, stay.box.pose.position[1] - y
    degrees = math.degrees(math.atan2(dy, dx) - yaw)
    return math.hypot(dx, dy), (degrees + 180) % 360 - 180


def _either(a: Thing, b: Thing, x: str, y: str, first: bool) -> tuple[str, ...]:
    """The one that is meant, by its name, or its kind where that tells the two apart."""
    name, thing = (x, a) if first else (y, b)
    return (name, thing.label) if a.label != b.label else (name,)


def _ranked(
    truth: Truth, measure: Callable[[Stay], float], apart: float
) -> Iterator[tuple[Thing, Thing, str, str, bool]]:
    """Pairs that differ enough in a measure; whether the first one has more of it."""
    things = [(t, n, s) for t, n, s in nameable(truth) if max(s.box.extent) <= SMALL_M]
    for (a, x, p), (b, y, q) in itertools.permutations(things, 2):
        if abs(measure(p) - measure(q)) > apart:
            yield a, b, x, y, measure(p) > measure(q)


def located_at(truth: Truth, _: str) -> Iterator[Asked]:
    """Where was it, so long ago?"""
    for thing, name, stay, words in past_places(truth):
        yield Asked({"x": name, "n": words}, place_want(stay), things=(thing,))


def was_on(truth: Truth, _: str) -> Iterator[Asked]:
    """Was it on that, so long ago?"""
    for thing, name, stay, words in past_places(truth):
        for surface in ("kitchen table", "coffee table", "console table", "sideboard", "bench"):
            if stay.surface is not None and thing.movable:
                right = surface == stay.surface.thing
                yield Asked({"x": name, "n": words, "s": surface}, Want("bool", right), "on", (thing,))


def was_in(truth: Truth, _: str) -> Iterator[Asked]:
    """Was it in that room, so long ago?"""
    for thing, name, stay, words in past_places(truth):
        for room in ("living room", "kitchen", "bedroom", "hallway"):
            yield Asked({"x": name, "n": words, "r": room}, Want("bool", room == stay.room), "in", (thing,))


def before(truth: Truth, _: str) -> Iterator[Asked]:
    """Where was it before it was moved?"""
    for thing, name, stay in before_moved(truth):
        yield Asked({"x": name}, place_want(stay), things=(thing,))


def first_place(truth: Truth, _: str) -> Iterator[Asked]:
    """Where was it first seen?"""
    for thing, name, stay in first_places(truth):
        yield Asked({"x": name}, place_want(stay), things=(thing,))


def when(last: bool) -> Source:
    """When was it seen last, or first?"""

    def source(truth: Truth, _: str) -> Iterator[Asked]:
        for thing, name, middle_ns, slack_s in sightings(truth, last):
            yield Asked({"x": name}, Want("time", middle_ns, slack_s), things=(thing,))

    return source


def first_of_two(truth: Truth, _: str) -> Iterator[Asked]:
    """Which of two was seen first?"""
    seen = [(t, n, at) for t, n, at, slack in sightings(truth, last=False) if slack < 6]
    for (a, x, m), (b, y, n) in itertools.permutations(seen, 2):
        if abs(m - n) > 20 * NS_PER_S and a.label != b.label:
            words = (x, a.label) if m < n else (y, b.label)
            yield Asked({"x": x, "y": y}, Want("words", words), things=(a, b))


def listed(truth: Truth, _: str) -> Iterator[Asked]:
    """What is on it?"""
    for surface, labels, _words in lists(truth, (None,)):
        yield Asked({"s": surface}, Want("labels", labels), "on")


def listed_ago(truth: Truth, _: str) -> Iterator[Asked]:
    """What was on it, so long ago?"""
    for surface, labels, words in lists(truth, tuple(AGO)):
        yield Asked({"s": surface, "n": words}, Want("labels", labels), "on")


def counted(in_rooms: bool) -> Source:
    """How many of them are there, or in that room?"""

    def source(truth: Truth, _: str) -> Iterator[Asked]:
        for plural, room, number in counts(truth, in_rooms):
            yield Asked({"k": plural, "r": room}, Want("int", number), "in" if in_rooms else "")

    return source


def exists_in(truth: Truth, _: str) -> Iterator[Asked]:
    """Is there one in that room?"""
    for label, room, there in rooms_of_kinds(truth):
        yield Asked({"x": label, "r": room}, Want("bool", there), "in")
