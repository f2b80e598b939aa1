"""What ``r4 up`` and the launch file give to the nodes."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from r4_ros.core.errors import InvalidArgument
from r4_ros.nodes.start import NODES, StartOptions, chosen_nodes, ros_arguments

ROOT = Path(__file__).resolve().parents[3]


def pairs(arguments: list[str], flag: str) -> dict[str, str]:
    """The name:=value pairs behind a flag; parameters as YAML, as ROS parses them."""
    values = [b for a, b in pairwise(arguments) if a == flag]
    split = dict(value.split(":=", 1) for value in values)
    return {k: yaml.safe_load(v) for k, v in split.items()} if flag == "-p" else split


def test_without_options_nothing_is_given() -> None:
    assert chosen_nodes(StartOptions()) == list(NODES)
    assert all(ros_arguments(name, StartOptions()) == [] for name in NODES)


def test_a_namespace_makes_tf_the_robots_own() -> None:
    for name in NODES:
        remaps = pairs(ros_arguments(name, StartOptions(namespace="/alice/")), "-r")
        assert remaps == {"__ns": "/alice", "/tf": "/alice/tf", "/tf_static": "/alice/tf_static"}


def test_a_memory_elsewhere_is_found_by_everybody_else() -> None:
    options = StartOptions(namespace="alice", memory_namespace="fleet")
    for name in ("perception", "reasoner"):
        assert pairs(ros_arguments(name, options), "-r")["memory/acks"] == "/fleet/memory/acks"
    assert "memory/acks" not in pairs(ros_arguments("memory", options), "-r")
    root = StartOptions(namespace="alice", memory_namespace="/")
    assert pairs(ros_arguments("reasoner", root), "-r")["memory/retrieve"] == "/memory/retrieve"


def test_camera_topics_are_perceptions() -> None:
    options = StartOptions(remaps={"color/image_raw": "/camera/color/image_raw"})
    assert pairs(ros_arguments("perception", options), "-r") == {"color/image_raw": "/camera/color/image_raw"}
    assert ros_arguments("memory", options) == []


def test_several_cameras_are_nodes_of_their_own() -> None:
    front = StartOptions(camera="front")
    assert pairs(ros_arguments("perception", front), "-r") == {"__node": "perception_node_front"}
    assert pairs(ros_arguments("perception", front), "-p") == {"camera": "front"}
    assert ros_arguments("memory", front) == []


def test_a_cloud_topic_makes_it_the_source_of_depth() -> None:
    options = StartOptions(remaps={"cloud": "/lidar/points"})
    assert pairs(ros_arguments("perception", options), "-r") == {"cloud": "/lidar/points"}
    assert pairs(ros_arguments("perception", options), "-p") == {"depth_source": "cloud"}


def test_strings_stay_strings_and_files_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = StartOptions(agent="007", agents=("a", "it's"), db=Path("k.db"), sim_time=True)
    assert pairs(ros_arguments("memory", options), "-p") == {
        "agent_id": "007",
        "use_sim_time": True,
        "db": str(tmp_path / "k.db"),
        "agents": ["a", "it's"],
    }
    assert pairs(ros_arguments("experience", options), "-p")["db"] == str(tmp_path / "k_experience.db")


def test_a_detector_is_perceptions_segmenter(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    options = StartOptions(detector=model, compressed=True)
    with pytest.raises(InvalidArgument, match=r"model\.onnx doesn't exist"):
        chosen_nodes(options)
    model.touch()
    assert chosen_nodes(options)
    given = pairs(ros_arguments("perception", options), "-p")
    assert given == {"segmenter": "detector", "detector_model": str(model), "compressed": True}
    assert pairs(ros_arguments("perception", StartOptions(segmenter="label_image")), "-p") == {
        "segmenter": "label_image"
    }


def test_an_unknown_node_is_said() -> None:
    with pytest.raises(InvalidArgument, match="there is no node 'brain': use perception, memory"):
        chosen_nodes(StartOptions(only=("brain",)))


def test_the_launch_file_uses_every_option() -> None:
    """launch isn't among the wheels; its use of ours is read from the source."""
    tree = ast.parse((ROOT / "launch" / "r4.launch.py").read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "StartOptions"]
    given = {keyword.arg for call in calls for keyword in call.keywords}
    assert given == set(StartOptions.__dataclass_fields__)
