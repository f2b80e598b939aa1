"""Options of the commands that read a recording or a robot's topics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TOPIC_OPTIONS = ("color", "depth", "cloud", "label", "color_info", "depth_info", "label_info", "odometry", "pose")
PANEL = "Topics (found by type and name where not given)"


def topic_option(role: str) -> Any:
    """The command line option that names a role's topic."""
    return typer.Option(
        f"--{role.replace('_', '-')}-topic", help=f"topic of {role.replace('_', ' ')}", rich_help_panel=PANEL
    )


Detector = Annotated[Path | None, typer.Option(help="ONNX detector")]
Legend = Annotated[Path | None, typer.Option(help="names of the label image's ids, JSON or YAML")]
Intrinsics = Annotated[str, typer.Option(help="folders: fx,fy,cx,cy in pixels")]
DepthIntrinsics = Annotated[str, typer.Option(help="folders: of depth, where they differ")]
Fps = Annotated[float, typer.Option(help="numbered frames: rate")]
Up = Annotated[str, typer.Option(help="folders: axis that points up; auto: as the cameras stand")]
Param = Annotated[list[str] | None, typer.Option(help="perception's other parameters: name=value")]
ColorTopic = Annotated[str, topic_option("color")]
DepthTopic = Annotated[str, topic_option("depth")]
CloudTopic = Annotated[str, topic_option("cloud")]
LabelTopic = Annotated[str, topic_option("label")]
ColorInfoTopic = Annotated[str, topic_option("color_info")]
DepthInfoTopic = Annotated[str, topic_option("depth_info")]
LabelInfoTopic = Annotated[str, topic_option("label_info")]
OdometryTopic = Annotated[str, topic_option("odometry")]
PoseTopic = Annotated[str, topic_option("pose")]


def topics_of(given: dict[str, Any]) -> dict[str, str]:
    """The topics that were given, by role; ``given``: a command's arguments by name."""
    return {role: given[f"{role}_topic"] for role in TOPIC_OPTIONS if given[f"{role}_topic"]}


def params_of(given: list[str]) -> dict[str, Any]:
    """Parameters by name, as the types of their defaults."""
    import yaml

    from r4_ros.core.config import PerceptionConfig, default_of, param_fields
    from r4_ros.core.errors import InvalidArgument

    texts = {f.name for f in param_fields(PerceptionConfig) if isinstance(default_of(f), str)}
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidArgument(f"--param '{text}': name=value is needed")
        try:
            values[name] = value if name in texts else yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InvalidArgument(f"--param '{text}': {value} is no value") from error
    return values
