"""Instances from a label image, as simulators and segmentation cameras give it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import yaml
from scipy import ndimage

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.ports import RgbdImage, Segment

SPECK_PIXELS = 12
TABLE_LIMIT = 1 << 20  # larger ids are looked up by sorting instead of by a table


class LabelSegmenter:
    """One segment for each id of the label image that the legend names. Implements core.ports.Segmenter.

    classes: ids are kinds of things; each connected region of one is a thing.
    """

    def __init__(self, classes: bool = False) -> None:
        self._classes = classes

    def load(self) -> None:
        """Nothing to load."""

    def segment(self, image: RgbdImage) -> list[Segment]:
        """Segments in the order of their ids; a mask is cut out of the instance's own window only."""
        if image.labels is None:
            return []
        ids, compact = _compact(image.labels, image.legend)
        segments: list[Segment] = []
        for number, window in enumerate(ndimage.find_objects(compact, len(ids)), start=1):
            if window is not None:
                rows, columns = window
                mask = compact[window] == number
                label = image.legend[ids[number - 1]]
                whole = Segment(label, 1.0, columns.start, rows.start, mask)
                segments += _regions(whole) if self._classes else [whole]
        return segments

    def close(self) -> None:
        """Nothing to free."""


def _regions(segment: Segment) -> list[Segment]:
    """The connected regions of a segment, from the left, without specks."""
    count, regions, stats, _ = cv2.connectedComponentsWithStats(segment.mask.view(np.uint8), connectivity=8)
    found: list[Segment] = []
    for number in range(1, count):
        left, top, width, height, area = (int(v) for v in stats[number])
        if area >= SPECK_PIXELS:
            mask = regions[top : top + height, left : left + width] == number
            found.append(Segment(segment.label, segment.confidence, segment.left + left, segment.top + top, mask))
    return sorted(found, key=lambda s: (s.left, s.top))


def named_by_class(labels: npt.NDArray[np.int32], legend: dict[int, str]) -> dict[int, str]:
    """Names of the ids of a panoptic image, whose class stands in the upper 8 of their 24 bits."""
    ids = [int(id_) for id_ in np.unique(labels)]
    return {id_: legend[id_ >> 16] for id_ in ids if id_ >> 16 in legend}


def load_legend(path: str | Path) -> dict[int, str]:
    """Label names by id, from a JSON or YAML file with one object id -> name. Raises InvalidArgument."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        data: Any = json.loads(text) if str(path).endswith(".json") else yaml.safe_load(text)
        return {int(key): str(name) for key, name in data.items()}
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise InvalidArgument(f"label legend {path}: must be a JSON or YAML file with id: name ({error})") from error


def _compact(labels: npt.NDArray[np.int32], legend: dict[int, str]) -> tuple[list[int], npt.NDArray[np.int32]]:
    """The named ids (sorted), and the image with 1..n for them and 0 elsewhere."""
    ids = sorted(id_ for id_ in legend if -(2**31) <= id_ < 2**31 and id_ != 0)
    if not ids:
        return [], np.zeros_like(labels)
    if ids[0] > 0 and ids[-1] < TABLE_LIMIT:
        table = np.zeros(ids[-1] + 2, np.int32)
        table[ids] = np.arange(1, len(ids) + 1)
        known = np.where((labels < 0) | (labels > ids[-1]), ids[-1] + 1, labels)
        return ids, table[known]
    sorted_ids = np.asarray(ids, np.int32)
    place = np.clip(np.searchsorted(sorted_ids, labels), 0, len(ids) - 1)
    return ids, np.where(sorted_ids[place] == labels, place + 1, 0).astype(np.int32)
