"""The simulation's frames as messages, as a robot's drivers publish them. Of the simulator only this needs ROS."""

from __future__ import annotations

import array
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from geometry_msgs.msg import Transform, TransformStamped
from sensor_msgs.msg import CameraInfo, Image, PointCloud2, PointField
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

from r4_ros.bridges.apartment.robots import SENSOR_IN_BASE, Robot
from r4_ros.bridges.apartment.simulation import START_NS, SimFrame, Simulation
from r4_ros.bridges.playback import TimedMessage
from r4_ros.core.geometry import back_project, compose, inverse
from r4_ros.core.model import NS_PER_S, Float32Array, Intrinsics, Pose

MAP, ODOM, BASE, CAMERA = "map", "odom", "base_link", "camera_optical_frame"
TF_RATE_HZ = 20.0


def messages(
    simulation: Simulation, namespaces: dict[str, str] | None = None, cloud: bool = False
) -> Iterator[TimedMessage]:
    """All messages of a run in the order of their stamps.

    ``namespaces``: each robot's topic namespace; by default its name. An empty one gives plain topics (/tf, ...).
    ``cloud``: depth also as a point cloud.
    """
    spaces = {robot.agent_id: robot.agent_id for robot in simulation.robots} | (namespaces or {})
    prefixes = {agent: f"/{space.strip('/')}/" if space.strip("/") else "/" for agent, space in spaces.items()}
    for robot in simulation.robots:
        yield from _at_start(prefixes[robot.agent_id], simulation.legend)
    robots = {robot.agent_id: robot for robot in simulation.robots}
    step, tick = round(NS_PER_S / TF_RATE_HZ), START_NS
    newest = dict.fromkeys(robots, -1)
    for frame in simulation.frames():
        newest[frame.agent_id] = frame.stamp_ns
        for stamp_ns in range(tick, frame.stamp_ns, step):
            for agent_id in robots:
                if newest[agent_id] < stamp_ns or agent_id == frame.agent_id:
                    yield _tf(prefixes[agent_id], robots[agent_id], stamp_ns)
            tick = stamp_ns + step
        yield _tf(prefixes[frame.agent_id], robots[frame.agent_id], frame.stamp_ns)
        yield from frame_messages(frame, prefixes[frame.agent_id], cloud)


def frame_messages(frame: SimFrame, prefix: str = "/", cloud: bool = False) -> list[TimedMessage]:
    """Colour, depth, labels and camera_infos of one frame; lockstep waits for it under the robot's name."""
    header = _header(frame.stamp_ns, CAMERA)
    info = camera_info(frame.intrinsics, header)
    payloads: list[tuple[str, str, Any]] = [
        ("color/camera_info", "sensor_msgs/msg/CameraInfo", info),
        ("depth/camera_info", "sensor_msgs/msg/CameraInfo", info),
        ("depth/image_raw", "sensor_msgs/msg/Image", image(frame.depth, "32FC1", header)),
        ("label/image_raw", "sensor_msgs/msg/Image", image(frame.labels.astype(np.uint16), "16UC1", header)),
        ("color/image_raw", "sensor_msgs/msg/Image", image(frame.color, "rgb8", header)),
    ]
    if cloud:
        points = point_cloud(frame.depth, frame.intrinsics, header)
        payloads.insert(0, ("cloud", "sensor_msgs/msg/PointCloud2", points))
    return [
        TimedMessage(frame.stamp_ns, prefix + topic, kind, payload, lockstep_key=frame.agent_id)
        for topic, kind, payload in payloads
    ]


def image(pixels: np.ndarray[Any, Any], encoding: str, header: Header) -> Image:
    """An Image message of an array [h, w] or [h, w, channels]."""
    pixels = np.ascontiguousarray(pixels)
    data = array.array("B")
    data.frombytes(pixels.data.cast("B"))
    height, width = pixels.shape[:2]
    return Image(
        header=header,
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=pixels.nbytes // height,
        data=data,
    )


def point_cloud(depth: Float32Array, camera: Intrinsics, header: Header) -> PointCloud2:
    """An organised PointCloud2 in the optical frame, as a depth camera's driver makes it; NaN where depth is 0."""
    height, width = depth.shape
    v, u = np.mgrid[:height, :width]
    points = np.full((height * width, 4), np.nan, "<f4")
    points[:, :3] = back_project(camera, u.ravel(), v.ravel(), np.where(depth > 0, depth, np.nan).ravel())
    data = array.array("B")
    data.frombytes(points.data.cast("B"))
    return PointCloud2(
        header=header,
        height=height,
        width=width,
        fields=[PointField(name=name, offset=4 * i, datatype=7, count=1) for i, name in enumerate("xyz")],
        is_bigendian=False,
        point_step=16,
        row_step=16 * width,
        data=data,
        is_dense=False,
    )


def camera_info(camera: Intrinsics, header: Header) -> CameraInfo:
    """A CameraInfo message without distortion."""
    k = [camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0]
    p = [camera.fx, 0.0, camera.cx, 0.0, 0.0, camera.fy, camera.cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return CameraInfo(
        header=header,
        height=camera.height,
        width=camera.width,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=k,
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=p,
    )


def transform(parent: str, child: str, pose: Pose, stamp_ns: int) -> TransformStamped:
    """A TransformStamped of a child frame's pose in its parent."""
    result = TransformStamped(header=_header(stamp_ns, parent), child_frame_id=child, transform=Transform())
    place, turn = result.transform.translation, result.transform.rotation
    place.x, place.y, place.z = pose.position
    turn.x, turn.y, turn.z, turn.w = pose.orientation
    return result


def _at_start(prefix: str, legend: dict[int, str]) -> Iterator[TimedMessage]:
    """What is latched: where the camera sits, and the names of the label image's ids."""
    static = TFMessage(transforms=[transform(BASE, CAMERA, SENSOR_IN_BASE, START_NS)])
    yield TimedMessage(START_NS, f"{prefix}tf_static", "tf2_msgs/msg/TFMessage", static, latched=True)
    names = String(data=json.dumps({str(k): name for k, name in legend.items()}))
    yield TimedMessage(START_NS, f"{prefix}label/label_info", "std_msgs/msg/String", names, latched=True)


def _tf(prefix: str, robot: Robot, stamp_ns: int) -> TimedMessage:
    """map -> odom as a localisation would correct it, and odom -> base_link as the odometry gives it."""
    t = (stamp_ns - START_NS) / NS_PER_S
    in_map, in_odom = robot.base_in_map(t), robot.base_in_odom(t)
    odom_in_map = compose(in_map, inverse(in_odom))
    both = [transform(MAP, ODOM, odom_in_map, stamp_ns), transform(ODOM, BASE, in_odom, stamp_ns)]
    return TimedMessage(stamp_ns, f"{prefix}tf", "tf2_msgs/msg/TFMessage", TFMessage(transforms=both))


def _header(stamp_ns: int, frame_id: str) -> Header:
    header = Header(frame_id=frame_id)
    header.stamp.sec, header.stamp.nanosec = divmod(stamp_ns, NS_PER_S)
    return header
