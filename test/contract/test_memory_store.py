"""What every store of the memory must do; a new store is done when these tests pass for it too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.core.alignments import Alignment, AlignmentRecord
from r4_ros.core.errors import StoreError
from r4_ros.core.geometry import compose
from r4_ros.core.model import (
    FOREVER,
    MEMORY,
    Anchor,
    AttributeValue,
    Box,
    CorrectionKind,
    CorrectionRecord,
    Embedding,
    Entry,
    EntryCorrection,
    EntryState,
    Episode,
    EpisodeSource,
    Event,
    EventKind,
    Interval,
    Motion,
    Observation,
    Pose,
    Presence,
    Region,
    Share,
    Stay,
    View,
    Visibility,
    observation_id,
)
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.anchor_records import PathRecord
from r4_ros.memory.bulk import NO_VECTOR
from r4_ros.memory.codec import as_stored
from r4_ros.memory.division_records import Division
from r4_ros.memory.merge_records import AnchorChange, MergeChange
from r4_ros.memory.sql_store import SqlStore
from r4_ros.memory.sql_told import LOST
from r4_ros.memory.store import (
    AnchorRecord,
    CorrectionChange,
    EntryChange,
    FrameChange,
    KeptFrame,
    MemoryStore,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
    StoredFrame,
    StoredView,
    WriterRecord,
)
from r4_ros.memory.store_upkeep import Dropped
from r4_ros.memory.stored_words import DescriptionChange, StoredCrop
from r4_ros.memory.stores import open_store as open_any_store

S = 1_000_000_000
TURN = (0.0, 0.0, 0.6, 0.8)
STAY = Stay(
    Interval(1, 5),
    0,
    Box(Pose((1.1, 2.2, 3.3), TURN), (0.1, 0.2, 0.3)),
    (0.1,) * 9,  # type: ignore[arg-type]
    count=3,
    whole=2,
    revision=1,
    turned=(0.25, 0.5, 0.125),
    shares=(Share(0, 0.25, (1.5, 2.5, 3.5)), Share(0, 0.125, (1.0, 2.0, -3.0))),
)
OpenStore = Callable[..., MemoryStore]


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    opened: list[MemoryStore] = []
    database: Path | str = tmp_path / "memory.db"
    if request.param == "postgres":
        database = request.getfixturevalue("postgres_server").database()

    def make(**more: Any) -> MemoryStore:
        opened.append(open_any_store(database, **more))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    return open_store()


def vector(*values: float) -> Embedding:
    return Embedding("axes", as_stored(np.array(values, np.float32)))


def entry(slot: int, **more: Any) -> StoredEntry:
    whole = Entry(
        entry_id=f"id{slot}",
        agent_id="r1",
        revision=1,
        session=0,
        map_id="home",
        label="Straße 茶",
        label_votes=(("Straße 茶", 0.7), ("mug", 0.2)),
        stays=(STAY,),
        sightings=(Interval(1, 2), Interval(4, 5)),
        presence=(Presence(0, 1, 4, FOREVER),),
        description='a "mug"',
        attributes=(AttributeValue("color", "red", 1, 4, 3),),
        label_embedding=vector(1, 0.5, 0.1),
        description_embedding=vector(0.3, 0.1, 0.9),
        visibility=Visibility.OCCLUDED,
        confidence=0.1 + 0.2,
        count=3,
        state=EntryState.PRESENT,
        motion=Motion.MOVABLE,
        moved_from="id7",
        maybe_same_as=("id8", "id9"),
    )
    return StoredEntry(slot, whole.evolve(**more), 17, 2)


def change(
    frame_id: int, stamp: int, agent: str = "r1", session: int = 0, depth: bool = True, **more: Any
) -> FrameChange:
    writer = WriterRecord(agent, "front", "w", 0, 1, session, frame_id, stamp)
    view = View(1.2, 0.9, 0.1, 10.0, np.full((2, 3), 2.5, np.float32) if depth else np.zeros((0, 0), np.float32))
    frame = StoredFrame(
        frame_id,
        agent,
        session,
        "front",
        stamp,
        writer,
        frame_id,
        "home",
        "map",
        "cam",
        0,
        Pose((0.5, 0, 0)),
        Pose(),
        view,
    )
    made = FrameChange(frame_id, SessionRecord(agent, session, 0, 1, stamp), frame, False, None, (), (), ())
    return replace(made, **more)


def anchor(number: int, agent: str = "r1", odom: Pose | None = None) -> AnchorRecord:
    return AnchorRecord("front", Anchor(number, agent, 0, "home", number, Pose((number, 0, 0), TURN), odom))


def event(event_id: str, slot: int, stamp: int, earliest: int, latest: int, place: float = 1.0) -> StoredEvent:
    made = Event(
        event_id, EventKind.MOVED, "id0", "r1", "mug", stamp, earliest, latest, "home", (place, 0, 0), (0, 0, 0), "x"
    )
    return StoredEvent(made, slot, 0, (place, 0, 0), 0, (0, 0, 0))


def test_an_empty_store_is_empty(store: MemoryStore) -> None:
    assert store.revision() == 0 and store.next_frame_id() == 1
    assert list(store.entries()) == list(store.anchors()) == list(store.views()) == store.events() == []
    assert list(store.sessions()) == list(store.writers()) == store.regions() == []
    assert store.find_frame("r1", 0, "front", 5) is None and store.trail("r1", 0, 0, 9) == []
    assert set(store.counts().values()) == {0} and store.problems() == []


def test_whole_records_come_back_as_they_were(open_store: OpenStore) -> None:
    store = open_store()
    first = change(
        1,
        5,
        anchor=anchor(0, odom=Pose((9, 8, 7))),
        observations=((Observation(0, "mug", Box(Pose(), (1, 1, 1)), track_id="t"), 0),),
        entries=(
            EntryChange(None, entry(0)),
            EntryChange(None, entry(1, label_embedding=None, presence=(Presence(0, 1, 4, 9),))),
        ),
        events=(event("e1", 0, 5, 4, 5),),
    )
    store.write_frame(first)
    for again in (False, True):
        opened = reopened(open_store, store) if again else store
        assert list(opened.entries()) == [entry(0), entry(1, label_embedding=None, presence=(Presence(0, 1, 4, 9),))]
        assert next(iter(opened.entries((1,)))).slot == 1 and list(opened.entries((5,))) == []
        assert list(opened.anchors()) == [anchor(0, odom=Pose((9, 8, 7)))]
        assert opened.events() == [event("e1", 0, 5, 4, 5)]
        assert opened.sessions() == [first.session] and opened.writers() == [first.frame.writer]
        assert opened.revision() == 1 and opened.next_frame_id() == 2
        assert opened.find_frame("r1", 0, "front", 5) == (1, {0: ""})
        assert opened.find_frame("r1", 0, "back", 5) is None
        f = first.frame
        assert list(opened.views()) == [StoredView(1, "r1", "front", "home", 5, 5, 0, f.sensor_in_anchor, f.view)]
        assert opened.map_frames() == {"home": "map"}
        assert opened.live_tracks("r1", 0, 5) == [("front", "t", 0, 5)] and opened.live_tracks("r1", 0, 6) == []
        assert opened.counts()["observation"] == 1


def reopened(open_store: OpenStore, store: MemoryStore) -> MemoryStore:
    store.close()
    return open_store()


def test_only_what_changed_of_an_entry_must_be_written_and_shorter_lists_shrink(store: MemoryStore) -> None:
    before = entry(0)
    store.write_frame(change(1, 5, anchor=anchor(0), entries=(EntryChange(None, before),)))
    after = entry(0, sightings=(Interval(1, 5),), label="cup", label_embedding=vector(0, 1), count=4)
    store.write_frame(change(2, 6, entries=(EntryChange(before, after),)))
    assert list(store.entries()) == [after]


def test_known_anchors_are_moved_and_nothing_else(open_store: OpenStore, store: MemoryStore) -> None:
    first, second = anchor(0, odom=Pose((9, 8, 7))), anchor(1)
    store.write_frame(change(1, 5, anchor=first, entries=(EntryChange(None, entry(0)),)))
    store.write_frame(change(2, 6, anchor=second))
    entries = list(store.entries())
    moved = replace(first.anchor, pose_in_map=Pose((0.1, 0.2, 0.3), TURN), recorded_in_map=first.anchor.pose_in_map)
    store.write_anchor_correction(AnchorChange("r1", "x", 7, (moved,), (first.anchor.pose_in_map,)))
    opened = reopened(open_store, store)
    assert list(opened.anchors()) == [AnchorRecord("front", moved), second]
    assert opened.revision() == 7 and list(opened.entries()) == entries


def test_a_merged_entry_is_a_part_of_the_other_one_and_both_are_kept(open_store: OpenStore, store: MemoryStore) -> None:
    first, second, third = (entry(slot, label_embedding=None) for slot in range(3))
    events = tuple(event(f"e{slot}", slot, 5, 5, 5) for slot in (0, 1, 1, 2))
    events = (*events[:2], replace(events[2], event=replace(events[2].event, event_id="void")), events[3])
    new = tuple(EntryChange(None, e) for e in (first, second, third))
    store.write_frame(change(1, 5, anchor=anchor(0), entries=new, events=events))
    both = StoredEntry(0, first.entry.evolve(count=9, revision=2))
    all_of_it = StoredEntry(2, third.entry.evolve(count=10, revision=3))
    merge = MergeChange(EntryChange(first, both), second, 7, "x", ("void",), ("e1",))
    store.write_anchor_correction(AnchorChange("r1", "x", 2, (), (), (merge,)))
    assert [e.slot for e in store.entries()] == [e.slot for e in store.entries([0, 1, 2])] == [0, 2]
    merge = MergeChange(EntryChange(third, all_of_it), both, 8, "y", (), ("e0", "e1"))
    store.write_anchor_correction(AnchorChange("r1", "y", 3, (), (), (merge,)))
    opened = reopened(open_store, store)
    assert list(opened.entries()) == [all_of_it] and opened.revision() == 3
    assert opened.merged() == [(0, "id0", 2), (1, "id1", 2)]
    assert [(e.event.event_id, e.slot, e.event.entry_id) for e in opened.events()] == [
        (event_id, 2, "id2") for event_id in ("e0", "e1", "e2")
    ]
    record, later = opened.merges()
    assert (record.kept_id, record.merged_id, record.stamp_ns, record.revision) == ("id0", "id1", 7, 2)
    assert (record.reason, record.voided, record.moved) == ("x", ("void",), ("e1",))
    assert record.kept_before == first and later.kept_before == third
    assert opened.problems() == []


def test_what_agents_found_gone_of_each_others_is_kept(open_store: OpenStore, store: MemoryStore) -> None:
    one, more = FoundAbsent(0, "r2", 5, 1), FoundAbsent(0, "r2", 5, 3, True)
    later = FoundAbsent(0, "r3", 9, 1)
    store.write_frame(change(1, 5, anchor=anchor(0), entries=(EntryChange(None, entry(0)),), absences=(one,)))
    assert list(store.absences()) == [one]
    store.write_frame(change(2, 6, absences=(more, later)))
    assert list(reopened(open_store, store).absences()) == [more, later]


def test_sightings_are_told_with_their_entries(store: MemoryStore) -> None:
    new = tuple(EntryChange(None, entry(slot)) for slot in range(2))
    one = Observation(0, "mug", Box(Pose(), (1, 1, 1)))
    gone, unknown = (replace(one, index=i, visibility=Visibility.ABSENT) for i in (2, 3))
    seen = ((one, 0), (replace(one, index=1, label="cup"), 1), (gone, 1), (unknown, None))
    store.write_frame(change(1, 5, anchor=anchor(0), entries=new, observations=seen))
    assert list(store.assigned()) == [("r1", 5, 0, "mug", 0), ("r1", 5, 1, "cup", 1)]


def test_frames_that_saw_both_are_found(store: MemoryStore) -> None:
    new = tuple(EntryChange(None, entry(slot)) for slot in range(3))
    one = Observation(0, "mug", Box(Pose(), (1, 1, 1)))
    seen = ((one, 0), (replace(one, index=1), 1))
    store.write_frame(change(1, 5, anchor=anchor(0), entries=new, observations=seen))
    store.write_frame(change(2, 8, observations=((one, 2),)))
    assert store.seen_together("r1", Interval(5, 6), [0, 2], [1])
    for agent, interval, slots in (("r2", (5, 6), [0]), ("r1", (6, 9), [0]), ("r1", (0, 5), [0]), ("r1", (0, 9), [2])):
        assert not store.seen_together(agent, Interval(*interval), slots, [1])


def test_a_change_is_written_as_a_whole_or_not_at_all(store: MemoryStore) -> None:
    store.write_frame(change(1, 5, anchor=anchor(0), entries=(EntryChange(None, entry(0)),)))
    broken = change(
        2,
        6,
        session=1,
        anchor=anchor(1),
        entries=(EntryChange(None, entry(1, label="new", label_embedding=vector(4, 4))),),
        events=(event("e", 77, 5, 4, 5),),
    )
    with pytest.raises(StoreError):
        store.write_frame(broken)
    assert len(list(store.entries())) == len(list(store.anchors())) == len(store.sessions()) == 1
    assert store.revision() == 1 and store.next_frame_id() == 2
    store.write_frame(replace(broken, events=()))
    assert len(list(store.entries())) == 2 and store.problems() == []


def test_what_is_written_together_is_there_as_a_whole_or_not_at_all(store: MemoryStore) -> None:
    with store.together():
        store.write_frame(change(1, 5, anchor=anchor(0), entries=(EntryChange(None, entry(0)),)))
        store.write_frame(change(2, 6, entries=(EntryChange(None, entry(1)),)))
    assert store.next_frame_id() == 3 and len(list(store.entries())) == 2
    with pytest.raises(StoreError), store.together():
        store.write_frame(change(3, 7, anchor=anchor(1)))
        store.write_frame(change(4, 7))  # the same frame by another number
    assert store.next_frame_id() == 3 and len(list(store.anchors())) == 1 and store.revision() == 2
    store.write_frame(change(3, 7, anchor=anchor(1)))
    assert store.revision() == 3 and store.problems() == []


def test_frames_written_together_leave_the_last_of_what_each_changed(open_store: OpenStore, store: MemoryStore) -> None:
    first, second = entry(0), entry(0, label="cup", label_embedding=vector(4, 4))
    third, other = replace(entry(0, label="cup", label_embedding=vector(4, 4), revision=3), absent_count=7), entry(1)
    with store.together():
        store.write_frame(change(1, 5, anchor=anchor(0), entries=(EntryChange(None, first),)))
        store.write_frame(change(2, 6, entries=(EntryChange(first, second), EntryChange(None, other))))
        thinned = change(3, 8, depth=False, entries=(EntryChange(second, third),))
        store.write_frame(replace(thinned, frame=replace(thinned.frame, prolongs=2)))
        assert list(store.entries()) == [third, other] and store.next_frame_id() == 4  # as written so far
        late = change(4, 7, depth=False, session=0)
        store.write_frame(replace(late, frame=replace(late.frame, prolongs=2)))
        store.write_frame(change(5, 9, agent="r2", anchor=anchor(1, "r2")))
    store = reopened(open_store, store)
    assert list(store.entries()) == [third, other] and store.revision() == 5 and store.problems() == []
    assert [(view.stamp_ns, view.until_ns) for view in store.views()] == [(5, 5), (6, 8), (9, 9)]
    assert [(s.agent_id, s.newest_ns) for s in store.sessions()] == [("r1", 8), ("r2", 9)]


def test_a_frame_is_stored_once(store: MemoryStore) -> None:
    store.write_frame(change(1, 5, anchor=anchor(0)))
    with pytest.raises(StoreError):
        store.write_frame(change(2, 5))
    again = change(1, 5, known=True, observations=((Observation(3, "x", Box(Pose(), (1, 1, 1))), None),))
    store.write_frame(again)
    assert store.find_frame("r1", 0, "front", 5) == (1, {3: ""})
    assert list(store.observation_ids()) == [observation_id("r1", 0, "front", 5, 3)]


def test_thinned_views_prolong_the_kept_one(store: MemoryStore) -> None:
    store.write_frame(change(1, 5, anchor=anchor(0)))
    thinned = change(2, 9, depth=False)
    store.write_frame(replace(thinned, frame=replace(thinned.frame, prolongs=1)))
    (view,) = store.views()
    assert (view.stamp_ns, view.until_ns) == (5, 9)


def test_the_trail_is_found_by_agent_session_and_time(store: MemoryStore) -> None:
    store.write_frame(change(1, 5, anchor=anchor(0)))
    store.write_frame(change(2, 7))
    store.write_frame(change(3, 6, session=1))
    store.write_frame(change(4, 6, agent="r2"))
    assert [r.stamp_ns for r in store.trail("r1", 0, 5, 7)] == [5]
    assert store.trail("r1", 0, 5, 8)[0].base_in_anchor == Pose((0.5, 0, 0))
    before, after = store.trail_around("r1", 0, 6)
    assert before is not None and after is not None and (before.stamp_ns, after.stamp_ns) == (5, 7)
    assert store.trail_around("r1", 0, 4)[0] is None and store.trail_around("r1", 0, 8)[1] is None
    many = store.passed("r1", 0, [8, 6, 4, 7])
    assert [side.stamps[side.anchors >= 0].tolist() for side in many] == [[7, 5, 7], [7, 5, 7]]
    assert [side.anchors.tolist() for side in many] == [[0, 0, -1, 0], [-1, 0, 0, 0]]
    assert many[0].base_in_anchor[np.array([0, 1, 3])].poses() == [Pose((0.5, 0, 0))] * 3


def test_events_are_found_by_their_bounds_and_grow(store: MemoryStore) -> None:
    events = (event("a", 0, 10, 8, 10), event("b", 1, 20, 0, 20))
    new = tuple(EntryChange(None, entry(slot)) for slot in (0, 1))
    store.write_frame(change(1, 5, anchor=anchor(0), entries=new, events=events))

    def ids(*window: int | None, **more: Any) -> list[str]:
        return [e.event.event_id for e in store.events(*window, **more)]

    assert ids() == ["a", "b"] and ids(slots=(1,)) == ["b"] and ids(slots=()) == []
    assert ids(9, 12) == ["a"] and ids(11, 15) == [] and ids(0, 8) == [] and ids(0, 9) == ["a"]
    assert ids(15) == ["b"]
    store.write_frame(change(2, 6, events=(event("a", 0, 10, 8, 30, place=5.0),)))
    grown = store.events()[0]
    assert grown.event.latest_ns == 30 and grown.place == (5.0, 0, 0)


def test_episodes_are_kept_once(store: MemoryStore) -> None:
    store.write_frame(change(1, 5, anchor=anchor(0)))
    first = Episode("x", "r1", "hello", Interval(10, 20), EpisodeSource.CAPTION, "home", (1, 2, 3), ("Anna",))
    store.add_episode(StoredEpisode(first, 0, (1, 2, 3)), 7)
    store.add_episode(StoredEpisode(replace(first, text="other"), 0, (1, 2, 3)), 8)
    store.add_episode(StoredEpisode(replace(first, episode_id="y", place=None, interval=Interval(0, 5))), 9)
    assert [e.episode.episode_id for e in store.episodes(0, 99)] == ["y", "x"]
    assert store.episodes(15, 16) == [StoredEpisode(first, 0, (1, 2, 3))]
    assert store.episodes(20, 30) == [] and store.revision() == 9


def test_minutes_are_kept_and_depth_that_they_tell_goes(open_store: OpenStore) -> None:
    store = open_store()
    for number in (1, 2, 3):
        store.write_frame(change(number, number * S, anchor=anchor(0) if number == 1 else None))
    minute = StoredCells("r1", "home", S, 2 * S, 0, Pose((1.5, 0, 0), TURN), b"cells")
    store.settle_views(minute, settled=(1, 2), dropped=(1,))
    store.close()
    again = open_store()
    assert [(v.frame_id, v.settled) for v in again.views()] == [(2, True), (3, False)]
    assert list(again.cells()) == [minute]
    assert [r.stamp_ns for r in again.trail("r1", 0, 0, 9 * S)] == [S, 2 * S, 3 * S]


def test_regions_are_replaced(store: MemoryStore) -> None:
    kitchen = Region("kitchen", ((0.5, 0.0), (1.0, 0.0), (1.0, 1.0)), 0.0, 2.0, "home")
    store.set_regions([Region("a", ((0, 0), (1, 0), (1, 1)))], 3)
    store.set_regions([kitchen], 4)
    assert store.regions() == [kitchen] and store.revision() == 4


def test_read_only_refuses_and_a_copy_is_whole(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.write_frame(change(1, 5, anchor=anchor(0), entries=(EntryChange(None, entry(0)),)))
    assert store.backup(tmp_path / "copy") > 0 and store.size_bytes() > 0 and not store.read_only
    reader = open_store(read_only=True)
    assert reader.read_only and list(reader.entries()) == [entry(0)]
    with pytest.raises(StoreError):
        reader.write_frame(change(2, 6))
    assert reader.path == store.path


def test_a_correction_is_written_with_what_it_changed_or_not_at_all(open_store: OpenStore) -> None:
    store = open_store()
    store.write_frame(change(1, 100, anchor=anchor(0), entries=(EntryChange(None, entry(0)),)))
    said = EntryCorrection(CorrectionKind.PIN, "id0", position=(1.0, 2.0, 3.0), source="Ännchen")
    first = CorrectionRecord(1, 77, said, ("id0",))
    pinned = EntryChange(entry(0), entry(0, label="cup", revision=2))
    store.write_correction(CorrectionChange(2, first, (pinned,)))
    undo = CorrectionRecord(2, 78, EntryCorrection(CorrectionKind.UNDO, "id0", correction_id=1), ("id0",))
    broken = EntryChange(None, replace(entry(5), entry=entry(5, entry_id="id0").entry))
    with pytest.raises(StoreError):
        store.write_correction(CorrectionChange(3, undo, (broken,)))
    assert store.revision() == 2 and store.corrections() == [first]
    store.write_correction(CorrectionChange(3, undo, (EntryChange(pinned.after, pinned.after),)))
    store.close()
    again = open_store(read_only=True)
    assert again.corrections() == [replace(first, undone_by=2), undo]
    assert again.corrected(1) == (pinned,)
    assert list(again.history())[1:] == [replace(first, undone_by=2), undo]
    assert [stored.entry.label for stored in again.entries()] == ["cup"]
    with pytest.raises(StoreError):
        again.write_correction(CorrectionChange(4, undo, ()))


def test_an_entry_that_proved_to_be_two_is_divided_and_that_can_be_taken_back(open_store: OpenStore) -> None:
    store = open_store()
    first, second, part = (entry(slot, label_embedding=None) for slot in range(3))
    views = [Observation(i, f"mug{i}", Box(Pose((i, 0, 0)), (1, 1, 1))) for i in range(4)]
    absent = replace(views[3], visibility=Visibility.ABSENT)
    events = tuple(event(f"e{slot}", slot, 5, 5, 5) for slot in (0, 1))
    new = tuple(EntryChange(None, e) for e in (first, second, part))
    seen = ((views[0], 0), (views[1], 1), (views[2], 2), (absent, 0))
    store.write_frame(change(1, 5, anchor=anchor(0), entries=new, events=events, observations=seen))
    store.write_frame(change(2, 8, observations=((views[0], 0),)))
    store.write_anchor_correction(
        AnchorChange("r1", "x", 2, (), (), (MergeChange(EntryChange(first, first), part, 7, "x"),))
    )
    kept = store.sightings("r1", Interval(5, 9), [0, 2], 9)
    assert [(k.key, k.stamp_ns, k.session, k.slot) for k in kept] == [
        ((1, 0), 5, 0, 0),
        ((1, 2), 5, 0, 2),
        ((2, 0), 8, 0, 0),
    ]
    assert kept[0].observation == views[0] and kept[0].sensor_in_anchor == Pose((0.5, 0, 0)) and kept[0].anchor_id == 0
    assert [k.key for k in store.sightings("r1", Interval(5, 9), [0, 2], 1)] == [(2, 0)]
    assert store.sightings("r2", Interval(5, 9), [0], 9) == store.sightings("r1", Interval(6, 8), [0], 9) == []

    def told(s: MemoryStore) -> Any:
        owners = [(k.key, k.slot) for k in s.sightings("r1", Interval(5, 9), [0, 1, 2], 9)]
        merged = [(m.merged_id, m.undone_by) for m in s.merges()]
        return owners, [e.event.event_id for e in s.events()], s.merged(), merged, list(s.entries())

    before = told(store)
    less, more = (StoredEntry(e.slot, e.entry.evolve(count=n)) for e, n in ((first, 1), (second, 4)))
    division = Division(1, ((1, 0, 0, 1), (1, 2, 2, 1)), ((2, 1),), ("e1",), (event("new", 1, 6, 6, 6),))
    said = EntryCorrection(CorrectionKind.SPLIT, "id0", other_id="id1", at_ns=5, source=MEMORY)
    record = CorrectionRecord(1, 77, said, ("id0", "id1"))
    changes = (EntryChange(first, less), EntryChange(second, more))
    store.write_correction(CorrectionChange(3, record, changes, divided=division))
    store = reopened(open_store, store)
    owners = [((1, 0), 1), ((1, 1), 1), ((1, 2), 1), ((2, 0), 0)]
    assert told(store) == (owners, ["e0", "new"], [(2, "id2", 1)], [("id2", 1)], [less, more])
    assert store.corrections() == [record] and store.corrected(1) == changes
    undo = CorrectionRecord(2, 78, EntryCorrection(CorrectionKind.UNDO, "id0", correction_id=1), ("id0", "id1"))
    back = (EntryChange(less, first), EntryChange(more, second))
    store.write_correction(CorrectionChange(4, undo, back, rejoined=1))
    store = reopened(open_store, store)
    assert told(store) == before and said.divides
    undone = replace(undo.correction, other_id="id1", correction_id=0)
    assert [h.correction for h in store.history() if isinstance(h, CorrectionRecord)] == [undone]


def test_a_void_event_is_told_no_more_until_it_happens_after_all(store: MemoryStore) -> None:
    one, other = event("e1", 0, 5, 5, 5), event("e2", 0, 6, 6, 6)
    new = (EntryChange(None, entry(0)),)
    store.write_frame(change(1, 5, anchor=anchor(0), entries=new, events=(one, other)))
    store.write_frame(change(2, 7, voided=("e1", "unknown")))
    assert [e.event.event_id for e in store.events()] == ["e2"]
    store.write_frame(change(3, 9, voided=("e2",), events=(one,)))
    assert [e.event.event_id for e in store.events()] == ["e1"]


def test_history_is_what_was_written(store: MemoryStore) -> None:
    store.write_frame(change(1, 100, anchor=anchor(0), entries=(EntryChange(None, entry(0)),)))
    store.write_frame(change(2, 200, depth=False))
    with store.reading():
        kept = list(store.history())
    assert [(k.frame_id, k.frame.stamp_ns, k.frame.writer, k.frame.sequence) for k in kept] == [
        (1, 100, "w", 1),
        (2, 200, "w", 2),
    ]
    assert kept[0].frame.view.depth.shape == (2, 3) and not kept[1].held and store.pruned_before() == {}


def test_pictures_are_kept_within_their_budget_the_oldest_go_first(store: MemoryStore) -> None:
    crops = [(f"crop:{n}", StoredCrop(n % 2, 10 - n, bytes([n]) * 100)) for n in range(4)]
    entries = (EntryChange(None, entry(0)), EntryChange(None, entry(1, entry_id="id1")))
    store.write_frame(change(1, 5, anchor=anchor(0), entries=entries, crops=tuple(crops[:2]), crop_budget=300))
    assert store.crop(0) == crops[0][1] and store.crop(1) == crops[1][1] and store.crop(2) is None
    store.write_frame(change(2, 6, crops=tuple(crops), crop_budget=300))  # two are known by their names
    assert store.crop_use() == {"bytes": 300, "dropped": 1}
    assert store.crop(0) == crops[0][1] and store.crop(1) == crops[1][1]  # 10 and 9 are newest, 7 went
    with pytest.raises(StoreError):
        store.write_frame(change(2, 6, crops=(("crop:9", StoredCrop(0, 99, b"x" * 100)),), crop_budget=300))
    assert store.crop_use() == {"bytes": 300, "dropped": 1} and store.crop(0) == crops[0][1]


def test_late_descriptions_are_written_with_what_they_make_of_entries_or_not_at_all(store: MemoryStore) -> None:
    seen = Observation(3, "x", Box(Pose(), (1, 1, 1)), attributes=(("color", "red"),))
    other = replace(seen, index=4)
    first = change(1, 5, anchor=anchor(0), entries=(EntryChange(None, entry(0)),))
    store.write_frame(replace(first, observations=((seen, 0), (other, None))))
    assert store.observed(1) == {3: ("id0", "")} and store.observed(2) == {}
    said = replace(seen, description="a red x", attributes=(("color", "red"), ("described_by", "vlm")))
    after = entry(0, description="a red x", revision=2)
    store.write_descriptions(DescriptionChange(2, 1, (said,), (EntryChange(entry(0), after),)))
    assert list(store.entries()) == [after] and store.revision() == 2
    assert store.observed(1) == {3: ("id0", "a red x")}
    (kept,) = store.history()
    assert kept.frame.observations[0].attributes == said.attributes
    broken = entry(7, entry_id="id0", description="b")
    with pytest.raises(StoreError):
        store.write_descriptions(
            DescriptionChange(3, 1, (replace(said, description="b"),), (EntryChange(None, broken),))
        )
    assert store.revision() == 2


def test_history_is_dropped_oldest_first_and_the_trail_stays(open_store: OpenStore) -> None:
    store = open_store()
    seen = ((Observation(0, "mug", Box(Pose(), (1, 1, 1))), 0),)
    store.write_frame(change(1, S, anchor=anchor(0), entries=(EntryChange(None, entry(0)),), observations=seen))
    for number in range(2, 9):
        store.write_frame(change(number, S + (number - 1) * S // 4, depth=number == 4, observations=seen))
    store.write_frame(change(9, 7, agent="r2", observations=seen))
    assert store.oldest_history() == {("r2", 0): 7, ("r1", 0): S} and store.dropped() == Dropped(0, 0, 0)
    some = store.drop_history("r1", 0, 2 * S + 1, 3)
    assert some == Dropped(3, 1, S + S // 2 + 1)
    more = store.drop_history("r1", 0, 2 * S + 1, 99)
    assert more == Dropped(2, 0, 2 * S + 1) and store.drop_history("r1", 0, 2 * S + 1, 99) == Dropped(0, 0, 0)
    store.close()
    again = open_store()
    assert again.dropped() == Dropped(5, 1, 2 * S + 1) and again.pruned_before() == {("r1", 0): 2 * S + 1}
    assert again.oldest_history() == {("r2", 0): 7, ("r1", 0): 2 * S + S // 4}
    assert [r.stamp_ns for r in again.trail("r1", 0, 0, 2 * S)] == [S, S + S // 2, S + 3 * S // 4]
    assert again.counts()["observation"] == 4 and list(again.entries()) == [entry(0)] and again.problems() == []
    assert 0 < again.used_bytes() <= again.size_bytes()


def test_history_tells_where_frames_were_believed_to_be_and_what_slam_said_when(store: MemoryStore) -> None:
    first = anchor(0, odom=Pose())
    store.write_frame(change(0, 0, anchor=first))
    astray = change(2, 7)
    store.write_frame(replace(astray, frame=replace(astray.frame, believed=Pose((0.5, 9, 0)))))
    old = first.anchor.pose_in_map
    for revision, reason, x in ((3, "settled", 1.0), (4, "correction", 2.0)):
        moved = replace(first.anchor, pose_in_map=Pose((x, 0, 0)))
        store.write_anchor_correction(AnchorChange("r1", reason, revision, (moved,), (old,)))
        old = moved.pose_in_map
    store.write_frame(change(5, 8))
    found = list(store.history())
    assert [getattr(k, "frame_id", None) for k in found] == [0, 2, None, 5]
    places = [k.frame.sensor_in_map.position for k in found if isinstance(k, KeptFrame)]
    turned = compose(first.anchor.pose_in_map, Pose((0.5, 0, 0))).position
    assert places == [pytest.approx(turned), (0.5, 9, 0), (2.5, 0, 0)]
    assert found[2] == PathRecord("r1", 0, "home", (0,), (Pose((2.0, 0, 0)),))


def test_beliefs_are_as_of_the_newest_frame_and_what_was_kept(open_store: OpenStore, store: MemoryStore) -> None:
    store.write_frame(change(1, 5, anchor=anchor(0)))
    assert store.beliefs() == [], "no odometry"
    second = change(2, 6, agent="r2", anchor=anchor(1, "r2", odom=Pose((1, 0, 0))))
    store.write_frame(replace(second, frame=replace(second.frame, anchor_id=1)))
    [newest] = store.beliefs()
    assert (newest.agent_id, newest.session, newest.map_id, newest.stamp_ns, newest.writer) == ("r2", 0, "home", 6, "w")
    kept = replace(newest, corrected=Pose((1, 2, 3)), stepped_ns=1, began_ns=2, until_ns=3, trusted_ns=4)
    store.keep_belief(kept)
    store = reopened(open_store, store)
    assert store.beliefs() == [kept]
    later = change(3, 9, agent="r2")
    store.write_frame(replace(later, frame=replace(later.frame, anchor_id=1)))
    [now] = store.beliefs()
    assert now == replace(kept, stamp_ns=9, odom_in_map=now.odom_in_map)


def test_the_start_reads_entries_and_vectors_by_the_batch(open_store: OpenStore) -> None:
    store = open_store()
    many = {"stays": (*entry(0).entry.stays, replace(entry(0).entry.stays[0], anchor_id=1)), "moved_from": ""}
    plain = {"label_embedding": None, "description_embedding": None, "attributes": (), "moved_from": "id0"}
    stored = [entry(0, **many), entry(2, **plain), entry(3, presence=(Presence(0, 1, 4, 9),), agent_id="r2")]
    new = tuple(EntryChange(None, e) for e in stored)
    store.write_frame(change(1, 5, anchor=anchor(0)))
    store.write_frame(change(2, 6, anchor=anchor(1), entries=new))
    gone = MergeChange(EntryChange(stored[0], stored[0]), stored[2], 7, "x")
    store.write_anchor_correction(AnchorChange("r1", "correction", 3, (), (), (gone,)))
    store.close()
    again = open_store(read_only=True)
    vectors: dict[int, Any] = {}
    for some in again.vector_batches():
        assert some.model == "axes"
        vectors.update(zip(some.numbers.tolist(), np.asarray(some.vectors, np.float32), strict=True))
    batches, expected = list(again.entry_batches()), list(again.entries())
    assert [slot for batch in batches for slot in batch.slots.tolist()] == [e.slot for e in expected] == [0, 2]
    (batch,) = batches
    entries = [e.entry for e in expected]
    assert (list(batch.ids), list(batch.labels)) == ([e.entry_id for e in entries], [e.label for e in entries])
    assert batch.first_seen.tolist() == [1, 1] and batch.last_seen.tolist() == [4, 4]
    assert (batch.stays.counts.tolist(), batch.stays.anchor.tolist()) == ([2, 1], [0, 1, 0])
    assert batch.sightings.counts.tolist() == [2, 2] and batch.presence.end.tolist() == [FOREVER, FOREVER]
    assert batch.attributes == {0: (("color", "red"),)} and batch.moved_from == {1: "id0"}
    assert batch.label_vectors is not None and batch.description_vectors is not None
    for numbers, name in (
        (batch.label_vectors, "label_embedding"),
        (batch.description_vectors, "description_embedding"),
    ):
        assert numbers[1] == NO_VECTOR
        np.testing.assert_array_equal(vectors[int(numbers[0])], getattr(entries[0], name).vector)
    assert again.vector_models() == ["axes"]


def test_episodes_by_number_and_what_they_mean(open_store: OpenStore) -> None:
    store = open_store()
    said = Episode("x", "r1", "hello", Interval(10, 20), EpisodeSource.UTTERANCE)
    first = store.add_episode(StoredEpisode(said), 1, vector(1, 0))
    second = store.add_episode(StoredEpisode(replace(said, episode_id="y", text="bye", interval=Interval(1, 2))), 2)
    assert 0 < first < second and store.add_episode(StoredEpisode(said), 3) == 0 and store.revision() == 2
    store.close()
    again = open_store()
    assert [e.episode.episode_id for e in again.episodes_by_number()] == ["x", "y"]
    assert [e.episode.text for e in again.episodes_by_number([second])] == ["bye"]
    assert list(again.episode_vectors()) == [("hello", vector(1, 0))]


def test_alignments_and_where_they_stand_in_the_history(open_store: OpenStore) -> None:
    store = open_store()
    pose = Pose((0.1 + 0.2, -1e9, 1 / 3), TURN)
    first = AlignmentRecord(1, 5, "r1", "home", Alignment("r1", "home", "site", pose, "map"), "Straße")
    undo = AlignmentRecord(2, 9, "r1", "home", None)
    store.write_alignment(first, 0, 1)
    anchor = AnchorRecord("front", Anchor(0, "r1", 0, "home", 10, Pose()))
    store.write_frame(replace(change(1, 10), anchor=anchor, revision=2))
    store.write_alignment(undo, 1, 3)
    assert store.revision() == 3 and store.problems() == []
    store.close()
    again = open_store()
    first = replace(first, undone_by=2)
    assert list(again.alignments()) == [first, undo]
    [before, frame, after] = again.history()
    assert (before, after) == (first, undo) and isinstance(frame, KeptFrame)


def test_what_no_map_server_was_told_of(open_store: OpenStore) -> None:
    store = open_store()
    assert store.others() == frozenset() and store.untold() is None
    store.write_frame(replace(change(1, 10), anchor=AnchorRecord("front", Anchor(0, "r1", 0, "home", 10, Pose()))))
    assert store.untold() == ("r1", 0, 10)
    store.untold_lost(3)
    store.untold_lost(4)
    store.close()
    again = open_store()
    assert isinstance(again, SqlStore) and again.told.get(LOST) == "7"


def test_whose_clock_the_stamps_run_on_is_kept(open_store: OpenStore) -> None:
    store = open_store()
    assert not store.is_live()
    store.set_live(True)
    store.close()
    again = open_store()
    assert again.is_live() and again.revision() == 0
    again.set_live(False)
    assert not again.is_live()


def test_this_suite_asks_for_everything_that_a_store_promises() -> None:
    names = {name for kind in MemoryStore.__mro__ for name in vars(kind) if not name.startswith("_")}
    suite = Path(__file__).read_text(encoding="utf-8")
    assert {name for name in names if f".{name}" not in suite} == set()
