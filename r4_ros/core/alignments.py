"""Where agents' maps lie in common ones, so that what several of them saw can be told in the same coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose, inverse, normalized
from r4_ros.core.limits import check_place
from r4_ros.core.values import Pose, Vec3


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where an agent's map lies: ``pose`` is its origin in the coordinates of the map ``common_id``, m.

    ``frame``: name of that map's fixed frame; empty: as the frames recorded on it say.
    """

    agent_id: str
    map_id: str
    common_id: str
    pose: Pose
    frame: str = ""


@dataclass(frozen=True, slots=True)
class AlignmentRecord:
    """An alignment as it is kept, or (``alignment`` None) that the last one of this map was taken back.

    ``undone_by``: number of the record that takes it back; 0: none.
    """

    number: int
    stamp_ns: int
    agent_id: str
    map_id: str
    alignment: Alignment | None
    source: str = ""
    undone_by: int = 0


class Alignments:
    """The alignments that hold. A map without one is its own common map."""

    def __init__(self, records: Iterable[AlignmentRecord] = ()) -> None:
        self._of = {(r.agent_id, r.map_id): r.alignment for r in records if r.alignment is not None and not r.undone_by}

    def __bool__(self) -> bool:
        return bool(self._of)

    def __iter__(self) -> Iterator[Alignment]:
        return iter(self._of.values())

    def of(self, agent_id: str, map_id: str) -> Alignment | None:
        """Where an agent's map lies in another one; None: nobody said."""
        return self._of.get((agent_id, map_id))

    def map_of(self, agent_id: str, map_id: str) -> str:
        """Id of the map in whose coordinates an agent's map is told."""
        alignment = self._of.get((agent_id, map_id))
        return map_id if alignment is None else alignment.common_id

    def in_common(self, agent_id: str, map_id: str, point: Vec3) -> Vec3:
        """A point of an agent's map in common coordinates."""
        alignment = self._of.get((agent_id, map_id))
        return point if alignment is None else compose(alignment.pose, Pose(point)).position

    def in_own(self, agent_id: str, map_id: str, pose: Pose) -> Pose:
        """A pose in common coordinates, in those of an agent's map."""
        alignment = self._of.get((agent_id, map_id))
        return pose if alignment is None else compose(inverse(alignment.pose), pose)

    def frames(self) -> dict[str, str]:
        """Names of the fixed frames of common maps, as far as alignments say them."""
        return {a.common_id: a.frame for a in self._of.values() if a.frame}


def checked(alignment: Alignment) -> Alignment:
    """The alignment with a unit quaternion. Raises InvalidArgument for names that are missing and impossible poses."""
    if not (alignment.agent_id and alignment.map_id and alignment.common_id):
        raise InvalidArgument("an alignment needs an agent, its map's id and the id of the map that it lies in")
    check_place(alignment.pose.position, f"alignment of '{alignment.map_id}':")
    pose = Pose(alignment.pose.position, normalized(alignment.pose.orientation))
    return Alignment(alignment.agent_id, alignment.map_id, alignment.common_id, pose, alignment.frame)
