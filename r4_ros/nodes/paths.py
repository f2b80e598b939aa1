"""Where a node's files lie."""

from __future__ import annotations

import os
import re
from pathlib import Path

from r4_ros.core.errors import InvalidArgument

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")


def ros_home(name: str) -> Path:
    """A file of a node: absolute as given, otherwise in ROS_HOME (~/.ros), whose folder is made."""
    home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros")
    path = home / Path(name).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def snapshot_path(folder: Path, name: str) -> Path:
    """A new file in the snapshot folder. Raises InvalidArgument for anything but a plain, unused name."""
    if not NAME.fullmatch(name):
        raise InvalidArgument(f"'{name}' is no snapshot name: use letters, digits, '-', '_' and '.', never a path")
    path = folder / name
    if path.exists():
        raise InvalidArgument(f"the snapshot '{name}' exists already: choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    return path
