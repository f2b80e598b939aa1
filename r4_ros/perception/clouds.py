"""PointCloud2 messages as points, and points as a depth image of the colour camera.

Messages are duck-typed as ``sensor_msgs/PointCloud2``; one that can't be trusted raises FrameRefused.
"""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.geometry import rotation_matrix
from r4_ros.core.model import Float32Array, Intrinsics, Pose
from r4_ros.perception.images import bytes_of
from r4_ros.perception.registration import MIN_Z, fill_gaps, nearest_in

MAX_POINTS = 16_000_000
DATATYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}  # of sensor_msgs/PointField
AXES = ("x", "y", "z")
CELL = 16  # pixels; how dense the points lie is counted in cells
DENSE = 1.25  # pixels between points; below, they are a depth camera's, with gaps of one pixel
MAX_REACH = 6.0  # pixels; gaps wider than twice this stay unknown
NOWHERE = np.float32(1e6)
BEHIND_M, BEHIND_SHARE = np.float32(0.1), np.float32(0.05)  # what lies farther behind its neighbours is hidden


def decode_cloud(message: Any) -> Float32Array:
    """The finite points of a PointCloud2 in its own frame, float32 [3, n] metres.

    Organised or not, in any order of fields, with padding, of either byte order; other fields (rgb, intensity) may be
    there or not. ``is_dense`` isn't believed. Raises FrameRefused.
    """
    height, width, step, row = (int(v) for v in (message.height, message.width, message.point_step, message.row_step))
    if height < 0 or width < 0 or height * width > MAX_POINTS:
        raise FrameRefused(RefusalReason.SIZE_MISMATCH, f"a cloud of {width} x {height} points")
    layout = _layout(message, step)
    if height * width == 0:
        raise FrameRefused(RefusalReason.EMPTY_DEPTH, "a cloud without points")
    if height == 1 or row == 0:  # the step of a single row says nothing, and some drivers leave it at 0
        row = width * step
    if row < width * step:
        raise FrameRefused(RefusalReason.SIZE_MISMATCH, f"row_step {row} is too short for {width} points of {step}")
    data = bytes_of(message)
    needed = row * (height - 1) + width * step
    if data.size < needed:
        text = f"{data.size} bytes for {width} x {height} points of {step}: {needed} are needed"
        raise FrameRefused(RefusalReason.TRUNCATED_DATA, text)
    points = np.empty((3, height * width), np.float32)
    for axis, (offset, kind) in zip(points, layout, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            axis.reshape(height, width)[...] = np.ndarray((height, width), kind, data, offset, (row, step))
    finite = np.isfinite(points).all(axis=0)
    return points if finite.all() else points[:, finite]


def _layout(message: Any, step: int) -> list[tuple[int, np.dtype[Any]]]:
    """Offset and type of x, y and z in a point."""
    fields = {str(field.name): field for field in message.fields}
    layout: list[tuple[int, np.dtype[Any]]] = []
    for name in AXES:
        if name not in fields:
            text = f"a cloud without the field {name}: it has {', '.join(fields) or 'none'}"
            raise FrameRefused(RefusalReason.UNKNOWN_ENCODING, text)
        offset, code = int(fields[name].offset), int(fields[name].datatype)
        if code not in DATATYPES:
            raise FrameRefused(RefusalReason.UNKNOWN_ENCODING, f"a cloud with {name} of the unknown datatype {code}")
        kind = np.dtype(DATATYPES[code]).newbyteorder(">" if message.is_bigendian else "<")
        if offset < 0 or offset + kind.itemsize > step:
            text = f"a cloud with {name} at {offset}, outside of a point of {step} bytes"
            raise FrameRefused(RefusalReason.SIZE_MISMATCH, text)
        layout.append((offset, kind))
    return layout


def cloud_depth(points: Float32Array, cloud_in_color: Pose, camera: Intrinsics) -> tuple[Float32Array, float]:
    """Points [3, n] as the rectified colour camera would measure them: float32 [H, W] metres, 0 where unknown.

    Where several points fall on one pixel the nearest stays; those that lie behind their neighbours in the image are
    hidden from the camera and dropped, and the gaps between the points are filled from the nearest ones. Also returns
    how far apart the points lie, in pixels: what is smaller may lie between them unseen.
    """
    turn = rotation_matrix(cloud_in_color.orientation).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        seen = turn @ points
        seen += np.asarray(cloud_in_color.position, np.float32)[:, None]
        z = seen[2]
        u = seen[0] / z * np.float32(camera.fx) + np.float32(camera.cx + 0.5)
        v = seen[1] / z * np.float32(camera.fy) + np.float32(camera.cy + 0.5)
        hit = np.flatnonzero((z > MIN_Z) & (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height))
    rows, columns = v[hit].astype(np.int32), u[hit].astype(np.int32)
    depth = nearest_in(rows * np.int32(camera.width) + columns, z[hit], camera)
    spacing = _spacing(depth)
    if spacing < DENSE:
        return fill_gaps(depth), 1.0
    reach = min(2 * spacing, MAX_REACH)  # on near things points lie farther apart than on the average
    return _filled(_without_hidden(depth, reach), reach), spacing


def _spacing(depth: Float32Array) -> float:
    """Mean distance of measured pixels where there are any, in pixels; at least 1."""
    height, width = (side // CELL * CELL for side in depth.shape)
    if not height or not width:
        return 1.0
    cells = (depth[:height, :width] > 0).reshape(height // CELL, CELL, width // CELL, CELL)
    counts = cells.sum(axis=(1, 3), dtype=np.int32)
    occupied = int(np.count_nonzero(counts))
    return max(1.0, math.sqrt(CELL * CELL * occupied / int(counts.sum()))) if occupied else 1.0


def _without_hidden(depth: Float32Array, reach: float) -> Float32Array:
    """Depth without the points that are seen between those of something nearer."""
    size = 2 * math.ceil(reach) + 1
    far = np.where(depth > 0, depth, NOWHERE)
    front = cv2.erode(far, np.ones((size, size), np.uint8))  # the least depth around
    return np.where(depth <= front * (1 + BEHIND_SHARE) + BEHIND_M, depth, np.float32(0))


def _filled(depth: Float32Array, reach: float) -> Float32Array:
    """Unknown pixels take the depth of the nearest known one, not farther than ``reach`` pixels away."""
    unknown = (depth == 0).view(np.uint8)
    if not unknown.any() or unknown.all():
        return depth
    distance, labels = cv2.distanceTransformWithLabels(
        unknown, cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL
    )
    known: npt.NDArray[np.intp] = np.flatnonzero(unknown.ravel() == 0)
    of_label = np.zeros(int(labels.max()) + 1, np.float32)
    of_label[labels.ravel()[known]] = depth.ravel()[known]
    return np.where(distance <= reach, of_label[labels], np.float32(0))
