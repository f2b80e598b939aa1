"""Things with a plug or a pipe: kitchen, bathroom, screens and lamps."""

from __future__ import annotations

import math

from r4_ros.bridges.apartment.furniture import cabinet
from r4_ros.bridges.apartment.materials import COLORS, Material, ceramic, metal, paint, pattern, plastic
from r4_ros.bridges.apartment.shapes import Shape, arc, ball, box, cylinder, lathe, place, soft_box, tube


def counter(width: float, depth: float, height: float, columns: int) -> Shape:
    """Kitchen base units with a stone worktop."""
    body = place(
        cabinet(depth - 0.04, width, height - 0.04, paint("white"), paint("light blue", 0.2), columns, 1, 0.08)
    )
    stone = Material(COLORS["beige"], "stone", 0.8, gloss=0.3)
    return [*body, box((depth, width, 0.04), (0.01, 0, height - 0.04), stone)]


def wall_cabinet(width: float, columns: int) -> Shape:
    """Kitchen units that hang on the wall at -x."""
    return cabinet(0.34, width, 0.62, paint("white"), paint("light blue", 0.2), columns, 1)


def kitchen_sink() -> Shape:
    """A steel basin seen from above, with its tap; lies on a worktop."""
    steel = metal()
    parts: Shape = [box((0.48, 0.60, 0.012), (0, 0, 0), steel)]
    parts.append(box((0.36, 0.44, 0.004), (0.02, 0, 0.0125), Material(COLORS["grey"], "brushed", 0.4, 0.3)))
    return parts + tap((-0.19, 0, 0.012), 0.26)


def tap(at: tuple[float, float, float], height: float) -> Shape:
    """A mixer tap; ``at`` is its foot."""
    steel = metal()
    x, y, z = at
    spout = arc(0.08, math.pi, 0.15, (x + 0.08, y, z + height - 0.08))
    return [
        cylinder(0.024, 0.03, at, steel, 12),
        tube([(x, y, z), (x, y, z + height - 0.08)], 0.012, steel),
        tube(spout, 0.012, steel),
        tube([(x, y + 0.02, z + 0.05), (x + 0.02, y + 0.09, z + 0.08)], 0.008, steel, 6),
    ]


def stove() -> Shape:
    """A cooker: oven below, four plates above."""
    white, dark = paint("white", 0.3), plastic("black")
    parts: Shape = [box((0.60, 0.60, 0.86), (0, 0, 0), white), box((0.58, 0.58, 0.01), (0, 0, 0.86), dark)]
    parts.append(box((0.02, 0.52, 0.42), (0.305, 0, 0.18), dark))
    parts.append(tube([(0.35, -0.24, 0.64), (0.35, 0.24, 0.64)], 0.012, metal()))
    for y in (-0.21, -0.07, 0.07, 0.21):
        parts.append(place([cylinder(0.022, 0.03, (0, 0, 0), dark, 12)], (0.30, y, 0.76), pitch=math.pi / 2)[0])
    for x in (-0.14, 0.14):
        for y in (-0.14, 0.14):
            parts.append(cylinder(0.09, 0.006, (x, y, 0.87), paint("dark grey"), 20))
    return parts


def fridge() -> Shape:
    """A tall fridge with a freezer below."""
    shell = metal()
    parts: Shape = [box((0.62, 0.66, 1.82), (0, 0, 0), paint("grey"))]
    for low, high in ((0.05, 0.66), (0.68, 1.80)):
        parts.append(box((0.04, 0.64, high - low), (0.33, 0, low), shell))
        parts.append(tube([(0.385, -0.27, low + 0.12), (0.385, -0.27, high - 0.12)], 0.014, plastic("dark grey")))
    return parts


def microwave() -> Shape:
    """A microwave oven."""
    parts: Shape = [box((0.36, 0.50, 0.29), (0, 0, 0), metal())]
    parts.append(box((0.012, 0.36, 0.24), (0.185, -0.05, 0.025), plastic("black")))
    parts.append(box((0.012, 0.10, 0.24), (0.185, 0.19, 0.025), plastic("dark grey")))
    return parts


def kettle(color: str) -> Shape:
    """An electric kettle."""
    body = lathe([(0, 0), (0.08, 0), (0.085, 0.03), (0.065, 0.2), (0.05, 0.22), (0, 0.23)], (0, 0, 0), metal(color))
    handle = tube(arc(0.08, -1.2, 1.2, (0.045, 0, 0.12)), 0.011, plastic("black"))
    spout = tube([(-0.07, 0, 0.15), (-0.11, 0, 0.2)], 0.014, metal(color))
    return [body, handle, spout, ball((0.014, 0.014, 0.014), (0, 0, 0.24), plastic("black"), 6)]


def toaster() -> Shape:
    """A toaster with two slots."""
    slots = [box((0.19, 0.025, 0.004), (0, y, 0.19), plastic("black")) for y in (-0.035, 0.035)]
    return [soft_box((0.27, 0.17, 0.19), (0, 0, 0), paint("red", 0.4), 0.25), *slots]


def washing_machine() -> Shape:
    """A front loader."""
    parts: Shape = [box((0.58, 0.60, 0.85), (0, 0, 0), paint("white", 0.3))]
    for radius, material in ((0.19, metal()), (0.15, plastic("dark grey"))):
        parts += place(
            [cylinder(radius, 0.03 if radius > 0.16 else 0.04, (0, 0, 0), material, 28)], (0.28, 0, 0.42), 0, 1.571
        )
    parts.append(box((0.012, 0.56, 0.10), (0.29, 0, 0.73), paint("grey")))
    return parts


def toilet() -> Shape:
    """A toilet with its tank at -x."""
    white = ceramic("white")
    bowl = lathe([(0, 0), (0.12, 0), (0.11, 0.15), (0.19, 0.38), (0.18, 0.40), (0, 0.40)], (0.06, 0, 0), white, 24)
    lid = lathe([(0, 0), (0.2, 0), (0.2, 0.025), (0, 0.03)], (0.06, 0, 0.40), white, 24)
    tank = soft_box((0.18, 0.38, 0.38), (-0.22, 0, 0.40), white, 0.15)
    return [
        bowl,
        lid,
        tank,
        box((0.2, 0.2, 0.4), (-0.18, 0, 0), white),
        cylinder(0.02, 0.01, (-0.22, 0, 0.78), metal()),
    ]


def bathtub(length: float, width: float) -> Shape:
    """Length along y; the water stands 12 cm under the rim."""
    white, rim = ceramic("white"), 0.07
    parts: Shape = [box((width, length, 0.42), (0, 0, 0), white)]
    for side in (-1, 1):
        parts.append(box((rim, length, 0.14), (side * (width - rim) / 2, 0, 0.42), white))
        parts.append(box((width, rim * 1.4, 0.14), (0, side * (length - rim * 1.4) / 2, 0.42), white))
    parts.append(
        box((width - 2 * rim, length - 2.8 * rim, 0.004), (0, 0, 0.422), Material(COLORS["light blue"], gloss=0.6))
    )
    return parts + place(tap((0, 0, 0), 0.2), (0, length / 2 - 0.06, 0.56), yaw=-math.pi / 2)


def washbasin() -> Shape:
    """A bathroom sink on its column."""
    white = ceramic("white")
    column = lathe([(0, 0), (0.12, 0), (0.08, 0.1), (0.08, 0.6), (0.14, 0.7)], (-0.03, 0, 0), white)
    bowl = lathe(
        [(0.12, 0.66), (0.24, 0.78), (0.26, 0.85), (0.23, 0.85), (0.18, 0.76), (0, 0.73)], (0, 0, 0), white, 28
    )
    return [column, bowl, box((0.12, 0.5, 0.1), (-0.20, 0, 0.76), white), *tap((-0.2, 0, 0.86), 0.16)]


def tv(width: float) -> Shape:
    """On its feet, facing +x."""
    dark, height = plastic("black"), width * 0.57
    panel = box((0.045, width, height), (0, 0, 0.08), dark)
    glass = box((0.004, width - 0.03, height - 0.04), (0.024, 0, 0.105), pattern("dark_screen", gloss=0.5))
    feet = [box((0.22, 0.03, 0.02), (0, side * width * 0.33, 0), dark) for side in (-1, 1)]
    necks = [box((0.03, 0.02, 0.09), (0, side * width * 0.33, 0), dark) for side in (-1, 1)]
    return [panel, glass, *feet, *necks]


def monitor() -> Shape:
    """A computer monitor on its foot."""
    dark = plastic("dark grey")
    panel = box((0.035, 0.56, 0.34), (0, 0, 0.13), dark)
    glass = box((0.003, 0.54, 0.31), (0.0185, 0, 0.15), pattern("screen", glow=0.55))
    return [panel, glass, box((0.03, 0.05, 0.2), (-0.03, 0, 0), dark), box((0.18, 0.24, 0.012), (0, 0, 0), dark)]


def laptop() -> Shape:
    """Open, the keyboard towards +x."""
    shell = metal()
    parts: Shape = [box((0.23, 0.33, 0.018), (0, 0, 0), shell)]
    caps = Material(COLORS["dark grey"], "keys_grid", 0)
    parts += place([box((0.27, 0.1, 0.002), (0, 0, 0), caps)], (-0.03, 0, 0.018), yaw=math.pi / 2)
    lid: Shape = [box((0.008, 0.33, 0.22), (0, 0, 0), shell)]
    lid.append(box((0.002, 0.31, 0.195), (0.0045, 0, 0.015), pattern("screen", glow=0.55)))
    return parts + place(lid, (-0.115, 0, 0.015), pitch=-0.3)


def keyboard() -> Shape:
    """Long side along y."""
    caps = Material(COLORS["white"], "keys_grid", 0)
    base: Shape = [
        box((0.44, 0.14, 0.018), (0, 0, 0), plastic("dark grey")),
        box((0.42, 0.12, 0.006), (0, 0, 0.018), caps),
    ]
    return place(base, yaw=math.pi / 2)


def printer() -> Shape:
    """A desktop printer with paper in its tray."""
    parts: Shape = [soft_box((0.36, 0.44, 0.2), (0, 0, 0), plastic("grey"), 0.12)]
    parts.append(box((0.10, 0.3, 0.01), (0.2, 0, 0.06), plastic("dark grey")))
    parts += place([box((0.004, 0.24, 0.22), (0, 0, 0), paint("white"))], (-0.12, 0, 0.18), pitch=-0.35)
    return parts


def shade(radius: float, height: float, z: float, color: str) -> Shape:
    """A lampshade that glows."""
    cloth = Material(COLORS[color], "weave", 0.2, glow=0.5)
    return [lathe([(radius, z), (radius * 0.7, z + height)], (0, 0, 0), cloth, 24)]


def floor_lamp() -> Shape:
    """A lamp on a pole."""
    steel = plastic("black")
    return [
        cylinder(0.14, 0.025, (0, 0, 0), steel),
        cylinder(0.012, 1.4, (0, 0, 0.02), steel),
        *shade(0.22, 0.28, 1.32, "cream"),
    ]


def table_lamp(color: str) -> Shape:
    """A lamp on a turned foot."""
    body = lathe([(0, 0), (0.06, 0), (0.07, 0.05), (0.03, 0.14), (0.012, 0.2), (0.01, 0.3)], (0, 0, 0), ceramic(color))
    return [body, *shade(0.13, 0.17, 0.22, "cream")]


def ceiling_lamp() -> Shape:
    """Hangs from the origin downwards."""
    glass = Material(COLORS["white"], glow=0.9)
    return [ball((0.17, 0.17, 0.09), (0, 0, -0.12), glass), cylinder(0.05, 0.04, (0, 0, -0.04), metal())]


def vacuum_cleaner() -> Shape:
    """A vacuum cleaner with its hose."""
    red, dark = plastic("red"), plastic("black")
    parts: Shape = [ball((0.2, 0.14, 0.12), (0, 0, 0.13), red, 12, 0.6)]
    parts += place([cylinder(0.1, 0.03, (0, 0, 0), dark, 20)], (-0.08, 0.14, 0.1), roll=-math.pi / 2)
    parts.append(tube([(0.15, 0, 0.18), (0.3, 0, 0.5), (0.35, 0, 0.9), (0.45, 0, 0.5), (0.6, 0, 0.05)], 0.02, dark))
    return [*parts, box((0.10, 0.26, 0.04), (0.62, 0, 0), dark)]
