"""rtabmap's pose graph as nodes that memory takes.

``mapGraph`` says where the base was at each of the graph's nodes, by id, and ``info`` when the newest one was made.
Attributes are those of rtabmap_msgs (MapGraph: header, poses_id, poses; Info: header, ref_id), which need not be here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Pose
from r4_ros.nodes.convert import pose_from_msg, time_from_msg

PathNodes = tuple[list[int], list[Pose]]
MOST_NODES = 1_000_000
_SAME = 1e-4
"""Metres, and parts of a quaternion; less isn't worth a correction."""


def message_types() -> tuple[Any, Any]:
    """MapGraph and Info. Raises InvalidArgument where rtabmap_msgs isn't installed."""
    try:
        from rtabmap_msgs.msg import Info, MapGraph
    except ImportError as error:
        raise InvalidArgument(
            "the parameter rtabmap is set, but rtabmap_msgs isn't installed: `sudo apt install "
            f"ros-$ROS_DISTRO-rtabmap-msgs`, or empty the parameter ({error})"
        ) from None
    return MapGraph, Info


class PoseGraph:
    """One rtabmap's graph. Nodes whose stamp was never heard are left out: memory interpolates."""

    def __init__(self) -> None:
        self._stamps: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._last: npt.NDArray[np.float64] = np.zeros((0, 7))

    def hear(self, info: Any) -> None:
        """An Info: the node that it speaks of has its stamp."""
        stamp = time_from_msg(info.header.stamp)
        if info.ref_id > 0 and stamp > 0:
            self._stamps[int(info.ref_id)] = stamp
            if len(self._stamps) > MOST_NODES:
                del self._stamps[next(iter(self._stamps))]

    def take(self, graph: Any, map_frame: str = "") -> PathNodes | None:
        """The nodes of a MapGraph, if it puts any elsewhere than the one before did; the first one always does.

        ``map_frame``: the frame that it must be in; empty: any. Raises InvalidArgument for another one, and where no
        node's stamp is known.
        """
        if map_frame and graph.header.frame_id != map_frame:
            raise InvalidArgument(
                f"the graph is in frame '{graph.header.frame_id}', this memory's map in '{map_frame}'"
            )
        known = {}
        for node, pose in zip(graph.poses_id, graph.poses, strict=False):
            stamp = self._stamps.get(int(node))
            if stamp is not None:
                known[stamp] = (int(node), pose_from_msg(pose))
        if not known:
            raise InvalidArgument(
                f"no stamp is known of the graph's {len(graph.poses)} nodes; is rtabmap's info published?"
            )
        ids = {node: row for row, (node, _) in enumerate(known.values())}
        poses = [pose for _, pose in known.values()]
        values = np.array([(*pose.position, *pose.orientation) for pose in poses])
        moved = self._moved(ids, values)
        self._ids, self._last = ids, values
        return (list(known), poses) if moved else None

    def _moved(self, ids: dict[int, int], values: npt.NDArray[np.float64]) -> bool:
        both = [(row, self._ids[node]) for node, row in ids.items() if node in self._ids]
        if not both:
            return True
        new, old = np.array(both).T
        return bool((np.abs(values[new] - self._last[old]) > _SAME).any())
