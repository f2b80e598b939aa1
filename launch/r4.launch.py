"""The nodes of r4_ros under ``ros2 launch``: ``ros2 launch r4_ros r4.launch.py --show-args`` lists what can be chosen.

A robot of a fleet gets its own namespace; with one, /tf and /tf_static become relative names.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription
from r4_ros.memory.database_name import is_url
from r4_ros.nodes.start import NODES, StartOptions, chosen_nodes, ros_arguments

ARGUMENTS = {
    "nodes": (",".join(NODES), "which nodes, with commas between"),
    "namespace": ("", "namespace of the nodes, one for each robot"),
    "agent_id": ("", "whose memory this is; empty: the namespace, else the host's name"),
    "agents": ("", "namespaces of the robots that this memory serves, with commas between; empty: its own"),
    "memory_namespace": ("", "where the memory is, if not in this namespace; / for none"),
    "db": ("", "memory's SQLite file, or postgresql://USER@HOST/NAME; empty: r4.db in ROS_HOME"),
    "params_file": ("", "ROS parameter file, see config/r4.yaml; empty: the defaults"),
    "use_sim_time": ("false", "take the time from /clock"),
    "camera": ("", "name of this camera, where a robot has several: start perception once for each"),
    "detector": ("", "ONNX file of the detector"),
    "segmenter": ("", "detector or label_image; empty: as the parameter file says"),
    "compressed": ("false", "subscribe to compressed colour images"),
    "regions": ("", "YAML with named polygons of the map"),
    "color": ("", "topic of the colour image"),
    "depth": ("", "topic of the depth image"),
    "color_info": ("", "topic of the colour camera's camera_info"),
    "depth_info": ("", "topic of the depth camera's camera_info"),
    "cloud": ("", "topic of the point cloud, with depth_source cloud"),
    "label": ("", "topic of the label image"),
    "odom": ("", "topic of the odometry, with pose_source odometry"),
    "pose": ("", "topic of the pose, with pose_source pose"),
    "respawn": ("true", "start a node again when it dies"),
}
TOPICS = {
    "color": "color/image_raw",
    "depth": "depth/image_raw",
    "color_info": "color/camera_info",
    "depth_info": "depth/camera_info",
    "cloud": "cloud",
    "label": "label/image_raw",
    "odom": "odom",
    "pose": "pose",
}


def _names(text):
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _file(text):
    return Path(text).expanduser() if text else None


def _is_true(text):
    return text.lower() in ("true", "1", "yes")


def _options(value):
    topics = dict(TOPICS)
    if _is_true(value["compressed"]):
        topics["color"] += "/compressed"
    return StartOptions(
        only=_names(value["nodes"]),
        namespace=value["namespace"],
        agent=value["agent_id"],
        agents=_names(value["agents"]),
        memory_namespace=value["memory_namespace"],
        db=value["db"] if is_url(value["db"]) else _file(value["db"]),
        params=_file(value["params_file"]),
        sim_time=_is_true(value["use_sim_time"]),
        camera=value["camera"],
        detector=_file(value["detector"]),
        segmenter=value["segmenter"],
        compressed=_is_true(value["compressed"]),
        regions=_file(value["regions"]),
        remaps={topic: value[name] for name, topic in topics.items() if value[name]},
    )


def _nodes(context):
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    options = _options(value)
    return [
        Node(
            package="r4_ros",
            executable=f"{name}_node",
            ros_arguments=ros_arguments(name, options),
            output="screen",
            respawn=_is_true(value["respawn"]),
            respawn_delay=1.0,
        )
        for name in chosen_nodes(options)
    ]


def generate_launch_description():
    """Declare the arguments; the nodes are made once their values are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_nodes)])
