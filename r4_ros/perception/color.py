"""The measured colour of an instance as one of eleven basic names."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

NAMES = ("black", "gray", "white", "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown")
MAX_SAMPLES = 120
SHADOW, HIGHLIGHT = 0.3, 0.95  # pixels darker or brighter than these quantiles don't count


def white_level(color: npt.NDArray[np.uint8]) -> float:
    """Lightness (CIELAB L, 0..100) that passes for white under this image's light; from a sparse sample of it."""
    sample = np.ascontiguousarray(color[::16, ::16]).reshape(-1, 1, 3)
    lightness = _lab(sample)[:, 0]
    return float(np.clip(np.percentile(lightness, 98), 60, 100))


def color_names(samples: Sequence[npt.NDArray[np.uint8]], white: float = 100.0) -> list[str]:
    """The commonest colour name in each sample of pixels, shadow and highlights aside; '' for an empty one.

    samples: RGB, uint8 [n, 3] each. All are measured in one go.
    """
    samples = [pixels[:: max(1, len(pixels) // MAX_SAMPLES)] for pixels in samples]
    counts = np.array([len(pixels) for pixels in samples], np.intp)
    if not counts.any():
        return [""] * len(samples)
    lab = _lab(np.concatenate(samples)[:, None])
    owner = np.repeat(np.arange(len(samples)), counts)
    order = np.argsort(owner * 1000.0 + lab[:, 0], kind="stable")  # each sample's pixels by lightness
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    dark = (counts * SHADOW).astype(np.intp)
    bright = np.maximum((counts * HIGHLIGHT).astype(np.intp), dark + 1)
    lit = order[(rank >= dark[owner]) & (rank < bright[owner])]
    votes = np.bincount(owner[lit] * len(NAMES) + _classify(lab[lit], white), minlength=len(samples) * len(NAMES))
    commonest = votes.reshape(len(samples), -1).argmax(axis=1)
    return [NAMES[name] if count else "" for name, count in zip(commonest.tolist(), counts.tolist(), strict=True)]


def _lab(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    scaled = pixels.astype(np.float32) / 255
    return np.asarray(cv2.cvtColor(scaled, cv2.COLOR_RGB2Lab), np.float32).reshape(-1, 3)


def _classify(lab: npt.NDArray[np.float32], white: float) -> npt.NDArray[np.int64]:
    """Index into NAMES of each CIELAB colour [n, 3]."""
    lightness = lab[:, 0] * (100 / white)
    chroma = np.hypot(lab[:, 1], lab[:, 2])
    hue = np.degrees(np.arctan2(lab[:, 2], lab[:, 1])) % 360
    grey = chroma < np.where(lightness < 30, 8, np.where(lightness > 80, 12, 10))
    warm = (hue >= 20) & (hue < 95)
    rules = [
        (lightness < 14, "black"),
        (grey & (lightness < 28), "black"),
        (grey & (lightness >= 78), "white"),
        (grey, "gray"),
        (warm & (hue >= 45) & (chroma < 22) & (lightness >= 72), "white"),  # cream, or white under warm light
        (warm & (hue >= 45) & (lightness < 68) & (chroma < 50), "brown"),
        (warm & (hue >= 45) & (hue < 85) & (chroma < 42), "brown"),  # light wood
        (warm & (hue < 45) & (lightness < 40) & (chroma < 32), "brown"),
        (((hue >= 330) | (hue < 30)) & (lightness >= 62), "pink"),
        ((hue >= 335) | (hue < 48), "red"),
        (hue < 78, "orange"),
        (hue < 112, "yellow"),
        (hue < 200, "green"),
        (hue < 303, "blue"),
    ]
    picked = np.select([rule for rule, _ in rules], [NAMES.index(name) for _, name in rules], NAMES.index("purple"))
    return picked.astype(np.int64)
