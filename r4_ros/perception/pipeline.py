"""From a capture to a frame record: decode, register, segment, lift, measure colour, check absences."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.model import Embedding, Float32Array, Frame, Intrinsics, Observation, PlacedEntry
from r4_ros.core.ports import Embedder, RgbdImage, Segment, Segmenter, VisionModel
from r4_ros.perception.appearance import Appearance
from r4_ros.perception.capture import Capture, Placement
from r4_ros.perception.clouds import cloud_depth, decode_cloud
from r4_ros.perception.color import MAX_SAMPLES, color_names, white_level
from r4_ros.perception.images import decode_color, decode_depth, decode_labels
from r4_ros.perception.keyframes import Keyframes
from r4_ros.perception.label_segmenter import LabelSegmenter, named_by_class
from r4_ros.perception.lift import Lifted, lift
from r4_ros.perception.parts import joined
from r4_ros.perception.registration import along_axis, pinhole, rectify, register
from r4_ros.perception.silhouette import measured_area
from r4_ros.perception.uncertainty import with_pose_uncertainty
from r4_ros.perception.views import view_of
from r4_ros.perception.visibility import Expectations


class Pipeline:
    """One camera's way from images to frame records. ``load`` before the first frame, ``close`` after the last.

    ``writer`` names this run of the process; sequence numbers count its frames from 1. Not thread-safe: one worker.
    """

    def __init__(
        self,
        config: PerceptionConfig,
        segmenter: Segmenter,
        embedder: Embedder | None,
        writer: str = "",
        vision: VisionModel | None = None,
    ) -> None:
        self.config = config
        self.writer = writer
        self.sequence = 0
        self.too_few_points = 0  # instances dropped for having fewer than min_points
        self.timings_s: dict[str, float] = {}  # stages of the last frame
        self.segments: list[Segment] = []  # of the last frame, for an annotated image
        self.image: RgbdImage | None = None  # of the last frame
        self._keyframes = Keyframes()
        self._expectations = Expectations()
        self._segmenter = segmenter
        self._embedder = embedder
        self._embeddings: dict[str, Embedding | None] = {}
        self.appearance = Appearance(config, self._embed, vision)

    def load(self) -> None:
        """Load the models. Raises Unavailable, InvalidArgument or NotPermitted."""
        self._segmenter.load()
        self.appearance.load()

    def close(self) -> None:
        """Free what the models took."""
        self.appearance.close()
        self._segmenter.close()

    def process(self, capture: Capture, entries: Sequence[PlacedEntry] = ()) -> Frame:
        """The frame record of a capture. Raises FrameRefused; then nothing of it may be stored."""
        placement = capture.placement
        try:
            if not self._keyframes.is_due(placement, self.config) and not self._shows_change(capture):
                raise FrameRefused(RefusalReason.NOT_KEYFRAME, "nothing new since the last frame (keyframe_period_s)")
            image = self.decode(capture)
            self._keyframes.keep(placement, image.color, self.config)
            return self.observe(image, placement, entries)
        except FrameRefused as error:
            error.stamp_ns = capture.placement.stamp_ns
            raise

    def _shows_change(self, capture: Capture) -> bool:
        color = decode_color(capture.color)
        camera = _checked(capture.color_camera, color.shape, "colour")
        return self._keyframes.shows_change(rectify(camera, color, smooth=True), self.config)

    def decode(self, capture: Capture) -> RgbdImage:
        """Colour with depth registered to it, both without lens distortion. Raises FrameRefused."""
        with self._stage("decode"):
            color = decode_color(capture.color)
            camera = _checked(capture.color_camera, color.shape, "colour")
            measured = decode_cloud(capture.depth) if capture.depth_camera is None else decode_depth(capture.depth)
            labels = None
            if capture.labels is not None:
                labels = decode_labels(capture.labels, self.config.label_encoding)
                _checked(camera, labels.shape, "label")
        with self._stage("register"):
            depth, spacing = self._registered(measured, capture, pinhole(camera), camera)
            color = rectify(camera, color, smooth=True)
            labels = None if labels is None else rectify(camera, labels, smooth=False)
        legend = capture.legend
        if labels is not None and self.config.label_encoding == "gazebo":
            legend = named_by_class(labels, legend)
        return RgbdImage(color, depth, pinhole(camera), labels, legend, spacing)

    def _registered(
        self, measured: Float32Array, capture: Capture, flat: Intrinsics, camera: Intrinsics
    ) -> tuple[Float32Array, float]:
        """Depth in the rectified colour image, and the pixels between measurements; from an image or a cloud."""
        if capture.depth_camera is None:
            return cloud_depth(measured, capture.depth_in_color, flat)
        depth_camera = _checked(capture.depth_camera, measured.shape, "depth")
        if self.config.depth_model == "radial":
            measured = along_axis(measured, depth_camera)
        return register(measured, depth_camera, capture.depth_in_color, camera), 1.0

    def observe(self, image: RgbdImage, placement: Placement, entries: Sequence[PlacedEntry] = ()) -> Frame:
        """The frame record of a registered image; ``entries`` are those that memory expects around."""
        config = self.config
        depth = self._usable_depth(image.depth)
        image = replace(image, depth=depth)
        with self._stage("segment"):
            segments = self._segment(image)
        with self._stage("lift"):
            observations = self._lift(image, segments, placement)
        with self._stage("picture"):
            observations = self.appearance.attach(image, segments, observations, placement)
        with self._stage("visibility"):
            view = view_of(depth, image.intrinsics, config.min_depth_m, config.max_depth_m)
            if config.check_absence and entries:
                expected = sorted((e for e in entries if self.in_my_map(e)), key=lambda e: e.entry_id)
                observations += self._expectations.check(
                    expected,
                    observations,
                    depth,
                    image.intrinsics,
                    placement,
                    first_index=len(segments),
                    depth_spacing=image.depth_spacing,
                )
        self.sequence += 1
        self.segments, self.image = segments, image
        frame = Frame(
            agent_id=config.agent_id,
            camera=config.camera,
            writer=self.writer,
            sequence=self.sequence,
            session=placement.session,
            stamp_ns=placement.stamp_ns,
            map_id=config.map_id,
            map_frame=config.map_frame,
            sensor_frame=placement.sensor_frame,
            sensor_in_map=placement.sensor_in_map,
            view=view,
            sensor_in_odom=placement.sensor_in_odom,
            base_in_sensor=placement.base_in_sensor,
            pose_covariance=placement.pose_covariance,
            observations=observations,
        )
        with self._stage("ask"):
            self.appearance.made(image, frame)
        return frame

    def in_my_map(self, entry: PlacedEntry) -> bool:
        """Whether it is told in this camera's map.

        Without a map id the agent has maps of its own, which memory names '<agent>/<session>'.
        """
        if self.config.map_id:
            return entry.map_id == self.config.map_id
        return entry.map_id == "" or entry.map_id.startswith(f"{self.config.agent_id}/")

    def _usable_depth(self, depth: Float32Array) -> Float32Array:
        low, high = self.config.min_depth_m, self.config.max_depth_m
        usable: Float32Array = depth * ((depth >= low) & (depth <= high))
        if not cv2.hasNonZero(usable):
            raise FrameRefused(RefusalReason.EMPTY_DEPTH, f"no depth between {low:g} and {high:g} m")
        return usable

    def _segment(self, image: RgbdImage) -> list[Segment]:
        try:
            found = self._segmenter.segment(image)
            if self.config.segmenter == "label_image":  # that knows what is one thing
                return found
            return joined(found, image.depth, image.intrinsics)
        except FrameRefused:
            raise
        except Exception as error:  # a model's own error: this frame is lost, the node lives on
            raise FrameRefused(RefusalReason.MODEL_FAILED, f"the segmenter failed: {error}") from error

    def _lift(self, image: RgbdImage, segments: list[Segment], placement: Placement) -> tuple[Observation, ...]:
        area = measured_area(image.depth)
        orientation = placement.sensor_in_map.orientation
        boxes = lift(segments, image.depth, image.intrinsics, orientation, area, self.config.min_points)
        found = [(i, s, box) for i, (s, box) in enumerate(zip(segments, boxes, strict=True)) if box is not None]
        self.too_few_points += len(segments) - len(found)
        colors = color_names(_pixels(image.color, [lifted for *_, lifted in found]), white_level(image.color))
        return tuple(
            Observation(
                index=index,
                label=segment.label,
                box=lifted.box,
                position_covariance=with_pose_uncertainty(
                    lifted.covariance,
                    lifted.box.pose.position,
                    placement.sensor_in_map,
                    placement.pose_covariance,
                ),
                attributes=(("color", color),),
                label_embedding=self._embedding(segment.label),
                visibility=lifted.visibility,
                confidence=segment.confidence,
                track_id=segment.track_id,
            )
            for (index, segment, lifted), color in zip(found, colors, strict=True)
        )

    def _embedding(self, label: str) -> Embedding | None:
        known = self._embeddings.get(label)
        if known is None:
            known = self._embeddings[label] = self._embed(label)
        return known

    def _embed(self, text: str) -> Embedding | None:
        if self._embedder is None:
            return None
        return Embedding(self._embedder.name, self._embedder.embed([text])[0])

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.timings_s[name] = time.perf_counter() - start


def _pixels(color: npt.NDArray[np.uint8], lifted: Sequence[Lifted]) -> list[npt.NDArray[np.uint8]]:
    """As many pixels of each segment as its colour is measured from, uint8 [n, 3]."""
    if not lifted:
        return []
    steps = [max(1, len(one.rows) // MAX_SAMPLES) for one in lifted]
    rows = [one.rows[::step] for one, step in zip(lifted, steps, strict=True)]
    columns = [one.columns[::step] for one, step in zip(lifted, steps, strict=True)]
    pixels = color[np.concatenate(rows), np.concatenate(columns)]
    return np.split(pixels, np.cumsum([len(some) for some in rows])[:-1])


def make_segmenter(config: PerceptionConfig, detector: Callable[[], Segmenter]) -> Segmenter:
    """The segmenter that the config names; ``detector`` makes the one that needs a model."""
    if config.segmenter == "label_image":
        return LabelSegmenter(classes=config.label_kind == "classes")
    return detector()


def _checked(camera: Intrinsics, shape: tuple[int, ...], role: str) -> Intrinsics:
    """The camera, sized as the image where its info leaves that open. Raises FrameRefused(SIZE_MISMATCH)."""
    height, width = shape[:2]
    if not camera.width or not camera.height:
        return replace(camera, width=width, height=height)
    if (camera.width, camera.height) != (width, height):
        raise FrameRefused(
            RefusalReason.SIZE_MISMATCH,
            f"the {role} image has {width} x {height} pixels, its camera_info {camera.width} x {camera.height}",
        )
    return camera
