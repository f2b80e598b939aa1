"""Messages to records and back: values, frames, entries, events, episodes. Queries: convert_queries.py.

Every number is passed through ``float`` or ``int``: rclpy writes nonsense for a numpy scalar in a float64 field.
"""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMsg

from r4_ros import msg
from r4_ros.core.errors import FrameRefused, InvalidArgument, OutcomeCode, R4Error
from r4_ros.core.intervals import checked
from r4_ros.core.model import (
    FOREVER,
    NS_PER_S,
    Box,
    Embedding,
    EntryState,
    Episode,
    EpisodeSource,
    Event,
    EventKind,
    Float32Array,
    Frame,
    Matrix3,
    Motion,
    Observation,
    PlacedEntry,
    Pose,
    Vec3,
    View,
    Visibility,
)

NO_POSE_COVARIANCE = (0.0,) * 36


def time_to_msg(stamp_ns: int) -> Time:
    """Raises InvalidArgument for a stamp before -2**31 s or after 2**31 s, which a message can't hold."""
    sec, nanosec = divmod(stamp_ns, NS_PER_S)
    if not -(2**31) <= sec < 2**31:
        raise InvalidArgument(f"the stamp {stamp_ns} ns doesn't fit into a ROS time")
    return Time(sec=sec, nanosec=nanosec)


def time_from_msg(time: Any) -> int:
    """Nanoseconds."""
    return int(time.sec) * NS_PER_S + int(time.nanosec)


def end_to_msg(end_ns: int) -> Time:
    """The end of an interval; open ones are zero."""
    return Time() if end_ns == FOREVER else time_to_msg(end_ns)


def end_from_msg(time: Any) -> int:
    """Nanoseconds; zero is FOREVER."""
    return time_from_msg(time) or FOREVER


def optional_time_to_msg(stamp_ns: int | None) -> Time:
    """None is zero."""
    return Time() if stamp_ns is None else time_to_msg(stamp_ns)


def optional_time_from_msg(time: Any) -> int | None:
    """Nanoseconds; zero is None."""
    return time_from_msg(time) or None


def outcome(error: BaseException | None = None) -> msg.Outcome:
    """OK, or the code and message of an error; one that isn't ours is INTERNAL and names its type."""
    if error is None:
        return msg.Outcome()
    if isinstance(error, R4Error):
        return msg.Outcome(code=int(error.code), message=str(error))
    return msg.Outcome(code=int(OutcomeCode.INTERNAL), message=f"{type(error).__name__}: {error}")


def pose_to_msg(pose: Pose) -> PoseMsg:
    """A placement as geometry_msgs/Pose."""
    x, y, z, w = pose.orientation
    return PoseMsg(
        position=point_to_msg(pose.position), orientation=Quaternion(x=float(x), y=float(y), z=float(z), w=float(w))
    )


def pose_from_msg(pose: Any) -> Pose:
    """A placement of geometry_msgs/Pose."""
    o = pose.orientation
    return Pose(point_from_msg(pose.position), (o.x, o.y, o.z, o.w))


def point_to_msg(point: Vec3) -> Point:
    """Metres as geometry_msgs/Point."""
    return Point(x=float(point[0]), y=float(point[1]), z=float(point[2]))


def point_from_msg(point: Any) -> Vec3:
    """x, y, z of a Point or a Vector3."""
    return (point.x, point.y, point.z)


def vector_to_msg(vector: Vec3) -> Vector3:
    """Metres as geometry_msgs/Vector3."""
    return Vector3(x=float(vector[0]), y=float(vector[1]), z=float(vector[2]))


def pairs_to_msg(pairs: Sequence[tuple[str, str]]) -> list[KeyValue]:
    """Names and values as diagnostic_msgs/KeyValue."""
    return [KeyValue(key=key, value=value) for key, value in pairs]


def pairs_from_msg(pairs: Any) -> tuple[tuple[str, str], ...]:
    """Names and values of KeyValues, in order."""
    return tuple((pair.key, pair.value) for pair in pairs)


def matrix3_from_msg(values: Any) -> Matrix3:
    """Nine numbers, row-major."""
    a, b, c, d, e, f, g, h, i = (float(v) for v in values)
    return a, b, c, d, e, f, g, h, i


def floats_to_msg(values: Float32Array) -> array.array[float]:
    """float32 values by one copy of memory."""
    made = array.array("f")
    made.frombytes(memoryview(np.ascontiguousarray(values, np.float32).reshape(-1)).cast("B"))
    return made


def floats_from_msg(values: Any) -> Float32Array:
    """float32 values without a copy of each."""
    return np.frombuffer(values, np.float32) if len(values) else np.zeros(0, np.float32)


def observation_to_msg(seen: Observation) -> msg.Observation:
    """Raises InvalidArgument where label and description were embedded by two models."""
    vectors = [v for v in (seen.label_embedding, seen.description_embedding) if v is not None]
    if len({v.model for v in vectors}) > 1:
        raise InvalidArgument(f"observation {seen.index}: its two vectors come from two models")
    made = msg.Observation(
        index=seen.index,
        label=seen.label,
        description=seen.description,
        attributes=pairs_to_msg(seen.attributes),
        embedding_model=vectors[0].model if vectors else "",
        pose=pose_to_msg(seen.box.pose),
        extent=vector_to_msg(seen.box.extent),
        position_covariance=[float(v) for v in seen.position_covariance],
        visibility=int(seen.visibility),
        confidence=float(seen.confidence),
        track_id=seen.track_id,
        image=seen.image,
        entry_id=seen.entry_id,
        entry_revision=seen.entry_revision,
    )
    if seen.label_embedding is not None:
        made.label_embedding = floats_to_msg(seen.label_embedding.vector)
    if seen.description_embedding is not None:
        made.description_embedding = floats_to_msg(seen.description_embedding.vector)
    return made


def _embedding(model: str, values: Any) -> Embedding | None:
    return Embedding(model, floats_from_msg(values)) if model and len(values) else None


def observation_from_msg(seen: Any) -> Observation:
    """Raises InvalidArgument for an unknown visibility."""
    return Observation(
        index=seen.index,
        label=seen.label,
        box=Box(pose_from_msg(seen.pose), point_from_msg(seen.extent)),
        position_covariance=matrix3_from_msg(seen.position_covariance),
        description=seen.description,
        attributes=pairs_from_msg(seen.attributes),
        label_embedding=_embedding(seen.embedding_model, seen.label_embedding),
        description_embedding=_embedding(seen.embedding_model, seen.description_embedding),
        visibility=enum_from_msg(Visibility, seen.visibility, "visibility"),
        confidence=seen.confidence,
        track_id=seen.track_id,
        image=seen.image,
        entry_id=seen.entry_id,
        entry_revision=seen.entry_revision,
    )


def enum_from_msg(kind: Any, value: int, name: str) -> Any:
    """A constant of a message as an enum member. Raises InvalidArgument for a number that isn't one."""
    try:
        return kind(value)
    except ValueError as error:
        known = ", ".join(f"{member.name} = {int(member)}" for member in kind)
        raise InvalidArgument(f"{name} = {value} is not a known constant: {known}") from error


def frame_to_msg(frame: Frame) -> msg.ObservationArray:
    """The frame record as it is published."""
    view = frame.view
    rows, cols = view.depth.shape
    made = msg.ObservationArray(
        agent_id=frame.agent_id,
        camera=frame.camera,
        writer=frame.writer,
        sequence=frame.sequence,
        session=frame.session,
        map_id=frame.map_id,
        map_frame=frame.map_frame,
        sensor_in_map=pose_to_msg(frame.sensor_in_map),
        has_odom=frame.sensor_in_odom is not None,
        base_in_sensor=pose_to_msg(frame.base_in_sensor),
        pose_covariance=[float(v) for v in frame.pose_covariance or NO_POSE_COVARIANCE],
        horizontal_fov=float(view.horizontal_fov),
        vertical_fov=float(view.vertical_fov),
        min_depth=float(view.min_depth),
        max_depth=float(view.max_depth),
        view_rows=rows,
        view_cols=cols,
        view_depth=floats_to_msg(view.depth),
        observations=[observation_to_msg(seen) for seen in frame.observations],
    )
    made.header.stamp = time_to_msg(frame.stamp_ns)
    made.header.frame_id = frame.sensor_frame
    if frame.sensor_in_odom is not None:
        made.sensor_in_odom = pose_to_msg(frame.sensor_in_odom)
    return made


def frame_from_msg(frame: Any) -> Frame:
    """Raises InvalidArgument where the size of the coarse depth image isn't that of its data."""
    depth = floats_from_msg(frame.view_depth)
    if depth.size != frame.view_rows * frame.view_cols:
        raise InvalidArgument(f"view_depth has {depth.size} values, not {frame.view_rows} x {frame.view_cols}")
    covariance = tuple(float(v) for v in frame.pose_covariance)
    return Frame(
        agent_id=frame.agent_id,
        camera=frame.camera,
        writer=frame.writer,
        sequence=frame.sequence,
        session=frame.session,
        stamp_ns=time_from_msg(frame.header.stamp),
        map_id=frame.map_id,
        map_frame=frame.map_frame,
        sensor_frame=frame.header.frame_id,
        sensor_in_map=pose_from_msg(frame.sensor_in_map),
        view=View(
            frame.horizontal_fov,
            frame.vertical_fov,
            frame.min_depth,
            frame.max_depth,
            depth.reshape(frame.view_rows, frame.view_cols),
        ),
        sensor_in_odom=pose_from_msg(frame.sensor_in_odom) if frame.has_odom else None,
        base_in_sensor=pose_from_msg(frame.base_in_sensor),
        pose_covariance=() if covariance == NO_POSE_COVARIANCE else covariance,
        observations=tuple(observation_from_msg(seen) for seen in frame.observations),
    )


def ack_to_msg(record: Any, revision: int = 0, error: BaseException | None = None) -> msg.ObservationAck:
    """What became of a frame record (the message, which may be a bad one) in memory."""
    return msg.ObservationAck(
        outcome=outcome(error),
        agent_id=record.agent_id,
        stamp=record.header.stamp,
        writer=record.writer,
        sequence=record.sequence,
        revision=revision,
    )


def refusal_to_msg(agent_id: str, writer: str, stamp_ns: int, error: Exception) -> msg.ObservationAck:
    """What perception says of a frame that it made no record of; a refusal's message is its reason's name."""
    told = outcome(error)
    if isinstance(error, FrameRefused):
        told.message = error.reason.value
    return msg.ObservationAck(outcome=told, agent_id=agent_id, stamp=time_to_msg(stamp_ns), writer=writer)


def entry_to_msg(entry: PlacedEntry) -> msg.ObjectEntry:
    """An entry's current state."""
    return msg.ObjectEntry(
        entry_id=entry.entry_id,
        agent_id=entry.agent_id,
        revision=entry.revision,
        map_id=entry.map_id,
        label=entry.label,
        description=entry.description,
        attributes=pairs_to_msg(entry.attributes),
        pose=pose_to_msg(entry.box.pose),
        extent=vector_to_msg(entry.box.extent),
        position_covariance=[float(v) for v in entry.position_covariance],
        state=int(entry.state),
        motion=int(entry.motion),
        visibility=int(entry.visibility),
        confidence=float(entry.confidence),
        sightings=entry.count,
        first_seen=time_to_msg(entry.first_seen),
        last_seen=time_to_msg(entry.last_seen),
    )


def entry_from_msg(entry: Any) -> PlacedEntry:
    """Raises InvalidArgument for unknown constants."""
    return PlacedEntry(
        entry_id=entry.entry_id,
        agent_id=entry.agent_id,
        revision=entry.revision,
        map_id=entry.map_id,
        label=entry.label,
        box=Box(pose_from_msg(entry.pose), point_from_msg(entry.extent)),
        position_covariance=matrix3_from_msg(entry.position_covariance),
        state=enum_from_msg(EntryState, entry.state, "state"),
        motion=enum_from_msg(Motion, entry.motion, "motion"),
        visibility=enum_from_msg(Visibility, entry.visibility, "visibility"),
        confidence=entry.confidence,
        count=entry.sightings,
        first_seen=time_from_msg(entry.first_seen),
        last_seen=time_from_msg(entry.last_seen),
        description=entry.description,
        attributes=pairs_from_msg(entry.attributes),
    )


def event_to_msg(event: Event) -> msg.MemoryEvent:
    """An event; an unknown earlier place is NaN."""
    return msg.MemoryEvent(
        event_id=event.event_id,
        kind=int(event.kind),
        entry_id=event.entry_id,
        agent_id=event.agent_id,
        label=event.label,
        stamp=time_to_msg(event.stamp_ns),
        earliest=time_to_msg(event.earliest_ns),
        latest=time_to_msg(event.latest_ns),
        map_id=event.map_id,
        place=point_to_msg(event.place),
        from_place=point_to_msg((math.nan,) * 3 if event.from_place is None else event.from_place),
        detail=event.detail,
    )


def event_from_msg(event: Any) -> Event:
    """Raises InvalidArgument for an unknown kind."""
    return Event(
        event_id=event.event_id,
        kind=enum_from_msg(EventKind, event.kind, "kind"),
        entry_id=event.entry_id,
        agent_id=event.agent_id,
        label=event.label,
        stamp_ns=time_from_msg(event.stamp),
        earliest_ns=time_from_msg(event.earliest),
        latest_ns=time_from_msg(event.latest),
        map_id=event.map_id,
        place=point_from_msg(event.place),
        from_place=None if math.isnan(event.from_place.x) else point_from_msg(event.from_place),
        detail=event.detail,
    )


def episode_to_msg(episode: Episode) -> msg.Episode:
    """An episode; one that goes on ends at zero."""
    return msg.Episode(
        episode_id=episode.episode_id,
        agent_id=episode.agent_id,
        text=episode.text,
        start=time_to_msg(episode.interval.start),
        end=end_to_msg(episode.interval.end),
        map_id=episode.map_id,
        has_place=episode.place is not None,
        place=Point() if episode.place is None else point_to_msg(episode.place),
        participants=list(episode.participants),
        source=int(episode.source),
    )


def episode_from_msg(episode: Any) -> Episode:
    """Raises InvalidArgument for an interval that ends before it starts or an unknown source."""
    return Episode(
        episode_id=episode.episode_id,
        agent_id=episode.agent_id,
        text=episode.text,
        interval=checked(time_from_msg(episode.start), end_from_msg(episode.end)),
        source=enum_from_msg(EpisodeSource, episode.source, "source"),
        map_id=episode.map_id,
        place=point_from_msg(episode.place) if episode.has_place else None,
        participants=tuple(episode.participants),
    )
