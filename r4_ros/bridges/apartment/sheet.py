"""Pictures of the apartment on one sheet: what a robot would see from good places in each room."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.bridges.apartment.robots import camera
from r4_ros.bridges.apartment.simulation import Simulation
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import Pose

PLACES = (
    ("living room", 4.6, 1.2, 150),
    ("living room", 4.9, 3.6, 215),
    ("kitchen", 9.9, 4.0, 235),
    ("kitchen", 6.9, 1.6, 15),
    ("hallway", 8.5, 5.8, 180),
    ("bedroom", 2.9, 7.3, 120),
    ("bathroom", 5.7, 7.2, 85),
    ("study", 8.4, 7.4, 55),
    ("study", 9.3, 7.8, 140),
)
"""Room, x, y, and where to look (degrees)."""
WIDTH, HEIGHT, COLUMNS, SHARPNESS = 480, 360, 3, 2


def save_sheet(simulation: Simulation, path: Path) -> None:
    """Write a PNG with all views at the beginning of the run. Raises InvalidArgument where it can't be written."""
    intrinsics = camera(WIDTH * SHARPNESS, HEIGHT * SHARPNESS)
    views = []
    for name, x, y, degrees in PLACES:
        pose = Pose((x, y, 0.0), quat_from_yaw(math.radians(degrees)))
        large = simulation.look(pose, intrinsics=intrinsics).color
        view = cv2.resize(large, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
        views.append(_titled(np.asarray(view, np.uint8), name))
    rows = [np.hstack(views[k : k + COLUMNS]) for k in range(0, len(views), COLUMNS)]
    ok, png = cv2.imencode(".png", cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR))
    try:
        if not ok:
            raise OSError("the picture can't be encoded")
        path.write_bytes(png.tobytes())
    except OSError as error:
        raise InvalidArgument(f"{path} can't be written: {error}") from error


def _titled(view: npt.NDArray[np.uint8], title: str) -> npt.NDArray[np.uint8]:
    for color, thick in (((0, 0, 0), 3), ((255, 255, 255), 1)):
        cv2.putText(view, title, (10, HEIGHT - 12), cv2.FONT_HERSHEY_SIMPLEX, 0.6, color, thick, cv2.LINE_AA)
    return view
