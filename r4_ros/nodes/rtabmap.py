"""rtabmap's pose graph as nodes that memory takes.

``mapGraph`` says where the base was at each of the graph's nodes, by id, and ``info`` when the newest one was made.
When older ones were made, rtabmap is asked (``SERVICE``): so a memory that was restarted knows them too, and ids that
begin anew with a new map never meet stamps of an old one. Attributes are those of rtabmap_msgs for ROS 2, which
need not be here: MapGraph: header, poses_id, poses; Info: header, ref_id; MapData: nodes; Node: id, stamp (s).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.nodes.convert import pose_from_msg, time_from_msg

PathNodes = tuple[list[int], list[Pose]]
MOST_NODES = 1_000_000
_SAME = 1e-4
"""Metres, and parts of a quaternion; less isn't worth a correction."""
SERVICE = "rtabmap/get_map_data"
"""Under its namespace; rtabmap 0.21.5 (June 2024) and newer give their services the name of their node before it."""
ASK_EVERY_S = 30.0


def message_types() -> tuple[Any, Any, Any]:
    """MapGraph, Info, and the service GetMap. Raises InvalidArgument where rtabmap_msgs isn't installed."""
    try:
        from rtabmap_msgs.msg import Info, MapGraph
        from rtabmap_msgs.srv import GetMap
    except ImportError as error:
        raise InvalidArgument(
            "the parameter rtabmap is set, but rtabmap_msgs isn't installed: `sudo apt install "
            f"ros-$ROS_DISTRO-rtabmap-msgs`, or empty the parameter ({error})"
        ) from None
    return MapGraph, Info, GetMap


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

    def hear_nodes(self, nodes: Iterable[Any]) -> None:
        """Nodes of a MapData: their stamps, where ``info`` hasn't told them. The next graph counts as the first one."""
        told = {int(node.id): round(node.stamp * NS_PER_S) for node in nodes if node.id > 0 and node.stamp > 0}
        new = {node: stamp for node, stamp in told.items() if node not in self._stamps}
        if new:
            self._stamps = dict(list({**new, **self._stamps}.items())[-MOST_NODES:])
            self._ids = {}

    def unknown(self, graph: Any) -> frozenset[int]:
        """Ids of a graph's nodes whose stamps aren't known."""
        return frozenset(int(node) for node in graph.poses_id if node > 0 and int(node) not in self._stamps)

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


class StampAsker:
    """Asks rtabmap when the nodes of its graph were made, where that isn't known: once for the same ones, and seldom.

    ``client``: of its service; ``request``: for the graph without pictures.
    """

    def __init__(
        self, graph: PoseGraph, client: Any, request: Any, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._graph, self._client, self._request, self._monotonic = graph, client, request, monotonic
        self._asked: frozenset[int] = frozenset()
        self._not_before = -ASK_EVERY_S

    def ask(self, message: Any) -> None:
        """A MapGraph came: ask for what it lacks. The reply tells the graph; without one it is asked again later."""
        unknown, now = self._graph.unknown(message), self._monotonic()
        if unknown <= self._asked or now < self._not_before or not self._client.service_is_ready():
            return
        self._not_before = now + ASK_EVERY_S
        self._client.call_async(self._request).add_done_callback(lambda future: self._heard(unknown, future))

    def _heard(self, unknown: frozenset[int], future: Any) -> None:
        if future.exception() is None and future.result() is not None:
            self._asked = unknown
            self._graph.hear_nodes(future.result().data.nodes)
