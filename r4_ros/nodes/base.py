"""What the four nodes share: lifecycle with autostart, guards, diagnostics, and a start and a stop that don't hang."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_policy_name_from_kind
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from r4_ros.core.errors import NotReady, R4Error
from r4_ros.nodes.convert import outcome
from r4_ros.nodes.diagnostics import Counts, Report, status_message
from r4_ros.nodes.params import Parameters, agent_id_of
from r4_ros.nodes.transport import prepare
from r4_ros.nodes.worker import Worker

ConfigT = TypeVar("ConfigT")
SPIN_S = 0.25
RETRY_S = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
LOG_PERIOD_S = 5.0
Job = Callable[[], object]


class R4Node(LifecycleNode, Generic[ConfigT]):  # type: ignore[misc]
    """A lifecycle node that starts itself, tells how it is, and outlives every exception of its callbacks.

    A node fills in ``configure``, ``activate``, ``deactivate``, ``cleanup`` and ``report``. What it makes with
    ``subscribe``, ``advertise``, ``serve`` and ``every`` is destroyed by the opposite transition: subscriptions belong
    into ``activate``, so that no latched message arrives too early.
    """

    def __init__(self, name: str, config: type[ConfigT], **node_options: Any) -> None:
        super().__init__(name, **node_options)
        self.counts = Counts()
        self.trouble = ""
        self.active = False
        self._configured = False
        self._entities: list[tuple[Callable[[Any], Any], Any]] = []
        self._kept_inactive = 0  # of them, those made in configure
        self._qos_problems: dict[str, str] = {}
        self.reentrant = ReentrantCallbackGroup()  # for coroutines: awaiting one must not hold up other callbacks
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.parameters = Parameters(self, config, self.on_config)
        self.agent_id = agent_id_of(self.parameters.current, self.get_namespace())
        self._diagnostics = Node.create_publisher(self, DiagnosticArray, "/diagnostics", 10)
        self.create_timer(1.0, self.guarded(self.publish_diagnostics, "diagnostics"), clock=self._steady)
        self._retries = 0
        self._start_timer: Any = None
        if getattr(self.config, "autostart", True):
            self._schedule_start(0.0)

    @property
    def config(self) -> ConfigT:
        """The parameters, always whole and valid."""
        return self.parameters.current

    # What a node fills in.

    def configure(self) -> None:
        """Make what the node needs; raise R4Error, saying what is missing, to stay unconfigured."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Stop to work."""

    def cleanup(self) -> None:
        """Free what ``configure`` made; also called after a ``configure`` that failed halfway."""

    def report(self) -> Report:
        """What is missing right now, and numbers; called once a second while active."""
        return Report()

    def on_config(self, config: ConfigT) -> None:
        """Called after live parameters changed."""

    # Lifecycle.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run ``configure``; a failure is logged, undone and told on /diagnostics."""
        self.trouble = self._attempt(self.configure, "configure")
        self._configured = not self.trouble
        if self.trouble:
            self._attempt(self._undo, "cleanup")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run ``activate``; from here on callbacks are served."""
        self._kept_inactive = len(self._entities)
        self.active = True
        self.trouble = self._attempt(self.activate, "activate")
        if self.trouble:
            self._stop_working()
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run ``deactivate``; callbacks are ignored, services say NOT_READY."""
        self._stop_working()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run ``cleanup`` and destroy the node's topics and services."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything, from any state."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Back to unconfigured."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Stop to work and free everything; harmless if repeated."""
        if self.active:
            self._stop_working()
        if self._configured:
            self._configured = False
            self._attempt(self._undo, "cleanup")

    def _stop_working(self) -> None:
        self.active = False
        self._attempt(self.deactivate, "deactivate")
        self._destroy(self._kept_inactive)

    def _undo(self) -> None:
        self._end_workers(0)  # before what they work with is freed
        try:
            self.cleanup()
        finally:
            self._destroy(0)

    def _end_workers(self, kept: int) -> None:
        for _, entity in self._entities[kept:]:
            if isinstance(entity, Worker) and not entity.close():
                self.get_logger().error(f"{entity.name} is still at work")

    def _destroy(self, kept: int) -> None:
        """Destroy topics, services and timers, latest first, down to so many."""
        self._end_workers(kept)
        while len(self._entities) > kept:
            destroy, entity = self._entities.pop()
            destroy(entity)
        self._qos_problems.clear()

    def _attempt(self, step: Job, what: str) -> str:
        """Run one step of a transition; gives what went wrong, or ""."""
        try:
            step()
        except R4Error as error:
            self.get_logger().error(f"{what}: {error}")
            return str(error)
        except Exception as error:
            self._log_exception(what, error)
            return f"{type(error).__name__}: {error}"
        return ""

    @property
    def state(self) -> str:
        """unconfigured, inactive, active or finalized."""
        return str(self._state_machine.current_state[1])

    def _schedule_start(self, delay_s: float) -> None:
        self._start_timer = self.create_timer(
            max(delay_s, 1e-3), self.guarded(self._start, "autostart"), clock=self._steady
        )

    def _start(self) -> None:
        """Configure and activate; if that fails try again later, less and less often."""
        self.destroy_timer(self._start_timer)
        if self.state == "unconfigured":
            self.trigger_configure()
        if self.state == "inactive":
            self.trigger_activate()
        if self.state == "active":
            self.get_logger().info(f"active for agent '{self.agent_id}'")
        elif self.state != "finalized":
            delay_s = RETRY_S[min(self._retries, len(RETRY_S) - 1)]
            self._retries += 1
            self.get_logger().warning(f"not active, next attempt in {delay_s:g} s: {self.trouble}")
            self._schedule_start(delay_s)

    # Topics, services and timers, each guarded.

    def subscribe(
        self, kind: Any, topic: str, callback: Callable[[Any], None], qos: QoSProfile, raw: bool = False
    ) -> Any:
        """A subscription whose callback runs only while active and never raises."""
        events = SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible(topic, "publisher"))
        made = self.create_subscription(
            kind, topic, self.guarded(callback, topic, only_active=True), qos, event_callbacks=events, raw=raw
        )
        return self.keep(made, self.destroy_subscription)

    def advertise(self, kind: Any, topic: str, qos: QoSProfile) -> Any:
        """A publisher."""
        events = PublisherEventCallbacks(incompatible_qos=self._on_incompatible(topic, "subscriber"))
        made = Node.create_publisher(self, kind, topic, qos, event_callbacks=events)
        return self.keep(made, self.destroy_publisher)

    def every(self, period_s: float, callback: Job) -> Any:
        """A timer on the monotonic clock: it also runs while simulated time stands still."""
        made = self.create_timer(period_s, self.guarded(callback, "timer", only_active=True), clock=self._steady)
        return self.keep(made, self.destroy_timer)

    def serve(self, kind: Any, name: str, handle: Callable[[Any, Any], Any], worker: Worker[Job]) -> Any:
        """A service that is answered on a worker; an exception of ``handle`` becomes the reply's Outcome."""

        async def callback(request: Any, response: Any) -> Any:
            try:
                self.require_active()
                return await self.in_background(worker, lambda: handle(request, response))
            except Exception as error:
                self.note(name, error)
                refused = kind.Response()
                refused.outcome = outcome(error)
                return refused

        made = self.create_service(kind, name, callback, callback_group=self.reentrant)
        return self.keep(made, self.destroy_service)

    def worker(
        self,
        name: str,
        handle: Callable[[Any], object] = lambda job: job(),
        capacity: int = 0,
        on_drop: Callable[[Any], None] | None = None,
    ) -> Worker[Any]:
        """A thread that works on items (functions without arguments, unless ``handle`` says otherwise)."""
        made: Worker[Any] = Worker(name, handle, partial(self.note, name), capacity, on_drop)
        self.keep(made, lambda _: None)
        return made

    def client(self, kind: Any, name: str) -> Any:
        """A service client."""
        return self.keep(self.create_client(kind, name), self.destroy_client)

    def keep(self, entity: Any, destroy: Callable[[Any], Any]) -> Any:
        """Remember what ``cleanup`` has to destroy."""
        self._entities.append((destroy, entity))
        return entity

    def forget(self, entity: Any) -> None:
        """Destroy something before ``cleanup`` does."""
        for kept in [kept for kept in self._entities if kept[1] is entity]:
            self._entities.remove(kept)
            kept[0](entity)

    def in_background(self, worker: Worker[Job], function: Callable[[], Any]) -> Future:
        """Run a function on a worker; the future wakes the executor, so that who awaits it goes on at once."""
        future = Future(executor=self.executor)

        def job() -> None:
            try:
                result = function()
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            executor = self.executor
            if executor is not None:
                executor.wake()

        worker.offer(job)
        return future

    def require_active(self) -> None:
        """Raises NotReady, with the reason, unless active."""
        if not self.active:
            raise NotReady(f"{self.get_name()} is {self.state}" + (f": {self.trouble}" if self.trouble else ""))

    def guarded(self, callback: Callable[..., Any], what: str, only_active: bool = False) -> Callable[..., None]:
        """A callback that counts and logs what it raises."""

        def run(*args: Any) -> None:
            if only_active and not self.active:
                return
            try:
                callback(*args)
            except Exception as error:
                self.note(what, error)

        return run

    def note(self, what: str, error: BaseException) -> None:
        """Count an error by its type and log it, not more often than every few seconds."""
        self.counts.add(f"errors.{type(error).__name__}")
        if isinstance(error, R4Error):
            self.get_logger().warning(f"{what}: {error}", throttle_duration_sec=LOG_PERIOD_S)
        else:
            self._log_exception(what, error)

    def _log_exception(self, what: str, error: BaseException) -> None:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace else ""
        self.get_logger().error(f"{what}: {type(error).__name__}: {error}{where}", throttle_duration_sec=LOG_PERIOD_S)

    def _on_incompatible(self, topic: str, other: str) -> Callable[[Any], None]:
        def callback(event: Any) -> None:
            policy = qos_policy_name_from_kind(event.last_policy_kind)
            self._qos_problems[topic] = f"a {other} of {topic} offers an incompatible QoS ({policy})"
            self.get_logger().warning(self._qos_problems[topic])

        return self.guarded(callback, topic)

    def publish_diagnostics(self) -> None:
        """Say on /diagnostics how this node is."""
        report = Report()
        if self.active:
            report = self.report()
            report.problems.extend(self._qos_problems.values())
        name = self.get_fully_qualified_name()
        now_ns = self.get_clock().now().nanoseconds
        self._diagnostics.publish(
            status_message(name, self.agent_id, self.state, self.trouble, report, self.counts.snapshot(), now_ns)
        )


def run(make: Callable[[], R4Node[Any]], args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM. Gives the exit status: 0, or 1 where it couldn't start."""
    prepare()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        rclpy.init(args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO)
        node = make()
    except Exception as error:
        print(f"r4: {error}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    supervisor = os.environ.get("R4_SUPERVISOR", "")
    orphaned = (lambda: os.getppid() != int(supervisor)) if supervisor else (lambda: False)
    spin(executor, node, lambda: stop.is_set() or orphaned())
    node.close()
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


def spin(executor: SingleThreadedExecutor, node: R4Node[Any], stopped: Callable[[], bool]) -> None:
    """Serve callbacks until told to stop, whatever they raise."""
    while not stopped() and node.context.ok():
        try:
            executor.spin_once(timeout_sec=SPIN_S)
        except Exception as error:
            if node.context.ok():
                node.note("spin", error)
                time.sleep(0.01)
