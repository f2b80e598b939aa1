"""Numbers that no place can have, and words without end: refused wherever they come in, and nothing is changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r4_ros.core.alignments import Alignment
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import (
    Box,
    CorrectionKind,
    EntryCorrection,
    Episode,
    EpisodeSource,
    Interval,
    Order,
    Pose,
    Query,
    Reference,
    Region,
    SpatialConstraint,
)
from r4_ros.memory.library import Library

BAD = st.sampled_from([math.nan, math.inf, -math.inf, 1e9, -1e300])
PLACES = st.tuples(BAD, st.floats(-1, 1), st.floats(-1, 1)).flatmap(lambda p: st.permutations(p).map(tuple))
ONE = (0.0, 0.0, 0.0, 1.0)


def corrected(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.correct(EntryCorrection(CorrectionKind.PIN, library.entries()[0].entry_id, position=p), 1)


def moved(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.correct_anchors("r1", [10**9], [Pose(p)])


def told(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.add_episode(Episode("", "r1", "hello", Interval(1, 2), EpisodeSource.OPERATOR, place=p))


def aligned(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.align(Alignment("r1", "home", "common", Pose(p)), 1)


def seen_from(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.ingest(replace(robot.frame(2), sensor_in_map=Pose(p)))


def seen(library: Library, robot: Any, thing: Any, p: Any) -> None:
    frame = robot.frame(2, thing("mug", (2, 0, 0.8)))
    (o,) = frame.observations
    library.ingest(replace(frame, observations=(replace(o, box=Box(Pose(p), o.box.extent)),)))


def as_large(library: Library, robot: Any, thing: Any, p: Any) -> None:
    frame = robot.frame(2, thing("mug", (2, 0, 0.8)))
    (o,) = frame.observations
    library.ingest(replace(frame, observations=(replace(o, box=Box(o.box.pose, p)),)))


def in_region(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.set_regions([Region("hall", ((0.0, 0.0), (p[0], p[1]), (p[2], 1.0)), map_id="home")])


def asked(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.retrieve(Query(spatial=(SpatialConstraint("within", Reference.POINT, pose=Pose(p), max_distance=1.0),)))


def asked_of_a_polygon(library: Library, robot: Any, thing: Any, p: Any) -> None:
    corners = ((0.0, 0.0), (p[0], p[1]), (p[2], 1.0))
    library.retrieve(Query(spatial=(SpatialConstraint("in", Reference.POLYGON, polygon=corners),)))


def ordered(library: Library, robot: Any, thing: Any, p: Any) -> None:
    library.retrieve(Query(order=Order.NEAREST, order_from=SpatialConstraint("within", Reference.POINT, pose=Pose(p))))


WAYS: tuple[Callable[..., None], ...] = (
    corrected,
    moved,
    told,
    aligned,
    seen_from,
    seen,
    as_large,
    in_region,
    asked,
    asked_of_a_polygon,
    ordered,
)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=PLACES)
def test_a_place_that_cannot_be_is_refused(memory: Library, robot: Any, thing: Any, way: Any, place: Any) -> None:
    if not memory.entries():
        memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    if way is asked_of_a_polygon and all(map(math.isfinite, place)):
        return  # a polygon may be as large as one likes
    before = memory.revision, memory.entries(), memory.placed(), memory.regions()
    with pytest.raises(InvalidArgument):
        way(memory, robot, thing, place)
    assert (memory.revision, memory.entries(), memory.placed(), memory.regions()) == before
    assert [e.label for e in memory.retrieve(Query(labels=("mug",))).entries] == ["mug"]


def test_words_without_end_are_refused(memory: Library, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    (entry,) = memory.entries()
    name = EntryCorrection(CorrectionKind.RENAME, entry.entry_id, label="杯" * 11_000)
    for said in (name, replace(name, label="cup", source="x" * 40_000)):
        with pytest.raises(InvalidArgument, match="too long"):
            memory.correct(said, 1)
    with pytest.raises(InvalidArgument, match="too long"):
        memory.add_episode(Episode("", "r1", "so " * 20_000, Interval(1, 2), EpisodeSource.UTTERANCE))
    assert memory.correct(replace(name, label="杯" * 10_000), 1).correction_id == 1


@pytest.mark.parametrize("confidence", [math.nan, math.inf, -0.1, 1.1, 7.0])
def test_a_confidence_is_between_nothing_and_one(memory: Library, robot: Any, thing: Any, confidence: float) -> None:
    frame = robot.frame(1, thing("mug", (2, 0, 0.8)).seen(confidence=confidence))
    with pytest.raises(InvalidArgument, match="confidence"):
        memory.ingest(frame)
    assert memory.revision == 0
