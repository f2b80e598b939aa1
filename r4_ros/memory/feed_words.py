"""What people corrected at a map server of one robot's things, read from its database by that robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.model import MEMORY, CorrectionKind, CorrectionRecord, Vec3
from r4_ros.memory import shares
from r4_ros.memory.codec import unpack_pose
from r4_ros.memory.heard import ServerWords
from r4_ros.memory.sql import Database
from r4_ros.memory.sql_entries import EntryTable
from r4_ros.memory.sql_rows import correction_record

_SAID = """SELECT c.correction_no, c.stamp_ns, c.kind, c.source, c.entry_id, c.request, c.entries, c.undone_by,
    CASE WHEN c.undone_by = 0 THEN 0 ELSE greatest(1, (SELECT u.stamp_ns FROM correction u
        WHERE u.correction_no = c.undone_by)) END
    FROM correction c JOIN entry e USING(entry_id) WHERE e.agent_id = ? AND c.source <> ? AND c.kind <> ?
    AND NOT EXISTS (SELECT 1 FROM synced_correction s WHERE s.agent_id = e.agent_id AND s.ours = c.correction_no)
    ORDER BY c.correction_no"""
_UNSAID = """SELECT s.theirs, u.stamp_ns FROM synced_correction s JOIN correction c ON c.correction_no = s.ours
    JOIN correction u ON u.correction_no = c.undone_by WHERE s.agent_id = ? AND s.writer = ?
    AND NOT EXISTS (SELECT 1 FROM synced_correction t WHERE t.agent_id = s.agent_id AND t.ours = u.correction_no)"""
_SLOTS = "SELECT slot FROM entry WHERE entry_id = ANY(?)"
_POSES = "SELECT anchor_id, pose_in_map FROM anchor WHERE anchor_id = ANY(?)"


def server_words(file: Database, agent_id: str, writer: str) -> ServerWords:
    """All of it. ``writer``: what the robot's memory is called."""
    rows = file.execute(_SAID, (agent_id, MEMORY, int(CorrectionKind.UNDO)))
    said = [(correction_record(row), int(row[8])) for row in rows]
    places = _pinned(file, [record for record, undone_ns in said if not undone_ns])
    placed = ((_at(record, places), undone_ns) for record, undone_ns in said)
    return ServerWords(tuple(placed), dict(file.execute(_UNSAID, (agent_id, writer))))


def _at(record: CorrectionRecord, places: dict[str, Vec3]) -> CorrectionRecord:
    if record.correction.kind is not CorrectionKind.PIN:
        return record
    return replace(record, correction=replace(record.correction, position=places.get(record.correction.entry_id)))


def _pinned(file: Database, holding: Sequence[CorrectionRecord]) -> dict[str, Vec3]:
    """Where in their own maps pinned things are, by their ids."""
    ids = sorted({r.correction.entry_id for r in holding if r.correction.kind is CorrectionKind.PIN})
    slots = [row[0] for row in file.execute(_SLOTS, (ids,))] if ids else []
    entries = [stored.entry for stored in EntryTable(file).read(slots, also_merged=True)] if slots else []
    numbers = {n for e in entries for n in (e.stays[-1].anchor_id, *(s.anchor_id for s in e.stays[-1].shares))}
    poses = {n: unpack_pose(pose) for n, pose in file.execute(_POSES, (sorted(numbers),))} if numbers else {}
    return {e.entry_id: shares.box(e.stays[-1], poses.__getitem__).pose.position for e in entries}
