"""What PostgreSQL keeps for robots that synchronise: how far each came, and a log of what changed for the others.

``synced``: how much of each robot's memory was worked in, written in the transaction that works it in. ``changed``:
which entries, events and absences changed, in the order of commits (one process writes); all else that is told has
numbers that grow. It is written only where robots have roles, and its beginning is dropped: who comes later takes all
anew.
"""

from __future__ import annotations

from r4_ros.memory.sql import Migration

CHANNEL_DOWN, CHANNEL_UP, CHANNEL_DONE = "r4_changed", "r4_inbox", "r4_synced"
CHANGES_KEPT = 200_000
"""Statements whose changes are told one by one."""
_SWEEP = 4096


def _log(table: str, event: str, number: str, touched: str = "touched") -> str:
    rows = "OLD" if event == "DELETE" else "NEW"
    return (
        f"CREATE TRIGGER note_{event.lower()} AFTER {event} ON {table} REFERENCING {rows} TABLE AS {touched} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION note_{number}()"
    )


def _function(number: str, kind: str, ids: str, gone: str = "NULL") -> str:
    return f"""CREATE FUNCTION note_{number}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE newest BIGINT; BEGIN
        IF NOT EXISTS (SELECT 1 FROM robot_role) OR NOT EXISTS (SELECT 1 FROM touched) THEN RETURN NULL; END IF;
        INSERT INTO changed(kind, ids, gone) SELECT '{kind}', {ids}, {gone} FROM touched
            RETURNING change_no INTO newest;
        IF newest % {_SWEEP} = 0 THEN DELETE FROM changed WHERE change_no <= newest - {CHANGES_KEPT}; END IF;
        PERFORM pg_notify('{CHANNEL_DOWN}', '');
        RETURN NULL; END $$"""


SYNC: Migration = (
    """CREATE TABLE synced(
        agent_id TEXT COLLATE "C" NOT NULL, writer TEXT COLLATE "C" NOT NULL, sequence BIGINT NOT NULL,
        told TEXT COLLATE "C" NOT NULL, offset_ns BIGINT NOT NULL, round_ns BIGINT NOT NULL, frames BIGINT NOT NULL,
        observations BIGINT NOT NULL, refused BIGINT NOT NULL, problem TEXT COLLATE "C" NOT NULL,
        at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY(agent_id, writer))""",
    """CREATE TABLE synced_correction(
        agent_id TEXT COLLATE "C" NOT NULL, writer TEXT COLLATE "C" NOT NULL, theirs BIGINT NOT NULL,
        ours BIGINT NOT NULL, PRIMARY KEY(agent_id, writer, theirs))""",
    """CREATE TABLE changed(
        change_no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind TEXT COLLATE "C" NOT NULL,
        ids BIGINT[] NOT NULL, gone TEXT[], at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())""",
    _function("entry", "entry", "array_agg(slot)"),
    _function("gone", "gone", "array_agg(slot)", "array_agg(entry_id)"),
    _function("event", "event", "array_agg(event_no)"),
    _function("absence", "absence", "array_agg(DISTINCT slot)"),
    _log("entry", "INSERT", "entry"),
    _log("entry", "UPDATE", "entry"),
    _log("entry", "DELETE", "gone"),
    _log("event", "INSERT", "event"),
    _log("event", "UPDATE", "event"),
    _log("found_absent", "INSERT", "absence"),
    _log("found_absent", "UPDATE", "absence"),
)
"""``changed.at`` tells a database that was restored from an older copy by rows that are others under their numbers."""
