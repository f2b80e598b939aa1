"""Processes of the system tests: started, watched, and gone when the test ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

R4 = [sys.executable, "-m", "r4_ros.cli.main"]
ENDS_WITH_US = ["setpriv", "--pdeathsig=KILL"] if shutil.which("setpriv") else []
"""Before a command: nodes that outlive a run that was killed are heard in the next one, which has the same domain."""


class Process:
    """A process with its output in ``lines``."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [*ENDS_WITH_US, *command],
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_for(self, text: str, times: int = 1, timeout_s: float = 180.0) -> None:
        """Wait until so many lines contain the text."""
        until = time.monotonic() + timeout_s
        while sum(text in line for line in self.lines) < times:
            if self._process.poll() is not None:  # what it said last may not be read yet
                self._reader.join(10.0)
                assert sum(text in line for line in self.lines) >= times, self._ended
            assert time.monotonic() < until, f"'{text}' x {times} didn't come: {self.text}"
            time.sleep(0.02)

    @property
    def _ended(self) -> str:
        return f"ended with {self._process.returncode}: {self.text}"

    @property
    def text(self) -> str:
        """All output so far."""
        return "\n".join(self.lines)

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 120.0) -> int:
        """Send a signal; gives the exit status."""
        self._process.send_signal(number)
        return self.wait(timeout_s)

    def wait(self, timeout_s: float = 120.0) -> int:
        """The exit status."""
        code = self._process.wait(timeout_s)
        self._reader.join(10.0)
        return code

    def kill(self) -> None:
        """End it and its children, if the test didn't."""
        family = children_of(self.pid)
        for pid in (self.pid, *family.values()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(60.0)


def children_of(pid: int) -> dict[str, int]:
    """Running child processes of ``r4 up``: node name -> pid."""
    found = {}
    try:
        pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return {}
    for child in pids:
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
        except FileNotFoundError:
            continue
        name = next((word.removeprefix("r4_ros.nodes.") for word in words if word.startswith("r4_ros.nodes.")), "")
        found[name.removesuffix("_node")] = int(child)
    return found


def r4(*arguments: Any, cwd: Path) -> str:
    """What a command printed; fails unless it ends with 0."""
    done = subprocess.run([*R4, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, f"r4 {' '.join(map(str, arguments))}: {done.stderr[-2000:]}"
    return done.stdout
