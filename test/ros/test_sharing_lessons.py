"""Two experience nodes with files of their own share lessons by a map server's database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")
pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from shared_lessons import BOTH, CUP, as_robot, fleet_database

from r4_ros.core.lessons import Focus, Relax
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.experience_stores import open_tasks
from r4_ros.memory.sql_lessons import SqlLessonStore
from r4_ros.nodes.experience_node import ExperienceNode

pytestmark = pytest.mark.ros


def test_what_one_robot_learnt_another_is_advised_by(
    graph: Any, tmp_path: Path, postgres_server: Server, until: Any
) -> None:
    url = fleet_database(postgres_server)
    tasks = open_tasks(tmp_path / "robot1.db", "")
    SqlLessonStore(tasks).update((), BOTH, (), ())
    tasks.close()
    nodes = []
    for name in ("robot1", "robot2"):
        given = {"db": str(tmp_path / f"{name}.db"), "agent_id": name, "sync": as_robot(url, name)}
        nodes.append(graph.active(graph.make(ExperienceNode, namespace=f"/{name}", **given)))
        until(lambda: not nodes[-1]._sharing.pending)
    until(lambda: nodes[1].report().values["lessons_of_others"] == 2)
    assert nodes[1]._learner.advise(CUP).focus == Focus((Relax.PLACE,), (Relax.KIND,))
    assert [node.report().values["lessons"] for node in nodes] == [2, 0]


def test_a_server_that_is_away_is_told_and_advice_goes_on(graph: Any, tmp_path: Path, until: Any) -> None:
    tasks = open_tasks(tmp_path / "robot1.db", "")
    SqlLessonStore(tasks).update((), BOTH, (), ())
    tasks.close()
    url = f"postgresql://robot1@/r4?host={tmp_path}"
    node = graph.active(graph.make(ExperienceNode, db=str(tmp_path / "robot1.db"), agent_id="robot1", sync=url))
    until(lambda: any("lessons aren't in step" in problem for problem in node.report().problems))
    assert node._learner.advise(CUP).focus == Focus((Relax.PLACE,), (Relax.KIND,))
