"""What is done with SAM 2's masks, and how tracks live and end: with a stand-in that sees colours, without torch."""

from __future__ import annotations

import numpy as np
import pytest

from r4_ros.adapters import sam2_segmenter
from r4_ros.adapters.sam2_segmenter import Sam2Segmenter, batches, grid, stability
from r4_ros.adapters.sam2_tracker import PATIENCE, UNCONFIRMED, Sam2Tracker
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage, Segment

HEIGHT, WIDTH = 60, 80


def picture(*things: tuple[int, int, int]) -> RgbdImage:
    """Squares of 12 pixels: (colour, left, top)."""
    color = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for value, left, top in things:
        color[top : top + 12, left : left + 12] = value
    return RgbdImage(color, np.ones((HEIGHT, WIDTH), np.float32), Intrinsics(WIDTH, HEIGHT, 80, 80, 40, 30))


class ByColour:
    """Stands in for SAM 2: everything of one colour is one thing."""

    def __init__(self) -> None:
        self.loaded = False
        self.looked = 0
        self.colours: dict[int, int] = {}
        self.asked: list[int] = []

    def load(self) -> None:
        self.loaded = True

    def close(self) -> None:
        self.loaded = False
        self.colours.clear()

    def look(self, color: np.ndarray) -> None:
        self.looked += 1
        self.image = color[:, :, 0]

    def from_boxes(self, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(len(boxes))
        masks = np.stack([self._mask(self._colour(box)) for box in boxes])
        return np.where(masks, 9.0, -9.0)[:, None].astype(np.float32), np.full((len(boxes), 1), 0.9)

    def from_points(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(len(points))
        masks = np.stack([self.image == self.image[int(y), int(x)] for x, y in points])
        logits = np.where(masks, 9.0, -9.0)[:, None].repeat(3, axis=1)
        logits[:, 2] = np.where(masks, 0.5, -0.5)  # an unstable one
        return logits.astype(np.float32), np.tile([0.9, 0.5, 0.99], (len(points), 1))

    def start(self, track: int, box: np.ndarray) -> np.ndarray:
        self.colours[track] = self._colour(box)
        return self._mask(self.colours[track])

    def follow(self, track: int) -> tuple[np.ndarray, float]:
        mask = self._mask(self.colours[track])
        return mask, 0.9 if mask.any() else 0.1

    def end(self, track: int) -> None:
        del self.colours[track]

    def stored_frames(self) -> int:
        return len(self.colours)

    def _colour(self, box: np.ndarray) -> int:
        left, top, right, bottom = box.astype(int)
        return int(np.bincount(self.image[top:bottom, left:right].ravel(), minlength=256)[1:].argmax() + 1)

    def _mask(self, colour: int) -> np.ndarray:
        return self.image == colour


class Boxes:
    """Detections as whole boxes, each (label, confidence, left, top, size)."""

    def __init__(self, *found: tuple[str, float, int, int, int]) -> None:
        self.found = list(found)
        self.loaded = False

    def load(self) -> None:
        self.loaded = True

    def close(self) -> None:
        self.loaded = False

    def segment(self, image: RgbdImage) -> list[Segment]:
        return [Segment(name, c, left, top, np.ones((s, s), bool)) for name, c, left, top, s in self.found]


def test_boxes_prompt_masks_in_their_order_and_keep_their_names() -> None:
    images, boxes = ByColour(), Boxes(("mug", 0.6, 8, 8, 16), ("book", 0.9, 48, 28, 16), ("ghost", 0.4, 30, 2, 6))
    segmenter = Sam2Segmenter(images, boxes)
    segmenter.load()
    found = segmenter.segment(picture((50, 10, 10), (90, 50, 30)))
    assert [(s.label, s.confidence, s.left, s.top, s.mask.shape) for s in found] == [
        ("mug", 0.6, 10, 10, (12, 12)),
        ("book", 0.9, 50, 30, (12, 12)),
        ("ghost", 0.4, 30, 2, (6, 6)),  # no mask: its own stays
    ]
    segmenter.close()
    assert not images.loaded and not boxes.loaded


def test_nothing_detected_costs_no_look() -> None:
    images = ByColour()
    assert Sam2Segmenter(images, Boxes()).segment(picture()) == []
    assert images.looked == 0


def test_prompts_go_in_batches_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sam2_segmenter, "NUMBERS_AT_ONCE", 3 * HEIGHT * WIDTH)
    images = ByColour()
    found = Sam2Segmenter(images, Boxes(*[("mug", 0.5, 8, 8, 16)] * 7)).segment(picture((50, 10, 10)))
    assert images.asked == [3, 3, 1] and len(found) == 7 and images.looked == 1
    assert [len(b) for b in batches(np.zeros((2, 4)), (10**6, 10**6), 3)] == [1, 1]


def test_automatic_masks_are_stable_scored_and_each_thing_once() -> None:
    found = Sam2Segmenter(ByColour(), None, points_per_side=16).segment(picture((50, 10, 10), (90, 50, 30)))
    assert [(s.label, s.confidence, s.left, s.top) for s in found] == [
        ("object", pytest.approx(0.9), 10, 10),
        ("object", pytest.approx(0.9), 50, 30),
    ]  # not the background, which is larger than a thing


def test_the_grid_and_stability() -> None:
    assert grid(80, 60, 2).tolist() == [[20, 15], [60, 15], [20, 45], [60, 45]]
    assert stability(np.array([[9.0, -9.0]], np.float32)) == 1.0
    assert stability(np.array([[9.0, 0.0]], np.float32)) == 0.5
    assert stability(np.array([[-9.0]], np.float32)) == 0.0


def ids(found: list[Segment]) -> dict[str, str]:
    return {s.track_id: s.label for s in found}


def test_things_keep_their_ids_while_they_move_and_labels_are_voted() -> None:
    boxes = Boxes(("mug", 0.9, 8, 8, 16), ("book", 0.5, 48, 28, 16))
    tracker = Sam2Tracker(ByColour(), boxes)
    tracker.load()
    first = ids(tracker.segment(picture((50, 10, 10), (90, 50, 30))))
    assert first == {"1": "mug", "2": "book"}
    for step in range(1, 20):
        boxes.found = [("cup", 0.4, 8 + step, 8, 16)] if step < 3 else []
        found = tracker.segment(picture((50, 10 + step, 10), (90, 50 - step, 30)))
        assert ids(found) == first
        assert [(s.left, s.top) for s in found] == [(10 + step, 10), (50 - step, 30)]


def test_a_thing_out_of_view_comes_back_with_its_id_or_after_long_with_another() -> None:
    video, boxes = ByColour(), Boxes(("mug", 0.9, 8, 8, 16))
    tracker = Sam2Tracker(video, boxes)
    image = picture((50, 10, 10))
    assert ids(tracker.segment(image)) == {"1": "mug"}
    boxes.found = []
    for _ in range(PATIENCE):
        assert tracker.segment(picture()) == []
    assert ids(tracker.segment(image)) == {"1": "mug"}
    for _ in range(PATIENCE + 1):
        tracker.segment(picture())
    assert video.stored_frames() == 0
    boxes.found = [("mug", 0.9, 8, 8, 16)]
    assert ids(tracker.segment(image)) == {"2": "mug"}


def test_what_the_detector_never_confirms_ends() -> None:
    video, boxes = ByColour(), Boxes(("mug", 0.9, 8, 8, 16))
    tracker = Sam2Tracker(video, boxes)
    image = picture((50, 10, 10))
    tracker.segment(image)
    boxes.found = []
    seen = [len(tracker.segment(image)) for _ in range(UNCONFIRMED + 2)]
    assert seen == [1] * UNCONFIRMED + [0, 0]


def test_two_tracks_on_one_thing_become_the_older_one() -> None:
    boxes = Boxes(("mug", 0.9, 8, 8, 16), ("cup", 0.8, 16, 16, 7))
    tracker = Sam2Tracker(ByColour(), boxes)
    assert ids(tracker.segment(picture((50, 10, 10)))) == {"1": "mug"}


def test_tracks_are_bounded_and_those_in_view_stay() -> None:
    video, boxes = ByColour(), Boxes(("a", 0.9, 0, 0, 14), ("b", 0.8, 20, 0, 14))
    tracker = Sam2Tracker(video, boxes, max_tracks=2)
    one, two, three = (10, 1, 1), (20, 21, 1), (30, 41, 1)
    assert set(ids(tracker.segment(picture(one, two)))) == {"1", "2"}
    boxes.found = [("c", 0.7, 40, 0, 14)]
    assert set(ids(tracker.segment(picture(one, two, three)))) == {"1", "2"}  # no room
    assert set(ids(tracker.segment(picture(one, three)))) == {"1", "3"}  # 2 is out of view
    assert video.stored_frames() == 2


def test_another_image_size_and_close_end_all_tracks() -> None:
    video, boxes = ByColour(), Boxes(("mug", 0.9, 8, 8, 16))
    tracker = Sam2Tracker(video, boxes)
    image = picture((50, 10, 10))
    tracker.segment(image)
    small = RgbdImage(image.color[:40], image.depth[:40], image.intrinsics)
    assert ids(tracker.segment(small)) == {"2": "mug"}
    tracker.close()
    assert video.stored_frames() == 0
    assert ids(tracker.segment(small)) == {"3": "mug"}  # never used again


def test_a_failed_load_leaves_nothing_loaded() -> None:
    class Missing(ByColour):
        def load(self) -> None:
            raise Unavailable("no weights")

    for make in (Sam2Segmenter, Sam2Tracker):
        boxes = Boxes()
        with pytest.raises(Unavailable):
            make(Missing(), boxes).load()
        assert not boxes.loaded
