from __future__ import annotations

from typing import Any

import pytest

from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, UnknownEntry
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import (
    FOREVER,
    EntryState,
    EventKind,
    Order,
    Pose,
    Query,
    Reference,
    Region,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
    Visibility,
)

S = 1_000_000_000


def labels(retrieval: Any) -> list[str]:
    return [e.label for e in retrieval.entries]


def test_an_empty_memory_answers(memory: Any) -> None:
    found = memory.retrieve(Query(labels=("mug",), with_events=True, with_episodes=True))
    assert found.entries == () and found.now_ns == 0 and found.ego is None and found.after_semantic == 0


def test_labels_are_found_whatever_their_case_and_script(memory: Any, robot: Any, thing: Any) -> None:
    for i, label in enumerate(["Straße", "茶碗", "mug"]):
        memory.ingest(robot.frame(i, thing(label, (2, i, 0.8))))
    assert labels(memory.retrieve(Query(labels=("STRASSE",)))) == ["Straße"]
    assert labels(memory.retrieve(Query(labels=("茶碗", "MUG")))) == ["mug", "茶碗"]
    assert labels(memory.retrieve(Query(exclude_labels=("mug",)))) == ["茶碗", "Straße"]
    assert memory.retrieve(Query(labels=("mugg",))).labels_known == ("mug",)


def test_meaning_counts_with_an_embedder(open_memory: Any, robot: Any, thing: Any, axes: Any) -> None:
    embedder = axes(sofa=(1, 0.2), couch=(1, 0.4), armchair=(1, 1.4), lamp=(0, 0, 1))
    library = open_memory(embedder=embedder)
    for i, label in enumerate(["sofa", "armchair", "lamp"]):
        library.ingest(robot.frame(i, thing(label, (2, i, 0.8))))
    found = library.retrieve(Query(labels=("couch",)))
    assert labels(found) == ["sofa", "armchair"]
    assert 0.6 < found.entries[1].semantic_score < found.entries[0].semantic_score < 1
    none = library.retrieve(Query(labels=("couch",), exclude_labels=("sofa", "armchair")))
    assert none.entries == () and none.labels_known[:2] == ("sofa", "armchair")
    assert labels(library.retrieve(Query(text="couch"))) == ["sofa", "armchair"]
    assert library.retrieve(Query(labels=("sofa",))).entries[0].semantic_score == 1


def test_words_count_without_one(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8)).seen(description="a mug with a red handle")))
    assert labels(memory.retrieve(Query(text="the white mug"))) == ["mug"]
    assert labels(memory.retrieve(Query(text="red handle"))) == ["mug"]
    assert labels(memory.retrieve(Query(text="teapot"))) == []


def test_attributes_are_the_present_ones(memory: Any, robot: Any, thing: Any) -> None:
    door = thing("door", (3, 0, 1), (0.1, 0.9, 2))
    for t in range(10):
        state = "open" if t == 2 or t > 5 else "closed"
        memory.ingest(robot.frame(t, door.seen(attributes=(("state", state), ("color", "White")))))
    assert labels(memory.retrieve(Query(attributes=(("state", "open"), ("color", "white"))))) == ["door"]
    assert labels(memory.retrieve(Query(attributes=(("state", "closed"),)))) == []
    (changed,) = [e for e in memory.events() if e.kind == EventKind.ATTRIBUTE_CHANGED]
    assert changed.detail == "state: closed -> open" and (changed.earliest_ns, changed.latest_ns) == (5 * S, 6 * S)
    history = [
        (a.value, a.first_seen // S, a.last_seen // S) for a in memory.entries()[0].attributes if a.name == "state"
    ]
    assert history == [("closed", 0, 5), ("open", 6, 9)]


def test_places_are_those_of_the_asked_time(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8)).seen(track_id="1")
    memory.ingest(robot.frame(10, mug))
    memory.ingest(robot.frame(11, mug.at(2, 3, 0.8)))
    for t in (20, 21, 22):
        memory.ingest(robot.absent(t, memory.entries()[0].entry_id))
    at = {t: memory.retrieve(Query(labels=("mug",), at_ns=t * S)) for t in (5, 10, 15, 21)}
    assert at[5].entries == () and at[5].after_semantic == 1 and at[5].after_spatial == 0
    assert at[10].entries[0].box.pose.position[1] == pytest.approx(0)
    assert at[15].entries[0].box.pose.position[1] == pytest.approx(3)
    assert at[21].entries == ()
    (latest,) = memory.retrieve(Query(labels=("mug",))).entries
    assert latest.state == EntryState.GONE and latest.present is None
    assert latest.box.pose.position[1] == pytest.approx(3)
    assert at[15].entries[0].present == memory.entries()[0].presence[0]


def test_now_hides_what_came_later(memory: Any, robot: Any, thing: Any) -> None:
    mug, plate = thing("mug", (2, 0, 0.8)), thing("plate", (2, 1, 0.8))
    for t in (1, 2, 30, 31):
        memory.ingest(robot.frame(t, mug, *([plate] if t > 20 else [])))
    early = memory.retrieve(Query(now_ns=10 * S))
    assert labels(early) == ["mug"] and early.now_ns == 10 * S
    assert early.entries[0].last_seen == 2 * S and early.entries[0].state == EntryState.UNKNOWN
    assert len(early.entries[0].sightings) == 1
    late = memory.retrieve(Query())
    assert late.now_ns == 31 * S and late.entries[0].state == EntryState.PRESENT


def test_the_funnel_counts_after_each_key(memory: Any, robot: Any, thing: Any) -> None:
    table = thing("table", (3, 0, 0.4), (1, 1, 0.8))
    memory.ingest(robot.frame(1, table, thing("mug", (3, 0, 0.86)), thing("mug", (3, 3, 0.8))))
    memory.ingest(robot.frame(9, thing("mug", (3, 0.4, 0.86))))
    (table_id,) = [e.entry_id for e in memory.entries() if e.label == "table"]
    on_table = SpatialConstraint("on", Reference.ENTRIES, entry_ids=(table_id,))
    seen = TemporalConstraint(TemporalKind.SEEN_IN, 5 * S, 10 * S)
    found = memory.retrieve(Query(labels=("mug",), spatial=(on_table,), temporal=(seen,)))
    assert (found.after_semantic, found.after_spatial, found.after_temporal) == (3, 2, 1)
    assert len(found.entries) == 1 and found.entries[0].spatial_score > 0.9
    off = SpatialConstraint("on", Reference.ENTRIES, entry_ids=(table_id,), negate=True)
    assert len(memory.retrieve(Query(labels=("mug",), spatial=(off,))).entries) == 1


def test_ego_is_where_the_agent_was_then(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 2, 0.8))
    memory.ingest(robot.frame(0, mug))
    robot.where = (4, 0, 0)
    memory.ingest(robot.frame(8, mug))
    robot.where = (4, 4, 3.14159)
    memory.ingest(robot.frame(9, mug))

    def asked(relation: str, **when: Any) -> Any:
        return memory.retrieve(
            Query(spatial=(SpatialConstraint(relation, Reference.EGO, stamp_ns=when.pop("stamp_ns", None)),), **when)
        )

    assert labels(asked("left_of", at_ns=0)) == ["mug"]
    assert labels(asked("in_front_of", at_ns=8 * S)) == []
    assert labels(asked("behind", stamp_ns=8 * S)) == ["mug"]
    assert labels(asked("left_of")) == ["mug"] and labels(asked("right_of")) == []
    ego = asked("left_of", at_ns=4 * S).ego
    assert ego.pose.position == pytest.approx((2, 0, 1), abs=1e-6) and ego.stamp_ns == 4 * S
    assert asked("left_of").ego_frame == "map"


def test_with_several_agents_somebody_must_be_named(memory: Any, make_robot: Any, thing: Any) -> None:
    for agent, x in (("r1", 0.0), ("r2", 4.0)):
        robot = make_robot(agent, map_id="home", where=(x, 0, 0))
        memory.ingest(robot.frame(1, thing("mug", (2, 0.2 if agent == "r1" else -0.2, 0.8))))
    front = SpatialConstraint("in_front_of", Reference.EGO)
    unnamed = memory.retrieve(Query(spatial=(front,)))
    assert unnamed.ego is None and unnamed.ego_candidates == ("r1", "r2") and unnamed.entries == ()
    assert labels(memory.retrieve(Query(spatial=(front,), ego_agent="r1", agents=("r1",)))) == ["mug"]
    assert labels(memory.retrieve(Query(spatial=(front,), ego_agent="r2"))) == []
    with pytest.raises(UnknownEntry, match="r3"):
        memory.retrieve(Query(agents=("r3",)))


def test_left_of_a_thing_is_as_it_was_seen_or_from_the_given_viewpoint(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("tv", (4, 0, 1), (0.1, 1, 0.6)), thing("plant", (4, 1.2, 0.5), (0.3, 0.3, 1))))
    robot.where = (8, 0, 3.14159)
    memory.ingest(robot.frame(1))
    (tv,) = memory.retrieve(Query(labels=("tv",))).entries

    def left(**more: Any) -> list[str]:
        constraint = SpatialConstraint("left_of", Reference.ENTRIES, entry_ids=(tv.entry_id,), **more)
        return labels(memory.retrieve(Query(spatial=(constraint,))))

    assert left() == ["plant"]
    assert left(pose=Pose((8, 0, 0), quat_from_yaw(3.14))) == []
    assert left(stamp_ns=1 * S) == []
    assert left(max_distance=0.3) == []


def test_between_needs_two_groups(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, *(thing(name, (3, y, 0.5)) for name, y in (("a", -1), ("b", 0), ("c", 1)))))
    a, b, c = (e.entry_id for e in memory.entries())
    between = SpatialConstraint("between", Reference.ENTRIES, entry_ids=(a,), other_entry_ids=(c,))
    assert [e.entry_id for e in memory.retrieve(Query(spatial=(between,))).entries] == [b]
    with pytest.raises(InvalidArgument, match="two"):
        memory.retrieve(Query(spatial=(SpatialConstraint("between", Reference.ENTRIES, entry_ids=(a,)),)))


def test_regions_filter_and_name(memory: Any, robot: Any, thing: Any) -> None:
    memory.set_regions(
        [Region("kitchen", ((1, -1), (3, -1), (3, 1), (1, 1))), Region("other", ((0, 0), (1, 0), (1, 1)), map_id="x")]
    )
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8)), thing("lamp", (5, 2, 0.8))))
    inside = SpatialConstraint("in", Reference.REGION, region="kitchen")
    found = memory.retrieve(Query(spatial=(inside,)))
    assert labels(found) == ["mug"] and found.entries[0].regions == ("kitchen",)
    assert found.regions == ("kitchen", "other")
    assert memory.retrieve(Query(labels=("lamp",))).entries[0].regions == ()


def test_orders(memory: Any, robot: Any, thing: Any) -> None:
    things = {
        "near": thing("near", (1, 0.5, 0.5), (0.3, 0.3, 0.3)),
        "far": thing("far", (6, -2, 0.2), (0.1, 0.1, 0.1)),
        "high": thing("high", (3, 0, 2.0), (0.2, 0.2, 0.2)),
    }
    for t, name in enumerate(["far", "high", "near"]):
        memory.ingest(robot.frame(t, things[name]))

    def first(order: Order, **more: Any) -> str:
        return labels(memory.retrieve(Query(order=order, limit=1, **more)))[0]

    assert first(Order.NEAREST) == "near" and first(Order.FARTHEST) == "far"
    assert first(Order.LAST_SEEN) == "near" and first(Order.FIRST_SEEN) == "far"
    assert first(Order.LARGEST) == "near" and first(Order.SMALLEST) == "far"
    assert first(Order.HIGHEST) == "high" and first(Order.LOWEST) == "far"
    assert first(Order.LEFTMOST) == "near" and first(Order.RIGHTMOST) == "far"
    corner = SpatialConstraint("within", Reference.POINT, pose=Pose((6, -2, 0)))
    assert first(Order.NEAREST, order_from=corner) == "far"
    with pytest.raises(InvalidArgument, match="limit"):
        memory.retrieve(Query(limit=0))


def test_states_and_visibilities_filter(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("old", (2, 0, 0.8))))
    memory.ingest(robot.frame(9, thing("new", (2, 1, 0.8)).seen(visibility=Visibility.OCCLUDED)))
    assert labels(memory.retrieve(Query(states=(EntryState.PRESENT,)))) == ["new"]
    assert labels(memory.retrieve(Query(states=(EntryState.UNKNOWN, EntryState.GONE)))) == ["old"]
    assert labels(memory.retrieve(Query(visibilities=(Visibility.VISIBLE,)))) == ["old"]


def test_events_of_what_was_found_come_along(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8)), thing("lamp", (2, 2, 0.8))))
    found = memory.retrieve(Query(labels=("mug",), with_events=True))
    assert [(e.kind, e.label) for e in found.events] == [(EventKind.APPEARED, "mug")]
    assert memory.retrieve(Query(labels=("mug",))).events == ()


def test_the_deadline_counts(memory: Any, robot: Any) -> None:
    memory.ingest(robot.frame(0))
    with pytest.raises(DeadlineExceeded):
        memory.retrieve(Query(), deadline_s=-1.0)


def test_forever_is_no_upper_limit(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(3, thing("mug", (2, 0, 0.8))))
    since = TemporalConstraint(TemporalKind.PRESENT_IN, 10 * S, FOREVER)
    assert labels(memory.retrieve(Query(temporal=(since,), now_ns=20 * S))) == ["mug"]
    assert (
        labels(memory.retrieve(Query(temporal=(TemporalConstraint(TemporalKind.SEEN_IN, 10 * S),), now_ns=20 * S)))
        == []
    )


def test_directions_do_not_reach_through_walls(memory: Any, robot: Any, thing: Any) -> None:
    rooms = (
        Region("hall", ((-1, -1), (6, -1), (6, 1), (-1, 1))),
        Region("bath", ((-1, 1), (6, 1), (6, 3), (-1, 3))),
    )
    memory.ingest(robot.frame(0, thing("lamp", (1, 0.8, 1)), thing("towel", (1, 1.5, 1)), thing("box", (1, 1.4, 0))))
    memory.ingest(robot.frame(60))
    left = (SpatialConstraint("left_of", Reference.EGO, stamp_ns=60 * S),)
    everywhere = labels(memory.retrieve(Query(spatial=left)))
    memory.set_regions(rooms)
    walled = labels(memory.retrieve(Query(spatial=left)))
    assert set(walled) == set(everywhere) - {"towel", "box"} and "towel" in everywhere
    then = (SpatialConstraint("left_of", Reference.EGO, stamp_ns=0),)
    assert "towel" in labels(memory.retrieve(Query(spatial=then))), "it was in view then, through a door"


def test_nearness_and_same_room_end_at_walls(memory: Any, robot: Any, thing: Any) -> None:
    rooms = (
        Region("hall", ((-1, -1), (6, -1), (6, 1), (-1, 1))),
        Region("bath", ((-1, 1), (6, 1), (6, 3), (-1, 3))),
    )
    memory.ingest(robot.frame(0, thing("lamp", (1, 0.8, 1)), thing("towel", (1, 1.3, 1)), thing("box", (2, -0.5, 0))))
    lamp = memory.retrieve(Query(labels=("lamp",))).entries[0].entry_id
    near, same = (
        (SpatialConstraint(relation, Reference.ENTRIES, entry_ids=(lamp,)),) for relation in ("near", "same_room")
    )
    assert labels(memory.retrieve(Query(spatial=near))) == ["towel"]
    assert labels(memory.retrieve(Query(spatial=same))) == []
    memory.set_regions(rooms)
    assert labels(memory.retrieve(Query(spatial=near))) == []
    assert labels(memory.retrieve(Query(spatial=same))) == ["box"]
