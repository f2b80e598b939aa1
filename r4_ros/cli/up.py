"""``r4 up``: the nodes as separate processes, without ``ros2 launch``."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from r4_ros.core.errors import InvalidArgument, Unavailable

NODES = ("perception", "memory", "reasoner", "experience")
MEMORY_TOPICS = ("memory/acks", "memory/entries", "memory/entries_delta", "memory/retrieve")


@dataclass(frozen=True)
class UpOptions:
    """What ``r4 up`` was asked for; empty values leave a node's own default."""

    only: Sequence[str] = ()
    namespace: str = ""
    agent: str = ""
    agents: Sequence[str] = ()
    memory_namespace: str = ""
    db: Path | None = None
    params: Path | None = None
    sim_time: bool = False
    detector: Path | None = None
    label_image: bool = False
    compressed: bool = False
    regions: Path | None = None
    remaps: dict[str, str] = field(default_factory=dict)


def node_commands(options: UpOptions) -> dict[str, list[str]]:
    """The command line of each node, by its name. Raises InvalidArgument for an unknown node or an absent file."""
    unknown = [name for name in options.only if name not in NODES]
    if unknown:
        raise InvalidArgument(f"there is no node '{unknown[0]}': use {', '.join(NODES)}")
    for file in (options.params, options.detector, options.regions):
        if file is not None and not file.is_file():
            raise InvalidArgument(f"{file} doesn't exist")
    return {
        name: [sys.executable, "-m", f"r4_ros.nodes.{name}_node", "--ros-args", *_ros_args(name, options)]
        for name in NODES
        if name in options.only or not options.only
    }


def _ros_args(name: str, options: UpOptions) -> list[str]:
    args: list[str] = []
    remaps = dict(options.remaps) if name == "perception" else {}
    if options.namespace:
        namespace = options.namespace.strip("/")
        args += ["-r", f"__ns:=/{namespace}"]
        remaps.update({"/tf": f"/{namespace}/tf", "/tf_static": f"/{namespace}/tf_static"})
    if options.memory_namespace and name != "memory":
        base = options.memory_namespace.strip("/")
        remaps.update({topic: "/" + f"{base}/{topic}".strip("/") for topic in MEMORY_TOPICS})
    for source, target in remaps.items():
        args += ["-r", f"{source}:={target}"]
    if options.params is not None:
        args += ["--params-file", str(options.params.resolve())]
    for key, value in _parameters(name, options).items():
        args += ["-p", f"{key}:={value}"]
    return args


def _parameters(name: str, options: UpOptions) -> dict[str, str]:
    values: dict[str, str] = {}
    if options.agent:
        values["agent_id"] = _text(options.agent)
    if options.sim_time:
        values["use_sim_time"] = "true"
    if name == "memory":
        if options.db is not None:
            values["db"] = _text(str(options.db.resolve()))
        if options.agents:
            values["agents"] = "[" + ", ".join(_text(agent) for agent in options.agents) + "]"
        if options.regions is not None:
            values["regions_file"] = _text(str(options.regions.resolve()))
    if name == "experience" and options.db is not None:
        values["db"] = _text(str(options.db.resolve().with_name(f"{options.db.stem}_experience.db")))
    if name == "perception":
        values.update(_perception_parameters(options))
    return values


def _perception_parameters(options: UpOptions) -> dict[str, str]:
    values: dict[str, str] = {}
    if options.detector is not None:
        values.update(segmenter=_text("detector"), detector_model=_text(str(options.detector.resolve())))
    if options.label_image:
        values["segmenter"] = _text("label_image")
    if options.compressed:
        values["compressed"] = "true"
    return values


def _text(value: str) -> str:
    """A string as YAML, which ROS parses parameters as: so '7' stays a string."""
    return "'" + value.replace("'", "''") + "'"


def run(options: UpOptions) -> None:
    """Run the nodes until SIGINT or SIGTERM. Raises Unavailable without ROS."""
    if importlib.util.find_spec("rclpy") is None:
        raise Unavailable("ROS 2 isn't installed for this Python: run `make setup`, or source your ROS")
    from r4_ros.cli.supervisor import Supervisor
    from r4_ros.nodes.transport import prepare

    prepare()
    supervisor = Supervisor(node_commands(options))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: supervisor.stop())
    supervisor.run()


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("up")
    def up(
        only: Annotated[list[str] | None, typer.Option(help="node to start (repeatable); all without it")] = None,
        db: Annotated[Path | None, typer.Option(help="memory's database")] = None,
        agent: Annotated[str, typer.Option(help="whose memory this is; otherwise the namespace, or the host")] = "",
        namespace: Annotated[str, typer.Option(help="namespace of the nodes, one for each robot")] = "",
        agents: Annotated[
            list[str] | None, typer.Option(help="namespace of a robot that this memory serves (repeatable)")
        ] = None,
        memory_namespace: Annotated[
            str, typer.Option(help="where the memory is, if not in --namespace; / for none")
        ] = "",
        params: Annotated[Path | None, typer.Option(help="ROS parameter file")] = None,
        sim_time: Annotated[bool, typer.Option("--sim-time", help="take the time from /clock")] = False,
        detector: Annotated[Path | None, typer.Option(help="ONNX detector")] = None,
        label_image: Annotated[bool, typer.Option("--label-image", help="segments come from a label image")] = False,
        compressed: Annotated[bool, typer.Option("--compressed", help="subscribe to compressed colour images")] = False,
        regions: Annotated[Path | None, typer.Option(help="YAML with named polygons of the map")] = None,
        color_topic: Annotated[str, typer.Option(help="color/image_raw comes from here")] = "",
        depth_topic: Annotated[str, typer.Option(help="depth/image_raw comes from here")] = "",
        color_info_topic: Annotated[str, typer.Option(help="color/camera_info comes from here")] = "",
        depth_info_topic: Annotated[str, typer.Option(help="depth/camera_info comes from here")] = "",
        label_topic: Annotated[str, typer.Option(help="label/image_raw comes from here")] = "",
        odom_topic: Annotated[str, typer.Option(help="odom comes from here")] = "",
        pose_topic: Annotated[str, typer.Option(help="pose comes from here")] = "",
    ) -> None:
        """Start the nodes; restart what dies; stop with Ctrl-C."""
        color = "color/image_raw/compressed" if compressed else "color/image_raw"
        given = {
            color: color_topic,
            "depth/image_raw": depth_topic,
            "color/camera_info": color_info_topic,
            "depth/camera_info": depth_info_topic,
            "label/image_raw": label_topic,
            "odom": odom_topic,
            "pose": pose_topic,
        }
        run(
            UpOptions(
                only=tuple(only or ()),
                namespace=namespace,
                agent=agent,
                agents=tuple(agents or ()),
                memory_namespace=memory_namespace,
                db=db,
                params=params,
                sim_time=sim_time,
                detector=detector,
                label_image=label_image,
                compressed=compressed,
                regions=regions,
                remaps={topic: source for topic, source in given.items() if source},
            )
        )
