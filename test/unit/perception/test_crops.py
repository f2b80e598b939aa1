"""Pictures of instances: what is in them, and that they stay small."""

from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.ports import Segment
from r4_ros.perception.crops import DATA_URL, MAX_BYTES, SIDE, cut, data_url, fitted, jpeg_of


def image(height: int = 120, width: int = 160) -> np.ndarray:
    color = np.full((height, width, 3), 100, np.uint8)
    color[40:60, 50:90] = (200, 30, 30)
    return color


def test_a_thing_is_cut_out_with_a_margin_and_its_surroundings_dimmed_for_a_model() -> None:
    segment = Segment("mug", 0.9, 50, 40, np.ones((20, 40), bool))
    plain = cut(image(), segment)
    assert plain.shape == (36, 56, 3) and tuple(plain[0, 0]) == (100, 100, 100)
    masked = cut(image(), segment, masked=True)
    assert tuple(masked[0, 0]) == (30, 30, 30) and tuple(masked[18, 28]) == (200, 30, 30)


def test_at_the_border_the_margin_ends() -> None:
    found = cut(image(), Segment("mug", 0.9, 0, 100, np.ones((20, 30), bool)), masked=True)
    assert found.shape == (28, 38, 3)


@given(st.integers(1, 900), st.integers(1, 900), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_any_picture_is_small_enough(height: int, width: int, seed: int) -> None:
    noise = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    data = jpeg_of(noise)
    assert len(data) <= MAX_BYTES and data.startswith(b"\xff\xd8\xff")
    back = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert back.shape[0] <= height and back.shape[1] <= width


def test_a_large_thing_is_scaled_down_and_keeps_its_colours() -> None:
    color = np.zeros((900, 1200, 3), np.uint8)
    color[..., 2] = 220
    found = cut(color, Segment("sofa", 0.9, 0, 0, np.ones((900, 1200), bool)))
    assert found.shape == (240, 320, 3) and max(found.shape) == SIDE
    blue, green, red = cv2.imdecode(np.frombuffer(jpeg_of(found), np.uint8), cv2.IMREAD_COLOR)[100, 100]
    assert blue > 200 and green < 30 and red < 30
    assert fitted(found, 1000) is found


@pytest.mark.parametrize("size", [(1, 1), (3, 500)])
def test_slivers_are_pictures_too(size: tuple[int, int]) -> None:
    url = data_url(jpeg_of(np.zeros((*size, 3), np.uint8)))
    assert base64.b64decode(url.removeprefix(DATA_URL))[:3] == b"\xff\xd8\xff"
