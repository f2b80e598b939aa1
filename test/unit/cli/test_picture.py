"""The picture: what is there is seen, whatever the memory holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from r4_ros.cli.picture import AGENTS, MOVED, STATES, draw, when
from r4_ros.cli.scene import Scene, Thing, Walk
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import NS_PER_S, EntryState, Region

SQUARE = ((1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 2.0))
ROOM = Region("kitchen", ((0.0, 0.0), (6.0, 0.0), (6.0, 4.0), (0.0, 4.0)))
WALK = Walk("robot", (((0.5, 0.5, 0.0), (5.0, 0.5, 0.5), (5.0, 3.5, 1.0)),), 7.5, 1.57)


def thing(state: EntryState, label: str = "bed", moved_from: tuple[float, float] | None = None) -> Thing:
    return Thing("id", "robot", label, SQUARE, 1.0, state, moved_from)


def pixels(scene: Scene, path: Path, size: int = 700) -> np.ndarray:
    return np.asarray(Image.open(draw(scene, path / "memory.png", size)).convert("RGB"), int)


def has(picture: np.ndarray, colour: tuple[int, ...], tolerance: int = 25) -> bool:
    plot = picture[80:-70, : picture.shape[1] - 290]
    return bool((np.abs(plot - np.array(colour[:3])).max(axis=2) <= tolerance).sum() > 8)


def test_states_moves_and_ways_are_told_apart(tmp_path: Path) -> None:
    gone = pixels(Scene("", 0, 1, (thing(EntryState.GONE),), (), (ROOM,)), tmp_path)
    there = pixels(Scene("", 0, 1, (thing(EntryState.PRESENT),), (), (ROOM,)), tmp_path)
    moved = pixels(Scene("", 0, 1, (thing(EntryState.PRESENT, moved_from=(5.0, 3.0)),), (), (ROOM,)), tmp_path)
    way = pixels(Scene("", 0, 1, (), (WALK,), (ROOM,)), tmp_path)
    red = STATES[EntryState.GONE][0]
    assert has(gone, red, 40)
    assert not has(there, red, 40)
    assert has(moved, MOVED)
    assert not has(there, MOVED)
    assert has(way, AGENTS[0])
    assert not has(there, AGENTS[0])


@pytest.mark.parametrize("size", [400, 1600])
def test_the_picture_is_as_wide_as_asked(tmp_path: Path, size: int) -> None:
    picture = pixels(Scene("home", 0, NS_PER_S, (thing(EntryState.PRESENT),), (WALK,), (ROOM,)), tmp_path, size)
    assert picture.shape[1] == size


@pytest.mark.parametrize(
    "scene",
    [
        Scene("", 0, 0, (Thing("a", "", "", ((3.0, 3.0),), 0.0, EntryState.UNKNOWN),)),
        Scene("", 0, 0, (), (Walk("", (((1.0, 1.0, 0.0),),), 0.0, 0.0),)),
        Scene("", 0, 0, (), (Walk("", (((0.0, 0.0, 0.0),), ((4e6, 4e6, 1.0),)), 0.0, 0.0),)),
        Scene("", 0, 0, (), (), (Region("", ((0.0, 0.0), (900.0, 0.0), (900.0, 1.0))),)),
        Scene("", 0, 0, tuple(thing(EntryState.PRESENT, f"شيء 物 {k} " + "x" * 90) for k in range(60))),
    ],
    ids=["one point", "a robot that stands", "very far apart", "a long thin region", "many long names on one spot"],
)
def test_odd_memories_are_drawn_too(tmp_path: Path, scene: Scene) -> None:
    assert pixels(scene, tmp_path).std() > 0


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="nothing to draw"):
        draw(Scene("", 0, 0), tmp_path / "memory.png")


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="can't write the picture"):
        draw(Scene("", 0, 1, (thing(EntryState.PRESENT),)), tmp_path / "no" / "memory.png")


def test_the_time_span_in_words() -> None:
    assert when(0, 90 * NS_PER_S) == "0.0 s to 90.0 s (90 s)"
    start = 1_764_459_000 * NS_PER_S
    assert when(start, start + 300 * NS_PER_S) == "2025-11-29 23:30:00 to 23:35:00 UTC (5 min)"
    assert when(start, start + 7200 * NS_PER_S) == "2025-11-29 23:30:00 to 2025-11-30 01:30:00 UTC (2.0 h)"
