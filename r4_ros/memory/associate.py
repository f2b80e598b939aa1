"""Which entry an observation is: a live track first, then what is near and alike, one to one within a frame.

The centre of what is seen of a large thing says little of the thing's: a view is also near to what is alike and shares
``_PART_SHARE`` of the smaller box with it, as the two ends of a sofa do with the sofa.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Entry, FloatArray, Observation
from r4_ros.core.quick import quick
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.stays import FrameContext, Seen, Views

_NEVER = 1e6
_PART_SHARE = 0.4
_PART_PAD_M = 0.05
_LEAVE = 1.2
"""Cost of taking an observation for something new; above that of any allowed match (at most 1)."""
_OLDER = 0.15
"""Added for entries from before time was set back."""


@quick
@dataclass(frozen=True, slots=True)
class _Pairs:
    """Observations (rows) and slots (columns; both by their places in lists) that may be one thing, and the costs."""

    row: Slots
    column: Slots
    cost: FloatArray


@quick
@dataclass(frozen=True, slots=True)
class _Boxes:
    """What was seen: centres, extents and corners [n, 3]."""

    centre: FloatArray
    extent: FloatArray
    low: FloatArray
    high: FloatArray

    @staticmethod
    def of(views: Views) -> _Boxes:
        half = views.extent / 2
        return _Boxes(views.centre, views.extent, views.centre - half, views.centre + half)


class Associator:
    """Matches the observations of a frame with the entries of the index."""

    def __init__(self, index: Index, config: MemoryConfig) -> None:
        self._index = index
        self._config = config

    def match(
        self,
        seen: Sequence[Seen],
        views: Views,
        tracked: Sequence[int | None],
        context: FrameContext,
        never: Collection[int] = (),
    ) -> list[int | None]:
        """The slot of each observation, None for something new.

        ``views``: the numbers of what was seen; ``tracked``: slots that live tracks point to; ``never``: those that
        nothing may be taken for. Entries from before time was set back are taken only if their last sighting doesn't
        lie in the future, and rather not if there is another one.
        """
        result = list(tracked)
        open_rows = [i for i, slot in enumerate(result) if slot is None]
        if not open_rows:
            return result
        index = self._index
        boxes = _Boxes.of(views.of(open_rows))
        slots = self._around(boxes, context)
        closed = [slot for slot in tracked if slot is not None]
        if closed or never:
            slots = slots[~np.isin(slots, [*closed, *never])]
        older = np.zeros(len(slots), np.bool_)
        if context.era_start:
            older = index.entries["session"][slots] < context.era_start
            possible = ~older | (index.entries["last_seen"][slots] <= context.stamp_ns)
            slots, older = slots[possible], older[possible]
        if slots.size:
            pairs = self._pairs([seen[i] for i in open_rows], boxes, slots)
            if older.any():
                pairs = replace(pairs, cost=pairs.cost + np.where(older[pairs.column], _OLDER, 0.0))
            for row, column in _assign(pairs):
                result[open_rows[row]] = int(slots[column])
        return result

    def _around(self, boxes: _Boxes, context: FrameContext) -> Slots:
        """The slots of all that any observation may be, and of more, ascending."""
        index, reach = self._index, max(self._config.epsilon_max_m, 2 * _PART_PAD_M)
        agent, map_code = index.agents.find(context.agent_id), index.maps.find(context.map_id)
        low, high = (boxes.low - reach).min(axis=0), (boxes.high + reach).max(axis=0)
        return index.touching(agent, map_code, low, high)

    def _pairs(self, seen: Sequence[Seen], boxes: _Boxes, slots: Slots) -> _Pairs:
        """The pairs of an observation and a slot that are allowed, with their costs, 0..1."""
        config = self._config
        low, high, centre = self._index.own_places(slots)
        row, column = _near_pairs(boxes, low, high, centre, config.epsilon_max_m)
        low, high = low[column], high[column]
        extents, sizes = boxes.extent[row], high - low
        shared = np.minimum(boxes.high[row], high) - np.maximum(boxes.low[row], low)
        distance = np.sqrt(((boxes.centre[row] - centre[column]) ** 2).sum(axis=1))
        largest = np.maximum(extents, sizes).max(axis=1)
        epsilon = np.clip(config.epsilon_extent * largest, config.epsilon_min_m, config.epsilon_max_m)
        near = (distance < epsilon) | (_part(shared, np.minimum(extents, sizes)) > _PART_SHARE)
        seen_volume, volume = extents.prod(axis=1), sizes.prod(axis=1)
        both = np.maximum(shared, 0).prod(axis=1)
        same_space = both > config.overlap_iou * (seen_volume + volume - both)
        same_space &= (seen_volume > 0.5 * volume) & (seen_volume < 2 * volume)
        some = np.flatnonzero(near | same_space)
        row, column = row[some], column[some]
        alike = self._similarity(seen, row, slots[column]) >= config.label_similarity
        # the square root makes one exact match worth more than two middling ones
        cost = np.minimum(1.0, np.sqrt(distance[some] / epsilon[some])) * np.where(alike, 0.9, 1.0)
        allowed = alike | same_space[some]
        return _Pairs(row[allowed], column[allowed], cost[allowed])

    def _similarity(self, seen: Sequence[Seen], rows: Slots, slots: Slots) -> FloatArray:
        """Similarity of labels of pairs of an observation and a slot: 1 for the same one, else the cosine."""
        labels = self._index.labels
        own = np.array([labels.find(s.observation.label) for s in seen])[rows]
        codes = self._index.entries["label"][slots]
        similarity = np.where(own == codes, 1.0, -1.0)
        known: dict[tuple[str, int], float] = {}
        for i in np.flatnonzero(own != codes).tolist():
            key = (seen[rows[i]].observation.label, int(codes[i]))
            if key not in known:
                known[key] = self._label_similarity(seen[rows[i]].observation, key[1])
            similarity[i] = known[key]
        return similarity

    def _label_similarity(self, observation: Observation, code: int) -> float:
        labels, embedding = self._index.labels, observation.label_embedding
        if observation.label.casefold() == labels.texts[code].casefold():
            return 1.0
        vector = None if embedding is None else labels.vector(embedding.model, code)
        return -1.0 if embedding is None or vector is None else float(vector @ embedding.vector)


def _near_pairs(
    boxes: _Boxes, low: FloatArray, high: FloatArray, centre: FloatArray, reach: float
) -> tuple[Slots, Slots]:
    """Pairs of an observation and an entry that touch, nearly touch or have their centres within reach, and some more.

    ``low``, ``high``, ``centre``: the entries' boxes [m, 3].
    """
    least = np.minimum(low - 2 * _PART_PAD_M, centre - reach).T.copy()  # side by side along an axis
    most = np.maximum(high + 2 * _PART_PAD_M, centre + reach).T.copy()
    fits = (boxes.low[:, :1] < most[0]) & (boxes.high[:, :1] > least[0])
    fits &= (boxes.low[:, 1:2] < most[1]) & (boxes.high[:, 1:2] > least[1])
    row, column = np.divmod(np.flatnonzero(fits), fits.shape[1])
    fits = (boxes.low[row, 2] < most[2, column]) & (boxes.high[row, 2] > least[2, column])
    return row[fits], column[fits]


def _part(shared: FloatArray, smaller: FloatArray) -> FloatArray:
    """What two boxes share [n, 3], as a share of the smaller one along each axis; both padded, since views are thin."""
    pad = 2 * _PART_PAD_M
    return np.asarray((np.maximum(shared + pad, 0) / (smaller + pad)).prod(axis=1))


def _assign(pairs: _Pairs) -> list[tuple[int, int]]:
    """One-to-one pairs of least total cost, where leaving an observation alone costs _LEAVE."""
    only = (np.bincount(pairs.row)[pairs.row] == 1) & (np.bincount(pairs.column)[pairs.column] == 1)
    chosen = list(zip(pairs.row[only].tolist(), pairs.column[only].tolist(), strict=True))
    if only.all():
        return chosen
    from scipy.optimize import linear_sum_assignment  # slow to import, and queries do without it

    rows, row = np.unique(pairs.row[~only], return_inverse=True)
    columns, column = np.unique(pairs.column[~only], return_inverse=True)
    costs = np.full((len(rows), len(columns) + len(rows)), _NEVER)
    costs[row, column] = pairs.cost[~only]
    np.fill_diagonal(costs[:, len(columns) :], _LEAVE)
    solved: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] = linear_sum_assignment(costs)
    return chosen + [(int(rows[r]), int(columns[c])) for r, c in zip(*solved, strict=True) if c < len(columns)]


def alike(a: Entry, b: Entry, threshold: float) -> bool:
    """Whether two entries' labels may name one thing."""
    if a.label.casefold() == b.label.casefold():
        return True
    x, y = a.label_embedding, b.label_embedding
    if x is None or y is None or x.model != y.model:
        return False
    return float(x.vector @ y.vector) >= threshold
