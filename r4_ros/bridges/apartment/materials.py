"""What surfaces are made of: colours, textures, gloss and glow."""

from __future__ import annotations

from dataclasses import dataclass

Color = tuple[float, float, float]
"""sRGB, 0..1."""

COLORS: dict[str, Color] = {
    "white": (0.93, 0.93, 0.91),
    "cream": (0.93, 0.88, 0.77),
    "beige": (0.80, 0.72, 0.58),
    "grey": (0.52, 0.53, 0.55),
    "dark grey": (0.25, 0.26, 0.28),
    "black": (0.07, 0.07, 0.08),
    "steel": (0.70, 0.71, 0.73),
    "red": (0.78, 0.10, 0.09),
    "orange": (0.93, 0.47, 0.10),
    "yellow": (0.94, 0.79, 0.16),
    "green": (0.17, 0.52, 0.22),
    "dark green": (0.10, 0.30, 0.16),
    "blue": (0.12, 0.29, 0.68),
    "light blue": (0.55, 0.73, 0.88),
    "purple": (0.45, 0.20, 0.55),
    "pink": (0.93, 0.58, 0.66),
    "brown": (0.42, 0.26, 0.14),
    "oak": (0.76, 0.56, 0.35),
    "walnut": (0.42, 0.27, 0.17),
    "pine": (0.87, 0.71, 0.48),
    "terracotta": (0.74, 0.38, 0.24),
    "gold": (0.85, 0.66, 0.25),
}


@dataclass(frozen=True)
class Material:
    """A surface. ``period``: metres that one tile of the texture covers; 0: the texture fits the whole face."""

    color: Color
    texture: str = "plain"
    period: float = 1.0
    gloss: float = 0.0
    glow: float = 0.0


def paint(color: str, gloss: float = 0.05) -> Material:
    """Matt to satin, without a pattern."""
    return Material(COLORS[color], gloss=gloss)


def wood(color: str = "oak") -> Material:
    """Wood with its grain."""
    return Material(COLORS[color], "grain", 0.9, gloss=0.12)


def fabric(color: str, period: float = 0.25) -> Material:
    """Woven cloth; ``period``: metres of a tile of the weave."""
    return Material(COLORS[color], "weave", period)


def leather(color: str) -> Material:
    """Slightly shiny leather."""
    return Material(COLORS[color], "leather", 0.35, gloss=0.2)


def ceramic(color: str) -> Material:
    """Glazed and shiny."""
    return Material(COLORS[color], gloss=0.45)


def plastic(color: str) -> Material:
    """Smooth and a little shiny."""
    return Material(COLORS[color], gloss=0.25)


def metal(color: str = "steel") -> Material:
    """Brushed metal."""
    return Material(COLORS[color], "brushed", 0.4, gloss=0.5)


def pattern(texture: str, period: float = 0.0, gloss: float = 0.0, glow: float = 0.0) -> Material:
    """A texture that brings its own colours."""
    return Material((1.0, 1.0, 1.0), texture, period, gloss, glow)
