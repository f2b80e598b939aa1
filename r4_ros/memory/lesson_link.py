"""A robot's lessons and a map server's, kept in step: its own go up, what others learnt comes down beside them.

The robot's file is what counts of its own; the server has a copy under its role. Others' lessons lie in the file under
their owners' names, so that they are used without the network too, and are never the robot's own.
"""

from __future__ import annotations

from dataclasses import replace

from r4_ros.core.errors import InvalidArgument, R4Error
from r4_ros.core.lessons import Lesson
from r4_ros.memory.database_name import is_url
from r4_ros.memory.experience_stores import open_tasks
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.sql_lessons import SqlLessonStore

_DIGESTS = """SELECT owner, CAST(count(*) AS text) || ' ' || CAST(sum(hashtextextended(CAST(k.* AS text), 0)) AS text)
    FROM lesson k WHERE owner NOT IN ('', ?) GROUP BY owner"""
_OTHERS = "SELECT DISTINCT owner FROM lesson WHERE owner <> ''"
_COPIED = "SELECT owner FROM copied WHERE owner = ?"
_COPY = "INSERT INTO copied VALUES (?) ON CONFLICT DO NOTHING"


class LessonLink:
    """Between the lessons in a robot's own file, ``tasks``, and those of the database ``url``; used by one thread.

    ``agent_id``: whose role the URL names. Nothing is sent or written where nothing changed. Raises InvalidArgument.
    """

    def __init__(self, tasks: SqlTaskStore, url: str, agent_id: str) -> None:
        if is_url(str(tasks.file.path)):
            raise InvalidArgument(
                f"{tasks.file.path}: only lessons in a robot's own file are kept in step with others'"
            )
        self._tasks, self._file, self._own = tasks, tasks.file, SqlLessonStore(tasks)
        self._url, self._agent = url, agent_id
        self._server: SqlTaskStore | None = None
        self._told: dict[str, Lesson] | None = None
        self._heard: dict[str, str] = {}

    def close(self) -> None:
        """Let go of the server; the file is the caller's."""
        if self._server is not None:
            self._server.close()
        self._server = None

    def step(self) -> bool:
        """Tell and hear what changed; True: others' lessons are others now. Raises R4Error; then it may be tried again.

        Each part is one transaction, and what was done already changes nothing.
        """
        try:
            server = self._opened()
            self._take_over(server)
            self._tell(server)
            return self._hear(server)
        except R4Error:
            self.close()
            raise

    def _opened(self) -> SqlTaskStore:
        if self._server is None:
            self._server = open_tasks(self._url, self._agent)
            self._told, self._heard = None, {}
        return self._server

    def _take_over(self, server: SqlTaskStore) -> None:
        """A file of which the server has no copy is new: what it has of this robot comes from one that is lost."""
        if self._file.execute(_COPIED, (self._agent,)):
            return
        kept = SqlLessonStore(server).sound()
        with self._file.transaction():
            known, count = self._own.lessons(), self._own.task_count()
            lost = {i: replace(k, created=count, last_used=count) for i, k in kept.items() if i not in known}
            self._own.update((), lost, (), [(i, "taken over", "this robot's, from the map server") for i in lost])
            self._file.execute(_COPY, (self._agent,))

    def _tell(self, server: SqlTaskStore) -> None:
        own = self._own.lessons()
        if own != self._told:
            SqlLessonStore(server).replace(own)
            self._told = own

    def _hear(self, server: SqlTaskStore) -> bool:
        digests: dict[str, str] = dict(server.file.execute(_DIGESTS, (self._agent,)))
        found = {o: _of(server, o).sound() for o, digest in digests.items() if self._heard.get(o) != digest}
        gone = {row[0] for row in self._file.execute(_OTHERS)} - digests.keys()
        if not found and not gone:
            return False
        with self._file.transaction():
            said = {**found, **{owner: {} for owner in gone}}
            changed = [_of(self._tasks, owner).replace(lessons) for owner, lessons in said.items()]
        self._heard = digests
        return any(changed)


def _of(store: SqlTaskStore, owner: str) -> SqlLessonStore:
    return SqlLessonStore(SqlTaskStore(store.file, owner))
