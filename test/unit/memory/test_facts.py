"""What histories add up to: usual places, habits, company, owners; against plain readings, and with their sources."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.model import Episode, EpisodeSource, FactKind, Interval, Query
from test.support.home import Home, at, keys_that_commute

S = 1_000_000_000


@pytest.fixture
def home(memory: Any, make_robot: Any, thing: Any) -> Home:
    return Home(memory, make_robot, thing)


def of_kind(facts: Any, kind: FactKind) -> list[Any]:
    return [f for f in facts if f.kind is kind]


def test_usual_places_by_the_time_there_with_their_sources(home: Home) -> None:
    keys_that_commute(home)
    assert len(home.ids("keys")) == 2, "the memory can't link what comes and goes"
    places = of_kind(home.memory.facts(labels=["keys"]), FactKind.USUAL_PLACE)
    assert {(f.object, f.region, f.count, f.total) for f in places} == {
        ("on table", "kitchen", 8, 16),
        ("on shelf", "hall", 8, 16),
    }
    places.sort(key=lambda f: f.region, reverse=True)
    assert all(set(f.entry_ids) == set(home.ids("keys")) for f in places)
    assert sum(f.weight for f in places) == pytest.approx(16 / 17)
    assert places[0].object_ids == tuple(home.ids("table")) and places[0].place == pytest.approx((2, 0, 0.85))
    stays = {f"stay {e.entry_id} {n}" for e in home.memory.entries() for n in range(len(e.stays))}
    assert all(f.sources and set(f.sources) <= stays for f in places)
    assert places[0].first_ns == round(at(0, 9) * S)


def test_later_evidence_raises_and_lowers_weights(home: Home) -> None:
    weights = []
    for day in range(6):
        place = "table" if day < 3 else "shelf"
        home.look(at(day, 9), absent=tuple(home.ids("keys")[:1]) if place == "shelf" else (), keys=place)
        facts = of_kind(home.memory.facts(labels=["keys"]), FactKind.USUAL_PLACE)
        weights.append(next(f.weight for f in facts if f.object == "on table"))
    assert weights[0] < weights[1] < weights[2] and weights[3] > weights[4] > weights[5]


def test_what_was_known_then(home: Home) -> None:
    keys_that_commute(home)
    now = round(at(0, 12) * S)
    (only,) = of_kind(home.memory.facts(labels=["keys"], now_ns=now), FactKind.USUAL_PLACE)
    assert (only.object, only.count, only.total) == ("on table", 1, 1) and only.last_ns <= now
    assert home.memory.facts(labels=["keys"], now_ns=round(at(-1, 0) * S)) == []


def test_habits_in_the_robots_time_zone_on_weekdays(home: Home) -> None:
    keys_that_commute(home, days=12)
    for zone, hour in (("", 9), ("Europe/Berlin", 10), ("Asia/Tokyo", 18)):
        found = of_kind(home.memory.facts(labels=["keys"], timezone=zone), FactKind.HABIT)
        table = next(f for f in found if f.object == "on table")
        assert table.day_from_s == hour * 3600 and table.count == 10 and table.sources
    with pytest.raises(InvalidArgument, match="no IANA time zone"):
        home.memory.facts(labels=["keys"], timezone="Middle/Earth")


def test_an_event_that_happens_on_weekdays_only_is_told_so(home: Home) -> None:
    for day in range(12):
        parcel = tuple(home.ids("parcel"))
        home.look(at(day, 11), absent=parcel)
        if day % 7 < 5:
            home.look(at(day, 12.2 + 0.01 * day), parcel="table")
            home.look(at(day, 18), absent=tuple(home.ids("parcel")))
    found = {f.object: f for f in of_kind(home.memory.facts(labels=["parcel"]), FactKind.HABIT)}
    back = found["REAPPEARED"]
    assert back.weekdays == (0, 1, 2, 3, 4) and back.count == 9 <= back.total
    assert at(1, 12.2 + 0.01) % 86400 <= back.day_from_s < back.day_to_s <= at(11, 12.2 + 0.12) % 86400
    assert all(source.startswith("event ") for source in back.sources)
    assert "DISAPPEARED" not in found, "when it left is known to six hours only"


def test_nothing_is_usual_of_what_is_always_so(home: Home) -> None:
    for day in range(5):
        home.look(at(day, 9), mug="table")
    facts = home.memory.facts(labels=["mug"])
    assert of_kind(facts, FactKind.HABIT) == [], "it was there whenever anybody looked"
    (place,) = of_kind(facts, FactKind.USUAL_PLACE)
    assert (place.count, place.total, place.object) == (5, 5, "on table")


def test_no_time_of_day_for_stamps_that_are_none(home: Home, monkeypatch: Any) -> None:
    monkeypatch.setattr("test.support.home.MONDAY", datetime(1970, 1, 5, tzinfo=timezone.utc))
    keys_that_commute(home)
    facts = home.memory.facts(labels=["keys"])
    assert of_kind(facts, FactKind.USUAL_PLACE) and not of_kind(facts, FactKind.HABIT)


def test_states_that_come_and_go(home: Home) -> None:
    tv = home.thing("tv", (4, 0, 1.2), (1.0, 0.1, 0.6))
    for day in range(5):
        for hour, power in ((8, "off"), (20, "on"), (21, "on"), (23.5, "off")):
            for i in range(4):
                lit = tv.seen(attributes=(("power", power),))
                home.memory.ingest(home.robot.frame(at(day, hour) + i, lit))
    habits = {f.object: f for f in of_kind(home.memory.facts(labels=["tv"]), FactKind.HABIT)}
    on = habits["power: on"]
    assert (on.day_from_s, on.day_to_s, on.count) == (20 * 3600, 21.25 * 3600, 5)
    assert on.sources == (f"attribute {home.ids('tv')[0]} power",)


def test_what_goes_together_and_what_does_not(home: Home) -> None:
    home.places |= {"mug": (2.0, 0.0, 0.85), "spoon": (2.15, 0.1, 0.82), "far": (1.5, 0.3, 0.85)}
    for day in range(4):
        read = {"book": "far"} if day == 0 else {}
        home.look(at(day, 9), absent=tuple(home.ids("book")), cup="mug", spoon="spoon", **read)
    together = of_kind(home.memory.facts(labels=["cup"]), FactKind.TOGETHER)
    assert [(f.object, f.count, f.total) for f in together] == [("spoon", 4, 4)]
    assert together[0].object_ids == tuple(home.ids("spoon"))


def test_owners_and_names_come_from_what_was_said_only(home: Home) -> None:
    home.look(at(0, 9), mug="table")
    (mug,) = home.ids("mug")

    def say(hour: float, *participants: str, source: EpisodeSource = EpisodeSource.UTTERANCE) -> str:
        start = round(at(0, hour) * S)
        told = Episode("", "r1", "that is whose it is", Interval(start, start + S), source, participants=participants)
        told_id = str(home.memory.add_episode(told))
        home.look(at(0, hour + 0.1), mug="table")
        return told_id

    first = say(10, f"Anna owns {mug}")
    (owner,) = of_kind(home.memory.facts(entry_ids=[mug]), FactKind.OWNER)
    assert (owner.object, owner.sources, owner.count, owner.weight) == ("Anna", (f"episode {first}",), 1, 0.5)
    say(11, f"Anna owns {mug}", source=EpisodeSource.OPERATOR)
    (surer,) = of_kind(home.memory.facts(entry_ids=[mug]), FactKind.OWNER)
    assert surer.weight > owner.weight and surer.count == 2
    say(12, f"Anna does not own {mug}")
    assert of_kind(home.memory.facts(entry_ids=[mug]), FactKind.OWNER) == []


def test_what_is_usually_on_a_thing(home: Home) -> None:
    keys_that_commute(home, days=3)
    (table,) = home.ids("table")
    held = [f for f in home.memory.facts(entry_ids=[table]) if table in f.object_ids]
    assert [(f.label, f.kind) for f in held] == [("keys", FactKind.USUAL_PLACE)]
    found = home.memory.retrieve(Query(labels=("table",), with_facts=True))
    assert set(held) <= set(found.facts)


def test_by_agents_and_ids(open_memory: Any, make_robot: Any, thing: Any) -> None:
    memory = open_memory()
    one, two = Home(memory, make_robot, thing), Home(memory, make_robot, thing, "r2")
    for day in range(3):
        one.look(at(day, 9), mug="table")
        two.look(at(day, 10), mug="table")
    assert {f.agents for f in memory.facts(labels=["mug"])} == {("r1", "r2")}, "seen by both, told once"
    assert {f.agents for f in memory.facts(labels=["mug"], agents=["r2"])} == {("r2",)}
    (place,) = of_kind(memory.facts(labels=["mug"]), FactKind.USUAL_PLACE)
    assert (place.count, place.total) == (3, 3), "9 and 10 o'clock are one occasion"
    with pytest.raises(UnknownEntry):
        memory.facts(entry_ids=["nothing"])


def test_two_things_that_were_there_together_are_two(home: Home) -> None:
    for day in range(3):
        home.look(at(day, 9), mug="table")
        home.places["other"] = (2.0, 3.0, 1.05)
        for i in range(4):
            home.memory.ingest(home.robot.frame(at(day, 9.5) + i, home.thing("mug", home.places["other"])))
    places = of_kind(home.memory.facts(labels=["mug"]), FactKind.USUAL_PLACE)
    assert len({f.entry_ids for f in places}) == 2 and all(f.count == f.total == 3 for f in places)


def test_facts_change_no_entry_and_are_the_same_after_a_restart(open_memory: Any, make_robot: Any, thing: Any) -> None:
    first = Home(open_memory(), make_robot, thing)
    keys_that_commute(first)
    before = first.memory.entries()
    told = first.memory.facts()
    assert first.memory.entries() == before and told
    first.memory.close()
    assert open_memory().facts() == told


def test_a_forgotten_entry_has_no_facts(home: Home) -> None:
    from r4_ros.core.model import CorrectionKind, EntryCorrection

    home.look(at(0, 9), mug="table")
    (mug,) = home.ids("mug")
    assert home.memory.facts(labels=["mug"])
    home.memory.correct(EntryCorrection(CorrectionKind.FORGET, mug), round(at(0, 10) * S))
    assert home.memory.facts(labels=["mug"]) == []


def test_shares_as_a_plain_reading_has_them(open_memory: Any, make_robot: Any, thing: Any) -> None:
    rng = np.random.default_rng(3)
    home = Home(open_memory(), make_robot, thing)
    seen: list[tuple[str, float]] = []
    for day in range(12):
        place = str(rng.choice(["table", "shelf", "floor"]))
        gone = tuple(e.entry_id for e in home.memory.entries() if e.label == "bag" and e.presence[-1].end > 2**62)
        moved = seen and seen[-1][0] != place
        home.look(at(day, 12), absent=gone[:1] if moved else (), bag=place)
        seen.append((place, at(day, 12)))
    facts = of_kind(home.memory.facts(labels=["bag"]), FactKind.USUAL_PLACE)
    spans: dict[str, list[list[float]]] = {}
    for i, (place, time) in enumerate(seen):  # unbroken stays are one stretch, from its first to its last sighting
        if i and seen[i - 1][0] == place:
            spans[place][-1][1] = time + 1.5
        else:
            spans.setdefault(place, []).append([time, time + 1.5])
    half_life = 30 * 86400
    value = {p: sum((b - a) * 2 ** ((b - seen[-1][1]) / half_life) for a, b in s) for p, s in spans.items()}
    name = {"table": "on table", "shelf": "on shelf", "floor": ""}
    assert {f.object: f.weight for f in facts} == pytest.approx(
        {name[p]: v / sum(value.values()) * 12 / 13 for p, v in value.items()}, rel=1e-3
    )
    counts = {p: sum(1 for q, _ in seen if q == p) for p in spans}
    assert {f.object: f.count for f in facts} == {name[p]: n for p, n in counts.items()}


@pytest.mark.parametrize("bad", ["", None])
def test_replaced_facts_are_equal_by_value(home: Home, bad: Any) -> None:
    home.look(at(0, 9), mug="table")
    (fact,) = of_kind(home.memory.facts(labels=["mug"]), FactKind.USUAL_PLACE)
    assert replace(fact) == fact and fact.object != bad
