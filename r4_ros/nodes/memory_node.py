"""memory_node: frame records in; acks, entries, events, markers and retrievals out."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from r4_ros import msg, srv
from r4_ros.adapters.embedders import make_embedder
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import NotPermitted, StoreError, WriterRefused
from r4_ros.core.model import NS_PER_S, Correction, Frame, PlacedEntry, Receipt
from r4_ros.memory.database_name import is_url
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.regions import load_regions
from r4_ros.memory.working import COLLECTOR
from r4_ros.nodes import convert, qos
from r4_ros.nodes.aligning import Aligning
from r4_ros.nodes.base import Job, run
from r4_ros.nodes.convert_corrections import correction_from_request
from r4_ros.nodes.convert_queries import fill_retrieval, query_from_request
from r4_ros.nodes.diagnostics import Report
from r4_ros.nodes.importing import Importing
from r4_ros.nodes.intake import WAITING_FRAMES, Intake, net_change
from r4_ros.nodes.markers import memory_markers
from r4_ros.nodes.paths import ros_home, snapshot_path
from r4_ros.nodes.polling import POLL_S
from r4_ros.nodes.storing import Storing
from r4_ros.nodes.syncing import Syncing
from r4_ros.nodes.worker import Worker

ENTRIES_PERIOD_S, ENTRIES_SHARE = 1.0, 10
HISTORY_PERIOD_S, HISTORY_TIME_S = 1.0, 0.03
WAITING_PERIOD_S = 0.1
TRAIL_NS = 600 * NS_PER_S
"""How much of each agent's trail the markers show."""
CLOCKS_AGREE_NS = 3600 * NS_PER_S
"""Stamps farther from the node's clock are a recording's or a simulator's."""


class MemoryNode(Aligning, Syncing, Importing):
    """Stores what the agents' cameras saw and answers retrievals. All writing happens on one thread."""

    def __init__(self, **node_options: Any) -> None:
        self._library: Library | None = None
        self._map_frames: dict[str, str] = {}
        self._published_revision = -1
        self._sent_revision = 0
        self._store_trouble = ""
        self.correction_refused = {}
        self._storing, self._entries_due = False, 0.0
        super().__init__("memory_node", MemoryConfig, **node_options)

    @property
    def library(self) -> Library:
        """The memory; opened in configure."""
        assert self._library is not None
        return self._library

    def configure(self) -> None:
        """Open the database and make topics and services."""
        config = self.config
        database = config.db if is_url(config.db) else ros_home(config.db)
        folder = database.parent if isinstance(database, Path) else ros_home("r4.db").parent
        self._embedder = make_embedder(config.embedder)
        if self._embedder is not None:
            self._embedder.embed(["thing"])  # loads the model now, not with the first question
        self._open = partial(open_library, database, config, self._embedder)
        self._library = self._open()
        if config.regions_file:
            self._library.set_regions(load_regions(Path(config.regions_file).expanduser()))
        self._snapshots = ros_home(config.snapshot_dir) if config.snapshot_dir else folder / "snapshots"
        self._published_revision, self._sent_revision = -1, self._library.revision
        self._intake = Intake(WAITING_FRAMES, config.agent_rate_hz)
        self._frames = Storing(self._intake, lambda: self.library, self.open_anew, config)
        self._writer: Worker[Job] = self.worker("r4-store")
        self._queries: Worker[Job] = self.worker("r4-queries")
        self._acks = self.advertise(msg.ObservationAck, "memory/acks", qos.EVENTS)
        self._entries = self.advertise(msg.ObjectEntryArray, "memory/entries", qos.LATCHED)
        self._deltas = self.advertise(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
        self._events = self.advertise(msg.MemoryEvent, "memory/events", qos.EVENTS)
        self._markers = self.advertise(MarkerArray, "memory/markers", qos.LATCHED)
        self.serve(srv.Retrieve, "memory/retrieve", self._retrieve, self._queries)
        self.serve(srv.UpsertObservations, "memory/upsert", self._upsert, self._writer)
        self.serve(srv.AddEpisode, "memory/add_episode", self._add_episode, self._writer)
        self.serve(srv.CorrectEntry, "memory/correct", self._correct, self._writer)
        self.serve(srv.Snapshot, "memory/snapshot", self._snapshot, self._queries)
        self.begin_aligning()

    def activate(self) -> None:
        """Listen to the agents; publish what is known."""
        self.begin_hearing()
        self.hear_static_transforms()
        for agent, prefix in self._served_agents():
            topic = f"{prefix}perception/observations"
            hear = partial(self._on_observations, agent if prefix else "")
            self.hear(msg.ObservationArray, topic, hear, qos.OBSERVATIONS, POLL_S, raw=True)
            self.hear_corrections(agent, prefix)
            if prefix:
                self.hear(msg.Episode, f"{prefix}memory/episodes", partial(self._on_episode, agent), qos.EVENTS)
        self.subscribe(msg.Episode, "memory/episodes", partial(self._on_episode, ""), qos.EVENTS)
        self.every(WAITING_PERIOD_S, self._offer_storing)
        self.every(ENTRIES_PERIOD_S, lambda: self._writer.offer(self._publish_entries_now_and_then))
        for upkeep in (self._keep_history, self.make_anew):
            self.every(HISTORY_PERIOD_S, partial(self._writer.offer, upkeep))
        self.every(1.0 / self.config.markers_rate_hz, self._offer_markers)
        self._writer.offer(self._publish_entries)
        self.begin_syncing()
        self.begin_importing()

    def _observation_topics(self) -> list[str]:
        return [f"{prefix}perception/observations" for _, prefix in self._served_agents()]

    def _served_agents(self) -> list[tuple[str, str]]:
        """The agents and their namespaces with a slash; this node's own where none are given."""
        agents = [name.strip("/") for name in self.config.agents]
        return [(name, f"/{name}/") for name in agents] or [(self.agent_id, "")]

    def cleanup(self) -> None:
        """Close the database."""
        if self._library is not None:
            self._library.close()
            self._library = None

    # Writing.

    def _on_observations(self, agent: str, data: bytes) -> None:
        self.counts.add("frames")
        self.counts.add("frames_dropped", int(not self._intake.offer(agent, data)))
        self._offer_storing()

    def _offer_storing(self) -> None:
        if self._intake.pending and not self._storing:
            self._storing = True
            self._writer.offer(self._store_waiting)

    def _store_waiting(self) -> None:
        """Store frames that wait, acknowledge them after COMMIT, and say what they changed."""
        self._storing = False
        self._frames.tell = bool(self._deltas.get_subscription_count())
        done = self._frames.store()
        for stored in done:
            if stored.error is None:
                self._acks.publish(convert.ack_to_msg(stored.message, stored.receipt.revision))
            else:
                self._refuse(stored.message, stored.error)
        kept = [(stored.frame, stored.receipt) for stored in done if stored.error is None]
        if kept:
            self._tell_changes([frame for frame, _ in kept], [receipt for _, receipt in kept], self._frames.tell)
        if done:
            self._offer_storing()

    def open_anew(self) -> Library:
        """Forget what this process knows, and take what is stored."""
        self.library.close()
        self._library = self._open()
        self._sent_revision, self._published_revision = self._library.revision, -1
        return self._library

    def _refuse(self, message: Any, error: Exception) -> None:
        self._acks.publish(convert.ack_to_msg(message, error=error))
        if isinstance(error, (WriterRefused, NotPermitted)):
            self.get_logger().error(str(error), throttle_duration_sec=2.0)
        if isinstance(error, StoreError):
            self._store_trouble = str(error)
        self.counts.add(f"refused.{convert.outcome(error).code}")
        self.note("r4-store", error)

    def _ingest(self, frame: Frame) -> Receipt:
        receipt = self.library.ingest(frame)
        self._tell_changes([frame], [receipt])
        return receipt

    def _tell_changes(self, frames: Sequence[Frame], receipts: Sequence[Receipt], delta: bool = True) -> None:
        self.counts.add("observations", sum(receipt.stored for receipt in receipts))
        self._map_frames.update({frame.map_id: frame.map_frame for frame in frames})
        whole = bool(self._store_trouble) or any(receipt.anchors for receipt in receipts)
        whole |= self.library.heard_revision > self._sent_revision
        newest = receipts[-1].revision
        if newest > self._sent_revision:
            # after trouble, anchors may have moved before a frame that then couldn't be stored: a gap too
            start = newest if whole else self._sent_revision
            if delta:
                self._deltas.publish(self._entries_message(*net_change(receipts), newest, start))
            self._sent_revision = newest
        if whole:
            self._publish_entries()
        for receipt in receipts:
            for event in receipt.events:
                self._events.publish(convert.event_to_msg(event))
        self._store_trouble = ""
        self._tell_clock(frames[-1].stamp_ns)

    def _tell_clock(self, stamp_ns: int) -> None:
        """Keep on which clock the stamps run. The frame is stored whatever becomes of this."""
        if not self._sim_time:
            try:
                self.library.set_live(abs(self._clock_ns() - stamp_ns) < CLOCKS_AGREE_NS)
            except StoreError as error:
                self.note("clock", error)

    def _keep_history(self) -> None:
        """Drop what is due of the history; where much is, for a moment only: frames wait meanwhile."""
        until = time.monotonic() + HISTORY_TIME_S
        while (dropped := self.library.keep_history()).before_ns:
            self.counts.add("history.observations_dropped", dropped.observations)
            self.counts.add("history.frames_dropped", dropped.frames)
            if time.monotonic() > until:
                return

    def _upsert(self, request: Any, response: Any) -> Any:
        frame = convert.frame_from_msg(request.frame)
        if frame.agent_id != self.agent_id and frame.agent_id not in self.config.agents:
            raise NotPermitted(f"this memory takes observations of {self._served()}, not of '{frame.agent_id}'")
        receipt = self._ingest(frame)
        response.revision, response.stored = receipt.revision, receipt.stored
        return response

    def _correct(self, request: Any, response: Any) -> Any:
        if not self.config.allow_corrections:
            raise NotPermitted(
                "corrections are off here; set allow_corrections, or use r4 db correct while this node rests"
            )
        said = correction_from_request(request)
        for agent in self.library.agents_of(said):
            self.require_served(agent)
        receipt = self.library.correct(said, self._clock_ns())
        self._deltas.publish(self._entries_message(receipt.changed, receipt.removed, receipt.revision))
        self._sent_revision = receipt.revision
        self._publish_entries()
        self.counts.add("corrections")
        response.correction_id, response.revision = receipt.correction_id, receipt.revision
        response.changed, response.removed = [p.entry_id for p in receipt.changed], list(receipt.removed)
        return response

    def require_served(self, agent: str) -> None:
        """Raise NotPermitted for an agent that this memory isn't for."""
        if agent != self.agent_id and agent not in self.config.agents:
            raise NotPermitted(f"this memory is corrected for {self._served()}, not for '{agent}'")

    def _served(self) -> str:
        return ", ".join(f"'{name}'" for name in self.config.agents or [self.agent_id])

    def map_frame(self) -> str:
        """Name of the map's fixed frame; empty: not known yet."""
        return next(iter(self._map_frames.values()), "")

    def tell_correction(self, correction: Correction) -> None:
        """Publish what it changed; those who keep a copy take it anew."""
        self._sent_revision = correction.revision  # a gap to them
        self._deltas.publish(self._entries_message(correction.changed, correction.removed, correction.revision))
        self._publish_entries()

    def tell_gap(self) -> None:
        """Tell those who keep a copy of the entries that more changed than they are told."""
        self._sent_revision = self.library.revision
        self._deltas.publish(self._entries_message((), (), self._sent_revision))

    def _on_episode(self, agent: str, message: Any) -> None:
        """``agent``: whose topic it came by, and who alone may tell it there; empty: anybody."""
        if agent and message.agent_id not in ("", agent):
            self.counts.add("episodes_refused")
            self.get_logger().warning(
                f"/{agent}/memory/episodes: refused an episode that claims to be '{message.agent_id}''s",
                throttle_duration_sec=10.0,
            )
            return
        message.agent_id = message.agent_id or agent
        self._writer.offer(lambda: self._keep_episode(message))

    def _add_episode(self, request: Any, response: Any) -> Any:
        response.episode_id = self._keep_episode(request.episode)
        return response

    def _keep_episode(self, message: Any) -> str:
        if not self.config.agents:
            message.agent_id = message.agent_id or self.agent_id
        episode_id = self.library.add_episode(convert.episode_from_msg(message))
        self.counts.add("episodes")
        return episode_id

    # Reading.

    def _retrieve(self, request: Any, response: Any) -> Any:
        self.counts.add("retrievals")
        query = query_from_request(request)
        if query.now_ns is None:
            query = replace(query, now_ns=self._now_ns(self.library.newest_stamp()))
        return fill_retrieval(response, self.library.retrieve(query))

    def _now_ns(self, newest_ns: int) -> int:
        """What 'now' means where a query doesn't say: the clock that the memory's stamps run on.

        For a robot's memory that is the node's clock, however long ago it last saw something; a recording's or a
        simulator's, opened later, has ended at its newest stamp.
        """
        clock_ns = self._clock_ns()
        if not newest_ns or (self.library.live and not self._sim_time):
            return clock_ns
        return clock_ns if 0 <= clock_ns - newest_ns < CLOCKS_AGREE_NS else newest_ns

    @property
    def _sim_time(self) -> bool:
        return bool(self.get_parameter("use_sim_time").value)

    def _clock_ns(self) -> int:
        """The node's clock; where simulated time hasn't come yet, the newest stamp."""
        return int(self.get_clock().now().nanoseconds) or self.library.newest_stamp()

    def _snapshot(self, request: Any, response: Any) -> Any:
        path = snapshot_path(self._snapshots, request.name)
        self.library.snapshot(path)
        response.path, response.bytes = str(path), path.stat().st_size
        return response

    def _publish_entries_now_and_then(self) -> None:
        """Where there are many robots, less often: this may take a tenth of the time that frames wait for."""
        began = time.monotonic()
        if began >= self._entries_due:
            self._publish_entries()
            self._entries_due = began + ENTRIES_SHARE * (time.monotonic() - began)

    def _publish_entries(self) -> None:
        revision = self.library.revision
        if not self._entries.get_subscription_count():
            self._published_revision = -1  # for who comes next
        elif revision != self._published_revision:
            self._entries.publish(self._entries_message(self.near_entries(), (), revision, from_revision=0))
            self._published_revision = revision

    def _entries_message(
        self, entries: Sequence[PlacedEntry], removed: Sequence[str], revision: int, from_revision: int | None = None
    ) -> msg.ObjectEntryArray:
        return msg.ObjectEntryArray(
            header=self._header(),
            from_revision=self._sent_revision if from_revision is None else from_revision,
            to_revision=revision,
            entries=[convert.entry_to_msg(entry) for entry in entries],
            removed=list(removed),
        )

    def _header(self) -> Header:
        return Header(stamp=self.get_clock().now().to_msg(), frame_id=self.map_frame() or "map")

    def _offer_markers(self) -> None:
        if self._markers.get_subscription_count():
            self._queries.offer(self._publish_markers)

    def _publish_markers(self) -> None:
        trails = [
            self.library.trail(agent, self.library.newest_stamp(agent) - TRAIL_NS) for agent in self.library.agents()
        ]
        frames = self.library.map_frames()
        self._markers.publish(memory_markers(self.near_entries(common=True), trails, self._header(), frames))

    def report(self) -> Report:
        """Who is heard, and how much is stored."""
        problems = [
            f"nobody publishes {self.resolve_topic_name(topic)}: is the perception node active?"
            for topic in self._observation_topics()
            if not self.count_publishers(self.resolve_topic_name(topic))
        ]
        problems += self.unheard() + self.sync_problems()
        problems += [f"{topic}: {reason}" for topic, reason in sorted(self.correction_refused.items())]
        if self._store_trouble:
            problems.insert(0, f"nothing is stored: {self._store_trouble}")
        if self.library.history_exceeds:
            problems.append(
                f"the database is larger than history_mb ({self.config.history_mb} MB) with no old observations left "
                "to drop: raise history_mb"
            )
        return Report(
            problems,
            {
                "revision": self.library.revision,
                "waiting": self._intake.pending + self._writer.pending,
                "unreadable": self._frames.unreadable,
                "unsettled": ", ".join(self.library.unsettled()),
                **self.sync_values(),
            },
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    gc.set_threshold(*COLLECTOR)
    return run(MemoryNode, args)


if __name__ == "__main__":
    sys.exit(main())
