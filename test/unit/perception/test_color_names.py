"""Basic colour names of instances."""

from __future__ import annotations

import numpy as np
import pytest

from r4_ros.perception.color import NAMES, color_name, white_level

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
    image = np.full((20, 30, 3), rgb, np.uint8)
    assert color_name(image, np.ones((5, 6), bool), 4, 7) == name


def test_every_name_has_a_swatch() -> None:
    assert set(SWATCHES) == set(NAMES)


def test_shadow_and_highlight_do_not_decide() -> None:
    image = np.full((40, 40, 3), (200, 20, 30), np.uint8)
    image[:, :11] = (20, 4, 5)
    image[:, 39:] = 255
    assert color_name(image, np.ones((40, 40), bool), 0, 0) == "red"


def test_only_the_mask_counts() -> None:
    image = np.full((40, 40, 3), (30, 150, 50), np.uint8)
    image[10:20, 10:20] = (30, 70, 200)
    mask = np.zeros((20, 20), bool)
    mask[5:15, 5:15] = True
    assert color_name(image, mask, 5, 5) == "blue"
    assert color_name(image, np.zeros((4, 4), bool), 0, 0) == ""


def test_white_in_a_dim_room_is_white() -> None:
    """A white cup under weak light is grey by its pixels, and white beside the brightest things there."""
    image = np.full((64, 64, 3), 60, np.uint8)
    image[:32] = 165
    cup = np.ones((16, 16), bool)
    assert color_name(image, cup, 0, 0) == "gray"
    assert color_name(image, cup, 0, 0, white_level(image)) == "white"
