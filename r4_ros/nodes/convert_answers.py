"""Messages to records and back: questions and answers."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import PoseStamped

from r4_ros import msg
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Answer, AnswerValue, Pose, Question, TraceStep, Verdict
from r4_ros.nodes.convert import (
    optional_time_from_msg,
    optional_time_to_msg,
    point_from_msg,
    pose_from_msg,
    pose_to_msg,
    time_from_msg,
    time_to_msg,
)
from r4_ros.nodes.convert_queries import evidence_from_msg, evidence_to_msg

TRUTH_FORMS = frozenset({"exists", "verify"})
NUMBER_FORMS = frozenset({"distance", "duration"})
PLACE_FORMS = frozenset({"locate", "navigate"})
LIST_FORMS = frozenset({"identify", "order"})


def question_from_request(request: Any, deadline_s: float, max_rounds: int) -> Question:
    """A question of the service or the action; the two numbers are the node's defaults for fields left at 0."""
    viewpoint: PoseStamped = request.viewpoint
    if request.deadline_s < 0:
        raise InvalidArgument(f"deadline_s = {request.deadline_s:g} must be positive, or 0 for the node's default")
    return Question(
        text=request.question,
        now_ns=optional_time_from_msg(request.now),
        ego_agent=request.ego_agent,
        viewpoint=pose_from_msg(viewpoint.pose) if viewpoint.header.frame_id else None,
        timezone=request.timezone,
        agents=tuple(request.agents),
        deadline_s=request.deadline_s or deadline_s,
        max_rounds=request.max_rounds or max_rounds,
    )


def fill_question(request: Any, question: Question, map_frame: str = "map") -> Any:
    """Write a question into a request of the service or a goal of the action, and give it back."""
    request.question = question.text
    request.now = optional_time_to_msg(question.now_ns)
    request.ego_agent = question.ego_agent
    if question.viewpoint is not None:
        request.viewpoint.header.frame_id = map_frame
        request.viewpoint.pose = pose_to_msg(question.viewpoint)
    request.timezone = question.timezone
    request.agents = list(question.agents)
    request.deadline_s = float(question.deadline_s)
    request.max_rounds = question.max_rounds
    return request


def step_to_msg(step: TraceStep) -> msg.TraceStep:
    """One step of a trace."""
    return msg.TraceStep(
        round=step.round,
        action=step.action,
        detail=step.detail,
        found=step.found,
        duration=float(step.duration_s),
    )


def answer_to_msg(answer: Answer) -> msg.Answer:
    """An answer with its value in the field that its form names."""
    made = msg.Answer(
        question=answer.question,
        text=answer.text,
        form=answer.form,
        verdict=answer.verdict.value,
        confidence=float(answer.confidence),
        evidence=[evidence_to_msg(e) for e in answer.evidence],
        trace=[step_to_msg(s) for s in answer.trace],
        task_id=answer.task_id,
    )
    made.value_pose.header.frame_id = answer.value_frame
    made.has_value = answer.value is not None
    if answer.value is not None:
        _set_value(made, answer.form, answer.value)
    return made


def _set_value(made: msg.Answer, form: str, value: AnswerValue) -> None:
    if form in TRUTH_FORMS:
        made.value_bool = bool(value)
    elif form == "count":
        made.value_int = int(value)  # type: ignore[arg-type]
    elif form == "when":
        made.value_time = time_to_msg(int(value))  # type: ignore[arg-type]
    elif form in NUMBER_FORMS:
        made.value_float = float(value)  # type: ignore[arg-type]
    elif form in PLACE_FORMS:
        made.value_pose.pose = pose_to_msg(Pose(position=value))  # type: ignore[arg-type]
    else:
        made.value_strings = [value] if isinstance(value, str) else [str(v) for v in value]  # type: ignore[union-attr]


def answer_from_msg(answer: Any) -> Answer:
    """An answer with its value typed by form."""
    return Answer(
        question=answer.question,
        text=answer.text,
        form=answer.form,
        verdict=Verdict(answer.verdict),
        value=_value(answer) if answer.has_value else None,
        confidence=answer.confidence,
        evidence=tuple(evidence_from_msg(e) for e in answer.evidence),
        trace=tuple(TraceStep(s.round, s.action, s.detail, s.found, s.duration) for s in answer.trace),
        task_id=answer.task_id,
        value_frame=answer.value_pose.header.frame_id,
    )


def _value(answer: Any) -> AnswerValue:
    if answer.form in TRUTH_FORMS:
        return bool(answer.value_bool)
    if answer.form == "count":
        return int(answer.value_int)
    if answer.form == "when":
        return time_from_msg(answer.value_time)
    if answer.form in NUMBER_FORMS:
        return float(answer.value_float)
    if answer.form in PLACE_FORMS:
        return point_from_msg(answer.value_pose.pose.position)
    if answer.form in LIST_FORMS or len(answer.value_strings) != 1:
        return tuple(answer.value_strings)
    return str(answer.value_strings[0])
