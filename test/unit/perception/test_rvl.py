"""Depth compressed with RVL: what an encoder wrote comes back, and no stream, however damaged, does harm."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.perception.images import decode_depth
from r4_ros.perception.rvl import decode_rvl

FORM = "16UC1; compressedDepth rvl"
MOST = 100_000
Image = np.ndarray[Any, Any]


def encode(image: Image) -> bytes:
    """As the codec's paper has it, number by number."""
    nibbles: list[int] = []

    def put(number: int) -> None:
        while True:
            number, low = number >> 3, number & 7
            nibbles.append(low | (8 if number else 0))
            if not number:
                return

    pixels, at, previous = image.ravel().tolist(), 0, 0
    while at < len(pixels):
        for measured in (False, True):
            end = at
            while end < len(pixels) and bool(pixels[end]) is measured:
                end += 1
            put(end - at)
            run, at = pixels[at:end], end
        for value in run:
            delta, previous = value - previous, value
            put(2 * delta if delta >= 0 else -2 * delta - 1)
    nibbles += [0] * (-len(nibbles) % 8)
    words = [int("".join(f"{n:x}" for n in nibbles[i : i + 8]), 16) for i in range(0, len(nibbles), 8)]
    return struct.pack(f"<II{len(words)}I", image.shape[1], image.shape[0], *words)


def decoded(data: bytes) -> Image:
    return decode_rvl(np.frombuffer(data, np.uint8), MOST)


@settings(max_examples=200, deadline=None)
@given(
    arrays.arrays(
        np.uint16, arrays.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 2**16 - 1)
    )
)
@example(np.zeros((3, 4), np.uint16))
@example(np.full((3, 4), 2**16 - 1, np.uint16))
@example(np.array([[0, 1, 0, 2**16 - 1]], np.uint16))
def test_what_was_encoded_comes_back(image: Image) -> None:
    np.testing.assert_array_equal(decoded(encode(image)), image)


def test_a_stream_that_another_encoder_wrote() -> None:
    """2 x 2 pixels 0, 1000, 1001, 0: numbers 1 2 | 2000 2 | 1 0, nibbles 1 2 8 A F 3 2 1 | 0."""
    words = (0x128AF321, 0x00000000)
    np.testing.assert_array_equal(decoded(struct.pack("<IIII", 2, 2, *words)), [[0, 1000], [1001, 0]])


def test_in_a_message(messages: Any) -> None:
    image = (np.random.default_rng(3).integers(0, 5, (48, 64)) * 700).astype(np.uint16)
    depth = decode_depth(messages.compressed(bytes(12) + encode(image), FORM))
    np.testing.assert_allclose(depth, image / 1000, rtol=1e-6)
    a, b = 100.0 * 101.0, 1 - 100.0 * 101.0 / 10.0
    header = struct.pack("<iff", 0, a, b)
    inverse = decode_depth(messages.compressed(header + encode(image), "32FC1; compressedDepth rvl"))
    np.testing.assert_allclose(inverse[image > 0], a / (image[image > 0] - b), rtol=1e-4)
    assert not inverse[image == 0].any()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_streams_are_refused_or_give_an_image_of_their_size(data: st.DataObject) -> None:
    image = np.random.default_rng(0).integers(0, 4, (9, 11)).astype(np.uint16) * 300
    stream = bytearray(encode(image))
    if data.draw(st.booleans()):
        stream = stream[: data.draw(st.integers(0, len(stream)))]
    for _ in range(data.draw(st.integers(0, 6))):
        if stream:
            stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decoded(bytes(stream))
    except FrameRefused as error:
        assert error.reason in (RefusalReason.TRUNCATED_DATA, RefusalReason.SIZE_MISMATCH)
    else:
        assert found.shape[::-1] == struct.unpack_from("<II", stream)


@pytest.mark.parametrize("words", [4, 1, 0])
def test_a_stream_that_ends_early_is_refused(words: int) -> None:
    whole = encode(np.arange(1, 65, dtype=np.uint16).reshape(8, 8) * 501)
    with pytest.raises(FrameRefused, match="rvl") as refused:
        decoded(whole[: 8 + 4 * words])
    assert refused.value.reason == RefusalReason.TRUNCATED_DATA


@pytest.mark.parametrize(
    ("size", "words", "said"),
    [
        ((2**16, 2**16), (0,), "65536 x 65536"),
        ((0, 5), (0,), "0 x 5"),
        ((4, 4), (0,) * 4, "add up"),  # runs of nothing lead nowhere
        ((4, 4), (0xFFFFFFFF, 0xFFFFFFFF), "too early"),
        ((4, 4), (0xFFFFFFFF, 0xFFFFFFF0), "too long"),
        ((2, 1), (0x02100000,), "out of range"),  # the first depth would be -1
    ],
)
def test_streams_that_lie_are_refused(size: tuple[int, int], words: tuple[int, ...], said: str) -> None:
    with pytest.raises(FrameRefused, match=said):
        decoded(struct.pack(f"<II{len(words)}I", *size, *words))
