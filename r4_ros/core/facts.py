"""Facts: what histories and episodes add up to (semantic memory). Derived when asked for, with what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from r4_ros.core.values import Vec3


class FactKind(IntEnum):
    """What a fact says; values as in ``msg/Fact``."""

    USUAL_PLACE = 1
    HABIT = 2
    TOGETHER = 3
    OWNER = 4
    NAME = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is usual, or said, of a subject: entries that are, or may be, one thing.

    ``object``: what it stands on (USUAL_PLACE), what happens or holds (HABIT), the other's label (TOGETHER) or the name
    (OWNER, NAME). ``weekdays``: 0 is Monday; empty: any. ``day_from_s``, ``day_to_s``: since midnight in the time zone
    asked for, None: no time of day; ``day_to_s`` before ``day_from_s``: past midnight. ``count`` of ``total`` occasions
    (days, for a habit) speak for it, ``time_ns`` is what these took. ``weight`` 0..1: later evidence raises or lowers
    it. ``sources``: 'stay ENTRY_ID N', 'event ID', 'attribute ENTRY_ID NAME', 'episode ID', the newest, oldest first.
    """

    fact_id: str
    kind: FactKind
    label: str
    entry_ids: tuple[str, ...]
    object: str = ""
    object_ids: tuple[str, ...] = ()
    region: str = ""
    map_id: str = ""
    place: Vec3 | None = None
    weekdays: tuple[int, ...] = ()
    day_from_s: float | None = None
    day_to_s: float | None = None
    weight: float = 0.0
    count: int = 0
    total: int = 0
    time_ns: int = 0
    first_ns: int = 0
    last_ns: int = 0
    sources: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
