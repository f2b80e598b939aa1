"""Growing numpy tables: the columns that queries run over."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Part = TypeVar("Part")
TableT = TypeVar("TableT", bound="Table")


class Table(dict[str, Column]):
    """Named columns of equal length; ``table["name"]`` is a view on the rows in use."""

    def __init__(self, **columns: tuple[npt.DTypeLike, int]) -> None:
        """Each column: its dtype and width (0: one value a row)."""
        super().__init__()
        self.rows = 0
        self._capacity = 64
        self._columns: dict[str, Column] = {
            name: np.zeros((64, width) if width else 64, dtype) for name, (dtype, width) in columns.items()
        }
        self._take_in_use()

    def _take_in_use(self) -> None:
        """Anew after each change of the columns or of their length: a frame reads them a hundred times."""
        self.update({name: column[: self.rows] for name, column in self._columns.items()})

    def extend(self, count: int) -> int:
        """Append rows of zeros; gives the first one's number."""
        first = self.rows
        self.rows += count
        if self.rows > self._capacity:
            self._capacity = max(self.rows, 2 * self._capacity)
            for name, column in self._columns.items():
                grown = np.zeros((self._capacity, *column.shape[1:]), column.dtype)
                grown[:first] = column[:first]
                self._columns[name] = grown
        self._take_in_use()
        return first

    def with_own(self: TableT, *names: str, filled: bool = True) -> TableT:
        """The same table, but for these columns, which are copies; not ``filled``: which are to be written."""
        other = copy.copy(self)
        other._columns = dict(self._columns)
        for name in names:
            other._columns[name] = np.empty_like(self._columns[name])
            if filled:
                other._columns[name][: self.rows] = self._columns[name][: self.rows]
        other._take_in_use()
        return other

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def nbytes(self) -> int:
        """Memory taken by the rows in use; what is allocated ahead isn't backed by memory until it is written."""
        return sum(column.nbytes for column in self.values())


class PartTable(Table):
    """Rows that belong to slots, any number each, oldest first; dead rows have slot -1.

    ``last`` gives each slot's newest row (-1: none), the column ``prev`` the row before.
    """

    def __init__(self, **columns: tuple[npt.DTypeLike, int]) -> None:
        super().__init__(slot=(np.int32, 0), prev=(np.int32, 0), **columns)
        self.last: npt.NDArray[np.int32] = np.full(64, -1, np.int32)
        self._counts: npt.NDArray[np.int32] = np.zeros(64, np.int32)

    def assign(self, slot: int, count: int, first_changed: int) -> list[int]:
        """Make the slot have ``count`` rows; gives its rows from number ``first_changed`` on, to be written."""
        self._make_room(slot)
        while self._counts[slot] > count:
            row = self.last[slot]
            self["slot"][row] = -1
            self.last[slot] = self["prev"][row]
            self._counts[slot] -= 1
        missing = count - int(self._counts[slot])
        first = self.extend(missing)
        for row in range(first, first + missing):
            self["slot"][row] = slot
            self["prev"][row] = self.last[slot]
            self.last[slot] = row
        self._counts[slot] = count
        return self._newest(slot, count - first_changed)

    def changed(
        self, slots: npt.NDArray[np.int64], before: Iterable[Sequence[Part]], after: Iterable[Sequence[Part]]
    ) -> tuple[npt.NDArray[np.int64], list[Part]]:
        """Make slots have as many rows as ``after`` has parts; gives the rows to be written, and with which parts."""
        rows, parts, added = list[int](), list[Part](), list[tuple[int, Sequence[Part]]]()
        self._make_room(int(slots.max(initial=0)))
        for slot, last, old, new in zip(slots.tolist(), self.last[slots].tolist(), before, after, strict=True):
            if not old:
                added.append((slot, new))
            elif len(old) == len(new) and old[:-1] == new[:-1]:
                rows.append(last)
                parts.append(new[-1])
            else:
                first = first_difference(old, new)
                rows += self.assign(slot, len(new), first)
                parts += new[first:]
        if added:
            counts = np.array([len(new) for _, new in added], np.int64)
            rows += range(self.assign_new(np.array([slot for slot, _ in added], np.int64), counts), self.rows)
            parts += [part for _, new in added for part in new]
        return np.array(rows, np.int64), parts

    def assign_new(self, slots: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> int:
        """Give slots that have no rows yet so many each, one slot after the other; gives the first row's number."""
        self._make_room(int(slots.max(initial=0)))
        first = self.extend(int(counts.sum()))
        rows = np.arange(first, self.rows)
        if (counts == 1).all():
            self["slot"][first:], self["prev"][first:] = slots, -1
            self.last[slots], self._counts[slots] = rows, 1
            return first
        ends = first + np.cumsum(counts)
        self["slot"][first:] = np.repeat(slots, counts)
        self["prev"][first:] = rows - 1
        self["prev"][(ends - counts)[counts > 0]] = -1
        self.last[slots] = np.where(counts > 0, ends - 1, -1)
        self._counts[slots] = counts
        return first

    def _newest(self, slot: int, count: int) -> list[int]:
        rows: list[int] = []
        row = int(self.last[slot])
        while len(rows) < count:
            rows.append(row)
            row = int(self["prev"][row])
        return rows[::-1]

    def rows_of(self, slot: int) -> list[int]:
        """The rows of a slot, oldest first."""
        return self._newest(slot, int(self._counts[slot])) if slot < len(self.last) else []

    def _make_room(self, slot: int) -> None:
        if slot >= len(self.last):
            room = max(slot + 1, 2 * len(self.last)) - len(self.last)
            self.last = np.concatenate([self.last, np.full(room, -1, np.int32)])
            self._counts = np.concatenate([self._counts, np.zeros(room, np.int32)])


def first_difference(old: Sequence[object], new: Sequence[object]) -> int:
    """How many leading parts of two tuples or series are equal.

    Compared by slices, not one by one: a thing in daily use has ten thousand sightings after some weeks, of which
    mostly the last one differs.
    """
    shared = min(len(old), len(new))
    end, step = max(0, shared - 1), 8
    while old[:end] != new[:end]:
        end, step = max(0, end - step), 8 * step
    while end < shared and old[end] == new[end]:
        end += 1
    return end


class Codes:
    """Small numbers for repeated strings, in the order in which they came."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a text; a new one where it is new."""
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code

    def code_all(self, texts: Sequence[str]) -> list[int]:
        """The numbers of texts, each as by ``code``."""
        known = self._codes
        codes = [known.setdefault(text, len(known)) for text in texts]
        self.texts += [*islice(reversed(known), len(known) - len(self.texts))][::-1]
        return codes

    def find(self, text: str) -> int:
        """The number of a text, -1 where it isn't known."""
        return self._codes.get(text, -1)

    def find_all(self, texts: Sequence[str]) -> list[int]:
        """The numbers of those that are known."""
        return [self._codes[text] for text in texts if text in self._codes]


class Holders:
    """Which slots have which code: how many, and which one where it is one."""

    def __init__(self) -> None:
        self._table = Table(count=(np.int32, 0), slots=(np.int64, 0))

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """How many slots have each code."""
        return self._table["count"]

    def add(self, codes: npt.NDArray[np.int32], slots: npt.NDArray[np.int64], sign: int) -> None:
        """Slots got these codes (``sign`` 1) or lost them (-1)."""
        missing = int(codes.max(initial=-1)) + 1 - self._table.rows
        if missing > 0:
            self._table.extend(missing)
        np.add.at(self._table["count"], codes, sign)
        np.add.at(self._table["slots"], codes, sign * slots)  # a sum: where one slot is left, it is that one

    def only(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
        """The slots with these codes, if each has one; None otherwise."""
        if (self._table["count"][codes] != 1).any():
            return None
        return np.asarray(self._table["slots"][codes])

    def nbytes(self) -> int:
        """Memory taken."""
        return self._table.nbytes()
