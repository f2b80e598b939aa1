"""``r4 replay``: a recording into a memory."""

from __future__ import annotations

import json
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli import inputs
from r4_ros.cli.frames import progress, summary

if TYPE_CHECKING:
    from r4_ros.bridges.recording import Recording
    from r4_ros.core.config import PerceptionConfig

FINISH_S = 600.0  # for descriptions that are still being written at the end


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="replay", help="Build a memory from a rosbag2 recording or a folder of RGB-D frames.")(replay)


def replay(
    recording: Annotated[Path, typer.Argument(help="rosbag2 folder, .mcap or .db3 file, or folder of RGB-D frames")],
    db: Annotated[Path, typer.Option(help="database of the memory; made where it doesn't exist")] = Path("r4.db"),
    agent: Annotated[str, typer.Option(help="whose memory this is")] = "robot",
    detector: inputs.Detector = None,
    detector_classes: Annotated[str, typer.Option(help="coco80, or a file with one name a line")] = "coco80",
    detector_decoding: Annotated[str, typer.Option(help="centernet or yolo")] = "centernet",
    confidence: Annotated[float | None, typer.Option(help="detections below are dropped")] = None,
    segmenter: Annotated[
        str, typer.Option(help="detector, label_image, sam2, grounded, clusters; default: as the input allows")
    ] = "",
    legend: inputs.Legend = None,
    embedder: Annotated[str, typer.Option(help="minilm, multilingual, st:NAME or none")] = "minilm",
    map_frame: Annotated[str, typer.Option(help="fixed frame, z up")] = "map",
    odom_frame: Annotated[str, typer.Option(help="continuous frame; '': none")] = "odom",
    base_frame: Annotated[str, typer.Option(help="robot frame; '': the camera's")] = "base_link",
    pose_source: Annotated[str, typer.Option(help="tf, odometry or pose")] = "tf",
    map_id: Annotated[str, typer.Option(help="maps with one id share coordinates")] = "",
    slop: Annotated[float, typer.Option(help="colour and depth stamps may differ by, s")] = 0.05,
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
    ros: Annotated[
        bool, typer.Option("--ros", help="publish to running nodes instead, on perception's own topics, with /clock")
    ] = False,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="with --ros: wait for each frame's ack")] = False,
    rate: Annotated[float, typer.Option(help="with --ros: times as fast as recorded; 0: at once")] = 1.0,
    namespace: Annotated[str, typer.Option(help="with --ros: of the nodes")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Build a memory from a recording; see ``register``."""
    given = locals()
    from r4_ros.bridges.sources import FolderOptions, open_recording
    from r4_ros.core.config import PerceptionConfig, build

    chosen = inputs.topics_of(given)
    options = FolderOptions.of_texts(intrinsics, depth_intrinsics, fps, up)
    source = open_recording(recording, chosen, options, wanted=("color", "depth", "color_info"))
    try:
        values: dict[str, Any] = {
            "agent_id": agent or socket.gethostname(),
            "segmenter": segmenter or ("label_image" if detector is None and "label" in source.roles else "detector"),
            "detector_model": str(detector or ""),
            "detector_classes": detector_classes,
            "detector_decoding": detector_decoding,
            "label_legend": str(legend or ""),
            "embedder": embedder,
            "map_frame": map_frame,
            "odom_frame": odom_frame,
            "base_frame": base_frame,
            "pose_source": pose_source,
            "map_id": map_id,
            "sync_slop_s": slop,
            "depth_source": "image" if "depth" in source.roles else "cloud",
        }
        if confidence is not None:
            values["detector_confidence"] = confidence
        config = build(PerceptionConfig, {**values, **inputs.params_of(param or [])})
        result = _publish(source, config, namespace, rate, lockstep) if ros else _ingest(source, config, db)
    finally:
        source.close()
    print(json.dumps(result) if as_json else summary(result, "Where is the cup?"))


def _segmenter(config: PerceptionConfig) -> Any:
    from r4_ros.adapters.segmenters import model_segmenter
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.perception.pipeline import make_segmenter

    if config.segmenter == "detector" and not config.detector_model:
        raise InvalidArgument("nothing finds objects: give --detector MODEL.onnx, or another --segmenter")
    return make_segmenter(config, partial(model_segmenter, config))


def _ingest(source: Recording, config: PerceptionConfig, db: Path) -> dict[str, Any]:
    """Feed the recording to the rooms themselves; no ROS graph."""
    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.adapters.vision_models import make_vision
    from r4_ros.bridges.replay import replay as replay_into
    from r4_ros.bridges.replay import writer_of
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library
    from r4_ros.perception.pipeline import Pipeline
    from r4_ros.perception.stream import Stream

    embed = make_embedder(config.embedder)
    pipeline = Pipeline(config, _segmenter(config), embed, writer_of(source), make_vision(config))
    pipeline.load()
    memory_config = MemoryConfig(agent_id=config.agent_id, embedder=config.embedder)
    try:
        with open_library(db, memory_config, embed) as library, progress(_frames_in(source)) as advance:
            stream = Stream(config)
            pipeline.appearance.deliver, pipeline.appearance.tell = library.ingest, library.add_episode
            report = replay_into(
                source, library, stream, pipeline, lambda done: advance(done.frames, sum(done.refused.values()))
            )
            if not pipeline.appearance.finish(FINISH_S):
                print(f"r4: things are left without descriptions: {pipeline.appearance.trouble}", file=sys.stderr)
            entries, vision = len(library.entries()), pipeline.appearance.counts()
    finally:
        pipeline.close()
    for reason, message in stream.refusals.messages.items():
        print(f"r4: refused ({reason.value}): {message}", file=sys.stderr)
    return {
        "frames": report.frames,
        "observations": report.observations,
        "absent": report.absent,
        "entries": entries,
        "refused": report.refused,
        "vision": vision,
        "wall_s": round(report.wall_s, 3),
        "db": str(db),
        "agent": config.agent_id,
    }


def _publish(
    source: Recording, config: PerceptionConfig, namespace: str, rate: float, lockstep: bool
) -> dict[str, Any]:
    """Play the recording for nodes that run elsewhere."""
    from r4_ros.bridges.playback import Played, play
    from r4_ros.bridges.replay import timed_messages

    frames = _frames_in(source)
    with progress(frames) as advance:

        def show(done: Played) -> None:
            advance(done.frames - done.refused, done.refused)

        items = timed_messages(source, config.agent_id, namespace, lockstep)
        played = play(items, rate=rate, lockstep=lockstep, namespace=namespace, progress=show)
    return {
        "frames": played.frames if lockstep else frames,
        "messages": played.messages,
        "acked": played.acked,
        "refused": played.refusals,
        "unanswered": played.unanswered,
        "wall_s": round(played.wall_s, 3),
        "agent": config.agent_id,
    }


def _frames_in(source: Recording) -> int:
    count = source.roles["color"].count
    return count if count >= 0 else sum(1 for _ in source.messages(("color",)))
