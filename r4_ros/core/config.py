"""One frozen dataclass per node: the only place where a parameter's default, range, unit and meaning are written.

The nodes declare their ROS parameters from these, ``config/r4.yaml`` and the docs are checked against them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from r4_ros.core.lessons import Relax
from r4_ros.core.parameters import Value as Value
from r4_ros.core.parameters import build as build
from r4_ros.core.parameters import default_of as default_of
from r4_ros.core.parameters import param_fields as param_fields


def param(
    default: Value,
    doc: str,
    *,
    unit: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    choices: tuple[str, ...] = (),
    live: bool = False,
) -> Any:
    """A documented, ranged parameter. ``live``: may change while the node is active."""
    metadata = {"doc": doc, "unit": unit, "low": low, "high": high, "choices": choices, "live": live}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class PerceptionConfig:
    """perception_node: camera frames in, observations out."""

    agent_id: str = param("", "whose memory this is; empty: the namespace, else the host's name")
    camera: str = param("camera", "name of this camera, unique within the agent")
    autostart: bool = param(True, "configure and activate without a lifecycle manager")
    segmenter: str = param(
        "detector", "what finds objects", choices=("detector", "label_image", "sam2", "grounded", "clusters")
    )
    detector_model: str = param("", "ONNX file of the detector; empty: none, the node waits unconfigured")
    detector_classes: str = param("coco80", "'coco80' or a text file with one class name a line")
    detector_decoding: str = param("centernet", "how outputs become boxes", choices=("centernet", "yolo"))
    detector_confidence: float = param(0.35, "detections below are dropped", low=0.0, high=1.0, live=True)
    grounded_model: str = param(
        "IDEA-Research/grounding-dino-tiny", "open-vocabulary detector of 'grounded': name on the hub, or a folder"
    )
    sam2_package: str = param("transformers", "which SAM 2 runs", choices=("transformers", "meta"))
    sam2_model: str = param(
        "large",
        "large, base_plus, small, tiny; a name on the hub or a folder (transformers), a checkpoint file (meta); "
        "empty with 'grounded': masks come from depth",
    )
    sam2_points: int = param(16, "'sam2' without a detector: points per side of the image's grid", low=2, high=64)
    sam2_track: bool = param(False, "SAM 2 follows things from frame to frame, so that they have track ids")
    sam2_window: int = param(16, "past frames kept for each track", low=1, high=64)
    device: str = param("auto", "where torch models run: auto, cuda, cuda:1, cpu")
    compile_models: bool = param(False, "torch.compile for image encoders, where CUDA and Triton are")
    label_legend: str = param("", "JSON or YAML file id -> name for the label image; empty: names on label/label_info")
    label_encoding: str = param(
        "id",
        "what a label image's pixels hold: an id in one channel, an id in three (r + 256 g + 65536 b), or what "
        "Gazebo's panoptic camera gives (instance r + 256 g, named by its class b)",
        choices=("id", "rgb", "gazebo"),
    )
    label_kind: str = param(
        "instances",
        "whether equal ids are one thing, or a class whose connected regions are things",
        choices=("instances", "classes"),
    )
    compressed: bool = param(False, "subscribe to color/image_raw/compressed instead of color/image_raw")
    depth_source: str = param(
        "image", "where depth comes from: depth/image_raw, or the point cloud on cloud", choices=("image", "cloud")
    )
    depth_compressed: bool = param(False, "subscribe to depth/image_raw/compressedDepth instead of depth/image_raw")
    depth_model: str = param(
        "planar",
        "what a depth image holds: depth along the optical axis, or distance from the camera",
        choices=("planar", "radial"),
    )
    map_frame: str = param("map", "fixed frame that places are kept in, z up")
    odom_frame: str = param("odom", "continuous frame; empty: there is none")
    base_frame: str = param("base_link", "robot frame, x forward; empty: derive it from the camera")
    camera_frame: str = param("", "the colour camera's frame in TF; empty: as its images say")
    depth_frame: str = param("", "the depth camera's or LiDAR's frame in TF; empty: as its messages say")
    optical: str = param(
        "auto",
        "whether camera frames are optical (z forward) or x-forward; auto: by name, else by the mounting on base_frame",
        choices=("auto", "true", "false"),
    )
    tf_prefix: str = param("", "prefix of this robot's frames in a shared TF tree")
    pose_source: str = param("tf", "where the camera's pose comes from", choices=("tf", "odometry", "pose"))
    map_id: str = param("", "maps with one id share coordinates; empty: the agent's own map")
    sync_slop_s: float = param(0.05, "colour and depth stamps may differ by", unit="s", low=0.0, high=1.0)
    tf_wait_s: float = param(0.5, "how long a frame waits for its pose", unit="s", low=0.0, high=10.0)
    max_angular_rate: float = param(
        3.0, "frames taken while the camera turns quicker are refused; 0: none", unit="rad/s", low=0.0
    )
    queue_size: int = param(2, "frames waiting for the worker; the oldest is dropped and counted", low=1, high=100)
    min_depth_m: float = param(0.15, "nearer depth is ignored", unit="m", low=0.0)
    max_depth_m: float = param(10.0, "farther depth is ignored", unit="m", low=0.1)
    min_points: int = param(30, "an instance needs as many depth pixels", low=1)
    reorder_s: float = param(5.0, "stamps that go back by more start a new session", unit="s", low=0.0)
    keyframe_period_s: float = param(
        0.0, "process frames at least this far apart, unless something is new; 0: all", unit="s", low=0.0, live=True
    )
    keyframe_distance_m: float = param(
        0.1, "a camera that moved farther sees something new", unit="m", low=0.0, live=True
    )
    keyframe_angle_rad: float = param(
        math.radians(5), "a camera that turned farther sees something new", unit="rad", low=0.0, live=True
    )
    keyframe_change: float = param(
        0.03,
        "an image that differs from the last one by more (share of its pixels) is new",
        low=0.0,
        high=1.0,
        live=True,
    )
    warn_rate_hz: float = param(0.5, "/diagnostics warns below as many records a second", unit="Hz", low=0.0, live=True)
    error_rate_hz: float = param(
        0.0, "/diagnostics tells an error below as many records a second", unit="Hz", low=0.0, live=True
    )
    warn_age_s: float = param(
        2.0, "/diagnostics warns where images are older when their record goes out", unit="s", low=0.0, live=True
    )
    error_age_s: float = param(10.0, "/diagnostics tells an error where they are older", unit="s", low=0.0, live=True)
    warn_refused_share: float = param(
        0.5, "/diagnostics warns where a larger share of the frames is refused", low=0.0, high=1.0, live=True
    )
    error_refused_share: float = param(
        0.99, "/diagnostics tells an error where a larger share is refused", low=0.0, high=1.0, live=True
    )
    annotate: bool = param(True, "publish an annotated image while somebody subscribes", live=True)
    embedder: str = param(
        "minilm",
        "text embedder: minilm; multilingual; none; st:NAME, a sentence-transformers model on the hub or in a folder",
    )
    crops: bool = param(True, "send pictures of things to memory")
    crop_period_s: float = param(30.0, "a fresh picture of a thing in view after", unit="s", low=1.0)
    private_labels: list[str] = param(
        ["person", "face", "man", "woman", "child"],
        "no pictures are made of these, and nobody is asked to describe them",
    )
    vision: str = param(
        "none",
        "who writes descriptions of things: nobody (label, colour and size are told), a server that speaks OpenAI's "
        "protocol, or a model in this process",
        choices=("none", "server", "transformers"),
    )
    vision_model: str = param("", "its name on the server or the hub, or a folder written by save_pretrained")
    vision_url: str = param("http://127.0.0.1:8000/v1", "the server's API")
    vision_key_variable: str = param("", "environment variable that holds the server's key; empty: none")
    allow_remote: bool = param(False, "pictures may go to a server on another host")
    vision_rate_hz: float = param(2.0, "the model is asked at most this often", unit="Hz", low=0.01, high=1000.0)
    vision_timeout_s: float = param(20.0, "for its replies", unit="s", low=0.1, high=600.0)
    caption_period_s: float = param(
        0.0, "with a vision model: what happened is told as an episode this often; 0: never", unit="s", low=0.0
    )
    check_absence: bool = param(True, "look whether remembered things are still at their place", live=True)

    def conflicts(self) -> list[str]:
        """What doesn't fit together."""
        pairs = (
            ("min_depth_m", "max_depth_m"),
            ("error_rate_hz", "warn_rate_hz"),
            ("warn_age_s", "error_age_s"),
            ("warn_refused_share", "error_refused_share"),
        )
        return [text for a, b in pairs for text in _ascending(a, getattr(self, a), b, getattr(self, b))]


@dataclass(frozen=True)
class MemoryConfig:
    """memory_node: observations in, entries and evidence out."""

    agent_id: str = param("", "the agent that this memory belongs to; empty: the namespace, else the host's name")
    agents: list[str] = param([], "namespaces of agents whose observations are taken; empty: this node's own")
    autostart: bool = param(True, "configure and activate without a lifecycle manager")
    db: str = param(
        "r4.db", "SQLite file (relative: to ROS_HOME, else ~/.ros), or postgresql://USER@HOST/NAME without a password"
    )
    durability: str = param(
        "normal", "normal: survives kill -9; full: also power loss (an fsync a commit)", choices=("normal", "full")
    )
    regions_file: str = param("", "YAML with named polygons of the map; empty: none")
    maps_file: str = param("", "YAML that says where agents' maps lie in common ones; empty: none")
    embedder: str = param("minilm", "text embedder for queries, the same as in perception")
    epsilon_min_m: float = param(0.3, "association distance, lower limit", unit="m", low=0.0)
    epsilon_max_m: float = param(1.0, "association distance, upper limit", unit="m", low=0.0)
    epsilon_extent: float = param(0.5, "association distance as a share of the largest extent", low=0.0)
    label_similarity: float = param(0.75, "labels at least this similar may be one thing", low=-1.0, high=1.0)
    overlap_iou: float = param(0.5, "boxes overlapping more are one thing whatever the label", low=0.0, high=1.0)
    match_similarity: float = param(0.6, "text and label at least this similar match a query", low=-1.0, high=1.0)
    sighting_gap_s: float = param(2.0, "sightings closer than this are one interval", unit="s", low=0.0)
    absent_frames: int = param(3, "frames that must see an empty place", low=1)
    absent_span_s: float = param(1.0, "those frames must span", unit="s", low=0.0)
    moved_m: float = param(0.5, "a thing farther than this from its stay starts a new one", unit="m", low=0.0)
    anchor_distance_m: float = param(0.5, "a new anchor after this way", unit="m", low=0.01)
    anchor_angle_rad: float = param(math.radians(20), "a new anchor after this turn", unit="rad", low=0.01)
    anchor_period_s: float = param(5.0, "a new anchor after this time", unit="s", low=0.01)
    tf_jump: str = param(
        "ignore",
        "a step of the map against odom with no correction: ignore: older content stays; recent: it is spread over the "
        "way since the last one",
        choices=("ignore", "recent"),
    )
    settle_s: float = param(
        5.0, "after such a step, absence doesn't count for this time, or until a correction", unit="s", low=0.0
    )
    slam_path: str = param(
        "", "topic of the SLAM's corrected path, nav_msgs/Path with a stamp for each pose; empty: none"
    )
    rtabmap: str = param("", "namespace of rtabmap's mapGraph and info, such as 'rtabmap'; empty: none")
    reorder_s: float = param(5.0, "stamps that go back by more start a new session", unit="s", low=0.0)
    session_gap_s: float = param(60.0, "a restart within this time keeps its session", unit="s", low=0.0)
    writer_silence_s: float = param(2.0, "another writer may take over after this silence", unit="s", low=0.0)
    frame_observations: int = param(1000, "a frame with more observations than this is refused", low=1)
    frame_kb: int = param(8000, "a frame of more kilobytes than this is refused", unit="kB", low=1)
    agent_rate_hz: float = param(
        200.0,
        "frames of one agent stored a second, on average; more of it wait; 0: any number",
        unit="Hz",
        low=0.0,
    )
    allow_corrections: bool = param(
        False, "serve memory/correct (rename, merge, split, pin, forget, undo) and memory/align for the agents served"
    )
    forget_gap_s: float = param(
        600.0, "a forgotten thing not seen for so long is new when it is seen", unit="s", low=0.0
    )
    entries_limit: int = param(500, "entries published on memory/entries", low=1, high=10000)
    markers_rate_hz: float = param(1.0, "markers are published at most this often", unit="Hz", low=0.01, high=30.0)
    history_days: float = param(
        30.0,
        "single observations are kept for so long, what entries know of themselves for ever; 0: for ever",
        unit="days",
        low=0.0,
    )
    history_mb: int = param(
        4000, "single observations are kept while the database is smaller than this; 0: always", unit="MB", low=0
    )
    crops_mb: int = param(
        64, "pictures of things are kept up to so many megabytes, the oldest are dropped; 0: none", low=0, high=100_000
    )
    snapshot_dir: str = param("", "folder of snapshots; empty: beside the database")
    sync: str = param(
        "", "database of the map server that this robot's file is kept in step with, postgresql://ROLE@HOST/NAME"
    )
    sync_period_s: float = param(1.0, "how often that is done; more often where much waits", unit="s", low=0.05)
    sync_clock_s: float = param(
        1.0, "farther apart this computer's and the server's clocks mustn't be", unit="s", low=0.0
    )
    sync_images: bool = param(False, "pictures of things go to the map server too")

    def conflicts(self) -> list[str]:
        """What doesn't fit together."""
        return _ascending("epsilon_min_m", self.epsilon_min_m, "epsilon_max_m", self.epsilon_max_m)


@dataclass(frozen=True)
class ReasonerConfig:
    """reasoner_node: questions in, answers with evidence out."""

    agent_id: str = param(
        "", "who 'me' is when a question doesn't say; empty: the namespace, else the only agent there is"
    )
    autostart: bool = param(True, "configure and activate without a lifecycle manager")
    planner: str = param(
        "rules", "who turns a question into a plan: rules or a language model", choices=("rules", "lm")
    )
    lm_backend: str = param(
        "server",
        "where it runs: on a server that speaks OpenAI's protocol, or in this process",
        choices=("server", "transformers"),
    )
    lm_model: str = param(
        "", "the language model's name on its server or the hub, or a folder written by save_pretrained; needed with lm"
    )
    lm_url: str = param("http://127.0.0.1:8000/v1", "API of a server that speaks OpenAI's protocol")
    lm_key_variable: str = param("", "environment variable that holds the server's key; empty: none")
    allow_remote: bool = param(False, "questions may go to a server on another host")
    lm_timeout_s: float = param(
        6.0, "for a plan, with all retries; never more than 0.7 of the answer's deadline", unit="s", low=0.1, high=600.0
    )
    lm_max_tokens: int = param(1000, "a plan may have so many tokens", low=50, high=32000)
    lm_repairs: int = param(1, "a reply that is no plan goes back with what is wrong with it so often", low=0, high=2)
    device: str = param("auto", "where a model in this process runs: auto, cuda, cuda:1, cpu")
    lm_fallback: str = param(
        "rules",
        "where the model gives no plan: the rules make it, the question is UNSUPPORTED, or it is an error",
        choices=("rules", "unsupported", "error"),
    )
    deadline_s: float = param(10.0, "time for one answer", unit="s", low=0.1, high=600.0, live=True)
    max_rounds: int = param(5, "retrieval rounds; the last must answer", low=1, high=20, live=True)
    experience: str = param(
        "lessons",
        "when nothing is found, what to try next: a fixed order, what the run itself shows, or also what others taught",
        choices=("off", "reflection", "lessons"),
        live=True,
    )
    gate: bool = param(
        True,
        "which way, how far and 'do you see' of a thing in plain view now are answered without the memory",
        live=True,
    )
    gate_looks: int = param(
        0,
        "so many times lm_model looks at color/image_raw before the gate opens, and must see the thing; 0: isn't asked",
        low=0,
        high=9,
    )
    relax_order: list[str] = param(
        [],
        "conditions to drop where nothing is found, in this order and no others; empty: all, in the order that the "
        "plan and the run suggest",
        live=True,
    )
    unanswered_trigger: bool = param(False, "also ask what others taught when the last round is near", live=True)
    stale_s: float = param(600.0, "present-tense answers from older sightings say STALE", unit="s", low=0.0, live=True)

    def conflicts(self) -> list[str]:
        """What there isn't."""
        names = [r.value for r in Relax]
        return [f"relax_order: '{n}' is none of {', '.join(names)}" for n in self.relax_order if n not in names]


@dataclass(frozen=True)
class ExperienceConfig:
    """experience_node: finished tasks, their outcomes, and what they taught."""

    agent_id: str = param("", "whose tasks these are; empty: the namespace, else the host's name")
    autostart: bool = param(True, "configure and activate without a lifecycle manager")
    db: str = param(
        "r4_experience.db", "SQLite file (relative: to ROS_HOME, else ~/.ros), or URL of the fleet's database"
    )
    sync: str = param(
        "", "map server that lessons in a robot's own file are shared by, postgresql://ROLE@HOST/NAME; empty: none"
    )
    learn: bool = param(True, "learn from tasks when their outcome is told", live=True)
    reflection: str = param(
        "rules", "who makes lessons of finished tasks: rules, or also a language model", choices=("rules", "lm")
    )
    lm_model: str = param("", "the language model's name on its server; needed with lm")
    lm_url: str = param("http://127.0.0.1:8000/v1", "API of a server that speaks OpenAI's protocol")
    lm_key_variable: str = param("", "environment variable that holds the server's key; empty: none")
    allow_remote: bool = param(False, "how runs went, without a word of theirs, may go to a server on another host")
    lm_timeout_s: float = param(20.0, "for one lesson", unit="s", low=0.1, high=600.0)
    lm_max_tokens: int = param(300, "a lesson may have so many tokens", low=50, high=32000)
    success_lessons: int = param(128, "room for lessons of what helped", low=1, high=10000)
    failure_lessons: int = param(64, "room for lessons of what failed", low=1, high=10000)
    merge_cosine: float = param(0.85, "lessons whose advice is at least so alike become one", low=0.0, high=1.0)
    min_uses: int = param(5, "after so many uses, a lesson that hurt more than it helped is dropped", low=1)
    grace_tasks: int = param(20, "so many tasks long, a new lesson makes no room for older ones", low=0)
    half_life_tasks: float = param(200.0, "a lesson not used for so many tasks is worth half", low=1.0)

    def conflicts(self) -> list[str]:
        """What doesn't fit together."""
        missing = self.reflection == "lm" and not self.lm_model
        return ["reflection 'lm' needs lm_model: the model's name on its server"] * missing


def _ascending(low_name: str, low: float, high_name: str, high: float) -> list[str]:
    return [] if low <= high else [f"{low_name} = {low:g} must not exceed {high_name} = {high:g}"]
