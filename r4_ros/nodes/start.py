"""How the nodes are started: the ROS arguments that ``r4 up`` and ``launch/r4.launch.py`` give to each.

Needs no ROS and only the standard library besides the core: ``ros2 launch`` runs it with the system's Python.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from r4_ros.core.errors import InvalidArgument
from r4_ros.memory.database_name import beside, is_url

NODES = ("perception", "memory", "reasoner", "experience")
MEMORY_TOPICS = ("memory/acks", "memory/entries", "memory/entries_delta", "memory/retrieve")


@dataclass(frozen=True)
class StartOptions:
    """Which nodes, and how; empty values leave a node's own default. ``remaps``: perception's topics.

    ``camera``: of a robot with several; the node's name ends with it, so that they are told apart.
    """

    only: Sequence[str] = ()
    namespace: str = ""
    agent: str = ""
    agents: Sequence[str] = ()
    memory_namespace: str = ""
    db: Path | str | None = None
    params: Path | None = None
    sim_time: bool = False
    camera: str = ""
    detector: Path | None = None
    segmenter: str = ""
    compressed: bool = False
    regions: Path | None = None
    remaps: Mapping[str, str] = field(default_factory=dict)


def chosen_nodes(options: StartOptions) -> list[str]:
    """The nodes to start, by name. Raises InvalidArgument for an unknown node or an absent file."""
    unknown = [name for name in options.only if name not in NODES]
    if unknown:
        raise InvalidArgument(f"there is no node '{unknown[0]}': use {', '.join(NODES)}")
    for file in (options.params, options.detector, options.regions):
        if file is not None and not file.is_file():
            raise InvalidArgument(f"{file} doesn't exist")
    return [name for name in NODES if name in options.only or not options.only]


def ros_arguments(name: str, options: StartOptions) -> list[str]:
    """What stands behind ``--ros-args`` for one node."""
    namespace = options.namespace.strip("/")
    args = ["--enclave", enclave(name, namespace)] if os.environ.get("ROS_SECURITY_ENABLE") == "true" else []
    if name == "perception" and options.camera:
        args += ["-r", f"__node:=perception_node_{options.camera}"]
    if namespace:
        args += ["-r", f"__ns:=/{namespace}"]
    for source, target in remappings(name, options).items():
        args += ["-r", f"{source}:={target}"]
    if options.params is not None:
        args += ["--params-file", str(options.params.resolve())]
    for key, value in _parameters(name, options).items():
        args += ["-p", f"{key}:={value}"]
    return args


def enclave(name: str, namespace: str) -> str:
    """The node's place in an SROS2 keystore; of several cameras' perception nodes it is one."""
    return within(namespace, f"{name}_node")


def within(namespace: str, topic: str) -> str:
    """The full name of a relative topic in a namespace ("" and "/": none)."""
    return "/" + f"{namespace.strip('/')}/{topic}".strip("/")


def remappings(name: str, options: StartOptions) -> dict[str, str]:
    """Which of a node's topics go by another name than their own within the namespace."""
    remaps = dict(options.remaps) if name == "perception" else {}
    if options.namespace:
        remaps.update({topic: within(options.namespace, topic[1:]) for topic in ("/tf", "/tf_static")})
    if options.memory_namespace and name != "memory":
        remaps.update({topic: within(options.memory_namespace, topic) for topic in MEMORY_TOPICS})
    return remaps


def _parameters(name: str, options: StartOptions) -> dict[str, str]:
    values: dict[str, str] = {}
    if options.agent:
        values["agent_id"] = _text(options.agent)
    if options.sim_time:
        values["use_sim_time"] = "true"
    if name == "memory":
        if options.db is not None:
            values["db"] = _text(str(options.db) if is_url(options.db) else str(Path(options.db).resolve()))
        if options.agents:
            values["agents"] = "[" + ", ".join(_text(agent) for agent in options.agents) + "]"
        if options.regions is not None:
            values["regions_file"] = _text(str(options.regions.resolve()))
    if name == "experience" and options.db is not None:
        values["db"] = _text(options.db if is_url(options.db) else str(beside(options.db, "_experience.db").resolve()))
    if name == "perception":
        values.update(_perception_parameters(options))
    return values


def _perception_parameters(options: StartOptions) -> dict[str, str]:
    values: dict[str, str] = {}
    if options.camera:
        values["camera"] = _text(options.camera)
    if options.detector is not None:
        values.update(segmenter=_text("detector"), detector_model=_text(str(options.detector.resolve())))
    if options.segmenter:
        values["segmenter"] = _text(options.segmenter)
    if options.compressed:
        values["compressed"] = "true"
    if "cloud" in options.remaps:
        values["depth_source"] = _text("cloud")
    return values


def _text(value: str) -> str:
    """A string as YAML, which ROS parses parameters as: so '7' stays a string."""
    return "'" + value.replace("'", "''") + "'"
