"""Frames on their way into the memory: each agent's own few wait, agents take turns, and nobody floods the others."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from r4_ros.core.errors import NotPermitted
from r4_ros.core.model import PlacedEntry, Receipt
from r4_ros.memory.frame_limits import Credit, check_size

WAITING_FRAMES = 200
"""Of one agent; as many as its robot keeps to send again."""


@dataclass(slots=True)
class _Agent:
    credit: Credit
    waiting: deque[Any] = field(default_factory=deque)


class Intake:
    """What waits to be stored. Used from any thread but ``take`` from one.

    ``capacity``: frames of one agent that wait; of more the oldest is dropped, and sent again by its robot, which had
    no acknowledgement of it. ``rate_hz``: frames of one agent a second, on average; 0: any. Frames beyond it wait.
    """

    def __init__(self, capacity: int, rate_hz: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._capacity, self._rate, self._monotonic = capacity, rate_hz, monotonic
        self._agents: OrderedDict[str, _Agent] = OrderedDict()

    def offer(self, agent: str, message: Any) -> bool:
        """Let a frame wait; False where an older one of this agent had to go for it. One that waits waits once."""
        of_agent = self._of(agent)
        if message in of_agent.waiting:  # its robot got impatient
            return True
        of_agent.waiting.append(message)
        if len(of_agent.waiting) <= self._capacity:
            return True
        of_agent.waiting.popleft()
        return False

    def take(self) -> tuple[str, Any] | None:
        """The next frame of the agent whose turn it is; None: nothing waits, or all that waits is beyond the rate."""
        for agent in list(self._agents):
            of_agent = self._agents[agent]
            if of_agent.waiting and not of_agent.credit.wait_s():
                of_agent.credit.spend(1)
                self._agents.move_to_end(agent)
                return agent, of_agent.waiting.popleft()
        return None

    def _of(self, agent: str) -> _Agent:
        if agent not in self._agents:
            self._agents[agent] = _Agent(Credit(self._rate, self._monotonic))
        return self._agents[agent]

    @property
    def pending(self) -> int:
        """Frames that wait."""
        return sum(len(agent.waiting) for agent in list(self._agents.values()))


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a frame record: its receipt, or why it was refused."""

    message: Any
    frame: Any = None
    receipt: Any = None
    error: Exception | None = None


def net_change(receipts: Sequence[Receipt]) -> tuple[list[PlacedEntry], list[str]]:
    """What several frames changed together: entries as the last of them left them, and ids that are gone."""
    changed: dict[str, PlacedEntry] = {}
    removed: dict[str, None] = {}
    for receipt in receipts:
        for entry_id in receipt.removed:
            changed.pop(entry_id, None)
            removed[entry_id] = None
        for entry in receipt.changed:
            changed[entry.entry_id] = entry
            removed.pop(entry.entry_id, None)
    return list(changed.values()), list(removed)


def check_sender(agent: str, message: Any, most_observations: int, most_kb: int) -> None:
    """Raise NotPermitted where a frame says that it is of another agent than its topic's, InvalidArgument for its size.

    ``agent``: whose topic it came by; empty: anybody's.
    """
    if agent and message.agent_id != agent:
        raise NotPermitted(f"the topic of '{agent}' takes no frames of '{message.agent_id}'")
    size = sum(size_of(seen) for seen in message.observations) + 4 * len(message.view_depth)
    check_size(len(message.observations), size, most_observations, most_kb)


def size_of(seen: Any) -> int:
    """About how many bytes an observation's texts, vectors and picture take."""
    vectors = len(seen.label_embedding) + len(seen.description_embedding)
    words = sum(len(pair.key) + len(pair.value) for pair in seen.attributes)
    return 4 * vectors + len(seen.label) + len(seen.description) + len(seen.image) + words
