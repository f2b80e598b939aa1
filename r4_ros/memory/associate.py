"""Which entry an observation is: a live track first, then what is near and alike, one to one within a frame.

The centre of what is seen of a large thing says little of the thing's: a view is also near to what is alike and shares
``_PART_SHARE`` of the smaller box with it, as the two ends of a sofa do with the sofa.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import aligned_iou
from r4_ros.core.model import Entry, FloatArray
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.stays import FrameContext, Seen

_NEVER = 1e6
_PART_SHARE = 0.4
_PART_PAD_M = 0.05
_PART_REACH_M = 1.0
_SIDES = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], float)
_LEAVE = 1.2
"""Cost of taking an observation for something new; above that of any allowed match (at most 1)."""
_OLDER = 0.15
"""Added for entries from before time was set back."""


class Associator:
    """Matches the observations of a frame with the entries of the index."""

    def __init__(self, index: Index, config: MemoryConfig) -> None:
        self._index = index
        self._config = config

    def match(self, seen: Sequence[Seen], tracked: Sequence[int | None], context: FrameContext) -> list[int | None]:
        """The slot of each observation, None for something new.

        ``tracked``: slots that live tracks point to. Entries from before time was set back are taken only if their
        last sighting doesn't lie in the future, and rather not if there is another one.
        """
        result = list(tracked)
        open_rows = [i for i, slot in enumerate(result) if slot is None]
        if not open_rows:
            return result
        index = self._index
        agent, map_code = index.agents.find(context.agent_id), index.maps.find(context.map_id)
        centres = np.array([seen[i].centre for i in open_rows])
        around = (centres[:, None] + _PART_REACH_M * _SIDES).reshape(-1, 3)
        slots = index.near(agent, map_code, np.concatenate([centres, around]))
        taken = [slot for slot in tracked if slot is not None]
        slots = slots[~np.isin(slots, taken)]
        columns = index.entries
        older = columns["session"][slots] < context.era_start
        possible = ~older | (columns["last_seen"][slots] <= context.stamp_ns)
        slots, older = slots[possible], older[possible]
        if slots.size:
            costs = self._costs([seen[i] for i in open_rows], centres, slots) + np.where(older, _OLDER, 0.0)
            for row, column in _assign(costs):
                result[open_rows[row]] = int(slots[column])
        return result

    def _costs(self, seen: Sequence[Seen], centres: FloatArray, slots: Slots) -> FloatArray:
        """Cost of each pair [observations, slots], 0..1; _NEVER where it isn't allowed."""
        config, columns = self._config, self._index.entries
        extents = np.array([s.extent for s in seen])
        low, high = columns["low"][slots], columns["high"][slots]
        distance = np.linalg.norm(centres[:, None] - columns["centre"][slots][None], axis=2)
        largest = np.maximum(extents.max(axis=1)[:, None], (high - low).max(axis=1)[None])
        epsilon = np.clip(config.epsilon_extent * largest, config.epsilon_min_m, config.epsilon_max_m)
        alike = self._similarity(seen, slots) >= config.label_similarity
        seen_low, seen_high = (centres - extents / 2)[:, None], (centres + extents / 2)[:, None]
        part = _shared(seen_low, seen_high, low[None], high[None]) > _PART_SHARE
        near = ((distance < epsilon) | part) & alike
        overlap = aligned_iou(seen_low, seen_high, low[None], high[None])
        volumes = extents.prod(axis=1)[:, None] / np.maximum((high - low).prod(axis=1)[None], 1e-12)
        same_space = (overlap > config.overlap_iou) & (volumes > 0.5) & (volumes < 2)
        # the square root makes one exact match worth more than two middling ones
        cost = np.minimum(1.0, np.sqrt(distance / epsilon)) * np.where(alike, 0.9, 1.0)
        return np.where(near | same_space, cost, _NEVER)

    def _similarity(self, seen: Sequence[Seen], slots: Slots) -> FloatArray:
        """Similarity of labels [observations, slots]: 1 for the same one, else the cosine."""
        codes = self._index.entries["label"][slots]
        distinct, inverse = np.unique(codes, return_inverse=True)
        texts = self._index.labels.texts
        table = np.array([[self._label_similarity(s, texts[c], c) for c in distinct.tolist()] for s in seen])
        return np.asarray(table[:, inverse])

    def _label_similarity(self, seen: Seen, label: str, code: int) -> float:
        o = seen.observation
        if o.label.casefold() == label.casefold():
            return 1.0
        if o.label_embedding is None:
            return -1.0
        vector = self._index.labels.vector(o.label_embedding.model, code)
        return -1.0 if vector is None else float(vector @ o.label_embedding.vector)


def _shared(a_low: FloatArray, a_high: FloatArray, b_low: FloatArray, b_high: FloatArray) -> FloatArray:
    """What two boxes share, as a share of the smaller one along each axis; both padded, since views are thin."""
    pad = 2 * _PART_PAD_M
    shared = np.clip(np.minimum(a_high, b_high) - np.maximum(a_low, b_low) + pad, 0, None)
    return np.asarray((shared / (np.minimum(a_high - a_low, b_high - b_low) + pad)).prod(axis=-1))


def _assign(costs: FloatArray) -> list[tuple[int, int]]:
    """One-to-one pairs of least total cost, where leaving an observation alone costs _LEAVE."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and queries do without it

    rows = len(costs)
    alone = np.full((rows, rows), _NEVER)
    np.fill_diagonal(alone, _LEAVE)
    chosen: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] = linear_sum_assignment(np.hstack([costs, alone]))
    return [(int(r), int(c)) for r, c in zip(*chosen, strict=True) if c < costs.shape[1]]


def alike(a: Entry, b: Entry, threshold: float) -> bool:
    """Whether two entries' labels may name one thing."""
    if a.label.casefold() == b.label.casefold():
        return True
    x, y = a.label_embedding, b.label_embedding
    if x is None or y is None or x.model != y.model:
        return False
    return float(x.vector @ y.vector) >= threshold
