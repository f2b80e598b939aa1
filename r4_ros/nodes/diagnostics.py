"""What a node says about itself on /diagnostics: one plain sentence, and numbers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from r4_ros.nodes.convert import time_to_msg


class Counts:
    """Counters by name, from any thread."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, number: int = 1) -> None:
        """Count something that happened."""
        with self._lock:
            self._counts[name] += number

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counts[name]

    def snapshot(self) -> dict[str, int]:
        """All counters, by name."""
        with self._lock:
            return dict(sorted(self._counts.items()))


@dataclass(slots=True)
class Report:
    """The state of a node: ``problems`` say what is missing or wrong, most important first; ``errors`` are worse."""

    problems: list[str] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def status_message(
    name: str, agent_id: str, state: str, trouble: str, report: Report, counts: Mapping[str, int], stamp_ns: int
) -> DiagnosticArray:
    """One node's status: ERROR while it can't work or reports an error, WARN while something is missing, else OK."""
    if trouble or state != "active":
        level, text = DiagnosticStatus.ERROR, f"{state}: {trouble or 'waiting for a lifecycle manager'}"
    elif report.errors:
        level, text = DiagnosticStatus.ERROR, "; ".join([*report.errors, *report.problems])
    elif report.problems:
        level, text = DiagnosticStatus.WARN, "; ".join(report.problems)
    else:
        level, text = DiagnosticStatus.OK, "working"
    values = {"state": state, "agent_id": agent_id, **report.values, **counts}
    status = DiagnosticStatus(
        level=level,
        name=f"r4_ros: {name}",
        message=text,
        hardware_id=agent_id,
        values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
    )
    message = DiagnosticArray(status=[status])
    message.header.stamp = time_to_msg(stamp_ns)
    return message


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
