"""An agent finds another one's thing gone: kept by who found it so, applied in the answers."""

from __future__ import annotations

from typing import Any

import pytest
from alike import assert_alike

from r4_ros.core.model import EntryState, EventKind, Query, TemporalConstraint, TemporalKind
from r4_ros.memory.transfer import Importer, export_lines

S = 1_000_000_000
MUG = Query(labels=("mug",), with_events=True)


@pytest.fixture
def pair(make_robot: Any) -> Any:
    return make_robot("r1", map_id="home"), make_robot("r2", map_id="home")


def told(memory: Any, pair: Any, thing: Any, times: tuple[float, ...] = (20, 20.5, 21)) -> Any:
    """The first robot sees a mug, the second one finds its place empty."""
    first, second = pair
    memory.ingest(first.frame(1, thing("mug", (2, 0, 0.8))))
    memory.ingest(first.frame(5, thing("mug", (2, 0, 0.8))))
    (mug,) = memory.entries()
    receipts = [memory.ingest(second.absent(t, mug.entry_id, mug.revision)) for t in times]
    return mug, receipts


def test_it_is_gone_in_the_answers_and_its_entry_is_as_it_was(memory: Any, pair: Any, thing: Any) -> None:
    mug, receipts = told(memory, pair, thing)
    assert memory.entries() == [mug]
    (one,) = memory.retrieve(MUG).entries
    assert one.state == EntryState.GONE and one.present is None and one.last_seen == 5 * S
    assert not memory.retrieve(Query(states=(EntryState.PRESENT, EntryState.UNKNOWN))).entries
    assert not receipts[-1].changed
    assert [e.state for e in memory.entries_near("r2", 9)] == [EntryState.GONE], "it needn't look again"
    assert [e.state for e in memory.entries_near("r1", 9)] != [EntryState.GONE], "it should look itself"
    (gone,) = receipts[-1].events
    assert (gone.kind, gone.agent_id, gone.entry_id) == (EventKind.DISAPPEARED, "r2", mug.entry_id)
    assert (gone.earliest_ns, gone.latest_ns) == (5 * S, 20 * S)
    assert gone.place == pytest.approx((2, 0, 0.8), abs=1e-6)


def test_each_agents_own_view_stays_its_own(memory: Any, pair: Any, thing: Any) -> None:
    told(memory, pair, thing)
    alone = memory.retrieve(Query(labels=("mug",), agents=("r1",), with_events=True, now_ns=30 * S))
    assert [e.state for e in alone.entries] == [EntryState.UNKNOWN]
    assert [e.kind for e in alone.events] == [EventKind.APPEARED]
    assert not memory.retrieve(Query(labels=("mug",), agents=("r2",))).entries
    went = TemporalConstraint(TemporalKind.DISAPPEARED_IN, 4 * S, 30 * S)
    for agents, count in (((), 1), (("r1", "r2"), 1), (("r1",), 0)):
        assert len(memory.retrieve(Query(temporal=(went,), agents=agents)).entries) == count


def test_it_was_there_until_then(memory: Any, pair: Any, thing: Any) -> None:
    told(memory, pair, thing)
    for at_s, count in ((4, 1), (19, 1), (20, 0), (30, 0)):
        assert len(memory.retrieve(Query(labels=("mug",), at_ns=at_s * S)).entries) == count, at_s
    for span, count in (((10, 30), 1), ((22, 30), 0)):
        within = TemporalConstraint(TemporalKind.PRESENT_IN, span[0] * S, span[1] * S)
        assert len(memory.retrieve(Query(temporal=(within,))).entries) == count, span
    (then,) = memory.retrieve(Query(labels=("mug",), at_ns=19 * S)).entries
    assert then.present is not None and then.present.end == 20 * S


def test_seen_again_it_is_back(memory: Any, pair: Any, thing: Any) -> None:
    mug, _ = told(memory, pair, thing)
    receipt = memory.ingest(pair[0].frame(40, thing("mug", (2, 0, 0.8))))
    assert [e.state for e in receipt.changed] == [EntryState.PRESENT]
    assert memory.retrieve(MUG).entries[0].state == EntryState.PRESENT
    assert not memory.retrieve(Query(labels=("mug",), at_ns=30 * S)).entries
    for t in (50, 51, 52):
        memory.ingest(pair[1].absent(t, mug.entry_id))
    assert memory.retrieve(MUG).entries[0].state == EntryState.GONE


@pytest.mark.parametrize("restarts", [(), (0,), (1,), (0, 1, 2)])
def test_gathered_evidence_outlives_restarts_and_export(
    open_memory: Any, pair: Any, thing: Any, restarts: tuple[int, ...]
) -> None:
    library = open_memory()
    first, second = pair
    library.ingest(first.frame(1, thing("mug", (2, 0, 0.8))))
    (mug,) = library.entries()
    for n, t in enumerate((20, 20.5, 21)):
        library.ingest(second.absent(t, mug.entry_id))
        if n in restarts:
            library.close()
            library = open_memory()
    assert library.retrieve(MUG).entries[0].state == EntryState.GONE
    again = open_memory("again.db", writer_silence_s=0.0)
    Importer(again).read(export_lines(library._store), strict=True)
    assert_alike(again.retrieve(MUG).entries, library.retrieve(MUG).entries)
    assert_alike(again.retrieve(MUG).events, library.retrieve(MUG).events)
    assert library._store.problems() == []


@pytest.mark.parametrize("times", [(20, 20.5), (20, 20.2, 20.4), (2, 3, 4)])
def test_too_little_too_short_or_too_early_says_nothing(
    memory: Any, pair: Any, thing: Any, times: tuple[float, ...]
) -> None:
    told(memory, pair, thing, times)
    assert memory.retrieve(MUG).entries[0].state != EntryState.GONE


def test_an_older_place_or_another_map_says_nothing(memory: Any, pair: Any, make_robot: Any, thing: Any) -> None:
    first, second = pair
    mug = thing("mug", (2, 0, 0.8)).seen(track_id="1")
    memory.ingest(first.frame(0, mug))
    (old,) = memory.entries()
    memory.ingest(first.frame(1, mug.at(2, 2, 0.8)))
    stranger = make_robot("r3", map_id="office")
    for t in (2, 3, 4, 5):
        memory.ingest(second.absent(t, old.entry_id, old.revision))
        memory.ingest(stranger.absent(t, old.entry_id))
    assert memory.retrieve(MUG).entries[0].state != EntryState.GONE


def test_perception_gets_others_things_to_look_for(memory: Any, pair: Any, make_robot: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(1, thing("mug", (2, 0, 0.8)), thing("lamp", (1, 0, 0.8))))
    memory.ingest(second.frame(2, thing("sofa", (4, 0, 0.4))))
    memory.ingest(make_robot("r3").frame(2, thing("fork", (2, 0, 0.8))))
    assert [e.label for e in memory.entries_near("r2", 10)] == ["sofa", "lamp", "mug"]
    assert [e.label for e in memory.entries_near("r2", 2)] == ["sofa", "lamp"]
    assert [e.label for e in memory.entries_near("r3", 10)] == ["fork"]
