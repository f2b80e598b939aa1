"""A home that a robot looks at, day after day, on the Monday of a known week and after: for tests of what is usual."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from r4_ros.core.model import Region

MONDAY = datetime(2026, 3, 2, tzinfo=timezone.utc)
ROOMS = [
    Region("kitchen", ((0, -5), (5, -5), (5, 1.5), (0, 1.5))),
    Region("hall", ((0, 1.5), (5, 1.5), (5, 6), (0, 6))),
]
TABLE, SHELF = ((2, 0, 0.4), (1.2, 0.8, 0.8)), ((2, 3, 0.5), (0.8, 0.4, 1.0))


def at(day: int, hour: float) -> float:
    """Seconds: so many days after the Monday, at an hour UTC."""
    return (MONDAY + timedelta(days=day, hours=hour)).timestamp()


class Home:
    """A robot that looks at a table and a shelf, and at what stands on them."""

    def __init__(self, memory: Any, make_robot: Any, thing: Any, agent: str = "r1") -> None:
        self.memory, self.thing = memory, thing
        self.robot = make_robot(agent_id=agent, writer=f"w-{agent}", map_id="home")
        memory.set_regions(ROOMS)
        self.places = {"table": (2.0, 0.0, 0.85), "shelf": (2.0, 3.0, 1.05), "floor": (4.0, -3.0, 0.05)}

    def look(self, seconds: float, absent: tuple[str, ...] = (), **things: str) -> None:
        """Four frames over 1.5 s. ``things``: label=place; ``absent``: ids of entries that aren't there."""
        seen = [self.thing("table", *TABLE), self.thing("shelf", *SHELF)]
        seen += [self.thing(label, self.places[place]) for label, place in things.items()]
        for i in range(4):
            frame = self.robot.frame(seconds + 0.5 * i, *seen)
            for entry_id in absent:
                frame = self.robot.absent(seconds + 0.5 * i, entry_id, self.memory.revision, *seen)
            self.memory.ingest(frame)

    def ids(self, label: str) -> list[str]:
        return [e.entry_id for e in self.memory.entries() if e.label == label]


def keys_that_commute(home: Home, days: int = 10) -> None:
    """On the table at 9, on the shelf at 18, on weekdays; each place is seen empty when they are at the other."""
    for day in range(days):
        if (MONDAY + timedelta(days=day)).weekday() > 4:
            home.look(at(day, 9))
            continue
        shelf = home.ids("keys")[1:2]
        home.look(at(day, 9), absent=tuple(shelf), keys="table")
        home.look(at(day, 18), absent=tuple(home.ids("keys")[:1]), keys="shelf")
