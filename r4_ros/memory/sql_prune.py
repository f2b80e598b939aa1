"""Dropping old history from a store: what the entries were made of, never what they are.

Dropped are observations, and frames that keep no depth of their own and that the trail can do without: where the agent
was then is still told to 5 cm and 3 degrees (see ``thinning``).
With them go the records of where anchors stood before SLAM moved them in that time. Entries with all their intervals,
events, episodes, anchors and kept views stay. History goes session by session from
its oldest stamp on, so one stamp a session says what is gone.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from r4_ros.core.errors import StoreFull
from r4_ros.core.model import FOREVER
from r4_ros.core.pose_array import PoseArray
from r4_ros.memory.codec import unpack_pose
from r4_ros.memory.sql import SET_META, Database
from r4_ros.memory.sql_frames import SESSIONS
from r4_ros.memory.store_upkeep import KEPT_NS, Dropped
from r4_ros.memory.thinning import needed

_PRUNED = "pruned/"
_DROPPED = ("dropped/observations", "dropped/frames")
_STEPS = 40
_SLICE_FRAMES, _SLICE_BESIDE = 2000, 100
_TURNS = 1.0
"""Beside a process that writes, it has as long to do so as each slice took."""
_SLICE = "session_no = :session AND stamp_ns >= :first AND stamp_ns <= :last"
_OBSERVATIONS = f"""DELETE FROM observation WHERE frame_id IN (SELECT frame_id FROM frame WHERE {_SLICE})
    RETURNING idx"""
_WAY = """SELECT frame_id, f.stamp_ns, depth IS NULL, anchor.map_id, pose_in_map, sensor_in_anchor, base_in_sensor,
    NOT EXISTS (SELECT 1 FROM frame l WHERE l.session_no = f.session_no AND l.stream_id = f.stream_id
    AND l.stamp_ns > f.stamp_ns) FROM frame f JOIN anchor USING(anchor_id) WHERE session_no = :session
    AND f.stamp_ns >= :first AND f.stamp_ns <= :last ORDER BY f.stamp_ns, frame_id"""
_MOVES = """DELETE FROM shift WHERE agent_id = :agent AND frame_id < (SELECT coalesce(min(frame_id), 0) FROM frame
    WHERE session_no = :session AND stamp_ns > :last)"""
_FROM = f"coalesce((SELECT value FROM meta WHERE name = '{_PRUNED}' || s.session_no), 0)"
_OLDEST = f"""SELECT agent_id, session, oldest FROM (SELECT agent_id, session, session_no,
    (SELECT min(stamp_ns) FROM frame f WHERE f.session_no = s.session_no AND stamp_ns >= {_FROM}) AS oldest
    FROM session s) o WHERE oldest IS NOT NULL ORDER BY oldest, session_no"""


@dataclass(frozen=True)
class Pruned:
    """What was dropped, or would be. ``before_ns``: the newest stamp of it, and 1 ns (0: nothing).

    ``room_stays``: why the room is only free within the database, not given back to the disk; empty: it is.
    """

    observations: int
    frames: int
    before_ns: int
    bytes_before: int
    bytes_after: int
    room_stays: str = ""


class _Undo(Exception):
    """Ends a dry run."""


def prune(
    file: Database, before_ns: int = FOREVER, max_bytes: int | None = None, dry_run: bool = False, beside: bool = False
) -> Pruned:
    """Drop what is older than ``before_ns``, oldest first, and only until ``max_bytes`` are left. Raises StoreError.

    ``beside`` a process that writes: in slices between which it does, and without the newest minute of each session.
    """
    if dry_run:
        found = Pruned(0, 0, 0, 0, 0)
        with suppress(_Undo), file.transaction():
            found = _pruned(file, before_ns, max_bytes, beside)
            raise _Undo
        return found
    found = _pruned(file, before_ns, max_bytes, beside)
    if beside:
        return replace(found, room_stays="somebody else writes to the database; what it writes next takes the room")
    if found.observations + found.frames:
        try:
            file.vacuum()
        except StoreFull as error:  # a disk that is nearly full is why one prunes
            return replace(found, room_stays=str(error))
    return found


def _pruned(file: Database, before_ns: int, max_bytes: int | None, beside: bool) -> Pruned:
    used = file.used_bytes()
    [(frames,)] = file.execute("SELECT count(*) FROM frame WHERE stamp_ns < ?", (before_ns,))
    step = _SLICE_BESIDE if beside else _SLICE_FRAMES
    if max_bytes is not None:
        step = min(step, max(1, -(-frames // _STEPS)))
    total = Dropped(0, 0, 0)
    while max_bytes is None or file.used_bytes() > max_bytes:
        began = time.monotonic()
        due = _due(file, before_ns, beside)
        if due is None:
            break
        some = drop_history(file, *due, step)
        before = max(total.before_ns, some.before_ns)
        total = Dropped(total.observations + some.observations, total.frames + some.frames, before)
        if beside:
            time.sleep(_TURNS * (time.monotonic() - began))
    return Pruned(total.observations, total.frames, total.before_ns, used, file.used_bytes())


def _due(file: Database, before_ns: int, beside: bool) -> tuple[str, int, int] | None:
    """Of which session history is to be dropped next, and before which stamp."""
    kept_ns = KEPT_NS if beside else -1
    newest = {(row[0], row[1]): row[4] for row in file.execute(SESSIONS)}
    for of, oldest_ns in oldest_history(file).items():
        until_ns = min(before_ns, newest[of] - kept_ns)
        if oldest_ns < until_ns:
            return *of, until_ns
    return None


def drop_history(file: Database, agent_id: str, session: int, before_ns: int, frames: int) -> Dropped:
    """Drop what about so many frames of a session saw, oldest first, as far as they are older than ``before_ns``."""
    with file.transaction():
        rows = file.execute("SELECT session_no FROM session WHERE agent_id = ? AND session = ?", (agent_id, session))
        first = pruned_before(file).get((agent_id, session), 0)
        sql = "SELECT stamp_ns FROM frame WHERE session_no = ? AND stamp_ns >= ? AND stamp_ns < ? ORDER BY stamp_ns"
        stamps = file.execute(f"{sql} LIMIT ?", (rows[0][0], first, before_ns, frames)) if rows else []
        if not stamps:
            return Dropped(0, 0, 0)
        slice_ = {"session": rows[0][0], "first": first, "last": stamps[-1][0]}
        counts = [len(file.execute(_OBSERVATIONS, slice_)), _thin(file, slice_)]
        file.execute(_MOVES, {"agent": agent_id, "session": rows[0][0], "last": stamps[-1][0]})
        after = stamps[-1][0] + 1
        file.execute(SET_META, (f"{_PRUNED}{rows[0][0]}", after))
        for name, count in zip(_DROPPED, counts, strict=True):
            file.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = meta.value + excluded.value",
                (name, count),
            )
        return Dropped(counts[0], counts[1], after)


def _thin(file: Database, slice_: dict[str, int]) -> int:
    """Drop the frames that the trail can do without; those that keep their depth, or are their camera's last, stay."""
    rows = file.execute(_WAY, slice_)
    if not rows:
        return 0
    in_map, in_anchor, base = (PoseArray.of([unpack_pose(row[i]) for row in rows]) for i in (4, 5, 6))
    stays = np.array([not row[2] or bool(row[7]) for row in rows])
    maps = np.array([row[3] for row in rows])
    changes = np.flatnonzero(maps[1:] != maps[:-1])
    stays[changes] = stays[changes + 1] = True
    stamps = np.array([row[1] for row in rows], np.int64)
    kept = needed(stamps, in_map.compose(in_anchor).compose(base), stays)
    dropped = [(row[0],) for row, keep in zip(rows, kept.tolist(), strict=True) if not keep]
    file.execute_many("DELETE FROM frame WHERE frame_id = ?", dropped)
    return len(dropped)


def oldest_history(file: Database) -> dict[tuple[str, int], int]:
    """For each (agent, session) that has history the stamp where it begins, oldest first."""
    return {(agent, session): oldest for agent, session, oldest in file.execute(_OLDEST)}


def pruned_before(file: Database) -> dict[tuple[str, int], int]:
    """For each (agent, session) the stamp before which frames aren't taken again, since they were dropped."""
    rows = file.execute(
        f"SELECT agent_id, session, value FROM meta JOIN session ON name = '{_PRUNED}' || session_no ORDER BY 1, 2"
    )
    return {(agent, session): value for agent, session, value in rows}


def dropped(file: Database) -> Dropped:
    """All that was ever dropped, and the newest stamp of it, and 1 ns (0: nothing)."""
    counts = [
        file.execute("SELECT coalesce(max(value), 0) FROM meta WHERE name = ?", (name,))[0][0] for name in _DROPPED
    ]
    return Dropped(counts[0], counts[1], max(pruned_before(file).values(), default=0))
