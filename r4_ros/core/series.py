"""A long tuple of which mostly the end changes: what changes it copies a block, not all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

T = TypeVar("T")

BLOCK = 256
LONG = 2 * BLOCK
"""Shorter ones are as well off as tuples."""


class Series(Sequence[T]):
    """Immutable, and equal to a tuple of the same. Never empty.

    Full blocks are shared between a series and what is made of it, so that comparing two looks at the objects of their
    blocks, and prefixes (``series[:n]``) are series themselves.
    """

    __slots__ = ("_full", "_tail")

    def __init__(self, full: tuple[tuple[T, ...], ...], tail: tuple[T, ...]) -> None:
        """Blocks of ``BLOCK`` each, and from one to as many after them."""
        self._full, self._tail = full, tail

    @classmethod
    def of(cls, items: Iterable[T]) -> Series[T]:
        """One of these items, of which there is at least one."""
        if isinstance(items, Series):
            return items
        all_ = tuple(items)
        end = (len(all_) - 1) // BLOCK * BLOCK
        return cls(tuple(all_[i : i + BLOCK] for i in range(0, end, BLOCK)), all_[end:])

    def with_last(self, item: T) -> Series[T]:
        """The same, but for the last item."""
        return Series(self._full, (*self._tail[:-1], item))

    def with_more(self, item: T) -> Series[T]:
        """The same, and one more item."""
        if len(self._tail) == BLOCK:
            return Series((*self._full, self._tail), (item,))
        return Series(self._full, (*self._tail, item))

    def __len__(self) -> int:
        return BLOCK * len(self._full) + len(self._tail)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1 or stop <= start:
                return tuple(self)[index]
            return self._suffix(start)[: stop - start] if start else self._prefix(stop)
        block, place = divmod(index + len(self) if index < 0 else index, BLOCK)
        if block == len(self._full):
            return self._tail[place]
        if block < 0 or block > len(self._full):
            raise IndexError(index)
        return self._full[block][place]

    def _prefix(self, length: int) -> Series[T]:
        blocks = (length - 1) // BLOCK
        last = self._full[blocks] if blocks < len(self._full) else self._tail
        return Series(self._full[:blocks], last[: length - BLOCK * blocks])

    def _suffix(self, start: int) -> tuple[T, ...]:
        blocks = start // BLOCK
        rest = (*chain.from_iterable(self._full[blocks:]), *self._tail)
        return rest[start - BLOCK * blocks :]

    def __iter__(self) -> Iterator[T]:
        return chain(chain.from_iterable(self._full), self._tail)

    def __reversed__(self) -> Iterator[T]:
        return chain(reversed(self._tail), chain.from_iterable(map(reversed, reversed(self._full))))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Series):
            return self._full == other._full and self._tail == other._tail
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Series.of({tuple(self)!r})"

    def __reduce__(self) -> Any:
        return Series, (self._full, self._tail)
