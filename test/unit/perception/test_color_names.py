"""Basic colour names of instances."""

from __future__ import annotations

import numpy as np
import pytest

from r4_ros.perception.color import NAMES, color_names, white_level

SWATCHES = {
    "black": [(15, 15, 15), (35, 33, 36)],
    "gray": [(128, 128, 128), (100, 105, 102)],
    "white": [(250, 250, 250), (225, 222, 210)],
    "red": [(200, 20, 30), (140, 10, 20)],
    "orange": [(240, 130, 20)],
    "yellow": [(240, 220, 30)],
    "green": [(30, 150, 50), (120, 190, 90)],
    "blue": [(30, 70, 200), (60, 150, 220)],
    "purple": [(120, 40, 150)],
    "pink": [(240, 130, 180)],
    "brown": [(110, 70, 35), (180, 135, 90)],
}


@pytest.mark.parametrize(("name", "rgb"), [(n, rgb) for n, many in SWATCHES.items() for rgb in many])
def test_swatches(name: str, rgb: tuple[int, int, int]) -> None:
    assert color_names([np.full((30, 3), rgb, np.uint8)]) == [name]


def test_every_name_has_a_swatch() -> None:
    assert set(SWATCHES) == set(NAMES)


def test_shadow_and_highlight_do_not_decide() -> None:
    pixels = np.full((2000, 3), (200, 20, 30), np.uint8)
    pixels[:560] = (20, 4, 5)
    pixels[1950:] = 255
    assert color_names([pixels]) == ["red"]


def test_samples_are_named_one_by_one() -> None:
    green, blue = np.full((400, 3), (30, 150, 50), np.uint8), np.full((5, 3), (30, 70, 200), np.uint8)
    assert color_names([green, green[:0], blue, blue[:1]]) == ["green", "", "blue", "blue"]
    assert color_names([green[:0]]) == [""]
    assert color_names([]) == []


def test_white_in_a_dim_room_is_white() -> None:
    """A white cup under weak light is grey by its pixels, and white beside the brightest things there."""
    image = np.full((64, 64, 3), 60, np.uint8)
    image[:32] = 165
    cup = image[:16, :16].reshape(-1, 3)
    assert color_names([cup]) == ["gray"]
    assert color_names([cup], white_level(image)) == ["white"]
