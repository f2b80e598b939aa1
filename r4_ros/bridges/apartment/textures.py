"""Procedural textures: seamless tiles of colour factors, made from noise and arithmetic, the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from r4_ros.core.model import Float32Array, FloatArray

SIZE = 256
Texture = Callable[[], FloatArray]
TEXTURES: dict[str, Texture] = {}


def texture(make: Texture) -> Texture:
    """Register a function that makes the tile of its name, [SIZE, SIZE, 3], factors on a material's sRGB colour."""
    TEXTURES[make.__name__] = make
    return make


@lru_cache(maxsize=1)
def atlas() -> tuple[tuple[str, ...], Float32Array]:
    """The names and all tiles, float32 [n, SIZE, SIZE, 3], in linear light."""
    names = tuple(sorted(TEXTURES))
    tiles = np.stack([np.clip(TEXTURES[name](), 0, 1.3) for name in names])
    return names, (tiles**2.2).astype(np.float32)


def noise(seed: int, across: float, down: float | None = None) -> FloatArray:
    """Seamless noise [SIZE, SIZE], zero mean, unit deviation, features of about ``across`` x ``down`` pixels."""
    down = across if down is None else down
    white = np.fft.rfft2(np.random.default_rng(seed).normal(size=(SIZE, SIZE)))
    fy, fx = np.fft.fftfreq(SIZE)[:, None], np.fft.rfftfreq(SIZE)[None, :]
    soft = np.fft.irfft2(white * np.exp(-2 * ((fx * across) ** 2 + (fy * down) ** 2)), (SIZE, SIZE))
    soft -= soft.mean()
    result: FloatArray = soft / soft.std()
    return result


def _pixels() -> tuple[FloatArray, FloatArray]:
    """Texture coordinates x (to the right) and y (upwards in the tile), 0..1."""
    line = (np.arange(SIZE) + 0.5) / SIZE
    return np.broadcast_to(line[None, :], (SIZE, SIZE)), np.broadcast_to(line[:, None], (SIZE, SIZE))


def _grey(values: FloatArray) -> FloatArray:
    return np.asarray(np.repeat(values[..., None], 3, axis=2), float)


def _mix(mask: FloatArray, inside: tuple[float, float, float], outside: FloatArray) -> FloatArray:
    """``inside`` where the mask is 1, the picture ``outside`` where it is 0."""
    picture: FloatArray = mask[..., None] * np.asarray(inside) + (1 - mask[..., None]) * outside
    return picture


@texture
def plain() -> FloatArray:
    """Hardly any pattern."""
    return _grey(1 + 0.012 * noise(1, 6))


@texture
def plaster() -> FloatArray:
    """A painted wall."""
    return _grey(0.98 + 0.012 * noise(2, 3) + 0.012 * noise(3, 30))


@texture
def grain() -> FloatArray:
    """Wood along u."""
    y = _pixels()[1]
    rings = np.sin(2 * math.pi * (9 * y + 0.35 * noise(4, 90, 24)))
    return _grey(0.9 + 0.05 * rings + 0.05 * noise(5, 60, 1.5))


@texture
def planks() -> FloatArray:
    """Floor boards along u: eight in a tile, each with its own tone."""
    x, y = _pixels()
    board = (y * 8).astype(int)
    shift = np.array([0.0, 0.37, 0.71, 0.22, 0.55, 0.9, 0.13, 0.64])[board]
    piece = ((x + shift) * 2).astype(int) % 2
    tone = np.random.default_rng(6).uniform(0.78, 1.0, (8, 2))[board, piece]
    gap = (np.abs((y * 8) % 1 - 0.5) > 0.47) | (np.abs(((x + shift) * 2) % 1 - 0.5) > 0.495)
    return _grey(tone + 0.05 * noise(7, 50, 1.5) - 0.30 * gap)


@texture
def tiles() -> FloatArray:
    """Square tiles, four by four."""
    x, y = _pixels()
    row, column = (y * 4).astype(int), (x * 4).astype(int)
    tone = np.random.default_rng(8).uniform(0.93, 1.0, (4, 4))[row, column]
    joint = np.maximum(np.abs((x * 4) % 1 - 0.5), np.abs((y * 4) % 1 - 0.5)) > 0.475
    return _grey(tone + 0.012 * noise(9, 8) - 0.28 * joint)


@texture
def checker() -> FloatArray:
    """Tiles of two tones."""
    x, y = _pixels()
    odd = ((x * 4).astype(int) + (y * 4).astype(int)) % 2
    joint = np.maximum(np.abs((x * 4) % 1 - 0.5), np.abs((y * 4) % 1 - 0.5)) > 0.48
    return _grey(1.0 - 0.28 * odd + 0.015 * noise(10, 6) - 0.1 * joint)


@texture
def weave() -> FloatArray:
    """Woven cloth."""
    x, y = _pixels()
    threads = np.sin(2 * math.pi * 32 * x) * np.sin(2 * math.pi * 32 * y)
    return _grey(0.93 + 0.05 * threads + 0.035 * noise(11, 12))


@texture
def carpet() -> FloatArray:
    """Soft pile."""
    return _grey(0.9 + 0.07 * noise(12, 1.2) + 0.03 * noise(13, 20))


@texture
def leather() -> FloatArray:
    """Grain of leather."""
    return _grey(0.94 + 0.04 * np.abs(noise(14, 6)) - 0.03 * noise(15, 30))


@texture
def brushed() -> FloatArray:
    """Brushed metal along v."""
    return _grey(0.96 + 0.025 * noise(16, 1, 60))


@texture
def stone() -> FloatArray:
    """Polished stone with veins."""
    veins = np.exp(-(noise(17, 26) ** 2) * 30)
    return _grey(0.95 + 0.03 * noise(18, 2) - 0.14 * veins)


@texture
def stripes() -> FloatArray:
    """Stripes across u."""
    x = _pixels()[0]
    return _grey(np.where((x * 6) % 1 < 0.5, 1.0, 0.68) + 0.03 * noise(19, 2))


@texture
def wicker() -> FloatArray:
    """Woven straw."""
    x, y = _pixels()
    bands = np.sin(2 * math.pi * 12 * x + math.pi * ((y * 16).astype(int) % 2))
    return _grey(0.82 + 0.16 * bands - 0.12 * (np.abs((y * 16) % 1 - 0.5) > 0.42))


@texture
def leaf() -> FloatArray:
    """A leaf with its veins, along u."""
    x, y = _pixels()
    vein = np.exp(-(((y - 0.5) * 24) ** 2)) + 0.4 * (np.abs(((x + np.abs(y - 0.5)) * 9) % 1 - 0.5) > 0.45)
    return _grey(0.9 + 0.14 * vein + 0.05 * noise(20, 10))


@texture
def cardboard() -> FloatArray:
    """A box's face with a strip of tape."""
    y = _pixels()[1]
    tape = (np.abs(y - 0.5) < 0.07).astype(float)
    return _mix(0.5 * tape, (1.15, 1.1, 0.95), _grey(0.95 + 0.03 * noise(21, 30, 2)))


@texture
def spine() -> FloatArray:
    """The face of a book: two bands and a light title field."""
    x, y = _pixels()
    bands = ((np.abs(x - 0.12) < 0.02) | (np.abs(x - 0.88) < 0.02)).astype(float)
    title = ((np.abs(x - 0.5) < 0.2) & (np.abs(y - 0.5) < 0.22)).astype(float)
    base = _grey(0.95 + 0.02 * noise(22, 4))
    return _mix(0.5 * title, (1.3, 1.25, 1.1), _mix(0.7 * bands, (1.3, 1.15, 0.7), base))


@texture
def keys_grid() -> FloatArray:
    """Keycaps, 14 by 5."""
    x, y = _pixels()
    cap = np.maximum(np.abs((x * 14) % 1 - 0.5), np.abs((y * 5) % 1 - 0.5)) < 0.4
    return _grey(np.where(cap, 1.0, 0.35))


@texture
def screen() -> FloatArray:
    """A desktop with two windows."""
    x, y = _pixels()
    wall = np.stack([0.10 + 0.15 * y, 0.25 + 0.25 * y, 0.55 + 0.2 * x], axis=-1)
    first = ((np.abs(x - 0.36) < 0.27) & (np.abs(y - 0.55) < 0.33)).astype(float)
    second = ((np.abs(x - 0.72) < 0.2) & (np.abs(y - 0.38) < 0.22)).astype(float)
    text = first * (np.abs((y * 24) % 1 - 0.5) < 0.2) * (np.abs(x - 0.33) < 0.2)
    return _mix(second, (0.15, 0.17, 0.2), _mix(0.7 * text, (0.2, 0.2, 0.25), _mix(first, (0.95, 0.95, 0.95), wall)))


@texture
def dark_screen() -> FloatArray:
    """A switched-off tv: nearly black, with the room's light in it."""
    x, y = _pixels()
    shine = np.exp(-(((x + 0.5 * y - 0.85) * 4) ** 2))
    return np.stack([0.05 + 0.10 * shine, 0.055 + 0.11 * shine, 0.07 + 0.13 * shine], axis=-1)


@texture
def mirror_glass() -> FloatArray:
    """A mirror, which reflects only a bright blur."""
    x, y = _pixels()
    shine = 0.10 * np.sin(5 * (x + 0.7 * y))
    return np.stack([0.70 + shine, 0.78 + shine, 0.82 + shine], axis=-1)


@texture
def outside() -> FloatArray:
    """What a window shows: sky, clouds, hills, trees, and the window's own bars."""
    x, y = _pixels()
    cloud = np.clip(noise(23, 50, 18) - 0.4, 0, 1) * (y > 0.45)
    sky = np.stack([0.62 + 0.2 * (1 - y), 0.80 + 0.1 * (1 - y), np.full_like(y, 1.0)], axis=-1)
    picture = _mix(cloud, (1.0, 1.0, 1.0), sky)
    hill = (y < 0.38 + 0.05 * np.sin(2 * math.pi * x + 1)).astype(float)
    picture = _mix(hill, (0.50, 0.66, 0.46), picture)
    trees = (y < 0.22 + 0.05 * np.sin(2 * math.pi * 3 * x) + 0.02 * noise(24, 5)).astype(float)
    picture = _mix(trees, (0.26, 0.45, 0.24), picture)
    bars = (np.abs(x - 0.5) < 0.018) | (np.maximum(np.abs(x - 0.5), np.abs(y - 0.5)) > 0.47)
    return _mix(bars.astype(float), (0.97, 0.97, 0.96), picture)


@texture
def painting_sea() -> FloatArray:
    """A sunset over the sea."""
    x, y = _pixels()
    sky = np.stack([0.98 - 0.25 * y, 0.72 + 0.05 * y, 0.48 + 0.42 * y], axis=-1)
    sun = np.exp(-(((x - 0.62) * 9) ** 2) - ((y - 0.55) * 9) ** 2)
    picture = _mix(sun, (1.0, 0.95, 0.7), sky)
    wave = np.clip(0.5 + 0.3 * noise(25, 30, 4), 0, 1)
    sea = np.stack([0.08 + 0.15 * wave, 0.28 + 0.25 * wave, 0.45 + 0.25 * wave], axis=-1)
    return np.where((y < 0.42)[..., None], sea, picture)


@texture
def painting_blocks() -> FloatArray:
    """Coloured rectangles between black lines."""
    x, y = _pixels()
    picture = np.broadcast_to(np.array([0.95, 0.94, 0.9]), (SIZE, SIZE, 3))
    for x0, x1, y0, y1, color in (
        (0.0, 0.3, 0.55, 1.0, (0.85, 0.12, 0.10)),
        (0.3, 0.75, 0.0, 0.25, (0.95, 0.80, 0.15)),
        (0.75, 1.0, 0.25, 0.6, (0.10, 0.22, 0.62)),
    ):
        picture = _mix(((x > x0) & (x < x1) & (y > y0) & (y < y1)).astype(float), color, picture)
    lines = [np.abs(x - 0.3), np.abs(x - 0.75), np.abs(y - 0.25), np.abs(y - 0.55), np.abs(y - 0.6) + (x < 0.75)]
    return _mix((np.min(lines, axis=0) < 0.018).astype(float), (0.06, 0.06, 0.06), picture)


@texture
def painting_flower() -> FloatArray:
    """A flower on a light ground."""
    x, y = _pixels()
    radius, angle = np.hypot(x - 0.5, y - 0.58), np.arctan2(y - 0.58, x - 0.5)
    petals = (radius < 0.20 + 0.09 * np.cos(6 * angle)).astype(float)
    stem = ((np.abs(x - 0.5 - 0.04 * np.sin(6 * y)) < 0.015) & (y < 0.5)).astype(float)
    picture = _mix(stem, (0.15, 0.45, 0.2), np.stack([0.95 - 0.1 * y, 0.93 - 0.05 * y, 0.84 + 0.08 * y], axis=-1))
    return _mix((radius < 0.07).astype(float), (0.95, 0.75, 0.15), _mix(petals, (0.80, 0.25, 0.45), picture))


@texture
def clock_face() -> FloatArray:
    """Marks and hands: ten past ten or so."""
    x, y = _pixels()
    radius, angle = np.hypot(x - 0.5, y - 0.5), np.arctan2(y - 0.5, x - 0.5)
    marks = (np.abs((angle / (2 * math.pi) * 12 + 0.5) % 1 - 0.5) < 0.06) & (radius > 0.37) & (radius < 0.44)
    hands = np.zeros_like(x, dtype=bool)
    for direction, length in ((math.radians(60), 0.25), (math.radians(-30), 0.36)):
        along = (x - 0.5) * math.cos(direction) + (y - 0.5) * math.sin(direction)
        aside = (y - 0.5) * math.cos(direction) - (x - 0.5) * math.sin(direction)
        hands |= (along > 0) & (along < length) & (np.abs(aside) < 0.018)
    return _mix((marks | hands).astype(float), (0.08, 0.08, 0.1), _grey(np.full_like(x, 0.96)))


@texture
def oriental() -> FloatArray:
    """A rug: border, lozenges, medallion."""
    x, y = _pixels()
    edge = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y))
    lozenge = (np.abs((x * 8) % 1 - 0.5) + np.abs((y * 8) % 1 - 0.5) < 0.28).astype(float)
    medallion = (np.abs(x - 0.5) * 1.2 + np.abs(y - 0.5) < 0.25).astype(float)
    picture = _mix(lozenge, (0.86, 0.72, 0.48), np.broadcast_to(np.array([0.55, 0.13, 0.13]), (SIZE, SIZE, 3)))
    heart = (np.abs(x - 0.5) * 1.2 + np.abs(y - 0.5) < 0.20).astype(float)
    picture = _mix(heart, (0.16, 0.20, 0.38), _mix(medallion, (0.86, 0.72, 0.48), picture))
    picture = _mix(((edge > 0.03) & (edge < 0.10)).astype(float), (0.16, 0.20, 0.38), picture)
    picture = _mix((np.abs(edge - 0.115) < 0.012).astype(float), (0.86, 0.72, 0.48), picture)
    return picture * _grey(0.95 + 0.06 * noise(26, 1.2))


@texture
def globe_map() -> FloatArray:
    """Blue seas and green lands."""
    land = (noise(27, 34) > 0.35).astype(float)
    return _mix(land, (0.42, 0.58, 0.28), np.broadcast_to(np.array([0.20, 0.42, 0.72]), (SIZE, SIZE, 3)))
