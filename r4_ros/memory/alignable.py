"""The part of the library that says where agents' maps lie in common ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from r4_ros.core.alignments import Alignment, AlignmentRecord, Alignments, checked
from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.memory.anchoring import AnchorBook, apart
from r4_ros.memory.correctable import Correctable

CONFIGURATION = "configuration"
"""Source of alignments that a node's configuration says."""
MAP_SERVER = "map server"
"""Source of those that a map server says."""
ROBOT = "robot: "
"""What the source begins with of those that a robot said of its own map."""

_SAME = 1e-12


class Alignable(Correctable):
    """What a library needs for that; it sets these fields itself."""

    _anchors: AnchorBook
    _alignments: list[AlignmentRecord]
    _map_frames: dict[str, str]

    def align(self, alignment: Alignment, stamp_ns: int, source: str = "") -> AlignmentRecord | None:
        """Say where an agent's map lies: from now on all that hangs on it is told in the common map's coordinates.

        Nothing stored is rewritten; on return it survives kill -9. None: so it was already. An agent or map that
        isn't known yet may come later. Raises InvalidArgument for a pose or name that can't be, StoreError.
        """
        alignment = checked(alignment)
        with self._writing, self._lock:
            self._refuse_if_read_only()
            if _same(self._anchors.alignments.of(alignment.agent_id, alignment.map_id), alignment):
                return None
            owner = alignment.agent_id, alignment.map_id
            return self._keep(AlignmentRecord(self._next_number(), stamp_ns, *owner, alignment, source), 0)

    def configure(self, alignment: Alignment, stamp_ns: int) -> AlignmentRecord | None:
        """The same by configuration: what was said since the configuration last changed goes on to hold."""
        with self._writing:
            owner = alignment.agent_id, alignment.map_id
            said = [r for r in self._alignments if (r.agent_id, r.map_id) == owner and r.source == CONFIGURATION]
            if said and said[-1].alignment == checked(alignment):
                return None
            return self.align(alignment, stamp_ns, CONFIGURATION)

    def has_said(self, agent_id: str, since: int) -> bool:
        """Whether somebody said here where a map of an agent lies, since the record of a number."""
        with self._lock:
            said = (r for r in self._alignments if r.agent_id == agent_id and r.number > since)
            return any(r.source != MAP_SERVER for r in said)

    def hear_alignments(self, said: Iterable[AlignmentRecord], agent_id: str = "") -> int:
        """The same by a map server, of which these hold there now: what it doesn't say any more is taken back.

        Of ``agent_id``'s maps, which tells the server what is said here, all is as it is there. Of others' maps what
        was said here since the server last changed its word of one goes on to hold. Gives how many changed.
        """
        with self._writing:
            now = {(r.agent_id, r.map_id): checked(r.alignment) for r in said if r.alignment is not None}
            stamps = {(r.agent_id, r.map_id): r.stamp_ns for r in said}
            before = {(r.agent_id, r.map_id): r for r in self._alignments if r.source == MAP_SERVER}
            own = {owner for owner in self._held() if owner[0] == agent_id}
            changed = 0
            for owner in sorted(before.keys() | now.keys() | own):
                last, wanted = before.get(owner), now.get(owner)
                known = None if last is None else last.alignment
                if _same(self._anchors.alignments.of(*owner) if owner[0] == agent_id else known, wanted):
                    continue
                gone = self._held().get(owner, []) if owner in own and wanted is None else []
                for record in gone or ([last] if last is not None and known is not None else []):
                    self._unsay(record, record.stamp_ns, MAP_SERVER)
                    changed += 1
                if wanted is not None:
                    changed += self.align(wanted, stamps[owner], MAP_SERVER) is not None
            return changed

    def hear_robot(self, said: AlignmentRecord) -> None:
        """The same by the robot whose map it is, where that lies as of a stamp (no alignment: in no other one).

        The newest word holds: what was said here later goes on to hold, and the robot's once that is taken back. What
        the robot said before is taken back.
        """
        with self._writing:
            if said.alignment is not None:
                said = replace(said, alignment=checked(said.alignment))
            owner, source = (said.agent_id, said.map_id), f"{ROBOT}{said.source}"
            told = [r for r in self._alignments if (r.agent_id, r.map_id) == owner and r.source.startswith(ROBOT)]
            newer = said.stamp_ns - told[-1].stamp_ns if told else 1
            if newer < 0 or (not newer and _same(said.alignment, told[-1].alignment)):
                return  # told by an older copy of its file, or again
            held = self._held().get(owner, [])
            later = [r for r in held if r.stamp_ns > said.stamp_ns]
            robots = [r for r in held if r.source.startswith(ROBOT)]
            for record in [*later, *(robots if said.alignment is not None else held)]:
                self._unsay(record, said.stamp_ns, source)
            for record in (replace(said, source=source), *later):
                if record.alignment is not None:
                    self.align(record.alignment, record.stamp_ns, record.source)

    def _held(self) -> dict[tuple[str, str], list[AlignmentRecord]]:
        """By agent and map, what holds or would if what was said after it were taken back, oldest first."""
        found: dict[tuple[str, str], list[AlignmentRecord]] = {}
        for r in self._alignments:
            if r.alignment is not None and not r.undone_by:
                found.setdefault((r.agent_id, r.map_id), []).append(r)
        return found

    def _unsay(self, last: AlignmentRecord, stamp_ns: int, source: str) -> None:
        """Somebody elsewhere doesn't say it any more; somebody here may have taken it back before."""
        with self._lock:
            self._refuse_if_read_only()
            now = next(r for r in self._alignments if r.number == last.number)
            record = AlignmentRecord(self._next_number(), stamp_ns, last.agent_id, last.map_id, None, source)
            self._keep(record, 0 if now.undone_by else last.number)

    def take_back_alignment(self, agent_id: str, map_id: str, stamp_ns: int, source: str = "") -> AlignmentRecord:
        """Take back what was last said of a map and still holds; what was said before holds again.

        Raises UnknownEntry where nothing holds, StoreError.
        """
        with self._writing, self._lock:
            self._refuse_if_read_only()
            holding = [
                r
                for r in self._alignments
                if (r.agent_id, r.map_id) == (agent_id, map_id) and r.alignment is not None and not r.undone_by
            ]
            if not holding:
                raise UnknownEntry(f"map '{map_id}' of agent '{agent_id}' isn't aligned with another one")
            record = AlignmentRecord(self._next_number(), stamp_ns, agent_id, map_id, None, source)
            return self._keep(record, holding[-1].number)

    def _next_number(self) -> int:
        return self._alignments[-1].number + 1 if self._alignments else 1

    def _keep(self, record: AlignmentRecord, undoes: int) -> AlignmentRecord:
        """Store a record, and let queries see what then holds."""
        before = [replace(r, undone_by=record.number) if r.number == undoes else r for r in self._alignments]
        records = [*before, record]
        beside = self._index.aligned(Alignments(records))
        self._store.write_alignment(record, undoes, self._revision + 1)
        self._anchors.take(beside.anchors)
        self._index.take_places(beside)
        self._alignments = records
        self._revision += 1
        return record

    def alignments(self) -> list[AlignmentRecord]:
        """All that was said of where maps lie, oldest first, also what doesn't hold any more."""
        with self._lock:
            return list(self._alignments)

    def own_maps(self) -> dict[tuple[str, str], str]:
        """By agent and map id, for all that anything is known of: the id of the map that it is told in."""
        with self._lock:
            return {owner: self._anchors.alignments.map_of(*owner) for owner in self._anchors.owners}

    def map_frames(self) -> dict[str, str]:
        """Name of each common map's fixed frame; its id where nobody gave one."""
        with self._lock:
            return self._common_frames()

    def _common_frames(self) -> dict[str, str]:
        alignments = self._anchors.alignments
        unnamed = {a.common_id: a.common_id for a in alignments}
        return {**unnamed, **self._map_frames, **alignments.frames()}

    def common_map(self, agent_id: str, map_id: str, given: str = "") -> str:
        """The map that ``given`` names as the common one; empty: the only other one there is. Raises InvalidArgument.

        Raises UnknownEntry for an agent's map that nothing is known of.
        """
        known = self.own_maps()
        if (agent_id, map_id) not in known:
            names = ", ".join(f"'{agent}': '{own}'" for agent, own in sorted(known)) or "none yet"
            raise UnknownEntry(f"agent '{agent_id}' has no map '{map_id}'; known maps by agent: {names}")
        others = {common for owner, common in known.items() if owner != (agent_id, map_id)}
        if given:
            return given
        if len(others) != 1:
            raise InvalidArgument(f"into which map? others are: {', '.join(sorted(others)) or 'none'}")
        return others.pop()


def _same(a: Alignment | None, b: Alignment | None) -> bool:
    """Whether two say the same; a quaternion that is normalized again differs in its last digits."""
    if a is None or b is None:
        return a is b
    return replace(a, pose=b.pose) == b and apart(a.pose, b.pose) < _SAME
