"""How long, and up to which size of the database, the history of observations is kept.

What entries know of themselves (stays, sightings, presence, events) is never dropped. Dropping goes in slices, oldest
first, each small enough that frames hardly wait for it. The last minute of each agent always stays, since what is
tracked now and frames that come late are told by it. What a map server is to be told stays until it was, unless the
database would become too large; then what is lost to the server is counted.
"""

from __future__ import annotations

from r4_ros.core.config import MemoryConfig
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import FOREVER
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store_upkeep import KEPT_NS, Dropped, StoreUpkeep

SLICE_FRAMES = 100
_DAY_S = 24 * 3600.0


class Retention:
    """What is due to be dropped, and what is gone. ``too_small``: nothing is left to drop, and yet it is too much."""

    def __init__(self, store: StoreUpkeep, sessions: Sessions, config: MemoryConfig) -> None:
        self._store, self._sessions = store, sessions
        self._max_age_ns = nanoseconds(config.history_days * _DAY_S)
        self._max_bytes = config.history_mb * 1_000_000
        self._before = store.pruned_before()
        self._holds = bool(config.sync)
        self._reorder_ns = nanoseconds(config.reorder_s)
        self._untold: tuple[str, int, int] | None = None
        self.too_small = False

    def is_gone(self, agent_id: str, session: int, stamp_ns: int) -> bool:
        """Whether a frame with this stamp was dropped, if there was one.

        What is so old that ``r4 db prune`` may have dropped it from beside is looked up.
        """
        known = self._sessions.of(agent_id)
        if session < len(known) and stamp_ns < known[session].newest_ns - KEPT_NS:
            self._before = self._store.pruned_before()
        return stamp_ns < self._before.get((agent_id, session), 0)

    def drop(self) -> Dropped:
        """Drop a slice, if one is due."""
        due, untold = self._due(), False
        if due is None and self.too_small and self._holds:  # the disk comes first
            due, untold = self._due(hold=False), True
        if due is None:
            return Dropped(0, 0, 0)
        agent_id, session, before_ns = due
        dropped = self._store.drop_history(agent_id, session, before_ns, SLICE_FRAMES)
        if untold:
            self._store.untold_lost(dropped.observations)
        self._before[agent_id, session] = max(self._before.get((agent_id, session), 0), dropped.before_ns)
        return dropped

    def _due(self, hold: bool = True) -> tuple[str, int, int] | None:
        """Of which session history is due, and before which stamp. ``hold``: not what wasn't told yet."""
        self._untold = self._store.untold() if hold and self._holds else None
        if not self._max_age_ns and not self._max_bytes:
            return None
        oldest = self._store.oldest_history()
        if self._max_age_ns:
            for (agent_id, session), stamp_ns in oldest.items():
                before_ns = min(self._too_old(agent_id, session), self._told(agent_id, session))
                if stamp_ns < before_ns:
                    return agent_id, session, before_ns
        self.too_small = False
        if not self._max_bytes or self._store.used_bytes() <= self._max_bytes:
            return None
        for (agent_id, session), stamp_ns in oldest.items():
            before_ns = min(self._droppable(agent_id, session), self._told(agent_id, session))
            if stamp_ns < before_ns:
                return agent_id, session, before_ns
        self.too_small = True
        return None

    def _told(self, agent_id: str, session: int) -> int:
        """The stamp before which a session was told to the map server."""
        if self._untold is None or agent_id != self._untold[0] or session < self._untold[1]:
            return FOREVER
        return self._untold[2] - self._reorder_ns if session == self._untold[1] else 0

    def _droppable(self, agent_id: str, session: int) -> int:
        """The stamp before which a session's history may be dropped at all."""
        of_agent = self._sessions.of(agent_id)
        newest_ns = of_agent[session].newest_ns
        return newest_ns - KEPT_NS if session == len(of_agent) - 1 else newest_ns + 1

    def _too_old(self, agent_id: str, session: int) -> int:
        """The stamp before which a session's history is too old; where time was set back since, none is."""
        newest = self._sessions.newest(agent_id)
        if newest is None or self._sessions.era(agent_id, session) != newest.era:
            return 0
        return newest.newest_ns - max(self._max_age_ns, KEPT_NS)
