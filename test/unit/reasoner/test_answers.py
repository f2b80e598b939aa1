"""Answers from a small hand-made home: values, verdicts, and evidence for every claim."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import InvalidArgument, NotReady
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import NS_PER_S, Answer, EntryState, Feedback, Pose, Query, Question, Verdict
from r4_ros.reasoner.answer import Reasoner, answer_to_dict

Ask = Callable[..., Answer]
START = 1_700_000_000 * NS_PER_S
NOW = START + 100 * NS_PER_S


def cited(answer: Answer) -> set[str]:
    return {e.entry_id for e in answer.evidence}


@pytest.mark.parametrize(
    ("question", "value", "evidence"),
    [
        ("is there a tv", True, {"tv"}),
        ("is there a cup on the table", True, {"bluecup"}),
        ("was there a backpack in the living room 60 seconds ago", True, {"backpack"}),
        ("how many chairs are there", 3, {"chair1", "chair2", "chair3"}),
        ("how many chairs are in the kitchen", 2, {"chair1", "chair2"}),
        ("what is on the table", ("cup", "bowl"), {"bluecup", "bowl"}),
        ("what was on the table 60 seconds ago", ("cup", "bowl"), {"mug", "bluecup", "bowl"}),
        ("what is to my left", ("chair", "potted plant"), {"chair3", "plant"}),
        ("what is the largest object in the living room", ("couch",), {"couch"}),
        ("which chair is nearest to the tv", ("chair",), {"chair3"}),
        ("what is between the table and the counter", ("chair",), {"chair1"}),
        ("what disappeared", ("backpack",), {"backpack"}),
        ("what was moved", ("cup",), {"mug"}),
        ("what has changed since 22:14:00", ("backpack", "cup"), {"mug", "backpack"}),
        ("which robot saw the red cup", ("rex",), {"mug"}),
        ("what colour is the mug on the table", ("blue",), {"bluecup"}),
        ("is the laptop on or off", ("on",), {"laptop"}),
        ("is the couch to my left or right?", ("right",), {"couch"}),
        ("where is the red mug", (0.4, 2.2, 0.95), {"mug"}),
        ("where was the red mug 60 seconds ago", (1.9, 2.2, 0.81), {"mug"}),
        ("where was the red mug before it was moved", (1.9, 2.2, 0.81), {"mug"}),
        ("take me to the nearest chair", (7.5, 3.5, 0.45), {"chair3"}),
        ("when was the tv last seen", START + 95 * NS_PER_S, {"tv"}),
        ("when did you first see the red mug", START + 2 * NS_PER_S, {"mug"}),
        ("when did the backpack disappear", START + 61 * NS_PER_S, {"backpack"}),
        ("was the red mug moved", True, {"mug"}),
        ("is the blue cup on the table", True, {"bluecup", "table"}),
        ("is the red cup on the table", False, {"mug", "table"}),
        ("is the tv black", True, {"tv"}),
        ("is the tv still there", True, {"tv"}),
        ("is the backpack still there", False, {"backpack"}),
        ("is the backpack still in the living room", False, {"backpack"}),
        ("is there a backpack in the living room", False, {"backpack"}),
        ("what colour was the backpack", ("blue",), {"backpack"}),
        ("how far is the tv from me", 2.6, {"tv"}),
        ("how far is the tv from the couch", 2.7019, {"tv", "couch"}),
        ("which direction is the tv", "ahead", {"tv"}),
        ("where is the couch relative to me", "right", {"couch"}),
        ("how many mugs were on the table before the red mug was moved", 2, {"mug", "bluecup"}),
        ("if I sit on the couch facing the tv, what is to my left", ("chair",), {"chair3", "chair2"}),
    ],
)
def test_answered(ask: Ask, question: str, value: object, evidence: set[str]) -> None:
    answer = ask(question)
    assert answer.verdict is Verdict.ANSWERED, answer.text
    assert answer.value == (pytest.approx(value) if isinstance(value, tuple) and isinstance(value[0], float) else value)
    assert cited(answer) == evidence
    assert 0 < answer.confidence <= 1


@pytest.mark.parametrize(
    ("question", "verdict", "value"),
    [
        ("is there a bed", Verdict.NOT_SEEN, False),
        ("where is the elephant", Verdict.NOT_SEEN, None),
        ("what colour is the elephant", Verdict.NOT_SEEN, None),
        ("is there a mug left of the bowl", Verdict.NOT_SEEN, False),
        ("how many dogs are there", Verdict.NOT_SEEN, 0),
        ("where is the backpack", Verdict.STALE, None),  # gone: its place isn't known
        ("take me to the backpack", Verdict.STALE, None),
        ("is there a backpack", Verdict.NOT_SEEN, False),  # it may be anywhere
        ("is the backpack in the kitchen", Verdict.NOT_SEEN, None),
        ("is the tv on or off", Verdict.NOT_SEEN, None),
        ("what material is the couch", Verdict.NOT_SEEN, None),
        ("is there a green cup", Verdict.NOT_SEEN, False),
        ("where is Lucy?", Verdict.NOT_SEEN, None),
        ("what did robot2 see in the kitchen", Verdict.NOT_SEEN, None),
        ("is there anything in the attic", Verdict.NEVER_VISITED, None),
        ("what color is the chair", Verdict.AMBIGUOUS, ("black", "gray")),
        ("is there an armchair", Verdict.AMBIGUOUS, None),
        ("where is Anna's laptop", Verdict.AMBIGUOUS, (6.5, 0.5, 0.83)),
        ("is the cup on the table", Verdict.AMBIGUOUS, True),
        ("which chair is nearest to the table", Verdict.AMBIGUOUS, ("chair",)),
        ("take me to the chair", Verdict.AMBIGUOUS, (7.5, 3.5, 0.45)),
        ("why is the mug red", Verdict.UNSUPPORTED, None),
        ("what did Lucy say about the mug", Verdict.UNSUPPORTED, None),
        ("is Tom happy", Verdict.UNSUPPORTED, None),
        ("what is in the basement", Verdict.UNSUPPORTED, None),
        ("where was the mug before the meeting", Verdict.UNSUPPORTED, None),
        ("what's for dinner", Verdict.UNSUPPORTED, None),
        ("", Verdict.UNSUPPORTED, None),
    ],
)
def test_honest_verdicts(ask: Ask, question: str, verdict: Verdict, value: object) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (verdict, value), answer.text


def test_gone_things_are_nowhere_now(home: Any, ask: Ask) -> None:
    home.entries[2] = replace(home.entries[2], state=EntryState.GONE)  # the red mug on the counter
    answer = ask("is the red mug on the counter")
    assert answer.value is not True
    assert "gone" in answer.text
    assert ask("what is on the counter").verdict is Verdict.NOT_SEEN
    assert ask("how many cups are there").value == 1


def test_the_whole_past_is_not_denied_from_one_place(home: Any, ask: Ask) -> None:
    home.coverage = 1.0
    assert ask("was the red mug on the table").verdict is Verdict.AMBIGUOUS
    assert ask("was the red mug on the table 60 seconds ago").value is True
    assert ask("was there a bottle on the table").verdict is Verdict.NOT_SEEN
    assert ask("is there a bottle on the table").verdict is Verdict.ANSWERED


def test_unsupported_says_what_was_understood(ask: Ask) -> None:
    answer = ask("why is the mug on the table")
    assert "I understood: explain: mug, on (table)" in answer.text
    assert answer.form == "explain"


def test_gone_things_are_told_with_their_last_place(ask: Ask) -> None:
    answer = ask("where is the backpack")
    assert "(4.60, 3.00, 0.20) m" in answer.text
    assert "40 s ago" in answer.text
    assert "don't know where" in answer.text
    assert "it left 38 s ago" in answer.text


def test_places_are_told_with_their_surroundings(ask: Ask) -> None:
    assert "on the white counter in the kitchen" in ask("where is the red mug").text


def test_a_no_needs_coverage(home: Any, ask: Ask) -> None:
    home.coverage = 0.4
    seldom = ask("is there a bottle on the table")
    home.coverage = 0.95
    often = ask("is there a bottle on the table")
    assert (seldom.verdict, seldom.value) == (Verdict.NOT_SEEN, False)
    assert (often.verdict, often.value) == (Verdict.ANSWERED, False)
    assert "40%" in seldom.text
    assert often.confidence > 0.5


def test_coverage_of_a_side_of_me_proves_nothing(home: Any, ask: Ask) -> None:
    home.coverage = 1.0
    assert ask("is there a bottle to my left").verdict is Verdict.NOT_SEEN


def test_stale_present_tense(ask: Ask) -> None:
    later = NOW + 7200 * NS_PER_S
    answer = ask("where is the tv", now_ns=later)
    assert answer.verdict is Verdict.STALE
    assert answer.value == pytest.approx((8.6, 2.0, 1.2))
    assert "2 h" in answer.text
    assert answer.confidence < ask("where is the tv").confidence


def test_past_tense_is_never_stale(ask: Ask) -> None:
    assert ask("when was the tv last seen", now_ns=NOW + 7200 * NS_PER_S).verdict is Verdict.ANSWERED


def test_me_is_ambiguous_among_several_agents(home: Any, ask: Ask) -> None:
    home.trails["bob"] = lambda _: Pose((1.0, 1.0, 0.0))
    answer = ask("what is to my left")
    assert answer.verdict is Verdict.AMBIGUOUS
    assert "bob and rex" in answer.text
    assert ask("what is to my left", ego_agent="rex").verdict is Verdict.ANSWERED
    assert ask("what is to my left", viewpoint=Pose((6, 2, 0))).verdict is Verdict.ANSWERED
    assert ask("is there a tv").verdict is Verdict.ANSWERED


def test_a_given_viewpoint_replaces_the_robot(ask: Ask) -> None:
    behind = Pose((6, 2, 0), quat_from_yaw(3.14159265))
    assert ask("where is the couch relative to me", viewpoint=behind).value == "left"
    assert ask("where is the couch relative to me").value == "right"


def test_pose_of_then_for_questions_about_then(ask: Ask) -> None:
    assert ask("which direction was the tv 30 seconds ago").value == "right"  # rex looked along +y then
    assert ask("which direction is the tv").value == "ahead"


def test_known_other_kinds_are_refused_even_if_an_embedder_likes_them(home: Any, ask: Ask) -> None:
    home.similar = {"bed": {"couch"}, "elephant": {"couch", "potted plant"}, "gizmo": {"gizmo 3000"}}
    home.entries.append(replace(home.entries[-1], entry_id="gizmo", label="gizmo 3000"))
    assert ask("is there a bed").verdict is Verdict.NOT_SEEN
    assert ask("where is the elephant").verdict is Verdict.NOT_SEEN
    assert cited(ask("where is the gizmo")) == {"gizmo"}


def test_a_relaxed_property_is_said_and_not_answered(ask: Ask) -> None:
    answer = ask("where is the yellow cup")
    assert answer.verdict is Verdict.NOT_SEEN
    assert "no yellow cup" in answer.text
    assert "Instead of the yellow cup" in answer.text
    assert any(s.action == "refine" and s.detail.startswith("attribute") for s in answer.trace)


def test_an_unknown_property_is_not_denied(home: Any, ask: Ask) -> None:
    home.coverage = 1.0
    assert ask("is there a red bowl on the table").verdict is Verdict.ANSWERED  # it is green
    home.entries[4] = replace(home.entries[4], attributes=())
    answer = ask("is there a red bowl on the table")
    assert (answer.verdict, answer.value) == (Verdict.AMBIGUOUS, None)
    assert "color isn't known" in answer.text


def test_unknown_room_names_widen_but_never_answer(home: Any, ask: Ask) -> None:
    home.regions = ()
    answer = ask("how many chairs are in the kitchen")
    assert (answer.verdict, answer.value) == (Verdict.AMBIGUOUS, 3)
    assert "no place called 'kitchen'" in answer.text


def test_rounds_are_limited(home: Any, ask: Ask) -> None:
    answer = ask("where is the yellow cup", max_rounds=1)
    assert answer.verdict is Verdict.NOT_SEEN
    assert max(s.round for s in answer.trace) == 1
    assert any(s.action == "stop" for s in answer.trace)


def test_deadline_gives_timeout(home: Any, ask: Ask) -> None:
    ask("is there a tv")  # the parser is loaded
    asked: list[float] = []

    def slow(query: Query, deadline_s: float) -> None:
        asked.append(deadline_s)
        time.sleep(0.06)

    home.on_retrieve = slow
    answer = ask("what is left of the chair nearest to the tv", deadline_s=0.1)
    assert answer.verdict is Verdict.TIMEOUT
    assert answer.form == "identify"
    assert all(d <= 0.1 for d in asked)


def test_errors_of_the_memory_are_raised(home: Any, ask: Ask) -> None:
    def broken(query: Query, deadline_s: float) -> None:
        raise NotReady("no memory")

    home.on_retrieve = broken
    with pytest.raises(NotReady):
        ask("is there a tv")


def test_unknown_time_zone_is_an_invalid_argument(ask: Ask) -> None:
    with pytest.raises(InvalidArgument, match="Europe/Nowhere"):
        ask("is there a tv", timezone="Europe/Nowhere")


def test_times_in_the_asked_zone(ask: Ask) -> None:
    assert "22:14:55 UTC" in ask("when was the tv last seen").text
    assert "23:14:55 CET" in ask("when was the tv last seen", timezone="Europe/Berlin").text
    assert ask("was there a backpack in the living room at 23:14:10", timezone="Europe/Berlin").value is True


def test_simulated_time_is_told_relative_only(home: Any, ask: Ask) -> None:
    home.entries = [
        replace(e, first_seen=e.first_seen - START, last_seen=e.last_seen - START, present=None) for e in home.entries
    ]
    home.now_ns = 100 * NS_PER_S
    answer = ask("when was the tv last seen")
    assert answer.value == 95 * NS_PER_S
    assert "5 s ago" in answer.text
    assert ":" not in answer.text
    assert ask("was there a tv at 10:00").verdict is Verdict.UNSUPPORTED


def test_now_is_the_newest_stamp_or_the_given_one(home: Any, ask: Ask) -> None:
    ask("what was on the table 60 seconds ago")
    assert home.queries[-1].at_ns == NOW - 60 * NS_PER_S
    ask("what was on the table 60 seconds ago", now_ns=NOW - 10 * NS_PER_S)
    assert home.queries[-1].at_ns == NOW - 70 * NS_PER_S


def test_numbers_in_answers_come_from_evidence(ask: Ask) -> None:
    answer = ask("where is the red mug")
    x, y, z = answer.evidence[0].box.pose.position
    assert re.findall(r"-?\d+\.\d\d", answer.text) == [f"{x:.2f}", f"{y:.2f}", f"{z:.2f}"]


def test_events_without_watching_are_not_denied(home: Any, ask: Ask) -> None:
    only_once = [replace(e, first_seen=e.last_seen) if e.entry_id == "tv" else e for e in home.entries]
    assert (ask("was the tv moved").verdict, ask("was the tv moved").value) == (Verdict.ANSWERED, False)
    home.entries = only_once
    assert (ask("was the tv moved").verdict, ask("was the tv moved").value) == (Verdict.NOT_SEEN, False)


def test_a_vanished_thing_may_have_been_moved(home: Any, ask: Ask) -> None:
    assert ask("was the backpack moved").verdict is Verdict.AMBIGUOUS


def test_things_found_again_did_not_disappear(home: Any, ask: Ask) -> None:
    old = replace(home.entries[2], entry_id="mug0", state=EntryState.GONE)
    lost = replace(home.events[1], event_id="x", entry_id="mug0", label="cup", place=(1.9, 2.2, 0.81))
    home.entries.append(old)
    home.events.append(lost)
    assert ask("what disappeared since 22:13:30").value == ("backpack",)


def test_tasks_are_logged(home: Any) -> None:
    logged: list[tuple[Question, Answer, int]] = []

    class Log:
        def record_task(self, question: Question, answer: Answer, stamp_ns: int) -> None:
            logged.append((question, answer, stamp_ns))

        def record_feedback(self, task_id: str, feedback: Feedback, correction: str, source: str) -> None:
            raise AssertionError("nobody gave feedback")

    answer = Reasoner(home, ReasonerConfig(), Log()).answer(Question("where is the tv"))
    ((question, same, stamp),) = logged
    assert (question.text, same, stamp) == ("where is the tv", answer, START + 95 * NS_PER_S)


def test_task_ids_are_unique(ask: Ask) -> None:
    assert len({ask("is there a tv").task_id for _ in range(5)}) == 5


def test_same_question_same_answer(ask: Ask) -> None:
    def told(answer: Answer) -> Answer:
        return replace(answer, task_id="", trace=())

    for question in ("where is the cup", "what is on the table", "what color is the chair"):
        assert told(ask(question)) == told(ask(question))


def test_json_has_typed_values(ask: Ask) -> None:
    answer = json.loads(json.dumps(answer_to_dict(ask("where is the red mug"))))
    assert answer["verdict"] == "ANSWERED"
    assert answer["form"] == "locate"
    assert answer["value"] == [0.4, 2.2, 0.95]
    assert answer["value_frame"] == "map"
    (evidence,) = answer["evidence"]
    assert evidence["entry_id"] == "mug"
    assert evidence["visibility"] == "VISIBLE"
    assert evidence["attributes"] == {"color": "red"}
    assert isinstance(evidence["last_seen"], int)
    assert json.loads(json.dumps(answer_to_dict(ask("what is on the table"))))["value"] == ["cup", "bowl"]


def test_the_configured_agent_may_have_no_part_in_a_memory(home: Any) -> None:
    answer = Reasoner(home, ReasonerConfig(agent_id="someone-else")).answer(Question("what is to my left"))
    assert answer.verdict is Verdict.ANSWERED
