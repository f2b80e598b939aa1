"""``r4 up``: the nodes as separate processes, without ``ros2 launch``."""

from __future__ import annotations

import importlib.util
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from r4_ros.core.errors import Unavailable
from r4_ros.nodes.start import StartOptions, chosen_nodes, ros_arguments


def node_commands(options: StartOptions) -> dict[str, list[str]]:
    """The command line of each node, by its name. Raises InvalidArgument for an unknown node or an absent file."""
    return {
        name: [sys.executable, "-m", f"r4_ros.nodes.{name}_node", "--ros-args", *ros_arguments(name, options)]
        for name in chosen_nodes(options)
    }


def run(options: StartOptions) -> None:
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
        db: Annotated[
            str | None,
            typer.Option(metavar="FILE|URL", help="memory's database: a file, or postgresql://USER@HOST/NAME"),
        ] = None,
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
        camera: Annotated[
            str, typer.Option(help="name of this camera, where a robot has several: start perception once for each")
        ] = "",
        detector: Annotated[Path | None, typer.Option(help="ONNX detector")] = None,
        label_image: Annotated[bool, typer.Option("--label-image", help="segments come from a label image")] = False,
        compressed: Annotated[bool, typer.Option("--compressed", help="subscribe to compressed colour images")] = False,
        regions: Annotated[Path | None, typer.Option(help="YAML with named polygons of the map")] = None,
        color_topic: Annotated[str, typer.Option(help="color/image_raw comes from here")] = "",
        depth_topic: Annotated[str, typer.Option(help="depth/image_raw comes from here")] = "",
        color_info_topic: Annotated[str, typer.Option(help="color/camera_info comes from here")] = "",
        depth_info_topic: Annotated[str, typer.Option(help="depth/camera_info comes from here")] = "",
        cloud_topic: Annotated[
            str, typer.Option(help="cloud comes from here, and depth from it instead of a depth image")
        ] = "",
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
            "cloud": cloud_topic,
            "label/image_raw": label_topic,
            "odom": odom_topic,
            "pose": pose_topic,
        }
        run(
            StartOptions(
                only=tuple(only or ()),
                namespace=namespace,
                agent=agent,
                agents=tuple(agents or ()),
                memory_namespace=memory_namespace,
                db=db,
                params=params,
                sim_time=sim_time,
                camera=camera,
                detector=detector,
                segmenter="label_image" if label_image else "",
                compressed=compressed,
                regions=regions,
                remaps={topic: source for topic, source in given.items() if source},
            )
        )
