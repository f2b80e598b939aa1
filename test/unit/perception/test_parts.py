"""What stands before a thing may cut its mask in two; two things side by side stay two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import Segment
from r4_ros.perception import parts as parts_module
from r4_ros.perception.parts import joined

CAMERA = Intrinsics(160, 120, 150.0, 150.0, 80.0, 60.0)


def seen(pole_m: float = 1.0, second_m: float = 2.0, pole: tuple[int, int] = (72, 84)) -> np.ndarray[Any, Any]:
    """A wall at 4 m, a board at 2 m (its right part maybe at another depth), and a pole before it."""
    depth = np.full((120, 160), 4.0, np.float32)
    depth[40:80, 40 : pole[0]], depth[40:80, pole[0] : 120] = 2.0, second_m
    depth[:, pole[0] : pole[1]] = pole_m
    return depth


def part(columns: tuple[int, int], rows: tuple[int, int] = (40, 80), label: str = "couch", **more: Any) -> Segment:
    mask = np.ones((rows[1] - rows[0], columns[1] - columns[0]), bool)
    return Segment(label, 0.5, columns[0], rows[0], mask, **more)


LEFT, RIGHT = part((40, 72)), part((84, 120))


@pytest.mark.parametrize("order", [(LEFT, RIGHT), (RIGHT, LEFT)])
def test_a_pole_cuts_a_couch(order: tuple[Segment, Segment]) -> None:
    [whole] = joined(order, seen(), CAMERA)
    assert (whole.left, whole.top, whole.mask.shape) == (40, 40, (40, 80))
    assert int(whole.mask.sum()) == 40 * (32 + 36)


def test_a_shelf_cuts_a_door_from_above() -> None:
    upper, lower = (Segment(s.label, s.confidence, s.top, s.left, s.mask.T) for s in (LEFT, RIGHT))
    depth = np.ascontiguousarray(np.pad(seen(), ((0, 40), (0, 0)))[:160].T)
    [whole] = joined([upper, lower], depth, CAMERA)
    assert whole.mask.shape == (80, 40)


@pytest.mark.parametrize(
    ("parts", "depth"),
    [
        ((LEFT, part((84, 120), label="chair")), seen()),
        ((part((40, 72), label="object"), part((84, 120), label="object")), seen()),
        ((LEFT, RIGHT), seen(pole_m=4.0)),
        ((LEFT, RIGHT), seen(pole_m=2.0)),
        ((LEFT, RIGHT), seen(second_m=2.6)),
        ((LEFT, part((84, 120), (60, 110))), seen()),
        ((LEFT, part((84, 120), (40, 60))), seen()),
        ((part((40, 60)), part((100, 120))), seen(pole=(60, 100))),
        ((part((40, 72), track_id="1"), part((84, 120), track_id="2")), seen()),
        ((part((40, 72)), part((72, 120))), seen()),
    ],
    ids=[
        "another label", "no label", "the wall between them", "nothing nearer", "another depth", "another height",
        "another size", "too far apart", "two tracks", "they touch",
    ],
)  # fmt: skip
def test_two_things_stay_two(parts: tuple[Segment, Segment], depth: np.ndarray[Any, Any]) -> None:
    assert joined(parts, depth, CAMERA) == list(parts)


def test_three_parts_become_one() -> None:
    depth = seen()
    depth[:, 96:104] = 1.0
    [whole] = joined([LEFT, part((84, 96)), part((104, 120))], depth, CAMERA)
    assert (whole.left, whole.mask.shape[1]) == (40, 80)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_pairs_that_are_not_looked_at_would_not_join(seed: int) -> None:
    """What is sorted out by windows and labels changes nothing: the same as when each pair is looked at."""
    random = np.random.default_rng(seed)
    edges = np.sort(random.choice(np.arange(40, 121, 4), 8, replace=False))
    boards = [part((a, b), (40, int(random.choice([76, 80])))) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    depth = seen(pole_m=2.0)
    for a, b in zip(edges[1:-1:2], edges[2::2], strict=True):
        depth[:, a:b] = random.choice([1.0, 4.0])
    others = [part((0, 20), (40, 80), label="door"), part((130, 150), (0, 30))]
    segments = [(boards + others)[i] for i in random.permutation(len(boards) + 2)]
    found = joined(segments, depth, CAMERA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts_module, "_facing", lambda some, *_: np.ones((len(some), len(some)), bool))
        slowly = joined(segments, depth, CAMERA)
    assert [(s.left, s.top, s.mask.shape) for s in found] == [(s.left, s.top, s.mask.shape) for s in slowly]
