"""Fixtures of the tests that need ROS: a domain of their own, and a graph in one process with its own context."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from r4_ros.core.model import Question
from r4_ros.evaluation.postgres_server import Server, why_not
from r4_ros.memory.library import Library

os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"  # read when the message classes are imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
PATIENCE_S = 120.0
"""What is waited for comes, however loaded the machine is; waiting costs nothing where it comes at once."""
FIRST_TRY_S = 10.0

# Examples may take as long as a busy machine needs for them, and share a test's fixtures. Each run draws new ones; CI
# the same each time, so that what fails is by the change.
PROPERTIES: Any = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("r4", **PROPERTIES)
settings.register_profile("ci", **PROPERTIES, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "r4")


@pytest.fixture(scope="session", autouse=True)
def time_enough() -> None:
    """Who asks without a deadline has time: what a robot waits for isn't what a busy machine takes."""
    for function in (Library.retrieve, Question.__init__):
        given: Any = function.__defaults__
        names = list(inspect.signature(function).parameters)[-len(given) :]
        function.__defaults__ = tuple(
            PATIENCE_S if name == "deadline_s" else value for name, value in zip(names, given, strict=True)
        )


@pytest.fixture(scope="session")
def ros_domain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A domain that no other test run uses at the same time, and an empty ROS_HOME."""
    pytest.importorskip("rclpy", reason="needs ROS 2")
    pytest.importorskip("r4_ros.msg", reason="needs the generated interfaces")
    coordinator = pytest.importorskip("domain_coordinator", reason="needs ros-domain-coordinator")
    from r4_ros.nodes.transport import prepare

    with coordinator.domain_id() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        os.environ["ROS_HOME"] = str(tmp_path_factory.mktemp("ros_home"))
        prepare()
        yield int(domain)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server, started once; what is killed and stopped is a server of the test's own."""
    server = _server(safe=False)
    yield server
    server.close()


@pytest.fixture
def own_postgres_server() -> Iterator[Server]:
    """One that may be killed: it flushes what it commits."""
    server = _server(safe=True)
    yield server
    server.close()


def _server(safe: bool) -> Server:
    pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")
    if reason := why_not():
        pytest.skip(reason)
    return Server(safe)


def wait_for(condition: Callable[[], Any], timeout_s: float = PATIENCE_S) -> Any:
    """The condition's first true value; fails after the timeout."""
    until = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < until, f"didn't come true within {timeout_s:g} s"
        time.sleep(0.01)
    return value


class Graph:
    """Nodes of one context, spun by one thread as the nodes' own processes do."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.nodes: list[Any] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self.node = self.add(rclpy.create_node("tester", context=self.context))
        self._thread.start()

    def _spin(self) -> None:
        while not self._stop.is_set():
            try:
                self.executor.spin_once(timeout_sec=0.05)
            except Exception:  # as the nodes' own loop: what was just destroyed in another thread, say
                time.sleep(0.01)

    def add(self, node: Any) -> Any:
        """Spin a node too."""
        self.nodes.append(node)
        self.executor.add_node(node)
        self.executor.wake()
        return node

    def make(self, kind: Any, namespace: str = "", **parameters: Any) -> Any:
        """One of our nodes with parameters, in this context."""
        from rclpy.parameter import Parameter

        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        return self.add(kind(context=self.context, namespace=namespace, parameter_overrides=overrides))

    def active(self, node: Any) -> Any:
        """Wait until a node is active, with all that it makes then: ``node.active`` is true before."""
        wait_for(lambda: node.state == "active")
        return node

    def collect(self, kind: Any, topic: str, qos: Any) -> list[Any]:
        """A list that the topic's messages are appended to."""
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def call(self, kind: Any, name: str, request: Any, timeout_s: float = PATIENCE_S) -> Any:
        """The reply of a service; asked again, less and less often, where the first reply was lost."""
        client = self.node.create_client(kind, name)
        wait_for(client.service_is_ready, timeout_s)
        until, pause_s, futures = time.monotonic() + timeout_s, FIRST_TRY_S, list[Any]()
        while time.monotonic() < until:
            futures.append(client.call_async(request))
            again = min(until, time.monotonic() + pause_s)
            while time.monotonic() < again:
                if done := next((future for future in futures if future.done()), None):
                    return done.result()
                time.sleep(0.005)
            pause_s *= 2
        raise AssertionError(f"{name} didn't reply")

    def close(self) -> None:
        """Stop in the order that doesn't abort."""
        self._stop.set()
        self._thread.join()
        for node in self.nodes:
            if hasattr(node, "close"):
                node.close()
        self.executor.shutdown()
        for node in self.nodes:
            node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Graph]:
    """An empty graph with one node for the test itself."""
    made = Graph()
    yield made
    made.close()


@pytest.fixture
def until() -> Callable[..., Any]:
    """``until(condition)``: wait for it."""
    return wait_for


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recordings beside the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the recordings (../shared/data) are not here")
    return folder
