"""SAM 2 on a stream: things keep their track id from frame to frame, with a bounded memory of the frames before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from r4_ros.adapters.masks import Cutout, Mask, box_overlap, boxes_of, cut_out, mask_overlap, refined
from r4_ros.adapters.sam2_segmenter import MIN_PIXELS
from r4_ros.core.model import Float32Array
from r4_ros.core.ports import RgbdImage, Segment, Segmenter

MATCH = 0.5  # box overlap from which a detection is a track's
SAME = 0.8  # mask overlap from which two tracks follow one thing
PRESENT = 0.5  # probability that the thing is in view
PATIENCE = 10  # frames out of view after which a track ends
UNCONFIRMED = 30  # frames in view without a detection after which a track ends
MAX_TRACKS = 64


class Sam2Video(Protocol):
    """SAM 2 for a stream of images: Meta's package or transformers. Each track has its own memory of past frames."""

    def load(self) -> None:
        """Make ready; raises Unavailable where the model or its library is missing."""

    def look(self, color: npt.NDArray[np.uint8]) -> None:
        """The next frame of the stream, RGB uint8 [H, W, 3]."""

    def start(self, track: int, box: Float32Array) -> Mask:
        """Begin a track with a box [4] (left, top, right, bottom) in this frame; its mask bool [H, W]."""

    def follow(self, track: int) -> tuple[Mask, float]:
        """A track's mask in this frame and the probability that it is in view; call once a frame."""

    def end(self, track: int) -> None:
        """Forget a track."""

    def stored_frames(self) -> int:
        """Frame memories kept, over all tracks."""

    def close(self) -> None:
        """Free the model and forget all tracks."""


@dataclass(eq=False)
class _Track:
    number: int
    found: Segment  # its latest detection
    votes: dict[str, float] = field(default_factory=dict)  # label -> sum of confidences
    cutout: Cutout | None = None  # in this frame; None: out of view
    missing: int = 0
    unconfirmed: int = 0

    def confirm(self, found: Segment) -> None:
        self.found, self.unconfirmed = found, 0
        self.votes[found.label] = self.votes.get(found.label, 0.0) + found.confidence

    @property
    def label(self) -> str:
        return max(self.votes, key=lambda name: (self.votes[name], name))


class Sam2Tracker:
    """A segmenter whose segments carry track ids. Implements core.ports.Segmenter.

    Each frame, SAM 2 follows the tracks there are; then the prompter's detections are matched with them by box, and
    those left over begin tracks. A label is voted over a track's detections. Tracks end when out of view for PATIENCE
    frames, or seen but never detected for UNCONFIRMED; MAX_TRACKS at once at most. Ids count up and are never reused,
    so frames must come in order; ``load`` and ``close`` start with no tracks.
    """

    def __init__(self, video: Sam2Video, prompter: Segmenter, max_tracks: int = MAX_TRACKS) -> None:
        self.prompter = prompter
        self._video = video
        self._max_tracks = max_tracks
        self._tracks: list[_Track] = []
        self._next = 1
        self._shape: tuple[int, ...] = ()

    def load(self) -> None:
        """Load SAM 2 and the prompter. Raises Unavailable, with nothing left loaded."""
        try:
            self.prompter.load()
            self._video.load()
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Free both and forget all tracks."""
        self._tracks = []
        self._video.close()
        self.prompter.close()

    def segment(self, image: RgbdImage) -> list[Segment]:
        """One segment for each track in view, oldest track first."""
        if image.color.shape != self._shape:  # another camera mode: nothing to follow
            for track in list(self._tracks):
                self._end(track)
            self._shape = image.color.shape
        detections = self.prompter.segment(image)
        if not detections and not self._tracks:
            return []
        self._video.look(image.color)
        for track in self._tracks:
            mask, probability = self._video.follow(track.number)
            track.cutout = cut_out(mask, probability, MIN_PIXELS) if probability >= PRESENT else None
            track.missing = 0 if track.cutout else track.missing + 1
            track.unconfirmed += track.cutout is not None
        self._start(self._confirm(detections))
        self._end_stale()
        return [self._segment(track, track.cutout, image) for track in self._tracks if track.cutout]

    def _confirm(self, detections: Sequence[Segment]) -> list[Segment]:
        """Give detections to the tracks that they overlap most; those left over come back."""
        seen = [track for track in self._tracks if track.cutout]
        windows = np.array(
            [(c.left, c.top, c.left + c.mask.shape[1], c.top + c.mask.shape[0]) for t in seen if (c := t.cutout)],
            np.float32,
        ).reshape(-1, 4)
        overlaps = box_overlap(boxes_of(detections), windows)
        taken: set[int] = set()
        for row, column in zip(*linear_sum_assignment(-overlaps), strict=True):
            if overlaps[row, column] >= MATCH:
                seen[column].confirm(detections[row])
                taken.add(int(row))
        return [found for i, found in enumerate(detections) if i not in taken]

    def _start(self, detections: Sequence[Segment]) -> None:
        boxes = boxes_of(detections)
        for found, box in sorted(zip(detections, boxes, strict=True), key=lambda pair: -pair[0].confidence):
            if len(self._tracks) >= self._max_tracks and not self._make_room():
                return
            track = _Track(self._next, found)
            track.confirm(found)
            track.cutout = cut_out(self._video.start(track.number, box), 1.0, MIN_PIXELS)
            track.missing = 0 if track.cutout else 1
            self._next += 1
            self._tracks.append(track)

    def _make_room(self) -> bool:
        """End the track that has been out of view longest; False where all are in view."""
        lost = max(self._tracks, key=lambda track: track.missing)
        if lost.missing:
            self._end(lost)
        return lost.missing > 0

    def _end_stale(self) -> None:
        kept: list[Cutout] = []
        for track in list(self._tracks):
            doubled = track.cutout and any(mask_overlap(track.cutout, other) >= SAME for other in kept)
            if doubled or track.missing > PATIENCE or track.unconfirmed > UNCONFIRMED:
                self._end(track)
            elif track.cutout:
                kept.append(track.cutout)

    def _end(self, track: _Track) -> None:
        self._tracks.remove(track)
        self._video.end(track.number)

    @staticmethod
    def _segment(track: _Track, cutout: Cutout, image: RgbdImage) -> Segment:
        known = track.found if track.unconfirmed == 0 else None  # depth it knew holds for that frame only
        found = Segment(
            track.label,
            track.found.confidence,
            track.found.left,
            track.found.top,
            track.found.mask,
            depth=known.depth if known else None,
        )
        return refined(found, cutout, image, str(track.number))
