"""RVL, the lossless depth compression of Wilson ('Fast Lossless Depth Image Compression', ACM ISS 2017), decoded.

As compressed_depth_image_transport writes it: width and height (uint32, little-endian), then 32-bit words of nibbles,
the first in the highest bits. A nibble holds three bits of a number, the lowest first, and a fourth that says that more
follow. The numbers tell, over and over: how many pixels are empty, how many aren't, and for each of these the
difference to the last one that wasn't, folded to positive numbers.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import FrameRefused, RefusalReason

SIZE = struct.Struct("<II")
LONGEST = 9  # nibbles of a number: 27 bits hold more pixels than any image has

Numbers = npt.NDArray[np.int32]


def decode_rvl(data: npt.NDArray[np.uint8], most_pixels: int) -> npt.NDArray[np.uint16]:
    """uint16 [H, W] of an RVL stream with its size in front. Raises FrameRefused for one that lies or is cut off."""
    if data.size < SIZE.size:
        raise _damaged(f"of {data.size} bytes")
    width, height = SIZE.unpack_from(data.data)
    if not 0 < width * height <= most_pixels:
        raise FrameRefused(RefusalReason.SIZE_MISMATCH, f"an rvl image of {width} x {height} pixels")
    numbers = _numbers(data[SIZE.size :])
    lengths, starts = _runs(numbers, width * height)
    of_pixels = np.ones(int(starts[-1] + 2 + lengths[-1]), bool)
    of_pixels[starts] = of_pixels[starts + 1] = False
    folded = numbers[: len(of_pixels)][of_pixels]
    values = np.cumsum((folded >> 1) ^ -(folded & 1), dtype=np.int64)
    if values.size and not (values.min() > 0 and values.max() < 2**16):
        raise _damaged("with depths out of range")
    image = np.zeros(width * height, np.uint16)
    image[np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)] = values
    return image.reshape(height, width)


def _numbers(data: npt.NDArray[np.uint8]) -> Numbers:
    """All numbers of a stream; zeros of its last word may come with them."""
    in_order = data[: data.size // 4 * 4].reshape(-1, 4)[:, ::-1].reshape(-1)
    nibbles = np.empty(2 * in_order.size, np.uint8)
    nibbles[::2], nibbles[1::2] = in_order >> 4, in_order & 15
    ends = np.flatnonzero(nibbles < 8)
    more = np.diff(ends, prepend=-1) - 1
    if more.max(initial=0) >= LONGEST:
        raise _damaged("with a number that is too long")
    bits = nibbles & 7
    numbers: Numbers = bits[ends].astype(np.int32)  # the highest bits, to which the lower ones are added from behind
    longer, k = np.flatnonzero(more), 1
    while longer.size:
        numbers[longer] = numbers[longer] << 3 | bits[ends[longer] - k]
        k += 1
        longer = longer[more[longer] >= k]
    return numbers


def _runs(numbers: Numbers, pixels: int) -> tuple[Numbers, Numbers]:
    """Lengths of the runs, empty and measured in turns [2 n], and where in the numbers each pair of them stands [n]."""
    lengths: list[int] = []
    starts: list[int] = []
    at, left, last = 0, pixels, len(numbers) - 1
    while left:
        if at >= last:
            raise _damaged(f"that ends {left} pixels too early")
        empty, measured = numbers.item(at), numbers.item(at + 1)
        left -= empty + measured
        if left < 0 or (left and not measured) or at + 1 + measured > last:
            raise _damaged("whose runs don't add up")
        starts.append(at)
        lengths += (empty, measured)
        at += 2 + measured
    return np.array(lengths, np.int32), np.array(starts, np.int32)


def _damaged(what: str) -> FrameRefused:
    return FrameRefused(RefusalReason.TRUNCATED_DATA, f"compressedDepth: an rvl stream {what}")
