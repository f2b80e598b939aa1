"""Memories that know less: without some of the three keys, or with the last seconds only."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.core.model import NS_PER_S, Query, Retrieval, TemporalConstraint, TemporalKind
from r4_ros.core.ports import Memory

KEYS = ("sem", "spa", "tem")


class Keyed:
    """A memory that takes no notice of the constraints of inactive keys; the number of entries stays what it was."""

    def __init__(self, memory: Memory, keys: frozenset[str]) -> None:
        self._memory, self._keys = memory, keys

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """As the memory retrieves, by the active keys only."""
        if "sem" not in self._keys:
            query = replace(query, labels=(), text="", attributes=(), exclude_labels=())
        if "spa" not in self._keys:
            query = replace(query, spatial=(), order_from=None)
        if "tem" not in self._keys:
            query = replace(query, temporal=(), at_ns=None)
        return self._memory.retrieve(query, deadline_s)


class Recent:
    """A memory of the last seconds: what wasn't in view then isn't there."""

    def __init__(self, memory: Memory, now_ns: int, seconds: float) -> None:
        self._memory = memory
        start_ns = now_ns - round(seconds * NS_PER_S)
        self._window = TemporalConstraint(TemporalKind.SEEN_IN, start_ns, now_ns + 1)

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """As the memory retrieves, of what was in view in its last seconds."""
        return self._memory.retrieve(replace(query, temporal=(*query.temporal, self._window)), deadline_s)
