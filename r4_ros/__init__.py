"""r4_ros: a 4D memory for robots.

The generated `r4_ros.msg`, `r4_ros.srv` and `r4_ros.action` may lie in another folder of `sys.path` than this file
(an editable install, an overlay), so the package spans every folder of that name.
"""

import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)
__version__ = "0.1.0"
