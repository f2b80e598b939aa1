"""Recordings of a robot's cameras, and which of their topics plays which role for perception."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from r4_ros.core.errors import InvalidArgument

IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
CAMERA_INFO, TF, STRING = "sensor_msgs/msg/CameraInfo", "tf2_msgs/msg/TFMessage", "std_msgs/msg/String"
ODOMETRY, LABEL_INFO = "nav_msgs/msg/Odometry", "vision_msgs/msg/LabelInfo"
POSES = ("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped")
CLOUD = "sensor_msgs/msg/PointCloud2"
IMAGE_ROLES = ("color", "depth", "cloud", "label")
ROLE_TYPES = {
    "color": (IMAGE, COMPRESSED),
    "depth": (IMAGE, COMPRESSED),
    "cloud": (CLOUD,),
    "label": (IMAGE, COMPRESSED),
    "color_info": (CAMERA_INFO,),
    "depth_info": (CAMERA_INFO,),
    "label_info": (STRING, LABEL_INFO),
    "tf": (TF,),
    "tf_static": (TF,),
    "odometry": (ODOMETRY,),
    "pose": POSES,
}
ALIGNED_WORDS = ("aligned", "registered", "depth_to_color", "depth_to_rgb")


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of a recording; count -1: unknown."""

    name: str
    type_name: str
    count: int = -1


@dataclass(frozen=True, eq=False, slots=True)
class Recorded:
    """One recorded message: when it was recorded (ns), its role, its CDR bytes, and ``decode`` to read them.

    ``header_ns`` is the stamp in its header, or None for types without one in front.
    """

    stamp_ns: int
    role: str
    topic: Topic
    raw: bytes
    decode: Callable[[], Any]
    header_ns: int | None = None


class Recording(Protocol):
    """A recording that can be read again and again from its start."""

    @property
    def name(self) -> str:
        """What it is called, for messages."""

    @property
    def topics(self) -> Sequence[Topic]:
        """All that it has."""

    @property
    def roles(self) -> Mapping[str, Topic]:
        """The topic of each role that it has."""

    def messages(self, roles: Sequence[str] = ()) -> Iterator[Recorded]:
        """The messages in the order of the recording; of some roles only, if given."""

    def close(self) -> None:
        """Free the files."""


def find_roles(
    topics: Sequence[Topic], chosen: Mapping[str, str], wanted: Sequence[str], name: str
) -> dict[str, Topic]:
    """The topic of each role: the chosen one, or the likeliest by type and name.

    Raises InvalidArgument that lists the topics when a chosen topic or one of the wanted roles is missing, or a chosen
    topic is of another type.
    """
    by_name = {topic.name: topic for topic in topics}
    roles: dict[str, Topic] = {}
    for role, topic_name in chosen.items():
        if topic_name not in by_name:
            raise InvalidArgument(f"{name} has no topic {topic_name} ({role}). {listing(topics)}")
        roles[role] = by_name[topic_name]
        if roles[role].type_name not in ROLE_TYPES[role]:
            needed = " or ".join(ROLE_TYPES[role])
            raise InvalidArgument(f"{topic_name} is a {roles[role].type_name}, but {role} must be a {needed}")
    for role, candidates in _guesses(topics, roles).items():
        if role not in roles and candidates:
            roles[role] = candidates[0]
    missing = [role for role in wanted if role not in roles and not (role == "depth" and "cloud" in roles)]
    if missing:
        named = [*missing, "cloud"] if "depth" in missing else missing
        options = ", ".join(f"--{role.replace('_', '-')}-topic" for role in named)
        raise InvalidArgument(f"{name} has no {', '.join(missing)} topic (or name it: {options}). {listing(topics)}")
    return roles


def listing(topics: Sequence[Topic]) -> str:
    """The topics of a recording in words."""
    lines = [
        f"{t.name} [{t.type_name}]" + (f" x {t.count}" if t.count >= 0 else "")
        for t in sorted(topics, key=lambda t: t.name)
    ]
    return f"Its topics: {'; '.join(lines)}" if lines else "It has no topics"


def _guesses(topics: Sequence[Topic], roles: Mapping[str, Topic]) -> dict[str, list[Topic]]:
    """Candidates of each role, the likeliest first."""
    images = sorted((t for t in topics if t.type_name in (IMAGE, COMPRESSED) and t.count), key=_rank)
    labels = [t for t in images if _says(t, "label", "instance", "semantic", "segment")]
    depths = [t for t in images if _says(t, "depth") and t not in labels]
    others = ("infra", "/ir", "left", "right", "annotated", "mask", "confidence", "disparity")
    colors = [t for t in images if t not in depths and t not in labels and not _says(t, *others)]
    infos = [t for t in topics if t.type_name == CAMERA_INFO and t.count]
    if "cloud" in roles and "depth" not in roles:
        depths = []
    color = roles.get("color") or next(iter(colors), None)
    depth = roles.get("depth") or next(iter(depths), None)
    color_infos = _infos_of(color, infos)
    taken = [roles.get("color_info") or next(iter(color_infos), None)]  # one info for both: depth is registered
    return {
        "color": colors,
        "depth": depths,
        "cloud": [t for t in topics if t.type_name == CLOUD and t.count and depth is None],
        "label": labels,
        "color_info": color_infos,
        "depth_info": [info for info in _infos_of(depth, infos) if info not in taken],
        "label_info": [t for t in topics if t.name.endswith("label_info")],
        "tf": [t for t in topics if t.type_name == TF and t.name.rsplit("/", 1)[-1] == "tf"],
        "tf_static": [t for t in topics if t.type_name == TF and t.name.rsplit("/", 1)[-1] == "tf_static"],
        "odometry": [t for t in topics if t.type_name == ODOMETRY],
        "pose": [t for t in topics if t.type_name in POSES and not _says(t, "goal", "target")],
    }


def _says(topic: Topic, *words: str) -> bool:
    return any(word in topic.name.lower() for word in words)


def _rank(topic: Topic) -> tuple[bool, bool, bool, str]:
    """Aligned depth before unaligned, named colour before unnamed, raw before compressed."""
    aligned, named = _says(topic, *ALIGNED_WORDS), _says(topic, "color", "rgb")
    return not aligned, not named, topic.type_name != IMAGE, topic.name


def _infos_of(image: Topic | None, infos: Sequence[Topic]) -> list[Topic]:
    """The camera_info beside an image topic: the one that shares most of its name from the left."""
    if image is None:
        return []
    parts = image.name.split("/")

    def shared(info: Topic) -> int:
        pairs = zip(parts, info.name.split("/"), strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(parts))

    beside = [info for info in infos if shared(info) >= 2 or len(infos) == 1]
    return sorted(beside, key=lambda info: (-shared(info), info.name))
