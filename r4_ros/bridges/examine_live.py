"""``r4 doctor`` beside a robot: who publishes what with which QoS, what arrives, and what our nodes say."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSCompatibility, qos_check_compatible

from r4_ros.bridges.examination import NAMES, OPTIONAL, Examination, Finding, Level
from r4_ros.core.config import PerceptionConfig, build, param_fields
from r4_ros.core.errors import DeadlineExceeded
from r4_ros.core.ports import Segmenter
from r4_ros.nodes.clients import first_reply
from r4_ros.nodes.inputs import InputTopic, input_topics

DISCOVERY_S = 3.0
EXPIRE_S = 0.1
LEVELS = {0: Level.OK, 1: Level.WARNING, 2: Level.ERROR, 3: Level.ERROR}
MANY = 8  # topics that are named as what might be meant


class LiveDoctor:
    """A node of its own context that looks around in a namespace. ``close`` leaves the graph."""

    def __init__(self, namespace: str = "", node: str = "perception_node", sim_time: bool = False) -> None:
        from r4_ros.nodes.transport import prepare

        prepare()
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        space = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
        self.perception = f"{space}/{node}"
        self.node = rclpy.create_node(
            f"r4_doctor_{os.getpid()}",
            namespace=namespace,
            context=self.context,
            parameter_overrides=[Parameter("use_sim_time", value=sim_time)],
            start_parameter_services=False,
            cli_args=_own_tf(space),
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.statuses: dict[str, Any] = {}  # by our nodes' names
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def close(self) -> None:
        """Leave the graph."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def look_around(self) -> bool:
        """Wait for what is there to be known, longer where perception isn't; whether it runs."""
        for _ in range(2):
            self._spin(DISCOVERY_S)
            if self.perception in self._nodes():
                return True
        return False

    def running_config(self, timeout_s: float = 10.0) -> PerceptionConfig | None:
        """The parameters of the perception node that runs; None where it doesn't answer."""
        names = [f.name for f in param_fields(PerceptionConfig)]
        client = self.node.create_client(GetParameters, f"{self.perception}/get_parameters")
        request = GetParameters.Request(names=names)
        try:
            reply = first_reply(self.executor, client, request, time.monotonic() + timeout_s)
        except DeadlineExceeded:
            return None
        values = {n: parameter_value_to_python(v) for n, v in zip(names, reply.values, strict=True)}
        return build(PerceptionConfig, {name: value for name, value in values.items() if value is not None})

    def topics(self, config: PerceptionConfig, given: Mapping[str, str]) -> dict[str, str]:
        """Where each role comes from: as the running node says, else as given, else by its own name."""
        status = self.statuses.get(self.perception)
        said = (
            {v.key.removeprefix("topic."): v.value for v in status.values if v.key.startswith("topic.")}
            if status
            else {}
        )
        own = {
            item.role: self.node.resolve_topic_name(given.get(item.role) or item.topic) for item in input_topics(config)
        }
        return {**own, **said}

    def graph_findings(self, inputs: list[InputTopic], topics: Mapping[str, str]) -> list[Finding]:
        """Topics that nobody publishes, that are of another type, or whose QoS doesn't fit."""
        found: list[Finding] = []
        for item in inputs:
            topic = topics[item.role]
            kind = f"{item.kind.__module__.split('.')[0]}/msg/{item.kind.__name__}"
            publishers = self.node.get_publishers_info_by_topic(topic)
            if not publishers and item.role not in OPTIONAL:
                text = f"nobody publishes {topic} [{kind}]"
                found.append(Finding(Level.ERROR, NAMES[item.role], text, self._instead(kind)))
            elif not publishers and item.role == "tf":
                found.append(Finding(Level.ERROR, "TF", f"nobody publishes {topic}: there are no poses", "start SLAM"))
            for publisher in publishers:
                who = f"{publisher.node_namespace.rstrip('/')}/{publisher.node_name}"
                if publisher.topic_type != kind:
                    text = f"{who} publishes {topic} as {publisher.topic_type}, but {kind} is needed"
                    found.append(Finding(Level.ERROR, NAMES[item.role], text))
                fits, why = qos_check_compatible(publisher.qos_profile, item.profile)
                if fits == QoSCompatibility.ERROR:
                    text = f"{who} publishes {topic} with an incompatible QoS: {why.strip().rstrip(';')}"
                    found.append(Finding(Level.ERROR, NAMES[item.role], text, "let it publish as docs/nodes.md says"))
        return found

    def examine(
        self,
        config: PerceptionConfig,
        topics: Mapping[str, str],
        segmenter: Segmenter | None,
        duration_s: float,
        progress: Callable[[float], None] | None = None,
    ) -> Examination:
        """Listen for a while, as perception does, and look at what came."""
        exam = Examination(config, dict(topics), segmenter, self._now_ns)
        for item in input_topics(config):
            self.node.create_subscription(item.kind, topics[item.role], partial(exam.add, item.role), item.profile)
        start = time.monotonic()
        while (passed := time.monotonic() - start) < duration_s:
            self._spin(EXPIRE_S)
            exam.expire(time.monotonic())
            if progress is not None:
                progress(passed)
        exam.finish()
        return exam

    def node_findings(self) -> list[Finding]:
        """What our nodes say of themselves on /diagnostics."""
        found = []
        for name, status in sorted(self.statuses.items()):
            level = LEVELS.get(status.level[0] if isinstance(status.level, bytes) else int(status.level), Level.ERROR)
            found.append(Finding(level, name, status.message))
        if not any(name.endswith("memory_node") for name in self.statuses):
            text = "no memory_node tells of itself on /diagnostics: nothing would be stored"
            found.append(Finding(Level.WARNING, "memory", text, "r4 up, or ros2 launch r4_ros r4.launch.py"))
        return found

    def _instead(self, kind: str) -> str:
        others = [name for name, kinds in self.node.get_topic_names_and_types() if kind in kinds]
        ours = self.node.resolve_topic_name("perception/annotated")
        published = sorted(name for name in others if name != ours and self.node.count_publishers(name))
        if not published:
            return f"nobody publishes any {kind}: is the driver running, in this ROS_DOMAIN_ID?"
        return f"of this type there are: {', '.join(published[:MANY])}; remap the topic to one of them"

    def _nodes(self) -> list[str]:
        return [f"{space.rstrip('/')}/{name}" for name, space in self.node.get_node_names_and_namespaces()]

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if status.name.startswith("r4_ros: "):
                self.statuses[status.name.removeprefix("r4_ros: ")] = status

    def _now_ns(self) -> int:
        return int(self.node.get_clock().now().nanoseconds)

    def _spin(self, duration_s: float) -> None:
        until = time.monotonic() + duration_s
        while (left := until - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)


def _own_tf(space: str) -> list[str]:
    """With a namespace, the robot has its own TF."""
    if not space:
        return []
    return ["--ros-args", "-r", f"/tf:={space}/tf", "-r", f"/tf_static:={space}/tf_static"]
