"""Furniture: what people sit at, lie on and put things into. Each function gives a shape in its local frame, metres."""

from __future__ import annotations

import math

import numpy as np

from r4_ros.bridges.apartment.materials import Material, fabric, leather, metal, paint, pattern, plastic, wood
from r4_ros.bridges.apartment.shapes import Shape, arc, ball, box, cylinder, grid, lathe, place, soft_box, tube


def legs(length: float, width: float, height: float, thick: float, material: Material) -> Shape:
    """Four square legs under the corners of a top."""
    x, y = length / 2 - thick, width / 2 - thick
    return [box((thick, thick, height), (sx * x, sy * y, 0), material) for sx in (-1, 1) for sy in (-1, 1)]


def table(length: float, width: float, height: float, material: Material, thick: float = 0.035) -> Shape:
    """A table on four legs with aprons under the top."""
    leg = 0.06 if height > 0.6 else 0.05
    apron = 0.07
    parts = legs(length - 0.06, width - 0.06, height - thick, leg, material)
    parts.append(box((length, width, thick), (0, 0, height - thick), material))
    for side in (-1, 1):
        parts.append(box((length - 0.2, 0.02, apron), (0, side * (width / 2 - 0.07), height - thick - apron), material))
        parts.append(box((0.02, width - 0.2, apron), (side * (length / 2 - 0.07), 0, height - thick - apron), material))
    return parts


def round_table(radius: float, height: float, material: Material) -> Shape:
    """A round top on a turned foot."""
    foot = lathe([(0, 0), (radius * 0.6, 0), (radius * 0.55, 0.02), (0.04, 0.06), (0.035, height)], (0, 0, 0), material)
    return [foot, cylinder(radius, 0.03, (0, 0, height - 0.03), material, 28)]


def chair(frame: Material, seat: Material) -> Shape:
    """A dining chair, seat at 0.46 m, back at 0.92 m."""
    parts = legs(0.42, 0.42, 0.44, 0.04, frame)
    parts.append(soft_box((0.43, 0.43, 0.05), (0, 0, 0.43), seat, 0.25))
    for side in (-1, 1):
        parts.append(box((0.035, 0.04, 0.48), (-0.19, side * 0.17, 0.44), frame))
    for height in (0.60, 0.71, 0.82):
        parts.append(box((0.02, 0.34, 0.07), (-0.19, 0, height), frame))
    return parts


def office_chair(cover: Material) -> Shape:
    """A swivel chair with armrests, seat at 0.5 m."""
    dark, steel = plastic("black"), metal()
    parts: Shape = []
    for k in range(5):
        angle = 2 * math.pi * k / 5
        tip = (0.28 * math.cos(angle), 0.28 * math.sin(angle), 0.07)
        parts.append(tube([(0, 0, 0.11), tip], 0.022, dark))
        parts.append(ball((0.03, 0.03, 0.03), (tip[0], tip[1], 0.03), dark, 6))
    parts.append(cylinder(0.03, 0.34, (0, 0, 0.1), steel))
    parts.append(soft_box((0.48, 0.48, 0.09), (0, 0, 0.43), cover, 0.3))
    parts += place([soft_box((0.08, 0.44, 0.56), (0, 0, 0), cover, 0.35)], (-0.22, 0, 0.56), pitch=-0.12)
    for side in (-1, 1):
        parts.append(tube([(-0.1, side * 0.25, 0.5), (-0.1, side * 0.27, 0.66), (0.14, side * 0.27, 0.66)], 0.02, dark))
    return parts


def sofa(width: float, cover: Material, seats: int, depth: float = 0.9) -> Shape:
    """Seat at 0.44 m, back at 0.82 m; one seat makes an armchair."""
    arm = 0.18
    parts: Shape = [soft_box((depth, width, 0.30), (0, 0, 0.08), cover, 0.12)]
    parts.append(soft_box((0.24, width - 0.04, 0.52), (-depth / 2 + 0.13, 0, 0.30), cover, 0.25))
    for side in (-1, 1):
        parts.append(soft_box((depth - 0.04, arm, 0.34), (0.01, side * (width / 2 - arm / 2), 0.28), cover, 0.3))
    seat = (width - 2 * arm) / seats
    for k in range(seats):
        y = -width / 2 + arm + seat * (k + 0.5)
        parts.append(soft_box((depth - 0.22, seat - 0.02, 0.17), (0.1, y, 0.30), cover, 0.25))
        parts.append(soft_box((0.18, seat - 0.03, 0.38), (-depth / 2 + 0.30, y, 0.44), cover, 0.35))
    x, y = depth / 2 - 0.08, width / 2 - 0.08
    parts += [cylinder(0.025, 0.09, (sx * x, sy * y, 0), wood("walnut")) for sx in (-1, 1) for sy in (-1, 1)]
    return parts


def bed(width: float, length: float, cover: str, frame: Material) -> Shape:
    """Head at -x; mattress top at 0.52 m."""
    white = fabric("white")
    parts: Shape = [box((length, width, 0.22), (0, 0, 0.08), frame)]
    parts += legs(length - 0.1, width - 0.1, 0.08, 0.07, frame)
    parts.append(box((0.06, width + 0.08, 1.0), (-length / 2 - 0.03, 0, 0), frame))
    parts.append(soft_box((length - 0.04, width - 0.04, 0.24), (0, 0, 0.28), white, 0.15))
    parts.append(soft_box((length * 0.66, width + 0.06, 0.27), (length * 0.16, 0, 0.28), fabric(cover), 0.2))
    parts.append(soft_box((0.28, width + 0.04, 0.06), (-length * 0.13, 0, 0.50), white, 0.4))
    return parts


def cabinet(
    depth: float, width: float, height: float, body: Material, front: Material, columns: int, rows: int, foot: float = 0
) -> Shape:
    """A closed box with a grid of doors or drawers at its front: dresser, wardrobe, nightstand, kitchen unit."""
    parts: Shape = [box((depth, width, height - foot), (0, 0, foot), body)]
    if foot:
        parts += legs(depth - 0.04, width - 0.04, foot, 0.04, body)
    knob = metal()
    w, h = width / columns, (height - foot) / rows
    for column in range(columns):
        for row in range(rows):
            y, z = -width / 2 + w * (column + 0.5), foot + h * row
            parts.append(box((0.02, w - 0.02, h - 0.02), (depth / 2 + 0.01, y, z + 0.01), front))
            if h > w * 1.2:  # a door: an upright handle at the side where it opens
                side = w / 2 - 0.06 if column % 2 == 0 else -w / 2 + 0.06
                parts.append(box((0.025, 0.012, 0.14), (depth / 2 + 0.03, y + side, z + h * 0.5 - 0.07), knob))
            else:
                parts.append(box((0.025, 0.14, 0.012), (depth / 2 + 0.03, y, z + h * 0.6), knob))
    return parts


def shelf_unit(depth: float, width: float, height: float, shelves: int, material: Material) -> Shape:
    """Open at the front (+x); shelf k has its upper face at k * (height - 0.02) / shelves + 0.02."""
    thick = 0.02
    parts: Shape = [box((0.01, width, height), (-depth / 2 + 0.005, 0, 0), material)]
    for side in (-1, 1):
        parts.append(box((depth, thick, height), (0, side * (width - thick) / 2, 0), material))
    for k in range(shelves + 1):
        parts.append(box((depth, width, thick), (0, 0, k * (height - thick) / shelves), material))
    return parts


def desk(length: float, width: float, height: float, top: Material, body: Material) -> Shape:
    """Length along y; drawers at +y."""
    parts: Shape = [box((width, length, 0.03), (0, 0, height - 0.03), top)]
    parts += place(cabinet(width - 0.06, 0.4, height - 0.03, body, body, 1, 3), (0, length / 2 - 0.22, 0))
    parts.append(box((width - 0.06, 0.03, height - 0.03), (0, -length / 2 + 0.03, 0), body))
    return parts


def rug(length: float, width: float, material: Material) -> Shape:
    """A thin rectangle on the floor."""
    return [box((length, width, 0.012), (0, 0, 0), material)]


def curtain(width: float, height: float, material: Material) -> Shape:
    """Hangs in folds along y, in front of the wall at -x."""
    y = np.linspace(-width / 2, width / 2, 49)
    z = np.linspace(0, height, 2)
    x = 0.045 * np.sin(y * 2 * math.pi / 0.13)
    points = np.stack(np.broadcast_arrays(x[None, :], y[None, :], z[:, None]), axis=-1)
    return [grid(points, material)]


def coat_rack() -> Shape:
    """A stand with four hooks and a coat."""
    frame = wood("walnut")
    parts: Shape = [cylinder(0.2, 0.03, (0, 0, 0), frame), cylinder(0.025, 1.7, (0, 0, 0.03), frame)]
    for k in range(4):
        hook = place([tube(arc(0.09, -math.pi / 2, 0.3, (0.02, 0, 1.66)), 0.012, frame, 6)], yaw=k * math.pi / 2)
        parts += hook
    coat = ball((0.10, 0.17, 0.42), (0.10, 0, 1.12), fabric("dark green"), 10, 0.7)
    return [*parts, coat]


def mirror(width: float, height: float) -> Shape:
    """Hangs on the wall at -x; the origin is the middle of its lower edge."""
    frame = box((0.02, width, height), (0.01, 0, 0), wood("pine"))
    return [frame, box((0.004, width - 0.06, height - 0.06), (0.022, 0, 0.03), pattern("mirror_glass", gloss=0.6))]


def picture(width: float, height: float, art: str) -> Shape:
    """Hangs on the wall at -x; the origin is the middle of its lower edge."""
    frame = box((0.02, width, height), (0.01, 0, 0), wood("walnut"))
    mount = box((0.003, width - 0.04, height - 0.04), (0.0215, 0, 0.02), paint("white"))
    return [frame, mount, box((0.003, width - 0.12, height - 0.12), (0.024, 0, 0.06), pattern(art))]


def door_leaf(width: float, height: float, color: str) -> Shape:
    """Hinged at the origin, the leaf along +y, panels on both faces."""
    parts: Shape = [box((0.04, width, height), (0, width / 2, 0.01), paint(color, 0.15))]
    for low, high in ((0.15, 0.85), (1.02, height - 0.15)):
        parts.append(box((0.052, width - 0.3, high - low), (0, width / 2, low), paint(color, 0.2)))
    for side in (-1, 1):
        parts.append(tube([(side * 0.05, width - 0.06, 1.0), (side * 0.05, width - 0.18, 1.0)], 0.011, metal()))
        parts.append(box((0.03, 0.04, 0.12), (side * 0.025, width - 0.06, 0.94), metal()))
    return parts


def bench_box(length: float, depth: float, height: float) -> Shape:
    """A bench with a cushion on top, length along y."""
    body = cabinet(depth, length, height - 0.05, wood("pine"), wood("pine"), 2, 1)
    return [*body, soft_box((depth, length, 0.06), (0, 0, height - 0.06), leather("brown"), 0.25)]
