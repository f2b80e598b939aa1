"""The ``TaskStore`` of the experience room in one SQLite file: a robot's own."""

from __future__ import annotations

from pathlib import Path

from r4_ros.memory.sql import Migration
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.sqlite_file import open_sqlite

APPLICATION_ID = 0x52344558  # 'R4EX'

MIGRATIONS: tuple[Migration, ...] = (
    (
        """CREATE TABLE task(
            task_no INTEGER PRIMARY KEY, task_id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL,
            stamp_ns INTEGER NOT NULL, question TEXT NOT NULL, form TEXT NOT NULL, verdict TEXT NOT NULL,
            answer TEXT NOT NULL, value TEXT NOT NULL, value_frame TEXT NOT NULL, confidence REAL NOT NULL,
            evidence_ids TEXT NOT NULL, trace TEXT NOT NULL)""",
        """CREATE TABLE feedback(
            feedback_no INTEGER PRIMARY KEY, task_no INTEGER NOT NULL REFERENCES task, feedback INTEGER NOT NULL,
            stamp_ns INTEGER NOT NULL, correction TEXT NOT NULL, source TEXT NOT NULL)""",
        "CREATE INDEX feedback_task ON feedback(task_no)",
    ),
    (
        """CREATE TABLE lesson(
            lesson_id TEXT PRIMARY KEY, polarity TEXT NOT NULL, situation TEXT NOT NULL, evidence_need TEXT NOT NULL,
            failure_mode TEXT NOT NULL, prefer TEXT NOT NULL, avoid TEXT NOT NULL, support INTEGER NOT NULL,
            uses INTEGER NOT NULL, helped REAL NOT NULL, hurt REAL NOT NULL, created INTEGER NOT NULL,
            last_used INTEGER NOT NULL, agents TEXT NOT NULL) WITHOUT ROWID""",
        "CREATE TABLE learnt(task_no INTEGER PRIMARY KEY REFERENCES task)",
        """CREATE TABLE lesson_change(
            change_no INTEGER PRIMARY KEY, lesson_id TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL)""",
    ),
    ("ALTER TABLE lesson ADD COLUMN note TEXT NOT NULL DEFAULT ''",),
    (
        "ALTER TABLE task ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE lesson_change ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE owned_lesson(
            owner TEXT NOT NULL, lesson_id TEXT NOT NULL, polarity TEXT NOT NULL, situation TEXT NOT NULL,
            evidence_need TEXT NOT NULL, failure_mode TEXT NOT NULL, prefer TEXT NOT NULL, avoid TEXT NOT NULL,
            support INTEGER NOT NULL, uses INTEGER NOT NULL, helped REAL NOT NULL, hurt REAL NOT NULL,
            created INTEGER NOT NULL, last_used INTEGER NOT NULL, agents TEXT NOT NULL, note TEXT NOT NULL,
            PRIMARY KEY(owner, lesson_id)) WITHOUT ROWID""",
        """INSERT INTO owned_lesson SELECT '', lesson_id, polarity, situation, evidence_need, failure_mode, prefer,
            avoid, support, uses, helped, hurt, created, last_used, agents, note FROM lesson""",
        "DROP TABLE lesson",
        "ALTER TABLE owned_lesson RENAME TO lesson",
    ),
    ("CREATE TABLE copied(owner TEXT PRIMARY KEY) WITHOUT ROWID",),  # as whose a map server has a copy of the lessons
)


class SqliteTaskStore(SqlTaskStore):
    """Opening it makes or migrates the file. Raises StoreError and SchemaError where it can't be used."""

    def __init__(self, path: str | Path, read_only: bool = False) -> None:
        super().__init__(open_sqlite(path, APPLICATION_ID, MIGRATIONS, durability="full", read_only=read_only))
