"""Instances from label images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage
from r4_ros.perception.label_segmenter import LabelSegmenter, load_legend, named_by_class

CAMERA = Intrinsics(40, 30, 40.0, 40.0, 20.0, 15.0)


def image(labels: np.ndarray | None, legend: dict[int, str]) -> RgbdImage:
    return RgbdImage(np.zeros((30, 40, 3), np.uint8), np.ones((30, 40), np.float32), CAMERA, labels, legend)


@settings(max_examples=50, deadline=None)
@given(
    boxes=st.lists(
        st.tuples(
            st.sampled_from([1, 2, 7, 300, 70_000, 2_000_000_000]),
            st.integers(0, 25),
            st.integers(0, 35),
            st.integers(1, 9),
        ),
        max_size=6,
    ),
    named=st.sets(st.sampled_from([0, -3, 1, 2, 7, 300, 70_000, 2_000_000_000])),
)
def test_each_named_id_is_one_segment_with_exactly_its_pixels(
    boxes: list[tuple[int, int, int, int]], named: set[int]
) -> None:
    labels = np.full((30, 40), -3, np.int32)
    for id_, top, left, size in boxes:
        labels[top : top + size, left : left + size] = id_
    legend = {id_: f"thing {id_}" for id_ in named}
    segments = LabelSegmenter().segment(image(labels, legend))
    expected = [id_ for id_ in sorted(named) if id_ > 0 and (labels == id_).any()]
    found = [segment for segment in segments if segment.label not in ("thing 0", "thing -3")]
    assert [segment.label for segment in found] == [f"thing {id_}" for id_ in expected]
    for id_, segment in zip(expected, found, strict=True):
        whole = np.zeros((30, 40), bool)
        height, width = segment.mask.shape
        whole[segment.top : segment.top + height, segment.left : segment.left + width] = segment.mask
        np.testing.assert_array_equal(whole, labels == id_)


def test_without_labels_or_names_there_is_nothing() -> None:
    assert LabelSegmenter().segment(image(None, {1: "mug"})) == []
    assert LabelSegmenter().segment(image(np.ones((30, 40), np.int32), {})) == []


def test_legends_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"1": "mug", "2": "стол"}', encoding="utf-8")
    (tmp_path / "b.yaml").write_text("1: mug\n2: стол\n", encoding="utf-8")
    assert load_legend(tmp_path / "a.json") == load_legend(tmp_path / "b.yaml") == {1: "mug", 2: "стол"}


@pytest.mark.parametrize("text", ["[1, 2]", "x: y", "{", ": : :", ""])
def test_what_is_no_legend_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="legend"):
        load_legend(tmp_path / "bad.yaml")
    with pytest.raises(InvalidArgument):
        load_legend(tmp_path / "absent.yaml")


def test_regions_of_a_class_are_things() -> None:
    labels = np.zeros((40, 60), np.int32)
    labels[5:15, 40:50], labels[10:30, 5:15], labels[20, 30] = 3, 3, 3
    image = RgbdImage(np.zeros((40, 60, 3), np.uint8), np.ones((40, 60), np.float32), CAMERA, labels, {3: "chair"})
    whole = LabelSegmenter().segment(image)
    things = LabelSegmenter(classes=True).segment(image)
    assert [s.label for s in whole] == ["chair"]
    assert [(s.label, s.left, s.top, int(s.mask.sum())) for s in things] == [
        ("chair", 5, 10, 200),
        ("chair", 40, 5, 100),
    ]


def test_panoptic_ids_are_named_by_their_class() -> None:
    """Gazebo: the class in blue, the instance in red and green."""
    labels = np.array([[0, 5 << 16 | 1, 5 << 16 | 258], [7 << 16 | 1, 0, 0]], np.int32)
    assert named_by_class(labels, {5: "mug"}) == {5 << 16 | 1: "mug", 5 << 16 | 258: "mug"}
