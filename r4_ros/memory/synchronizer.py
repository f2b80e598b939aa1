"""A robot's memory and a map server's, kept in step: what the robot saw goes up, what others know comes down.

Who calls ``step`` decides how often; it does a bounded piece of work and never holds up the robot's own frames for
longer than one small transaction. Nothing of what was sent is remembered here: the server notes how far it came, in the
transaction that works a batch in, so that whatever is killed or lost, it goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from r4_ros.core.errors import InvalidArgument, NotPermitted, R4Error, Unavailable
from r4_ros.memory import envelope
from r4_ros.memory.envelope import Head, Told
from r4_ros.memory.library import Library
from r4_ros.memory.outbox import Batch, Outbox
from r4_ros.memory.server_state import ClockOffset, ServerState

if TYPE_CHECKING:
    from r4_ros.memory.map_link import MapLink

WINDOW = 8
"""Batches that may wait in the inbox; a server that doesn't keep up isn't sent more."""
CLOCK_PERIOD_S = 600.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0
"""After an error; each pause is twice the last one."""


@dataclass(frozen=True, slots=True)
class SyncConfig:
    """``url``: of the map server's database. ``agent_id``: whose role it must be (empty: whosever it is).

    ``clock_s``: farther apart the clocks mustn't be. ``images``: pictures of things go along.
    """

    url: str
    agent_id: str = ""
    clock_s: float = 1.0
    images: bool = False


@dataclass(frozen=True, slots=True)
class SyncState:
    """What a person wants to know.

    ``waiting_frames``: not worked in yet (10,000: or more), of ``oldest_ns`` on; ``waiting_batches``: in the inbox.
    ``refused``: records that the server didn't take since ever; ``problem``: why the last one. ``error``: of the last
    step (empty: none). ``notice``: what happened that nothing can be done about. ``heard``: records that came down.
    ``lost``: observations that this robot had to drop before the server was told of them.
    """

    agent_id: str = ""
    connected: bool = False
    waiting_frames: int = 0
    waiting_batches: int = 0
    oldest_ns: int = 0
    frames: int = 0
    observations: int = 0
    refused: int = 0
    problem: str = ""
    offset_ns: int = 0
    round_ns: int = 0
    error: str = ""
    notice: str = ""
    sent_batches: int = 0
    sent_bytes: int = 0
    heard: int = 0
    lost: int = 0


class Synchronizer:
    """Keeps ``library``, which lies in a SQLite file, in step with a map server; used by one thread.

    ``connect`` and ``monotonic`` are for tests.
    """

    def __init__(
        self,
        library: Callable[[], Library],
        config: SyncConfig,
        connect: Callable[[SyncConfig], MapLink] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not isinstance(library().store.path, Path):
            raise InvalidArgument(f"{library().store.path}: only a robot's own file is synchronised with a map server")
        self._library, self._config, self._connect = library, config, connect or _connected
        self._monotonic = monotonic
        self._link: MapLink | None = None
        self._outbox: Outbox | None = None
        self._clock: ClockOffset | None = None
        self._clock_due = self._not_before = 0.0
        self._pause = FIRST_PAUSE_S
        self._again = False
        self.state = SyncState()

    def close(self) -> None:
        """Let go of the server and of the file."""
        for part in (self._link, self._outbox):
            if part is not None:
                part.close()
        self._link = self._outbox = None
        self.state = replace(self.state, connected=False)

    def step(self) -> bool:
        """A piece of work; True: there was some, and more may wait. Errors are told by ``state``, and paused for."""
        if self._monotonic() < self._not_before:
            return False
        try:
            busy = self._step()
        except R4Error as error:
            self.close()
            self._not_before = self._monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
            self.state = replace(self.state, error=str(error))
            return False
        self._pause = FIRST_PAUSE_S
        self.state = replace(self.state, error="")
        return busy

    def wait(self, seconds: float) -> None:
        """Wait until the server has something to say, or so long."""
        if self._link is None:
            time.sleep(max(0.0, min(seconds, self._not_before - self._monotonic())) or seconds)
            return
        try:
            self._link.wait(seconds)
        except R4Error as error:
            self.state = replace(self.state, error=str(error))
            self.close()

    def _step(self) -> bool:
        link, outbox = self._opened()
        self._check_clock(link)
        server = link.state(self._library().name)
        self._library().told(link.agent_id, server.told.frame)
        sent = self._send(link, outbox, server)
        more = self._hear(link, server)
        waiting, oldest_ns = outbox.waiting(server.told)
        self.state = replace(
            self.state,
            waiting_frames=waiting,
            waiting_batches=len(server.waiting) + sent,
            oldest_ns=oldest_ns,
            frames=server.frames,
            observations=server.observations,
            refused=server.refused,
            problem=server.problem or self.state.problem,
            lost=self._library().untold_lost,
        )
        return sent or more

    def _hear(self, link: MapLink, server: ServerState) -> bool:
        """Take over what others know by now, a bounded piece of it; gives whether more is waiting.

        Where maps lie is postponed until the server knows what was said here of the robot's own; then all of it counts.
        """
        heard = self._library().heard()
        news = link.feed.since(heard, self._library().name)
        if self._library().has_said(link.agent_id, server.told.alignment):
            news = replace(news, alignments=None, heard=replace(news.heard, aligned=""))
        if news.heard != heard or news.size:
            said = 0
            if news.alignments is not None:
                said += self._library().hear_alignments(news.alignments, link.agent_id)
            if news.words is not None:
                said += self._library().hear_corrections(news.words)
            self._library().hear(news)
            self.state = replace(self.state, heard=self.state.heard + news.size + said)
        return news.more

    def _opened(self) -> tuple[MapLink, Outbox]:
        if self._link is None or self._outbox is None:
            self.close()
            self._link = self._connect(self._config)
            path = self._library().store.path
            assert isinstance(path, Path)
            self._outbox = Outbox(path, self._link.agent_id, self._config.images)
            self._clock_due = 0.0
            self._continue(self._link, self._outbox)
            self.state = replace(self.state, agent_id=self._link.agent_id, connected=True)
        return self._link, self._outbox

    def _continue(self, link: MapLink, outbox: Outbox) -> None:
        """Go on where the server is, if this file is what it was told of.

        Sessions that only the server knows, told by a file that is lost, are taken over: both count on from there, so
        that things get the same ids here and there.
        """
        library = self._library()
        own = sorted(set(library.agents()) - set(library.peers()))
        if own and not self._config.agent_id and link.agent_id not in own:
            raise NotPermitted(
                f"this file is of {', '.join(own)}, and the role is of robot '{link.agent_id}'; use the other"
            )
        if library.adopt_sessions(link.sessions()):
            notice = (
                "the map server knows more of this robot than this file, which is new or an older copy; of things that "
                "this file had of its own, the server won't know when they are gone"
            )
            self.state = replace(self.state, notice=notice)
        _, told = link.state(library.name).newest
        self._again = not outbox.continues(told)
        if self._again:
            notice = (
                "this file isn't what the map server was told of: an older copy was put back; all of it is told again, "
                "and what the server knows besides stays there"
            )
            self.state = replace(self.state, notice=notice)

    def _check_clock(self, link: MapLink) -> None:
        now = self._monotonic()
        if self._clock is not None and now < self._clock_due:
            return
        self._clock = link.clock()
        self.state = replace(self.state, offset_ns=self._clock.offset_ns, round_ns=self._clock.round_ns)
        apart = abs(self._clock.offset_ns) / 1e9
        if apart - self._clock.round_ns / 2e9 > self._config.clock_s:
            side = "behind" if self._clock.offset_ns > 0 else "ahead of"
            self._clock = None
            raise InvalidArgument(
                f"this computer's clock is {apart:.3f} s {side} the map server's, more than sync_clock_s "
                f"({self._config.clock_s:g}): nothing is synchronised, since times would be wrong; set the clocks by "
                "one source (chrony, ptp), or raise sync_clock_s"
            )
        self._clock_due = now + CLOCK_PERIOD_S

    def _send(self, link: MapLink, outbox: Outbox, server: ServerState) -> bool:
        """Put what comes next into the inbox, if there is room; gives whether there was something."""
        if len(server.waiting) >= WINDOW:
            return False
        sequence, told = server.newest
        start = Told() if self._again else told
        until, _ = outbox.until(start)
        self._library().reading_to_tell(max(until, told.frame))
        batch = outbox.read(start, until, link.known)
        if batch is None:
            return False
        content = envelope.pack(self._head(batch), batch.lines)
        link.put(self._library().name, sequence + 1, content)
        self._again = False
        sent = (self.state.sent_batches + 1, self.state.sent_bytes + len(content))
        self.state = replace(self.state, sent_batches=sent[0], sent_bytes=sent[1])
        return True

    def _head(self, batch: Batch) -> Head:
        clock = self._clock or ClockOffset(0, 0)
        return Head(batch.after, batch.told, self._again, self._library().live, clock.offset_ns, clock.round_ns)


def _connected(config: SyncConfig) -> MapLink:
    try:
        from r4_ros.memory.map_link import MapLink
    except ImportError as error:
        raise Unavailable(f"a map server is reached with psycopg: pip install 'psycopg[binary]' ({error})") from None
    return MapLink(config.url, config.agent_id)
