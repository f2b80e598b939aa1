"""Episodes by all three keys, at once with entries or alone; who somebody is, said and taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.model import (
    Episode,
    EpisodeSource,
    Interval,
    Order,
    Pose,
    Query,
    Reference,
    Region,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
)

S = 1_000_000_000
KITCHEN = Region("kitchen", ((0, -5), (5, -5), (5, 5), (0, 5)))


def told(text: str, start_s: float = 1, **more: Any) -> Episode:
    start = round(start_s * S)
    fields = {"interval": Interval(start, start + S), "source": EpisodeSource.UTTERANCE, "agent_id": "r1", **more}
    return Episode(episode_id="", text=text, **fields)


def texts(memory: Any, query: Query, **more: Any) -> list[str]:
    return [e.text for e in memory.retrieve(replace(query, with_episodes=True, **more)).episodes]


@pytest.fixture
def day(memory: Any, robot: Any) -> Any:
    """Somebody comes in at 10 s, at (1, 0), takes the mug at 20 s, at (-3, 0), and an operator writes at 30 s."""
    memory.set_regions([KITCHEN])
    for i, x in enumerate((1, -3, 1)):
        robot.where = (x, 0, 0)
        memory.ingest(robot.frame(10 * (i + 1)))
    memory.add_episode(told("Anna came in", 10, participants=("Anna",)))
    memory.add_episode(told("somebody takes the mug away", 20, source=EpisodeSource.CAPTION))
    memory.add_episode(told("the mug was washed", 30, source=EpisodeSource.OPERATOR, agent_id=""))
    return memory


def test_by_words_time_place_and_agent_together(day: Any) -> None:
    assert texts(day, Query(text="mug")) == ["the mug was washed", "somebody takes the mug away"]
    seen = TemporalConstraint(TemporalKind.SEEN_IN, 19 * S, 21 * S)
    assert texts(day, Query(text="mug", temporal=(seen,))) == ["somebody takes the mug away"]
    here = SpatialConstraint("in", Reference.REGION, region="kitchen")
    assert texts(day, Query(spatial=(here,))) == ["Anna came in"], "they happened where the robot was"
    assert texts(day, Query(spatial=(replace(here, negate=True),))) == ["somebody takes the mug away"]
    near = SpatialConstraint("near", Reference.POINT, pose=Pose((-3.2, 0, 1)))
    assert texts(day, Query(spatial=(near,))) == ["somebody takes the mug away"]
    assert len(texts(day, Query(agents=("r1",)))) == 3, "what nobody's camera took is everybody's"
    assert texts(day, Query(), now_ns=25 * S) == ["somebody takes the mug away", "Anna came in"]


def test_best_latest_or_earliest_first_and_no_more_than_asked(day: Any) -> None:
    assert texts(day, Query(order=Order.FIRST_SEEN), limit=2) == ["Anna came in", "somebody takes the mug away"]
    assert texts(day, Query(order=Order.LAST_SEEN), limit=1) == ["the mug was washed"]


def test_by_meaning_with_what_was_embedded_when_it_came(open_memory: Any, axes: Any) -> None:
    class Counting(axes):  # type: ignore[misc, valid-type]
        asked: list[str]

        def embed(self, given: Any) -> Any:
            self.asked = [*getattr(self, "asked", []), *given]
            return super().embed(given)

    words = {"breakfast": (1.0, 0, 0), "they eat bread": (1.0, 0.3, 0), "a dog barks": (0, 0, 1.0)}
    first = open_memory(embedder=Counting(**words))
    for i, text in enumerate(("they eat bread", "a dog barks")):
        first.add_episode(told(text, i + 1))
    first.close()
    embedder = Counting(**words)
    again = open_memory(embedder=embedder)
    assert texts(again, Query(text="breakfast"), now_ns=9 * S) == ["they eat bread"]
    assert "a dog barks" not in embedder.asked, "vectors come from the file"


def test_what_was_told_without_an_embedder_is_found_by_meaning_later(open_memory: Any, axes: Any) -> None:
    plain = open_memory()
    plain.add_episode(told("they eat bread"))
    plain.close()
    later = open_memory(embedder=axes(**{"breakfast": (1, 0), "they eat bread": (1, 0.1)}))
    assert texts(later, Query(text="breakfast"), now_ns=9 * S) == ["they eat bread"]


def test_told_twice_is_told_once(day: Any) -> None:
    before = day.revision
    episode = told("Anna came in", 10, participants=("Anna",))
    assert day.add_episode(episode) == day.add_episode(episode)
    assert day.revision == before and len(texts(day, Query())) == 3
    assert day.add_episode(replace(episode, participants=("Ben",))) != day.add_episode(episode)


def test_an_episode_moves_with_the_anchor_of_its_moment(open_memory: Any, make_robot: Any) -> None:
    memory = open_memory()
    robot = make_robot(drift=Pose())
    for i in range(3):
        robot.where = (i * 1.0, 0, 0)
        memory.ingest(robot.frame(10 + i))
    memory.add_episode(told("here", 11, place=(2.0, 1.0, 0.0)))
    stamps = [t.stamp_ns for t in memory.trail("r1")]
    memory.correct_anchors("r1", stamps, [Pose((i * 1.0, 5.0, 1.0)) for i in range(3)])
    (found,) = memory.retrieve(Query(with_episodes=True)).episodes
    assert found.place == pytest.approx((2.0, 6.0, 0.0), abs=1e-6)
    near = SpatialConstraint("near", Reference.POINT, pose=Pose((2, 1, 0)))
    assert texts(memory, Query(spatial=(near,))) == []


def test_by_the_entry_that_took_part(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(1, thing("person", (2, 0, 1)), thing("mug", (3, 2, 1))))
    person, mug = (e.entry_id for e in memory.entries())
    memory.add_episode(told("somebody sat down", participants=(person,)))
    memory.add_episode(told("this is mine", participants=("Anna", f"Anna owns {mug}")))
    assert texts(memory, Query(entry_ids=(person,))) == ["somebody sat down"]
    assert texts(memory, Query(entry_ids=(mug,))) == ["this is mine"]


def test_a_name_is_tied_by_word_of_mouth_only_and_taken_back(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(1, thing("person", (2, 0, 1))))
    (person,) = (e.entry_id for e in memory.entries())
    with pytest.raises(InvalidArgument, match="only an utterance or an operator"):
        memory.add_episode(told("a woman", source=EpisodeSource.CAPTION, participants=(f"Anna is {person}",)))
    with pytest.raises(InvalidArgument, match="no entry has the id 'nobody'"):
        memory.add_episode(told("I am Anna", participants=("Anna is nobody",)))
    before = memory.entries()
    memory.add_episode(told("I am Anna", 2, participants=(f"Anna is {person}",)))
    assert [(t.name, t.entry_id) for t in memory.said_of(now_ns=9 * S)] == [("Anna", person)]
    assert memory.said_of(now_ns=S) == []
    for query in (Query(labels=("anna",)), Query(text="Anna"), Query(attributes=(("name", "ANNA"),))):
        (found,) = memory.retrieve(replace(query, now_ns=9 * S)).entries
        assert (found.label, found.score) == ("person", 1.0) and ("name", "Anna") in found.attributes
    memory.add_episode(told("no, she isn't", 3, source=EpisodeSource.OPERATOR, participants=(f"anna is not {person}",)))
    assert memory.said_of(now_ns=9 * S) == []
    assert memory.said_of(now_ns=2 * S + 1) != [], "what held then is still known"
    assert memory.retrieve(Query(labels=("anna",), now_ns=9 * S)).entries == ()
    assert memory.entries() == before, "an entry holds nothing of who somebody is"


def test_nothing_is_told_to_a_memory_that_is_read(open_memory: Any) -> None:
    open_memory().close()
    with pytest.raises(StoreError, match="read-only"):
        open_memory(read_only=True).add_episode(told("hello"))


WORDS = ("mug", "anna", "takes", "dog", "tea")
spoken = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
        st.integers(0, 20),
        st.integers(1, 10),
        st.sampled_from(("r1", "r2", "")),
        st.one_of(st.none(), st.tuples(st.integers(-3, 3), st.integers(-3, 3))),
    ),
    max_size=12,
)


@example([("mug", 0, 1, "r1", None), ("mug", 0, 1, "r1", (0, 0))], "", (0, 1), (), True)
@given(
    spoken,
    st.lists(st.sampled_from(WORDS), max_size=2).map(" ".join),
    st.tuples(st.integers(0, 15), st.integers(1, 15)),
    st.sampled_from(((), ("r1",), ("r1", "r2"))),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_as_a_plain_reading_has_it(
    open_memory: Any, make_robot: Any, episodes: Any, text: str, window: Any, agents: Any, near: bool
) -> None:
    memory = open_memory(f"{np.random.default_rng().integers(2**60)}.db")
    for agent in ("r1", "r2"):
        memory.ingest(make_robot(agent_id=agent, map_id="home").frame(100))
    for said, start, length, agent, place in episodes:
        where = None if place is None else (*map(float, place), 0.0)
        interval = Interval(start * S, (start + length) * S)
        one = told(said, interval=interval, agent_id=agent, place=where, map_id="home")
        memory.add_episode(one)
    start, end = window[0] * S, (window[0] + window[1]) * S
    first_told = {episode[:4]: episode for episode in reversed(episodes)}  # the same one told twice is one
    expected = {
        (said, s)
        for said, s, length, agent, place in first_told.values()
        if set(text.split()) <= set(said.split())
        and s * S < end
        and (s + length) * S > start
        and (not agents or agent in (*agents, ""))
        and (not near or (place is not None and np.hypot(*place) <= 1.0))
    }
    at = SpatialConstraint("near", Reference.POINT, pose=Pose())
    query = Query(
        text=text,
        temporal=(TemporalConstraint(TemporalKind.SEEN_IN, start, end),),
        agents=agents,
        spatial=(at,) if near else (),
        with_episodes=True,
    )
    found = memory.retrieve(query).episodes
    assert {(e.text, e.interval.start // S) for e in found} == expected
    memory.close()
