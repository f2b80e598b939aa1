"""What RViz shows of a memory: boxes coloured by state, names, and the agents' trails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

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
    entries: Sequence[PlacedEntry],
    trails: Iterable[Sequence[TrailPoint]],
    header: Header,
    frames: Mapping[str, str] = MappingProxyType({}),
) -> MarkerArray:
    """All markers of a memory; the first one clears what was shown before.

    ``frames``: names of maps' fixed frames; others' is the header's. Of maps that aren't aligned though their frames
    have one name, only the one with the most in it is shown: RViz would draw them into each other.
    """
    ways = [_on_one_map(points) for points in trails]
    drawn = _drawn(entries, ways, header, frames)
    shown = [Marker(header=header, action=Marker.DELETEALL)]
    for number, entry in enumerate(entry for entry in entries if entry.map_id in drawn):
        on = drawn[entry.map_id]
        shown += [_box(entry, number, on), _name(entry, number, on)]
    for number, points in enumerate(ways):
        if len(points) > 1 and points[-1].map_id in drawn:
            shown.append(_trail(points, number, drawn[points[-1].map_id]))
    return MarkerArray(markers=shown)


def _on_one_map(points: Sequence[TrailPoint]) -> Sequence[TrailPoint]:
    """The points on the map on which a way ends."""
    return [point for point in points if point.map_id == points[-1].map_id]


def _drawn(
    entries: Sequence[PlacedEntry], ways: Sequence[Sequence[TrailPoint]], header: Header, frames: Mapping[str, str]
) -> dict[str, Header]:
    """The header of each map that is drawn: of those with one frame, the one with the most entries."""
    most = Counter(entry.map_id for entry in entries)
    most.update({points[-1].map_id: 0 for points in ways if points})
    chosen: dict[str, Header] = {}
    taken: set[str] = set()
    for map_id, _ in sorted(most.items(), key=lambda item: (-item[1], item[0])):
        frame = frames.get(map_id) or header.frame_id
        if frame not in taken:
            taken.add(frame)
            chosen[map_id] = Header(stamp=header.stamp, frame_id=frame)
    return chosen


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
