"""Corrected paths as SLAMs send them, as the nodes that memory takes: stamps in ns and base poses in the map."""

from __future__ import annotations

import itertools
from typing import Any

from r4_ros import msg
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Pose
from r4_ros.nodes.convert import pose_from_msg, pose_to_msg, time_from_msg, time_to_msg

PathNodes = tuple[list[int], list[Pose]]


def correction_to_msg(agent_id: str, stamps_ns: list[int], poses: list[Pose], map_id: str = "") -> msg.AnchorCorrection:
    """A correction as the message."""
    return msg.AnchorCorrection(
        agent_id=agent_id,
        map_id=map_id,
        stamps=[time_to_msg(stamp) for stamp in stamps_ns],
        poses=[pose_to_msg(pose) for pose in poses],
    )


def correction_from_msg(correction: Any) -> PathNodes:
    """The nodes of an AnchorCorrection."""
    return [time_from_msg(stamp) for stamp in correction.stamps], [pose_from_msg(pose) for pose in correction.poses]


def path_from_msg(path: Any, map_frame: str = "") -> PathNodes:
    """The nodes of a nav_msgs/Path. ``map_frame``: the frame that it must be in; empty: any.

    Raises InvalidArgument for a path that doesn't say when the robot was where, as some SLAMs' don't.
    """
    stamps = [time_from_msg(stamped.header.stamp) for stamped in path.poses]
    if len(stamps) > 1 and len(set(stamps)) == 1:
        raise InvalidArgument(
            f"the path's {len(stamps)} poses all have one stamp, so it doesn't say when the robot was where; "
            "send memory/anchor_correction instead"
        )
    if any(later <= earlier for earlier, later in itertools.pairwise(stamps)):
        raise InvalidArgument("the stamps of the path's poses don't increase; send memory/anchor_correction instead")
    if map_frame and path.header.frame_id != map_frame:
        raise InvalidArgument(f"the path is in frame '{path.header.frame_id}', this memory's map in '{map_frame}'")
    return stamps, [pose_from_msg(stamped.pose) for stamped in path.poses]
