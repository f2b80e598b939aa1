"""What a spatial constraint must have to be one."""

from __future__ import annotations

import itertools
import math

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.limits import is_place, is_pose
from r4_ros.core.queries import Reference, SpatialConstraint
from r4_ros.memory import relations, views


def check(constraint: SpatialConstraint) -> None:
    """Raise InvalidArgument for an unknown relation, or one that lacks what it refers to."""
    relations.check_relation(constraint.relation)
    relation, kind = constraint.relation, constraint.reference
    check_numbers(constraint)
    if relation in views.FROM_A_POSE and kind not in (Reference.EGO, Reference.POSE):
        raise InvalidArgument(f"'{relation}' is seen from a pose: REFERENCE_EGO or REFERENCE_POSE")
    if relation in ("in_view", "in_cone") and not 0 < constraint.horizontal_fov <= 2 * math.pi:
        raise InvalidArgument(f"'{relation}' needs a horizontal field of view, rad, not {constraint.horizontal_fov:g}")
    if relation == "in_view" and not 0 < constraint.vertical_fov <= 2 * math.pi:
        raise InvalidArgument(f"'in_view' needs a vertical field of view, rad, not {constraint.vertical_fov:g}")
    if kind is Reference.BOX and not all(size > 0 for size in constraint.extent):
        raise InvalidArgument("a box needs its full size along its three axes, above 0 m")
    if kind is Reference.POLYGON and (len(constraint.polygon) < 3 or not constraint.z_max > constraint.z_min):
        raise InvalidArgument("a polygon needs 3 corners, and z_min below z_max")


def check_numbers(constraint: SpatialConstraint) -> None:
    """Raise InvalidArgument for a pose that can't be, and numbers that aren't finite."""
    posed = constraint.reference in (Reference.POSE, Reference.BOX)
    sound = is_pose(constraint.pose) if posed else is_place(constraint.pose.position)
    numbers = (constraint.min_distance, constraint.max_distance, *itertools.chain.from_iterable(constraint.polygon))
    if not sound or not all(map(math.isfinite, numbers)):
        raise InvalidArgument("what is asked about needs a possible position, a unit quaternion and finite numbers")
