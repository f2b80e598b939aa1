"""Streams that ``r4 db import`` hands over while the node runs. A part of the memory node."""

from __future__ import annotations

from pathlib import Path

from r4_ros.core.ports import Embedder
from r4_ros.memory.database_name import is_url
from r4_ros.memory.handover import Handed, Handover
from r4_ros.nodes.anchor_topics import AnchorTopics
from r4_ros.nodes.paths import ros_home

LOOK_PERIOD_S, SLICE_S = 0.5, 0.05
"""How often the node looks for a stream, and for how long frames wait while it works one in."""


class Importing(AnchorTopics):
    """What a memory node needs for it."""

    _handover: Handover | None = None
    _handed: Handed | None = None
    _embedder: Embedder | None

    def begin_importing(self) -> None:
        """Look for streams beside the database's file; a database on a server has no such place."""
        self._handover = None if is_url(self.config.db) else Handover(Path(ros_home(self.config.db)))
        self._handed = None
        self.every(LOOK_PERIOD_S, lambda: self._handed or self._writer.offer(self._import_some))

    def _import_some(self) -> None:
        """Work in a slice, and take the next turn after what waits."""
        if self._handed is None and self._handover is not None:
            self._handed = self._handover.take(self.library, self._embedder)
        if self._handed is None:
            return
        handed, self._handed = self._handed, None
        more = handed.work(SLICE_S)
        self.tell_gap()
        if more:
            self._handed = handed
            self._writer.offer(self._import_some)
        else:
            self.counts.add("imports")

    def tell_gap(self) -> None:
        """Tell those who keep a copy of the entries that more changed than they are told."""
        raise NotImplementedError
