"""Where agents' maps lie in common ones, from a YAML file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from r4_ros.core.alignments import Alignment, checked
from r4_ros.core.errors import InvalidArgument, R4Error
from r4_ros.core.geometry import normalized, quat_from_rpy
from r4_ros.core.model import Pose

_FIELDS = {"agent", "map_id", "common_id", "frame", "xyz", "yaw_deg", "rpy_deg", "quaternion", "tf"}


@dataclass(frozen=True, slots=True)
class ConfiguredMap:
    """An alignment; where ``tf`` names a frame, its pose is that frame's in ``alignment.frame`` by TF."""

    alignment: Alignment
    tf: str = ""


def load_maps(path: str | Path) -> list[ConfiguredMap]:
    """Maps of a file ``maps: [{agent, map_id, common_id, frame, xyz, yaw_deg | rpy_deg | quaternion | tf}]``.

    ``xyz`` (m) and the turn are the map's origin in the common map; by default 0. Instead, ``tf`` names the map's frame
    and ``frame`` the common one's. Raises InvalidArgument, naming the map that is wrong.
    """
    try:
        items = yaml.safe_load(Path(path).read_text(encoding="utf-8"))["maps"]
        return [_map(item) for item in items]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidArgument(f"maps file {path}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, R4Error) as error:
        wanted = "must be 'maps:' with a list of agent, map_id, common_id, xyz, yaw_deg"
        raise InvalidArgument(f"maps file {path}: {wanted} ({error})") from error


def _map(item: dict[str, Any]) -> ConfiguredMap:
    unknown = set(item) - _FIELDS
    if unknown:
        raise ValueError(f"map {item.get('map_id')!r}: unknown field {sorted(unknown)[0]!r}")
    x, y, z = (float(v) for v in item.get("xyz", (0, 0, 0)))
    tf, frame = str(item.get("tf", "")), str(item.get("frame", ""))
    if tf and not frame:
        raise ValueError(f"map {item.get('map_id')!r}: with tf, 'frame' must name the common map's frame")
    names = str(item["agent"]), str(item["map_id"]), str(item["common_id"])
    return ConfiguredMap(checked(Alignment(*names, Pose((x, y, z), _turn(item)), frame)), tf)


def _turn(item: dict[str, Any]) -> tuple[float, float, float, float]:
    if "quaternion" in item:
        qx, qy, qz, qw = (float(v) for v in item["quaternion"])
        return normalized((qx, qy, qz, qw))
    roll, pitch, yaw = (math.radians(float(v)) for v in item.get("rpy_deg", (0, 0, item.get("yaw_deg", 0))))
    return quat_from_rpy(roll, pitch, yaw)
