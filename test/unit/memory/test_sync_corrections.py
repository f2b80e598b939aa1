"""What people correct at a map server of a robot's own things comes down to it, and the newer word holds on both."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from fleet import Fleet, Robot, check_alike, settle

from r4_ros.core.alignments import Alignment
from r4_ros.core.errors import UnknownEntry
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import NS_PER_S as S
from r4_ros.core.model import CorrectionKind, EntryCorrection, Pose
from r4_ros.memory import envelope
from r4_ros.memory.envelope import Head, Told
from r4_ros.memory.library import Library
from r4_ros.memory.map_link import MapLink

MakeRobot = Callable[..., Robot]
K = CorrectionKind


class Two:
    """A robot that saw a cup, a jug and two pots, its map server, and another robot that hears of it."""

    def __init__(self, fleet: Fleet, synced: MakeRobot, body: Any, thing: Any) -> None:
        self.fleet, self.body, self.thing = fleet, body, thing
        self.robot, self.other = synced("r1"), synced("r2")
        self.stamp = 0
        for _ in range(3):
            self.see()
        self.settle()
        self.ids = {e.label: e.entry_id for e in self.robot.library.entries()}

    def see(self) -> None:
        """All four, once more."""
        self.stamp += 1
        seen = [self.thing(label, (2.0, 0.9 * n, 1.0)) for n, label in enumerate(("cup", "jug", "pot", "pan"))]
        self.robot.library.ingest(self.body.frame(self.stamp, *seen))

    def settle(self) -> None:
        settle(self.fleet, self.robot, self.other)

    def say(
        self, where: str, kind: CorrectionKind, stamp: int, label: str = "", position: Any = None, of: str = "cup"
    ) -> int:
        library = self.fleet.library if where == "server" else self.robot.library
        said = EntryCorrection(kind, self.ids[of], label, position=position, source="Ann")
        return library.correct(said, stamp * S).correction_id

    def undo(self, where: str, number: int, stamp: int) -> None:
        library = self.fleet.library if where == "server" else self.robot.library
        library.correct(EntryCorrection(K.UNDO, correction_id=number, source="Bob"), stamp * S)

    def check(self) -> list[str]:
        """All three memories say the same, also of what is seen afterwards; gives the labels."""
        self.settle()
        self.see()
        self.settle()
        for library in (self.robot.library, self.other.library):
            check_alike(library, self.fleet.library, "r1")
        return sorted(e.label for e in self.robot.library.entries())


@pytest.fixture
def two(fleet: Fleet, synced: MakeRobot, make_robot: Any, thing: Any) -> Two:
    return Two(fleet, synced, make_robot("r1"), thing)


def sources(library: Library) -> list[tuple[str, str]]:
    return [(r.correction.kind.name, r.correction.source) for r in library.corrections()]


SAID: dict[str, tuple[CorrectionKind, dict[str, Any], list[str]]] = {
    "rename": (K.RENAME, {"label": "beaker"}, ["beaker", "jug", "pan", "pot"]),
    "pin": (K.PIN, {"position": (2.5, 0.1, 1.0)}, ["cup", "cup", "jug", "pan", "pot"]),
    "merge": (K.MERGE, {"other_id": "jug"}, ["cup", "jug", "pan", "pot"]),  # a jug far from the one is seen again
    "split": (K.SPLIT, {"at_ns": 2 * S}, ["cup", "cup", "jug", "pan", "pot"]),
    "forget": (K.FORGET, {}, ["jug", "pan", "pot"]),
}


@pytest.mark.parametrize("name", SAID)
def test_it_comes_down_whole_is_on_record_and_is_taken_back(two: Two, name: str) -> None:
    kind, more, labels = SAID[name]
    if "other_id" in more:
        more = {"other_id": two.ids[more["other_id"]]}
    said = EntryCorrection(kind, two.ids["cup"], source="Ann", **more)
    number = two.fleet.library.correct(said, 10 * S).correction_id
    assert two.check() == labels
    assert sources(two.robot.library) == [(kind.name, "map server: Ann")]
    two.robot.kill()
    two.fleet.anew()
    assert two.check() == labels and len(two.robot.library.corrections()) == 1, "once"
    assert len(two.fleet.library.corrections()) == 1, "it isn't told back"
    two.undo("server", number, 20)
    two.settle()
    assert [k for k, _ in sources(two.robot.library)] == [kind.name, "UNDO"]
    assert two.robot.library.corrections()[1].stamp_ns == 20 * S
    shown = {e.entry_id for e in two.robot.library.entries()}
    assert shown == {e.entry_id for e in two.fleet.library.entries()} and two.ids["cup"] in shown


@pytest.mark.parametrize("kind", [K.RENAME, K.FORGET, K.PIN])
def test_who_takes_it_back_on_the_robot_takes_it_back_at_the_server(two: Two, kind: CorrectionKind) -> None:
    two.say("server", kind, 10, "beaker" if kind is K.RENAME else "")
    two.settle()
    two.undo("robot", 1, 20)
    assert two.check() == ["cup", "jug", "pan", "pot"]
    assert two.fleet.library.corrections()[0].undone_by == 2 and sources(two.fleet.library)[1] == ("UNDO", "Bob")
    assert two.robot.sync.state.refused == 0


@pytest.mark.parametrize(("first", "second"), [("server", "robot"), ("robot", "server")])
@pytest.mark.parametrize("kind", [K.RENAME, K.PIN])
def test_of_two_words_the_newer_one_holds_and_then_the_older_one(
    two: Two, first: str, second: str, kind: CorrectionKind
) -> None:
    """Said while the two weren't in touch."""

    def say(where: str, stamp: int, name: str, x: float) -> int:
        return two.say(where, kind, stamp, name, None if kind is K.RENAME else (x, 0.0, 1.0))

    def holds() -> Any:
        two.settle()
        found = []
        for library in (two.robot.library, two.fleet.library, two.other.library):
            (cup,) = (p for p in library.placed() if p.entry_id == two.ids["cup"])
            found.append(cup.label if kind is K.RENAME else round(cup.box.pose.position[0], 3))
        assert len(set(found)) == 1, found
        return found[0]

    say(first, 10, "older", 2.1)
    number = say(second, 11, "newer", 2.2)
    assert holds() == ("newer" if kind is K.RENAME else 2.2)
    if second == "server":
        number = two.fleet.library.corrections()[-1].correction_id
    two.undo(second, number, 12)
    assert holds() == ("older" if kind is K.RENAME else 2.1)
    assert two.robot.sync.state.refused == 0, two.robot.sync.state.problem


def test_what_the_server_takes_back_of_a_robots_own_word_is_taken_back_there(two: Two) -> None:
    two.say("robot", K.FORGET, 10)
    two.settle()
    two.undo("server", 1, 12)
    assert two.check() == ["cup", "jug", "pan", "pot"]
    assert sources(two.robot.library) == [("FORGET", "Ann"), ("UNDO", "map server")]
    assert len(two.fleet.library.corrections()) == 2


def test_a_pin_is_in_the_robots_own_map_however_it_is_aligned(two: Two) -> None:
    map_id = two.robot.library.entries()[0].map_id
    turned = Alignment("r1", map_id, "common", Pose((5.0, 1.0, 0.0), quat_from_yaw(1.0)))
    two.fleet.library.align(turned, 9 * S)
    two.say("server", K.PIN, 10, position=(5.5, 2.5, 1.0))
    two.check()
    two.fleet.library.align(Alignment("r1", map_id, "common", Pose((0.0, 3.0, 0.0))), 11 * S)
    two.check()


def test_what_was_forgotten_and_erased_at_the_server_stays_forgotten_on_the_robot(two: Two) -> None:
    two.say("server", K.FORGET, 10)
    two.settle()
    two.fleet.library.store.erase(11 * S)
    two.fleet.anew()
    two.settle()
    two.robot.kill()
    for library in (two.fleet.library, two.robot.library):
        assert sorted(e.label for e in library.entries()) == ["jug", "pan", "pot"]


def test_what_the_robot_doesnt_know_is_let_be_and_hidden(two: Two, synced: MakeRobot, make_robot: Any) -> None:
    """A new file of a known robot: the server's older things aren't in it."""
    two.robot.close()
    for suffix in ("", "-wal", "-shm"):
        two.robot.path.with_name(two.robot.path.name + suffix).unlink(missing_ok=True)
    two.robot.begin()
    two.robot.library.ingest(make_robot("r1").frame(1000, two.thing("cup", (2, 0, 1))))
    two.say("server", K.RENAME, 2000, "beaker", of="jug")
    two.settle()
    assert not two.robot.library.corrections() and not two.robot.sync.state.error
    with pytest.raises(UnknownEntry):
        two.robot.library.correct(EntryCorrection(K.RENAME, two.ids["jug"], "x"), 2001 * S)


def test_what_is_pinned_where_it_is_is_pinned_there_on_the_robot(two: Two) -> None:
    two.say("server", K.PIN, 10)
    two.settle()
    places = [{p.entry_id: p.box.pose.position for p in one.library.placed()} for one in (two.robot, two.fleet)]
    assert places[0][two.ids["cup"]] == pytest.approx(places[1][two.ids["cup"]], abs=1e-6)
    assert sources(two.robot.library) == [("PIN", "map server: Ann")]


def test_an_older_name_isnt_put_beneath_what_was_built_on_the_newer_one(two: Two) -> None:
    """The robot learns that it isn't taken, and hears the newer one."""
    two.say("server", K.RENAME, 11, "newer")
    two.say("server", K.PIN, 12)
    two.say("robot", K.RENAME, 10, "older")
    two.settle()
    assert two.robot.sync.state.refused == 1 and "was corrected later here" in two.robot.sync.state.problem
    for library in (two.robot.library, two.fleet.library, two.other.library):
        assert "newer" in [e.label for e in library.entries()]


def test_a_forged_taking_back_takes_back_nothing_of_others(two: Two, make_robot: Any) -> None:
    two.other.library.ingest(make_robot("r2").frame(1, two.thing("cup", (2, 0, 1))))
    two.settle()
    (cup,) = (e.entry_id for e in two.fleet.library.entries() if e.agent_id == "r2")
    two.fleet.library.correct(EntryCorrection(K.RENAME, cup, "beaker", source="Ann"), 5 * S)
    undone = {"type": "correction", "stamp": 5 * S, "kind": "RENAME", "entry_id": cup, "label": "beaker"}
    undo = {"type": "correction", "stamp": 6 * S, "kind": "UNDO", "entry_id": cup, "number": 1, "undoes": undone}
    wrong = [{**undo, "undoes": what} for what in ({**undone, "label": "x"}, [], 7, {"kind": "RENAME"})]
    link = MapLink(two.fleet.as_robot("r1"))
    lines = tuple(json.dumps(record) for record in (undo, *wrong))
    link.put("forged", 1, envelope.pack(Head(Told(), Told(correction=1)), lines))
    link.close()
    done = two.fleet.inbox.work()
    assert done is not None and done.refused == 5 and "corrects nothing of 'r2'" in done.problem
    assert not two.fleet.library.corrections()[0].undone_by


def test_another_robots_words_are_its_own(two: Two) -> None:
    """r2 hears what was corrected of r1's things as states, and makes no correction of it."""
    two.say("server", K.FORGET, 10)
    two.settle()
    assert not two.other.library.corrections() and len(two.robot.library.corrections()) == 1
