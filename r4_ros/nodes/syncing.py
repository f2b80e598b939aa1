"""Keeping in step with others: a robot's file with a map server, and a map server with what robots send to its inbox.

A part of the memory node. A robot's work is done on a thread of its own, and rests as long as it worked.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.memory.database_name import is_url
from r4_ros.memory.library import Library
from r4_ros.nodes.anchor_topics import AnchorTopics

if TYPE_CHECKING:
    from r4_ros.memory.inbox import WorkedIn

INBOX_PERIOD_S, INBOX_TIME_S = 0.1, 0.05
"""How often a map server looks into its inbox, and for how long frames of topics wait for what is in it."""
INBOX_PAUSE_S = 1.0
LONGEST_REST_S = 0.5
STOP_S = 10.0


class Syncing(AnchorTopics):
    """What a memory node needs for it."""

    def begin_syncing(self) -> None:
        """Start, where the parameters ask for it. Raises InvalidArgument, Unavailable."""
        self._sync = self._inbox = None
        self._inbox_not_before = 0.0
        self._sync_stopped = threading.Event()
        config = self.config
        if is_url(config.db):
            if config.sync:
                raise InvalidArgument("sync is for a robot with a file of its own; this node's db is on a server")
            from r4_ros.memory.inbox import Inbox

            self._inbox = Inbox(lambda: self.library, self.open_anew, config)
            self.every(INBOX_PERIOD_S, lambda: self._writer.pending or self._writer.offer(self._work_inbox))
        elif config.sync:
            from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

            wanted = SyncConfig(config.sync, self.agent_id, config.sync_clock_s, config.sync_images)
            self._sync = Synchronizer(lambda: self.library, wanted)
            self._sync_thread = threading.Thread(target=self._keep_in_step, name="r4-sync", daemon=True)
            self._sync_thread.start()

    def deactivate(self) -> None:
        """Stop; what was begun is finished, or done again at the next start."""
        if getattr(self, "_sync", None) is not None:
            self._sync_stopped.set()
            self._sync_thread.join(STOP_S)
            self._sync = None

    def open_anew(self) -> Library:
        """Forget what this process knows, and take what is stored."""
        raise NotImplementedError

    def tell_gap(self) -> None:
        """Tell those who keep a copy of the entries that more changed than they are told."""
        raise NotImplementedError

    def _keep_in_step(self) -> None:
        sync, period_s = self._sync, self.config.sync_period_s
        assert sync is not None
        while not self._sync_stopped.is_set():
            began, heard = time.monotonic(), sync.state.heard
            try:
                busy = sync.step()
            except Exception as error:  # told, and tried again like what the network does
                self.note("r4-sync", error)
                busy = False
            if sync.state.heard > heard:
                self._writer.offer(self.tell_gap)
            if busy:
                self._sync_stopped.wait(min(LONGEST_REST_S, time.monotonic() - began))
            else:
                sync.wait(period_s)
                self._sync_stopped.wait(max(0.0, began + period_s / 2 - time.monotonic()))
        sync.close()

    def _work_inbox(self) -> None:
        """Work in what robots sent, for a moment."""
        until, done = time.monotonic() + INBOX_TIME_S, 0
        while time.monotonic() < until and (worked := self._worked_in()) is not None:
            done += 1
            self.counts.add("synced.batches")
            self.counts.add("observations", worked.observations)
            if worked.refused:
                self.counts.add("synced.refused", worked.refused)
                self.get_logger().warning(f"{worked.agent_id}: {worked.problem}", throttle_duration_sec=10.0)
        if done:
            self.tell_gap()
            self._writer.offer(self._work_inbox)

    def _worked_in(self) -> WorkedIn | None:
        """One batch; where the database is away, it is asked for again a second later."""
        assert self._inbox is not None
        if time.monotonic() < self._inbox_not_before:
            return None
        try:
            return self._inbox.work()
        except StoreError as error:
            self._inbox_not_before = time.monotonic() + INBOX_PAUSE_S
            self.note("inbox", error)
            return None

    def sync_problems(self) -> list[str]:
        """What a person should know."""
        if self._sync is None:
            return []
        state = self._sync.state
        found = [f"not in step with the map server: {state.error}"] if state.error else []
        if state.lost:
            found.append(
                f"{state.lost} observations were dropped before the map server was told of them: raise history_mb"
            )
        if state.refused:
            found.append(f"the map server refused {state.refused} records, the last: {state.problem or 'see its log'}")
        return found + ([state.notice] if state.notice else [])

    def sync_values(self) -> dict[str, object]:
        """How far it came."""
        if self._sync is None:
            return {}
        state = self._sync.state
        lag_s = max(0, self.library.newest_stamp(state.agent_id) - state.oldest_ns) / 1e9 if state.oldest_ns else 0.0
        return {
            "sync.connected": state.connected,
            "sync.pending_frames": state.waiting_frames,
            "sync.lag_s": lag_s,
            "sync.observations": state.observations,
            "sync.heard": state.heard,
            "sync.clock_offset_s": state.offset_ns / 1e9,
            "sync.error": state.error,
        }
