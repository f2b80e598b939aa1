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
    empty = tuple(dict.fromkeys(a.relax for a in run.attempts if not a.found))
    useful = next((a.relax for a in run.attempts if a.found), None)
    if feedback is Feedback.RIGHT:
        if useful is None:
            return None  # that there is nothing was the answer
        focus = Focus((useful,), tuple(r for r in empty if r is not useful))
        return _made(Polarity.SUCCESS, run.situation, RELAX_KEY[useful], FailureMode.NONE, focus, agent_id, task_count)
    if useful is None:
        focus, mode, need = Focus((), empty), FailureMode.EXHAUSTED, RELAX_KEY[empty[-1]]
    else:
        focus, mode, need = Focus((), (useful,)), FailureMode.MISLED, RELAX_KEY[useful]
    return _made(Polarity.FAILURE, run.situation, need, mode, focus, agent_id, task_count)


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
    text = f"{polarity.value}|{situation}|{need.value}|{mode.value}|{focus}"
    lesson_id = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Lesson(
        lesson_id,
        polarity,
        situation,
        need,
        mode,
        focus,
        created=task_count,
        last_used=task_count,
        agents=(agent_id,) if agent_id else (),
    )
