"""Constraints read word by word from the documentation, in plain Python: what the memory's answers are held against.

It shares no code with the memory. Boxes are (low, high) of three numbers each, aligned with the map's axes; poses are
positions and quaternions x y z w.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

Point = Sequence[float]
PlainBox = tuple[Point, Point]


def turned(q: Point, v: Point) -> list[float]:
    """A vector turned by a unit quaternion: q v q*."""
    x, y, z, w = q
    px, py, pz, pw = _times((x, y, z, w), (*v, 0.0))
    return list(_times((px, py, pz, pw), (-x, -y, -z, w))[:3])


def _times(a: Point, b: Point) -> tuple[float, float, float, float]:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def seen_from(position: Point, q: Point, point: Point) -> list[float]:
    """A point in the frame of a pose."""
    offset = [a - b for a, b in zip(point, position, strict=True)]
    return turned((-q[0], -q[1], -q[2], q[3]), offset)


def placed(frames: Sequence[tuple[Point, Point]], extent: Point) -> PlainBox:
    """The box around a box of that size whose pose is the first frame, given in the second, and so on up to the map."""
    corners = []
    for signs in itertools.product((-0.5, 0.5), repeat=3):
        corner = [s * e for s, e in zip(signs, extent, strict=True)]
        for position, q in frames:
            corner = [a + b for a, b in zip(turned(q, corner), position, strict=True)]
        corners.append(corner)
    return [min(axis) for axis in zip(*corners, strict=True)], [max(axis) for axis in zip(*corners, strict=True)]


def shifted(box: PlainBox, pulls: Sequence[tuple[float, Point]]) -> PlainBox:
    """The box after it was pulled, each time a share of the offset."""
    by = [sum(share * offset[axis] for share, offset in pulls) for axis in range(3)]
    return [a + b for a, b in zip(box[0], by, strict=True)], [a + b for a, b in zip(box[1], by, strict=True)]


def resized(box: PlainBox, half: Point) -> PlainBox:
    """The box with the half sizes that the memory holds: the same to what float32 can say, which it holds them in.

    So nearly equal distances come in one order, and what is held is still held against what it must be.
    """
    middle = centre(box)
    for side, held in zip(size(box), half, strict=True):
        assert abs(side / 2 - held) <= 1e-6 * side
    return [m - h for m, h in zip(middle, half, strict=True)], [m + h for m, h in zip(middle, half, strict=True)]


def centre(box: PlainBox) -> list[float]:
    return [(a + b) / 2 for a, b in zip(*box, strict=True)]


def size(box: PlainBox) -> list[float]:
    return [b - a for a, b in zip(*box, strict=True)]


def apart(a: PlainBox, b: PlainBox) -> list[float]:
    """How far apart along each axis; negative: how far they overlap."""
    return [max(a[0][i] - b[1][i], b[0][i] - a[1][i]) for i in range(3)]


def gap(a: PlainBox, b: PlainBox) -> float:
    return math.hypot(*(max(0.0, d) for d in apart(a, b)))


def in_polygon(polygon: Sequence[Point], x: float, y: float) -> bool:
    """By the crossings of a ray with the sides."""
    inside = False
    for (x1, y1), (x2, y2) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            inside = not inside
    return inside


def to_polygon(polygon: Sequence[Point], x: float, y: float) -> float:
    """Horizontal distance to a polygon, 0 inside."""
    if in_polygon(polygon, x, y):
        return 0.0
    found = []
    for (x1, y1), (x2, y2) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        length = (x2 - x1) ** 2 + (y2 - y1) ** 2
        share = min(1.0, max(0.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length))
        found.append(math.hypot(x - x1 - share * (x2 - x1), y - y1 - share * (y2 - y1)))
    return min(found)


def _floor(box: PlainBox) -> float:
    return size(box)[0] * size(box)[1]


def _floor_shared(a: PlainBox, b: PlainBox) -> float:
    return _shared(a, b, 0) * _shared(a, b, 1)


def _shared(a: PlainBox, b: PlainBox, axis: int) -> float:
    return max(0.0, min(a[1][axis], b[1][axis]) - max(a[0][axis], b[0][axis]))


def _volume(box: PlainBox) -> float:
    return math.prod(size(box))


def on(a: PlainBox, b: PlainBox) -> bool:
    shared = _floor_shared(a, b)
    if abs(a[0][2] - b[1][2]) <= 0.15 and shared >= 0.5 * min(_floor(a), _floor(b)):
        return True
    raised = b[0][2] + size(b)[2] / 6 < a[0][2] < b[1][2]
    return raised and shared >= 0.8 * _floor(a) and _volume(a) < _volume(b)


def inside(a: PlainBox, b: PlainBox) -> bool:
    shared = math.prod(_shared(a, b, axis) for axis in range(3))
    return _volume(a) < _volume(b) and shared >= 0.5 * _volume(a)


def beside(a: PlainBox, b: PlainBox, reach: float) -> bool:
    stands = _floor_shared(a, b) >= 0.8 * min(_floor(a), _floor(b))
    return gap(a, b) <= reach and apart(a, b)[2] <= 0.3 and not stands


def attached(a: PlainBox, b: PlainBox) -> bool:
    stands = abs(a[0][2] - b[1][2]) <= 0.05 and _floor_shared(a, b) >= 0.5 * _floor(a)
    return gap(a, b) <= 0.1 and _volume(a) < _volume(b) and not stands


def along(a: PlainBox, b: PlainBox) -> bool:
    axis = 1 if size(b)[1] > size(b)[0] else 0
    level = math.hypot(*(max(0.0, d) for d in apart(a, b)[:2]))
    return level <= 0.5 and b[0][axis] <= centre(a)[axis] <= b[1][axis]


def across(a: PlainBox, b: PlainBox) -> bool:
    x, y, _ = apart(a, b)
    return (0.7 <= x <= 6.0 and y <= 0.3) or (0.7 <= y <= 6.0 and x <= 0.3)


def under(a: PlainBox, b: PlainBox) -> bool:
    below = a[1][2] <= b[1][2] - 0.05 and centre(a)[2] < centre(b)[2]
    return below and _floor_shared(a, b) >= 0.5 * _floor(a)


def _a_third(a: PlainBox, b: PlainBox) -> bool:
    return 3 * _floor_shared(a, b) >= min(_floor(a), _floor(b)) > 0


RELATIONS = {
    "on": on,
    "in": inside,
    "under": under,
    "above": lambda a, b: a[0][2] >= b[1][2] - 0.15 and _a_third(a, b),
    "below": lambda a, b: a[1][2] <= b[0][2] + 0.15 and _a_third(a, b),
    "near": lambda a, b: gap(a, b) <= 1.0,
    "next_to": lambda a, b: beside(a, b, 0.5),
    "around": lambda a, b: beside(a, b, 1.0),
    "side": lambda a, b: beside(a, b, 0.3),
    "at": lambda a, b: on(a, b) or beside(a, b, 0.75),
    "against": lambda a, b: beside(a, b, 0.15) and apart(a, b)[2] <= 0,
    "attached_to": attached,
    "along": along,
    "across_from": across,
    "within": lambda a, b: True,
}
"""Of things with things."""


def between(a: PlainBox, first: PlainBox, second: PlainBox) -> bool:
    """Within the middle 80 % of the way, off the line by at most a quarter of it, or 0.5 m."""
    start, end, point = centre(first), centre(second), centre(a)
    way = [e - s for s, e in zip(start, end, strict=True)]
    length = math.hypot(*way)
    if length < 1e-6:
        return False
    share = sum((p - s) * w for p, s, w in zip(point, start, way, strict=True)) / length**2
    foot = [s + share * w for s, w in zip(start, way, strict=True)]
    return 0.1 < share < 0.9 and math.dist(point, foot) <= max(0.5, length / 4)


def from_pose(relation: str, local: Point, fov: tuple[float, float]) -> bool:
    """What a pose has in view, in its cone or before it; ``local``: where the middle is in the frame of the pose."""
    x, y, z = local
    if relation == "beyond":
        return x > 0
    if relation == "in_cone":
        length = math.hypot(x, y, z)
        return length == 0 or math.acos(max(-1.0, min(1.0, x / length))) <= fov[0] / 2
    return abs(math.atan2(y, x)) <= fov[0] / 2 and abs(math.atan2(z, x)) <= fov[1] / 2
