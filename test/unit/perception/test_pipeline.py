"""From messages to frame records, on rendered scenes (CASES 1, 2, 5 to 7)."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace as Message
from typing import Any

import cv2
import numpy as np
import pytest

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.geometry import quat_from_matrix, transform_box
from r4_ros.core.model import Frame, Intrinsics, Pose, Visibility
from r4_ros.core.ports import RgbdImage, Segment
from r4_ros.perception.capture import Capture, Placement
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline

COLOR = Intrinsics(320, 240, 280.0, 280.0, 160.0, 120.0)
DEPTH = Intrinsics(320, 240, 300.0, 300.0, 158.0, 121.0)
BESIDE = Pose((0.04, 0.0, 0.0))
DOWN = math.radians(35)
LOOKING = Pose(
    (0.0, 0.0, 1.5),
    quat_from_matrix(
        np.array([[1, 0, 0], [0, -math.sin(DOWN), math.cos(DOWN)], [0, -math.cos(DOWN), -math.sin(DOWN)]])
    ),
)
BOXES = [
    ((0.0, 0.0, -0.05), (20.0, 20.0, 0.1)),
    ((-0.4, 1.9, 0.2), (0.4, 0.4, 0.4)),
    ((0.4, 2.1, 0.3), (0.3, 0.3, 0.6)),
]
PAINT = np.array([[128, 128, 128], [200, 20, 30], [30, 70, 200]], np.uint8)
LEGEND = {1: "crate", 2: "bin"}
PLACEMENT = Placement(5_000_000_000, "camera", LOOKING)


class FakeEmbedder:
    """Counts what it is asked."""

    name = "fake"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.asked += texts
        return np.eye(4, dtype=np.float32)[: len(texts)]


def pipeline(**changes: Any) -> Pipeline:
    config = PerceptionConfig(agent_id="robot", segmenter="label_image", base_frame="", **changes)
    return Pipeline(config, LabelSegmenter(), FakeEmbedder(), "writer")


def capture(
    messages: Any,
    scene: Any,
    depth_encoding: str = "16UC1",
    color_encoding: str = "rgb8",
    apart: bool = True,
    big: bool = False,
) -> Capture:
    """What the two cameras measure of the scene, encoded one way or another."""
    from r4_ros.core.geometry import compose

    _, who = scene(COLOR, BOXES, LOOKING).render()
    camera, mount = (DEPTH, BESIDE) if apart else (COLOR, Pose())
    metres, _ = scene(camera, BOXES, compose(LOOKING, mount)).render()
    image = PAINT[np.clip(who, 0, 2)]
    if color_encoding == "png":
        color = messages.compressed(bytes(cv2.imencode(".png", image[..., ::-1])[1]), "rgb8; png compressed bgr8")
    else:
        color = messages.image(image if color_encoding == "rgb8" else image[..., ::-1], color_encoding, padding=7)
    if depth_encoding == "16UC1":
        depth = messages.image(np.rint(metres * 1000).astype(np.uint16), "16UC1", padding=4, big=big)
    elif depth_encoding == "32FC1":
        depth = messages.image(np.where(metres > 0, metres, np.nan).astype(np.float32), "32FC1", big=big)
    else:
        data = bytes(cv2.imencode(".png", np.rint(metres * 1000).astype(np.uint16))[1])
        depth = messages.compressed(bytes(12) + data, "16UC1; compressedDepth png")
    labels = messages.image(np.maximum(who, 0).astype(np.uint16), "16UC1")
    return Capture(PLACEMENT, color, depth, labels, COLOR, camera, mount, LEGEND)


def places(frame: Frame) -> dict[str, np.ndarray[Any, Any]]:
    return {o.label: np.asarray(transform_box(LOOKING, o.box).pose.position) for o in frame.observations}


@pytest.mark.parametrize("depth_encoding", ["16UC1", "32FC1", "compressedDepth"])
@pytest.mark.parametrize("color_encoding", ["rgb8", "bgr8", "png"])
@pytest.mark.parametrize("apart", [True, False])
def test_things_stand_where_they_stand(
    messages: Any, scene: Any, depth_encoding: str, color_encoding: str, apart: bool
) -> None:
    frame = pipeline().process(capture(messages, scene, depth_encoding, color_encoding, apart, big=True))
    assert [o.label for o in frame.observations] == ["crate", "bin"]
    found = places(frame)
    np.testing.assert_allclose(found["crate"], BOXES[1][0], atol=0.04)
    np.testing.assert_allclose(found["bin"], BOXES[2][0], atol=0.04)
    assert [o.attributes for o in frame.observations] == [(("color", "red"),), (("color", "blue"),)]
    assert {o.visibility for o in frame.observations} == {Visibility.VISIBLE}


def test_the_frame_record_says_who_when_and_from_where(messages: Any, scene: Any) -> None:
    p = pipeline(camera="front", map_id="home", crops=False)
    first, second = (p.process(capture(messages, scene)) for _ in range(2))
    assert (first.agent_id, first.camera, first.writer, first.map_id, first.map_frame) == (
        "robot", "front", "writer", "home", "map"
    )  # fmt: skip
    assert (first.sequence, second.sequence) == (1, 2)
    assert (first.stamp_ns, first.sensor_frame, first.sensor_in_map) == (5_000_000_000, "camera", LOOKING)
    assert first.view.depth.max() > 1
    assert replace(second, sequence=1) == first  # the same input, the same record


def test_an_empty_frame_is_a_record_too(messages: Any, scene: Any) -> None:
    frame = pipeline().process(replace(capture(messages, scene), legend={9: "unseen"}))
    assert frame.observations == ()
    assert frame.sequence == 1


def test_labels_are_embedded_once(messages: Any, scene: Any) -> None:
    p = pipeline()
    for _ in range(3):
        frame = p.process(capture(messages, scene))
    assert sorted(p._embedder.asked) == ["bin", "crate"]  # type: ignore[union-attr]
    embedding = frame.observations[0].label_embedding
    assert embedding is not None
    assert embedding.model == "fake"


def test_instances_with_too_few_points_are_counted(messages: Any, scene: Any) -> None:
    p = pipeline(min_points=100_000)
    assert p.process(capture(messages, scene)).observations == ()
    assert p.too_few_points == 2


@pytest.mark.parametrize("role", ["color_camera", "depth_camera"])
def test_sizes_that_do_not_fit_their_info_are_refused(messages: Any, scene: Any, role: str) -> None:
    p = pipeline()
    wrong = replace(COLOR, width=640, height=480)
    with pytest.raises(FrameRefused, match="640") as refused:
        p.process(replace(capture(messages, scene), **{role: wrong}))
    assert refused.value.reason == RefusalReason.SIZE_MISMATCH
    assert refused.value.stamp_ns == 5_000_000_000
    assert p.sequence == 0  # nothing of it counts


def test_an_info_without_a_size_takes_the_image_s(messages: Any, scene: Any) -> None:
    frame = pipeline().process(replace(capture(messages, scene), color_camera=replace(COLOR, width=0, height=0)))
    assert len(frame.observations) == 2


def test_labels_of_another_size_are_refused(messages: Any, scene: Any) -> None:
    labels = messages.image(np.zeros((10, 10), np.uint16), "16UC1")
    with pytest.raises(FrameRefused, match="label"):
        pipeline().process(replace(capture(messages, scene), labels=labels))


@pytest.mark.parametrize("metres", [0.0, 0.05, 60.0])
def test_a_frame_without_usable_depth_is_refused(messages: Any, scene: Any, metres: float) -> None:
    depth = messages.image(np.full((240, 320), metres, np.float32), "32FC1")
    with pytest.raises(FrameRefused) as refused:
        pipeline().process(replace(capture(messages, scene), depth=depth))
    assert refused.value.reason == RefusalReason.EMPTY_DEPTH


def test_a_segmenter_that_fails_loses_one_frame_only(messages: Any, scene: Any) -> None:
    class Broken(LabelSegmenter):
        def segment(self, image: RgbdImage) -> list[Segment]:
            raise RuntimeError("CUDA out of memory")

    p = Pipeline(PerceptionConfig(agent_id="robot"), Broken(), None)
    with pytest.raises(FrameRefused, match="CUDA") as refused:
        p.process(capture(messages, scene))
    assert refused.value.reason == RefusalReason.MODEL_FAILED


def test_without_an_embedder_observations_have_no_vector(messages: Any, scene: Any) -> None:
    p = Pipeline(PerceptionConfig(agent_id="robot"), LabelSegmenter(), None)
    assert {o.label_embedding for o in p.process(capture(messages, scene)).observations} == {None}


def cloud_of(metres: np.ndarray[Any, Any], camera: Intrinsics, keep: Any) -> Any:
    """The pixels of a depth image where ``keep`` holds, as a PointCloud2 of xyz without order."""
    rows, columns = np.nonzero((metres > 0) & keep)
    z = metres[rows, columns]
    points = np.stack([(columns - camera.cx) / camera.fx * z, (rows - camera.cy) / camera.fy * z, z], axis=1)
    fields = [Message(name=name, offset=4 * i, datatype=7, count=1) for i, name in enumerate("xyz")]
    return Message(
        height=1,
        width=len(points),
        fields=fields,
        is_bigendian=False,
        point_step=12,
        row_step=12 * len(points),
        data=points.astype("<f4").tobytes(),
        is_dense=False,
    )


@pytest.mark.parametrize(("every_row", "every_column", "tolerance"), [(1, 1, 0.04), (3, 2, 0.06), (8, 2, 0.1)])
def test_things_stand_where_a_cloud_says(
    messages: Any, scene: Any, every_row: int, every_column: int, tolerance: float
) -> None:
    """From a depth camera's cloud down to the rings of a LiDAR, measured beside the colour camera."""
    from r4_ros.core.geometry import compose

    shot = capture(messages, scene)
    metres, _ = scene(DEPTH, BOXES, compose(LOOKING, BESIDE)).render()
    keep = np.zeros(metres.shape, bool)
    keep[::every_row, ::every_column] = True
    frame = pipeline().process(replace(shot, depth=cloud_of(metres, DEPTH, keep), depth_camera=None))
    found = places(frame)
    np.testing.assert_allclose(found["crate"], BOXES[1][0], atol=tolerance)
    np.testing.assert_allclose(found["bin"], BOXES[2][0], atol=tolerance)


def test_a_cloud_too_coarse_for_a_thing_says_nothing_of_its_absence(messages: Any, scene: Any) -> None:
    from r4_ros.core.model import NO_COVARIANCE, Box, EntryState, Motion, PlacedEntry

    box = Box(Pose((0.0, 2.0, 0.2)), (0.2, 0.2, 0.3))
    state = (EntryState.PRESENT, Motion.UNKNOWN, Visibility.VISIBLE)
    entry = PlacedEntry("mug", "robot", 1, "", "mug", box, NO_COVARIANCE, *state, 1.0, 3, 0, 0)
    shot = capture(messages, scene, apart=False)
    metres, _ = scene(COLOR, BOXES, LOOKING).render()
    for step, expected in ((1, ["mug"]), (12, [])):
        keep = np.zeros(metres.shape, bool)
        keep[::step, ::step] = True
        taken = replace(shot, depth=cloud_of(metres, COLOR, keep), depth_camera=None)
        absent = [o for o in pipeline(min_points=5).process(taken, [entry]).observations if o.entry_id]
        assert [o.entry_id for o in absent] == expected


def test_distances_are_turned_into_depth_where_the_parameter_says_so(messages: Any, scene: Any) -> None:
    metres, _ = scene(COLOR, BOXES, LOOKING).render()
    v, u = np.mgrid[:240, :320]
    distance = metres * np.sqrt(1 + ((u - COLOR.cx) / COLOR.fx) ** 2 + ((v - COLOR.cy) / COLOR.fy) ** 2)
    shot = replace(capture(messages, scene, apart=False), depth=messages.image(distance.astype(np.float32), "32FC1"))
    planar = places(pipeline().process(capture(messages, scene, "32FC1", apart=False)))
    radial = places(pipeline(depth_model="radial").process(shot))
    np.testing.assert_allclose(radial["bin"], planar["bin"], atol=1e-3)
    assert np.linalg.norm(places(pipeline().process(shot))["bin"] - planar["bin"]) > 0.02


def test_between_keyframes_the_segmenter_rests(messages: Any, scene: Any) -> None:
    p = pipeline(keyframe_period_s=1.0)
    shot = capture(messages, scene)
    assert p.process(shot).sequence == 1
    with pytest.raises(FrameRefused) as refused:
        p.process(replace(shot, placement=replace(PLACEMENT, stamp_ns=5_100_000_000)))
    assert (refused.value.reason, refused.value.stamp_ns) == (RefusalReason.NOT_KEYFRAME, 5_100_000_000)
    assert p.process(replace(shot, placement=replace(PLACEMENT, stamp_ns=6_000_000_000))).sequence == 2


def test_gazebos_panoptic_camera(messages: Any, scene: Any) -> None:
    """Two instances of one class are told apart, and named by the class."""
    shot = capture(messages, scene)
    _, who = scene(COLOR, BOXES, LOOKING).render()
    labels = np.zeros((*who.shape, 3), np.uint8)
    labels[who == 1] = (1, 0, 9)
    labels[who == 2] = (2, 0, 9)
    taken = replace(shot, labels=messages.image(labels, "rgb8"), legend={9: "box"})
    frame = pipeline(label_encoding="gazebo").process(taken)
    assert [o.label for o in frame.observations] == ["box", "box"]
    assert len({o.box.pose.position for o in frame.observations}) == 2
