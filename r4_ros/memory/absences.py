"""That an agent found another agent's thing gone: kept by who found it so, applied when the memory is read.

An entry is written by its own agent only. So what others find at its place changes nothing of it; it is a record
beside it, and holds in the answers until the thing is seen again. Who asks for what one agent knows gets no other's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from r4_ros.core.config import MemoryConfig
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import FOREVER, Entry
from r4_ros.core.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class FoundAbsent:
    """Frames of an ``observer`` in which another agent's entry wasn't at its place, the first of them at ``first_ns``.

    ``enough``: as many of them, over as much time, as closes a presence.
    """

    slot: int
    observer: str
    first_ns: int
    count: int = 1
    enough: bool = False


class Absences:
    """All records, by slot. While ``within`` some agents, only what these found counts."""

    def __init__(self) -> None:
        self._newest: dict[tuple[int, str], FoundAbsent] = {}
        self._ends: dict[int, dict[int, set[str]]] = {}
        self._observers: frozenset[str] | None = None

    def take(self, records: Iterable[FoundAbsent]) -> None:
        """Take over stored records, oldest first."""
        for record in records:
            self._newest[record.slot, record.observer] = record
            if record.enough:
                self._ends.setdefault(record.slot, {}).setdefault(record.first_ns, set()).add(record.observer)

    def change(self, record: FoundAbsent, slot: int) -> None:
        """Whether a stored record counts has changed; ``slot``: of the entry that it is about by now."""
        if (newest := self._newest.get((record.slot, record.observer))) and newest.first_ns == record.first_ns:
            self._newest[record.slot, record.observer] = record
        ends = self._ends.setdefault(slot, {})
        observers = ends.setdefault(record.first_ns, set())
        (observers.add if record.enough else observers.discard)(record.observer)
        if not observers:
            del ends[record.first_ns]
        if not ends:
            del self._ends[slot]

    def rename(self, slot: int, kept: int) -> None:
        """The entry of a slot is a part of another one."""
        for first_ns, observers in self._ends.pop(slot, {}).items():
            self._ends.setdefault(kept, {}).setdefault(first_ns, set()).update(observers)

    def with_one_more(
        self, slot: int, entry: Entry, observer: str, stamp_ns: int, expected_revision: int, config: MemoryConfig
    ) -> FoundAbsent | None:
        """The record after one more frame that saw the place empty; None where this says nothing (new)."""
        outdated = 0 < expected_revision < entry.stays[-1].revision
        if entry.presence[-1].end != FOREVER or stamp_ns <= entry.last_seen or outdated:
            return None
        known = self._newest.get((slot, observer))
        if known is None or known.first_ns <= entry.last_seen:
            known = FoundAbsent(slot, observer, stamp_ns, 0)
        if known.enough or stamp_ns < known.first_ns:
            return None
        count = known.count + 1
        long_enough = stamp_ns - known.first_ns >= nanoseconds(config.absent_span_s)
        return replace(known, count=count, enough=count >= config.absent_frames and long_enough)

    @contextmanager
    def within(self, observers: Collection[str]) -> Iterator[None]:
        """Only what these agents found counts (none: what all did)."""
        self._observers = frozenset(observers) or None
        try:
            yield
        finally:
            self._observers = None

    def counts(self, agent_id: str) -> bool:
        """Whether what an agent found counts."""
        return self._observers is None or agent_id in self._observers

    def slots(self) -> list[int]:
        """Slots that any record speaks of."""
        return sorted(self._ends)

    def found_by(self, slot: int, end_ns: int) -> str:
        """Who found a thing gone then; the first by name of several that count."""
        observers = self._ends.get(slot, {}).get(end_ns, ())
        return min((o for o in observers if self.counts(o)), default="")

    def end(self, slot: int, last_seen_ns: int, stamp_ns: int) -> int:
        """When a thing last seen at a time was found gone by another one, as known at a stamp; -1: it wasn't."""
        ends = self._ends.get(slot)
        if not ends:
            return -1
        found = [
            first_ns
            for first_ns, observers in ends.items()
            if last_seen_ns < first_ns <= stamp_ns and (self._observers is None or observers & self._observers)
        ]
        return min(found, default=-1)
