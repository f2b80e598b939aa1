"""Which pixels of a detection's box belong to the thing: the dominant connected surface near the box's centre."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.adapters.detections import Detection
from r4_ros.core.model import Float32Array, Intrinsics
from r4_ros.core.ports import RgbdImage, Segment

STEP_M, STEP_SHARE = 0.03, 0.02  # neighbours that differ by more (plus this share of the depth) are two surfaces
SAME_M, SAME_SHARE = 0.05, 0.02  # pieces whose depths come this close are pieces of one thing
REACH = 0.75  # a thing reaches this many times its width or height in front of and behind its middle
REACH_M = 0.03
CENTRE = 0.25  # standard deviation of the weight around the centre, in box sizes
NEARER = 2.0  # nearer surfaces count more, by this power of the depth: what is behind shows through gaps
MIN_PIXELS = 8
MIN_SHARE = 0.04  # of the box
HOLLOW_SHARE = 0.5  # of the weight around the centre; where more of it is unmeasured, the middle is missing
SMALL_M = 0.3
UNKNOWN_SHARE = 0.3  # of the box; where more lacks depth, it is completed
FIT_PIXELS = 1000
AROUND = 0.3  # of the box's size: so far its surroundings tell how the completed plane is turned
AROUND_SHARE = 0.1  # surroundings farther off than this share of the depth don't tell
FLAT_SHARE = 0.015  # surroundings that miss a plane by more than this share of the depth tell nothing
TURN_SHARE = 0.3  # completed depth stays within this share of the measured one


def segments_in_boxes(detections: Sequence[Detection], image: RgbdImage) -> list[Segment]:
    """One segment for each detection with depth in its box, in the same order."""
    segments: list[Segment] = []
    for found in detections:
        mask = depth_mask(image.depth[found.rows, found.columns], image.intrinsics)
        if mask is not None:
            mask, completed = complete(mask, image.depth, found.rows, found.columns)
            segments.append(Segment(found.label, found.confidence, found.left, found.top, mask, depth=completed))
    return segments


def depth_mask(depth: Float32Array, camera: Intrinsics) -> npt.NDArray[np.bool_] | None:
    """Mask of the thing in a box; None where the box has no depth to tell, or a small thing's middle has none.

    depth: float32 [h, w] metres in the box, 0 unknown. The box is cut into surfaces at steps of the depth; the surface
    with most weight (central, near) is the thing's, with other pieces at its depth (a thing behind a pole, a chair's
    slats). What lies farther from its middle than the thing is large is cut off (the table behind a cup). A small thing
    whose middle gives no depth is too near or too shiny: what was measured in its box is the table around it.
    """
    if np.count_nonzero(depth) < MIN_PIXELS:
        return None
    count, pieces = _surfaces(depth)
    weights = _weights(depth.shape)
    flat, w, z = pieces.ravel(), weights.ravel(), depth.ravel()
    area = np.bincount(flat, minlength=count).astype(float)
    mass = np.bincount(flat, w, count)
    middle = np.bincount(flat, w * z, count) / np.maximum(mass, 1e-12)
    score = mass / np.maximum(middle, 0.1) ** NEARER
    score[(area < MIN_PIXELS) | (middle <= 0)] = 0
    score[0] = 0
    best = int(np.argmax(score))
    if score[best] <= 0:
        return None
    mask = _with_pieces_of(best, pieces, depth, area)
    mask &= _within_reach(depth, mask, weights, camera)
    if np.count_nonzero(mask) < max(MIN_PIXELS, MIN_SHARE * depth.size):
        return None
    size = float(np.median(depth[mask])) * max(depth.shape[0] / camera.fy, depth.shape[1] / camera.fx)
    hollow = float(weights[depth == 0].sum()) > HOLLOW_SHARE * float(weights.sum())
    return None if hollow and size < SMALL_M else mask


def complete(
    mask: npt.NDArray[np.bool_], depth: Float32Array, rows: slice, columns: slice
) -> tuple[npt.NDArray[np.bool_], Float32Array | None]:
    """The mask with the box's unmeasured pixels, and their depth; the mask alone where most of the box is measured.

    Screens, glass and what is too near give no depth. The detector says that the thing fills its box, so those pixels
    are put on a plane: as far as the measured pixels of the mask, and turned as what is measured in and around the box
    (a screen like its wall). depth: the whole image; rows, columns: the box in it.
    """
    box = depth[rows, columns]
    unknown = box == 0
    if np.count_nonzero(unknown) < UNKNOWN_SHARE * box.size:
        return mask, None
    middle = float(np.median(box[mask]))
    plane = _inverse_plane(depth, rows, columns, middle)
    inverse = plane + np.median(1 / box[mask] - plane[mask])
    filled = 1 / np.clip(inverse, 1 / (middle * (1 + TURN_SHARE)), 1 / (middle * (1 - TURN_SHARE)))
    return mask | unknown, np.where(mask, box, filled).astype(np.float32)


def _inverse_plane(depth: Float32Array, rows: slice, columns: slice, middle: float) -> npt.NDArray[np.float64]:
    """Inverse depth over the box of the plane through what is measured in and around it, not far from ``middle``.

    Inverse depth is linear in the image on a plane. Where those are no plane it faces the camera.
    """
    height, width = rows.stop - rows.start, columns.stop - columns.start
    top, left = max(0, rows.start - int(AROUND * height)), max(0, columns.start - int(AROUND * width))
    around = depth[top : rows.stop + int(AROUND * height), left : columns.stop + int(AROUND * width)]
    v, u = np.nonzero(np.abs(around - middle) <= SAME_M + AROUND_SHARE * middle)
    step = max(1, len(v) // FIT_PIXELS)
    v, u = v[::step], u[::step]
    terms = np.stack([v, u, np.ones(len(v))], axis=1)
    values = 1 / around[v, u]
    (along_v, along_u, level), *_ = np.linalg.lstsq(terms, values, rcond=None)
    misfit = np.abs(terms @ (along_v, along_u, level) - values) * middle
    if np.median(misfit) > FLAT_SHARE:
        along_v = along_u = 0.0
    v_box, u_box = np.arange(height) + (rows.start - top), np.arange(width) + (columns.start - left)
    return np.asarray(along_v * v_box[:, None] + along_u * u_box + level)


def _surfaces(depth: Float32Array) -> tuple[int, npt.NDArray[np.int32]]:
    """Number of labels and the label of each pixel: connected surfaces 1.., 0 for edges and unknown depth."""
    smooth = depth > 0
    for now, following, here in (
        (depth[:, :-1], depth[:, 1:], smooth[:, :-1]),
        (depth[:-1], depth[1:], smooth[:-1]),
    ):
        step = np.abs(following - now) > STEP_M + STEP_SHARE * now
        here &= ~(step & (following > 0))
    count, pieces = cv2.connectedComponents(smooth.astype(np.uint8), connectivity=4, ltype=cv2.CV_32S)
    return count, np.asarray(pieces, np.int32)


def _weights(shape: tuple[int, ...]) -> Float32Array:
    rows, columns = (np.exp(-0.5 * (np.linspace(-0.5, 0.5, n, dtype=np.float32) / CENTRE) ** 2) for n in shape)
    return np.asarray(np.outer(rows, columns), np.float32)


def _with_pieces_of(
    best: int, pieces: npt.NDArray[np.int32], depth: Float32Array, area: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """The best surface and the other pieces whose mean depth lies in its range."""
    own = pieces == best
    low, high = np.percentile(depth[own], (5, 95))
    slack = SAME_M + SAME_SHARE * high
    mean = np.bincount(pieces.ravel(), depth.ravel(), len(area)) / np.maximum(area, 1)
    same = (mean >= low - slack) & (mean <= high + slack)
    same[0] = False
    return np.asarray(same[pieces], np.bool_)


def _within_reach(
    depth: Float32Array, mask: npt.NDArray[np.bool_], weights: Float32Array, camera: Intrinsics
) -> npt.NDArray[np.bool_]:
    """Pixels not farther from the thing's middle depth than its size in the image allows."""
    z, w = depth[mask], weights[mask]
    order = np.argsort(z, kind="stable")
    total = np.cumsum(w[order])
    middle = float(z[order][np.searchsorted(total, total[-1] / 2)])
    height, width = depth.shape
    size = max(width * middle / camera.fx, height * middle / camera.fy)
    return np.asarray(np.abs(depth - middle) <= REACH_M + REACH * size)
