"""Folders of RGB-D frames with poses, as recordings: the TUM layout and numbered frames (7-Scenes, ScanNet exports)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from rosbags.typesys import Stores, get_typestore

from r4_ros.bridges.recording import CAMERA_INFO, COMPRESSED, IMAGE, TF, Recorded, Topic
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose, normalized, quat_from_matrix, rotate, vec3
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import FloatArray, Intrinsics, Pose, Quat

CAMERA_FRAME, LOST_FRAME = "camera_optical_frame", "camera_without_pose"
TUM_SCALE, MM_SCALE = 1 / 5000, 1 / 1000  # metres a unit of the depth png
NO_DEPTH = 65535
TOPICS = {
    "color": Topic("color/image_raw/compressed", COMPRESSED),
    "depth": Topic("depth/image_raw", IMAGE),
    "color_info": Topic("color/camera_info", CAMERA_INFO),
    "depth_info": Topic("depth/camera_info", CAMERA_INFO),
    "tf": Topic("/tf", TF),
}
UP_AXES: dict[str, tuple[float, float, float]] = {
    "x": (1, 0, 0), "-x": (-1, 0, 0), "y": (0, 1, 0), "-y": (0, -1, 0), "z": (0, 0, 1), "-z": (0, 0, -1)
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Item:
    """What happens at a stamp: an image file, or a pose (None: tracking was lost)."""

    stamp_ns: int
    role: str
    file: Path | None = None
    pose: Pose | None = None
    frame: str = CAMERA_FRAME


class RgbdFolder:
    """A folder with rgb.txt, depth.txt and groundtruth.txt, or with frame-000000.color.*, .depth.png and .pose.txt.

    intrinsics: of both images, or of colour only where ``depth_intrinsics`` is given too; None: from a file of the
    folder. fps: rate of numbered frames, which have no stamps. up: axis of the poses' world that points up; 'auto': the
    one that the cameras stand upright to. Implements bridges.recording.Recording. Raises InvalidArgument.
    """

    def __init__(
        self,
        path: str | Path,
        intrinsics: Sequence[float] | None = None,
        depth_intrinsics: Sequence[float] | None = None,
        fps: float = 30.0,
        up: str = "auto",
    ) -> None:
        self.path = Path(path)
        self._store = get_typestore(Stores.ROS2_JAZZY)
        self._scale = TUM_SCALE if is_tum(self.path) else MM_SCALE
        items = _tum_items(self.path) if is_tum(self.path) else _numbered_items(self.path, fps)
        self._items = _turned(items, up)
        self._color = _intrinsics(self.path, intrinsics, self._size("color"))
        self._depth = self._color if depth_intrinsics is None else _checked(depth_intrinsics, self._size("depth"))

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def topics(self) -> Sequence[Topic]:
        """What the folder is played as."""
        return tuple(TOPICS.values())

    @property
    def roles(self) -> Mapping[str, Topic]:
        """The topics that the folder is played on."""
        return TOPICS

    def messages(self, roles: Sequence[str] = ()) -> Iterator[Recorded]:
        """Poses and images in the order of their stamps; the camera infos come first."""
        if self._items and (not roles or "color_info" in roles or "depth_info" in roles):
            for role, camera in (("color_info", self._color), ("depth_info", self._depth)):
                yield self._recorded(role, self._items[0].stamp_ns, self._info(self._items[0].stamp_ns, camera))
        for item in self._items:
            if roles and item.role not in roles:
                continue
            if item.role == "tf":
                if item.pose is not None:
                    yield self._recorded("tf", item.stamp_ns, self._transform(item.stamp_ns, item.pose))
            else:
                yield self._image(item)

    def close(self) -> None:
        """Nothing is held open."""

    def _recorded(self, role: str, stamp_ns: int, message: Any) -> Recorded:
        topic = TOPICS[role]
        raw = bytes(self._store.serialize_cdr(message, topic.type_name))
        return Recorded(stamp_ns, role, topic, raw, lambda: message, None if role == "tf" else stamp_ns)

    def _image(self, item: _Item) -> Recorded:
        """The image at a stamp; ``decode`` raises InvalidArgument for a file that can't be read, as a bag's does."""
        assert item.file is not None
        header = self._header(item.stamp_ns, item.frame)
        make = self._depth_image if item.role == "depth" else self._color_image
        try:
            return self._recorded(item.role, item.stamp_ns, make(item.file, header))
        except InvalidArgument as error:
            empty = self._recorded(item.role, item.stamp_ns, self._empty(item.role, header))
            return replace(empty, decode=partial(_fail, error))

    def _color_image(self, file: Path, header: Any) -> Any:
        try:
            data = np.fromfile(file, np.uint8)
        except OSError as error:
            raise InvalidArgument(f"{file} can't be read: {error}") from error
        form = "jpeg" if file.suffix.lower() in (".jpg", ".jpeg") else "png"
        return self._type(COMPRESSED)(header=header, format=form, data=data)

    def _empty(self, role: str, header: Any) -> Any:
        none = np.zeros(0, np.uint8)
        if role == "color":
            return self._type(COMPRESSED)(header=header, format="png", data=none)
        return self._type(IMAGE)(header=header, height=0, width=0, encoding="32FC1", is_bigendian=0, step=0, data=none)

    def _depth_image(self, file: Path, header: Any) -> Any:
        units = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        if units is None or units.ndim != 2 or units.dtype != np.uint16:
            raise InvalidArgument(f"{file} is no depth image: a png with one channel of 16 bits is needed")
        metres = np.where(units == NO_DEPTH, 0, units).astype("<f4") * np.float32(self._scale)
        height, width = units.shape
        data = np.frombuffer(metres.tobytes(), np.uint8)
        return self._type(IMAGE)(
            header=header, height=height, width=width, encoding="32FC1", is_bigendian=0, step=4 * width, data=data
        )

    def _size(self, role: str) -> tuple[int, int]:
        first = next((item.file for item in self._items if item.role == role and item.file), None)
        image = cv2.imread(str(first), cv2.IMREAD_UNCHANGED) if first else None
        if image is None:
            raise InvalidArgument(f"{self.path} has no readable {role} image")
        return int(image.shape[1]), int(image.shape[0])

    def _type(self, name: str) -> Any:
        return self._store.types[name]

    def _header(self, stamp_ns: int, frame: str) -> Any:
        stamp = self._type("builtin_interfaces/msg/Time")(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
        return self._type("std_msgs/msg/Header")(stamp=stamp, frame_id=frame)

    def _info(self, stamp_ns: int, camera: Intrinsics) -> Any:
        fx, fy, cx, cy = camera.fx, camera.fy, camera.cx, camera.cy
        roi = self._type("sensor_msgs/msg/RegionOfInterest")(
            x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
        )
        return self._type(CAMERA_INFO)(
            header=self._header(stamp_ns, CAMERA_FRAME),
            height=camera.height,
            width=camera.width,
            distortion_model="plumb_bob",
            d=np.zeros(5),
            k=np.array([fx, 0, cx, 0, fy, cy, 0, 0, 1.0]),
            r=np.eye(3).ravel(),
            p=np.array([fx, 0, cx, 0, 0, fy, cy, 0, 0, 0, 1.0, 0]),
            binning_x=0,
            binning_y=0,
            roi=roi,
        )

    def _transform(self, stamp_ns: int, pose: Pose) -> Any:
        x, y, z = pose.position
        qx, qy, qz, qw = pose.orientation
        transform = self._type("geometry_msgs/msg/Transform")(
            translation=self._type("geometry_msgs/msg/Vector3")(x=x, y=y, z=z),
            rotation=self._type("geometry_msgs/msg/Quaternion")(x=qx, y=qy, z=qz, w=qw),
        )
        stamped = self._type("geometry_msgs/msg/TransformStamped")(
            header=self._header(stamp_ns, "map"), child_frame_id=CAMERA_FRAME, transform=transform
        )
        return self._type(TF)(transforms=[stamped])


def _fail(error: InvalidArgument) -> Any:
    raise error


def is_tum(path: Path) -> bool:
    """Whether the folder has the TUM layout."""
    return all((path / name).is_file() for name in ("rgb.txt", "depth.txt", "groundtruth.txt"))


def is_numbered(path: Path) -> bool:
    """Whether the folder has numbered frames."""
    return path.is_dir() and next(path.glob("frame-*.depth.png"), None) is not None


def _tum_items(path: Path) -> list[_Item]:
    items: list[_Item] = []
    for role, name in (("color", "rgb.txt"), ("depth", "depth.txt")):
        for stamp, file in _rows(path / name, 2):
            items.append(_Item(_seconds(stamp, path / name), role, path / file))
    for stamp, *values in _rows(path / "groundtruth.txt", 8):
        numbers = [_number(value, path / "groundtruth.txt") for value in values]
        pose = Pose(vec3(numbers[:3]), normalized((numbers[3], numbers[4], numbers[5], numbers[6])))
        items.append(_Item(_seconds(stamp, path / "groundtruth.txt"), "tf", pose=pose))
    return _sorted(items)


def _numbered_items(path: Path, fps: float) -> list[_Item]:
    items: list[_Item] = []
    for depth in sorted(path.glob("frame-*.depth.png")):
        found = re.fullmatch(r"frame-(\d+)\.depth\.png", depth.name)
        if found is None:
            continue
        stem, stamp_ns = f"frame-{found[1]}", nanoseconds(int(found[1]) / fps)
        color = next((f for kind in ("png", "jpg", "jpeg") if (f := path / f"{stem}.color.{kind}").is_file()), None)
        if color is None:
            raise InvalidArgument(f"{path} has {depth.name} but no {stem}.color.png or .jpg")
        pose = _pose_file(path / f"{stem}.pose.txt")
        frame = LOST_FRAME if pose is None else CAMERA_FRAME
        items.append(_Item(stamp_ns, "tf", pose=pose))
        items.append(_Item(stamp_ns, "color", color, frame=frame))
        items.append(_Item(stamp_ns, "depth", depth, frame=frame))
    if not items:
        raise InvalidArgument(f"{path} has neither rgb.txt, depth.txt and groundtruth.txt nor frame-*.depth.png")
    return _sorted(items)


def _sorted(items: list[_Item]) -> list[_Item]:
    """By stamp; at one stamp the pose first, then colour, then depth."""
    order = {"tf": 0, "color": 1, "depth": 2}
    return sorted(items, key=lambda item: (item.stamp_ns, order[item.role]))


def _pose_file(file: Path) -> Pose | None:
    """Camera to world, 4 x 4; None where tracking was lost (infinite or missing)."""
    if not file.is_file():
        return None
    try:
        matrix = np.loadtxt(file)
    except ValueError as error:
        raise InvalidArgument(f"{file} is no 4 x 4 matrix: {error}") from error
    if matrix.shape != (4, 4):
        raise InvalidArgument(f"{file} is no 4 x 4 matrix")
    if not np.isfinite(matrix).all():
        return None
    u, _, v = np.linalg.svd(matrix[:3, :3])
    return Pose(vec3(matrix[:3, 3]), quat_from_matrix(u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v))


def _turned(items: list[_Item], up: str) -> list[_Item]:
    """The items with poses in a map whose z points up."""
    poses = [item.pose for item in items if item.pose is not None]
    if not poses:
        raise InvalidArgument("the folder has no pose: nothing in it can be placed")
    if up == "auto":
        upright = np.mean([rotate(pose.orientation, (0.0, -1.0, 0.0)) for pose in poses], axis=0)
        axis = max(UP_AXES.values(), key=lambda candidate: float(np.dot(candidate, upright)))
    elif up in UP_AXES:
        axis = UP_AXES[up]
    else:
        raise InvalidArgument(f"up axis '{up}': use auto, {', '.join(UP_AXES)}")
    turn = Pose(orientation=_turn_to_z(np.asarray(axis, float)))
    return [
        _Item(i.stamp_ns, i.role, i.file, None if i.pose is None else compose(turn, i.pose), i.frame) for i in items
    ]


def _turn_to_z(axis: FloatArray) -> Quat:
    """The shortest rotation that brings an axis to z."""
    x, y, z = axis
    if z < -0.999:
        return 1.0, 0.0, 0.0, 0.0
    return normalized((float(y), float(-x), 0.0, 1.0 + float(z)))


def _intrinsics(path: Path, given: Sequence[float] | None, size: tuple[int, int]) -> Intrinsics:
    if given is not None:
        return _checked(given, size)
    for name in ("camera-intrinsics.txt", "intrinsics.txt", "intrinsic_color.txt", "intrinsic/intrinsic_color.txt"):
        file = path / name
        if file.is_file():
            try:
                matrix = np.loadtxt(file)
                return _checked((matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]), size)
            except (ValueError, IndexError) as error:
                raise InvalidArgument(f"{file} is no 3 x 3 or 4 x 4 camera matrix: {error}") from error
    raise InvalidArgument(f"{path} has no camera-intrinsics.txt: give --intrinsics fx,fy,cx,cy")


def _checked(values: Sequence[float], size: tuple[int, int]) -> Intrinsics:
    if len(values) != 4 or not np.isfinite(values).all() or min(values[:2]) <= 0:
        raise InvalidArgument(f"intrinsics {list(values)}: four numbers fx,fy,cx,cy in pixels are needed")
    fx, fy, cx, cy = (float(v) for v in values)
    return Intrinsics(size[0], size[1], fx, fy, cx, cy)


def _rows(file: Path, columns: int) -> list[list[str]]:
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{file} can't be read: {error}") from error
    rows = [line for line in lines if line and not line[0].startswith("#")]
    for row in rows:
        if len(row) < columns:
            raise InvalidArgument(f"{file}: '{' '.join(row)}' has fewer than {columns} columns")
    return [row[:columns] for row in rows]


def _seconds(text: str, file: Path) -> int:
    """Nanoseconds of decimal seconds, exactly."""
    found = re.fullmatch(r"(\d+)(?:\.(\d{1,9})\d*)?", text)
    if found is None:
        raise InvalidArgument(f"{file}: '{text}' is no stamp in seconds")
    return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0"))


def _number(text: str, file: Path) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidArgument(f"{file}: '{text}' is no number") from error
