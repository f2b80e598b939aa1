"""What is known of several things at once: what stands on a top, how many of a kind there are, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from r4_ros.core.model import NS_PER_S
from r4_ros.evaluation.sim.spans import AGO, MARGIN_S
from r4_ros.evaluation.sim.surfaces import SURFACES, Surface
from r4_ros.evaluation.sim.truth import EMPTY_FRAMES, Thing, Truth, related

PLURALS = {
    "mug": "mugs",
    "chair": "chairs",
    "plate": "plates",
    "apple": "apples",
    "picture": "pictures",
    "plant": "plants",
    "nightstand": "nightstands",
    "pillow": "pillows",
    "curtain": "curtains",
    "bottle": "bottles",
    "towel": "towels",
    "clock": "clocks",
    "book": "books",
    "lamp": "lamps",
    "door": "doors",
}
SETTLED_S = 120
FULLY_SEEN = ("living room", "kitchen", "bedroom")


def lists(truth: Truth, times: Sequence[str | None]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Surface, labels of all that stands on it, and how long ago (None: now), where all of that is known."""
    for surface in SURFACES:
        for words in times:
            ago_s = AGO[words] if words else 0
            at_ns = truth.now_ns - ago_s * NS_PER_S
            if not surface.listed or at_ns < truth.start_ns + 90 * NS_PER_S:
                continue
            here = [t for t in truth.things if (s := t.at(at_ns)) is not None and s.surface is surface]
            if here and all(_is_sure(t, at_ns, truth) for t in here) and _is_settled(surface, at_ns, truth, ago_s > 0):
                yield surface.thing, tuple(sorted({t.label for t in here})), words or ""


def _is_sure(thing: Thing, at_ns: int, truth: Truth) -> bool:
    return thing.well_seen and thing.is_known_at(at_ns, truth.now_ns)


def _is_settled(surface: Surface, at_ns: int, truth: Truth, past: bool) -> bool:
    """Whether what came and went was noticed: nothing can be believed to be there that isn't, or the other way."""
    margin = round(MARGIN_S * NS_PER_S)
    for thing in truth.things:
        for stay in thing.stays:
            if stay.surface is not surface or not thing.seen:
                continue
            if (abs(stay.end_ns - at_ns) < margin and stay.end_ns <= truth.now_ns) or (
                abs(stay.start_ns - at_ns) < margin and not stay.first
            ):
                return False
            left = stay.end_ns <= at_ns and bool(thing.views(stay.start_ns, stay.end_ns))
            if left and stay.emptied < EMPTY_FRAMES:
                return False
            if left and past and at_ns - stay.end_ns < SETTLED_S * NS_PER_S:
                return False
    return True


def counts(truth: Truth, in_rooms: bool) -> Iterator[tuple[str, str, int]]:
    """Plural, room ('' for everywhere) and number of a kind, where each of them is known and nothing is like them."""
    for label, plural in PLURALS.items():
        for room in FULLY_SEEN if in_rooms else ("",):
            all_alike = [t for t in truth.things if related(t.label, label) and (t.seen or in_rooms)]
            alike = [t for t in all_alike if not room or any(s.room == room for s in t.stays)]
            number = _number(alike, label, room, truth)
            if number > 0:
                yield plural, room, number


def _number(alike: Sequence[Thing], label: str, room: str, truth: Truth) -> int:
    """How many stand there now; 0 where that isn't known."""
    number = 0
    for thing in alike:
        if thing.label != label or not thing.well_seen:
            return 0
        now = thing.at(truth.now_ns)
        gone = [s for s in thing.stays if s is not now and thing.is_clear(s)]
        if any(s.emptied < EMPTY_FRAMES for s in gone) or (now is not None and truth.where_now(thing) is None):
            return 0
        number += now is not None and (not room or now.room == room)
    return number


def rooms_of_kinds(truth: Truth) -> Iterator[tuple[str, str, bool]]:
    """Kind, room, and whether there is one in it, where that was seen well."""
    for label in sorted({t.label for t in truth.things if t.seen}):
        alike = [t for t in truth.things if related(t.label, label)]
        for room in FULLY_SEEN:
            there = [t for t in alike if any(s.room == room for s in t.stays)]
            if not there:
                yield label, room, False
            elif any(t.label == label and (s := truth.where_now(t)) is not None and s.room == room for t in there):
                yield label, room, True
