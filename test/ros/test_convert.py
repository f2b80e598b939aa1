"""Message <-> record, both ways, for everything that travels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("r4_ros.msg", reason="needs the generated interfaces")

from rclpy.serialization import deserialize_message, serialize_message

from r4_ros import action, srv
from r4_ros.core import model as m
from r4_ros.core.errors import FrameRefused, InvalidArgument, OutcomeCode, R4Error, RefusalReason, StoreError
from r4_ros.nodes import convert, convert_answers, convert_queries
from r4_ros.nodes.clients import error_of

pytestmark = pytest.mark.ros
QUICK = settings(max_examples=40, deadline=None)

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
number = st.floats(-1e6, 1e6, allow_nan=False)
share = st.floats(0, 1)
stamps = st.integers(1, 2**31 * 10**9 - 2)
count = st.integers(0, 2**32 - 1)
vec3 = st.tuples(number, number, number)
poses = st.builds(m.Pose, vec3, st.tuples(number, number, number, number))
boxes = st.builds(m.Box, poses, vec3)
pairs = st.lists(st.tuples(text, text), max_size=2).map(tuple)
texts = st.lists(text, max_size=3).map(tuple)
matrices = st.tuples(*[number] * 9)
vectors = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6).map(lambda v: np.array(v, np.float32))
intervals = st.tuples(stamps, stamps).map(lambda pair: m.Interval(min(pair), max(*pair, min(pair) + 1)))
ends = stamps | st.just(m.FOREVER)


@st.composite
def observations(draw: Any) -> m.Observation:
    model = draw(text.filter(bool))
    embedding = st.none() | vectors.map(lambda v: m.Embedding(model, v))
    return draw(
        st.builds(
            m.Observation,
            index=count,
            label=text,
            box=boxes,
            position_covariance=matrices,
            description=text,
            attributes=pairs,
            label_embedding=embedding,
            description_embedding=embedding,
            visibility=st.sampled_from(m.Visibility),
            confidence=share,
            track_id=text,
            image=text,
            entry_id=text,
            entry_revision=st.integers(0, 2**64 - 1),
        )
    )


@st.composite
def frames(draw: Any) -> m.Frame:
    rows, cols = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    depth = draw(st.lists(st.floats(0, 10, width=32), min_size=rows * cols, max_size=rows * cols))
    cells = np.array(depth, np.float32).reshape((rows, cols) if rows else (0, 0))
    covariance = st.just(()) | st.tuples(*[number] * 36).filter(any)
    return draw(
        st.builds(
            m.Frame,
            agent_id=text,
            camera=text,
            writer=text,
            sequence=st.integers(0, 2**64 - 1),
            session=count,
            stamp_ns=stamps,
            map_id=text,
            map_frame=text,
            sensor_frame=text,
            sensor_in_map=poses,
            view=st.builds(m.View, number, number, number, number, st.just(cells)),
            sensor_in_odom=st.none() | poses,
            base_in_sensor=poses,
            pose_covariance=covariance,
            observations=st.lists(observations(), max_size=2).map(tuple),
        )
    )


placed = st.builds(
    m.PlacedEntry,
    entry_id=text,
    agent_id=text,
    revision=st.integers(0, 2**64 - 1),
    map_id=text,
    label=text,
    box=boxes,
    position_covariance=matrices,
    state=st.sampled_from(m.EntryState),
    motion=st.sampled_from(m.Motion),
    visibility=st.sampled_from(m.Visibility),
    confidence=share,
    count=count,
    first_seen=stamps,
    last_seen=stamps,
    description=text,
    attributes=pairs,
)
events = st.builds(
    m.Event,
    event_id=text,
    kind=st.sampled_from(m.EventKind),
    entry_id=text,
    agent_id=text,
    label=text,
    stamp_ns=stamps,
    earliest_ns=stamps,
    latest_ns=stamps,
    map_id=text,
    place=vec3,
    from_place=st.none() | vec3,
    detail=text,
)
episodes = st.builds(
    m.Episode,
    episode_id=text,
    agent_id=text,
    text=text,
    interval=intervals,
    source=st.sampled_from(m.EpisodeSource),
    map_id=text,
    place=st.none() | vec3,
    participants=texts,
)
presences = st.builds(m.Presence, stamps, stamps, stamps, ends)
evidence = st.builds(
    m.Evidence,
    entry_id=text,
    agent_id=text,
    label=text,
    box=boxes,
    frame=text,
    map_id=text,
    first_seen=stamps,
    last_seen=stamps,
    present=st.none() | presences,
    sightings=st.lists(intervals, max_size=2).map(tuple),
    visibility=st.sampled_from(m.Visibility),
    state=st.sampled_from(m.EntryState),
    motion=st.sampled_from(m.Motion),
    count=count,
    confidence=share,
    score=share,
    semantic_score=share,
    spatial_score=share,
    temporal_score=share,
    description=text,
    attributes=pairs,
    regions=texts,
)
times_of_day = st.none() | st.floats(0, 86400)
facts = st.builds(
    m.Fact,
    fact_id=text,
    kind=st.sampled_from(m.FactKind),
    label=text,
    entry_ids=texts,
    object=text,
    object_ids=texts,
    region=text,
    map_id=text,
    place=st.none() | vec3,
    weekdays=st.lists(st.integers(0, 6), max_size=3).map(tuple),
    day_from_s=times_of_day,
    day_to_s=times_of_day,
    weight=share,
    count=count,
    total=count,
    time_ns=st.integers(0, 2**31 * 10**9 - 1),
    first_ns=stamps,
    last_ns=stamps,
    sources=texts,
    agents=texts,
)
spatial = st.builds(
    m.SpatialConstraint,
    relation=text,
    reference=st.sampled_from(m.Reference),
    entry_ids=texts,
    other_entry_ids=texts,
    pose=poses,
    region=text,
    stamp_ns=st.none() | stamps,
    min_distance=number,
    max_distance=number,
    negate=st.booleans(),
    extent=vec3,
    polygon=st.lists(st.tuples(number, number), max_size=3).map(tuple),
    z_min=st.floats(-100, 0),
    z_max=st.floats(1, 100),
    horizontal_fov=number,
    vertical_fov=number,
)
temporal = st.builds(m.TemporalConstraint, st.sampled_from(m.TemporalKind), stamps, ends)
queries = st.builds(
    m.Query,
    labels=texts,
    text=text,
    attributes=pairs,
    exclude_labels=texts,
    entry_ids=texts,
    spatial=st.lists(spatial, max_size=2).map(tuple),
    temporal=st.lists(temporal, max_size=2).map(tuple),
    agents=texts,
    states=st.lists(st.sampled_from(m.EntryState), max_size=2).map(tuple),
    visibilities=st.lists(st.sampled_from(m.Visibility), max_size=2).map(tuple),
    at_ns=st.none() | stamps,
    now_ns=st.none() | stamps,
    ego_agent=text,
    order=st.sampled_from(m.Order),
    order_from=st.none() | spatial,
    limit=st.integers(1, 10_000),
    with_events=st.booleans(),
    with_episodes=st.booleans(),
    with_facts=st.booleans(),
    with_counts=st.booleans(),
    timezone=text,
)
retrievals = st.builds(
    m.Retrieval,
    revision=st.integers(0, 2**64 - 1),
    now_ns=stamps,
    entries=st.lists(evidence, max_size=1).map(tuple),
    events=st.lists(events, max_size=1).map(tuple),
    episodes=st.lists(episodes, max_size=1).map(tuple),
    facts=st.lists(facts, max_size=1).map(tuple),
    ego=st.none() | st.builds(m.TrailPoint, text, stamps, text, poses),
    ego_frame=text,
    ego_candidates=texts,
    after_semantic=st.integers(-1, 2**31 - 1),
    after_spatial=st.integers(-1, 2**31 - 1),
    after_temporal=st.integers(-1, 2**31 - 1),
    coverage=st.just(-1.0) | share,
    visited=st.booleans(),
    last_looked=st.none() | stamps,
    regions=texts,
    labels_known=texts,
)
questions = st.builds(
    m.Question,
    text=text,
    now_ns=st.none() | stamps,
    ego_agent=text,
    viewpoint=st.none() | poses,
    timezone=text,
    agents=texts,
    deadline_s=st.floats(0.125, 600, width=32),
    max_rounds=st.integers(1, 255),
)
values = st.one_of(
    st.tuples(st.sampled_from(["exists", "verify"]), st.booleans()),
    st.tuples(st.just("count"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("when"), stamps),
    st.tuples(st.sampled_from(["distance", "duration"]), number),
    st.tuples(st.sampled_from(["locate", "navigate"]), vec3),
    st.tuples(st.sampled_from(["identify", "order"]), texts),
    st.tuples(st.sampled_from(["direction", "attribute", "state", "choose", "explain"]), text),
    st.tuples(text, st.none()),
)


@st.composite
def answers(draw: Any) -> m.Answer:
    form, value = draw(values)
    return draw(
        st.builds(
            m.Answer,
            question=text,
            text=text,
            form=st.just(form),
            verdict=st.sampled_from(m.Verdict),
            value=st.just(value),
            confidence=share,
            evidence=st.lists(evidence, max_size=1).map(tuple),
            trace=st.lists(st.builds(m.TraceStep, st.integers(0, 255), text, text, count, share), max_size=2).map(
                tuple
            ),
            task_id=text,
            value_frame=text,
        )
    )


def sent(message: Any) -> Any:
    """The message after its way over the wire."""
    return deserialize_message(serialize_message(message), type(message))


@QUICK
@given(frames())
def test_frames_arrive_as_they_were_sent(frame: m.Frame) -> None:
    assert convert.frame_from_msg(sent(convert.frame_to_msg(frame))) == frame


@QUICK
@given(placed, events, episodes)
def test_entries_events_and_episodes_arrive(entry: m.PlacedEntry, event: m.Event, episode: m.Episode) -> None:
    assert convert.entry_from_msg(sent(convert.entry_to_msg(entry))) == entry
    assert convert.event_from_msg(sent(convert.event_to_msg(event))) == event
    assert convert.episode_from_msg(sent(convert.episode_to_msg(episode))) == episode


@QUICK
@given(queries)
def test_queries_arrive(query: m.Query) -> None:
    assert convert_queries.query_from_request(sent(convert_queries.query_to_request(query))) == query


@QUICK
@given(retrievals)
def test_retrievals_arrive(found: m.Retrieval) -> None:
    response = convert_queries.fill_retrieval(srv.Retrieve.Response(), found)
    assert convert_queries.retrieval_from_response(sent(response)) == found


@QUICK
@given(questions, st.sampled_from([srv.QueryMemory.Request, action.AnswerQuestion.Goal]))
def test_questions_arrive_by_service_and_by_action(question: m.Question, kind: Any) -> None:
    request = sent(convert_answers.fill_question(kind(), question))
    assert convert_answers.question_from_request(request, 1.0, 1) == question


@QUICK
@given(answers())
def test_answers_arrive_with_their_typed_value(answer: m.Answer) -> None:
    back = convert_answers.answer_from_msg(sent(convert_answers.answer_to_msg(answer)))
    assert back == answer
    assert type(back.value) is type(answer.value)


def test_numpy_scalars_arrive_as_numbers() -> None:
    """rclpy writes 5e-324 for an np.float32 or an int in a float64 field."""
    pose = m.Pose((np.float32(1.5), 2, np.float64(3)), (0, 0, 0, 1))  # type: ignore[arg-type]
    assert convert.pose_from_msg(sent(convert.pose_to_msg(pose))) == m.Pose((1.5, 2.0, 3.0))


def test_a_deadline_of_zero_is_the_nodes_default() -> None:
    question = convert_answers.question_from_request(srv.QueryMemory.Request(question="?"), 7.0, 3)
    assert (question.deadline_s, question.max_rounds, question.now_ns) == (7.0, 3, None)


@pytest.mark.parametrize("stamp_ns", [2**31 * 10**9, -(2**31) * 10**9 - 1])
def test_a_stamp_that_no_message_can_hold_is_refused(stamp_ns: int) -> None:
    with pytest.raises(InvalidArgument, match="ROS time"):
        convert.time_to_msg(stamp_ns)


def test_a_lying_view_size_is_refused() -> None:
    message = convert.frame_to_msg(replace(a_frame(), view=m.View(1.0, 1.0, 0.1, 5.0, np.ones((2, 3), np.float32))))
    message.view_rows = 3
    with pytest.raises(InvalidArgument, match="3 x 3"):
        convert.frame_from_msg(message)


def test_unknown_constants_and_names_are_refused() -> None:
    query = convert_queries.query_to_request(m.Query())
    query.order = 99
    with pytest.raises(InvalidArgument, match="order = 99"):
        convert_queries.query_from_request(query)
    query.order, query.states = 0, ["ASLEEP"]
    with pytest.raises(InvalidArgument, match="'ASLEEP' is not one of UNKNOWN, PRESENT, GONE"):
        convert_queries.query_from_request(query)


def test_vectors_of_two_models_never_mix() -> None:
    one, other = (m.Embedding(name, np.ones(2, np.float32)) for name in "ab")
    seen = m.Observation(0, "cup", m.Box(m.IDENTITY, (1, 1, 1)), label_embedding=one, description_embedding=other)
    with pytest.raises(InvalidArgument, match="two models"):
        convert.observation_to_msg(seen)


def test_outcomes_tell_ours_from_unexpected_errors() -> None:
    assert convert.outcome().code == 0
    assert (convert.outcome(StoreError("full")).code, convert.outcome(StoreError("full")).message) == (200, "full")
    unexpected = convert.outcome(KeyError("x"))
    assert (unexpected.code, unexpected.message) == (OutcomeCode.INTERNAL, "KeyError: 'x'")


@pytest.mark.parametrize("code", [c for c in OutcomeCode if c is not OutcomeCode.OK])
def test_an_outcome_is_raised_as_the_error_it_was(code: OutcomeCode) -> None:
    error = error_of(convert.msg.Outcome(code=int(code), message="why"))
    assert isinstance(error, R4Error) and str(error) == "why"
    if code not in (OutcomeCode.INTERNAL, OutcomeCode.FRAME_REFUSED):
        assert error.code == code


def test_refusals_say_which_frame() -> None:
    ack = convert.refusal_to_msg("alice", "w", 1_500_000_000, FrameRefused(RefusalReason.NO_POSE, "no tf"))
    assert (ack.agent_id, ack.stamp.sec, ack.outcome.message) == ("alice", 1, "no_pose")
    assert ack.outcome.code == FrameRefused.code


def a_frame() -> m.Frame:
    return m.Frame("a", "camera", "w", 1, 0, 5, "", "map", "optical", m.IDENTITY, m.View(1.0, 1.0, 0.1, 5.0))
