"""Records as JSON objects, one a line: the writing side of docs/interchange.md. Every field is written."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.model import (
    Anchor,
    CorrectionRecord,
    Embedding,
    Episode,
    Float32Array,
    Frame,
    Interval,
    Observation,
    Pose,
    Region,
    View,
)
from r4_ros.memory.anchor_records import PathRecord
from r4_ros.memory.cells import Block

Json = dict[str, Any]

FORMAT, VERSION = "r4-memory", 1


def frame_to_json(frame: Frame, held: bool) -> Json:
    """A frame record. ``held``: the depth of its camera's last frame with one also holds for it."""
    made: Json = {
        "type": "frame",
        "agent": frame.agent_id,
        "camera": frame.camera,
        "stamp": frame.stamp_ns,
        "writer": frame.writer,
        "writer_session": frame.session,
        "sequence": frame.sequence,
        "map_id": frame.map_id,
        "map_frame": frame.map_frame,
        "sensor_frame": frame.sensor_frame,
        "sensor_in_map": pose_to_json(frame.sensor_in_map),
        "base_in_sensor": pose_to_json(frame.base_in_sensor),
        "view": _view_to_json(frame.view, held),
        "observations": [_observation_to_json(o) for o in frame.observations],
    }
    if frame.sensor_in_odom is not None:
        made["sensor_in_odom"] = pose_to_json(frame.sensor_in_odom)
    return made


def texts_of(frame: Frame) -> Iterator[tuple[str, Embedding]]:
    """Labels and descriptions in a frame whose meaning is known, with it."""
    for o in frame.observations:
        if o.label_embedding is not None:
            yield o.label, o.label_embedding
        if o.description_embedding is not None:
            yield o.description, o.description_embedding


def pose_to_json(pose: Pose) -> list[float]:
    """x y z, then the quaternion x y z w."""
    return [*pose.position, *pose.orientation]


def _view_to_json(view: View, held: bool) -> Json:
    made: Json = {
        "horizontal_fov": view.horizontal_fov,
        "vertical_fov": view.vertical_fov,
        "min_depth": view.min_depth,
        "max_depth": view.max_depth,
    }
    if view.depth.size:
        rows, cols = view.depth.shape
        made |= {"rows": rows, "cols": cols, "depth": floats_to_json(view.depth)}
    elif held:
        made["held"] = True
    return made


def _observation_to_json(o: Observation) -> Json:
    made: Json = {
        "index": o.index,
        "label": o.label,
        "box": [*pose_to_json(o.box.pose), *o.box.extent],
        "visibility": o.visibility.name,
        "confidence": o.confidence,
        "attributes": [list(pair) for pair in o.attributes],
        "description": o.description,
        "track_id": o.track_id,
        "image": o.image,
    }
    if any(o.position_covariance):
        made["covariance"] = list(o.position_covariance)
    if o.entry_id:
        made["entry_id"] = o.entry_id
    return made


def floats_to_json(values: Float32Array) -> str:
    """Float16, little-endian, in base64."""
    return base64.b64encode(values.astype("<f2").tobytes()).decode("ascii")


def embedding_to_json(text: str, embedding: Embedding) -> Json:
    """What a label or a description means."""
    return {
        "type": "embedding",
        "text": text,
        "model": embedding.model,
        "vector": floats_to_json(embedding.vector),
    }


def episode_to_json(e: Episode) -> Json:
    """An episode; its place in the map."""
    return {
        "type": "episode",
        "episode_id": e.episode_id,
        "agent": e.agent_id,
        "text": e.text,
        "start": e.interval.start,
        "end": e.interval.end,
        "source": e.source.name,
        "map_id": e.map_id,
        "place": None if e.place is None else list(e.place),
        "participants": list(e.participants),
    }


def coverage_to_json(agent_id: str, map_id: str, span: Interval, block: Block) -> Json:
    """What an agent looked at in a minute of the past, as cells of the map."""
    looked, reached = (base64.b64encode(np.packbits(plane).tobytes()).decode("ascii") for plane in block.bits)
    return {
        "type": "coverage",
        "agent": agent_id,
        "map_id": map_id,
        "start": span.start,
        "end": span.end,
        "low": block.low.tolist(),
        "size": list(block.bits.shape[1:]),
        "looked": looked,
        "reached": reached,
    }


def region_to_json(r: Region) -> Json:
    """A named region."""
    polygon = [list(corner) for corner in r.polygon]
    return {
        "type": "region",
        "name": r.name,
        "polygon": polygon,
        "z_min": r.z_min,
        "z_max": r.z_max,
        "map_id": r.map_id,
    }


def anchor_to_json(camera: str, a: Anchor) -> Json:
    """An anchor; memory makes its own from frames, so this is for readers."""
    return {
        "type": "anchor",
        "anchor_id": a.anchor_id,
        "agent": a.agent_id,
        "camera": camera,
        "session": a.session,
        "map_id": a.map_id,
        "stamp": a.stamp_ns,
        "pose_in_map": pose_to_json(a.pose_in_map),
        "pose_in_odom": None if a.pose_in_odom is None else pose_to_json(a.pose_in_odom),
    }


def path_to_json(p: PathRecord) -> Json:
    """A correction of an agent's way: where its base was at some stamps, as was known from then on."""
    nodes = [[stamp, *pose_to_json(pose)] for stamp, pose in zip(p.stamps_ns, p.poses, strict=True)]
    return {"type": "path", "agent": p.agent_id, "session": p.session, "map_id": p.map_id, "nodes": nodes}


def alignment_to_json(r: AlignmentRecord) -> Json:
    """That an agent's map lies in another one, or (without a pose) that the last such word was taken back."""
    a = r.alignment
    said = {} if a is None else {"common_id": a.common_id, "pose": pose_to_json(a.pose), "frame": a.frame}
    made: Json = {"type": "alignment", "stamp": r.stamp_ns, "agent": r.agent_id, "map_id": r.map_id}
    return {**made, **said, "source": r.source}


def correction_to_json(r: CorrectionRecord) -> Json:
    """What a person said, and when."""
    c = r.correction
    made: Json = {"type": "correction", "stamp": r.stamp_ns, "kind": c.kind.name, "entry_id": c.entry_id}
    more = {"label": c.label, "other_id": c.other_id, "at": c.at_ns, "correction_id": c.correction_id}
    made |= {name: value for name, value in more.items() if value}
    return {**made, "position": None if c.position is None else list(c.position), "source": c.source}
