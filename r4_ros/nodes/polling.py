"""Many topics at little cost: subscriptions that are looked at in turns instead of being waited for.

rclpy's executor goes over all its subscriptions for each message that it waits for: with 50 robots of three topics each
that takes several times as long as working the message in. A part of the memory node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy

from r4_ros.core.config import MemoryConfig
from r4_ros.nodes.base import R4Node

WAITED_FOR = 4
"""Topics of so many agents are waited for; of more they are looked at."""
POLL_S, SELDOM_S = 0.02, 0.2
"""Frames, and all else."""
_AT_ONCE = 20


class NotWaitedFor(CallbackGroup):
    """A group of which an executor never executes anything, and so waits for nothing."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """It never began."""


def taken(subscription: Any, most: int = _AT_ONCE) -> Iterator[Any]:
    """The messages that have come to a subscription, so many at most."""
    for _ in range(most):
        with subscription.handle:
            found = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if found is None:
            return
        yield found[0]


class Polling(R4Node[MemoryConfig]):
    """Hears topics of few agents as any node does, and those of many in turns."""

    _polled: dict[float, list[tuple[Any, Callable[..., None]]]]
    _not_waited_for: NotWaitedFor

    def begin_hearing(self) -> None:
        """Before the first topic is heard."""
        self._polled, self._not_waited_for = {POLL_S: [], SELDOM_S: []}, NotWaitedFor()
        if len(self.config.agents) > WAITED_FOR:
            for period_s in self._polled:
                self.every(period_s, partial(self._poll, period_s))

    def hear(
        self,
        kind: Any,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile,
        period_s: float = SELDOM_S,
        raw: bool = False,
    ) -> None:
        """Listen to a topic of an agent; ``period_s``: how often it is looked at; ``raw``: messages as bytes."""
        if len(self.config.agents) <= WAITED_FOR:
            self.subscribe(kind, topic, callback, qos, raw)
            return
        none = SubscriptionEventCallbacks(use_default_callbacks=False)
        group = {"event_callbacks": none, "callback_group": self._not_waited_for, "raw": raw}
        made = self.create_subscription(kind, topic, callback, qos, **group)
        self._polled[period_s].append((made, self.guarded(callback, topic, only_active=True)))
        self.keep(made, self._stop_hearing)

    def _stop_hearing(self, subscription: Any) -> None:
        self._polled = {
            period_s: [one for one in some if one[0] is not subscription] for period_s, some in self._polled.items()
        }
        self.destroy_subscription(subscription)

    def _poll(self, period_s: float) -> None:
        for subscription, callback in self._polled[period_s]:
            for message in taken(subscription):
                callback(message)

    def unheard(self) -> list[str]:
        """Publishers of the topics that are looked at which can't be heard; of the others rclpy says so itself."""
        return [
            f"a publisher of {subscription.topic_name} offers an incompatible QoS (RELIABILITY)"
            for subscription, _ in chain.from_iterable(self._polled.values())
            if any(
                info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
                for info in self.get_publishers_info_by_topic(subscription.topic_name)
            )
        ]
