"""The camera's picture with what was found in it."""

from __future__ import annotations

import array
import colorsys
import zlib
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from r4_ros.core.ports import RgbdImage, Segment

TINT = 0.45
FONT = cv2.FONT_HERSHEY_SIMPLEX


def annotated(image: RgbdImage, segments: Sequence[Segment]) -> npt.NDArray[np.uint8]:
    """RGB uint8 [H, W, 3]: masks tinted by label, with their names. The image itself isn't changed."""
    picture = image.color.copy()
    for segment in segments:
        color = np.asarray(_color(segment.label))
        height, width = segment.mask.shape
        part = picture[segment.top : segment.top + height, segment.left : segment.left + width]
        part[segment.mask] = ((1 - TINT) * part[segment.mask] + TINT * color).astype(np.uint8)
        corner = (segment.left, segment.top)
        cv2.rectangle(picture, corner, (segment.left + width - 1, segment.top + height - 1), color.tolist(), 1)
    for segment in segments:  # names last, so that no mask covers them
        text = f"{segment.label} {segment.confidence:.2f}".encode("ascii", "replace").decode()
        cv2.putText(picture, text, (segment.left + 2, segment.top + 12), FONT, 0.4, (255, 255, 255), 1, cv2.LINE_AA)
    return picture


def image_message(picture: npt.NDArray[np.uint8], header: Header) -> Image:
    """An rgb8 image message, by one copy of memory."""
    height, width, channels = picture.shape
    data = array.array("B")
    data.frombytes(memoryview(np.ascontiguousarray(picture)).cast("B"))
    return Image(header=header, height=height, width=width, encoding="rgb8", step=width * channels, data=data)


def _color(label: str) -> tuple[int, int, int]:
    hue = zlib.crc32(label.encode()) % 360 / 360
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.8, 1.0)
    return round(red * 255), round(green * 255), round(blue * 255)
