"""What a finished run teaches, by rules: which relaxation found the evidence, and which ones did not.

A lesson is made of closed choices only, so no name, number or place of the run can get into it.
"""

from __future__ import annotations

import hashlib

from r4_ros.core.lessons import RELAX_KEY, FailureMode, Focus, Key, Lesson, Polarity, Situation
from r4_ros.core.model import Feedback
from r4_ros.experience.runs import RunReport


def lesson_of(run: RunReport, feedback: Feedback, agent_id: str, task_count: int) -> Lesson | None:
    """The lesson of one run; None where it teaches nothing: no anomaly, nothing tried, or only partly right.

    task_count: how many tasks were learnt from so far; the lesson's birthday.
    """
    if run.situation is None or not run.attempts or feedback is Feedback.PARTLY:
        return None
    if feedback is Feedback.RIGHT:
        if not run.told or set(run.told) == set(run.began_with):
            return None  # that there is nothing was the answer, or it was found by what is done anyway
        polarity, mode, focus = Polarity.SUCCESS, FailureMode.NONE, Focus(run.told, run.began_with)
    elif run.ended_with:
        mode = FailureMode.MISLED if run.told else FailureMode.EXHAUSTED
        polarity, focus = Polarity.FAILURE, Focus((), run.ended_with)
    else:
        return None  # everything was tried: no other order would have helped
    need = RELAX_KEY[run.ended_with[0]]
    return _made(polarity, run.situation, need, mode, focus, agent_id, task_count)


def _made(
    polarity: Polarity,
    situation: Situation,
    need: Key,
    mode: FailureMode,
    focus: Focus,
    agent_id: str,
    task_count: int,
) -> Lesson:
    """A new lesson; its id follows from what it says, so that two robots name the same lesson alike."""
    return Lesson(
        id_of(polarity, situation, need, mode, focus),
        polarity,
        situation,
        need,
        mode,
        focus,
        created=task_count,
        last_used=task_count,
        agents=(agent_id,) if agent_id else (),
    )


def id_of(polarity: Polarity, situation: Situation, need: Key, mode: FailureMode, focus: Focus) -> str:
    """A lesson's id, by what it says; its note apart."""
    text = f"{polarity.value}|{situation}|{need.value}|{mode.value}|{focus}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
