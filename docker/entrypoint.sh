#!/bin/bash
# Run a command with ROS and r4_ros sourced.
# shellcheck disable=SC1090,SC1091 # these files exist in the image only
set -e
source "/opt/ros/$ROS_DISTRO/setup.bash"
source /opt/r4_ros/install/setup.bash
exec "$@"
