"""Perception's side of the conversation with memory: what isn't acknowledged yet, and what memory knows."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from r4_ros.core.errors import OutcomeCode
from r4_ros.core.model import PlacedEntry

KEPT_FRAMES = 200
RESEND_S = (5.0, 10.0, 20.0, 40.0, 60.0)
RESEND_AT_ONCE = 50
RETRY_CODES = (OutcomeCode.STORE_FAILED, OutcomeCode.WRITER_REFUSED, OutcomeCode.NOT_READY, OutcomeCode.INTERNAL)


@dataclass(slots=True)
class _Sent:
    message: Any
    due: float  # monotonic time of the next attempt
    attempts: int = 0


class MemoryLink:
    """Frames sent and not acknowledged, and a cache of memory's entries with its revision. Used from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._sent: OrderedDict[int, _Sent] = OrderedDict()
        self._entries: dict[str, PlacedEntry] = {}
        self._revision: int | None = None  # None: nothing heard, or a gap
        self._acked_revision = 0
        self._patient = True
        self.lost = 0  # frames given up because too many were unacknowledged
        self.refusal = ""  # what the last ack complained of

    # Frames.

    def sent(self, sequence: int, message: Any) -> None:
        """A frame was published; it is kept until memory acknowledges it, at most 200."""
        with self._changed:
            self._sent[sequence] = _Sent(message, self._monotonic() + RESEND_S[0])
            while len(self._sent) > KEPT_FRAMES:
                self._sent.popitem(last=False)
                self.lost += 1

    def acknowledged(self, sequence: int, code: int, text: str, revision: int) -> None:
        """An ack of ours came. One that says that it may be better later keeps the frame for another attempt."""
        with self._changed:
            self.refusal = text if code else ""
            if code in RETRY_CODES:
                return
            self._sent.pop(sequence, None)
            if not code:
                self._acked_revision = revision
            self._patient = True
            self._changed.notify_all()

    def due(self) -> list[Any]:
        """Messages to be sent again now, oldest first; each is tried less and less often."""
        now = self._monotonic()
        with self._changed:
            late = [sent for sent in self._sent.values() if sent.due <= now][:RESEND_AT_ONCE]
            for sent in late:
                sent.attempts += 1
                sent.due = now + RESEND_S[min(sent.attempts, len(RESEND_S) - 1)]
            return [sent.message for sent in late]

    def memory_returned(self) -> None:
        """Memory came back: what it hasn't acknowledged is due soon."""
        with self._changed:
            for sent in self._sent.values():
                sent.attempts = 0
                sent.due = min(sent.due, self._monotonic() + 1.0)

    @property
    def unacknowledged(self) -> int:
        """How many frames memory hasn't confirmed."""
        with self._changed:
            return len(self._sent)

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until memory has confirmed all frames and the cache holds what came of them.

        Where memory doesn't keep up, only the first wait takes this long: the next ones return at once until an ack.
        """
        with self._changed:
            self._patient = self._changed.wait_for(self._settled, timeout_s if self._patient else 0.0)
            return self._patient

    def _settled(self) -> bool:
        return not self._sent and (self._acked_revision == 0 or (self._revision or 0) >= self._acked_revision)

    # Entries.

    def entries(self) -> list[PlacedEntry]:
        """What memory is known to hold, in the order of the ids."""
        with self._changed:
            return [self._entries[key] for key in sorted(self._entries)]

    def replace(self, entries: Iterable[PlacedEntry], revision: int) -> None:
        """``memory/entries`` came: the whole state, unless something newer is known."""
        with self._changed:
            if self._revision is None or revision >= self._revision:
                self._entries = {entry.entry_id: entry for entry in entries}
                self._revision = revision
                self._changed.notify_all()

    def apply(self, changed: Iterable[PlacedEntry], removed: Iterable[str], from_revision: int, revision: int) -> None:
        """``memory/entries_delta`` came. After a gap, or a memory that starts anew, the next whole state is taken."""
        with self._changed:
            if self._revision is None and from_revision == 0 and not self._entries:
                self._revision = 0  # a memory that was empty until now
            if self._revision is None or from_revision < self._revision:
                if self._revision is not None and revision < self._revision:
                    self._revision = None
                return
            if from_revision > self._revision:
                self._revision = None
            self._entries.update({entry.entry_id: entry for entry in changed})
            for entry_id in removed:
                self._entries.pop(entry_id, None)
            if self._revision is not None:
                self._revision = revision
            self._changed.notify_all()
