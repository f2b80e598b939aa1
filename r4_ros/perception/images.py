"""Image messages as arrays. A message that can't be trusted raises FrameRefused with its reason, and nothing else.

Messages are duck-typed as ``sensor_msgs`` Image and CompressedImage, whoever deserialised them.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.model import Float32Array
from r4_ros.perception.rvl import decode_rvl

MAX_PIXELS = 64_000_000
MM = np.float32(0.001)
DEPTH_HEADER = struct.Struct("<iff")  # compression format, inverse-depth parameters A and B

RAW_COLOR: dict[str, tuple[int, int | None]] = {  # encoding -> channels, OpenCV conversion to RGB
    "rgb8": (3, None),
    "bgr8": (3, cv2.COLOR_BGR2RGB),
    "rgba8": (4, cv2.COLOR_RGBA2RGB),
    "bgra8": (4, cv2.COLOR_BGRA2RGB),
    "mono8": (1, cv2.COLOR_GRAY2RGB),
    "8UC1": (1, cv2.COLOR_GRAY2RGB),
    "uyvy": (2, cv2.COLOR_YUV2RGB_UYVY),
    "yuv422": (2, cv2.COLOR_YUV2RGB_UYVY),
    "yuyv": (2, cv2.COLOR_YUV2RGB_YUYV),
    "yuv422_yuy2": (2, cv2.COLOR_YUV2RGB_YUYV),
    # OpenCV names a Bayer pattern by its second row, ROS by its first.
    "bayer_rggb8": (1, cv2.COLOR_BayerBG2RGB),
    "bayer_bggr8": (1, cv2.COLOR_BayerRG2RGB),
    "bayer_gbrg8": (1, cv2.COLOR_BayerGR2RGB),
    "bayer_grbg8": (1, cv2.COLOR_BayerGB2RGB),
}
RAW_LABELS: dict[str, Any] = {
    "8UC1": np.uint8,
    "mono8": np.uint8,
    "16UC1": np.uint16,
    "mono16": np.uint16,
    "32SC1": np.int32,
}
ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}


def decode_color(message: Any) -> npt.NDArray[np.uint8]:
    """uint8 [H, W, 3] RGB of an Image or CompressedImage (jpeg, png). May be a view of the message's data."""
    if hasattr(message, "format"):
        pixels = _unpack(bytes_of(message), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        return _convert(pixels, cv2.COLOR_BGR2RGB)
    encoding = str(message.encoding)
    if encoding not in RAW_COLOR:
        raise _unknown("colour", encoding, RAW_COLOR)
    channels, conversion = RAW_COLOR[encoding]
    pixels = _raw(message, np.uint8, channels)
    if conversion is None:
        return pixels
    return _convert(np.ascontiguousarray(pixels), conversion)


def decode_depth(message: Any) -> Float32Array:
    """float32 [H, W] metres along the optical axis; 0 where nothing was measured (0, negative, NaN, inf).

    16UC1 and mono16 are millimetres, 32FC1 metres; compressed: png of 16 bits, or compressedDepth (png, rvl) with its
    header.
    """
    if hasattr(message, "format"):
        return _compressed_depth(str(message.format), bytes_of(message))
    if message.encoding in ("16UC1", "mono16"):
        return np.asarray(np.multiply(_raw(message, np.uint16), MM, dtype=np.float32))
    if message.encoding == "32FC1":
        return _measured(_raw(message, np.float32))
    raise _unknown("depth", str(message.encoding), ("16UC1", "mono16", "32FC1"))


def decode_labels(message: Any, encoding: str = "id") -> npt.NDArray[np.int32]:
    """int32 [H, W] ids of a label image (8, 16 or 32 bits an id; raw, or png of 8 or 16 bits).

    encoding: as the parameter label_encoding; other than 'id', ids are of 24 bits, r + 256 g + 65536 b.
    """
    if encoding != "id":
        r, g, b = np.moveaxis(decode_color(message).astype(np.int32), 2, 0)
        return np.asarray(r | g << 8 | b << 16, np.int32)
    if hasattr(message, "format"):
        pixels = _unpack(bytes_of(message), cv2.IMREAD_UNCHANGED)
        if pixels.ndim != 2 or pixels.dtype not in (np.uint8, np.uint16):
            raise _unknown("label", str(message.format), ("png with one channel of 8 or 16 bits",))
        return pixels.astype(np.int32)
    kind = str(message.encoding)
    if kind not in RAW_LABELS:
        raise _unknown("label", kind, (*RAW_LABELS, "label_encoding rgb or gazebo for three channels"))
    return _raw(message, RAW_LABELS[kind]).astype(np.int32, copy=False)


def _compressed_depth(form: str, data: npt.NDArray[np.uint8]) -> Float32Array:
    header = (0, 0.0, 0.0)
    if "compressedDepth" in form:
        if data.size <= DEPTH_HEADER.size:
            raise FrameRefused(RefusalReason.TRUNCATED_DATA, f"compressedDepth of {data.size} bytes has no image")
        header = DEPTH_HEADER.unpack_from(data.data)
        data = data[DEPTH_HEADER.size :]
    if "compressedDepth rvl" in form:
        pixels: npt.NDArray[Any] = decode_rvl(data, MAX_PIXELS)
    else:
        pixels = _unpack(data, cv2.IMREAD_UNCHANGED)
    if pixels.ndim != 2 or pixels.dtype != np.uint16:
        raise _unknown("depth", f"{form} ({pixels.dtype}, {pixels.ndim} axes)", ("png of 16 bits",))
    if form.startswith("32FC1"):
        return _inverse_depth(pixels, header[1], header[2])
    return np.asarray(np.multiply(pixels, MM, dtype=np.float32))


def _inverse_depth(pixels: npt.NDArray[np.uint16], a: float, b: float) -> Float32Array:
    """Metres of quantised inverse depth: A / (value - B), where a value of 0 means nothing measured."""
    if not (np.isfinite(a) and np.isfinite(b)) or a <= 0:
        raise FrameRefused(RefusalReason.UNKNOWN_ENCODING, f"compressedDepth 32FC1 with parameters A {a:g}, B {b:g}")
    with np.errstate(divide="ignore", over="ignore"):
        metres = np.float32(a) / (pixels.astype(np.float32) - np.float32(b))
    return _measured(np.where(pixels > 0, metres, np.float32(0)))


def _measured(depth: npt.NDArray[Any]) -> Float32Array:
    return np.where((depth > 0) & (depth < np.inf), depth, 0).astype(np.float32, copy=False)


def bytes_of(message: Any) -> npt.NDArray[np.uint8]:
    """The message's data without a copy, however its deserialiser holds it."""
    data = message.data
    if isinstance(data, np.ndarray):
        return data.reshape(-1).view(np.uint8)
    try:
        return np.frombuffer(data, np.uint8)
    except (TypeError, ValueError, BufferError):
        return np.asarray(data, np.uint8).reshape(-1)


def _raw(message: Any, dtype: Any, channels: int = 1) -> npt.NDArray[Any]:
    """[H, W] or [H, W, channels] over the message's data, honouring step and byte order, checked against lies."""
    height, width, step = int(message.height), int(message.width), int(message.step)
    kind = np.dtype(dtype).newbyteorder(">" if message.is_bigendian else "<")
    row = width * channels * kind.itemsize
    if not (0 < height * width <= MAX_PIXELS) or height < 0:
        raise FrameRefused(RefusalReason.SIZE_MISMATCH, f"an image of {width} x {height} pixels")
    if step < row:
        raise FrameRefused(
            RefusalReason.SIZE_MISMATCH, f"step {step} is too short for {width} pixels of {message.encoding} ({row})"
        )
    data = bytes_of(message)
    needed = step * (height - 1) + row
    if data.size < needed:
        raise FrameRefused(
            RefusalReason.TRUNCATED_DATA,
            f"{data.size} bytes for {width} x {height} {message.encoding} with step {step}: {needed} are needed",
        )
    shape, strides = (height, width), (step, channels * kind.itemsize)
    if channels > 1:
        shape, strides = (*shape, channels), (*strides, kind.itemsize)  # type: ignore[assignment]
    pixels: npt.NDArray[Any] = np.ndarray(shape, kind, data, strides=strides)
    return pixels if kind.isnative else pixels.astype(kind.newbyteorder("="))


def _unpack(data: npt.NDArray[np.uint8], flags: int) -> npt.NDArray[Any]:
    """Decode jpeg or png. The header is checked first: decoders fill what is cut off with grey, or trust its size."""
    try:
        with PillowImage.open(io.BytesIO(data.data)) as header:
            kind, (width, height) = str(header.format), header.size
    except Exception as error:  # whatever a decoder makes of damaged bytes
        raise FrameRefused(RefusalReason.TRUNCATED_DATA, f"neither jpeg nor png, or damaged: {error}") from error
    if kind not in ENDS:
        raise _unknown("compressed", kind, ("jpeg", "png"))
    if not 0 < width * height <= MAX_PIXELS:
        raise FrameRefused(RefusalReason.SIZE_MISMATCH, f"a {kind} of {width} x {height} pixels")
    if data.tobytes().rstrip(b"\0")[-len(ENDS[kind]) :] != ENDS[kind]:
        raise FrameRefused(RefusalReason.TRUNCATED_DATA, f"a {kind} without its end")
    try:
        pixels = cv2.imdecode(data, flags)
    except cv2.error as error:
        raise FrameRefused(RefusalReason.TRUNCATED_DATA, f"a damaged {kind}: {error}") from error
    if pixels is None or pixels.shape[:2] != (height, width):
        raise FrameRefused(RefusalReason.TRUNCATED_DATA, f"a damaged {kind}")
    return np.asarray(pixels)


def _convert(pixels: npt.NDArray[np.uint8], conversion: int) -> npt.NDArray[np.uint8]:
    try:
        return np.asarray(cv2.cvtColor(pixels, conversion), np.uint8)
    except cv2.error as error:  # e.g. 4:2:2 with an odd width
        raise FrameRefused(RefusalReason.SIZE_MISMATCH, f"{pixels.shape} pixels can't be converted") from error


def _unknown(role: str, encoding: str, known: Any) -> FrameRefused:
    return FrameRefused(
        RefusalReason.UNKNOWN_ENCODING, f"{role} image with encoding '{encoding}': use one of {', '.join(known)}"
    )
