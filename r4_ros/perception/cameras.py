"""CameraInfo messages as intrinsics."""

from __future__ import annotations

import math
from typing import Any

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.model import Intrinsics

EQUIDISTANT = "equidistant"
LEAST_FOCAL, MOST_PIXELS, MAX_BINNING = 1.0, 1e6, 64  # pixels; beyond, no camera is described
DISTORTION_LENGTHS = {  # how many coefficients a model has; OpenCV tells the first three apart by that
    "": (4, 5, 8, 12, 14),
    "plumb_bob": (4, 5, 8, 12, 14),
    "rational_polynomial": (4, 5, 8, 12, 14),
    EQUIDISTANT: (4,),
    "fisheye": (4,),
}


def intrinsics_of(info: Any) -> Intrinsics:
    """Intrinsics of the image that a ``sensor_msgs/CameraInfo`` describes, in that image's pixels.

    K with its distortion, or P without (the image is then rectified) where K is empty; binning and region of interest
    are applied. Raises FrameRefused(NO_INTRINSICS) when neither is usable or the distortion model is unknown.
    """
    k, p = [float(v) for v in info.k], [float(v) for v in info.p]
    distortion: tuple[float, ...] = ()
    model = ""
    if len(k) == 9 and _usable(k[0], k[4], k[2], k[5]):
        fx, fy, cx, cy = k[0], k[4], k[2], k[5]
        distortion, model = _distortion(str(info.distortion_model), tuple(float(v) for v in info.d))
    elif len(p) == 12 and _usable(p[0], p[5], p[2], p[6]):
        fx, fy, cx, cy = p[0], p[5], p[2], p[6]
    else:
        raise FrameRefused(RefusalReason.NO_INTRINSICS, "camera_info: neither K nor P has focal lengths")
    bin_x, bin_y = max(1, int(info.binning_x)), max(1, int(info.binning_y))
    if max(bin_x, bin_y) > MAX_BINNING:
        raise FrameRefused(RefusalReason.NO_INTRINSICS, f"camera_info: binning by {bin_x} x {bin_y}")
    roi = info.roi
    width, height = int(roi.width) or int(info.width), int(roi.height) or int(info.height)
    return Intrinsics(
        width=width // bin_x,
        height=height // bin_y,
        fx=fx / bin_x,
        fy=fy / bin_y,
        cx=(cx - int(roi.x_offset)) / bin_x,
        cy=(cy - int(roi.y_offset)) / bin_y,
        distortion=distortion,
        distortion_model=model,
    )


def same_camera(a: Intrinsics, b: Intrinsics) -> bool:
    """Whether images of two cameras in one place coincide to a tenth of a pixel."""
    if (a.width, a.height, a.distortion, a.distortion_model) != (b.width, b.height, b.distortion, b.distortion_model):
        return False
    focal = max(abs(a.fx - b.fx) * a.width / a.fx, abs(a.fy - b.fy) * a.height / a.fy)
    return max(focal, abs(a.cx - b.cx), abs(a.cy - b.cy)) <= 0.1


def _usable(fx: float, fy: float, cx: float, cy: float) -> bool:
    focal = all(LEAST_FOCAL <= f <= MOST_PIXELS for f in (fx, fy))
    return focal and all(abs(c) <= MOST_PIXELS for c in (cx, cy))


def _distortion(model: str, d: tuple[float, ...]) -> tuple[tuple[float, ...], str]:
    """Coefficients and model; a fisheye without coefficients is one still."""
    fisheye = model in (EQUIDISTANT, "fisheye")
    if not any(d) and not fisheye:
        return (), ""
    if len(d) not in DISTORTION_LENGTHS.get(model, ()) or not all(map(math.isfinite, d)):
        raise FrameRefused(
            RefusalReason.NO_INTRINSICS,
            f"camera_info: distortion '{model}' with {len(d)} values: rectify the image, or use plumb_bob, "
            "rational_polynomial or equidistant",
        )
    return d, EQUIDISTANT if fisheye else ""
