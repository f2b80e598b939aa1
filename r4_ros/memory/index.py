"""What queries run over: the columns of all entries, and where to look in them. Results are exact."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np

from r4_ros.core.alignments import Alignments
from r4_ros.core.geometry import bounds, transform_box, vec3
from r4_ros.core.model import Box, Entry, Float32Array, FloatArray, Pose, Stay, Vec3
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.columns import Columns, Mask, Slots
from r4_ros.memory.cosines import best
from r4_ros.memory.turns import turned
from r4_ros.memory.zones import Narrow

__all__ = ["Index", "Mask", "Slots"]

_FEW = 512
"""So many candidates are scored one by one."""
_SHARE_TO_SCAN = 6
"""Up to this share of all (one in ...), candidates are scored roughly, one by one; of more, the texts are searched."""
_SKETCHED_FROM = 16_384
"""Of more candidates, sketches tell first which are likely; of fewer, the best are seldom near enough for that."""
_MOST_CELLS = 1_000_000
_PORTION = 16_384
_MOST_PLACES = 256
"""Around so many places, zones are looked for place by place; around more, if they lie far apart."""


class Index(Columns):
    """The columns, and how candidates are found in them."""

    def __init__(self, anchors: AnchorBook, cell_m: float) -> None:
        super().__init__(anchors)
        self._cell_m = cell_m

    def touching(self, agent: int, map_code: int, low: FloatArray, high: FloatArray, since_ns: int = 0) -> Slots:
        """All slots of an agent's on a map whose box touches the one from ``low`` to ``high``, and more, ascending.

        The box is in that map's coordinates. ``since_ns``: only what was seen then or later.
        """
        if min(agent, map_code) < 0:
            return np.zeros(0, np.int64)
        known = self.anchors.alignments.of(self.agents.texts[agent], self.maps.texts[map_code])
        if known is not None:
            middle, size = vec3((low + high) / 2), vec3(high - low)
            low, high = bounds(transform_box(known.pose, Box(Pose(middle), size)))
        slots, _ = self.zones.find(Narrow(vec3(low), vec3(high), since_ns, agents=(agent,)))
        on_map: Slots = slots[self.entries["map"][slots] == map_code]
        on_map.sort()
        return on_map

    def own_places(self, slots: Slots) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Low and high corners and centres of the boxes where entries are, each in its own map's coordinates."""
        rows = self.stays.last[slots]
        if self.anchors.alignments:
            centre, half = self.placed_stays(rows.astype(np.int64), own=True)
        else:
            centre, half = self.stays["centre"][rows], self.stays["half"][rows]
        return centre - half, centre + half, centre

    def aligned(self, alignments: Alignments) -> Index:
        """The index as it is with these alignments. This one stays as it is, as with ``beside``."""
        anchors, moved = self.anchors.aligned(alignments)
        other, _ = self.beside(anchors, moved if len(moved) else np.zeros(1, np.bool_))
        other.entries = other.entries.with_own("common")
        other._tell_in_common(np.flatnonzero(other.entries["agent"] >= 0))
        return other

    def beside(self, anchors: AnchorBook, moved: Mask) -> tuple[Index, Slots]:
        """The index as it is with these anchors, and the slots of what hangs on those ``moved`` (a mask by anchor id).

        This one stays as it is, for queries, until it takes the other one's places; nothing may be changed meanwhile.
        """
        other = copy.copy(self)
        other.anchors = anchors
        owner = self.stays["slot"]
        on_moved = moved[self.stays["anchor"]] | self.shares.on(moved)[self.stays["shares"]]
        rows = np.flatnonzero(on_moved & (owner >= 0))
        concerned = np.zeros(self.entries.rows + 1, np.bool_)  # dead stays, of slot -1, ask for the last one
        concerned[owner[rows]] = True
        slots = np.flatnonzero(concerned)
        other.stays = self.stays.with_own("centre", "half", filled=len(rows) < len(owner))
        for portion in _portions(rows):
            other._place(portion)
        older = np.flatnonzero(concerned[owner] & (self.stays.last[owner] != np.arange(len(owner))))
        older = older[np.argsort(owner[older], kind="stable")]
        other.zones = self.zones.moved(other._new_bounds(slots, older))
        return other, slots

    def _new_bounds(self, slots: Slots, older: Slots) -> Iterator[tuple[Slots, FloatArray, FloatArray]]:
        """Portions of entries with boxes around all places that each had; ``older``: rows of earlier ones, by slot."""
        owner = self.stays["slot"][older]
        for portion in _portions(slots):
            first, end = np.searchsorted(owner, (portion[0], portion[-1] + 1))
            yield portion, *self._bounds(portion, older[first:end])

    def take_places(self, other: Index) -> None:
        """Take over where everything stands from what ``beside`` made of this one."""
        self.stays, self.entries, self.zones = other.stays, other.entries, other.zones

    def nearest(self, model: str, vector: Float32Array, limit: int, narrow: Narrow) -> tuple[Slots, Float32Array]:
        """The entries whose label or description is nearest in meaning, best first (ties by slot), with their cosines.

        Among those that answers may name, are now inside the box (by their centres), were seen in the time and belong
        to the agents.
        """
        return self.nearest_of(model, vector, limit, None if narrow.is_open else self._inside(narrow))

    def nearest_of(
        self, model: str, vector: Float32Array, limit: int, slots: Slots | None
    ) -> tuple[Slots, Float32Array]:
        """The same among some slots; None: all that answers may name."""
        if slots is not None and _FEW < len(slots) <= self.entries.rows // _SHARE_TO_SCAN:
            slots = self._likely(model, vector, limit, slots)
        elif slots is None or len(slots) > _FEW:
            slots = self._holding_nearest(model, vector, limit, None if slots is None else np.sort(slots))
        slots, cosines = best(slots, self.cosines(model, vector[None], slots), limit)
        return slots[cosines > -1], cosines[cosines > -1]

    def _inside(self, narrow: Narrow) -> Slots:
        """Those that fit."""
        slots, sure = self.zones.find(narrow)
        if narrow.low is not None and narrow.high is not None:
            centre = self.centres(slots[sure:])
            inside = ((centre >= narrow.low) & (centre <= narrow.high)).all(axis=1)
            slots = np.concatenate([slots[:sure], slots[sure:][inside]]) if sure else slots[inside]
        return slots[self.entries["alive"][slots]] if self._hidden else slots

    def _likely(self, model: str, vector: Float32Array, limit: int, slots: Slots) -> Slots:
        """Those of the slots that the ``limit`` nearest in meaning are among, by rough cosines first."""
        if len(slots) > max(_SKETCHED_FROM, limit) and self.descriptions.are_sketched(model):
            most, wrong = self._roughly(model, vector, slots, sketched=True)
            likeliest = slots[np.argpartition(most, -limit)[-limit:]]
            slots = slots[most + wrong >= self.cosines(model, vector[None], likeliest).min()]
        if len(slots) > max(_FEW, limit):
            rough, wrong = self._roughly(model, vector, slots)
            slots = slots[rough >= np.partition(rough, -limit)[-limit] - 2 * wrong]
        return slots

    def _roughly(
        self, model: str, vector: Float32Array, slots: Slots, sketched: bool = False
    ) -> tuple[Float32Array, float]:
        """About the cosine of each slot's label or description, and by how much that may be wrong, or too small."""
        columns = self.entries
        rough, wrong = self.descriptions.roughly(model, vector, columns["description"][slots], sketched)
        if self.labels.knows(model):
            codes, inverse = np.unique(columns["label"][slots], return_inverse=True)
            rough = np.maximum(rough, self.labels.similarities(model, vector[None], codes)[inverse])
        return rough, wrong

    def _holding_nearest(self, model: str, vector: Float32Array, limit: int, slots: Slots | None) -> Slots:
        """Slots (of the given ones, else of all) among which those nearest in meaning are.

        An entry is as near as the nearer of its label and description. So it holds one of the ``limit`` nearest labels
        or descriptions, and is among the first ``limit`` that hold this one: the others are as near at least.
        """
        held: list[Slots] = []
        codes: Slots | None
        for texts, holders, column in (
            (self.labels, self.label_holders, "label"),
            (self.descriptions, self.description_holders, "description"),
        ):
            codes = self.shown_codes(column)
            if slots is not None:
                codes = np.flatnonzero(np.bincount(self.entries[column][slots]))
            codes, _ = texts.nearest(model, vector, limit, codes)
            one_each = holders.only(codes) if slots is None else None
            held.append(self._first_holding(column, codes, limit, slots) if one_each is None else one_each)
        return np.union1d(*held)

    def shown_codes(self, column: str) -> Slots | None:
        """The codes of texts that some entry has which answers may name; None: of all texts."""
        holders = self.label_holders if column == "label" else self.description_holders
        texts = self.labels if column == "label" else self.descriptions
        counts = holders.counts
        if len(counts) == len(texts.texts) and counts.min(initial=1) > 0:
            return None
        return np.flatnonzero(counts > 0)

    def holding(self, column: str, codes: Slots) -> Slots:
        """All slots that answers may name and that have one of these codes of texts."""
        holders = self.label_holders if column == "label" else self.description_holders
        one_each = holders.only(codes)
        if one_each is not None:
            return one_each
        chosen = np.zeros(len(holders.counts), bool)
        chosen[codes] = True
        return np.flatnonzero(chosen[self.entries[column]] & self.entries["alive"])

    def touching_any(self, low: FloatArray, high: FloatArray, narrow: Narrow) -> Slots:
        """The slots of which some were at a place touching any of some boxes [n, 3] (and some others), ascending."""
        found = [
            self.zones.touching(low[i : i + _MOST_PLACES], high[i : i + _MOST_PLACES], narrow)
            for i in range(0, len(low), _MOST_PLACES)
        ]
        return found[0] if len(found) == 1 else np.unique(np.concatenate([np.zeros(0, np.int64), *found]))

    def around(self, slots: Slots, agents: tuple[int, ...] | None) -> Slots:
        """Those of the agents that are, or ever were, within one cell's width of where any of the slots ever was.

        And some farther ones; ascending.
        """
        centres = np.concatenate([self.centres(slots), self.stays["centre"][self._earlier(slots)]])
        low, high = centres - self._cell_m, centres + self._cell_m
        cells = np.floor(centres / self._cell_m)
        if len(centres) <= _MOST_PLACES or (np.ptp(cells, axis=0) + 4).prod() > _MOST_CELLS:
            return self.touching_any(low, high, Narrow(agents=agents))
        narrow = Narrow(vec3(low.min(axis=0)), vec3(high.max(axis=0)), agents=agents)
        near = self.zones.find(narrow)[0]
        beside = _beside(np.floor(self.centres(near) / self._cell_m), cells)
        return np.sort(near[beside | (self.stays["prev"][self.stays.last[near]] >= 0)])

    def ever(self, slots: Slots) -> tuple[Slots, FloatArray]:
        """Where slots are and ever were: one slot, and place [3], for each stay."""
        rows = np.concatenate([self.stays.last[slots], self._earlier(slots)])
        return self.stays["slot"][rows].astype(np.int64), self.stays["centre"][rows]

    def _earlier(self, slots: Slots) -> Slots:
        """Rows of the stays of some slots but for the last ones."""
        rows, found = self.stays.last[slots].astype(np.int64), [np.zeros(0, np.int64)]
        while len(rows := self.stays["prev"][rows].astype(np.int64)[self.stays["prev"][rows] >= 0]):
            found.append(rows)
        return np.concatenate(found)

    def _first_holding(self, column: str, codes: Slots, count: int, slots: Slots | None) -> Slots:
        """The first ``count`` slots that hold each of the codes."""
        if not len(codes):
            return codes
        chosen = np.zeros(int(self.entries[column].max(initial=0)) + 1, bool)
        chosen[codes] = True
        if slots is None:
            holding = np.flatnonzero(chosen[self.entries[column]] & self.entries["alive"])
        else:
            holding = slots[chosen[self.entries[column][slots]]]
        if len(holding) <= count:
            return holding
        held = self.entries[column][holding]
        order = np.argsort(held, kind="stable")
        starts = np.flatnonzero(np.diff(held[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        return np.asarray(holding[order[place < count]])

    def cosines(self, model: str, vectors: Float32Array, slots: Slots) -> Float32Array:
        """Best cosine of each slot's label or description with any of the vectors [n, d]; -1 where there is none."""
        columns = self.entries
        cosines = self.descriptions.similarities(model, vectors, columns["description"][slots])
        if self.labels.knows(model):
            codes, inverse = np.unique(columns["label"][slots], return_inverse=True)
            cosines = np.maximum(cosines, self.labels.similarities(model, vectors, codes)[inverse])
        return cosines

    def box(self, stay: Stay) -> Box:
        """A stay's box in common coordinates."""
        return self.anchors.box(stay)

    def shown_box(self, stay: Stay, own: bool = False, middle: Vec3 | None = None) -> Box:
        """A stay's box in common coordinates (``own``: in its own map), turned as the thing stands where it's known.

        ``middle``: where its centre is, if known.
        """
        return turned(self.anchors.box(stay, own, middle), stay.turned)

    def shown_boxes(self, entries: Sequence[Entry], own: bool = False) -> list[Box]:
        """The boxes of entries that the index knows, likewise, where they are now."""
        stays = [entry.stays[-1] for entry in entries]
        spread = [i for i, stay in enumerate(stays) if stay.shares]
        middles = dict[int, Vec3]()
        if spread:
            slots = np.array([self.slots[entries[i].entry_id] for i in spread], np.int64)
            places = self.own_places(slots)[2] if own else self.centres(slots)
            middles = dict(zip(spread, map(vec3, places), strict=True))
        return [self.shown_box(stay, own, middles.get(i)) for i, stay in enumerate(stays)]


def _portions(numbers: Slots) -> Iterator[Slots]:
    """Pieces small enough for the processor's cache, and for memory that is at hand already."""
    for first in range(0, len(numbers), _PORTION):
        yield numbers[first : first + _PORTION]


def _beside(cells: FloatArray, others: FloatArray) -> Mask:
    """Which cells [n, 3] are one of the others [m, 3] or touch one."""
    first = others.min(axis=0) - 1
    shape = (others.max(axis=0) - first + 2).astype(np.int64)
    if shape.prod(dtype=float) > _MOST_CELLS:
        return np.asarray((np.abs(cells[:, None] - others).max(axis=2) <= 1).any(axis=1))
    taken = np.zeros(shape, bool)
    taken[tuple((others - first).astype(np.int64).T)] = True
    for axis in range(3):
        ahead, behind = np.roll(taken, 1, axis), np.roll(taken, -1, axis)  # the outermost cells are free
        taken = taken | ahead | behind
    inside: Mask = ((cells >= first) & (cells < first + shape)).all(axis=1)
    inside[inside] = taken[tuple((cells[inside] - first).astype(np.int64).T)]
    return inside
