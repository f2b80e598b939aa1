"""A robot's file and a map server in step: nothing lost, nothing twice, whatever breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from fleet import Fleet, Robot, check_alike, check_observations, known_of, settle
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import Loop, shelf
from memories import content, plain

from r4_ros.core.alignments import Alignment
from r4_ros.core.errors import InvalidArgument, NotPermitted, StoreError, UnknownEntry
from r4_ros.core.model import CorrectionKind, Embedding, EntryCorrection, Episode, EpisodeSource, Interval, Pose, Query
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory import feed, outbox, synchronizer

S = 1_000_000_000
Action = tuple[str, str, int]
MakeRobot = Callable[..., Robot]


@pytest.mark.parametrize("odometry", [True, False])
def test_what_a_robot_saw_is_worked_in_as_if_it_had_come_by_topic(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any, odometry: bool
) -> None:
    robot = synced()
    loop = Loop(make_robot(), shelf(thing), odometry)
    for number, frame in enumerate(loop.frames()):
        robot.library.ingest(frame)
        if number % 20 == 0:
            robot.sync.step()
        if number % 30 == 0:
            fleet.work()
    robot.library.correct_anchors("r1", *loop.correction())
    for step in range(4):
        robot.library.ingest(replace(loop.frame(43 + step / 2, closed=True)))
    settle(fleet, robot)
    assert robot.sync.state.refused == 0 and robot.sync.state.problem == ""
    assert list(fleet.library.store.observation_ids()) == list(robot.library.store.observation_ids())
    robot.close()
    assert plain(content(robot.path)) == content(fleet.url)  # type: ignore[arg-type]


def test_what_another_robot_knows_comes_down_and_is_answered_with(
    fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any
) -> None:
    mine, theirs = synced("r1"), synced("r2")
    loop = Loop(make_robot(agent_id="r2", map_id="home"), shelf(thing))
    mine.library.ingest(make_robot(map_id="home").frame(1, thing("cup", (2, 0.2, 0.8))))
    for number, frame in enumerate(loop.frames()):
        theirs.library.ingest(frame)
        if number % 20 == 0:
            mine.sync.step()
            theirs.sync.step()
            fleet.work()
    settle(fleet, mine, theirs)
    check_alike(mine.library, fleet.library, "r2")
    check_alike(theirs.library, fleet.library, "r1")
    theirs.library.correct_anchors("r2", *loop.correction())
    tea = Episode("", "r2", "tea", Interval(20 * S, 21 * S), EpisodeSource.OPERATOR, "home", (1, 2, 0))
    theirs.library.add_episode(tea)
    settle(fleet, mine, theirs)
    assert theirs.library.merges()
    check_alike(mine.library, fleet.library, "r2")
    before = known_of(mine.library, "r2")
    mine.kill()
    assert plain(before) == plain(known_of(mine.library, "r2"))
    found = mine.library.retrieve(Query(labels=("thing3",), agents=("r2",)))
    assert [e.label for e in found.entries] == ["thing3"]
    assert mine.library.trail_at("r2", 30 * S) == pytest.approx(fleet.library.trail_at("r2", 30 * S))
    with pytest.raises(NotPermitted):
        mine.library.ingest(loop.frame(60))
    settle(fleet, mine, theirs)
    check_observations(fleet, [mine, theirs])


KINDS = ("mug", "chair", "plate", "lamp")
ACTIONS = st.one_of(
    st.tuples(st.just("see"), st.sampled_from(("r1", "r2")), st.integers(0, 15)),
    st.tuples(st.just("see"), st.sampled_from(("r1", "r2")), st.integers(0, 15)),
    st.tuples(
        st.sampled_from(("step", "step", "kill", "cut", "describe", "absent", "tell")),
        st.sampled_from(("r1", "r2")),
        st.just(0),
    ),
    st.tuples(st.just("align"), st.sampled_from(("r1", "r2", "at the server of r1")), st.integers(0, 3)),
    st.tuples(st.sampled_from(("work", "work", "crash", "anew", "forget_log")), st.just(""), st.just(0)),
)

CORRECTIONS = st.one_of(
    *[st.tuples(st.just("correct"), st.sampled_from(("r1", "at the server of r1")), st.integers(0, 15))] * 4,
    st.tuples(st.sampled_from(("see", "step", "kill")), st.just("r1"), st.just(3)),
    st.tuples(st.sampled_from(("work", "anew")), st.just(""), st.just(0)),
)
KNOWN = [("see", "r1", 3), ("step", "r1", 0), ("work", "", 0)]


class Drive:
    """Two robots that do what they are told, on maps of their own, with small batches."""

    def __init__(self, fleet: Fleet, folder: Path, make_robot: Any, thing: Any, embedder: Any) -> None:
        self.fleet, self.thing, self.embedder = fleet, thing, embedder
        self.robots = {name: Robot(folder / f"{name}.db", name, fleet) for name in ("r1", "r2")}
        self.bodies = {name: make_robot(agent_id=name, map_id=f"map of {name}") for name in self.robots}
        self.frames: dict[str, list[Any]] = {name: [] for name in self.robots}
        self.stamp = 100.0

    def see(self, name: str, seen: int) -> None:
        self.stamp += 0.7 + 0.3 * seen
        body = self.bodies[name]
        body.where = (0.11 * seen, 0.03 * seen, 0.02 * seen)
        labels = [label for k, label in enumerate(KINDS) if seen >> k & 1]
        things = [self.thing(label, (3.03 + 0.01 * seen, 1.07 * KINDS.index(label) - 1, 0.8)) for label in labels]
        frame = body.frame(self.stamp, *things)
        vectors = {label: Embedding("axes", self.embedder.embed([label])[0]) for label in labels}
        frame = replace(
            frame, observations=tuple(replace(o, label_embedding=vectors[o.label]) for o in frame.observations)
        )
        self.frames[name].append(frame)
        self.robots[name].library.ingest(frame)

    def describe(self, name: str) -> None:
        """A description that comes late, for whatever frame."""
        for frame in self.frames[name][len(self.frames[name]) // 2 :][:1]:
            said = tuple(replace(o, description=f"a {o.label} at {frame.stamp_ns}") for o in frame.observations)
            self.robots[name].library.ingest(replace(frame, observations=said))

    def absent(self, name: str) -> None:
        """One of the things that anybody knows isn't there."""
        library = self.robots[name].library
        known = [e for e in library.entries() if e.agent_id == name]
        for entry in known[:1]:
            self.stamp += 0.7
            self.robots[name].library.ingest(self.bodies[name].absent(self.stamp, entry.entry_id))

    def tell(self, name: str) -> None:
        when = Interval(round(self.stamp * S), round(self.stamp * S) + S)
        self.robots[name].library.add_episode(Episode("", name, f"at {self.stamp}", when, EpisodeSource.CAPTION))

    def align(self, name: str, where: int) -> None:
        """Somebody says where a robot's map lies, or takes that back."""
        self.stamp += 0.7
        robot, stamp = name[-2:], round(self.stamp * S)
        library = self.robots[name].library if name in self.robots else self.fleet.library
        if where:
            library.align(Alignment(robot, f"map of {robot}", f"home of {robot}", Pose((where, 0.0, 0.0))), stamp)
        else:
            with suppress(UnknownEntry):
                library.take_back_alignment(robot, f"map of {robot}", stamp)

    def correct(self, name: str, what: int) -> None:
        """Somebody says something of a robot's thing, or takes back what was said last."""
        self.stamp += 0.7
        robot, stamp = name[-2:], round(self.stamp * S)
        library = self.robots[name].library if name in self.robots else self.fleet.library
        kind = (CorrectionKind.RENAME, CorrectionKind.FORGET, CorrectionKind.UNDO, CorrectionKind.RENAME)[what // 4]
        things = sorted(e.entry_id for e in library.entries() if e.agent_id == robot)
        undone = [r.correction_id for r in library.corrections() if r.correction.kind is not CorrectionKind.UNDO]
        if not (undone if kind is CorrectionKind.UNDO else things):
            return
        said = EntryCorrection(kind, things[what % len(things)] if things else "", f"name {what} at {stamp}")
        if kind is CorrectionKind.UNDO:
            said = EntryCorrection(kind, correction_id=undone[what % len(undone)])
        with suppress(InvalidArgument):
            library.correct(said, stamp)

    def step(self, name: str) -> None:
        self.robots[name].sync._not_before = 0.0
        self.robots[name].sync.step()

    def kill(self, name: str) -> None:
        self.robots[name].kill()

    def cut(self, name: str) -> None:
        self.robots[name].cut()

    def work(self, _: str) -> None:
        self.fleet.inbox.work()

    def anew(self, _: str) -> None:
        self.fleet.anew()

    def crash(self, _: str) -> None:
        """The map server dies in the middle of a batch: its transaction never was."""
        file = self.fleet.library.store.file
        with pytest.raises(StoreError), self.fleet.library.together():
            self.fleet.inbox.work()
            file._connection.close()  # type: ignore[attr-defined]
            file.execute("SELECT 1")
        self.fleet.anew()

    def forget_log(self, _: str) -> None:
        self.fleet.sql("DELETE FROM changed WHERE change_no < (SELECT max(change_no) FROM changed)")

    def finish(self) -> None:
        for robot in self.robots.values():
            robot.sync._not_before = 0.0
            robot.sync.step()  # a cut connection is noticed
            robot.sync._not_before = 0.0
        settle(self.fleet, *self.robots.values())


@contextmanager
def driven(
    server: Server, folder: Path, make_robot: Any, thing: Any, axes: Any, actions: Sequence[Action]
) -> Iterator[Drive]:
    """What robots and server know once all was done, in small batches, and nothing is left to be told."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(outbox, "FRAMES", 3)
        patched.setattr(synchronizer, "WINDOW", 2)
        for name, most in (("CHANGES", 3), ("ENTRIES", 2), ("EVENTS", 3), ("FRAMES", 5), ("EPISODES", 1)):
            patched.setattr(feed, name, most)
        drive = Drive(Fleet(server, "r1", "r2"), folder, make_robot, thing, axes())
        try:
            for action, name, seen in actions:
                getattr(drive, action)(name, *([seen] if action in ("see", "align", "correct") else []))
            drive.finish()
            yield drive
        finally:
            for robot in drive.robots.values():
                robot.close()
            drive.fleet.library.close()


@pytest.fixture
def drive_through(
    postgres_server: Server, make_robot: Any, thing: Any, axes: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Sequence[Action]], AbstractContextManager[Drive]]:
    return lambda actions: driven(postgres_server, tmp_path_factory.mktemp("drive"), make_robot, thing, axes, actions)


@settings(max_examples=8, deadline=None)
@given(actions=st.lists(ACTIONS, min_size=5, max_size=60))
def test_whatever_comes_in_between_memories_are_equal_in_the_end(
    drive_through: Callable[[Sequence[Action]], AbstractContextManager[Drive]], actions: list[Action]
) -> None:
    with drive_through(actions) as drive:
        r1, r2 = drive.robots.values()
        check_observations(drive.fleet, [r1, r2])
        check_alike(r1.library, drive.fleet.library, "r1", "r2")
        check_alike(r2.library, drive.fleet.library, "r1", "r2")
        for robot in (r1, r2):
            assert robot.sync.state.refused == 0, robot.sync.state.problem
            assert set(robot.library._anchors.alignments) == set(drive.fleet.library._anchors.alignments)


@settings(max_examples=8, deadline=None)
@given(actions=st.lists(CORRECTIONS, min_size=5, max_size=20))
def test_whoever_corrects_a_robots_things_here_or_there_in_the_end_they_are_called_alike(
    drive_through: Callable[[Sequence[Action]], AbstractContextManager[Drive]], actions: list[Action]
) -> None:
    with drive_through([*KNOWN, *actions]) as drive:
        r1, r2 = drive.robots.values()
        check_observations(drive.fleet, [r1, r2])
        called = [{e.entry_id: e.label for e in one.library.entries()} for one in (drive.fleet, r1, r2)]
        assert called[0] == called[1] == called[2]
