"""Drawing with Pillow at a multiple of the final size: lines, dashes, arrows, and text with a halo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from r4_ros.cli.labels import Rect

Point = tuple[float, float]
Colour = tuple[int, int, int] | tuple[int, int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

FONTS = {False: ("DejaVuSans.ttf", "NotoSans-Regular.ttf"), True: ("DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf")}


LINE = 1.12
"""Height of a line of text as a multiple of its size."""


@lru_cache(maxsize=64)
def font(size: int, bold: bool = False) -> Font:
    """A font of that height in pixels: DejaVu or Noto where installed (most scripts), else Pillow's own."""
    for name in FONTS[bold]:
        with suppress(OSError):
            return ImageFont.truetype(name, size)
    return ImageFont.load_default(size)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """From colour a (share 0) to b (share 1)."""
    return tuple(round(p + (q - p) * share) for p, q in zip(a[:3], b[:3], strict=True))  # type: ignore[return-value]


class Pencil:
    """Draws in final pixels onto an image that is ``scale`` times as large, so that the result is smooth."""

    def __init__(self, width: int, height: int, background: Colour, scale: int = 2) -> None:
        self.scale = scale
        self._image = Image.new("RGB", (width * scale, height * scale), background)
        self._draw = ImageDraw.Draw(self._image, "RGBA")

    def save(self, path: Path) -> None:
        """Write the picture as PNG in its final size."""
        size = (self._image.width // self.scale, self._image.height // self.scale)
        self._image.resize(size, Image.Resampling.LANCZOS).save(path, "PNG", optimize=True)

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon; the fill may be translucent."""
        self._draw.polygon(self._big(points), fill=fill)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """An open line with rounded joints."""
        self._draw.line(self._big(points), fill=colour, width=max(1, round(width * self.scale)), joint="curve")

    def outline(self, points: Sequence[Point], colour: Colour, width: float, dash: float = 0.0) -> None:
        """A closed line; ``dash``: length of dashes and gaps in pixels, 0: solid."""
        closed = [*points, points[0]]
        if dash:
            self.dashed(closed, colour, width, dash)
        else:
            self.line([*closed, points[1 % len(points)]], colour, width)

    def dashed(self, points: Sequence[Point], colour: Colour, width: float, dash: float) -> None:
        """An open dashed line; the dashes run on around corners."""
        walked = 0.0
        for a, b in pairwise(points):
            length = math.dist(a, b)
            at = 0.0
            while at < length:
                step = min(dash - walked % dash, length - at)
                if int(walked / dash + 1e-6) % 2 == 0:
                    self.line([_between(a, b, at / length), _between(a, b, (at + step) / length)], colour, width)
                at += step
                walked += step

    def arrow(self, a: Point, b: Point, colour: Colour, width: float, head: float, dash: float = 0.0) -> None:
        """An arrow from a to b with a filled head."""
        length = math.dist(a, b)
        if length < 1e-6:
            return
        neck = _between(a, b, max(0.0, 1 - head / length))
        if dash:
            self.dashed([a, neck], colour, width, dash)
        else:
            self.line([a, neck], colour, width)
        self.wedge(b, math.atan2(b[1] - a[1], b[0] - a[0]), head, colour)

    def wedge(self, tip: Point, angle: float, length: float, colour: Colour) -> None:
        """A filled arrow head with its tip there; the angle is measured on the picture, y down."""
        back = [(angle + math.pi - 0.42, length / math.cos(0.42)), (angle + math.pi + 0.42, length / math.cos(0.42))]
        self.polygon([tip, *((tip[0] + r * math.cos(t), tip[1] + r * math.sin(t)) for t, r in back)], colour)

    def disc(self, centre: Point, radius: float, fill: Colour, ring: Colour | None = None, width: float = 1.5) -> None:
        """A filled circle, with a ring around it if a colour for that is given."""
        if ring:
            self._ellipse(centre, radius + width, ring)
        self._ellipse(centre, radius, fill)

    def text(
        self, at: Point, text: str, size: int, colour: Colour, bold: bool = False, halo: Colour | None = None
    ) -> None:
        """A line of text with its upper left corner there; the halo keeps it readable on anything."""
        s, face = self.scale, font(size * self.scale, bold)
        spot = (at[0] * s, (at[1] + size * LINE / 2) * s)
        if halo:
            self._draw.text(spot, text, halo, face, anchor="lm", stroke_width=round(1.8 * s), stroke_fill=halo)
        self._draw.text(spot, text, colour, face, anchor="lm")

    def text_size(self, text: str, size: int, bold: bool = False) -> tuple[float, float]:
        """Width and height that a line of text takes."""
        return font(size * self.scale, bold).getlength(text) / self.scale, size * LINE

    def panel(self, rect: Rect, fill: Colour, edge: Colour, radius: float = 8.0) -> None:
        """A rectangle with round corners."""
        box = [v * self.scale for v in rect]
        self._draw.rounded_rectangle(box, radius * self.scale, fill=fill, outline=edge, width=self.scale)

    def _ellipse(self, centre: Point, radius: float, fill: Colour) -> None:
        (x, y), r, s = centre, radius, self.scale
        self._draw.ellipse([(x - r) * s, (y - r) * s, (x + r) * s, (y + r) * s], fill=fill)

    def _big(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self.scale, y * self.scale) for x, y in points]


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share
