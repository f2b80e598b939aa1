"""Whether remembered things are still where they were, or hidden: the negative evidence, ray-checked against depth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import (
    back_project,
    corners,
    inverse,
    project,
    rotate_covariance,
    rotation_matrix,
    transform_box,
    transform_points,
)
from r4_ros.core.model import (
    Box,
    EntryState,
    Float32Array,
    FloatArray,
    Intrinsics,
    Motion,
    Observation,
    PlacedEntry,
    Pose,
    Vec3,
    Visibility,
)
from r4_ros.core.pose_array import rotation_matrices
from r4_ros.perception.capture import Placement
from r4_ros.perception.lift import depth_sigma

BEHIND_M = 0.3
BEHIND_EXTENT = 0.3  # a thing smaller than a metre asks for less: this share of its largest extent
EMPTY_SHARE = 0.8
LEFT_SHARE = 0.01  # of the pixels around it that may still show something inside the box
POSE_SIGMA_M = 0.02  # of the camera
SUPPORT_M = 0.03  # what lies lower than this in the box is what the thing stood on
NEAR_M = 0.1
CERTAIN = 3.0  # a box must be so many times as large as its place is uncertain
JUST_CERTAIN, CLOSE_M = 2.0, 0.05  # so many, where that is no more than this: small things are looked for around, too
RESOLVED = 3.0  # a box must be so many times as large in the image as depth is coarse
MAX_RAYS = 1600
HIDDEN_PERIOD_NS = 10_000_000_000
MOST_HIDDEN, MOST_REMEMBERED = 10, 10_000
STEPS = np.linspace(-0.4, 0.4, 5)
GRID = np.stack(np.meshgrid(STEPS, STEPS, STEPS, indexing="ij"), axis=-1).reshape(-1, 3)


class Expectations:
    """Looks at the places where memory says that something should be; remembers which it told to be hidden."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}  # entry id -> stamp

    def check(
        self,
        entries: Sequence[PlacedEntry],
        seen: Sequence[Observation],
        depth: Float32Array,
        camera: Intrinsics,
        placement: Placement,
        first_index: int,
        depth_spacing: float = 1.0,
    ) -> tuple[Observation, ...]:
        """ABSENT for entries whose place is empty, OCCLUDED for those whose place is hidden; nothing for all others.

        depth: float32 [H, W] metres registered to the pinhole camera, 0 unknown. A place is empty when the measured
        surface lies clearly behind 80 % of the samples of its box and none lies in it; hidden when it lies before the
        box in as many. A box out of view, unmeasured or less certain than it is large tells nothing. Depth decides: a
        thing that the segmenter missed isn't absent. depth_spacing: pixels between measured depths; a box that is not
        larger tells nothing. That a place is hidden is told again after ten seconds, and of ten places in a frame.
        """
        map_in_sensor = inverse(placement.sensor_in_map)
        expected = [entry for entry in entries if entry.state != EntryState.GONE and entry.motion != Motion.DYNAMIC]
        found: list[Observation] = []
        hidden = 0
        sights = _Sights.of(seen)
        for entry, box, behind, before in self._looked_at(expected, map_in_sensor, depth, camera, placement):
            if not _is_resolved(box, camera, depth_spacing) or sights.show(box, entry.label):
                continue
            if before >= EMPTY_SHARE:
                if hidden == MOST_HIDDEN or not self._is_news(entry.entry_id, placement.stamp_ns):
                    continue
                hidden += 1
            found.append(_verdict(entry, box, map_in_sensor, behind, before, first_index + len(found)))
        return tuple(found)

    @staticmethod
    def _looked_at(
        expected: Sequence[PlacedEntry],
        map_in_sensor: Pose,
        depth: Float32Array,
        camera: Intrinsics,
        placement: Placement,
    ) -> Iterator[tuple[PlacedEntry, Box, float, float]]:
        """Entries whose place is empty or hidden, their boxes in the sensor frame, and the shares that say so."""
        entries, centres = _in_view(expected, map_in_sensor, camera)
        if not entries:
            return
        extents = np.array([entry.box.extent for entry in entries])
        turns = rotation_matrices(np.array([entry.box.pose.orientation for entry in entries]))
        turns = rotation_matrix(map_in_sensor.orientation) @ turns
        sigmas = np.array([_entry_sigma(entry) for entry in entries])
        sigmas += _pose_sigma(placement.pose_covariance, centres[:, 2])
        behind, before = _shares(centres, extents, turns, sigmas, depth, camera)
        for i in np.flatnonzero(np.maximum(behind, before) >= EMPTY_SHARE).tolist():
            box = transform_box(map_in_sensor, entries[i].box)
            empty = behind[i] >= EMPTY_SHARE and not _something_inside(box, sigmas[i], depth, camera)
            if empty or before[i] >= EMPTY_SHARE:
                yield entries[i], box, float(behind[i]) if empty else 0.0, float(before[i])

    def _is_news(self, entry_id: str, stamp_ns: int) -> bool:
        told = self._told.get(entry_id)
        if told is not None and 0 <= stamp_ns - told < HIDDEN_PERIOD_NS:
            return False
        self._told[entry_id] = stamp_ns
        if len(self._told) > MOST_REMEMBERED:
            del self._told[next(iter(self._told))]
        return True


def _verdict(
    entry: PlacedEntry, box: Box, map_in_sensor: Pose, behind: float, before: float, index: int
) -> Observation:
    return Observation(
        index=index,
        label=entry.label,
        box=box,
        position_covariance=rotate_covariance(map_in_sensor.orientation, entry.position_covariance),
        visibility=Visibility.OCCLUDED if before >= EMPTY_SHARE else Visibility.ABSENT,
        confidence=max(behind, before),
        entry_id=entry.entry_id,
        entry_revision=entry.revision,
    )


def _in_view(
    entries: Sequence[PlacedEntry], map_in_sensor: Pose, camera: Intrinsics
) -> tuple[list[PlacedEntry], FloatArray]:
    """The entries whose centres are in the image, few of the hundreds around, and these centres (sensor frame)."""
    if not entries:
        return [], np.zeros((0, 3))
    centres = transform_points(map_in_sensor, [entry.box.pose.position for entry in entries])
    pixels = project(camera, centres)
    inside = np.flatnonzero(np.all((pixels >= 0) & (pixels < (camera.width, camera.height)), axis=1))
    return [entries[i] for i in inside.tolist()], centres[inside]


def _is_resolved(box: Box, camera: Intrinsics, depth_spacing: float) -> bool:
    """Whether depth so far apart can't have missed the thing: several measurements fall onto it."""
    if depth_spacing <= 1:
        return True
    outline = project(camera, corners(box))
    return bool((np.ptp(outline, axis=0) > RESOLVED * depth_spacing).all())


def _entry_sigma(entry: PlacedEntry) -> float:
    """How far the entry may be from where it is believed to be, 1 sigma, m."""
    return math.sqrt(max(0.0, *(entry.position_covariance[i] for i in (0, 4, 8))))


def _pose_sigma(covariance: Sequence[float], distances: FloatArray) -> FloatArray:
    """How far the camera's pose may misplace things at distances [n], 1 sigma, m."""
    if not covariance:
        return np.full(len(distances), POSE_SIGMA_M)
    shift, turn = (math.sqrt(max(0.0, *(covariance[7 * i] for i in axes))) for axes in (range(3), range(3, 6)))
    return np.maximum(POSE_SIGMA_M, shift + turn * distances)


def _shares(
    centres: FloatArray,
    extents: FloatArray,
    turns: FloatArray,
    sigmas: FloatArray,
    depth: Float32Array,
    camera: Intrinsics,
) -> tuple[FloatArray, FloatArray]:
    """For each of n boxes the shares [n] of its samples with a surface clearly behind them, and clearly before the box.

    0 where nothing can be said: a box that isn't wholly in the image, is too near, or less certain than it is large.
    centres and extents [n, 3], turns [n, 3, 3]: the boxes in the sensor frame.
    """
    largest, distance = extents.max(axis=1), centres[:, 2]
    local = GRID[None] * np.maximum(extents - 2 * sigmas[:, None], 0)[:, None]
    samples = np.matmul(local, turns.transpose(0, 2, 1)) + centres[:, None]
    exact = project(camera, samples.reshape(-1, 3)).reshape(len(centres), len(GRID), 2)
    pixels = np.floor(np.where(np.isfinite(exact), exact, -1) + 0.5)
    inside = ((pixels >= 0) & (pixels < (camera.width, camera.height))).all(axis=(1, 2))
    known = inside & (distance >= NEAR_M) & _is_certain(largest, sigmas)
    at = np.where(known[:, None, None], pixels, 0).astype(np.intp)
    measured = depth[at[..., 1], at[..., 0]]
    noise = 3 * depth_sigma(distance)
    margin = np.maximum(np.maximum(np.minimum(BEHIND_M, BEHIND_EXTENT * largest), noise), sigmas)
    front = distance - (np.abs(turns[:, 2]) * extents).sum(axis=1) / 2 - margin
    before = ((measured > 0) & (measured < front[:, None])).mean(axis=1)
    behind = (measured > samples[..., 2] + margin[:, None]).mean(axis=1)
    return np.where(known, behind, 0.0), np.where(known, before, 0.0)


def _is_certain(largest: FloatArray, sigmas: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether boxes [n] of these largest extents are large against the uncertainty of their places, 1 sigma."""
    return (largest >= CERTAIN * sigmas) | ((largest >= JUST_CERTAIN * sigmas) & (sigmas <= CLOSE_M))


def _something_inside(box: Box, sigma: float, depth: Float32Array, camera: Intrinsics) -> bool:
    """Whether measured points lie in the box, widened by its uncertainty, above what it stands on.

    Things with gaps (chairs, tables) show mostly what is behind them; their legs and edges still are there. What is
    hardly larger than its uncertainty is looked for beside its box, too, twice as far around.
    """
    around, beside = (sigma, 0.0) if max(box.extent) >= CERTAIN * sigma else (2 * sigma, 2 * sigma)
    looked: Vec3 = tuple(e + 2 * beside for e in box.extent)  # type: ignore[assignment]
    outline = project(camera, corners(Box(box.pose, looked)))
    if not np.isfinite(outline).all():
        return True
    left, top = np.clip(np.floor(outline.min(axis=0)).astype(int), 0, (camera.width - 1, camera.height - 1))
    right, bottom = np.clip(np.ceil(outline.max(axis=0)).astype(int) + 1, 1, (camera.width, camera.height))
    step = max(1, int(math.sqrt((right - left) * (bottom - top) / MAX_RAYS)))
    window = depth[top:bottom:step, left:right:step]
    rows, columns = np.nonzero(window)
    points = back_project(camera, columns * step + left, rows * step + top, window[rows, columns])
    local = transform_points(inverse(box.pose), points)
    half = np.asarray(box.extent) / 2 + around
    inside = (np.abs(local) < half).all(axis=1) & (local[:, 2] > max(SUPPORT_M, sigma) - box.extent[2] / 2)
    return int(np.count_nonzero(inside)) > LEFT_SHARE * window.size


@dataclass(frozen=True, eq=False, slots=True)
class _Sights:
    """What was seen in a frame: labels, centres and half sizes [n, 3] in the sensor frame."""

    labels: list[str]
    centres: FloatArray
    halves: FloatArray

    @classmethod
    def of(cls, seen: Sequence[Observation]) -> _Sights:
        centres = np.array([o.box.pose.position for o in seen]).reshape(-1, 3)
        return cls([o.label for o in seen], centres, np.array([o.box.extent for o in seen]).reshape(-1, 3) / 2)

    def show(self, box: Box, label: str) -> bool:
        """Whether one of them is this thing: its centre in the box, or of the same label and overlapping it."""
        offset = np.abs((self.centres - box.pose.position) @ rotation_matrix(box.pose.orientation))
        alike = np.array([own == label for own in self.labels], bool)[:, None]
        half = np.asarray(box.extent) / 2 + np.where(alike, self.halves, 0)
        return bool((offset < half).all(axis=1).any())
