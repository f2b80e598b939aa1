"""Processes that die come back; stopping leaves nothing behind. With small Python programs instead of nodes."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from r4_ros.cli import supervisor
from r4_ros.cli.supervisor import Supervisor

FOREVER = "import time\nwhile True: time.sleep(0.05)"
POLITE = "import signal, sys\nsignal.signal(2, lambda *_: sys.exit())\n"
STUBBORN = "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nprint('ready')\n" + FOREVER


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Running:
    """A supervisor in a thread."""

    def __init__(self, **programs: str) -> None:
        self.output = io.StringIO()
        commands = {name: [sys.executable, "-c", POLITE + program] for name, program in programs.items()}
        self.supervisor = Supervisor(commands, self.output)
        self.thread = threading.Thread(target=self.supervisor.run)
        self.thread.start()

    def pid(self, name: str) -> int:
        child = self.supervisor.children[name]
        until(lambda: child.alive)
        assert child.process is not None
        return child.process.pid

    def stop(self) -> list[str]:
        self.supervisor.stop()
        self.thread.join(120)
        assert not any(child.alive for child in self.supervisor.children.values())
        return self.output.getvalue().splitlines()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "PAUSES_S", (0.05, 0.1))
    monkeypatch.setattr(supervisor, "STOP_SIGNALS", ((signal.SIGINT, 100.0), (signal.SIGKILL, 100.0)))


def test_what_is_killed_starts_again_and_the_others_live() -> None:
    running = Running(one=FOREVER, two=FOREVER)
    first, other = running.pid("one"), running.pid("two")
    os.kill(first, signal.SIGKILL)
    until(lambda: running.supervisor.children["one"].starts == 2)
    assert running.pid("one") != first and running.pid("two") == other
    assert "[one] killed by SIGKILL; starts again in 0.05 s" in running.stop()


def test_what_fails_at_once_is_tried_less_often() -> None:
    running = Running(bad="raise SystemExit(3)")
    until(lambda: running.supervisor.children["bad"].starts == 4)
    lines = [line for line in running.stop() if "starts again" in line]
    assert lines[:3] == [f"[bad] ended with exit status 3; starts again in {s} s" for s in ("0.05", "0.1", "0.1")]


def test_output_stands_behind_the_names() -> None:
    speak = f"import sys\nprint('out')\nprint('err', file=sys.stderr)\n{FOREVER}"
    running = Running(a=speak, longer=speak)
    until(lambda: running.output.getvalue().count("\n") == 4)
    assert sorted(running.stop()) == ["[a     ] err", "[a     ] out", "[longer] err", "[longer] out"]


def test_who_ignores_signals_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = ((signal.SIGINT, 0.3), (signal.SIGTERM, 0.3), (signal.SIGKILL, 100.0))
    monkeypatch.setattr(supervisor, "STOP_SIGNALS", patience)
    running = Running(stubborn=STUBBORN)
    until(lambda: "ready" in running.output.getvalue())
    pid = running.pid("stubborn")
    running.stop()
    assert not Path(f"/proc/{pid}").exists()


def test_the_last_words_are_heard() -> None:
    program = f"import signal, sys\nsignal.signal(2, lambda *_: (print('bye'), sys.exit()))\nprint('ready')\n{FOREVER}"
    running = Running(polite=program)
    until(lambda: "ready" in running.output.getvalue())
    assert running.stop() == ["[polite] ready", "[polite] bye"]
