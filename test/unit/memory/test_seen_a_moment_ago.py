"""Whom the follower considers: what was seen a moment ago, whoever else writes, whatever comes late or between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import CorrectionKind, EntryCorrection
from r4_ros.memory.following import Follower
from r4_ros.memory.library import open_library

PLACES = [(2.0 + 1.5 * i, 1.5 * j, 0.5) for i in range(3) for j in (-1, 0, 1)]

steps = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from([0.1, 0.4, 0.9, 1.3, -0.3]),  # s since the newest frame; late ones too
        st.lists(st.sampled_from(PLACES), unique=True, max_size=4),
        st.sampled_from(["", "", "", "name", "restart"]),
    ),
    min_size=3,
    max_size=14,
)


def plainly(follower: Follower, matched: Any, context: Any) -> set[int]:
    """The same, by reading all entries."""
    index, found = follower._index, set()
    for slot in index.slots.values():
        [stored] = follower._store.entries([slot])
        entry = stored.entry
        own = entry.agent_id == context.agent_id and entry.map_id == context.map_id
        if own and entry.session == context.session and 0 < context.stamp_ns - entry.last_seen <= 1_000_000_000:
            found.add(slot)
    return found - set(matched)


@settings(max_examples=25)
@given(steps=steps)
def test_what_was_seen_a_moment_ago_is_what_a_plain_reading_says(
    steps: Any, make_robot: Any, thing: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("recent") / "m.db"
    asked, recent = [], Follower._recent

    def both(follower: Follower, matched: Any, context: Any) -> Any:
        found = recent(follower, matched, context)
        asked.append((set(found.tolist()), plainly(follower, matched, context)))
        return found

    robots = {name: make_robot(agent_id=name) for name in ("a", "b")}
    now = 10.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Follower, "_recent", both)
        memory = open_library(path, MemoryConfig())
        try:
            for agent, after, places, then in steps:
                stamp, now = now + after, max(now, now + after)
                memory.ingest(robots[agent].frame(stamp, *(thing("chair", p, (0.4, 0.4, 0.9)) for p in places)))
                if then == "name" and memory.entries():
                    entry_id = memory.entries()[0].entry_id
                    memory.correct(
                        EntryCorrection(CorrectionKind.RENAME, entry_id, label="seat", source="me"), round(now * 1e9)
                    )
                if then == "restart":
                    memory.close()
                    memory = open_library(path, MemoryConfig())
        finally:
            memory.close()
    assert all(found == plain for found, plain in asked), asked


@pytest.mark.parametrize("crowd", [0, 200])
def test_what_was_seen_longer_ago_is_let_go(memory: Any, robot: Any, thing: Any, crowd: int) -> None:
    memory.ingest(robot.frame(1, *(thing("chair", (2.0, 2.0 * i, 0.5)) for i in range(crowd))))
    for step in range(60):
        y = 40.0 * step
        robot.where = (0.0, y, 0.0)
        memory.ingest(robot.frame(1.5 + 0.5 * step, *(thing("chair", (2.0 + i, y, 0.5)) for i in range(4))))
    follower: Follower = memory._ingest._follower
    assert len(follower._agents["r1"].stamps) <= 5 * 4  # two and a half seconds, at most
