"""Runs processes side by side: their output with a name before each line, restarted when they die, stopped in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
HEALTHY_S = 30.0  # who lived as long starts with the shortest pause again
POLL_S = 0.1
STOP_SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


class Child:
    """One supervised process; it may be started many times."""

    def __init__(self, name: str, command: Sequence[str], say: Callable[[str, str], None]) -> None:
        self.name = name
        self.command = list(command)
        self.starts = 0
        self.process: subprocess.Popen[str] | None = None
        self._say = say
        self._pauses = 0
        self._started = 0.0
        self._due = 0.0
        self._reader: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        return self.process is not None and self.process.poll() is None

    def start(self, environ: Mapping[str, str]) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches the supervisor alone."""
        self.process = subprocess.Popen(
            self.command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.starts += 1
        self._started = time.monotonic()
        self._due = 0.0
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, output: TextIO) -> None:
        for line in output:
            self._say(self.name, line.rstrip("\n"))

    def tend(self, environ: Mapping[str, str]) -> None:
        """Start it again when it died and its pause is over."""
        now = time.monotonic()
        if self.alive or self.process is None:
            return
        if not self._due:
            if now - self._started > HEALTHY_S:
                self._pauses = 0
            pause_s = PAUSES_S[min(self._pauses, len(PAUSES_S) - 1)]
            self._pauses += 1
            self._due = now + pause_s
            self._say(self.name, f"{_ending(self.process.returncode)}; starts again in {pause_s:g} s")
        elif now >= self._due:
            self.start(environ)

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.process is not None and self.alive:
            self.process.send_signal(number)

    def drain(self) -> None:
        """Let the rest of its output through."""
        if self._reader is not None:
            self._reader.join(5.0)


class Supervisor:
    """Keeps children running until ``stop``."""

    def __init__(self, commands: Mapping[str, Sequence[str]], output: TextIO | None = None) -> None:
        self._output = output or sys.stdout
        self._lock = threading.Lock()
        self._width = max(map(len, commands), default=0)
        self._stop = threading.Event()
        self.children = {name: Child(name, command, self._say) for name, command in commands.items()}

    def stop(self) -> None:
        """End ``run``; from any thread or a signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Start all, restart what dies, until told to stop; then stop all, none is left behind."""
        environ = {**os.environ, "PYTHONUNBUFFERED": "1", "R4_SUPERVISOR": str(os.getpid())}
        try:
            for child in self.children.values():
                child.start(environ)
            while not self._stop.wait(POLL_S):
                for child in self.children.values():
                    child.tend(environ)
        finally:
            self._end_all()

    def _end_all(self) -> None:
        for number, patience_s in STOP_SIGNALS:
            for child in self.children.values():
                child.signal(number)
            until = time.monotonic() + patience_s
            while any(child.alive for child in self.children.values()) and time.monotonic() < until:
                time.sleep(0.02)
        for child in self.children.values():
            child.drain()

    def _say(self, name: str, line: str) -> None:
        with self._lock:
            print(f"[{name:{self._width}}] {line}", file=self._output, flush=True)


def _ending(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit status {code}"
