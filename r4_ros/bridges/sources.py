"""What a path holds: a rosbag2 recording, or a folder of RGB-D frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from r4_ros.bridges.bag import Bag
from r4_ros.bridges.recording import Recording
from r4_ros.bridges.rgbd_folder import RgbdFolder, is_numbered, is_tum
from r4_ros.core.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """What a folder of frames doesn't say itself; see RgbdFolder."""

    intrinsics: Sequence[float] | None = None
    depth_intrinsics: Sequence[float] | None = None
    fps: float = 30.0
    up: str = "auto"

    @classmethod
    def of_texts(cls, intrinsics: str, depth_intrinsics: str, fps: float, up: str) -> FolderOptions:
        """From a command line. Raises InvalidArgument."""
        return cls(_numbers(intrinsics), _numbers(depth_intrinsics), fps, up)


def open_recording(
    path: Path, chosen: Mapping[str, str], options: FolderOptions, wanted: Sequence[str] = ()
) -> Recording:
    """The recording at a path. ``chosen``: topics by role; ``wanted``: roles that it needs. Raises InvalidArgument."""
    if not path.exists():
        raise InvalidArgument(f"there is no {path}")
    if is_tum(path) or is_numbered(path):
        if chosen:
            raise InvalidArgument(f"{path} is a folder of frames: it has no topics to be named")
        return RgbdFolder(path, options.intrinsics, options.depth_intrinsics, options.fps, options.up)
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        raise InvalidArgument(
            f"{path} is no recording: it has no metadata.yaml (rosbag2), no rgb.txt, depth.txt and groundtruth.txt, "
            "and no frame-*.depth.png. A recording that was cut off: give its .mcap or .db3 file itself"
        )
    return Bag(path, chosen, wanted=wanted)


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError as error:
        raise InvalidArgument(f"intrinsics '{text}': four numbers fx,fy,cx,cy are needed") from error
