"""What ``r4 replay``, ``r4 sim`` and ``r4 demo`` show while frames go by, and say at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console


class Advance(Protocol):
    """Tells the bar how many frames were taken and refused so far."""

    def __call__(self, frames: int, refused: int = 0) -> None:
        """Numbers since the start."""


@contextmanager
def progress(total: int, console: Console | None = None) -> Iterator[Advance]:
    """A bar with rate, time left and refusals; on stderr unless a console is given. ``total`` 0: unknown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("frames"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console or Console(stderr=True)) as bar:
        task = bar.add_task("", total=total or None, rate="", note="")

        def advance(frames: int, refused: int = 0) -> None:
            done, elapsed = max(0, frames + refused), bar.tasks[0].elapsed or 0.0
            rate = f"{done / elapsed:.1f}/s" if elapsed > 0 else ""
            bar.update(task, completed=done, rate=rate, note=f"{refused} refused" if refused else "")

        yield advance


def counted(refused: dict[str, int]) -> str:
    """Refusals by reason, for a person."""
    return ", ".join(f"{count} {reason}" for reason, count in refused.items()) or "none"


def summary(result: dict[str, Any], example: str) -> str:
    """What became of the frames; ``example``: a question to ask next."""
    refused = counted(result["refused"])
    if "entries" not in result:
        return (
            f"{result['messages']} messages, {result['frames']} frames in {result['wall_s']:.1f} s; refused: {refused}"
        )
    return (
        f"{result['frames']} frames in {result['wall_s']:.1f} s, {result['observations']} observations, "
        f"{result['entries']} entries in {result['db']}; refused: {refused}\n"
        f'Ask: r4 ask "{example}" --db {result["db"]}'
    )
