"""Decoders: every documented encoding, and nothing but FrameRefused for anything else (CASES 1, 2, 5, 6, 7)."""

from __future__ import annotations

import array
import io
import struct
from types import SimpleNamespace as Message
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as PillowImage

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.perception.images import decode_color, decode_depth, decode_labels

RGB = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
SMOOTH = np.stack([np.tile(np.linspace(40, 200, 32, dtype=np.uint8), (24, 1))] * 3, axis=2)
MM = np.random.default_rng(1).integers(300, 6000, (12, 16), dtype=np.uint16)


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    return bytes(cv2.imencode(".png", pixels)[1])


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(("encoding", "order"), [("rgb8", [0, 1, 2]), ("bgr8", [2, 1, 0])])
def test_three_channels(messages: Any, encoding: str, order: list[int], padding: int) -> None:
    np.testing.assert_array_equal(decode_color(messages.image(RGB[..., order], encoding, padding=padding)), RGB)


@pytest.mark.parametrize(("encoding", "order"), [("rgba8", [0, 1, 2]), ("bgra8", [2, 1, 0])])
def test_alpha_is_dropped(messages: Any, encoding: str, order: list[int]) -> None:
    with_alpha = np.concatenate([RGB[..., order], np.full((12, 16, 1), 9, np.uint8)], axis=2)
    np.testing.assert_array_equal(decode_color(messages.image(with_alpha, encoding)), RGB)


def test_grey_has_equal_channels(messages: Any) -> None:
    decoded = decode_color(messages.image(RGB[..., 0], "mono8", padding=3))
    np.testing.assert_array_equal(decoded, np.repeat(RGB[..., :1], 3, axis=2))


@pytest.mark.parametrize(("encoding", "luma_first"), [("yuv422", False), ("uyvy", False), ("yuv422_yuy2", True)])
def test_yuv422(messages: Any, encoding: str, luma_first: bool) -> None:
    packed = np.full((4, 8, 2), 128, np.uint8)
    packed[..., 0 if luma_first else 1] = 126  # a middle grey
    assert abs(decode_color(messages.image(packed, encoding)).astype(int) - 128).max() <= 3


@pytest.mark.parametrize(("pattern", "red"), [("rggb", (0, 0)), ("bggr", (1, 1)), ("gbrg", (1, 0)), ("grbg", (0, 1))])
def test_bayer_patterns_find_red_and_blue(messages: Any, pattern: str, red: tuple[int, int]) -> None:
    mosaic = np.zeros((16, 16), np.uint8)
    mosaic[red[0] :: 2, red[1] :: 2] = 240  # a red scene
    decoded = decode_color(messages.image(mosaic, f"bayer_{pattern}8"))[4:-4, 4:-4]
    assert decoded[..., 0].min() > 200
    assert decoded[..., 1:].max() < 20


@pytest.mark.parametrize("extension", [".jpg", ".png"])
def test_compressed_colour(messages: Any, extension: str) -> None:
    data = bytes(cv2.imencode(extension, SMOOTH[..., ::-1])[1])
    form = "rgb8; jpeg compressed bgr8" if extension == ".jpg" else "png"
    assert abs(decode_color(messages.compressed(data, form)).astype(int) - SMOOTH).max() <= 4


@pytest.mark.parametrize("holder", [bytes, bytearray, list, lambda b: array.array("B", b), np.frombuffer])
def test_any_holder_of_the_bytes(messages: Any, holder: Any) -> None:
    message = messages.image(RGB, "rgb8")
    message.data = np.frombuffer(message.data, np.uint8) if holder is np.frombuffer else holder(message.data)
    np.testing.assert_array_equal(decode_color(message), RGB)


def test_raw_rgb_is_not_copied(messages: Any) -> None:
    message = messages.image(RGB, "rgb8")
    message.data = np.frombuffer(message.data, np.uint8)
    assert np.shares_memory(decode_color(message), message.data)


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("padding", [0, 6])
def test_depth_of_either_kind_is_the_same_metres(messages: Any, big: bool, padding: int) -> None:
    metres = (MM / 1000).astype(np.float32)
    millimetres = decode_depth(messages.image(MM, "16UC1", padding=padding, big=big))
    floats = decode_depth(messages.image(metres, "32FC1", padding=padding * 2, big=big))
    assert millimetres.dtype == floats.dtype == np.float32
    np.testing.assert_allclose(millimetres, metres, rtol=1e-6)
    np.testing.assert_array_equal(floats, metres)


def test_what_was_not_measured_is_zero(messages: Any) -> None:
    metres = np.array([[0, np.nan, np.inf, -np.inf, -1, 2.5]], np.float32)
    np.testing.assert_array_equal(decode_depth(messages.image(metres, "32FC1")), [[0, 0, 0, 0, 0, 2.5]])


def test_sixteen_bits_stay_sixteen(messages: Any) -> None:
    np.testing.assert_allclose(
        decode_depth(messages.compressed(png(MM), "16UC1; png compressed")), MM / 1000, rtol=1e-6
    )
    with_header = struct.pack("<iff", 0, 0, 0) + png(MM)
    decoded = decode_depth(messages.compressed(with_header, "16UC1; compressedDepth png"))
    np.testing.assert_allclose(decoded, MM / 1000, rtol=1e-6)
    with pytest.raises(FrameRefused, match="16 bits") as refused:
        decode_depth(messages.compressed(png((MM >> 8).astype(np.uint8)), "16UC1; png compressed"))
    assert refused.value.reason == RefusalReason.UNKNOWN_ENCODING


def test_inverse_depth(messages: Any) -> None:
    metres = np.linspace(0.5, 9, 192, dtype=np.float32).reshape(12, 16)
    a, b = 100.0 * (100.0 + 1), 1 - 100.0 * (100.0 + 1) / 10.0
    quantised = np.rint(a / metres + b).astype(np.uint16)
    quantised[0, 0] = 0
    data = struct.pack("<iff", 0, a, b) + png(quantised)
    decoded = decode_depth(messages.compressed(data, "32FC1; compressedDepth png"))
    assert decoded[0, 0] == 0
    np.testing.assert_allclose(decoded.ravel()[1:], metres.ravel()[1:], rtol=0.01)


@pytest.mark.parametrize(
    ("pixels", "encoding"),
    [(MM.astype(np.uint8), "8UC1"), (MM, "16UC1"), (MM, "mono16"), (MM.astype(np.int32) * 99_999, "32SC1")],
)
def test_label_images(messages: Any, pixels: np.ndarray[Any, Any], encoding: str) -> None:
    decoded = decode_labels(messages.image(pixels, encoding, padding=4))
    assert decoded.dtype == np.int32
    np.testing.assert_array_equal(decoded, pixels)


def test_label_png(messages: Any) -> None:
    np.testing.assert_array_equal(decode_labels(messages.compressed(png(MM), "16UC1; png compressed")), MM)


@pytest.mark.parametrize(
    ("decode", "encoding"),
    [(decode_labels, "rgb8"), (decode_color, "16UC1"), (decode_color, "nv21"), (decode_depth, "rgb8")],
)
def test_an_unknown_encoding_is_named(messages: Any, decode: Any, encoding: str) -> None:
    with pytest.raises(FrameRefused, match=encoding) as refused:
        decode(messages.image(RGB, encoding))
    assert refused.value.reason == RefusalReason.UNKNOWN_ENCODING


@pytest.mark.parametrize("extension", [".jpg", ".png"])
@pytest.mark.parametrize("keep", [0.02, 0.5, 0.9, 0.995])
def test_a_cut_image_is_refused_not_filled_with_grey(messages: Any, extension: str, keep: float) -> None:
    data = bytes(cv2.imencode(extension, RGB)[1])
    with pytest.raises(FrameRefused) as refused:
        decode_color(messages.compressed(data[: int(len(data) * keep)], extension[1:]))
    assert refused.value.reason == RefusalReason.TRUNCATED_DATA


def test_a_png_that_claims_to_be_huge_is_refused(messages: Any) -> None:
    data = bytearray(png(RGB))
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    with pytest.raises(FrameRefused):
        decode_color(messages.compressed(bytes(data), "png"))


def test_other_formats_are_named(messages: Any) -> None:
    out = io.BytesIO()
    PillowImage.fromarray(RGB).save(out, "GIF")
    with pytest.raises(FrameRefused, match="GIF"):
        decode_color(messages.compressed(out.getvalue(), "gif"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"step": 10}, RefusalReason.SIZE_MISMATCH),
        ({"height": 13}, RefusalReason.TRUNCATED_DATA),
        ({"height": 0}, RefusalReason.SIZE_MISMATCH),
        ({"width": 2**31}, RefusalReason.SIZE_MISMATCH),
        ({"width": -4, "height": -4}, RefusalReason.SIZE_MISMATCH),
        ({"data": b""}, RefusalReason.TRUNCATED_DATA),
    ],
)
def test_lying_headers(messages: Any, changes: dict[str, Any], reason: RefusalReason) -> None:
    message = messages.image(RGB, "rgb8")
    vars(message).update(changes)
    with pytest.raises(FrameRefused) as refused:
        decode_color(message)
    assert refused.value.reason == reason


def test_the_last_row_needs_no_padding(messages: Any) -> None:
    message = messages.image(RGB, "rgb8", padding=10)
    message.data = message.data[:-10]
    np.testing.assert_array_equal(decode_color(message), RGB)


ENCODINGS = ("rgb8", "bgra8", "mono8", "yuv422", "yuv422_yuy2", "bayer_rggb8", "16UC1", "32FC1", "32SC1", "x", "")


@settings(max_examples=300, deadline=None)
@given(
    height=st.integers(-2, 40),
    width=st.integers(-2, 40),
    step=st.integers(-5, 200),
    encoding=st.sampled_from(ENCODINGS),
    big=st.integers(0, 2),
    data=st.binary(max_size=4000),
)
def test_any_raw_header_gives_an_image_of_its_size_or_a_refusal(
    height: int, width: int, step: int, encoding: str, big: int, data: bytes
) -> None:
    message = Message(height=height, width=width, step=step, encoding=encoding, is_bigendian=big, data=data)
    for decode in (decode_color, decode_depth, decode_labels):
        try:
            decoded = decode(message)
        except FrameRefused:
            continue
        assert decoded.shape[:2] == (height, width)


@settings(max_examples=300, deadline=None)
@given(
    start=st.sampled_from([png(RGB), png(MM), bytes(cv2.imencode(".jpg", SMOOTH)[1]), b""]),
    form=st.sampled_from(["jpeg", "png", "16UC1; compressedDepth", "32FC1; compressedDepth png", "16UC1; png", ""]),
    header=st.binary(max_size=14),
    cut=st.integers(0, 2000),
    flips=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    tail=st.binary(max_size=20),
)
def test_any_compressed_bytes_give_an_image_or_a_refusal(
    start: bytes, form: str, header: bytes, cut: int, flips: list[tuple[int, int]], tail: bytes
) -> None:
    data = bytearray(start[: len(start) - cut] if cut < 1000 else start)
    for at, value in flips:
        if data:
            data[at % len(data)] = value
    message = Message(format=form, data=header + bytes(data) + tail)
    for decode, kind in ((decode_color, np.uint8), (decode_depth, np.float32), (decode_labels, np.int32)):
        try:
            decoded = decode(message)  # type: ignore[operator]
        except FrameRefused:
            continue
        assert decoded.dtype == kind
        assert decoded.size


def test_ids_in_three_channels(messages: Any) -> None:
    pixels = np.array([[[1, 2, 3], [255, 0, 0]]], np.uint8)
    for encoding, shown in (("rgb8", pixels), ("bgr8", pixels[..., ::-1])):
        decoded = decode_labels(messages.image(shown, encoding), "rgb")
        assert decoded.dtype == np.int32
        assert decoded.tolist() == [[1 + 2 * 256 + 3 * 65536, 255]]
