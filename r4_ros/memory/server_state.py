"""What a robot learns of a map server: how much that has of its memory, and how its clock runs."""

from __future__ import annotations

from dataclasses import dataclass

from r4_ros.memory.envelope import Head, Told


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the server has of a memory: worked in up to ``told`` (batch ``sequence``), and ``waiting`` in the inbox."""

    sequence: int
    told: Told
    waiting: tuple[tuple[int, Head], ...]
    frames: int = 0
    observations: int = 0
    refused: int = 0
    problem: str = ""

    @property
    def newest(self) -> tuple[int, Told]:
        """Number of the batch sent last, and where it leads."""
        return (self.waiting[-1][0], self.waiting[-1][1].told) if self.waiting else (self.sequence, self.told)


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """What to add to this computer's clock for the server's, and the round trip in which that was measured, ns."""

    offset_ns: int
    round_ns: int
