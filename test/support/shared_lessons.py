"""Two lessons that together advise, and a fleet's database for two robots."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.core.lessons import FailureMode, Focus, Key, Lesson, Polarity, Relax, Situation
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.stores import open_store

CUP = Situation("locate", ("semantic:kind", "spatial:on", "emptied_by:semantic"))
LESSON = Lesson(
    "0123456789abcdef",
    Polarity.SUCCESS,
    CUP,
    Key.SPATIAL,
    FailureMode.NONE,
    Focus((Relax.PLACE,), (Relax.KIND,)),
    support=9,
    uses=9,
    helped=9.0,
    hurt=0.0,
    created=1,
    agents=("robot1",),
)
FAILED = replace(
    LESSON,
    lesson_id="f" * 16,
    polarity=Polarity.FAILURE,
    evidence_need=Key.SEMANTIC,
    failure_mode=FailureMode.MISLED,
    correction=Focus((), (Relax.KIND,)),
)
BOTH = {LESSON.lesson_id: LESSON, FAILED.lesson_id: FAILED}


def fleet_database(server: Server) -> str:
    """URL of a new database with roles for robot1 and robot2."""
    made = server.database()
    store = open_store(made)
    for name in ("robot1", "robot2"):
        store.make_role(name, name)  # type: ignore[attr-defined]
    store.close()
    return made


def as_robot(url: str, name: str) -> str:
    """The database's URL for a robot's role."""
    return url.replace("//r4@", f"//{name}@")
