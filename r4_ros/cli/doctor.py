"""``r4 doctor``: what perception would do here, and why nothing is stored."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli import inputs

if TYPE_CHECKING:
    from r4_ros.bridges.examination import Examination, Finding
    from r4_ros.bridges.sources import FolderOptions
    from r4_ros.core.config import PerceptionConfig
    from r4_ros.core.ports import Segmenter

SIGNS = ("✓", "!", "✗")
STYLES = ("green", "yellow", "red")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="doctor", help="Say what perception would do with a robot's topics or a recording, and why not.")(
        doctor
    )


def doctor(
    recording: Annotated[
        Path | None,
        typer.Argument(help="rosbag2 folder, .mcap or .db3 file, folder of RGB-D frames; without it: the robot here"),
    ] = None,
    seconds: Annotated[float, typer.Option(help="how long to listen; how much of a recording to read (0: all)")] = 10.0,
    namespace: Annotated[str, typer.Option(help="the robot's namespace")] = "",
    node: Annotated[str, typer.Option(help="name of its perception node")] = "perception_node",
    sim_time: Annotated[bool, typer.Option("--sim-time", help="take the time from /clock")] = False,
    detector: inputs.Detector = None,
    segmenter: Annotated[str, typer.Option(help="what finds things; default: as for the nodes or r4 replay")] = "",
    legend: inputs.Legend = None,
    intrinsics: inputs.Intrinsics = "",
    depth_intrinsics: inputs.DepthIntrinsics = "",
    fps: inputs.Fps = 30.0,
    up: inputs.Up = "auto",
    color_topic: inputs.ColorTopic = "",
    depth_topic: inputs.DepthTopic = "",
    cloud_topic: inputs.CloudTopic = "",
    label_topic: inputs.LabelTopic = "",
    color_info_topic: inputs.ColorInfoTopic = "",
    depth_info_topic: inputs.DepthInfoTopic = "",
    label_info_topic: inputs.LabelInfoTopic = "",
    odometry_topic: inputs.OdometryTopic = "",
    pose_topic: inputs.PoseTopic = "",
    param: inputs.Param = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Examine, print, and exit with 1 where nothing would be stored; see ``register``."""
    given = locals()
    chosen = inputs.topics_of(given)
    values: dict[str, Any] = {}
    if detector is not None:
        values.update(segmenter="detector", detector_model=str(detector))
    if segmenter:
        values["segmenter"] = segmenter
    if legend is not None:
        values["label_legend"] = str(legend)
    values.update(inputs.params_of(param or []))
    if recording is not None:
        from r4_ros.bridges.sources import FolderOptions

        options = FolderOptions.of_texts(intrinsics, depth_intrinsics, fps, up)
        exam, found = _recording(recording, chosen, options, values, seconds)
    else:
        exam, found = _robot(namespace, node, sim_time, chosen, values, seconds)
    failed = any(finding.level == 2 for finding in found)
    if as_json:
        print(json.dumps(_document(exam, found, failed)))
    else:
        _print(found, failed)
    raise typer.Exit(int(failed))


def _recording(
    path: Path, chosen: dict[str, str], options: FolderOptions, values: dict[str, Any], duration_s: float
) -> tuple[Examination | None, list[Finding]]:
    from r4_ros.bridges.examine_bag import examine, open_examined
    from r4_ros.core.config import PerceptionConfig, build

    bag, found = open_examined(path, chosen, options)
    if bag is None:
        return None, found
    with closing(bag):
        labels = "label" in bag.roles and "detector_model" not in values
        values.setdefault("segmenter", "label_image" if labels else "detector")
        values.setdefault("depth_source", "cloud" if "cloud" in bag.roles and "depth" not in bag.roles else "image")
        config = build(PerceptionConfig, {"agent_id": "doctor", **values})
        finder, trouble = _segmenter(config)
        exam, problems = examine(bag, config, finder, duration_s)
    return exam, [*found, *problems, *exam.findings(), *trouble]


def _robot(
    namespace: str, node: str, sim_time: bool, chosen: dict[str, str], values: dict[str, Any], duration_s: float
) -> tuple[Examination | None, list[Finding]]:
    from r4_ros.core.config import PerceptionConfig, build
    from r4_ros.core.errors import Unavailable

    if importlib.util.find_spec("rclpy") is None:
        raise Unavailable("ROS 2 isn't installed for this Python: run `make setup`, or source your ROS")
    from r4_ros.bridges.examination import Finding, Level
    from r4_ros.bridges.examine_live import LiveDoctor
    from r4_ros.nodes.inputs import input_topics

    live = LiveDoctor(namespace, node, sim_time)
    try:
        running = live.look_around()
        config = live.running_config() if running else None
        if config is None:
            text = f"{live.perception} doesn't run; the defaults and what was given here are looked at"
            found = [Finding(Level.WARNING, "perception", text, "r4 up, or ros2 launch r4_ros r4.launch.py")]
            config = build(PerceptionConfig, {"agent_id": "doctor", **values})
        else:
            found = [
                Finding(Level.OK, "perception", f"{live.perception} runs; its parameters and topics are looked at")
            ]
        topics = live.topics(config, chosen)
        finder, trouble = _segmenter(config)
        exam = live.examine(config, topics, finder, duration_s)
        found += live.graph_findings(input_topics(config), topics)  # now, since who publishes is known better by then
        about = {finding.about for finding in found if finding.level == Level.ERROR}
        seen = [f for f in exam.findings() if not (f.about in about and f.message.startswith("nothing came"))]
        return exam, [*found, *seen, *trouble, *live.node_findings()]
    finally:
        live.close()


def _segmenter(config: PerceptionConfig) -> tuple[Segmenter | None, list[Finding]]:
    """The segmenter with its model, and what is to be said of it and its device."""
    from r4_ros.adapters.segmenters import model_segmenter
    from r4_ros.bridges.examination import Finding, Level, load_segmenter
    from r4_ros.perception.pipeline import make_segmenter

    finder, found = load_segmenter(lambda: make_segmenter(config, partial(model_segmenter, config)))
    if finder is not None and config.segmenter in ("sam2", "grounded"):
        from r4_ros.adapters.torch_runtime import pick_runtime

        device = pick_runtime(config.segmenter, config.device).device
        if device == "cpu":
            text = f"{config.segmenter} runs on the CPU: torch sees no CUDA device"
            found.append(Finding(Level.WARNING, "GPU", text, "install the driver and a torch with CUDA"))
        else:
            found.append(Finding(Level.OK, "GPU", f"{config.segmenter} runs on {device}"))
    return finder, found


def _document(exam: Examination | None, found: Sequence[Finding], failed: bool) -> dict[str, Any]:
    findings = [
        {"level": f.level.name.lower(), "about": f.about, "message": f.message, "advice": f.advice} for f in found
    ]
    numbers = exam.summary() if exam is not None else {}
    return {"stores": not failed, "findings": findings, **numbers}


def _print(found: Sequence[Finding], failed: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for finding in found:
        console.print(
            Text(f"{SIGNS[finding.level]} ", STYLES[finding.level]) + Text(f"{finding.about}: {finding.message}")
        )
        if finding.advice:
            console.print(Text(f"    {finding.advice}", "dim"))
    console.print(Text("Nothing would be stored." if failed else "Perception would store this.", "bold"))
    sys.stdout.flush()
