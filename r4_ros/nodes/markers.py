"""What RViz shows of a memory: boxes coloured by state, names, and the agents' trails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from r4_ros.core.model import EntryState, PlacedEntry, TrailPoint
from r4_ros.nodes.convert import point_to_msg, pose_to_msg, vector_to_msg

COLORS = {
    EntryState.PRESENT: ColorRGBA(r=0.2, g=0.7, b=0.3, a=0.5),
    EntryState.GONE: ColorRGBA(r=0.8, g=0.2, b=0.2, a=0.3),
    EntryState.UNKNOWN: ColorRGBA(r=0.5, g=0.5, b=0.5, a=0.4),
}
TEXT_COLOR = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)
TRAIL_COLOR = ColorRGBA(r=0.2, g=0.5, b=0.9, a=0.9)
THINNEST_M = 0.01
TEXT_HEIGHT_M = 0.12
TRAIL_WIDTH_M = 0.03
TRAIL_POINTS = 500


def memory_markers(
    entries: Sequence[PlacedEntry], trails: Iterable[Sequence[TrailPoint]], header: Header
) -> MarkerArray:
    """All markers of a memory; the first one clears what was shown before."""
    shown = [Marker(header=header, action=Marker.DELETEALL)]
    for number, entry in enumerate(entries):
        shown += [_box(entry, number, header), _name(entry, number, header)]
    shown += [_trail(points, number, header) for number, points in enumerate(trails) if len(points) > 1]
    return MarkerArray(markers=shown)


def _box(entry: PlacedEntry, number: int, header: Header) -> Marker:
    x, y, z = (max(size, THINNEST_M) for size in entry.box.extent)
    return Marker(
        header=header,
        ns="boxes",
        id=number,
        type=Marker.CUBE,
        pose=pose_to_msg(entry.box.pose),
        scale=vector_to_msg((x, y, z)),
        color=COLORS[entry.state],
    )


def _name(entry: PlacedEntry, number: int, header: Header) -> Marker:
    above = Marker(
        header=header,
        ns="names",
        id=number,
        type=Marker.TEXT_VIEW_FACING,
        pose=pose_to_msg(entry.box.pose),
        scale=Vector3(z=TEXT_HEIGHT_M),
        color=TEXT_COLOR,
        text=entry.label + (" (gone)" if entry.state is EntryState.GONE else ""),
    )
    above.pose.position.z += max(entry.box.extent) / 2 + TEXT_HEIGHT_M
    return above


def _trail(points: Sequence[TrailPoint], number: int, header: Header) -> Marker:
    step = -(-len(points) // TRAIL_POINTS)
    return Marker(
        header=header,
        ns="trails",
        id=number,
        type=Marker.LINE_STRIP,
        scale=Vector3(x=TRAIL_WIDTH_M),
        color=TRAIL_COLOR,
        points=[point_to_msg(point.pose.position) for point in points[::step]],
    )
