"""What the four nodes share, on a node made for the test."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.parameter import Parameter
from std_msgs.msg import String

from r4_ros import srv
from r4_ros.core.config import MemoryConfig, ReasonerConfig
from r4_ros.core.errors import InvalidArgument, StoreError, Unavailable
from r4_ros.nodes import qos
from r4_ros.nodes.base import R4Node
from r4_ros.nodes.diagnostics import Report

pytestmark = pytest.mark.ros


class Example(R4Node[ReasonerConfig]):
    """Fails to configure as often as it is told to."""

    failures = 0

    def __init__(self, **options: Any) -> None:
        self.calls: list[str] = []
        self.heard: list[str] = []
        self.thread = ""
        super().__init__("example", ReasonerConfig, **options)

    def configure(self) -> None:
        self.calls.append("configure")
        if type(self).failures:
            type(self).failures -= 1
            raise Unavailable("the model is missing")
        self.serve(srv.Snapshot, "example/snapshot", self.answer, self.worker("example-worker"))

    def activate(self) -> None:
        self.calls.append("activate")
        self.subscribe(String, "example/in", self.hear, qos.EVENTS)

    def deactivate(self) -> None:
        self.calls.append("deactivate")

    def cleanup(self) -> None:
        self.calls.append("cleanup")

    def report(self) -> Report:
        return Report(["something is missing"] if self.heard else [], {"heard": len(self.heard)})

    def hear(self, message: String) -> None:
        if message.data == "boom":
            raise ValueError("boom")
        self.heard.append(message.data)

    def answer(self, request: Any, response: Any) -> Any:
        self.thread = threading.current_thread().name
        if request.name == "full":
            raise StoreError("the disk is full")
        if request.name == "bug":
            raise KeyError("bug")
        response.path = request.name
        return response


@pytest.fixture(autouse=True)
def no_failures() -> None:
    Example.failures = 0


def status_of(heard: list[DiagnosticArray]) -> DiagnosticStatus | None:
    statuses = [status for array in heard for status in array.status if status.name == "r4_ros: /example"]
    return statuses[-1] if statuses else None


def test_a_node_configures_and_activates_itself(graph: Any) -> None:
    node = graph.active(graph.make(Example))
    assert (node.calls, node.state) == (["configure", "activate"], "active")


def test_a_node_that_lacks_something_says_so_and_tries_again(graph: Any, until: Any) -> None:
    Example.failures = 1_000_000
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    node = graph.make(Example)
    status = until(lambda: status_of(heard))
    assert status.level == DiagnosticStatus.ERROR
    assert status.message == "unconfigured: the model is missing"
    until(lambda: node.calls.count("cleanup") >= 2)
    Example.failures = 0
    graph.active(node)
    attempts = node.calls.count("cleanup")
    assert node.calls == [*["configure", "cleanup"] * attempts, "configure", "activate"]
    assert until(lambda: status_of(heard).level == DiagnosticStatus.OK)


def test_without_autostart_a_node_waits_for_its_manager(graph: Any, until: Any) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    node = graph.make(Example, autostart=False)
    for label in ("configure", "activate", "deactivate", "activate", "deactivate", "cleanup", "configure"):
        request = ChangeState.Request(transition=Transition(label=label))
        assert graph.call(ChangeState, "/example/change_state", request).success
    assert node.calls == ["configure", "activate", "deactivate", "activate", "deactivate", "cleanup", "configure"]
    assert node.state == "inactive"


def test_an_inactive_node_ignores_topics_and_says_not_ready(graph: Any) -> None:
    node = graph.make(Example, autostart=False)
    node.trigger_configure()
    reply = graph.call(srv.Snapshot, "example/snapshot", srv.Snapshot.Request(name="x"))
    assert (reply.outcome.code, reply.outcome.message) == (3, "example is inactive")


def test_an_exception_becomes_the_replys_outcome_and_a_count(graph: Any, until: Any) -> None:
    node = graph.active(graph.make(Example))
    codes = {}
    for name in ("full", "bug", "fine"):
        reply = graph.call(srv.Snapshot, "example/snapshot", srv.Snapshot.Request(name=name))
        codes[name] = (reply.outcome.code, reply.outcome.message, reply.path)
    assert codes == {"full": (200, "the disk is full", ""), "bug": (1, "KeyError: 'bug'", ""), "fine": (0, "", "fine")}
    assert (node.counts["errors.StoreError"], node.counts["errors.KeyError"]) == (1, 1)
    assert node.thread == "example-worker"


def test_an_exception_in_a_subscription_is_counted_and_the_next_message_heard(graph: Any, until: Any) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    node = graph.active(graph.make(Example))
    publisher = graph.node.create_publisher(String, "example/in", qos.EVENTS)
    until(lambda: publisher.get_subscription_count())
    for text in ("boom", "after"):
        publisher.publish(String(data=text))
    until(lambda: node.heard == ["after"])
    assert node.counts["errors.ValueError"] == 1
    status = until(lambda: next((s for s in [status_of(heard)] if s and s.level == DiagnosticStatus.WARN), None))
    assert status.message == "something is missing"
    values = {item.key: item.value for item in status.values}
    assert values["errors.ValueError"] == "1" and values["heard"] == "1" and values["state"] == "active"


def test_incompatible_qos_is_named(graph: Any, until: Any) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    graph.active(graph.make(Example))
    graph.node.create_publisher(String, "example/in", qos.SENSOR)  # best effort, where reliable is asked
    status = until(lambda: next((s for s in [status_of(heard)] if s and "incompatible" in s.message), None))
    assert "example/in" in status.message and "RELIABILITY" in status.message


def test_closing_frees_in_order_and_can_be_repeated(graph: Any) -> None:
    node = graph.active(graph.make(Example))
    node.close()
    node.close()
    assert node.calls == ["configure", "activate", "deactivate", "cleanup"]


# Parameters.


def test_parameters_come_from_the_config_and_integers_are_floats(graph: Any) -> None:
    node = graph.make(Example, autostart=False, deadline_s=3)
    assert node.config == ReasonerConfig(autostart=False, deadline_s=3.0)
    described = node.describe_parameter("deadline_s")
    assert described.description == "time for one answer [s]" and not described.read_only
    assert (described.floating_point_range[0].from_value, described.floating_point_range[0].to_value) == (0.1, 600.0)
    assert node.describe_parameter("planner").read_only


def test_wrong_parameters_are_all_named_at_once(graph: Any) -> None:
    with pytest.raises(InvalidArgument) as error:
        graph.make(Example, planner="magic", max_rounds=99)
    assert "planner" in str(error.value) and "max_rounds" in str(error.value)


def test_a_set_of_changes_is_applied_whole_or_not_at_all(graph: Any) -> None:
    node = graph.make(Example, autostart=False)
    good, bad = Parameter("deadline_s", value=2), Parameter("max_rounds", value=0)
    result = node.set_parameters_atomically([good, bad])
    assert not result.successful and node.config.deadline_s == ReasonerConfig.deadline_s
    assert node.set_parameters_atomically([good]).successful and node.config.deadline_s == 2.0
    fixed = node.set_parameters_atomically([Parameter("planner", value="rules")])
    assert not fixed.successful


@pytest.mark.parametrize(("namespace", "given", "expected"), [("alice", "", "alice"), ("alice", "bob", "bob")])
def test_the_agent_is_the_namespace_unless_named(graph: Any, namespace: str, given: str, expected: str) -> None:
    assert graph.make(Example, namespace=namespace, autostart=False, agent_id=given).agent_id == expected


def test_an_empty_list_parameter_is_no_error(graph: Any) -> None:
    class Lists(R4Node[MemoryConfig]):
        def __init__(self, **options: Any) -> None:
            super().__init__("lists", MemoryConfig, **options)

    assert graph.make(Lists, autostart=False, agents=[]).config.agents == []
    assert graph.make(Lists, autostart=False, agents=["a", "b"]).config.agents == ["a", "b"]
