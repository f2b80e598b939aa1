"""perception_node: camera, depth and pose in; frame records with observations out."""

from __future__ import annotations

import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sensor_msgs.msg import Image
from std_msgs.msg import Header

from r4_ros import msg
from r4_ros.adapters.embedders import make_embedder
from r4_ros.adapters.segmenters import model_segmenter, set_confidence
from r4_ros.adapters.vision_models import make_vision
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.intervals import seconds
from r4_ros.core.model import Episode, Frame, PlacedEntry
from r4_ros.core.ports import Segmenter
from r4_ros.nodes import convert, qos
from r4_ros.nodes.annotate import annotated, image_message
from r4_ros.nodes.base import R4Node, run
from r4_ros.nodes.diagnostics import Report
from r4_ros.nodes.health import CameraHealth
from r4_ros.nodes.inputs import input_topics
from r4_ros.nodes.memory_link import MemoryLink
from r4_ros.nodes.tf import make_buffer
from r4_ros.nodes.worker import Worker
from r4_ros.perception.capture import Capture
from r4_ros.perception.label_segmenter import load_legend
from r4_ros.perception.pipeline import Pipeline, make_segmenter
from r4_ros.perception.refusals import Refusals
from r4_ros.perception.stream import Stream

SETTLE_S = 1.0  # how long a frame waits for memory's word on the one before
EXPIRE_PERIOD_S = 0.1
RESEND_PERIOD_S = 1.0


class ToldRefusals(Refusals):
    """Refusals that are also told to somebody, with the frame's stamp, where that is known.

    Not those for their order: a second image of a stamp says nothing of what becomes of the first.
    """

    def __init__(self, tell: Callable[[int, Exception], None], health: CameraHealth) -> None:
        super().__init__()
        self._tell = tell
        self._health = health

    def add(self, error: FrameRefused) -> None:
        """Count one refused frame and tell of it."""
        super().add(error)
        self._health.refused(error.reason)
        if error.stamp_ns is not None and error.reason is not RefusalReason.OUT_OF_ORDER:
            self._tell(error.stamp_ns, error)


class PerceptionNode(R4Node[PerceptionConfig]):
    """Messages are matched in the executor's thread, frames are worked on in another one, the newest first to stay."""

    def __init__(self, **node_options: Any) -> None:
        self.writer = uuid.uuid4().hex
        self._pipeline: Pipeline | None = None
        self._segmenter: Segmenter | None = None
        super().__init__("perception_node", PerceptionConfig, **node_options)

    @property
    def pipeline(self) -> Pipeline:
        """The way from a capture to a frame record; made in configure."""
        assert self._pipeline is not None
        return self._pipeline

    def configure(self) -> None:
        """Load the models and make the topics that are published."""
        config = replace(self.config, agent_id=self.agent_id)
        self._segmenter = make_segmenter(config, partial(model_segmenter, config))
        sequence = self._pipeline.sequence if self._pipeline else 0  # goes on: memory knows this writer
        embedder = make_embedder(config.embedder)
        if embedder is not None:
            embedder.embed(["thing"])  # loads the model now, not with the first frame
        self._pipeline = Pipeline(config, self._segmenter, embedder, self.writer, make_vision(config))
        self._pipeline.sequence = sequence
        self._pipeline.appearance.deliver, self._pipeline.appearance.tell = self._publish, self._tell_episode
        self._link = MemoryLink()
        self._observations = self.advertise(msg.ObservationArray, "perception/observations", qos.OBSERVATIONS)
        self._refused = self.advertise(msg.ObservationAck, "perception/refused", qos.EVENTS)
        self._annotated = self.advertise(Image, "perception/annotated", qos.SENSOR)
        if config.vision != "none" and config.caption_period_s > 0:
            self._episodes = self.advertise(msg.Episode, "memory/episodes", qos.EVENTS)
        self._acknowledgers = 0
        self._pipeline.load()

    def activate(self) -> None:
        """Listen to the camera, the poses and memory."""
        transforms = make_buffer(self.config.reorder_s)
        self.get_logger().info(f"transform buffer: {transforms.name}")
        self._health = CameraHealth()
        self._stream = Stream(self.pipeline.config, ToldRefusals(self._tell_refusal, self._health), transforms)
        if self.config.label_legend:
            self._stream.legend = load_legend(self.config.label_legend)
        self._frames: Worker[Capture] = self.worker(
            "r4-perception", self._process, self.config.queue_size, self._on_drop
        )
        for role, kind, topic, profile in input_topics(self.config):
            self.subscribe(kind, topic, partial(self._on_message, role), profile)
        self.subscribe(msg.ObservationAck, "memory/acks", self._on_ack, qos.EVENTS)
        self.subscribe(msg.ObjectEntryArray, "memory/entries", self._on_entries, qos.LATCHED)
        self.subscribe(msg.ObjectEntryArray, "memory/entries_delta", self._on_delta, qos.EVENTS)
        self._ticked, self._served_s = time.monotonic(), 0.0
        self.every(EXPIRE_PERIOD_S, self._expire)
        self.every(RESEND_PERIOD_S, self._resend)

    def cleanup(self) -> None:
        """Free the models."""
        if self._pipeline is not None:
            self._pipeline.close()

    def on_config(self, config: PerceptionConfig) -> None:
        """Live parameters hold from the next frame on."""
        if self._pipeline is not None:
            self._pipeline.config = replace(config, agent_id=self.agent_id)
        set_confidence(self._segmenter, config.detector_confidence)

    # Frames.

    def _on_message(self, role: str, message: Any) -> None:
        self._health.received(role)
        self._offer(self._stream.add(role, message))

    def _offer(self, captures: Sequence[Capture]) -> None:
        for capture in captures:
            self._frames.offer(capture)

    def _expire(self) -> None:
        """Give up what waited too long; where this process was held up, what came meanwhile is taken first."""
        now = time.monotonic()
        self._served_s += min(now - self._ticked, 2 * EXPIRE_PERIOD_S)
        self._ticked = now
        self._offer(self._stream.expire(self._served_s))

    def _process(self, capture: Capture) -> None:
        """On the worker: once memory has said what became of the last frame, make the next record and publish it."""
        self._link.wait_settled(SETTLE_S)
        try:
            frame = self.pipeline.process(capture, self._link.entries())
        except FrameRefused as error:
            error.stamp_ns = capture.placement.stamp_ns
            self._stream.refusals.add(error)
            return
        except Exception as error:
            self._tell_refusal(capture.placement.stamp_ns, error)
            raise
        self._publish(frame)
        now_ns = self.get_clock().now().nanoseconds or frame.stamp_ns  # simulated time that hasn't come
        age_ns = now_ns - frame.stamp_ns
        self._health.done(seconds(age_ns), self.pipeline.timings_s.get("segment", 0.0))
        self.counts.add("frames")
        kinds = Counter(
            "hidden" if o.is_hidden_entry else "absent" if o.entry_id else "observations" for o in frame.observations
        )
        for kind, number in kinds.items():
            self.counts.add(kind, number)
        if self.config.annotate and self._annotated.get_subscription_count():
            self._publish_annotated(frame)

    def _publish(self, frame: Frame) -> None:
        """Publish a record; the same once more when descriptions of its things have come, then on their own thread."""
        message = convert.frame_to_msg(frame)
        self._link.sent(frame.sequence, message)
        self._observations.publish(message)

    def _tell_episode(self, episode: Episode) -> None:
        self._episodes.publish(convert.episode_to_msg(episode))

    def _publish_annotated(self, frame: Frame) -> None:
        if self.pipeline.image is not None:
            header = Header(stamp=convert.time_to_msg(frame.stamp_ns), frame_id=frame.sensor_frame)
            self._annotated.publish(image_message(annotated(self.pipeline.image, self.pipeline.segments), header))

    def _on_drop(self, capture: Capture) -> None:
        stamp_ns = capture.placement.stamp_ns
        self._stream.refusals.add(FrameRefused(RefusalReason.QUEUE_FULL, "the worker is busy", stamp_ns))

    def _tell_refusal(self, stamp_ns: int, error: Exception) -> None:
        self._refused.publish(convert.refusal_to_msg(self.agent_id, self.writer, stamp_ns, error))

    # Memory.

    def _on_ack(self, ack: Any) -> None:
        if ack.writer != self.writer:
            return
        self._link.acknowledged(ack.sequence, ack.outcome.code, ack.outcome.message, ack.revision)
        if ack.outcome.code:
            self.counts.add(f"memory_refused.{ack.outcome.code}")
            self.get_logger().error(f"memory: {ack.outcome.message}", throttle_duration_sec=5.0)

    def _in_my_map(self, message: Any) -> list[PlacedEntry]:
        """A memory of several robots may tell a thing once in the map of each."""
        return [e for e in map(convert.entry_from_msg, message.entries) if self.pipeline.in_my_map(e)]

    def _on_entries(self, message: Any) -> None:
        self._link.replace(self._in_my_map(message), message.to_revision)

    def _on_delta(self, message: Any) -> None:
        changed = self._in_my_map(message)
        self._link.apply(changed, message.removed, message.from_revision, message.to_revision)

    def _resend(self) -> None:
        """Publish again what memory hasn't acknowledged for long, or soon after a memory node came up."""
        acknowledgers = self.count_publishers(self.resolve_topic_name("memory/acks"))
        if acknowledgers > self._acknowledgers:
            self._link.memory_returned()
        self._acknowledgers = acknowledgers
        for message in self._link.due():
            self._observations.publish(message)
            self.counts.add("frames_resent")

    # Diagnostics.

    def report(self) -> Report:
        """What doesn't arrive, what was refused and why, how fast it all goes."""
        stream = self._stream
        topics = {item.role: self.resolve_topic_name(item.topic) for item in input_topics(self.config)}
        problems = [
            f"nothing received on {topic}"
            for role, topic in topics.items()
            if not stream.received.get(role) and role not in ("tf_static", "depth_info")
        ]
        health = self._health.report(self.config, topics)
        refused = stream.refusals.by_reason()
        if refused and (health.refusing or not self.counts["frames"]):
            problems += [f"{reason.value}: {text}" for reason, text in stream.refusals.messages.items()]
        if self.pipeline.appearance.trouble:
            problems.append(f"no descriptions: {self.pipeline.appearance.trouble}")
        if self._link.refusal:
            problems.append(f"memory refuses: {self._link.refusal}")
        elif self._link.unacknowledged > self.config.queue_size:
            problems.append(f"{self._link.unacknowledged} frames are not acknowledged by memory")
        return Report([*problems, *health.warnings], self._values(topics) | health.values, health.errors)

    def _values(self, topics: dict[str, str]) -> dict[str, object]:
        stream = self._stream
        values: dict[str, object] = {f"topic.{role}": topic for role, topic in topics.items()}
        values["camera"] = self.config.camera
        values.update({f"received.{role}": count for role, count in stream.received.items()})
        values.update({f"refused.{reason}": count for reason, count in stream.refusals.by_reason().items()})
        values.update({f"offset_s.{role}": offset for role, offset in stream.offsets_s.items()})
        values.update({f"time_s.{stage}": spent for stage, spent in self.pipeline.timings_s.items()})
        values.update(self.pipeline.appearance.counts())
        values.update({"transform_buffer": stream.transforms.name, "session": stream.session})
        values.update({"queue": self._frames.pending, "unacknowledged": self._link.unacknowledged})
        values.update({"lost": self._link.lost, "too_few_points": self.pipeline.too_few_points})
        return values


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    return run(PerceptionNode, args)


if __name__ == "__main__":
    sys.exit(main())
