from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from r4_ros.core.model import Embedding, EventKind, Motion, Visibility


def place_of(library: Any, entry: Any) -> tuple[float, float, float]:
    return next(p.box.pose.position for p in library.placed() if p.entry_id == entry.entry_id)


def test_one_thing_seen_from_all_sides_is_one_entry(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (3.0, 0.0, 0.8))
    for i in range(12):
        angle = i * math.pi / 6
        robot.where = (3 + 2 * math.cos(angle), 2 * math.sin(angle), angle + math.pi)
        memory.ingest(robot.frame(i, mug))
    (entry,) = memory.entries()
    assert entry.label == "mug" and entry.count == 12
    assert place_of(memory, entry) == pytest.approx((3, 0, 0.8), abs=1e-6)
    assert entry.stays[-1].box.extent == pytest.approx(mug.extent, abs=1e-6)
    assert entry.entry_id and len(entry.stays) == 1


def test_two_mugs_side_by_side_stay_two(memory: Any, robot: Any, thing: Any) -> None:
    left, right = thing("mug", (2, 0.1, 0.8)), thing("mug", (2, -0.1, 0.8))
    memory.ingest(robot.frame(0, left, right))
    for i in range(1, 10):
        order = (right, left) if i % 2 else (left, right)
        memory.ingest(robot.frame(i * 0.2, *order))
    memory.ingest(robot.frame(3, right))
    memory.ingest(robot.frame(4, left))
    entries = memory.entries()
    assert [e.count for e in entries] == [11, 11]
    assert place_of(memory, entries[0])[1] == pytest.approx(0.1, abs=1e-6)
    assert place_of(memory, entries[1])[1] == pytest.approx(-0.1, abs=1e-6)


def test_an_exact_match_is_not_given_up_for_two_middling_ones(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8)), thing("mug", (2, 0.12, 0.8))))
    memory.ingest(robot.frame(1, thing("mug", (2, 0.12, 0.8)), thing("mug", (2, 0.24, 0.8))))
    assert place_of(memory, memory.entries()[1])[1] == pytest.approx(0.12, abs=1e-6)


def test_a_flickering_label_stays_one_entry_with_the_label_most_voted_for(memory: Any, robot: Any, thing: Any) -> None:
    vase = thing("vase", (2, 0, 0.8), (0.2, 0.2, 0.3))
    for i, label in enumerate(["vase", "bottle", "vase", "cup", "vase"]):
        memory.ingest(robot.frame(i * 0.1, thing(label, vase.centre, vase.extent)))
    (entry,) = memory.entries()
    assert entry.label == "vase" and dict(entry.label_votes) == {"vase": 3.0, "bottle": 1.0, "cup": 1.0}


def test_a_book_in_a_bookcase_is_no_bookcase(memory: Any, robot: Any, thing: Any) -> None:
    bookcase, book = thing("bookcase", (2, 0, 1), (0.3, 0.8, 2)), thing("book", (2, 0, 1), (0.2, 0.05, 0.25))
    for i in range(3):
        memory.ingest(robot.frame(i, bookcase))
        memory.ingest(robot.frame(i + 0.5, book))
    assert sorted(e.label for e in memory.entries()) == ["book", "bookcase"]


def test_other_labels_at_another_place_are_other_entries(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8))))
    memory.ingest(robot.frame(1, thing("plate", (2, 0.15, 0.8))))
    assert len(memory.entries()) == 2


def test_similar_labels_may_be_one_thing_with_an_embedder(open_memory: Any, robot: Any, thing: Any, axes: Any) -> None:
    embedder = axes(cup=(1, 0.5), mug=(1, 0.4), plate=(0, 0, 1))
    library = open_memory()
    for i, label in enumerate(["cup", "mug", "plate"]):
        vector = Embedding("axes", np.asarray(embedder.embed([label])[0]))
        library.ingest(robot.frame(i, thing(label, (2, i * 0.08, 0.8)).seen(label_embedding=vector)))
    assert sorted((e.label, e.count) for e in library.entries()) == [("cup", 2), ("plate", 1)]


def test_a_truncated_view_neither_shrinks_nor_drags(memory: Any, robot: Any, thing: Any) -> None:
    sofa = thing("sofa", (3, 0, 0.4), (0.9, 2.0, 0.8))
    for i in range(5):
        memory.ingest(robot.frame(i, sofa))
    half = thing("sofa", (3, 0.6, 0.4), (0.9, 0.8, 0.8)).seen(visibility=Visibility.TRUNCATED)
    for i in range(5, 30):
        memory.ingest(robot.frame(i, half))
    (entry,) = memory.entries()
    assert place_of(memory, entry) == pytest.approx((3, 0, 0.4), abs=1e-6)
    assert entry.stays[-1].box.extent == pytest.approx(sofa.extent, abs=1e-6)
    assert entry.visibility == Visibility.TRUNCATED and entry.count == 30


def test_partial_views_add_up_until_it_is_seen_whole(memory: Any, robot: Any, thing: Any) -> None:
    cut = {"visibility": Visibility.TRUNCATED}
    memory.ingest(robot.frame(0, thing("sofa", (3, 0.5, 0.4), (0.9, 1.0, 0.8)).seen(**cut)))
    memory.ingest(robot.frame(1, thing("sofa", (3, 0.1, 0.4), (0.9, 1.0, 0.8)).seen(**cut)))
    (entry,) = memory.entries()
    assert entry.stays[-1].box.extent == pytest.approx((0.9, 1.4, 0.8), abs=1e-6)
    memory.ingest(robot.frame(2, thing("sofa", (3, 0, 0.4), (0.9, 2.0, 0.8))))
    (entry,) = memory.entries()
    assert entry.stays[-1].box.extent == pytest.approx((0.9, 2.0, 0.8), abs=1e-6)
    assert place_of(memory, entry)[1] == pytest.approx(0, abs=1e-6)


def test_places_are_averaged_by_their_covariances(memory: Any, robot: Any, thing: Any) -> None:
    sure = tuple(np.diag([0.02**2] * 3).ravel())
    unsure = tuple(np.diag([0.2**2] * 3).ravel())
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8)).seen(position_covariance=sure)))
    memory.ingest(robot.frame(1, thing("mug", (2, 0.2, 0.8)).seen(position_covariance=unsure)))
    y = place_of(memory, memory.entries()[0])[1]
    assert 0 < y < 0.005


def test_a_tracked_thing_may_move_and_begins_new_stays(memory: Any, robot: Any, thing: Any) -> None:
    ball = thing("ball", (2, 0, 0.1), (0.2, 0.2, 0.2)).seen(track_id="7")
    times = [i * 0.5 for i in range(8)]
    for t in times:
        y = 0.0 if t < 2 else (t - 1.5) * 1.2
        memory.ingest(robot.frame(t, ball.at(2, y, 0.1)))
    (entry,) = memory.entries()
    assert entry.count == 8 and len(entry.stays) >= 3 and entry.motion == Motion.DYNAMIC
    assert place_of(memory, entry)[1] == pytest.approx(2.4, abs=0.01)
    for a, b in zip(entry.stays, entry.stays[1:], strict=False):
        assert a.interval.end <= b.interval.start
    moved = [e for e in memory.events() if e.kind == EventKind.MOVED]
    assert len(moved) == 1, "one movement is one event"
    assert moved[0].from_place == pytest.approx((2, 0, 0.1), abs=1e-6)
    assert moved[0].place[1] == pytest.approx(2.4, abs=0.01)
    assert moved[0].earliest_ns <= moved[0].stamp_ns <= moved[0].latest_ns


def test_a_track_that_ended_says_nothing(memory: Any, robot: Any, thing: Any) -> None:
    ball = thing("ball", (2, 0, 0.1)).seen(track_id="7")
    memory.ingest(robot.frame(0, ball))
    memory.ingest(robot.frame(10, ball.at(2, 3, 0.1)))
    assert len(memory.entries()) == 2


def test_one_track_twice_in_a_frame_is_two_things(memory: Any, robot: Any, thing: Any) -> None:
    ball = thing("ball", (2, 0, 0.1)).seen(track_id="7")
    memory.ingest(robot.frame(0, ball))
    memory.ingest(robot.frame(1, ball, ball.at(2, 2, 0.1)))
    assert len(memory.entries()) == 2


def test_tracks_live_on_over_a_restart(open_memory: Any, robot: Any, thing: Any) -> None:
    ball = thing("ball", (2, 0, 0.1)).seen(track_id="7")
    first = open_memory()
    first.ingest(robot.frame(0, ball))
    first.close()
    again = open_memory()
    again.ingest(robot.frame(1, ball.at(2, 1.5, 0.1)))
    assert len(again.entries()) == 1


def test_turned_boxes_are_kept_as_their_bounds(memory: Any, robot: Any, thing: Any) -> None:
    robot.where = (0, 0, math.pi / 4)
    frame = robot.frame(0, thing("crate", (1.5, 1.5, 0.5), (1, 1, 1)))
    (o,) = frame.observations
    straight = o.box.pose.__class__(o.box.pose.position)
    turned = o.__class__(0, "crate", o.box.__class__(straight, (1, 1, 1)))
    memory.ingest(frame.__class__(**{**{f: getattr(frame, f) for f in frame.__slots__}, "observations": (turned,)}))
    (entry,) = memory.entries()
    assert entry.stays[-1].box.extent == pytest.approx((2**0.5, 2**0.5, 1), abs=1e-6)


def test_two_agents_keep_their_own_entries(memory: Any, make_robot: Any, thing: Any) -> None:
    for agent in ("r1", "r2"):
        memory.ingest(make_robot(agent, map_id="home").frame(1, thing("mug", (2, 0, 0.8))))
    assert [(e.agent_id, e.count) for e in memory.entries()] == [("r1", 1), ("r2", 1)]


def test_many_look_alikes_keep_their_identity(memory: Any, robot: Any, thing: Any) -> None:
    rng = np.random.default_rng(3)
    chairs = [thing("chair", (2 + 0.7 * (i % 3), -1 + 0.8 * (i // 3), 0.45), (0.5, 0.5, 0.9)) for i in range(9)]
    for i in range(30):
        seen = [c.at(*(np.asarray(c.centre) + rng.normal(0, 0.03, 3))) for c in chairs if rng.random() > 0.3]
        rng.shuffle(seen)
        memory.ingest(robot.frame(i * 0.2, *seen))
    assert len(memory.entries()) == 9
