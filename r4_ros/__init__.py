"""r4_ros: a 4D memory for robots."""

import os
import pkgutil
import sys

__version__ = "0.1.0"

# The generated r4_ros.msg, r4_ros.srv and r4_ros.action may lie in another folder of sys.path than this file
# (an editable install, an overlay): the package spans every folder of its name.
__path__ = pkgutil.extend_path(__path__, __name__)

# ROS 2 installed from wheels has no setup.bash to source; rclpy finds its middleware through this variable.
if os.path.isdir(os.path.join(sys.prefix, "share", "ament_index")):  # noqa: PTH112, PTH118 (pathlib is slow to import)
    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)
