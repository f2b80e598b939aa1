"""A thread that works on one item after the other, so that the executor's thread never waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Worker(Generic[Item]):
    """Runs ``handle`` on its own thread for each offered item, in order.

    capacity: items that may wait; when more come, the oldest is given to ``on_drop`` instead. 0: no limit.
    on_error: gets what ``handle`` raised; the thread goes on.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[Item], object],
        on_error: Callable[[Exception], None],
        capacity: int = 0,
        on_drop: Callable[[Item], None] | None = None,
    ) -> None:
        self.name = name
        self._handle = handle
        self._on_error = on_error
        self._capacity = capacity
        self._on_drop = on_drop
        self._items: deque[Item] = deque()
        self._busy = False
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def pending(self) -> int:
        """Items that wait or are worked on."""
        with self._changed:
            return len(self._items) + self._busy

    def offer(self, item: Item) -> None:
        """Add an item; never waits. After ``close`` it is dropped."""
        dropped: list[Item] = []
        with self._changed:
            if self._closed:
                dropped.append(item)
            else:
                self._items.append(item)
                while self._capacity and len(self._items) > self._capacity:
                    dropped.append(self._items.popleft())
                self._changed.notify_all()
        self._give_up(dropped)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Finish the item at work, drop the others, end the thread. False if it was still at work after the timeout."""
        with self._changed:
            self._closed = True
            dropped = list(self._items)
            self._items.clear()
            self._changed.notify_all()
        self._give_up(dropped)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _give_up(self, items: list[Item]) -> None:
        if self._on_drop is not None:
            for item in items:
                self._on_drop(item)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.wait_for(lambda: self._items or self._closed)
                if self._closed:
                    return
                item = self._items.popleft()
                self._busy = True
            try:
                self._handle(item)
            except Exception as error:
                self._on_error(error)
