"""A fleet from one launch file: a map server, and perception for each robot in a namespace of its own.

    ros2 launch r4_ros fleet.launch.py robots:=robot1,robot2 db:=fleet.db

On a robot's own computer ``r4.launch.py`` starts what belongs there; this one is for simulators and a single machine.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription

ARGUMENTS = {
    "robots": ("robot1,robot2", "namespaces of the robots, with commas between"),
    "server": ("map_server", "namespace of the map server"),
    "server_nodes": ("memory,reasoner", "its nodes, with commas between"),
    "robot_nodes": ("perception", "each robot's nodes, with commas between"),
}
PASSED_ON = {
    "db": ("", "memory's SQLite file, or postgresql://USER@HOST/NAME; empty: r4.db in ROS_HOME"),
    "params_file": ("", "ROS parameter file, see config/r4.yaml; empty: the defaults"),
    "use_sim_time": ("false", "take the time from /clock"),
    "detector": ("", "ONNX file of the detector"),
    "segmenter": ("", "detector or label_image; empty: as the parameter file says"),
    "regions": ("", "YAML with named polygons of the map"),
    "respawn": ("true", "start a node again when it dies"),
}
ONE = Path(__file__).with_name("r4.launch.py")


def _part(context, **arguments):
    """What r4.launch.py starts with these arguments; they hold for nothing else."""
    common = {name: LaunchConfiguration(name).perform(context) for name in PASSED_ON}
    source = PythonLaunchDescriptionSource(str(ONE))
    return GroupAction([IncludeLaunchDescription(source, launch_arguments={**common, **arguments}.items())])


def _fleet(context):
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    robots = [name.strip() for name in value["robots"].split(",") if name.strip()]
    server = value["server"].strip("/")
    parts = [_part(context, nodes=value["server_nodes"], namespace=server, agents=",".join(robots))]
    for robot in robots:
        options = {"nodes": value["robot_nodes"], "namespace": robot, "memory_namespace": f"/{server}"}
        parts.append(_part(context, **options))
    return parts


def generate_launch_description():
    """Declare the arguments; the parts are made once their values are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in {**ARGUMENTS, **PASSED_ON}.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_fleet)])
