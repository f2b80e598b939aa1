"""rtabmap's graph joined with the stamps that its info tells. Messages are stand-ins with the real ones' attributes."""

from __future__ import annotations

from types import SimpleNamespace as Message
from typing import Any

import pytest

pytest.importorskip("geometry_msgs", reason="needs ROS 2's messages")

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Pose
from r4_ros.nodes import rtabmap
from r4_ros.nodes.rtabmap import ASK_EVERY_S, PoseGraph, StampAsker, message_types


def header(stamp_s: int, frame: str = "map") -> Message:
    return Message(stamp=Message(sec=stamp_s, nanosec=5), frame_id=frame)


def info(node: int, stamp_s: int) -> Message:
    return Message(header=header(stamp_s), ref_id=node, loop_closure_id=0)


def graph(*nodes: tuple[int, float], frame: str = "map") -> Message:
    """Ids of nodes, each at an x."""
    turn = Message(x=0.0, y=0.0, z=0.0, w=1.0)
    poses = [Message(position=Message(x=x, y=0.0, z=0.0), orientation=turn) for _, x in nodes]
    return Message(header=header(9, frame), poses_id=[node for node, _ in nodes], poses=poses, links=[])


@pytest.fixture
def known() -> PoseGraph:
    made = PoseGraph()
    for node in (1, 2, 3, 5):
        made.hear(info(node, 100 + node))
    return made


def xs(nodes: Any) -> list[tuple[int, float]]:
    return [(stamp // 10**9 - 100, pose.position[0]) for stamp, pose in zip(*nodes, strict=True)]


def test_nodes_get_their_stamps_and_those_without_are_left_out(known: PoseGraph) -> None:
    stamps, poses = known.take(graph((2, 2.0), (1, 1.0), (4, 4.0), (5, 5.0)))
    assert stamps == [102 * 10**9 + 5, 101 * 10**9 + 5, 105 * 10**9 + 5]
    assert poses[0] == Pose((2.0, 0.0, 0.0))


def test_only_a_graph_that_moves_something_is_a_correction(known: PoseGraph) -> None:
    assert xs(known.take(graph((1, 1.0), (2, 2.0)))) == [(1, 1.0), (2, 2.0)], "what was before it started"
    assert known.take(graph((1, 1.0), (2, 2.0), (3, 3.0))) is None, "one more, none elsewhere"
    assert known.take(graph((1, 1.00001), (3, 3.0))) is None, "thinned"
    assert xs(known.take(graph((1, 1.0), (2, 2.1), (3, 3.2), (5, 5.3)))) == [(1, 1.0), (2, 2.1), (3, 3.2), (5, 5.3)]
    assert known.take(graph((1, 1.0), (2, 2.1), (3, 3.2), (5, 5.3))) is None


def test_what_cannot_be_joined_is_refused_and_says_why(known: PoseGraph) -> None:
    with pytest.raises(InvalidArgument, match="no stamp is known of the graph's 1 nodes"):
        known.take(graph((4, 4.0)))
    with pytest.raises(InvalidArgument, match="in frame 'odom'"):
        known.take(graph((1, 1.0), frame="odom"), map_frame="map")
    known.hear(Message(header=header(0), ref_id=0))
    assert xs(known.take(graph((1, 1.0), (0, 7.0)))) == [(1, 1.0)], "an info about no node says nothing"


def test_old_stamps_are_forgotten_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtabmap, "MOST_NODES", 2)
    few = PoseGraph()
    for node in (1, 2, 3):
        few.hear(info(node, 100 + node))
    assert xs(few.take(graph((1, 1.0), (2, 2.0), (3, 3.0)))) == [(2, 2.0), (3, 3.0)]


def test_without_its_messages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rtabmap_msgs.msg", None)
    with pytest.raises(InvalidArgument, match="rtabmap-msgs"):
        message_types()


class Client:
    """A service client; ``calls``: the callbacks that wait for a reply."""

    def __init__(self, ready: bool = True) -> None:
        self.ready, self.calls = ready, list[Any]()

    def service_is_ready(self) -> bool:
        return self.ready

    def call_async(self, request: Any) -> Any:
        assert request == "graph only"
        return Message(add_done_callback=self.calls.append)

    def reply(self, *nodes: tuple[int, float], error: Exception | None = None) -> None:
        data = Message(nodes=[Message(id=node, stamp=stamp) for node, stamp in nodes])
        self.calls.pop()(Message(exception=lambda: error, result=lambda: Message(data=data)))


def test_a_memory_that_was_restarted_asks_when_the_nodes_were_made() -> None:
    """What the SLAM corrected while it was down is taken over as soon as rtabmap says when its nodes were made."""
    slam, client, now = PoseGraph(), Client(ready=False), [0.0]
    asker = StampAsker(slam, client, "graph only", lambda: now[0])
    slam.hear(info(3, 103))
    first = graph((1, 1.0), (2, 2.0), (3, 3.0))
    asker.ask(first)
    assert not client.calls, "rtabmap's service isn't there yet"
    client.ready = True
    asker.ask(first)
    assert xs(slam.take(first)) == [(3, 3.0)] and len(client.calls) == 1
    client.reply((1, 101.5), (2, 102.25), (3, 999.0), (9, 0.0))
    stamps, _ = slam.take(first)
    assert stamps == [101_500_000_000, 102_250_000_000, 103 * 10**9 + 5], "what info told is exact"
    assert slam.take(first) is None
    now[0] = 100.0
    asker.ask(first)
    assert not client.calls, "nothing is unknown"


def test_it_asks_again_where_no_reply_came_but_seldom() -> None:
    slam, client, now = PoseGraph(), Client(), [0.0]
    asker = StampAsker(slam, client, "graph only", lambda: now[0])
    message = graph((1, 1.0), (2, 2.0))
    asker.ask(message)
    client.reply(error=RuntimeError("gone"))
    asker.ask(message)
    assert not client.calls
    now[0] = ASK_EVERY_S
    asker.ask(message)
    client.reply((1, 101.0))
    now[0] = 2 * ASK_EVERY_S
    asker.ask(message)
    assert not client.calls, "it was asked for node 2 and doesn't know it"
    asker.ask(graph((1, 1.0), (2, 2.0), (3, 3.0)))
    assert len(client.calls) == 1
