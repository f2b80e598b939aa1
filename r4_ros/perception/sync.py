"""Matching images of several cameras by their stamps."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.intervals import nanoseconds, seconds

BUFFER = 60  # messages a role
FAR_NS = nanoseconds(3600.0)
WAIT_NS = nanoseconds(1.0)  # how far the leading stream may run ahead of one that lags


@dataclass(frozen=True, eq=False, slots=True)
class Match:
    """One leading message with the nearest of every partner role."""

    stamp_ns: int
    lead: Any
    partners: dict[str, Any]


@dataclass
class _Queue:
    """Messages of one role in order of their stamps."""

    items: list[tuple[int, Any]] = field(default_factory=list)

    def add(self, stamp_ns: int, message: Any, reorder_ns: int) -> None:
        """A stamp far before the newest one: time went back, or that one was wrong; it must not pass for the newest."""
        while self.items and self.items[-1][0] - stamp_ns > reorder_ns:
            self.items.pop()
        insort(self.items, (stamp_ns, message), key=lambda item: item[0])
        del self.items[:-BUFFER]

    def nearest(self, stamp_ns: int) -> tuple[int, Any] | None:
        at = bisect_left(self.items, stamp_ns, key=lambda item: item[0])
        around = self.items[max(0, at - 1) : at + 1]
        return min(around, key=lambda item: abs(item[0] - stamp_ns), default=None)


class Matcher:
    """Pairs each leading message (colour) with the nearest of each partner role (depth, label) within a slop.

    A partner may serve several leading messages. A pair is decided once the partner stream has reached the leading
    stamp, so that it doesn't depend on which topic arrives first.
    """

    def __init__(self, partners: Sequence[tuple[str, RefusalReason]], slop_s: float, reorder_s: float = 5.0) -> None:
        self._slop_ns = nanoseconds(slop_s)
        self._reorder_ns = nanoseconds(reorder_s)
        self._missing = dict(partners)
        self._queues = {role: _Queue() for role, _ in partners}
        self._waiting: list[tuple[int, Any]] = []
        self.offsets_s: dict[str, float] = {}  # last measured partner stamp - leading stamp

    @property
    def waiting(self) -> int:
        """Leading messages that aren't decided."""
        return len(self._waiting)

    def add_lead(self, stamp_ns: int, message: Any) -> tuple[list[Match], list[FrameRefused]]:
        """Take a leading message; returns what is matched and refused now."""
        insort(self._waiting, (stamp_ns, message), key=lambda item: item[0])
        return self._settle(force=False)

    def add_partner(self, role: str, stamp_ns: int, message: Any) -> tuple[list[Match], list[FrameRefused]]:
        """Take a message of a partner role; returns what is matched and refused now."""
        self._queues[role].add(stamp_ns, message, self._reorder_ns)
        return self._settle(force=False)

    def finish(self) -> tuple[list[Match], list[FrameRefused]]:
        """Nothing more comes: decide all that waits."""
        return self._settle(force=True)

    def restart(self, stamp_ns: int, keep_s: float) -> list[int]:
        """Time jumped to ``stamp_ns``: forget what is farther away. Returns the stamps of the dropped leads."""
        keep = nanoseconds(keep_s)
        for queue in self._queues.values():
            queue.items = [item for item in queue.items if abs(item[0] - stamp_ns) <= keep]
        dropped, self._waiting = [stamp for stamp, _ in self._waiting], []
        return dropped

    def _settle(self, force: bool) -> tuple[list[Match], list[FrameRefused]]:
        matches: list[Match] = []
        refused: list[FrameRefused] = []
        waiting, self._waiting = self._waiting, []
        newest = waiting[-1][0] if waiting else 0
        for stamp_ns, lead in waiting:
            partners: dict[str, Any] = {}
            try:
                undecided = False
                for role in self._queues:
                    partner = self._partner(role, stamp_ns, force or newest - stamp_ns > WAIT_NS)
                    undecided = undecided or partner is None
                    partners[role] = partner
            except FrameRefused as error:
                error.stamp_ns = stamp_ns
                refused.append(error)
                continue
            if undecided:
                self._waiting.append((stamp_ns, lead))
            else:
                matches.append(Match(stamp_ns, lead, partners))
        return matches, refused

    def _partner(self, role: str, stamp_ns: int, force: bool) -> Any | None:
        """The partner, or None while it isn't decided. Raises FrameRefused when there will be none."""
        queue = self._queues[role]
        found = queue.nearest(stamp_ns)
        if found is None:
            if force:
                raise FrameRefused(self._missing[role], f"no {role} image came for this colour image", stamp_ns)
            return None
        offset = found[0] - stamp_ns
        ahead = queue.items[-1][0] - stamp_ns
        if not force and not 0 <= ahead <= FAR_NS:  # one from another time decides nothing
            return None
        self.offsets_s[role] = seconds(offset)
        if abs(offset) > self._slop_ns:
            raise FrameRefused(
                RefusalReason.STAMP_MISMATCH,
                f"the nearest {role} image is {seconds(offset):+.3f} s off, {seconds(self._slop_ns):.3f} s are allowed",
                stamp_ns,
            )
        return found[1]
