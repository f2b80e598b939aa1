"""Process-wide settings that must be made before the first ROS context: library paths and Fast DDS' shared memory."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import MutableMapping
from pathlib import Path

from r4_ros.core.errors import Unavailable

PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # up to Jazzy; from Kilted on
MIB = 1 << 20
SEGMENTS_MIB = (64, 16)
SEGMENTS_THAT_FIT = 4  # one a process; a profile is taken only if /dev/shm holds at least as many


def share_dir(name: str) -> Path:
    """The folder ``config`` or ``launch``, of the checkout or of the installed package.

    Raises Unavailable where neither is there.
    """
    checkout = Path(__file__).resolve().parents[2] / name
    if checkout.is_dir():
        return checkout
    for prefix in os.environ.get("AMENT_PREFIX_PATH", sys.prefix).split(os.pathsep):
        installed = Path(prefix) / "share" / "r4_ros" / name
        if installed.is_dir():
            return installed
    raise Unavailable(f"r4_ros' folder '{name}' is not installed; build the package with colcon or pip")


def prepare() -> None:
    """Make this process ready for rclpy; says on stderr if Fast DDS keeps its own settings. Harmless if repeated."""
    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)
    line = use_shared_memory(os.environ)
    if line:
        print(f"r4: {line}", file=sys.stderr)


def use_shared_memory(environ: MutableMapping[str, str], free_bytes: int | None = None) -> str:
    """Choose the shared-memory profile that fits /dev/shm, unless the robot has its own settings.

    Gives the reason in one line where nothing was set, otherwise "". ``free_bytes``: of /dev/shm; None: measure.
    """
    if environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp") not in (
        "",
        "rmw_fastrtps_cpp",
        "rmw_fastrtps_dynamic_cpp",
    ):
        return f"RMW_IMPLEMENTATION is {environ['RMW_IMPLEMENTATION']}: no Fast DDS profile is needed"
    given = [name for name in PROFILE_VARIABLES if environ.get(name)]
    if given:
        ours = environ.get("R4_FASTDDS_PROFILE") == environ[given[0]]
        return "" if ours else f"{given[0]} is set: the shared-memory profile of r4_ros is not used"
    if environ.get("ROS_DISCOVERY_SERVER"):
        return "ROS_DISCOVERY_SERVER is set: the shared-memory profile of r4_ros is not used"
    free = _free_shm() if free_bytes is None else free_bytes
    for size in SEGMENTS_MIB:
        if free >= size * MIB * SEGMENTS_THAT_FIT:
            profile = str(share_dir("config") / f"fastdds_{size}mib.xml")
            environ.update(dict.fromkeys((*PROFILE_VARIABLES, "R4_FASTDDS_PROFILE"), profile))
            return ""
    return f"/dev/shm has {free // MIB} MiB free: too little for the shared-memory profile, images may be lost"


def _free_shm() -> int:
    return shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else 0
