"""How a camera's stream and its frames fare: rates, ages and refusals of the last seconds, judged by thresholds."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import RefusalReason

WINDOW_S = 10.0
SILENT_S = 5.0
OTHER_CLOCK_S = 3600.0
NOT_COUNTED = (RefusalReason.OUT_OF_ORDER, RefusalReason.NOT_KEYFRAME)  # that's no loss


@dataclass
class Health:
    """What is to be told: ``errors`` are worse than ``warnings``."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    refusing: bool = False  # more frames are refused than is good


class _Window:
    """Values of the last ten seconds."""

    def __init__(self) -> None:
        self.items: deque[tuple[float, float]] = deque()

    def add(self, now: float, value: float = 0.0) -> None:
        self.items.append((now, value))

    def values(self, now: float) -> list[float]:
        while self.items and now - self.items[0][0] > WINDOW_S:
            self.items.popleft()
        return [value for _, value in self.items]


class CameraHealth:
    """Counts what happens to one camera's frames. Used from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._since = monotonic()
        self._received: dict[str, _Window] = {}
        self._last: dict[str, float] = {}
        self._done, self._model, self._refused = _Window(), _Window(), _Window()

    def received(self, role: str) -> None:
        """A message came."""
        now = self._monotonic()
        with self._lock:
            self._received.setdefault(role, _Window()).add(now)
            self._last[role] = now

    def done(self, age_s: float, model_s: float) -> None:
        """A frame's record went out: how old the image was then, and how long the segmenter took."""
        now = self._monotonic()
        with self._lock:
            self._done.add(now, age_s)
            self._model.add(now, model_s)

    def refused(self, reason: RefusalReason) -> None:
        """A frame was refused."""
        if reason not in NOT_COUNTED:
            with self._lock:
                self._refused.add(self._monotonic())

    def report(self, config: PerceptionConfig, topics: dict[str, str]) -> Health:
        """Rates and ages of the last ten seconds against the thresholds; topics by role, for what fell silent."""
        now = self._monotonic()
        span = max(1.0, min(WINDOW_S, now - self._since))
        health = Health()
        with self._lock:
            counts = {role: len(window.values(now)) for role, window in sorted(self._received.items())}
            health.values.update({f"rate_hz.{role}": count / span for role, count in counts.items()})
            ages, models, refused = (w.values(now) for w in (self._done, self._model, self._refused))
            silent = {role: now - last for role, last in self._last.items() if now - last > SILENT_S}
        health.values["rate_hz.frames"] = len(ages) / span
        if ages:
            health.values.update({"age_s": ages[-1], "age_s.max": max(ages)})
            health.values.update({"model_s.mean": sum(models) / len(models), "model_s.max": max(models)})
        health.warnings += [
            f"nothing received on {topics[role]} for {age_s:.0f} s"
            for role, age_s in silent.items()
            if role in topics and role not in ("tf_static", "label_info", "color_info", "depth_info")
        ]
        if counts.get("color") and span >= WINDOW_S / 2:
            rate = len(ages) / span
            _judge(health, "frames a second", -rate, -config.warn_rate_hz, -config.error_rate_hz)
        if ages and abs(ages[-1]) > OTHER_CLOCK_S:
            text = f"stamps are {ages[-1]:.0f} s behind the clock: a recording or a simulation without use_sim_time?"
            health.warnings.append(text)
        elif ages:
            _judge(
                health, "s old is an image when its record goes out", max(ages), config.warn_age_s, config.error_age_s
            )
        if refused:
            share = len(refused) / (len(refused) + len(ages))
            health.refusing = share > config.warn_refused_share
            limits = (100 * config.warn_refused_share, 100 * config.error_refused_share)
            _judge(health, f"% of the frames of the last {span:.0f} s were refused", 100 * share, *limits)
        health.values.update(device_memory())
        return health


def _judge(health: Health, what: str, value: float, warn: float, error: float) -> None:
    """Note a value that is above a threshold (negative values: below one)."""
    level = health.errors if value > error else health.warnings if value > warn else None
    if level is not None:
        limit = error if value > error else warn
        level.append(f"{abs(value):.3g} {what} (limit {abs(limit):g})")


def device_memory() -> dict[str, object]:
    """MiB that torch holds on CUDA devices, in use and at most; nothing where torch isn't loaded or has no device."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {}
    mib = 1 << 20
    return {
        "device_mib": torch.cuda.memory_allocated() / mib,
        "device_mib.max": torch.cuda.max_memory_allocated() / mib,
    }
