"""Small things: what gets carried around. Each function gives a shape in its local frame, metres."""

from __future__ import annotations

import math

import numpy as np

from r4_ros.bridges.apartment.materials import (
    COLORS,
    Material,
    ceramic,
    fabric,
    leather,
    metal,
    paint,
    pattern,
    plastic,
    wood,
)
from r4_ros.bridges.apartment.shapes import Part, Shape, arc, ball, box, cylinder, grid, lathe, place, soft_box, tube


def mug(color: str) -> Shape:
    """A mug with a handle towards +x."""
    glaze, wall = ceramic(color), 0.042
    profile = [
        (0, 0),
        (wall - 0.004, 0),
        (wall, 0.006),
        (wall, 0.095),
        (wall - 0.005, 0.095),
        (wall - 0.006, 0.012),
        (0, 0.012),
    ]
    return [lathe(profile, (0, 0, 0), glaze), tube(arc(0.028, -1.45, 1.45, (wall - 0.004, 0, 0.048)), 0.006, glaze)]


def cup(color: str) -> Shape:
    """A tumbler without a handle."""
    return [
        lathe([(0, 0), (0.03, 0), (0.038, 0.10), (0.034, 0.10), (0.027, 0.01), (0, 0.01)], (0, 0, 0), plastic(color))
    ]


def bottle(color: str, label: str) -> Shape:
    """A bottle with a paper label."""
    glass = Material(COLORS[color], gloss=0.6)
    profile = [(0, 0), (0.036, 0), (0.038, 0.01), (0.038, 0.19), (0.03, 0.225), (0.014, 0.25), (0.014, 0.30), (0, 0.30)]
    paper = lathe([(0.0385, 0.05), (0.0385, 0.14)], (0, 0, 0), paint(label))
    return [lathe(profile, (0, 0, 0), glass), paper]


def bowl(color: str) -> Shape:
    """A wide bowl."""
    profile = [(0, 0), (0.05, 0), (0.055, 0.012), (0.105, 0.06), (0.125, 0.09), (0.118, 0.09), (0.09, 0.05), (0, 0.02)]
    return [lathe(profile, (0, 0, 0), ceramic(color), 24)]


def plate(color: str) -> Shape:
    """A dinner plate."""
    return [
        lathe(
            [(0, 0), (0.08, 0), (0.125, 0.02), (0.12, 0.022), (0.08, 0.007), (0, 0.007)], (0, 0, 0), ceramic(color), 24
        )
    ]


def vase(color: str) -> Shape:
    """A vase with flowers."""
    profile = [
        (0, 0),
        (0.05, 0),
        (0.075, 0.06),
        (0.08, 0.12),
        (0.05, 0.2),
        (0.03, 0.25),
        (0.045, 0.29),
        (0.038, 0.29),
        (0, 0.2),
    ]
    return [lathe(profile, (0, 0, 0), ceramic(color), 24), *flowers(0.27)]


def flowers(z: float) -> Shape:
    """Five blossoms on stems that start at height ``z``."""
    parts: Shape = []
    for k, color in enumerate(("pink", "yellow", "pink", "white", "yellow")):
        angle = 2.4 * k
        tip = (0.07 * math.cos(angle), 0.07 * math.sin(angle), z + 0.13 + 0.02 * (k % 3))
        parts.append(tube([(0, 0, z), tip], 0.003, paint("green"), 5))
        parts.append(ball((0.03, 0.03, 0.022), tip, paint(color), 6))
    return parts


def plant(height: float, leaves: int, pot: str) -> Shape:
    """A pot with arching leaves."""
    radius = 0.14 * height
    clay = Material(COLORS[pot], gloss=0.15)
    profile = [
        (0, 0),
        (radius * 0.75, 0),
        (radius, height * 0.26),
        (radius * 1.08, height * 0.26),
        (radius * 1.08, height * 0.3),
    ]
    parts: Shape = [lathe([*profile, (radius * 0.9, height * 0.3), (0, height * 0.28)], (0, 0, 0), clay)]
    green = Material(COLORS["green"], "leaf", 0, gloss=0.15)
    for k in range(leaves):
        rise = 0.35 + 0.65 * ((k * 0.618) % 1)
        leaf = _leaf(height * 0.7 * rise, height * (0.48 - 0.28 * rise), 0.05 * height + 0.012, green)
        parts += place([leaf], (0, 0, height * 0.28), 2.39996 * k)
    return parts


def _leaf(rise: float, reach: float, width: float, material: Material) -> Part:
    """A leaf that rises, arches over towards +x and ends in a tip."""
    along = np.linspace(0, 1, 7)
    x, z = reach * along**1.2, rise * np.sin(along * math.pi * 0.6)
    half = width * np.sin(np.clip(along * 1.02, 0, 1) * math.pi) ** 0.7 + 0.002
    rows = [np.stack([x, side * half, z + 0.15 * half * abs(side)], axis=1) for side in (-1.0, 0.0, 1.0)]
    return grid(np.stack(rows), material)


def book(color: str, thick: float, height: float) -> Shape:
    """Stands upright, spine towards +x."""
    cover = Material(COLORS[color], "spine", 0, gloss=0.1)
    pages = box((0.145, thick - 0.008, height - 0.012), (-0.004, 0, 0.006), paint("cream"))
    back = box((0.006, thick, height), (0.075, 0, 0), cover)
    return [pages, back, *(box((0.155, 0.004, height), (0, side * (thick / 2 - 0.002), 0), cover) for side in (-1, 1))]


def lying_book(color: str, thick: float = 0.03) -> Shape:
    """Flat, spine towards +x."""
    return place(book(color, thick, 0.22), (0, -0.11, thick / 2), roll=-math.pi / 2)


def magazine() -> Shape:
    """A magazine lying flat."""
    return [box((0.21, 0.28, 0.006), (0, 0, 0), pattern("painting_sea"))]


def pillow(color: str, size: float = 0.44) -> Shape:
    """A pillow lying flat."""
    return [soft_box((size, size * 1.25, 0.15), (0, 0, 0), fabric(color), 0.7)]


def cushion(color: str) -> Shape:
    """A square sofa cushion leaning back; stands on its edge."""
    return place([soft_box((0.14, 0.4, 0.4), (0, 0, 0), fabric(color), 0.65)], pitch=-0.25)


def wall_clock() -> Shape:
    """Hangs on the wall at -x; the origin is its lowest point."""
    rim = place(
        [lathe([(0, 0), (0.15, 0), (0.15, 0.03), (0.135, 0.035), (0, 0.03)], (0, 0, 0), plastic("black"), 32)],
        pitch=math.pi / 2,
    )
    face = box((0.002, 0.2, 0.2), (0.032, 0, -0.1), pattern("clock_face"))
    return place([*rim, face], (0, 0, 0.15))


def alarm_clock() -> Shape:
    """A small clock on its foot."""
    return [
        soft_box((0.06, 0.12, 0.10), (0, 0, 0), plastic("red"), 0.3),
        box((0.002, 0.09, 0.08), (0.03, 0, 0.01), pattern("clock_face")),
    ]


def shoes(color: str) -> Shape:
    """A pair."""
    parts: Shape = []
    for side in (-1, 1):
        parts.append(soft_box((0.28, 0.095, 0.03), (0, side * 0.065, 0), plastic("white"), 0.4))
        parts.append(ball((0.13, 0.045, 0.04), (0.0, side * 0.065, 0.055), leather(color), 10, 0.6))
        parts.append(ball((0.06, 0.042, 0.055), (-0.07, side * 0.065, 0.075), leather(color), 10, 0.6))
    return parts


def carton(length: float, width: float, height: float) -> Shape:
    """A cardboard box."""
    return [box((length, width, height), (0, 0, 0), Material(COLORS["oak"], "cardboard", 0))]


def remote() -> Shape:
    """A remote control."""
    keys = Material(COLORS["grey"], "keys_grid", 0)
    return [
        soft_box((0.17, 0.048, 0.02), (0, 0, 0), plastic("black"), 0.3),
        box((0.12, 0.03, 0.002), (0, 0, 0.0195), keys),
    ]


def phone() -> Shape:
    """A smartphone lying flat."""
    return [
        box((0.15, 0.072, 0.008), (0, 0, 0), plastic("black")),
        box((0.14, 0.066, 0.001), (0, 0, 0.008), pattern("screen", glow=0.4)),
    ]


def keys() -> Shape:
    """A ring with three keys and a red fob."""
    parts: Shape = [tube(arc(0.02, 0, 2 * math.pi, (0, 0, 0.005), 13, "xy"), 0.003, metal())]
    for k, angle in enumerate((-0.5, 0.1, 0.7)):
        shaft = [box((0.045, 0.01, 0.004), (0.045, 0, 0.002 + 0.002 * k), metal("gold"))]
        parts += place([*shaft, cylinder(0.013, 0.004, (0.02, 0, 0.002 + 0.002 * k), metal("gold"), 10)], yaw=angle)
    return [*parts, *place([soft_box((0.07, 0.04, 0.016), (-0.055, 0, 0), plastic("red"), 0.4)], yaw=0.2)]


def backpack(color: str) -> Shape:
    """A backpack standing upright, its pocket towards +x."""
    cloth = fabric(color, 0.15)
    straps = [
        tube(arc(0.17, -1.2, 1.2, (-0.15, side * 0.09, 0.22)) * np.array([1, 1, 1]), 0.014, fabric("black"))
        for side in (-1, 1)
    ]
    body: Shape = [
        soft_box((0.20, 0.32, 0.46), (0, 0, 0), cloth, 0.5),
        soft_box((0.10, 0.26, 0.22), (0.11, 0, 0.04), cloth, 0.5),
    ]
    zip_line = tube([(0.162, -0.11, 0.2), (0.17, 0, 0.215), (0.162, 0.11, 0.2)], 0.006, fabric("black"), 5)
    handle = tube(arc(0.05, 0.2, math.pi - 0.2, (0, 0, 0.44), plane="yz"), 0.009, fabric("black"), 6)
    return [*body, zip_line, handle, *place(straps, (-0.06, 0, 0), yaw=math.pi)]


def apple(color: str) -> Shape:
    """An apple."""
    return [
        ball((0.038, 0.038, 0.035), (0, 0, 0.035), Material(COLORS[color], gloss=0.35), 8),
        tube([(0, 0, 0.066), (0.006, 0, 0.085)], 0.002, wood("brown"), 5),
    ]


def banana() -> Shape:
    """A banana."""
    return [tube(arc(0.10, 0.25, 1.75, (0, 0, 0.018), 9, "xy"), 0.018, paint("yellow"))]


def trash_can(color: str) -> Shape:
    """An open bin."""
    return [
        lathe(
            [(0, 0), (0.12, 0), (0.15, 0.36), (0.155, 0.37), (0.14, 0.37), (0.115, 0.03), (0, 0.03)],
            (0, 0, 0),
            plastic(color),
            24,
        )
    ]


def basket() -> Shape:
    """A laundry basket, full."""
    straw = Material(COLORS["pine"], "wicker", 0.35)
    inner = ball((0.19, 0.19, 0.1), (0, 0, 0.40), fabric("white"), 10, 0.8)
    return [
        lathe([(0, 0), (0.18, 0), (0.22, 0.25), (0.23, 0.45), (0.21, 0.45), (0.2, 0.3)], (0, 0, 0), straw, 24),
        inner,
    ]


def teddy_bear() -> Shape:
    """A sitting bear that looks towards +x."""
    fur, dark = Material(COLORS["brown"], "carpet", 0.12), plastic("black")
    parts: Shape = [
        ball((0.09, 0.10, 0.12), (0, 0, 0.12), fur, 10),
        ball((0.08, 0.085, 0.08), (0.01, 0, 0.29), fur, 10),
    ]
    parts.append(ball((0.035, 0.04, 0.03), (0.08, 0, 0.275), Material(COLORS["beige"], "carpet", 0.12), 8))
    for side in (-1, 1):
        parts.append(ball((0.02, 0.03, 0.03), (0, side * 0.07, 0.36), fur, 8))
        parts.append(ball((0.035, 0.035, 0.08), (0.05, side * 0.11, 0.15), fur, 8))
        parts.append(ball((0.11, 0.045, 0.045), (0.12, side * 0.07, 0.045), fur, 8))
        parts.append(ball((0.01, 0.01, 0.01), (0.085, side * 0.03, 0.31), dark, 5))
    return [*parts, ball((0.012, 0.016, 0.012), (0.113, 0, 0.285), dark, 5)]


def globe() -> Shape:
    """A globe on its stand."""
    stand: Shape = [
        cylinder(0.08, 0.02, (0, 0, 0), wood("walnut"), 20),
        cylinder(0.012, 0.08, (0, 0, 0.02), metal("gold"), 10),
    ]
    ring = tube(arc(0.155, -1.4, 1.6, (0, 0, 0.23)), 0.006, metal("gold"), 6)
    sea = Material((1.0, 1.0, 1.0), "globe_map", 0.9, gloss=0.3)
    return [*stand, ring, *place([ball((0.14, 0.14, 0.14), (0, 0, 0), sea, 14)], (0, 0, 0.23), pitch=0.4)]


def umbrella(color: str) -> Shape:
    """In a stand."""
    stand = lathe(
        [(0, 0), (0.11, 0), (0.12, 0.45), (0.11, 0.45), (0.1, 0.02), (0, 0.02)], (0, 0, 0), metal("dark grey")
    )
    cloth = lathe([(0.012, 0.1), (0.04, 0.3), (0.045, 0.6), (0.02, 0.75)], (0.02, 0.02, 0), fabric(color))
    stick = tube([(0.02, 0.02, 0.7), (0.02, 0.02, 0.86)], 0.01, wood("brown"))
    hook = tube(arc(0.04, math.pi, 0, (0.06, 0.02, 0.86)), 0.01, wood("brown"))
    return [stand, cloth, stick, hook]


def towel(color: str) -> Shape:
    """Hangs from a rail on the wall at -x; the origin is the middle of its lower edge."""
    cloth = Material(COLORS[color], "stripes", 0.5)
    rail = tube([(0.06, -0.28, 0.72), (0.06, 0.28, 0.72)], 0.01, metal())
    return [soft_box((0.05, 0.46, 0.74), (0.055, 0, 0), cloth, 0.3), rail]


def toothbrush_cup() -> Shape:
    """A cup with two toothbrushes."""
    brush = [
        tube([(0, 0, 0.02), (dx, dy, 0.18)], 0.005, plastic(c), 5)
        for dx, dy, c in ((0.03, 0.01, "blue"), (-0.02, 0.02, "red"))
    ]
    return [*cup("light blue"), *brush]


def soap_bottle() -> Shape:
    """A soap dispenser."""
    body = lathe(
        [(0, 0), (0.032, 0), (0.034, 0.02), (0.034, 0.11), (0.012, 0.13), (0.012, 0.15), (0, 0.15)],
        (0, 0, 0),
        plastic("green"),
    )
    return [body, tube([(0, 0, 0.15), (0, 0, 0.18), (0.04, 0, 0.18)], 0.006, plastic("white"), 6)]


def computer_mouse() -> Shape:
    """A computer mouse."""
    return [ball((0.055, 0.032, 0.03), (0, 0, 0.008), plastic("dark grey"), 8)]


def guitar() -> Shape:
    """Stands upright, leaning back a little, strings towards +x."""
    top = Material(COLORS["oak"], "grain", 0.5, gloss=0.4)
    parts: Shape = []
    for radius, z in ((0.19, 0.2), (0.14, 0.45)):
        parts += place([cylinder(radius, 0.09, (0, 0, -0.045), top, 28)], (0, 0, z), pitch=math.pi / 2)
    parts += place([cylinder(0.045, 0.004, (0, 0, 0.045), plastic("black"), 18)], (0, 0, 0.36), pitch=math.pi / 2)
    parts.append(box((0.025, 0.05, 0.55), (0.04, 0, 0.5), wood("walnut")))
    parts.append(box((0.02, 0.075, 0.14), (0.035, 0, 1.03), wood("walnut")))
    parts.append(box((0.01, 0.12, 0.025), (0.048, 0, 0.14), wood("walnut")))
    return place(parts, (0.06, 0, 0.0), pitch=-0.15)


def suitcase(color: str) -> Shape:
    """An upright suitcase with its handle out."""
    handle = tube([(0, -0.1, 0.6), (0, -0.1, 0.72), (0, 0.1, 0.72), (0, 0.1, 0.6)], 0.01, metal())
    return [
        soft_box((0.26, 0.44, 0.62), (0, 0, 0.03), plastic(color), 0.2),
        handle,
        box((0.2, 0.4, 0.03), (0, 0, 0), plastic("black")),
    ]


def ladder() -> Shape:
    """Leans against the wall at -x."""
    rails = [box((0.03, 0.05, 1.9), (0, side * 0.2, 0), metal()) for side in (-1, 1)]
    rungs = [box((0.03, 0.38, 0.03), (0, 0, 0.25 + 0.28 * k), metal()) for k in range(6)]
    return place([*rails, *rungs], (0.35, 0, 0.0), pitch=-0.18)
