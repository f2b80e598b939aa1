"""Pictures of single instances: cut out of the image, small enough to travel with an observation."""

from __future__ import annotations

import base64

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.core.ports import Segment

Picture = npt.NDArray[np.uint8]

DATA_URL = "data:image/jpeg;base64,"
MAX_BYTES = 32_000
MARGIN = 0.15  # of the window's size, around it
MARGIN_PX = 8
SIDE = 320  # pixels; larger crops are scaled down
DIMMED = 0.3  # of the brightness around a masked instance
QUALITIES = (85, 70, 50, 30)


def cut(color: Picture, segment: Segment, masked: bool = False) -> Picture:
    """The instance with a margin around it, RGB uint8 [h, w, 3]; ``masked`` dims all that isn't the instance."""
    height, width = segment.mask.shape
    dy, dx = (max(MARGIN_PX, int(MARGIN * size)) for size in (height, width))
    top, left = max(0, segment.top - dy), max(0, segment.left - dx)
    bottom = min(color.shape[0], segment.top + height + dy)
    right = min(color.shape[1], segment.left + width + dx)
    window = color[top:bottom, left:right]
    if masked:
        mask = np.zeros(window.shape[:2], np.bool_)
        mask[segment.top - top : segment.top - top + height, segment.left - left : segment.left - left + width] = (
            segment.mask[: bottom - segment.top, : right - segment.left]
        )
        window = np.where(mask[..., None], window, (window * DIMMED).astype(np.uint8))
    return fitted(window, SIDE)


def fitted(picture: Picture, side: int) -> Picture:
    """The picture with its longer side no longer than ``side`` pixels."""
    scale = side / max(picture.shape[:2])
    if scale >= 1:
        return picture
    size = tuple(max(1, round(n * scale)) for n in picture.shape[1::-1])
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def jpeg_of(picture: Picture, limit: int = MAX_BYTES) -> bytes:
    """An RGB picture as JPEG of at most ``limit`` bytes: first the quality goes down, then the size."""
    bgr = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2BGR)
    while True:
        for quality in QUALITIES:
            _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
            if data.size <= limit or min(bgr.shape[:2]) <= 16:
                return data.tobytes()
        bgr = cv2.resize(bgr, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)


def data_url(jpeg: bytes) -> str:
    """A JPEG as text, as it travels in ``Observation.image``."""
    return DATA_URL + base64.b64encode(jpeg).decode("ascii")
