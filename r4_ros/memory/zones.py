"""Entries along a space-filling curve, in zones of 512 with bounds: a query reads only the zones that it can concern.

Each agent's entries lie along a curve through the cells of its maps (Morton order), so a zone is a small part of one
map. New entries go to zones at the end, which hold what was seen one after the other; every few thousand of them are
laid along a curve of their own, and all along one at the next start. What changes is written in place and widens its
zone's times; what outgrows its zone's place goes to the end. A bound may be too wide, never too narrow.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, FloatArray, Vec3
from r4_ros.core.quick import quick
from r4_ros.memory.tables import Table

Slots = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Sides = npt.NDArray[np.float32]
Times = npt.NDArray[np.int64]
Codes32 = npt.NDArray[np.int32]
Cells = npt.NDArray[np.uint64]

_ZONE_BITS = 9
ZONE = 1 << _ZONE_BITS
_SPARE_ZONES = 64
_TAIL_ZONES = 16
"""So many zones of rows as they came are laid along a curve."""
_FEW_ZONES = 16
"""So few, and their rows, aren't told apart by whether they lie wholly in the box."""
_AT_ONCE = 64
"""So many zones are read at once: they fit in the processor's cache."""
_CELL_M = 0.1
_WIDE_M = 8.0
"""Things that were at places farther apart than this lie in zones of their own, so that they widen no others."""
_MARGIN_M = 0.05
"""Zones are wider than what they hold by this, since places shift a little as they are averaged."""
_UNIT, _LEAST = np.float32(2.0**-23), np.float32(1e-30)
_NEVER = np.iinfo(np.int64).max
_NO_AGENT = np.iinfo(np.int32).max


@quick
@dataclass(frozen=True, slots=True)
class Narrow:
    """What candidates have in common: a place touching a box of the map, a sighting's span, agents (None: any)."""

    low: Vec3 | None = None
    high: Vec3 | None = None
    start_ns: int = 0
    end_ns: int = FOREVER
    agents: tuple[int, ...] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it lets everything through."""
        return self.low is None and self.agents is None and self.start_ns <= 0 and self.end_ns >= FOREVER

    def most_sides(self) -> Sides | None:
        """What the sides of a thing that touches the box don't exceed, [6]; None: it may be anywhere."""
        return None if self.low is None or self.high is None else -_sides(self.low, self.high)[_OPPOSITE]

    def most_times(self) -> Times:
        """What the times of a thing seen within the span don't exceed, [2]."""
        return np.array([min(self.end_ns, FOREVER) - 1, -self.start_ns])


@quick
@dataclass(frozen=True, slots=True)
class Spans:
    """What the zones need of entries: boxes around their places [n, 3], first and last sighting, codes."""

    low: FloatArray
    high: FloatArray
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    agent: Codes32
    map: Codes32


class Zones:
    """A row for each entry, by its slot; free rows have slot -1.

    Sides of a box: its low x, y, z, and its high ones negated. Times: the first sighting, and the last one negated.
    So the least of each bounds a zone, and a query is a value for each that must not be exceeded.
    """

    def __init__(self) -> None:
        self._row_of = Table(row=(np.int32, 0))  # by slot, one more than the row; 0: none
        self._used = self._sorted = 0
        self._allocate(0)

    def _allocate(self, zones: int) -> None:
        """Zones of free rows."""
        self._slot: Codes32 = np.full((zones, ZONE), -1, np.int32)
        self._agent: Codes32 = np.zeros((zones, ZONE), np.int32)
        self._map: Codes32 = np.zeros((zones, ZONE), np.int32)
        self._sides: Sides = np.full((zones, 6, ZONE), np.inf, np.float32)
        self._times: Times = np.full((zones, 2, ZONE), _NEVER)
        self._least_sides: Sides = np.full((6, zones), np.inf, np.float32)
        self._least_times: Times = np.full((2, zones), _NEVER)
        self._least_agent: Codes32 = np.full(zones, _NO_AGENT, np.int32)
        self._most_agent: Codes32 = np.full(zones, -1, np.int32)

    def fill(self, slots: Slots, spans: Spans) -> None:
        """Lay entries, of which none is known yet, along the curve."""
        sides, times = _sides(spans.low, spans.high), np.stack([spans.first, -spans.last])
        order = np.argsort(_keys(sides, spans.agent, spans.map), kind="stable")
        self._row_of.extend(int(slots.max()) + 1)
        self._allocate(-(-len(slots) // ZONE) + _SPARE_ZONES)
        self._lay(0, slots[order], sides[:, order], times[:, order], spans.agent[order], spans.map[order])

    def put(self, slots: Slots, spans: Spans) -> None:
        """Take over new and changed entries; each slot at most once. Places add up: a box never shrinks."""
        missing = int(slots.max(initial=-1)) + 1 - self._row_of.rows
        if missing > 0:
            self._row_of.extend(missing)
        sides, times = _sides(spans.low, spans.high), np.array([spans.first, -spans.last])
        rows = self._row_of["row"][slots].astype(np.int64) - 1
        known = rows >= 0
        if known.any():
            staying = self._stay(rows, known, sides, times, spans)
            if staying.all():
                return
            self._free(rows[known & ~staying])
            slots, sides, times = slots[~staying], sides[:, ~staying], times[:, ~staying]
            self._write(self._append(len(slots)), slots, sides, times, spans.agent[~staying], spans.map[~staying])
        else:
            self._write(self._append(len(slots)), slots, sides, times, spans.agent, spans.map)
        if self._used - self._sorted > _TAIL_ZONES * ZONE:
            self._sort_tail()

    def _stay(self, rows: Slots, known: Mask, sides: Sides, times: Times, spans: Spans) -> Mask:
        """Write what may stay in the row where it is; gives which may. The sides are widened by those known before."""
        zone, column = rows >> _ZONE_BITS, rows & (ZONE - 1)
        np.minimum(sides, self._sides[zone, :, column].T, out=sides, where=known)
        staying = known & (self._agent[zone, column] == spans.agent) & (self._map[zone, column] == spans.map)
        staying &= _none_exceeds(self._least_sides[:, zone], sides)
        if not staying.all():
            zone, column, sides, times = zone[staying], column[staying], sides[:, staying], times[:, staying]
        self._sides[zone, :, column], self._times[zone, :, column] = sides.T, times.T
        for bound, values in zip(self._least_times, times, strict=True):
            np.minimum.at(bound, zone, values)
        return np.asarray(staying)

    def _write(self, rows: Slots, slots: Slots, sides: Sides, times: Times, agent: Codes32, maps: Codes32) -> None:
        zone, column = np.divmod(rows, ZONE)
        self._slot[zone, column], self._agent[zone, column], self._map[zone, column] = slots, agent, maps
        self._sides[zone, :, column], self._times[zone, :, column] = sides.T, times.T
        self._row_of["row"][slots] = rows + 1
        for bound, values in zip((*self._least_sides, *self._least_times), (*sides, *times), strict=True):
            np.minimum.at(bound, zone, values)
        np.minimum.at(self._least_agent, zone, agent)
        np.maximum.at(self._most_agent, zone, agent)

    def remove(self, slots: Slots) -> None:
        """Forget entries."""
        rows = self._row_of["row"][slots].astype(np.int64) - 1
        self._free(rows[rows >= 0])
        self._row_of["row"][slots] = 0

    def moved(self, portions: Iterable[tuple[Slots, FloatArray, FloatArray]]) -> Zones:
        """Zones in which the boxes (low and high corners [n, 3]) of these slots are others, portion by portion.

        The rows stay where they are, and these zones as they are. What lay side by side is side by side still unless
        the map was torn; then zones are wide until they are sorted.
        """
        other = copy.copy(self)
        other._sides, other._least_sides = self._sides.copy(), self._least_sides.copy()
        touched, flat = np.zeros(len(self._slot), np.bool_), other._sides.reshape(-1)
        for slots, low, high in portions:
            rows = np.take(self._row_of["row"], slots) - 1
            zone = rows >> _ZONE_BITS
            first = rows + 5 * ZONE * zone  # six sides a zone: rows of the zones before are passed six times
            for side, values in enumerate(_sides(low, high)):
                flat[first + side * ZONE] = values
            touched[zone] = True
        for zones in _parts(np.flatnonzero(touched)):
            least = np.take(other._sides, zones, axis=0).min(axis=2)
            other._least_sides[:, zones] = least.T - np.float32(_MARGIN_M)
        return other

    def _free(self, rows: Slots) -> None:
        zone, column = np.divmod(rows, ZONE)
        self._slot[zone, column] = -1
        self._sides[zone, :, column], self._times[zone, :, column] = np.inf, _NEVER

    def _append(self, count: int) -> Slots:
        """Free rows at the end."""
        first, self._used = self._used, self._used + count
        zones = len(self._slot)
        if self._used > zones * ZONE:
            old = [getattr(self, name) for name in _ARRAYS]
            self._allocate(max(-(-self._used // ZONE), zones + zones // 4) + _SPARE_ZONES)
            for name, array in zip(_ARRAYS, old, strict=True):
                getattr(self, name)[_first_zones(name, zones)] = array
        return np.arange(first, self._used)

    def sort(self) -> None:
        """Lay all rows along the curve."""
        rows, slots, sides, times, agent, maps = self._laid(0)
        self._allocate(-(-len(rows) // ZONE) + _SPARE_ZONES)
        self._lay(0, slots, sides, times, agent, maps)

    def _sort_tail(self) -> None:
        """Lay the rows that came since along a curve of their own: a few thousand, so that nobody waits for long."""
        first = self._sorted // ZONE
        _, slots, sides, times, agent, maps = self._laid(first)
        self._slot[first:], self._sides[first:], self._times[first:] = -1, np.inf, _NEVER
        self._least_sides[:, first:], self._least_times[:, first:] = np.inf, _NEVER
        self._least_agent[first:], self._most_agent[first:] = _NO_AGENT, -1
        self._lay(first, slots, sides, times, agent, maps)

    def _laid(self, first: int) -> tuple[Slots, Slots, Sides, Times, Codes32, Codes32]:
        """The rows from a zone on in their order along the curve: where they are, and what they hold."""
        live = np.flatnonzero(self._slot[first:].ravel() >= 0) + first * ZONE
        zone, column = np.divmod(live, ZONE)
        agent, maps = self._agent[zone, column], self._map[zone, column]
        sides = self._sides[zone, :, column].T
        order = np.argsort(_keys(sides, agent, maps), kind="stable")
        zone, column = zone[order], column[order]
        slots, times = self._slot[zone, column].astype(np.int64), self._times[zone, :, column].T
        return live[order], slots, sides[:, order], times, agent[order], maps[order]

    def _lay(self, first: int, slots: Slots, sides: Sides, times: Times, agent: Codes32, maps: Codes32) -> None:
        """Write rows from a zone on, which is free; what comes later begins another one."""
        self._write(np.arange(len(slots)) + first * ZONE, slots, sides, times, agent, maps)
        self._least_sides[:, first:] -= np.float32(_MARGIN_M)
        self._used = self._sorted = (first + -(-len(slots) // ZONE)) * ZONE

    def find(self, narrow: Narrow) -> tuple[Slots, int]:
        """The slots that fit, and how many of them, the first ones, were never outside the box.

        Times and agents are exact; the others may have touched the box at any time.
        """
        sides, fit = narrow.most_sides(), self._fit(narrow)
        if sides is None:
            slots = self._rows(np.flatnonzero(fit), None, narrow)
            return slots, len(slots)
        fit &= _none_exceeds(self._least_sides, sides[:, None])
        zones = np.flatnonzero(fit)
        if len(zones) <= _FEW_ZONES:
            return self._rows(zones, sides, narrow), 0
        inside = _all_exceed(self._least_sides[:, zones], -sides[_OPPOSITE][:, None])
        sure, rest = [self._rows(zones[inside], None, narrow)], [np.zeros(0, np.int64)]
        for part in _parts(zones[~inside]):
            fit = self._fitting(part, sides, narrow)
            wholly = fit & _all_exceed(np.take(self._sides, part, axis=0), -sides[_OPPOSITE][:, None], axis=1)
            sure.append(self._slots(part, wholly, narrow))
            rest.append(self._slots(part, fit ^ wholly, narrow))
        return np.concatenate(sure + rest), sum(map(len, sure))

    def _fit(self, narrow: Narrow) -> Mask:
        """Which zones may hold something of that time and those agents."""
        fit = _none_exceeds(self._least_times, narrow.most_times()[:, None])
        if narrow.agents is not None:
            wanted: Mask = np.zeros(len(fit), np.bool_)
            for agent in narrow.agents:
                wanted |= (self._least_agent <= agent) & (self._most_agent >= agent)
            fit &= wanted
        return fit

    def touching(self, low: FloatArray, high: FloatArray, narrow: Narrow) -> Slots:
        """The slots of which some were at a place touching any of some boxes [n, 3], ascending; each box is small."""
        most = -_sides(low, high)[_OPPOSITE]
        some = np.flatnonzero(self._fit(narrow))
        boxes, zones = np.nonzero(_none_exceeds(self._least_sides[:, None, some], most[:, :, None]))
        zones = some[zones]
        return np.unique(self._rows(zones, most[:, boxes].T, narrow))

    def _rows(self, zones: Slots, sides: Sides | None, narrow: Narrow) -> Slots:
        """The slots in some zones that fit; ``sides`` [6], or of each zone [n, 6]."""
        found = [np.zeros(0, np.int64)]
        for i, part in enumerate(_parts(zones)):
            its = sides if sides is None or sides.ndim == 1 else sides[i * _AT_ONCE :][: len(part)]
            found.append(self._slots(part, self._fitting(part, its, narrow), narrow))
        return found[1] if len(found) == 2 else np.concatenate(found)

    def _fitting(self, zones: Slots, sides: Sides | None, narrow: Narrow) -> Mask:
        """Which rows of some zones fit by place and time, [n, ZONE]."""
        fit = _none_exceeds(np.take(self._times, zones, axis=0), narrow.most_times()[:, None], axis=1)
        if sides is not None:
            fit &= _none_exceeds(np.take(self._sides, zones, axis=0), sides[..., None], axis=1)
        return fit

    def _slots(self, zones: Slots, fit: Mask, narrow: Narrow) -> Slots:
        """The slots in rows that fit, of the agents."""
        at = np.flatnonzero(fit)
        rows = (zones[at >> _ZONE_BITS] << _ZONE_BITS) + (at & (ZONE - 1))
        if narrow.agents is not None and (self._least_agent[zones] < self._most_agent[zones]).any():
            rows = rows[np.isin(self._agent.ravel()[rows], narrow.agents)]
        return np.asarray(self._slot.ravel()[rows].astype(np.int64))

    def nbytes(self) -> int:
        """Memory taken."""
        return self._row_of.nbytes() + int(sum(getattr(self, name).nbytes for name in _ARRAYS))


_BY_ZONE = ("_slot", "_agent", "_map", "_sides", "_times", "_least_agent", "_most_agent")
_ARRAYS = (*_BY_ZONE, "_least_sides", "_least_times")
_OPPOSITE = np.array([3, 4, 5, 0, 1, 2])


def _none_exceeds(values: Sides | Times, most: Sides | Times, axis: int = 0) -> Mask:
    """Where no value along an axis exceeds its limit."""
    return np.asarray(np.logical_and.reduce(values <= most, axis=axis))


def _all_exceed(values: Sides, limits: Sides, axis: int = 0) -> Mask:
    """Where all values along an axis exceed their limits."""
    return np.asarray(np.logical_and.reduce(values > limits, axis=axis))


def _parts(zones: Slots) -> Iterator[Slots]:
    """So many that they are read at once."""
    for i in range(0, len(zones), _AT_ONCE):
        yield zones[i : i + _AT_ONCE]


def _first_zones(name: str, zones: int) -> Any:
    return slice(zones) if name in _BY_ZONE else (slice(None), slice(zones))


def _sides(low: FloatArray | Vec3, high: FloatArray | Vec3) -> Sides:
    """Sides [6, ...] of boxes in float32, rounded outward: by one or two units in the last place."""
    sides = np.concatenate([np.asarray(low).T, -np.asarray(high).T], dtype=np.float32)
    outward = np.abs(sides)
    outward *= _UNIT
    outward += _LEAST
    return np.subtract(sides, outward, out=outward)


def _keys(sides: Sides, agent: Codes32, maps: Codes32) -> Cells:
    """Where rows lie on the curve: by agent and map, what was at far apart places last, then by interleaved cells."""
    groups: Slots = np.unique(agent.astype(np.int64) << 32 | maps, return_inverse=True)[1]
    low, high = sides[:3].astype(float), -sides[3:].astype(float)
    wide = (high - low > _WIDE_M).any(axis=0)
    groups = np.where(wide, groups.max(initial=0) + 1, groups)
    keys: Cells = np.minimum(groups, 0xFFFF).astype(np.uint64) << np.uint64(48)
    centre = (low + high) / 2
    centre -= centre.min(axis=1, initial=0.0)[:, None]
    for axis in range(3):
        cell = max(_CELL_M, float(centre[axis].max(initial=0.0)) / 0xFFFF)
        keys |= _spread((centre[axis] / cell).astype(np.uint64)) << np.uint64(axis)
    return keys


def _spread(cells: Cells) -> Cells:
    """16 bits each, with two zeros between each and the next."""
    for shift, mask in ((16, 0x0000FF0000FF), (8, 0x00F00F00F00F), (4, 0x0C30C30C30C3), (2, 0x249249249249)):
        spread: Cells = (cells | cells << np.uint64(shift)) & np.uint64(mask)
        cells = spread
    return cells
