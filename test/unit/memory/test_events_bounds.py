"""Events against what really happened: every change that was noticed is told, within bounds that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.core.model import FOREVER, EventKind

S = 1_000_000_000
PLACES = {"left": (3.0, 1.0, 1.0), "right": (3.0, -1.0, 1.0)}

changes = st.lists(
    st.tuples(st.sampled_from(("left", "right", "away")), st.integers(10, 60), st.sampled_from(("open", "shut"))),
    min_size=1,
    max_size=7,
)
looks = st.lists(st.integers(2, 40), min_size=2, max_size=9)


def true_at(script: Sequence[tuple[float, str, str]], t: float) -> tuple[str, str]:
    """Where the box is, and whether it is open."""
    return next((place, door) for start, place, door in reversed(script) if start <= t)


def look(memory: Any, robot: Any, box: Any, t: float, place: str, door: str) -> None:
    """Five frames over two seconds; what is believed to be where the box isn't is seen to be missing."""
    for i in range(5):
        missing = [
            e.entry_id
            for e, p in zip(memory.entries(), memory.placed(), strict=True)
            if e.presence[-1].end == FOREVER
            and (place == "away" or np.linalg.norm(np.subtract(p.box.pose.position, PLACES[place])) > 0.5)
        ]
        seen = [] if place == "away" else [box.at(*PLACES[place]).seen(attributes=(("openness", door),))]
        frame = robot.frame(t + 0.5 * i, *seen)
        for entry_id in missing[:1]:
            frame = robot.absent(t + 0.5 * i, entry_id, memory.revision, *seen)
        memory.ingest(frame)


@given(changes, looks)
@example([("left", 10, "open"), ("right", 10, "open"), ("left", 10, "open")], [5, 10, 10, 10])
@settings(max_examples=40, deadline=None)
def test_bounds_hold_what_happened(open_memory: Any, make_robot: Any, thing: Any, moves: Any, gaps: Any) -> None:
    script, t = [(0.0, "left", "shut")], 0.0
    for place, wait, door in moves:
        t += wait + 0.5  # never while the robot looks, which it does for two seconds at whole ones
        script.append((t, place, door))
    memory, robot, box = (
        open_memory(f"{np.random.default_rng().integers(2**60)}.db"),
        make_robot(),
        thing("box", (0, 0, 0)),
    )
    times = np.cumsum([0, *[g + 3 for g in gaps]]).astype(float)
    told = []
    for time in times:
        inside = next((s for s, *_ in script if time < s <= time + 2), None)
        told.append(inside + 0.1 if inside is not None else time)
        look(memory, robot, box, told[-1], *true_at(script, told[-1]))
    stamps = [round(s * S) for s, *_ in script]
    shut = {(s, a[2], b[2]) for s, a, b in zip(stamps[1:], script[:-1], script[1:], strict=True)}
    for event in memory.events():
        assert event.earliest_ns <= event.stamp_ns <= event.latest_ns, event
        within = [s for s in stamps if event.earliest_ns <= s <= event.latest_ns]
        if event.kind is EventKind.APPEARED and event.earliest_ns == 0:
            continue  # it was there when its place was first looked at
        assert within, event
        if event.kind is EventKind.ATTRIBUTE_CHANGED:
            assert any(event.earliest_ns <= s <= event.latest_ns and old != new for s, old, new in shut), event
        if event.kind is EventKind.DISAPPEARED:
            assert any(true_at(script, s / S)[0] != true_at(script, (s - 1) / S)[0] for s in within), event
    memory.close()


def test_all_five_kinds(memory: Any, robot: Any, thing: Any) -> None:
    box = thing("box", (0, 0, 0)).seen(track_id="7")
    look(memory, robot, box, 0, "left", "shut")
    for i in range(9):  # carried along in view
        place = (3.0, 1.0 - 0.25 * i, 1.0)
        memory.ingest(robot.frame(3 + 0.4 * i, box.at(*place).seen(attributes=(("openness", "shut"),))))
    look(memory, robot, box, 7, "right", "open")
    look(memory, robot, box, 12, "away", "open")
    look(memory, robot, box, 16, "right", "open")
    assert {e.kind for e in memory.events()} >= {
        EventKind.APPEARED,
        EventKind.MOVED,
        EventKind.ATTRIBUTE_CHANGED,
        EventKind.DISAPPEARED,
        EventKind.REAPPEARED,
    }
    (back,) = (e for e in memory.events() if e.kind is EventKind.REAPPEARED)
    assert (back.earliest_ns, back.latest_ns) == (14 * S, 16 * S), "its place was seen empty until 14 s"
    (moved,) = (e for e in memory.events() if e.kind is EventKind.MOVED)
    assert moved.from_place == pytest.approx(PLACES["left"], abs=0.3) and moved.place[1] < 0
