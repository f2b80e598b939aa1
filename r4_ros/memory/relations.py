"""Spatial relations of boxes as degrees 0..1 (held from 0.5 on), over many candidates at once.

Boxes are aligned with the map's axes. Support, above and below, between and proximity are computed from boxes here as
they are in Sr3D (Achlioptas et al., 'ReferIt3D', ECCV 2020); the tolerances are this project's, for boxes from depth
cameras that are a few centimetres off.

- ``on``: its underside within 0.15 m of the other's top, at least half of the smaller footprint shared; or (a seat,
  a shelf) its underside inside the other's height, above the lowest sixth, and 80 % of its footprint over it (what
  sticks out further, as a chair at a table, isn't held by it).
- ``in``: at least half of its volume inside a larger box; of a region: its centre inside the polygon.
- ``under``: half its footprint below the other's top, its centre below the other's. ``above``, ``below``: beyond the
  other's top or underside (0.15 m of overlap allowed), a third of the smaller footprint shared.
- ``near``: gap between boxes at most 1 m. ``next_to``: at most 0.5 m, heights that meet within 0.3 m, and neither
  stands on the other (80 % of the smaller footprint). ``at``: on it, or beside it by at most 0.75 m.
- ``around``: beside it like next_to, by at most 1 m. ``side``: beside it by at most 0.3 m.
- ``against``: beside it, at most 0.15 m away, and their heights meet.
- ``attached_to``: at most 0.1 m away, smaller, and not standing on it.
- ``along``: beside it by at most 0.5 m or over it, within the ends of its longer side.
- ``across_from``: in one direction of the map 0.7 to 6 m apart (room to pass), in the other opposite each other (their
  sides overlap, give or take 0.3 m); of the asker: see views.py.
- ``between``: its centre within the middle 80 % of the way between two things, and off the line by at most a quarter
  of it (0.5 m at least).
- ``within``: any place; only the distances count.
- ``corner, end, centre, top, bottom``: see areas.py. ``left_of, right_of, in_front_of, behind, facing, through,
  in_view, in_cone, beyond``: see views.py. ``same_room``: in a region that the other is in, too (spatial.py).

Distances are gaps between boxes; to an asker or a viewpoint they are horizontal (as to a column 1.5 m high).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import FloatArray
from r4_ros.memory.areas import PARTS, part_of_thing
from r4_ros.memory.boxes import Boxes, falling, footprint_shared, gaps, height_gaps, level_gaps
from r4_ros.memory.views import DIRECTIONS, FROM_A_POSE, OPPOSITE_M, SEATED

Mask = npt.NDArray[np.bool_]
HELD = 0.5
_AT_ONCE = 1 << 15
"""So many numbers stay in the processor's cache."""
ANYWHERE_M = 1e9


def _on(a: Boxes, b: Boxes) -> FloatArray:
    own, smaller = footprint_shared(a, b)
    contact = np.minimum(falling(np.abs(a.low[:, 2] - b.high[:, 2]), 0.05, 0.15), np.clip(smaller, 0, 1))
    height = b.size[:, 2]
    inside = (a.low[:, 2] > b.low[:, 2] + height / 6) & (a.low[:, 2] < b.high[:, 2])
    seat = inside & (own >= SEATED) & (a.size.prod(axis=1) < b.size.prod(axis=1))
    return np.maximum(contact, np.where(seat, 0.6, 0.0))


def _in(a: Boxes, b: Boxes) -> FloatArray:
    shared = np.clip(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0, None).prod(axis=1)
    own = a.size.prod(axis=1)
    return np.where(own < b.size.prod(axis=1), shared / np.maximum(own, 1e-12), 0.0)


def _under(a: Boxes, b: Boxes) -> FloatArray:
    own, _ = footprint_shared(a, b)
    lower = (a.high[:, 2] <= b.high[:, 2] - 0.05) & (a.centre[:, 2] < b.centre[:, 2])
    return np.where(lower, np.clip(own, 0, 1), 0.0)


def _above(a: Boxes, b: Boxes) -> FloatArray:
    return np.where(a.low[:, 2] >= b.high[:, 2] - 0.15, _third(a, b), 0.0)


def _below(a: Boxes, b: Boxes) -> FloatArray:
    return np.where(a.high[:, 2] <= b.low[:, 2] + 0.15, _third(a, b), 0.0)


def _third(a: Boxes, b: Boxes) -> FloatArray:
    """0.5 where a third of the smaller footprint is shared; a point or observer shares what it stands in."""
    return np.clip(1.5 * footprint_shared(a, b)[1], 0, 1)


def _near(a: Boxes, b: Boxes) -> FloatArray:
    return falling(gaps(a, b), 0.0, 1.0)


def _beside(a: Boxes, b: Boxes, reach_m: float) -> FloatArray:
    """How near things stand beside one: heights that meet within 0.3 m, and neither stands on the other."""
    beside = (height_gaps(a, b) <= 0.3) & (footprint_shared(a, b)[1] < SEATED)
    return np.where(beside, falling(gaps(a, b), 0.0, reach_m), 0.0)


def _next_to(a: Boxes, b: Boxes) -> FloatArray:
    return _beside(a, b, 0.5)


def _around(a: Boxes, b: Boxes) -> FloatArray:
    return _beside(a, b, 1.0)


def _side(a: Boxes, b: Boxes) -> FloatArray:
    return _beside(a, b, 0.3)


def _at(a: Boxes, b: Boxes) -> FloatArray:
    return np.maximum(_on(a, b), _beside(a, b, 0.75))


def _against(a: Boxes, b: Boxes) -> FloatArray:
    return np.where(height_gaps(a, b) <= 0, _beside(a, b, 0.15), 0.0)


def _attached_to(a: Boxes, b: Boxes) -> FloatArray:
    stands = (np.abs(a.low[:, 2] - b.high[:, 2]) <= 0.05) & (footprint_shared(a, b)[0] >= 0.5)
    smaller = a.size.prod(axis=1) < b.size.prod(axis=1)
    return np.where(smaller & ~stands, falling(gaps(a, b), 0.0, 0.1), 0.0)


def _along(a: Boxes, b: Boxes) -> FloatArray:
    inside = (a.centre >= b.low) & (a.centre <= b.high)
    alongside = np.where(b.size[:, 1] > b.size[:, 0], inside[:, 1], inside[:, 0])
    return np.where(alongside, falling(level_gaps(a, b), 0.0, 0.5), 0.0)


def _across_from(a: Boxes, b: Boxes) -> FloatArray:
    apart = np.maximum(a.low - b.high, b.low - a.high)[:, :2]
    passage = (apart >= 0.7) & (apart <= 6.0)
    opposite = falling(np.clip(apart[:, ::-1], 0, None), 0.0, 0.3)
    return np.asarray(np.where(passage, opposite, 0.0).max(axis=1))


def _within(a: Boxes, b: Boxes) -> FloatArray:
    return np.ones(len(a.low))


_PLAIN: dict[str, Callable[[Boxes, Boxes], FloatArray]] = {
    "on": _on,
    "in": _in,
    "inside": _in,
    "at": _at,
    "under": _under,
    "above": _above,
    "below": _below,
    "near": _near,
    "next_to": _next_to,
    "around": _around,
    "side": _side,
    "against": _against,
    "attached_to": _attached_to,
    "along": _along,
    "across_from": _across_from,
    "within": _within,
}
RELATIONS = (*_PLAIN, *PARTS, "between", *DIRECTIONS, "facing", "through", *FROM_A_POSE, "same_room")
AMONG_NEIGHBOURS = (*DIRECTIONS, "between", "near", "next_to", "at", "around", "side", "across_from", "along")
"""Relations that don't reach through walls."""


REACH_M = {
    "on": (0.0, 0.15),
    "in": (0.0, 0.0),
    "inside": (0.0, 0.0),
    "at": (0.75, 0.75),
    "under": (0.0, ANYWHERE_M),
    "above": (0.0, ANYWHERE_M),
    "below": (0.0, ANYWHERE_M),
    "near": (1.0, 1.0),
    "next_to": (0.5, 0.5),
    "around": (1.0, 1.0),
    "side": (0.3, 0.3),
    "against": (0.15, 0.15),
    "attached_to": (0.1, 0.1),
    "along": (0.5, ANYWHERE_M),
    "across_from": (OPPOSITE_M, ANYWHERE_M),
    **dict.fromkeys(PARTS, (0.5, ANYWHERE_M)),
}
"""How far boxes are apart at most, across the ground and in height, where a relation holds; others hold anywhere."""


def check_relation(relation: str) -> None:
    """Raise InvalidArgument for a relation that isn't computed."""
    if relation not in RELATIONS:
        raise InvalidArgument(f"unknown spatial relation '{relation}'; known are {', '.join(RELATIONS)}")


def degrees(relation: str, candidates: Boxes, reference: Boxes) -> FloatArray:
    """Degrees [n] of a relation of two boxes; ``reference`` is one box, or one for each candidate.

    It is 0 where they are farther apart than twice ``REACH_M``.
    """
    if relation in PARTS:
        return part_of_thing(relation, candidates, reference)
    return _PLAIN[relation](candidates, reference)


def reach_between(length: FloatArray) -> FloatArray:
    """How far off the line between two things' centres, so far apart, one's centre may be that stands between them."""
    return np.maximum(0.5, 0.25 * length)


def between(candidates: Boxes, first: Boxes, others: Boxes, but: Mask | None = None) -> FloatArray:
    """Degrees [n] to which candidates stand between one box and any of some others [k].

    ``but`` [k, n]: which of the others don't count for which candidates.
    """
    way, offset = others.centre - first.centre[0], candidates.centre - first.centre[0]
    length: FloatArray = np.linalg.norm(way, axis=1)
    apart = length >= 1e-6
    squared, reach = np.where(apart, length, 1.0)[:, None] ** 2, reach_between(length)[:, None] ** 2
    nearest = np.full(len(offset), np.inf)  # how far off the line, as a share of the reach, squared
    step = max(1, _AT_ONCE // max(1, len(way)))
    for i in range(0, len(offset), step):
        some = offset[i : i + step]
        along = way[:, 0, None] * some[:, 0]
        along += way[:, 1, None] * some[:, 1]
        along += way[:, 2, None] * some[:, 2]
        share = along / squared
        middle = (share > 0.1) & (share < 0.9) & apart[:, None]
        if but is not None:
            middle &= ~but[:, i : i + step]
        off = np.maximum((some**2).sum(axis=1) - share * along, 0.0) / reach
        nearest[i : i + step] = np.where(middle, off, np.inf).min(axis=0, initial=np.inf)
    return falling(np.sqrt(nearest), 0.0, 1.0)
