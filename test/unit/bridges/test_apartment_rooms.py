"""The furnished apartment: enough rooms and things, on their feet, none inside a wall or another."""

from collections import Counter

import numpy as np
import pytest

from r4_ros.bridges.apartment.layout import furnish
from r4_ros.bridges.apartment.render import Triangles, World, cast, triangles_of
from r4_ros.bridges.apartment.scene import DOORWAYS, ROOMS, Thing, regions, room_at, shell
from r4_ros.core.geometry import bounds

HANGING = {"window", "curtain", "picture", "mirror", "towel", "clock", "cabinet", "ceiling lamp", "door"}
"""What hangs on walls and ceilings."""


@pytest.fixture(scope="module")
def things() -> list[Thing]:
    return furnish(0)


def test_there_are_enough_rooms_things_and_kinds(things: list[Thing]) -> None:
    visited = {thing_room(t) for t in things} - {"storage room"}
    assert len(visited) >= 4
    assert len(things) >= 45
    assert len({t.label for t in things}) >= 25
    assert [t.instance_id for t in things] == list(range(1, len(things) + 1))
    assert len({t.name for t in things}) == len(things)


def test_there_are_look_alikes(things: list[Thing]) -> None:
    alike = Counter((t.label, t.color) for t in things)
    assert alike["mug", "red"] == 2
    assert alike["mug", "white"] == 2
    assert alike["chair", "blue"] == 4
    assert alike["book", "blue"] >= 2


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_every_thing_is_in_a_room_and_inside_its_walls(seed: int) -> None:
    for thing in furnish(seed):
        low, high = bounds(thing.box())
        assert thing_room(thing), thing.name
        assert low[2] > -0.01, thing.name
        assert high[2] < 2.65, thing.name
        if thing.label != "door":  # doors stand in their frames
            room = next(r for r in ROOMS if r.name == thing_room(thing))
            assert low[0] >= room.x0 and high[0] <= room.x1, thing.name
            assert low[1] >= room.y0 and high[1] <= room.y1, thing.name


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_nothing_floats(seed: int) -> None:
    """Under every thing that doesn't hang there is something within 4 cm."""
    things = furnish(seed)
    pieces = {0: Triangles.of(shell(), 0)} | {t.instance_id: triangles_of(t) for t in things}
    boxes = {t.instance_id: bounds(t.box()) for t in things}
    for thing in things:
        if thing.label in HANGING:
            continue
        low, high = boxes[thing.instance_id]
        around = [
            pieces[k]
            for k, (a, b) in boxes.items()
            if k != thing.instance_id and (a[:2] < high[:2]).all() and (b[:2] > low[:2]).all()
        ]
        x, y = np.meshgrid(np.linspace(low[0], high[0], 9)[1:-1], np.linspace(low[1], high[1], 9)[1:-1])
        down = np.tile(np.float32([0, 0, -1]), (x.size, 1))
        world = World.of([pieces[0], *around])
        gaps = []
        for rise in (-0.001, 0.035):  # from its lowest point, and a little higher: it may sink into something soft
            origins = np.stack([x.ravel(), y.ravel(), np.full(x.size, low[2] + rise)], axis=1)
            gaps.append(cast(world, origins.astype(np.float32), down).distance.min())
        assert min(gaps) < 0.04, thing.name


def test_small_things_do_not_stand_inside_each_other(things: list[Thing]) -> None:
    small = [t for t in things if t.movable]
    for i, a in enumerate(small):
        for b in small[i + 1 :]:
            (a_low, a_high), (b_low, b_high) = bounds(a.box()), bounds(b.box())
            overlap = np.clip(np.minimum(a_high, b_high) - np.maximum(a_low, b_low), 0, None).prod()
            volume = min((a_high - a_low).prod(), (b_high - b_low).prod())
            assert overlap < 0.25 * volume, (a.name, b.name)


def test_sizes_are_believable(things: list[Thing]) -> None:
    longest = {t.label: max(t.box().extent) for t in things}
    for label, low, high in (("mug", 0.08, 0.14), ("bed", 1.9, 2.3), ("fridge", 1.6, 2.0), ("keys", 0.08, 0.2)):
        assert low <= longest[label] <= high, label


def test_another_seed_shifts_only_small_things() -> None:
    for a, b in zip(furnish(1), furnish(2), strict=True):
        assert (a.name, a.label) == (b.name, b.label)
        assert (a.position != b.position) == a.movable
        assert max(abs(p - q) for p, q in zip(a.position, b.position, strict=True)) <= 0.06


def test_rooms_cover_the_floor_without_overlap() -> None:
    for region, room in zip(regions(), ROOMS, strict=True):
        assert region.name == room.name
        assert room_at(*room.centre) == room.name
    points = np.random.default_rng(0).uniform((0, 0), (12.8, 10.8), (500, 2))
    assert all(sum(room.contains(x, y) for room in ROOMS) <= 1 for x, y in points)


def test_doorways_join_two_rooms_that_touch() -> None:
    for door in DOORWAYS:
        x, y = door.centre
        step = (0.1, 0.0) if door.axis == "x" else (0.0, 0.1)
        sides = {room_at(x - step[0], y - step[1]), room_at(x + step[0], y + step[1])}
        assert sides == set(door.rooms)


def thing_room(thing: Thing) -> str:
    return room_at(*thing.box().pose.position[:2])
