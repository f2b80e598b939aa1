"""The reasoner's facade: a question in, an answer with evidence, trace and an honest verdict out."""

from __future__ import annotations

import uuid
from typing import Any

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.geometry import yaw_of
from r4_ros.core.model import Answer, Evidence, Question
from r4_ros.core.ports import Advisor, Embedder, Eyes, Memory, TaskLog
from r4_ros.reasoner import loop, parse
from r4_ros.reasoner.plainer import turns
from r4_ros.reasoner.planner import Planner, make_planner


class Reasoner:
    """Answers questions from a memory.

    planner: who reads the questions; by default the rules. log: each finished task is written there. advisor: asked
    how to go on where a run finds nothing. embedder: tells what may serve a purpose whose verb isn't in the lexicon.
    eyes: must see what the gate says is in view.
    """

    def __init__(
        self,
        memory: Memory,
        config: ReasonerConfig | None = None,
        log: TaskLog | None = None,
        advisor: Advisor | None = None,
        planner: Planner | None = None,
        embedder: Embedder | None = None,
        eyes: Eyes | None = None,
    ) -> None:
        self._memory = memory
        self._config = config or ReasonerConfig()
        self._log = log
        self._advisor, self._embedder, self._eyes = advisor, embedder, eyes
        parse.language()  # loads the parser and the turns of phrase now, not in the first answer's time
        turns()
        self._planner = planner or make_planner(self._config)

    def answer(self, question: Question) -> Answer:
        """The answer to any text; an impossible question gets its verdict, not an exception.

        Raises what the memory raises (store, network), InvalidArgument for an unknown time zone, and ModelError where
        a language model fails and is configured not to be replaced.
        """
        draft, form, trace = loop.solve(
            self._memory, question, self._config, self._planner, self._advisor, self._embedder, self._eyes
        )
        answer = Answer(
            question=question.text,
            text=draft.text,
            form=form.value if form is not None else "",
            verdict=draft.verdict,
            value=draft.value,
            confidence=round(min(1.0, max(0.0, draft.confidence)), 4),
            evidence=draft.evidence,
            trace=tuple(trace),
            task_id=uuid.uuid4().hex,
            value_frame=draft.frame,
        )
        if self._log is not None:
            self._log.record_task(question, answer, self._stamp(question, draft.evidence))
        return answer

    @staticmethod
    def _stamp(question: Question, evidence: tuple[Evidence, ...]) -> int:
        return question.now_ns if question.now_ns is not None else max((e.last_seen for e in evidence), default=0)


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """An answer as JSON-ready values; see docs/asking.md."""
    value = answer.value
    return {
        "question": answer.question,
        "verdict": answer.verdict.value,
        "form": answer.form,
        "answer": answer.text,
        "value": list(value) if isinstance(value, tuple) else value,
        "value_frame": answer.value_frame,
        "confidence": answer.confidence,
        "evidence": [evidence_to_dict(e) for e in answer.evidence],
        "trace": [
            {"round": s.round, "action": s.action, "detail": s.detail, "found": s.found, "duration_s": s.duration_s}
            for s in answer.trace
        ],
        "task_id": answer.task_id,
    }


def evidence_to_dict(evidence: Evidence) -> dict[str, Any]:
    """One piece of evidence as JSON-ready values: metres, radians, nanoseconds, names of states."""
    return {
        "entry_id": evidence.entry_id,
        "label": evidence.label,
        "description": evidence.description,
        "attributes": dict(evidence.attributes),
        "position": list(evidence.box.pose.position),
        "extent": list(evidence.box.extent),
        "yaw": yaw_of(evidence.box.pose.orientation),
        "frame": evidence.frame,
        "map_id": evidence.map_id,
        "agent_id": evidence.agent_id,
        "first_seen": evidence.first_seen,
        "last_seen": evidence.last_seen,
        "visibility": evidence.visibility.name,
        "state": evidence.state.name,
        "motion": evidence.motion.name,
        "sightings": evidence.count,
        "confidence": evidence.confidence,
        "score": evidence.score,
        "regions": list(evidence.regions),
        "place_known": evidence.place_known,
        "claims": [
            {
                "about": c.about,
                "value": c.value,
                "agent_id": c.agent_id,
                "entry_id": c.entry_id,
                "stamp": c.stamp_ns,
                "visibility": c.visibility.name,
                "holds": c.holds,
            }
            for c in evidence.claims
        ],
        "existence": round(evidence.existence, 4),
        "missed": evidence.missed,
        "label_share": round(evidence.label_share, 4),
    }
