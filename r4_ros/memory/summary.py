"""What a store holds, as plain values; read from it alone, so a large memory needn't be loaded for it."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

from r4_ros.memory.store import MemoryStore


def summary_of(store: MemoryStore) -> dict[str, object]:
    """Counts of rows, sizes, agents and time span. Raises StoreError."""
    by_agent = groupby(store.sessions(), key=lambda session: session.agent_id)
    sessions = {agent: list(of_agent) for agent, of_agent in by_agent}
    agents = {
        agent: {
            "sessions": len(known),
            "first_ns": min(session.first_ns for session in known),
            "newest_ns": known[-1].newest_ns,
        }
        for agent, known in sorted(sessions.items())
    }
    return {
        "path": str(store.path),
        "bytes": store.size_bytes(),
        "used_bytes": store.used_bytes(),
        "revision": store.revision(),
        "agents": agents,
        "maps": dict(sorted(store.map_frames().items())),
        "rows": store.counts(),
        "dropped": asdict(store.dropped()),
        "crops": store.crop_use(),
        "newest_ns": max((known[-1].newest_ns for known in sessions.values()), default=0),
    }
