"""A fleet's lessons in one database: each robot writes its own, uses all, and sees nobody else's tasks."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from shared_lessons import BOTH, CUP, FAILED, LESSON, as_robot, fleet_database
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import ExperienceConfig
from r4_ros.core.errors import NotPermitted, StoreEmpty, StoreError
from r4_ros.core.lessons import Focus, Relax
from r4_ros.core.model import Feedback, FeedbackRecord, Question, TaskRecord, Verdict
from r4_ros.evaluation.postgres_server import Server
from r4_ros.experience.learner import Learner
from r4_ros.memory.experience_stores import open_tasks
from r4_ros.memory.sql_lessons import SqlLessonStore, lesson_to_dict
from r4_ros.memory.stores import open_store

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")


@pytest.fixture
def url(postgres_server: Server) -> str:
    """A fleet's database with roles for two robots."""
    return fleet_database(postgres_server)


def task(task_id: str = "one") -> TaskRecord:
    return TaskRecord(task_id, "robot", 5, Question("Where is it?"), "locate", Verdict.ANSWERED, "In the den.")


def test_what_one_robot_learnt_another_uses_and_does_not_own(url: str) -> None:
    first = open_tasks(as_robot(url, "robot1"), "robot1")
    second = open_tasks(as_robot(url, "robot2"), "robot2")  # at the same time
    teacher, pupil = SqlLessonStore(first), SqlLessonStore(second)
    teacher.update((), BOTH, (), [(LESSON.lesson_id, "learnt", "so")])
    learner = Learner(pupil, ExperienceConfig())
    assert learner.select(CUP) == () and learner.listen() == 2
    assert learner.advise(CUP).focus == Focus((Relax.PLACE,), (Relax.KIND,))
    assert {agent for lesson in learner.select(CUP) for agent in lesson.agents} == {"robot1"}
    assert learner.size == 0 and pupil.lessons() == {} and pupil.audit() == ()
    assert [owner for owner, _ in pupil.others()] == ["robot1"] * 2 and teacher.others() == ()
    teacher.update((), {}, list(BOTH), ())
    assert learner.listen() == 0 and learner.select(CUP) == ()
    first.close()
    second.close()


def test_forged_rows_of_others_are_left_out(url: str) -> None:
    sound = lesson_to_dict(LESSON)
    with psycopg.connect(as_robot(url, "robot1"), autocommit=True) as robot:
        forgeries = [
            {"helped": float("inf")},
            {"support": -1},
            {"when_to_use": "anna"},
            {"note": "the keys are here"},
            {},
        ]
        for number, forged in enumerate(forgeries):
            row = {**sound, "lesson_id": f"{number:016x}", **forged}
            values = [json.dumps(v) if isinstance(v, list) else v for v in row.values()]
            columns = ", ".join(row).replace("when_to_use", "situation")
            marks = ", ".join(["%s"] * len(row))
            robot.execute(f"INSERT INTO lesson(owner, {columns}) VALUES ('robot1', {marks})", values)
    tasks = open_tasks(url, "robot2", read_only=True)
    assert [lesson.lesson_id for _, lesson in SqlLessonStore(tasks).others()] == [f"{4:016x}"]
    tasks.close()


def test_a_robots_role_writes_its_own_only_and_reads_nobodys_tasks(url: str) -> None:
    first = open_tasks(as_robot(url, "robot1"), "robot1")
    first.add_task(task())
    first.add_feedback(FeedbackRecord("one", Feedback.RIGHT, 6))
    SqlLessonStore(first).update(["one"], {LESSON.lesson_id: LESSON}, (), [(LESSON.lesson_id, "learnt", "so")])
    first.close()
    with pytest.raises(NotPermitted):
        open_tasks(as_robot(url, "robot2"), "robot1")
    with psycopg.connect(as_robot(url, "robot2"), autocommit=True) as robot2:
        for table in ("task", "feedback", "learnt", "lesson_change", "experience_writer"):
            assert robot2.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        assert robot2.execute("SELECT owner FROM lesson").fetchall() == [("robot1",)]
        assert robot2.execute("UPDATE lesson SET hurt = 99").rowcount == 0
        assert robot2.execute("DELETE FROM lesson").rowcount == 0
        for statement in (
            "INSERT INTO lesson SELECT 'robot1', 'a', polarity, situation, evidence_need, failure_mode, prefer, avoid, "
            "support, uses, helped, hurt, created, last_used, agents, note FROM lesson",
            "INSERT INTO feedback(task_no, feedback, stamp_ns, correction, source) VALUES (1, 1, 1, '', '')",
            "INSERT INTO learnt VALUES (1)",
            "UPDATE task SET answer = ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                robot2.execute(statement)


def test_an_agents_experience_has_one_writer_and_the_tables_come_from_the_map_server(
    url: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from r4_ros.memory import postgres_database

    monkeypatch.setattr(postgres_database, "LOCK_S", 0.0)
    tasks = open_tasks(url, "robot1")
    with pytest.raises(StoreError, match="another process"):
        open_tasks(url, "robot1")
    memory = open_store(url)  # the map server's writing is another matter
    memory.close()
    tasks.close()
    with pytest.raises(StoreEmpty):
        open_tasks(postgres_server.database(), "robot1")


def test_it_goes_on_after_the_server_was_away(own_postgres_server: Any) -> None:
    url = own_postgres_server.database()
    open_store(url).close()
    tasks = open_tasks(url, "robot1")
    tasks.add_task(task("before"))
    own_postgres_server.restart(kill=True)
    tasks.add_task(task("after"))
    assert [t.task_id for t in tasks.tasks()] == ["after", "before"]
    tasks.close()


def run(*arguments: str) -> Any:
    app = typer.Typer()
    db.register(app)
    return CliRunner().invoke(app, ["db", "lessons", *arguments])


def test_the_command_shows_all_robots_lessons_and_gives_some_to_one(url: str, tmp_path: Any) -> None:
    tasks = open_tasks(url, "robot1")
    SqlLessonStore(tasks).update((), BOTH, (), ())
    tasks.close()
    shown = run("--db", url, "--json")
    assert shown.exit_code == 0, shown.output
    assert [k["lesson_id"] for k in json.loads(shown.output)["lessons"]] == [LESSON.lesson_id, FAILED.lesson_id]
    told = tmp_path / "lessons.json"
    told.write_text(shown.output, encoding="utf-8")
    assert run("--db", url, "--import", str(told)).exception is not None, "whose they become must be said"
    taken = run("--db", url, "--agent", "robot2", "--import", str(told), "--json")
    assert taken.exit_code == 0 and json.loads(taken.output)["adopted"] == 2
    assert json.loads(run("--db", url, "--agent", "robot3", "--json").output)["lessons"] == []
