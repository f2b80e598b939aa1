"""What the memory needs of a store besides records: how large it is, what it dropped, copies and checks of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from r4_ros.core.model import NS_PER_S

KEPT_NS = 60 * NS_PER_S
"""History of each agent that always stays while it writes: what is tracked now and frames that come late need it."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """History that was dropped: how many observations and frames; it was older than ``before_ns`` (0: nothing)."""

    observations: int
    frames: int
    before_ns: int


class StoreUpkeep(Protocol):
    """The part of a store that says nothing of frames and entries."""

    @property
    def read_only(self) -> bool:
        """Whether writing is refused."""

    @property
    def path(self) -> Path | str:
        """Where it lies."""

    def reading(self) -> AbstractContextManager[None]:
        """What is read in it is of one moment, whoever writes meanwhile."""

    def together(self) -> AbstractContextManager[None]:
        """What is written in it is committed at its end, all of it or nothing."""

    def drop_history(self, agent_id: str, session: int, before_ns: int, frames: int) -> Dropped:
        """Drop the observations of about so many frames of a session that are older than ``before_ns``, oldest first.

        Of these frames themselves those stay that kept their depth, and those that the trail can't do without: where
        the agent was is still told to 5 cm and 3 degrees. Entries with all their intervals, events, episodes and
        anchors stay.
        """

    def oldest_history(self) -> dict[tuple[str, int], int]:
        """For each (agent, session) that has history the stamp where it begins, oldest first."""

    def dropped(self) -> Dropped:
        """All that was ever dropped."""

    def others(self) -> frozenset[str]:
        """Agents whose namespaces are a map server's, and only read here."""

    def untold(self) -> tuple[str, int, int] | None:
        """Agent, session and stamp of the first frame that the map server wasn't told of; None: it was of all."""

    def untold_lost(self, observations: int) -> None:
        """So many more were dropped before the map server was told of them; durable on return."""

    def used_bytes(self) -> int:
        """Size without room that is free again."""

    def pruned_before(self) -> dict[tuple[str, int], int]:
        """For each (agent, session) of which history was dropped: the stamp before which it is gone."""

    def counts(self) -> dict[str, int]:
        """Number of rows by kind."""

    def problems(self) -> list[str]:
        """What an integrity check finds; empty: sound."""

    def backup(self, target: Path) -> int:
        """A consistent copy; gives its size in bytes."""

    def size_bytes(self) -> int:
        """Size on disk."""

    def close(self) -> None:
        """Release the store."""
