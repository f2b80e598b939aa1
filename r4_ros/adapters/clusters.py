"""Segmentation without any model: large planes are taken away, what is left falls apart into things (Open3D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from scipy.spatial import cKDTree

from r4_ros.adapters.torch_runtime import INSTALL
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Float32Array, FloatArray, Intrinsics
from r4_ros.core.ports import RgbdImage, Segment

LABEL = "object"
CONFIDENCE = 0.5  # a thing is there, but nobody said what
VOXEL_M = 0.02
NORMAL_RADIUS_M = 0.06
NORMAL_NEIGHBOURS = 60
PLANE_M = 0.02  # points this near to a plane are on it, or as near as depth noise allows:
NOISE_PER_M = 0.0057  # three standard deviations at 1 m; grows with the square of the distance
STEADY_M = 0.03  # normals mean something where noise is below this
PLANE_ANGLE_DEG = 25.0  # there a plane's points have normals this close to its own; sides of things don't
PLANE_TRIES = 300
PLANE_SAMPLE = 8000  # voxels that planes are guessed from
MAX_PLANES = 8
EDGE_M = 0.08  # what lies no more than this behind a plane, and not in front of it, is its edge
GAP_M = 2.5 * VOXEL_M  # things farther apart are two
DENSE = 4  # voxels within the gap that make one a thing's inside


@dataclass(frozen=True, eq=False, slots=True)
class _Plane:
    """normal . point + offset = 0, with the camera on the positive side; which voxels are on it."""

    normal: FloatArray
    offset: float
    voxels: npt.NDArray[np.intp]

    def height(self, points: FloatArray) -> FloatArray:
        """Signed distance of points [n, 3], positive towards the camera."""
        return points @ self.normal + self.offset


class Clusters:
    """Things as clusters of the depth image's points. Implements core.ports.Segmenter.

    Planes of at least ``min_plane_m2`` seen surface (floor, walls, table tops) are removed, so things with flat sides
    of that size are lost. Depth beyond ``max_depth_m`` is too noisy and ignored. Clusters larger than ``max_size_m``
    or with fewer than ``min_pixels`` pixels are dropped. All are labelled 'object'. Deterministic.
    """

    def __init__(
        self, min_plane_m2: float = 0.25, max_size_m: float = 2.0, max_depth_m: float = 4.0, min_pixels: int = 60
    ) -> None:
        self._min_plane_voxels = min_plane_m2 / VOXEL_M**2
        self._max_size_m, self._max_depth_m, self._min_pixels = max_size_m, max_depth_m, min_pixels
        self._open3d: Any = None

    def load(self) -> None:
        """Import Open3D. Raises Unavailable."""
        try:
            import open3d
        except (ImportError, OSError) as error:
            raise Unavailable(
                f"clusters needs Open3D: {INSTALL} open3d-cpu; it also needs the system's libGL, libEGL, libX11 and "
                f"libusb ({error})"
            ) from error
        self._open3d = open3d

    def close(self) -> None:
        """Nothing stays allocated."""
        self._open3d = None

    def segment(self, image: RgbdImage) -> list[Segment]:
        """One segment a cluster, from the image's upper left to its lower right."""
        rows, columns = np.nonzero((image.depth > 0) & (image.depth <= self._max_depth_m))
        if not len(rows):
            return []
        points = _points(rows, columns, image.depth, image.intrinsics)
        centres, voxel_of = _voxels(points)
        numbers = self._clusters(centres)
        labels = np.zeros(image.depth.shape, np.int32)
        labels[rows, columns] = numbers[voxel_of] + 1
        segments = []
        for number, window in enumerate(ndimage.find_objects(labels), start=1):
            if window is None:
                continue
            mask = labels[window] == number
            if np.count_nonzero(mask) >= self._min_pixels:
                segments.append(Segment(LABEL, CONFIDENCE, window[1].start, window[0].start, mask))
        return sorted(segments, key=lambda s: (s.top, s.left))

    def _clusters(self, centres: FloatArray) -> npt.NDArray[np.int32]:
        """For each voxel [n, 3] the number of its thing, or -1."""
        planes = self._planes(centres)
        on_plane = np.zeros(len(centres), np.bool_)
        for plane in planes:
            on_plane[plane.voxels] = True
        numbers = np.full(len(centres), -1, np.int32)
        left = np.flatnonzero(~on_plane)
        if len(left):
            numbers[left] = np.asarray(self._cloud(centres[left]).cluster_dbscan(eps=GAP_M, min_points=DENSE))
        for number in range(numbers.max() + 1):
            own = centres[numbers == number]
            large = float(np.ptp(own, axis=0).max()) > self._max_size_m
            if large or any(_is_edge(own, plane, centres) for plane in planes):
                numbers[numbers == number] = -1
        return numbers

    def _planes(self, centres: FloatArray) -> list[_Plane]:
        """The large planes, each with its voxels."""
        cloud = self._cloud(centres)
        search = self._open3d.geometry.KDTreeSearchParamHybrid(NORMAL_RADIUS_M, NORMAL_NEIGHBOURS)
        cloud.estimate_normals(search)
        normals = np.asarray(cloud.normals)
        noise = _noise(centres)
        tolerance = np.maximum(PLANE_M, noise)
        free = np.ones(len(centres), np.bool_)
        planes: list[_Plane] = []
        while len(planes) < MAX_PLANES and np.count_nonzero(free) >= self._min_plane_voxels:
            normal, offset = self._guess(centres[free])
            flat = np.abs(normals @ normal) >= np.cos(np.radians(PLANE_ANGLE_DEG))
            near = np.abs(centres @ normal + offset) <= tolerance
            plane = _Plane(normal, offset, np.flatnonzero(near & free & (flat | (noise > STEADY_M))))
            if len(plane.voxels) < self._min_plane_voxels:
                break
            free[plane.voxels] = False
            planes.append(plane)
        return planes

    def _guess(self, points: FloatArray) -> tuple[FloatArray, float]:
        """Normal (towards the camera) and offset of the plane with most of the points."""
        sample = points[:: max(1, len(points) // PLANE_SAMPLE)]
        self._open3d.utility.random.seed(0)
        model, _ = self._cloud(sample).segment_plane(
            distance_threshold=PLANE_M, ransac_n=3, num_iterations=PLANE_TRIES, probability=1.0
        )
        model = np.asarray(model) / np.linalg.norm(model[:3])
        if model[3] < 0:
            model = -model
        return model[:3], float(model[3])

    def _cloud(self, points: FloatArray) -> Any:
        cloud = self._open3d.geometry.PointCloud()
        cloud.points = self._open3d.utility.Vector3dVector(points)
        return cloud


def _noise(points: FloatArray) -> FloatArray:
    """Three standard deviations of depth at points [n, 3], metres."""
    return NOISE_PER_M * points[:, 2] ** 2


def _is_edge(own: FloatArray, plane: _Plane, centres: FloatArray) -> bool:
    """Whether a cluster touches the plane without standing out in front of it: a table's edge, the wall's foot."""
    height = plane.height(own)
    if height.min() < -EDGE_M or np.any(height > np.maximum(PLANE_M, _noise(own))):
        return False
    distance, _ = cKDTree(centres[plane.voxels]).query(own, distance_upper_bound=GAP_M)
    return bool(np.isfinite(distance).any())


def _points(
    rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], depth: Float32Array, camera: Intrinsics
) -> FloatArray:
    """Points of pixels in the sensor frame, float64 [n, 3] metres."""
    z = depth[rows, columns].astype(float)
    return np.stack([(columns - camera.cx) * z / camera.fx, (rows - camera.cy) * z / camera.fy, z], axis=1)


def _voxels(points: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Mean point of each occupied voxel [m, 3], and the number of the voxel that each point is in [n]."""
    cells = np.floor(points / VOXEL_M).astype(np.int64)
    cells -= cells.min(axis=0)
    sizes = cells.max(axis=0) + 1
    keys = (cells[:, 0] * sizes[1] + cells[:, 1]) * sizes[2] + cells[:, 2]
    _, voxel_of, counts = np.unique(keys, return_inverse=True, return_counts=True)
    voxel_of = voxel_of.reshape(-1)
    sums = np.stack([np.bincount(voxel_of, points[:, i], len(counts)) for i in range(3)], axis=1)
    return sums / counts[:, None], voxel_of
