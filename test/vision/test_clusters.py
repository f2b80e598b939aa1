"""Clusters on a table in a room, ray-cast with the noise of a depth camera: each box once, with its size and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from r4_ros.adapters.clusters import Clusters
from r4_ros.bridges.bag import Bag
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage
from r4_ros.perception.lift import lift
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.silhouette import measured_area
from r4_ros.perception.stream import Stream

trimesh = pytest.importorskip("trimesh", reason="needs the extra of `make setup-vision`")
pytestmark = pytest.mark.vision
TABLE_M = 0.75
THINGS = {  # centre on the table (x, y) and size, metres
    "tall": ((-0.35, 0.05), (0.20, 0.15, 0.30)),
    "cube": ((0.0, -0.1), (0.12, 0.12, 0.12)),
    "flat": ((0.35, 0.1), (0.30, 0.20, 0.10)),
    "thin": ((0.05, 0.22), (0.08, 0.08, 0.22)),
}
CAMERA = Intrinsics(640, 480, 525.0, 525.0, 320.0, 240.0)
EYE = np.array((0.3, -1.5, 1.5))


@pytest.fixture
def clusters() -> Clusters:
    pytest.importorskip("open3d", reason="needs Open3D: make setup-vision")
    made = Clusters()
    made.load()
    return made


def box(size: tuple[float, ...], centre: tuple[float, ...]) -> Any:
    mesh = trimesh.creation.box(size)
    mesh.apply_translation(centre)
    return mesh


def looking_at(target: tuple[float, float, float]) -> np.ndarray:
    """Rotation of a camera in EYE: its axes as columns, in the map."""
    z = np.array(target) - EYE
    z /= np.linalg.norm(z)
    x = np.cross(z, (0, 0, 1))
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def depth_of(meshes: list[Any], rotation: np.ndarray, noise: float) -> np.ndarray:
    """Depth image float32; noise: standard deviation at 1 m, which grows with the square of the distance."""
    u, v = np.meshgrid(np.arange(CAMERA.width), np.arange(CAMERA.height))
    rays = np.stack([(u - CAMERA.cx) / CAMERA.fx, (v - CAMERA.cy) / CAMERA.fy, np.ones(u.shape)], -1).reshape(-1, 3)
    scene = trimesh.ray.ray_pyembree.RayMeshIntersector(trimesh.util.concatenate(meshes))
    origins = np.repeat(EYE[None], len(rays), axis=0)
    hits, ray, _ = scene.intersects_location(origins, rays @ rotation.T, multiple_hits=False)
    depth = np.zeros(len(rays), np.float32)
    z = (hits - EYE) @ rotation[:, 2]
    depth[ray] = z + np.random.default_rng(0).normal(0, 1, len(z)) * noise * z**2
    return depth.reshape(CAMERA.height, CAMERA.width)


def room() -> list[Any]:
    return [
        box((8, 8, 0.1), (0, 0, -0.05)),
        box((8, 0.1, 4), (0, 1.5, 1)),
        box((1.4, 0.8, 0.04), (0, 0, TABLE_M - 0.02)),
    ]


def image_of(depth: np.ndarray) -> RgbdImage:
    return RgbdImage(np.zeros((*depth.shape, 3), np.uint8), depth, CAMERA)


@pytest.mark.parametrize("noise", [0.0, 0.0019])
def test_the_boxes_on_a_table_are_found_with_their_sizes(clusters: Clusters, noise: float) -> None:
    rotation = looking_at((0, 0, 0.8))
    things = [box(size, (x, y, TABLE_M + size[2] / 2)) for (x, y), size in THINGS.values()]
    depth = depth_of([*room(), *things], rotation, noise)
    segments = clusters.segment(image_of(depth))
    assert len(segments) == len(THINGS)
    assert [s.label for s in segments] == ["object"] * len(THINGS)
    orientation = tuple(Rotation.from_matrix(rotation).as_quat())
    found = lift(segments, depth, CAMERA, orientation, measured_area(depth), 30)
    centres = np.array([rotation @ f.box.pose.position + EYE for f in found])
    for name, ((x, y), size) in THINGS.items():
        distance = np.linalg.norm(centres[:, :2] - (x, y), axis=1)
        nearest = found[int(distance.argmin())]
        assert distance.min() < 0.03, name
        assert abs(centres[distance.argmin(), 2] - TABLE_M - size[2] / 2) < 0.02, name
        across, along, up = nearest.box.extent
        assert (across, up) == pytest.approx((size[0], size[2]), abs=0.02), name
        assert size[1] - 0.04 < along < size[1] + 0.02, name  # of the back only what could be seen


def test_the_same_image_gives_the_same_masks(clusters: Clusters) -> None:
    things = [box(size, (x, y, TABLE_M + size[2] / 2)) for (x, y), size in THINGS.values()]
    image = image_of(depth_of([*room(), *things], looking_at((0, 0, 0.8)), 0.0019))
    first, second = clusters.segment(image), clusters.segment(image)
    assert [(s.left, s.top, s.mask.tobytes()) for s in first] == [(s.left, s.top, s.mask.tobytes()) for s in second]


def test_an_empty_room_and_no_depth_have_nothing_in_them(clusters: Clusters) -> None:
    assert clusters.segment(image_of(depth_of(room(), looking_at((0, 0, 0.8)), 0.0019))) == []
    assert clusters.segment(image_of(np.zeros((480, 640), np.float32))) == []
    few = np.zeros((480, 640), np.float32)
    few[10, 10] = 1.0
    assert clusters.segment(image_of(few)) == []


def test_what_is_beyond_reach_or_too_large_is_left_out() -> None:
    pytest.importorskip("open3d", reason="needs Open3D: make setup-vision")
    depth = depth_of([*room(), box((0.3, 0.3, 0.3), (0, 0, TABLE_M + 0.15))], looking_at((0, 0, 0.8)), 0.0)
    for options, count in (({}, 1), ({"max_depth_m": 1.0}, 0), ({"max_size_m": 0.2}, 0), ({"min_pixels": 50_000}, 0)):
        made = Clusters(**options)
        made.load()
        assert len(made.segment(image_of(depth))) == count, options


def test_mugs_and_a_chair_of_the_recorded_kitchen_are_things_and_its_table_is_none(
    clusters: Clusters, shared_data: Path
) -> None:
    config = PerceptionConfig(agent_id="robot")
    pipeline, stream, captures = Pipeline(config, clusters, None), Stream(config), []
    for recorded in Bag(shared_data / "kitchen_mcap").messages():
        captures += stream.add(recorded.role, recorded.decode())
        if len(captures) >= 46:
            break
    segments = clusters.segment(pipeline.decode(captures[44]))

    def at(x: int, y: int) -> list[tuple[int, int]]:
        """Sizes of the things that cover a pixel."""
        sizes = []
        for s in segments:
            row, column = y - s.top, x - s.left
            if 0 <= row < s.mask.shape[0] and 0 <= column < s.mask.shape[1] and s.mask[row, column]:
                sizes.append(s.mask.shape)
        return sizes

    for x, y, height, width in ((155, 275, 48, 40), (930 - 640, 205, 67, 151), (1205 - 640, 375, 60, 38)):
        assert at(x, y) == [(pytest.approx(height, abs=12), pytest.approx(width, abs=12))]
    assert at(450, 350) == at(60, 430) == []
