"""The schema of the memory's database, as numbered steps. Append only: a released step never changes.

Poses are blobs of little-endian floats (x y z, then quaternion x y z w), embeddings float16. Everything with a place
hangs on an anchor and is stored relative to it, so that a loop closure rewrites anchors only.
"""

from __future__ import annotations

from r4_ros.memory.sql import Migration

APPLICATION_ID = 0x52344D45  # 'R4ME'

MIGRATIONS: tuple[Migration, ...] = (
    (
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        """CREATE TABLE session(
            session_no INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, session INTEGER NOT NULL, era INTEGER NOT NULL,
            first_ns INTEGER NOT NULL, newest_ns INTEGER NOT NULL, UNIQUE(agent_id, session))""",
        """CREATE TABLE writer(
            writer_no INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, camera TEXT NOT NULL, writer TEXT NOT NULL,
            writer_session INTEGER NOT NULL, first_sequence INTEGER NOT NULL, session INTEGER NOT NULL,
            newest_sequence INTEGER NOT NULL, newest_ns INTEGER NOT NULL,
            UNIQUE(agent_id, camera, writer, writer_session, first_sequence))""",
        """CREATE TABLE stream(
            stream_id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, camera TEXT NOT NULL, map_id TEXT NOT NULL,
            map_frame TEXT NOT NULL, sensor_frame TEXT NOT NULL, horizontal_fov REAL NOT NULL,
            vertical_fov REAL NOT NULL, min_depth REAL NOT NULL, max_depth REAL NOT NULL,
            UNIQUE(agent_id, camera, map_id, map_frame, sensor_frame,
                   horizontal_fov, vertical_fov, min_depth, max_depth))""",
        """CREATE TABLE anchor(
            anchor_id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, camera TEXT NOT NULL, session INTEGER NOT NULL,
            map_id TEXT NOT NULL, stamp_ns INTEGER NOT NULL, pose_in_map BLOB NOT NULL, pose_in_odom BLOB)""",
        """CREATE TABLE frame(
            frame_id INTEGER PRIMARY KEY, session_no INTEGER NOT NULL REFERENCES session, stamp_ns INTEGER NOT NULL,
            stream_id INTEGER NOT NULL REFERENCES stream, writer_no INTEGER NOT NULL REFERENCES writer,
            sequence INTEGER NOT NULL, anchor_id INTEGER NOT NULL REFERENCES anchor,
            sensor_in_anchor BLOB NOT NULL, base_in_sensor BLOB NOT NULL,
            until_ns INTEGER NOT NULL, rows INTEGER NOT NULL, depth BLOB,
            UNIQUE(session_no, stamp_ns, stream_id))""",
        """CREATE TABLE vector(
            vector_no INTEGER PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL, data BLOB NOT NULL,
            UNIQUE(model, text))""",
        """CREATE TABLE entry(
            slot INTEGER PRIMARY KEY, entry_id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, session INTEGER NOT NULL,
            map_id TEXT NOT NULL, revision INTEGER NOT NULL, label TEXT NOT NULL, votes TEXT NOT NULL,
            description TEXT NOT NULL, attributes TEXT NOT NULL, label_vector INTEGER REFERENCES vector,
            description_vector INTEGER REFERENCES vector, visibility INTEGER NOT NULL, confidence REAL NOT NULL,
            count INTEGER NOT NULL, state INTEGER NOT NULL, motion INTEGER NOT NULL, moved_from TEXT NOT NULL,
            maybe_same_as TEXT NOT NULL, absent_first INTEGER NOT NULL, absent_count INTEGER NOT NULL)""",
        """CREATE TABLE stay(
            slot INTEGER NOT NULL REFERENCES entry, n INTEGER NOT NULL, start_ns INTEGER NOT NULL,
            end_ns INTEGER NOT NULL, anchor_id INTEGER NOT NULL REFERENCES anchor, box BLOB NOT NULL,
            covariance BLOB NOT NULL, count INTEGER NOT NULL, whole INTEGER NOT NULL, revision INTEGER NOT NULL,
            PRIMARY KEY(slot, n)) WITHOUT ROWID""",
        """CREATE TABLE sighting(
            slot INTEGER NOT NULL REFERENCES entry, n INTEGER NOT NULL, start_ns INTEGER NOT NULL,
            end_ns INTEGER NOT NULL, PRIMARY KEY(slot, n)) WITHOUT ROWID""",
        """CREATE TABLE presence(
            slot INTEGER NOT NULL REFERENCES entry, n INTEGER NOT NULL, start_earliest_ns INTEGER NOT NULL,
            start_ns INTEGER NOT NULL, last_seen_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
            PRIMARY KEY(slot, n)) WITHOUT ROWID""",
        """CREATE TABLE observation(
            frame_id INTEGER NOT NULL REFERENCES frame, idx INTEGER NOT NULL, slot INTEGER REFERENCES entry,
            label TEXT NOT NULL, box BLOB NOT NULL, covariance BLOB, visibility INTEGER NOT NULL,
            confidence REAL NOT NULL, track_id TEXT NOT NULL, description TEXT NOT NULL, attributes TEXT NOT NULL,
            image TEXT NOT NULL, PRIMARY KEY(frame_id, idx)) WITHOUT ROWID""",
        """CREATE TABLE event(
            event_no INTEGER PRIMARY KEY, event_id TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL,
            slot INTEGER NOT NULL REFERENCES entry, label TEXT NOT NULL, stamp_ns INTEGER NOT NULL,
            earliest_ns INTEGER NOT NULL, latest_ns INTEGER NOT NULL, anchor_id INTEGER NOT NULL REFERENCES anchor,
            place BLOB NOT NULL, from_anchor INTEGER REFERENCES anchor, from_place BLOB, detail TEXT NOT NULL)""",
        "CREATE INDEX event_slot ON event(slot)",
        "CREATE INDEX event_stamp ON event(stamp_ns)",
        """CREATE TABLE episode(
            episode_no INTEGER PRIMARY KEY, episode_id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL,
            text TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, source INTEGER NOT NULL,
            map_id TEXT NOT NULL, anchor_id INTEGER REFERENCES anchor, place BLOB, participants TEXT NOT NULL)""",
        """CREATE TABLE region(
            name TEXT NOT NULL, map_id TEXT NOT NULL, polygon TEXT NOT NULL, z_min REAL NOT NULL, z_max REAL NOT NULL,
            PRIMARY KEY(name, map_id))""",
    ),
    (
        """CREATE TABLE correction(
            correction_no INTEGER PRIMARY KEY, stamp_ns INTEGER NOT NULL, kind INTEGER NOT NULL, source TEXT NOT NULL,
            entry_id TEXT NOT NULL, request TEXT NOT NULL, entries TEXT NOT NULL, before TEXT NOT NULL,
            after TEXT NOT NULL, frame_id INTEGER NOT NULL, undone_by INTEGER NOT NULL DEFAULT 0)""",
    ),
    ("ALTER TABLE anchor ADD COLUMN recorded_in_map BLOB",),
    (
        "ALTER TABLE entry ADD COLUMN merged_into INTEGER REFERENCES entry",
        "ALTER TABLE event ADD COLUMN voided INTEGER NOT NULL DEFAULT 0",
        """CREATE TABLE merge(
            merge_no INTEGER PRIMARY KEY, kept INTEGER NOT NULL REFERENCES entry, merged INTEGER NOT NULL REFERENCES
            entry, stamp_ns INTEGER NOT NULL, revision INTEGER NOT NULL, reason TEXT NOT NULL,
            kept_before TEXT NOT NULL, voided TEXT NOT NULL, moved TEXT NOT NULL)""",
    ),
    (  # the last stay, sighting and presence of an entry move into its own row
        "ALTER TABLE entry ADD COLUMN stays INTEGER",
        "ALTER TABLE entry ADD COLUMN stay_start_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN stay_end_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN stay_anchor INTEGER REFERENCES anchor",
        "ALTER TABLE entry ADD COLUMN stay_box BLOB",
        "ALTER TABLE entry ADD COLUMN stay_covariance BLOB",
        "ALTER TABLE entry ADD COLUMN stay_count INTEGER",
        "ALTER TABLE entry ADD COLUMN stay_whole INTEGER",
        "ALTER TABLE entry ADD COLUMN stay_revision INTEGER",
        "ALTER TABLE entry ADD COLUMN sightings INTEGER",
        "ALTER TABLE entry ADD COLUMN sighting_start_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN sighting_end_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN presences INTEGER",
        "ALTER TABLE entry ADD COLUMN present_earliest_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN present_start_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN present_seen_ns INTEGER",
        "ALTER TABLE entry ADD COLUMN present_end_ns INTEGER",
        """UPDATE entry SET (stays, stay_start_ns, stay_end_ns, stay_anchor, stay_box, stay_covariance, stay_count,
            stay_whole, stay_revision) = (SELECT n + 1, start_ns, nullif(end_ns, 9223372036854775807), anchor_id,
            box, covariance, count, whole, revision FROM stay WHERE stay.slot = entry.slot ORDER BY n DESC LIMIT 1)""",
        """UPDATE entry SET (sightings, sighting_start_ns, sighting_end_ns) = (SELECT n + 1, start_ns, end_ns
            FROM sighting WHERE sighting.slot = entry.slot ORDER BY n DESC LIMIT 1)""",
        """UPDATE entry SET (presences, present_earliest_ns, present_start_ns, present_seen_ns, present_end_ns) =
            (SELECT n + 1, start_earliest_ns, start_ns, last_seen_ns, nullif(end_ns, 9223372036854775807)
            FROM presence WHERE presence.slot = entry.slot ORDER BY n DESC LIMIT 1)""",
        "DELETE FROM stay WHERE n + 1 = (SELECT stays FROM entry WHERE entry.slot = stay.slot)",
        "DELETE FROM sighting WHERE n + 1 = (SELECT sightings FROM entry WHERE entry.slot = sighting.slot)",
        "DELETE FROM presence WHERE n + 1 = (SELECT presences FROM entry WHERE entry.slot = presence.slot)",
    ),
    (
        """CREATE TABLE crop(
            crop_no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, slot INTEGER NOT NULL REFERENCES entry,
            stamp_ns INTEGER NOT NULL, jpeg BLOB NOT NULL)""",
        "CREATE INDEX crop_slot ON crop(slot)",
    ),
    (
        "ALTER TABLE frame ADD COLUMN believed BLOB",
        """CREATE TABLE shift(
            shift_no INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, reason TEXT NOT NULL, frame_id INTEGER NOT NULL,
            correction_no INTEGER NOT NULL, revision INTEGER NOT NULL, anchors BLOB NOT NULL, before BLOB NOT NULL)""",
        """CREATE TABLE steadiness(
            agent_id TEXT NOT NULL, session INTEGER NOT NULL, map_id TEXT NOT NULL, belief TEXT NOT NULL,
            PRIMARY KEY(agent_id, session, map_id)) WITHOUT ROWID""",
        "ALTER TABLE merge ADD COLUMN kept_after TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE merge ADD COLUMN undone_by INTEGER NOT NULL DEFAULT 0",
    ),
    (
        """CREATE TABLE coverage(
            coverage_no INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, map_id TEXT NOT NULL, start_ns INTEGER NOT NULL,
            until_ns INTEGER NOT NULL, anchor_id INTEGER NOT NULL REFERENCES anchor, anchor_pose BLOB NOT NULL,
            cells BLOB NOT NULL)""",
        "ALTER TABLE frame ADD COLUMN settled INTEGER NOT NULL DEFAULT 0",
    ),
    (
        """CREATE TABLE found_absent(
            slot INTEGER NOT NULL REFERENCES entry, observer TEXT NOT NULL, first_ns INTEGER NOT NULL,
            count INTEGER NOT NULL, enough INTEGER NOT NULL, PRIMARY KEY(slot, observer, first_ns)) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE division(
            correction_no INTEGER PRIMARY KEY REFERENCES correction, slot INTEGER NOT NULL, sightings TEXT NOT NULL,
            parts TEXT NOT NULL, voided TEXT NOT NULL, added TEXT NOT NULL)""",
    ),
    ("ALTER TABLE stay ADD COLUMN turned BLOB", "ALTER TABLE entry ADD COLUMN stay_turned BLOB"),
    (  # what of a memory was told to a map server, and what it told
        "CREATE TABLE late(late_no INTEGER PRIMARY KEY, frame_id INTEGER NOT NULL)",
        "CREATE TABLE sync(name TEXT PRIMARY KEY, said TEXT NOT NULL) WITHOUT ROWID",
    ),
    (
        """CREATE TABLE alignment(
            alignment_no INTEGER PRIMARY KEY, stamp_ns INTEGER NOT NULL, agent_id TEXT NOT NULL, map_id TEXT NOT NULL,
            common_id TEXT NOT NULL, frame TEXT NOT NULL, pose BLOB, source TEXT NOT NULL, frame_id INTEGER NOT NULL,
            correction_no INTEGER NOT NULL, undone_by INTEGER NOT NULL DEFAULT 0)""",
    ),
    ("ALTER TABLE stay ADD COLUMN shares BLOB", "ALTER TABLE entry ADD COLUMN stay_shares BLOB"),
    ("CREATE INDEX entry_merged ON entry(merged_into) WHERE merged_into IS NOT NULL",),
    (),  # from here on an entry's row leaves out what is usual (``sql_parts.COLUMNS``, ``codec.dump_votes``)
    (  # the revision of a frame stands with its writer, and sessions are as new as their frames (``sql_frames``)
        "ALTER TABLE writer ADD COLUMN revision INTEGER NOT NULL DEFAULT 0",
    ),
    (  # a vector is found by the key of its text (``codec.text_key``): texts stand where they are used, models once
        "CREATE TABLE model(model_no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        "INSERT INTO model(name) SELECT model FROM vector GROUP BY model ORDER BY min(vector_no)",
        """CREATE TABLE keyed_vector(
            vector_no INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model_no INTEGER NOT NULL REFERENCES model,
            data BLOB NOT NULL)""",
        """INSERT INTO keyed_vector SELECT vector_no, text_key(model, text), model_no, data
            FROM vector CROSS JOIN model ON name = model ORDER BY vector_no""",
        "DROP TABLE vector",
        "ALTER TABLE keyed_vector RENAME TO vector",
    ),
)
