"""reasoner_node and experience_node in one process, with a real memory."""

from __future__ import annotations

import json
import threading
import time
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from action_msgs.msg import GoalStatus
from chat_double import chat_double, fails, says
from filled import OLD, fill
from rclpy.action import ActionClient
from sensor_msgs.msg import Image

from r4_ros import action, msg, srv
from r4_ros.core import model as m
from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import DeadlineExceeded, NotReady
from r4_ros.core.lessons import FailureMode, Focus, Lesson, Polarity, Relax, Situation
from r4_ros.experience.select import keys_of
from r4_ros.nodes import advice, asking, experience_node, qos
from r4_ros.nodes.asking import Asker
from r4_ros.nodes.clients import RemoteMemory
from r4_ros.nodes.convert import time_to_msg
from r4_ros.nodes.convert_answers import answer_from_msg
from r4_ros.nodes.experience_node import ExperienceNode
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.reasoner_node import ReasonerNode
from r4_ros.reasoner.answer import Reasoner

pytestmark = pytest.mark.ros
SECOND = m.NS_PER_S
QUESTIONS = ("Where is the cup?", "How many books are there?", "Is there a bed?", "When was the cup last seen?")


@pytest.fixture
def memory(graph: Any, tmp_path: Path) -> MemoryNode:
    node = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none"))
    fill(node)
    return node


@pytest.fixture
def reasoner(graph: Any) -> ReasonerNode:
    return graph.active(graph.make(ReasonerNode))


def ask(graph: Any, text: str, deadline_s: float = 100.0, **fields: Any) -> Any:
    request = srv.QueryMemory.Request(question=text, deadline_s=deadline_s, **fields)
    return graph.call(srv.QueryMemory, "reasoner/query_memory", request)


def untimed(answer: m.Answer) -> tuple[Any, ...]:
    """What must be the same wherever it is asked."""
    return (
        answer.verdict,
        answer.form,
        answer.text,
        answer.value,
        answer.value_frame,
        answer.confidence,
        answer.evidence,
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_service_answers_as_the_reasoner_does_beside_the_memory(
    graph: Any, memory: MemoryNode, reasoner: ReasonerNode, question: str
) -> None:
    reply = ask(graph, question)
    assert reply.outcome.code == 0, reply.outcome.message
    beside = Reasoner(memory.library, ReasonerConfig()).answer(m.Question(question))
    assert untimed(answer_from_msg(reply.answer)) == untimed(beside)


def test_a_language_model_plans_in_the_node(graph: Any, memory: MemoryNode) -> None:
    plan = {"form": "locate", "steps": [{"semantic": {"text": "cup"}, "definite": True}]}
    with chat_double(says(json.dumps(plan)), fails(500, b"down")) as server:
        graph.active(graph.make(ReasonerNode, planner="lm", lm_model="tiny", lm_url=server.url, lm_timeout_s=90.0))
        answers = [answer_from_msg(ask(graph, "Where is the cup?").answer) for _ in range(2)]
    beside = Reasoner(memory.library, ReasonerConfig()).answer(m.Question("Where is the cup?"))
    assert untimed(answers[0]) == untimed(answers[1]) == untimed(beside)
    made = [s.detail.partition(":")[0] for a in answers for s in a.trace if s.action == "plan"]
    assert made == ["lm tiny", "rules"]


@pytest.mark.parametrize("question", ["Where is the cup?", "What is to my left?", "Was anything moved?"])
def test_an_empty_memory_is_no_error(graph: Any, tmp_path: Path, question: str) -> None:
    graph.active(graph.make(MemoryNode, db=str(tmp_path / "new.db"), agent_id="robot", embedder="none"))
    graph.active(graph.make(ReasonerNode, agent_id="robot"))
    reply = ask(graph, question)
    assert reply.outcome.code == 0, reply.outcome.message
    assert answer_from_msg(reply.answer).verdict in (m.Verdict.NOT_SEEN, m.Verdict.UNSUPPORTED, m.Verdict.AMBIGUOUS)


def test_now_is_the_clock_while_the_memory_is_live(
    graph: Any, tmp_path: Path, reasoner: ReasonerNode, until: Any
) -> None:
    node = graph.active(graph.make(MemoryNode, db=str(tmp_path / "live.db"), agent_id="robot", embedder="none"))
    fill(node, time.time_ns() - 1500 * SECOND)
    answer = answer_from_msg(ask(graph, "Where is the cup?").answer)
    assert answer.verdict is m.Verdict.STALE  # 25 minutes ago by the clock, now by the memory


def test_every_answer_is_published_and_recorded(
    graph: Any, memory: MemoryNode, reasoner: ReasonerNode, tmp_path: Path, until: Any
) -> None:
    experience = graph.active(graph.make(ExperienceNode, db=str(tmp_path / "tasks.db"), agent_id="robot"))
    heard = graph.collect(msg.Answer, "reasoner/answers", qos.EVENTS)
    until(lambda: reasoner._answers.get_subscription_count() == 2)
    answer = ask(graph, "Where is the cup?").answer
    until(lambda: experience.counts["tasks"] == 1)
    assert [a.task_id for a in heard] == [answer.task_id]
    request = srv.RecordOutcome.Request(task_id=answer.task_id, feedback=1, source="operator")
    assert graph.call(srv.RecordOutcome, "experience/record_outcome", request).outcome.code == 0
    assert experience._store.tally() == {m.Feedback.RIGHT: 1}
    request.task_id = "unknown"
    reply = graph.call(srv.RecordOutcome, "experience/record_outcome", request)
    assert reply.outcome.code == 400 and "unknown" in reply.outcome.message
    request.feedback = 9
    assert graph.call(srv.RecordOutcome, "experience/record_outcome", request).outcome.code == 2


def test_a_lesson_reaches_the_next_run_over_ros(
    graph: Any, memory: MemoryNode, reasoner: ReasonerNode, tmp_path: Path, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "WAIT_S", 100.0)  # what advice does is tested, not whether it comes in time
    experience = graph.active(graph.make(ExperienceNode, db=str(tmp_path / "tasks.db"), agent_id="robot"))
    until(lambda: reasoner._answers.get_subscription_count() == 1 and reasoner._advisor._client.service_is_ready())
    question = "Where was the green cup on the book 2 seconds ago?"
    answer = answer_from_msg(ask(graph, question).answer)
    tried = [step.detail for step in answer.trace if step.action == "tried"]
    assert len(tried) >= 2, answer.trace
    request = srv.RecordOutcome.Request(task_id=answer.task_id, feedback=3)  # at once: it may overtake the answer
    assert graph.call(srv.RecordOutcome, "experience/record_outcome", request).outcome.code == 0
    until(lambda: experience.counts["learnt"] == 1)
    single = [name for name in tried if "+" not in name]
    situation, avoid, prefer = Situation.parse(_reflected(answer)), Relax(single[-2]), Relax(single[-1])
    need = min(keys_of(situation))
    helped = Lesson("a" * 16, Polarity.SUCCESS, situation, need, FailureMode.NONE, Focus((prefer,)), uses=9, helped=9.0)
    failed = replace(helped, lesson_id="b" * 16, polarity=Polarity.FAILURE, correction=Focus((), (avoid,)))
    assert experience._learner.adopt([helped, failed]) == 2  # what failed is told beside what helped only
    (lesson,) = [k for k in experience._learner.lessons.values() if prefer in k.correction.prefer]
    advised = answer_from_msg(ask(graph, question).answer)
    said = next(step.detail for step in advised.trace if step.action == "experience")
    assert lesson.lesson_id in said and f"drop {prefer.value} before {avoid.value}" in said
    assert [step.detail for step in advised.trace if step.action == "tried"][1] == prefer.value


def test_feedback_waits_for_its_answer_while_that_waits_to_be_recorded(
    graph: Any, memory: MemoryNode, reasoner: ReasonerNode, tmp_path: Path, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experience_node, "ANSWER_WAIT_S", 0.1)
    experience = graph.active(graph.make(ExperienceNode, db=str(tmp_path / "tasks.db"), agent_id="robot"))
    until(lambda: reasoner._answers.get_subscription_count() == 1)
    learning = threading.Event()
    experience._worker.offer(lambda: learning.wait(100.0))
    answer = ask(graph, "Where is the cup?").answer
    until(lambda: experience._worker.pending == 2)
    threading.Timer(0.5, learning.set).start()
    request = srv.RecordOutcome.Request(task_id=answer.task_id, feedback=1)
    assert graph.call(srv.RecordOutcome, "experience/record_outcome", request).outcome.code == 0
    assert experience._store.tally() == {m.Feedback.RIGHT: 1}


def test_a_situation_that_is_none_is_refused(graph: Any, tmp_path: Path) -> None:
    graph.active(graph.make(ExperienceNode, db=str(tmp_path / "tasks.db"), agent_id="robot"))
    request = srv.SelectExperience.Request(situation="tell me about anna")
    assert graph.call(srv.SelectExperience, "experience/select", request).outcome.code == 2


def _reflected(answer: m.Answer) -> str:
    return next(step.detail for step in answer.trace if step.action == "reflect")


def test_without_a_memory_the_outcome_says_so_in_time(graph: Any, reasoner: ReasonerNode) -> None:
    reply = ask(graph, "Where is the cup?", deadline_s=2.0)
    assert reply.outcome.code == 3 and "is the memory node active?" in reply.outcome.message


def test_a_negative_deadline_is_refused(graph: Any, memory: MemoryNode, reasoner: ReasonerNode) -> None:
    assert ask(graph, "Where is the cup?", deadline_s=-1.0).outcome.code == 2


@pytest.mark.parametrize(("seen", "gate"), [("yes", "open: it is in view"), ("no", "closed: the model sees it 0%")])
def test_a_model_looks_at_the_camera_before_the_gate_opens(
    graph: Any, memory: MemoryNode, until: Any, seen: str, gate: str
) -> None:
    now = time_to_msg(OLD + 5 * SECOND)
    picture = Image(height=48, width=64, encoding="rgb8", step=192, data=array("B", bytes(64 * 48 * 3)))
    picture.header.stamp = now

    def looked() -> Any:
        """The answer, and what its trace says of the gate."""
        answer = ask(graph, "Do you see a cup?", now=now).answer
        return answer, "".join(step.detail for step in answer.trace if step.action == "gate")

    with chat_double(says(seen)) as server:
        graph.active(graph.make(ReasonerNode, agent_id="robot", gate_looks=1, lm_model="m", lm_url=server.url))
        camera = graph.node.create_publisher(Image, "color/image_raw", qos.SENSOR)
        until(camera.get_subscription_count)
        assert looked()[1] == "closed: the model saw no picture"
        camera.publish(picture)
        until(lambda: looked()[1].startswith(gate))
        until(lambda: looked()[0].value_bool)
    image = server.requests[-1]["messages"][1]["content"][0]["image_url"]["url"]
    assert image.startswith("data:image/jpeg;base64,")


def wait(future: Any, until: Any) -> Any:
    until(future.done)
    return future.result()


def test_the_action_gives_the_same_answer_and_its_steps(
    graph: Any, memory: MemoryNode, reasoner: ReasonerNode, until: Any
) -> None:
    client = ActionClient(graph.node, action.AnswerQuestion, "reasoner/answer_question")
    assert client.wait_for_server(100.0)
    steps: list[Any] = []
    goal = action.AnswerQuestion.Goal(question="Where is the cup?", deadline_s=100.0)
    handle = wait(client.send_goal_async(goal, feedback_callback=lambda f: steps.append(f.feedback.step)), until)
    result = wait(handle.get_result_async(), until)
    assert result.status == GoalStatus.STATUS_SUCCEEDED
    by_service = ask(graph, "Where is the cup?").answer
    assert untimed(answer_from_msg(result.result.answer)) == untimed(answer_from_msg(by_service))
    until(lambda: steps)
    assert steps[0].action == "retrieve"
    client.destroy()


def test_the_action_can_be_cancelled(graph: Any, reasoner: ReasonerNode, until: Any) -> None:
    """No memory is there, so the question waits for one."""
    client = ActionClient(graph.node, action.AnswerQuestion, "reasoner/answer_question")
    assert client.wait_for_server(100.0)
    goal = action.AnswerQuestion.Goal(question="Where is the cup?", deadline_s=300.0)
    handle = wait(client.send_goal_async(goal), until)
    wait(handle.cancel_goal_async(), until)
    assert wait(handle.get_result_async(), until).status == GoalStatus.STATUS_CANCELED
    client.destroy()


def test_a_call_of_the_model_is_cut_when_the_action_is_cancelled(graph: Any, memory: MemoryNode, until: Any) -> None:
    """The model never replies; only the cancel ends its call, for which the question would wait 250 seconds."""
    begun, ended = threading.Event(), threading.Event()

    def silent(handler: Any, _: dict[str, Any]) -> None:
        begun.set()
        handler.connection.settimeout(280.0)
        ended.set() if handler.rfile.read(1) == b"" else None  # the other side hung up

    with chat_double(silent) as server:
        options = {"planner": "lm", "lm_model": "m", "lm_url": server.url, "lm_timeout_s": 250.0}
        graph.active(graph.make(ReasonerNode, **options))
        client = ActionClient(graph.node, action.AnswerQuestion, "reasoner/answer_question")
        assert client.wait_for_server(100.0)
        goal = action.AnswerQuestion.Goal(question="Where is the cup?", deadline_s=290.0)
        handle = wait(client.send_goal_async(goal), until)
        until(begun.is_set)
        wait(handle.cancel_goal_async(), until)
        assert wait(handle.get_result_async(), until).status == GoalStatus.STATUS_CANCELED
        assert ended.wait(100.0)
        client.destroy()


class LostReplies:
    """A client whose first replies never come."""

    srv_name = "memory/retrieve"

    def __init__(self, client: Any, lost: int) -> None:
        self.client, self.lost = client, lost
        self.removed: list[Any] = []

    def service_is_ready(self) -> bool:
        return bool(self.client.service_is_ready())

    def call_async(self, request: Any) -> Any:
        from rclpy.task import Future

        if self.lost:
            self.lost -= 1
            return Future()
        return self.client.call_async(request)

    def remove_pending_request(self, future: Any) -> None:
        self.removed.append(future)


def test_a_lost_reply_is_asked_for_again(graph: Any, memory: MemoryNode) -> None:
    client = LostReplies(graph.node.create_client(srv.Retrieve, "memory/retrieve"), lost=1)
    found = RemoteMemory(client).retrieve(m.Query(labels=("cup",)), 100.0)
    assert [e.label for e in found.entries] == ["cup"]
    assert client.removed, "the reply that was lost isn't waited for any more"


def test_a_deadline_ends_the_waiting(graph: Any, memory: MemoryNode) -> None:
    client = LostReplies(graph.node.create_client(srv.Retrieve, "memory/retrieve"), lost=1000)
    with pytest.raises(DeadlineExceeded):
        RemoteMemory(client).retrieve(m.Query(), deadline_s=0.3)
    with pytest.raises(NotReady):
        RemoteMemory(graph.node.create_client(srv.Retrieve, "nowhere")).retrieve(m.Query(), deadline_s=0.2)


def test_what_a_robot_finds_where_it_was_sent_is_feedback(
    graph: Any, memory: MemoryNode, reasoner: ReasonerNode, tmp_path: Path, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "GRACE_S", 100.0)
    experience = graph.active(graph.make(ExperienceNode, db=str(tmp_path / "tasks.db"), agent_id="robot"))
    until(lambda: reasoner._answers.get_subscription_count() == 1)
    question = m.Question("Where is the cup?", deadline_s=100.0)
    with Asker() as asker:
        answer = asker.ask(question)
        assert asker.look(question, answer, within_s=0.6) is None, "nothing was seen since"
        before = replace(answer, evidence=(replace(answer.evidence[0], last_seen=0),))
        assert asker.look(question, before, within_s=100.0) is m.Feedback.RIGHT
    until(lambda: experience._store.feedback(answer.task_id))
    (said,) = experience._store.feedback(answer.task_id)
    assert (said.feedback, said.source) == (m.Feedback.RIGHT, "robot")
