"""The experience node as an advisor, over its service: advice that doesn't come in time isn't waited for."""

from __future__ import annotations

import threading
from typing import Any

from r4_ros import msg, srv
from r4_ros.core.errors import OutcomeCode
from r4_ros.core.guard import strangers
from r4_ros.core.lessons import Advice, Focus, Lesson, Relax, Situation

WAIT_S = 0.3


class RemoteAdvisor:
    """``core.ports.Advisor`` over the SelectExperience service; for worker threads. No node, no advice."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def advise(self, situation: Situation) -> Advice:
        """What to try first; an empty focus where nobody replies within 0.3 s."""
        if not self._client.service_is_ready():
            return Advice()
        replied = threading.Event()
        future = self._client.call_async(srv.SelectExperience.Request(situation=str(situation)))
        future.add_done_callback(lambda _: replied.set())
        if not replied.wait(WAIT_S):
            self._client.remove_pending_request(future)
            return Advice()
        return advice_from_response(future.result())


def advice_from_response(response: Any) -> Advice:
    """The advice in a reply; relaxations that this version doesn't know are passed over."""
    if response.outcome.code != OutcomeCode.OK:
        return Advice()
    known = Relax._value2member_map_
    note = next((lesson.note for lesson in response.lessons if lesson.note), "")
    focus = Focus(
        tuple(Relax(name) for name in response.prefer if name in known),
        tuple(Relax(name) for name in response.avoid if name in known),
        "" if strangers(note) else note,
    )
    return Advice(focus, tuple(lesson.lesson_id for lesson in response.lessons))


def lesson_to_msg(lesson: Lesson) -> msg.Experience:
    """A lesson as its message."""
    return msg.Experience(
        lesson_id=lesson.lesson_id,
        polarity=lesson.polarity.value,
        when_to_use=str(lesson.when_to_use),
        evidence_need=lesson.evidence_need.value,
        failure_mode=lesson.failure_mode.value,
        prefer=[r.value for r in lesson.correction.prefer],
        avoid=[r.value for r in lesson.correction.avoid],
        support=lesson.support,
        uses=lesson.uses,
        helped=float(lesson.helped),
        hurt=float(lesson.hurt),
        agents=list(lesson.agents),
        note=lesson.correction.note,
    )
