"""What corrects a robot's anchors: our own topic, a SLAM's path, rtabmap's graph. A part of the memory node."""

from __future__ import annotations

from functools import partial
from typing import Any

from nav_msgs.msg import Path as PathMsg

from r4_ros import msg
from r4_ros.core.errors import InvalidArgument, NotPermitted, R4Error
from r4_ros.core.model import Correction
from r4_ros.memory.library import Library
from r4_ros.nodes import qos
from r4_ros.nodes.base import Job
from r4_ros.nodes.convert_anchors import PathNodes, correction_from_msg, path_from_msg
from r4_ros.nodes.polling import Polling
from r4_ros.nodes.rtabmap import SERVICE, PoseGraph, StampAsker, message_types
from r4_ros.nodes.worker import Worker


class AnchorTopics(Polling):
    """Hears corrections and works them in on the writer's thread."""

    correction_refused: dict[str, str]
    """Why the last correction of a topic was refused."""
    _writer: Worker[Job]

    @property
    def library(self) -> Library:
        """The memory."""
        raise NotImplementedError

    def map_frame(self) -> str:
        """Name of the map's fixed frame; empty: not known yet."""
        raise NotImplementedError

    def tell_correction(self, correction: Correction) -> None:
        """Publish what it changed."""
        raise NotImplementedError

    def hear_corrections(self, agent: str, prefix: str) -> None:
        """Listen to all that corrects an agent's anchors; ``prefix``: its namespace with slashes."""
        topic = f"{prefix}memory/anchor_correction"
        self.hear(msg.AnchorCorrection, topic, partial(self._on_correction, agent, topic), qos.EVENTS)
        if self.config.slam_path:
            topic = within(prefix, self.config.slam_path)
            self.hear(PathMsg, topic, partial(self._on_path, agent, topic), qos.EVENTS)
        if self.config.rtabmap:
            self._listen_to_rtabmap(agent, within(prefix, self.config.rtabmap.rstrip("/")))

    def _on_correction(self, agent: str, topic: str, message: Any) -> None:
        sender = message.agent_id or agent
        nodes = correction_from_msg(message)
        self._writer.offer(lambda: self._work_in(topic, agent, sender, nodes, message.map_id))

    def _on_path(self, agent: str, topic: str, message: Any) -> None:
        try:
            nodes = path_from_msg(message, self.map_frame())
        except InvalidArgument as error:
            self._refuse_correction(topic, error)
        else:
            self._writer.offer(lambda: self._work_in(topic, agent, agent, nodes))

    def _listen_to_rtabmap(self, agent: str, namespace: str) -> None:
        graph_type, info_type, service = message_types()
        graph, topic = PoseGraph(), f"{namespace}/mapGraph"
        client = self.client(service, f"{namespace}/{SERVICE}")
        asker = StampAsker(graph, client, service.Request(global_map=True, optimized=True, graph_only=True))
        self.hear(graph_type, topic, asker.ask, qos.EVENTS)
        self.hear(info_type, f"{namespace}/info", graph.hear, qos.EVENTS)
        self.hear(graph_type, topic, partial(self._on_graph, agent, topic, graph), qos.EVENTS)

    def _on_graph(self, agent: str, topic: str, graph: PoseGraph, message: Any) -> None:
        try:
            nodes = graph.take(message, self.map_frame())
        except InvalidArgument as error:
            self._refuse_correction(topic, error)
        else:
            if nodes is not None:
                self._writer.offer(lambda: self._work_in(topic, agent, agent, nodes))

    def _work_in(self, topic: str, agent: str, sender: str, nodes: PathNodes, map_id: str = "") -> None:
        """Move what was remembered, and tell all who keep a copy to take it anew."""
        try:
            if sender != agent:
                raise NotPermitted(f"this topic takes corrections of '{agent}', not of '{sender}'")
            correction = self.library.correct_anchors(agent, *nodes, map_id=map_id)
        except R4Error as error:
            self._refuse_correction(topic, error)
            return
        self.correction_refused.pop(topic, None)
        self.counts.add("anchor_corrections")
        if correction.anchors:
            self.tell_correction(correction)

    def make_anew(self) -> None:
        """Make anew a portion of what waits for that since a correction, and tell what it changed."""
        correction = self.library.make_anew()
        if correction is not None and (correction.changed or correction.removed):
            self.tell_correction(correction)

    def _refuse_correction(self, topic: str, error: R4Error) -> None:
        self.counts.add("anchor_corrections_refused")
        self.correction_refused[topic] = str(error)
        self.get_logger().warning(f"{topic}: {error}", throttle_duration_sec=10.0)


def within(prefix: str, name: str) -> str:
    """A topic or namespace of an agent; without a prefix as it was given."""
    return prefix + name.lstrip("/") if prefix else name
