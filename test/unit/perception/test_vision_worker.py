"""The thread that asks a vision model: it batches, rests, gives up and never makes anybody wait."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from vision_double import VisionDouble

from r4_ros.core.errors import ModelError, NotReady, R4Error
from r4_ros.core.ports import VisionRequest
from r4_ros.perception import vision_worker
from r4_ros.perception.vision_worker import BATCH, VisionWorker

REQUEST = VisionRequest("", "what?", (b"jpeg",))


def collect() -> tuple[list[Any], Any]:
    got: list[Any] = []
    return got, got.append


def test_what_waits_is_asked_in_batches_in_order() -> None:
    model = VisionDouble(lambda request: request.text)
    model.gate.clear()
    worker = VisionWorker(model, rate_hz=1e6, timeout_s=5.0)
    got, answered = collect()
    for number in range(20):
        worker.ask(VisionRequest("", str(number), ()), answered)
    model.gate.set()
    assert worker.finish(100.0)
    assert got == [str(number) for number in range(20)]
    assert sum(len(batch) for batch in model.batches) == 20 and max(map(len, model.batches)) == BATCH
    assert worker.counts == {"asked": 20, "answered": 20}
    assert worker.close()


def test_asking_never_waits_and_the_oldest_are_given_up() -> None:
    model = VisionDouble("yes")
    model.gate.clear()
    worker = VisionWorker(model, 1e6, 5.0, capacity=3)
    got, answered = collect()
    worker.ask(REQUEST, answered)
    while not model.batches:
        time.sleep(0.005)
    for _ in range(5):
        worker.ask(REQUEST, answered)
    assert len(got) == 2 and all(isinstance(g, NotReady) for g in got)
    assert worker.waiting == 4 and worker.counts["dropped"] == 2
    model.gate.set()
    assert worker.finish(100.0) and got[2:] == ["yes"] * 4
    worker.close()
    worker.ask(REQUEST, answered)
    assert isinstance(got[-1], NotReady)


def test_the_rate_holds_over_batches() -> None:
    model = VisionDouble("yes")
    worker = VisionWorker(model, rate_hz=50.0, timeout_s=5.0)
    got, answered = collect()
    start = time.monotonic()
    for _ in range(3 * BATCH):
        worker.ask(REQUEST, answered)
    assert worker.finish(100.0)
    assert time.monotonic() - start >= (3 * BATCH - 2 * BATCH) / 50.0  # the last batch pays afterwards
    assert len(got) == 3 * BATCH
    worker.close()


def test_a_model_that_fails_is_left_in_peace_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision_worker, "REST_S", (1000.0, 0.05))
    failing = True

    def say(_: VisionRequest) -> str | R4Error:
        return ModelError("down") if failing else "yes"

    model = VisionDouble(say)
    worker = VisionWorker(model, 1e6, 5.0)
    got, answered = collect()
    worker.ask(REQUEST, answered)
    while not got:
        time.sleep(0.005)
    worker.ask(REQUEST, answered)
    assert not worker.finish(100.0)  # it fails, so what waits is left waiting
    assert worker.trouble == "down" and worker.counts["failed.ModelError"] >= 1
    with worker._changed:  # the rest is over
        worker._not_before = 0.0
        worker._changed.notify_all()
    while len(got) < 2:
        time.sleep(0.005)
    failing = False
    worker.ask(REQUEST, answered)
    while got[-1] != "yes":
        time.sleep(0.005)
    assert worker.finish(100.0) and worker.trouble == ""
    worker.close()


def test_whatever_model_or_listener_raise_the_thread_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision_worker, "REST_S", (0.0,))

    def say(request: VisionRequest) -> str:
        if request.text == "crash":
            raise RuntimeError("out of memory")
        return "yes"

    def listener(reply: Any) -> None:
        got.append(reply)
        if reply == "yes" and len(got) == 2:
            raise KeyError("listener")

    got: list[Any] = []
    worker = VisionWorker(VisionDouble(say), 1e6, 5.0)
    for number, text in enumerate(("crash", "?", "?"), start=1):
        worker.ask(VisionRequest("", text, ()), listener)
        while len(got) < number:
            time.sleep(0.005)
    assert isinstance(got[0], R4Error) and "out of memory" in str(got[0]) and got[1:] == ["yes", "yes"]
    assert worker.counts["failed.KeyError"] == 1
    assert worker.close()


def test_close_gives_up_what_waits_and_doesn_t_hang() -> None:
    model = VisionDouble("yes")
    model.gate.clear()
    worker = VisionWorker(model, 1e6, timeout_s=0.1)
    got, answered = collect()
    worker.ask(REQUEST, answered)
    while not model.batches:
        time.sleep(0.005)
    worker.ask(REQUEST, answered)
    worker._timeout_s = -0.9
    assert not worker.close()  # the model is still at work
    assert [type(g) for g in got] == [NotReady]
    model.gate.set()
    for thread in threading.enumerate():
        if thread.name == "r4-vision":
            thread.join(100.0)
