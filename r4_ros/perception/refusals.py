"""What was refused and why: counted by reason, with the newest explanation of each."""

from __future__ import annotations

from r4_ros.core.errors import FrameRefused, RefusalReason


class Refusals:
    """Counts of refused frames. Reasons that didn't occur are absent."""

    def __init__(self) -> None:
        self.counts: dict[RefusalReason, int] = {}
        self.messages: dict[RefusalReason, str] = {}

    def add(self, error: FrameRefused) -> None:
        """Count one refused frame."""
        self.counts[error.reason] = self.counts.get(error.reason, 0) + 1
        self.messages[error.reason] = str(error)

    @property
    def total(self) -> int:
        """All refused frames."""
        return sum(self.counts.values())

    def by_reason(self) -> dict[str, int]:
        """Counts by the reason's name, in a stable order."""
        return {reason.value: self.counts[reason] for reason in RefusalReason if reason in self.counts}
