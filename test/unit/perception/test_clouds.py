"""Point clouds: any layout in, points out; points as depth of the colour camera (CASES 2, 8, 9)."""

from __future__ import annotations

import struct
from types import SimpleNamespace as Message
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.geometry import compose, inverse
from r4_ros.core.model import OPTICAL_TO_BASE, Intrinsics, Pose
from r4_ros.perception.clouds import cloud_depth, decode_cloud

CAMERA = Intrinsics(160, 120, 140.0, 140.0, 80.0, 60.0)
CODES = {"f4": 7, "f8": 8, "i2": 3}


def cloud(
    points: np.ndarray[Any, Any],
    offsets: tuple[int, int, int] = (0, 4, 8),
    step: int = 12,
    kind: str = "f4",
    big: bool = False,
    row_padding: int = 0,
    extra: tuple[tuple[str, int, int], ...] = (),
    fill: int = 0xAB,
) -> Any:
    """A PointCloud2 of points [h, w, 3]; bytes that belong to no field are ``fill``."""
    height, width = points.shape[:2]
    row = width * step + row_padding
    data = np.full((height, row), fill, np.uint8)
    order = np.dtype(kind).newbyteorder(">" if big else "<")
    for axis, offset in enumerate(offsets):
        place = np.ndarray((height, width), order, data, offset, (row, step))
        place[...] = points[..., axis]
    fields = [
        Message(name=name, offset=offset, datatype=CODES[kind], count=1)
        for name, offset in zip("xyz", offsets, strict=True)
    ]
    fields += [Message(name=name, offset=offset, datatype=code, count=1) for name, offset, code in extra]
    return Message(
        header=Message(stamp=Message(sec=1, nanosec=0), frame_id="lidar"),
        height=height,
        width=width,
        fields=sorted(fields, key=lambda f: f.name, reverse=True),
        is_bigendian=big,
        point_step=step,
        row_step=row,
        data=data.tobytes(),
        is_dense=True,
    )


POINTS = np.array([[[1, 2, 3], [-4, 5, 6]], [[7, 8, -9], [10, 11, 12]]], np.float32)


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"step": 32, "row_padding": 5},
        {"offsets": (8, 0, 4), "step": 16},
        {"offsets": (0, 8, 16), "step": 24, "kind": "f8"},
        {"offsets": (2, 4, 6), "step": 9, "kind": "i2"},
        {"offsets": (1, 5, 9), "step": 15, "big": True},
        {"step": 20, "extra": (("rgb", 16, 7),)},
        {"step": 32, "extra": (("rgba", 16, 6), ("intensity", 20, 7), ("ring", 24, 4))},
    ],
)
def test_points_are_read_by_offset_and_step(layout: dict[str, Any]) -> None:
    found = decode_cloud(cloud(POINTS, **layout))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.T, POINTS.reshape(-1, 3))


def test_points_that_are_not_finite_are_left_out_whatever_is_dense_says() -> None:
    points = POINTS.copy()
    points[0, 1, 2], points[1, 0, 0] = np.nan, np.inf
    np.testing.assert_array_equal(decode_cloud(cloud(points)).T, [[1, 2, 3], [10, 11, 12]])
    assert decode_cloud(cloud(np.full((1, 3, 3), np.nan, np.float32))).shape == (3, 0)


def test_a_single_row_may_leave_row_step_out() -> None:
    message = cloud(POINTS.reshape(1, 4, 3))
    message.row_step = 0
    assert decode_cloud(message).shape == (3, 4)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data": b"\0" * 47}, RefusalReason.TRUNCATED_DATA),
        ({"row_step": 23}, RefusalReason.SIZE_MISMATCH),
        ({"point_step": 11}, RefusalReason.SIZE_MISMATCH),
        ({"height": 1 << 31, "width": 1 << 31}, RefusalReason.SIZE_MISMATCH),
        ({"height": 0}, RefusalReason.EMPTY_DEPTH),
        ({"fields": []}, RefusalReason.UNKNOWN_ENCODING),
        ({"fields": [Message(name=n, offset=0, datatype=9) for n in "xyz"]}, RefusalReason.UNKNOWN_ENCODING),
        ({"fields": [Message(name=n, offset=4000, datatype=7) for n in "xyz"]}, RefusalReason.SIZE_MISMATCH),
    ],
)
def test_what_cannot_be_trusted_is_refused(changes: dict[str, Any], reason: RefusalReason) -> None:
    message = cloud(POINTS)
    vars(message).update(changes)
    with pytest.raises(FrameRefused) as refused:
        decode_cloud(message)
    assert refused.value.reason == reason


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(0, 2**32 - 1) | st.integers(0, 40) for _ in range(4))),
    offsets=st.tuples(*(st.integers(0, 2**32 - 1) | st.integers(0, 40) for _ in range(3))),
    code=st.integers(0, 255) | st.integers(1, 8),
    big=st.booleans(),
    data=st.binary(max_size=400),
)
def test_any_header_over_any_bytes_is_decoded_or_refused(
    sizes: tuple[int, ...], offsets: tuple[int, ...], code: int, big: bool, data: bytes
) -> None:
    height, width, step, row = sizes
    fields = [Message(name=n, offset=o, datatype=code, count=1) for n, o in zip("xyz", offsets, strict=True)]
    message = Message(
        height=height, width=width, point_step=step, row_step=row, is_bigendian=big, fields=fields, data=data
    )
    try:
        found = decode_cloud(message)
    except FrameRefused:
        return
    assert found.shape[1] <= height * width and np.isfinite(found).all()
    depth, _ = cloud_depth(found, Pose(), CAMERA)
    assert np.isfinite(depth).all() and (depth >= 0).all()


def rays(camera: Intrinsics) -> np.ndarray[Any, Any]:
    v, u = np.mgrid[: camera.height, : camera.width]
    return np.stack([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones(u.shape)]).reshape(3, -1)


def test_a_depth_cameras_cloud_is_its_depth_image() -> None:
    depth = np.full((120, 160), 3.0, np.float32)
    depth[40:80, 60:100] = 1.5
    points = (rays(CAMERA) * depth.ravel()).astype(np.float32)
    found, spacing = cloud_depth(points, Pose(), CAMERA)
    assert spacing == 1.0
    np.testing.assert_allclose(found, depth, rtol=1e-6)


def test_points_behind_and_beside_the_camera_do_not_appear() -> None:
    points = np.array([[0, 0, -2], [5, 0, 1], [0, 0, 0], [1e38, 1e38, 1e38], [0, 0, 2]], np.float32).T
    found, _ = cloud_depth(points, Pose(), CAMERA)
    assert set(np.unique(found)) == {0.0, 2.0}


def lidar(rings: int, columns: int) -> np.ndarray[Any, Any]:
    """Unit rays [3, n] of a spinning LiDAR, x forward, z up; 60 degrees to each side, 25 up and down."""
    azimuth, elevation = np.radians(np.linspace(-60, 60, columns)), np.radians(np.linspace(-25, 25, rings))
    a, e = np.meshgrid(azimuth, elevation)
    return np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]).reshape(3, -1)


def test_what_a_lidar_sees_past_a_pillar_is_hidden_from_a_camera_behind_it() -> None:
    """A LiDAR above looks over a box that hides the wall from the camera: the wall's points must not show through."""
    wall = np.stack(np.meshgrid([4.0], np.linspace(-2, 2, 120), np.linspace(-1.2, 1.2, 80)), -1).reshape(-1, 3)
    box = np.stack(np.meshgrid([1.5], np.linspace(-0.3, 0.3, 18), np.linspace(-0.3, 0.3, 18)), -1).reshape(-1, 3)
    points = np.concatenate([wall, box]).T.astype(np.float32)
    found, spacing = cloud_depth(points, inverse(Pose(orientation=inverse(OPTICAL_TO_BASE).orientation)), CAMERA)
    assert 1.25 < spacing < 3
    inside = found[40:80, 60:100]
    assert np.count_nonzero(np.abs(inside - 1.5) < 0.01) / inside.size > 0.98
    assert abs(np.median(found[:, 130:]) - 4.0) < 0.01


def test_gaps_wider_than_the_points_are_apart_stay_unknown() -> None:
    mount = compose(OPTICAL_TO_BASE, Pose((0.0, 0.0, 0.3)))
    points = (lidar(8, 600) * 3).astype(np.float32)
    found, spacing = cloud_depth(points, mount, CAMERA)
    assert spacing > 2
    assert 0.2 < np.mean(found > 0) < 0.9


def test_is_dense_and_packed_colour_do_not_disturb() -> None:
    """RGB packed in a float may well be a NaN: it isn't looked at."""
    message = cloud(POINTS, step=20, extra=(("rgb", 16, 7),))
    data = bytearray(message.data)
    for point in range(4):
        struct.pack_into("<f", data, point * 20 + 16, float("nan"))
    message.data = bytes(data)
    assert decode_cloud(message).shape == (3, 4)
