"""A robot's own file of lessons and a map server's, kept in step: own ones up, others' down, whatever goes wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_lessons import BOTH, CUP, FAILED, LESSON, as_robot, fleet_database
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import ExperienceConfig, MemoryConfig
from r4_ros.core.errors import InvalidArgument, NotPermitted, R4Error, StoreError
from r4_ros.core.lessons import Focus, Lesson, Relax
from r4_ros.evaluation.postgres_server import Server
from r4_ros.experience.learner import Learner
from r4_ros.memory.experience_stores import open_tasks
from r4_ros.memory.lesson_link import LessonLink
from r4_ros.memory.library import open_library
from r4_ros.memory.sql_lessons import SqlLessonStore

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")


@pytest.fixture
def url(postgres_server: Server) -> str:
    """A fleet's database with roles for two robots."""
    return fleet_database(postgres_server)


class Robot:
    """A robot's file of lessons, and its way to the map server. ``kill``: all that it holds in RAM is gone."""

    def __init__(self, path: Path, name: str, url: str) -> None:
        self.path, self.name, self.url = path, name, url
        self.begin()

    def begin(self) -> None:
        self.tasks = open_tasks(self.path, "")
        self.store = SqlLessonStore(self.tasks)
        self.link = LessonLink(self.tasks, as_robot(self.url, self.name), self.name)

    def close(self) -> None:
        self.link.close()
        self.tasks.close()

    def kill(self) -> None:
        self.close()
        self.begin()

    def others(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for owner, lesson in self.store.others():
            found.setdefault(owner, set()).add(lesson.lesson_id)
        return found


@contextmanager
def robots(folder: Path, url: str, *names: str) -> Iterator[list[Robot]]:
    made = [Robot(folder / f"{name}.db", name, url) for name in names]
    try:
        yield made
    finally:
        for robot in made:
            robot.close()


def stored(url: str, owner: str) -> dict[str, Lesson]:
    tasks = open_tasks(url, owner, read_only=True)
    try:
        return SqlLessonStore(tasks).lessons()
    finally:
        tasks.close()


def versions(url: str) -> list[Any]:
    with psycopg.connect(url) as owner:
        return list(owner.execute("SELECT owner, lesson_id, xmin::text FROM lesson ORDER BY 1, 2").fetchall())


def test_lessons_of_files_are_used_by_all_robots_and_stay_their_owners(url: str, tmp_path: Path) -> None:
    with robots(tmp_path, url, "robot1", "robot2") as (teacher, pupil):
        teacher.store.update((), BOTH, (), [(LESSON.lesson_id, "learnt", "so")])
        assert teacher.link.step() is False and stored(url, "robot1") == BOTH
        assert pupil.link.step() is True and pupil.others() == {"robot1": set(BOTH)}
        learner = Learner(pupil.store, ExperienceConfig())
        assert learner.listen() == 2 and learner.size == 0
        assert learner.advise(CUP).focus == Focus((Relax.PLACE,), (Relax.KIND,))
        assert pupil.store.lessons() == {} and pupil.store.audit() == () and stored(url, "robot2") == {}
        assert teacher.link.step() is False and teacher.others() == {}
        used = replace(LESSON, uses=10, helped=9.5)
        teacher.store.update((), {used.lesson_id: used}, [FAILED.lesson_id], ())
        teacher.link.step()
        assert stored(url, "robot1") == {used.lesson_id: used}
        assert pupil.link.step() is True and dict(pupil.store.others()) == {"robot1": used}
        teacher.store.update((), {}, [used.lesson_id], ())
        teacher.link.step()
        assert pupil.link.step() is True and learner.listen() == 0 and learner.select(CUP) == ()


def test_nothing_is_written_while_nothing_changes(url: str, tmp_path: Path) -> None:
    with robots(tmp_path, url, "robot1", "robot2") as both:
        for robot in both:
            robot.store.update((), BOTH, (), ())
        for robot in [*both, *both]:
            robot.link.step()
        before, files = versions(url), [[*r.tasks.file.execute("SELECT total_changes()")] for r in both]
        for robot in both:
            assert robot.link.step() is False
        assert [[*r.tasks.file.execute("SELECT total_changes()")] for r in both] == files
        for robot in both:
            robot.kill()
            assert robot.link.step() is False
        assert versions(url) == before


def test_a_new_file_takes_over_what_the_server_kept_of_its_robot(url: str, tmp_path: Path) -> None:
    with robots(tmp_path, url, "robot1") as [robot]:
        robot.store.update((), BOTH, (), ())
        robot.link.step()
        robot.close()
        robot.path.unlink()
        robot.begin()
        own = replace(LESSON, lesson_id="1" * 16)
        robot.store.update((), {own.lesson_id: own}, (), ())  # learnt before there was a network
        learner = Learner(robot.store, ExperienceConfig())
        robot.link.step()
        learner.listen()
        assert set(learner.lessons) == {own.lesson_id, *BOTH} == set(stored(url, "robot1"))
        again = learner.lessons[FAILED.lesson_id]
        assert (again.helped, again.created) == (FAILED.helped, 0), "its age is told by this file's tasks"
        assert [change[1] for change in robot.store.audit()] == ["taken over"] * 2
        robot.store.update((), {}, list(BOTH), ())
        robot.kill()
        robot.link.step()
        assert set(stored(url, "robot1")) == {own.lesson_id}, "what was dropped since doesn't come back"


def test_a_file_or_a_server_put_back_from_an_older_copy(url: str, tmp_path: Path) -> None:
    with robots(tmp_path, url, "robot1", "robot2") as (robot, other):
        robot.store.update((), {LESSON.lesson_id: LESSON}, (), ())
        robot.link.step()
        robot.close()
        shutil.copy(robot.path, tmp_path / "copy.db")
        robot.begin()
        robot.store.update((), BOTH, (), ())
        robot.link.step()
        other.link.step()
        with psycopg.connect(url) as owner:
            owner.execute("DELETE FROM lesson WHERE lesson_id = %s", (LESSON.lesson_id,))
        robot.link.close()  # a server that is put back closes connections
        robot.link.step()
        assert stored(url, "robot1") == BOTH
        robot.close()
        shutil.copy(tmp_path / "copy.db", robot.path)
        robot.begin()
        robot.link.step()
        other.link.step()
        assert stored(url, "robot1") == {LESSON.lesson_id: LESSON} and other.others() == {"robot1": {LESSON.lesson_id}}


def test_without_a_network_lessons_of_others_are_there_and_own_ones_follow_later(
    own_postgres_server: Any, tmp_path: Path
) -> None:
    made = fleet_database(own_postgres_server)
    with robots(tmp_path, made, "robot1", "robot2") as (teacher, pupil):
        teacher.store.update((), BOTH, (), ())
        teacher.link.step()
        pupil.link.step()
        own_postgres_server.stop(kill=True)
        pupil.kill()
        with pytest.raises(R4Error):
            pupil.link.step()
        mine = replace(LESSON, lesson_id="2" * 16)
        pupil.store.update((), {mine.lesson_id: mine}, (), ())
        assert pupil.others() == {"robot1": set(BOTH)} and Learner(pupil.store, ExperienceConfig()).listen() == 2
        with pytest.raises(R4Error):
            teacher.link.step()
        own_postgres_server.start()
        pupil.link.step()
        teacher.link.step()
        assert teacher.others() == {"robot2": {mine.lesson_id}} and stored(made, "robot2") == {mine.lesson_id: mine}


def test_rows_that_are_no_lessons_stay_out_and_hold_nothing_up(url: str, tmp_path: Path) -> None:
    with robots(tmp_path, url, "robot1", "robot2") as (forger, robot):
        forger.store.update((), BOTH, (), ())
        forger.link.step()
        with psycopg.connect(as_robot(url, "robot1"), autocommit=True) as role:
            role.execute("UPDATE lesson SET situation = 'anna' WHERE lesson_id = %s", (LESSON.lesson_id,))
        robot.link.step()
        assert robot.others() == {"robot1": {FAILED.lesson_id}}
        forger.kill()
        forger.link.step()
        assert stored(url, "robot1") == BOTH, "its own copy is put right"


def test_a_role_shares_as_its_own_agent_only(url: str, tmp_path: Path) -> None:
    tasks = open_tasks(tmp_path / "robot1.db", "")
    SqlLessonStore(tasks).update((), BOTH, (), ())
    link = LessonLink(tasks, as_robot(url, "robot1"), "robot2")
    with pytest.raises(NotPermitted):
        link.step()
    assert stored(url, "robot1") == stored(url, "robot2") == {}
    tasks.close()
    shared = open_tasks(url, "robot1", read_only=True)
    with pytest.raises(InvalidArgument, match="own file"):
        LessonLink(shared, url, "robot1")
    shared.close()


class _Killed(BaseException):
    """The process ends here."""


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_whatever_is_killed_in_between_both_sides_are_equal_in_the_end(
    postgres_server: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    made = fleet_database(postgres_server)
    ids = [f"{n:016x}" for n in range(5)]
    with robots(tmp_path_factory.mktemp("files"), made, "robot1", "robot2") as both:
        for _ in range(data.draw(st.integers(1, 12))):
            robot = data.draw(st.sampled_from(both))
            act = data.draw(st.sampled_from(("learn", "drop", "step", "kill", "die", "cut")))
            if act == "learn":
                one = replace(LESSON, lesson_id=data.draw(st.sampled_from(ids)), uses=data.draw(st.integers(9, 12)))
                robot.store.update((), {one.lesson_id: one}, (), ())
            elif act == "drop":
                robot.store.update((), {}, data.draw(st.lists(st.sampled_from(ids), max_size=3)), ())
            elif act == "step":
                robot.link.step()
            elif act == "die":
                _die_within(robot, data.draw(st.integers(1, 4)), monkeypatch)
            elif act == "kill":
                robot.kill()
            elif robot.link._server is not None:
                robot.link._server.file._connection.close()  # type: ignore[attr-defined]
        for robot in [*both, *both]:
            robot.link.step()
        for robot, other in (both, both[::-1]):
            assert stored(made, robot.name) == robot.store.lessons()
            assert robot.others().get(other.name, set()) == set(other.store.lessons())


def _die_within(robot: Robot, writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step until so many transactions were begun, whose last one ends in the middle."""
    left = [writes]
    real = SqlLessonStore.replace

    def replace_some(self: SqlLessonStore, lessons: Any) -> bool:
        changed = real(self, lessons)
        left[0] -= 1
        if not left[0]:
            raise _Killed
        return changed

    with monkeypatch.context() as patched:
        patched.setattr(SqlLessonStore, "replace", replace_some)
        with suppress(_Killed):
            robot.link.step()
    robot.kill()


def run(*words: Any) -> Any:
    app = typer.Typer()
    db.register(app)
    return CliRunner().invoke(app, ["db", *map(str, words)], catch_exceptions=False)


def test_the_command_shares_the_lessons_of_a_file_and_shows_whose_they_are(url: str, tmp_path: Path) -> None:
    with robots(tmp_path, url, "robot1", "robot2") as (teacher, pupil):
        teacher.store.update((), BOTH, (), ())
        mine = replace(LESSON, lesson_id="2" * 16, agents=("robot2",))
        pupil.store.update((), {mine.lesson_id: mine}, (), ())
        pupil.link.step()
    with open_library(tmp_path / "memory.db", MemoryConfig()):
        pass
    words = ("sync", "--db", tmp_path / "memory.db", "--with", as_robot(url, "robot1"), "--once")
    assert run(*words, "--experience", tmp_path / "none.db").exit_code == 0 and stored(url, "robot1") == {}
    assert run(*words, "--experience", tmp_path / "robot1.db").exit_code == 0 and stored(url, "robot1") == BOTH
    assert "22222222" in run("lessons", "--db", tmp_path / "robot1.db").output
    told = json.loads(run("lessons", "--db", tmp_path / "robot1.db", "--json").output)
    assert {lesson["lesson_id"] for lesson in told["lessons"]} == set(BOTH), "another robot's aren't this one's to give"
    busy = open_tasks(tmp_path / "robot1.db", "")
    with pytest.raises(StoreError, match="another process"):
        run(*words, "--experience", tmp_path / "robot1.db")
    busy.close()
