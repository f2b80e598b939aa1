from __future__ import annotations

import threading

from r4_ros.nodes.worker import Worker


def test_items_are_worked_on_in_order() -> None:
    done: list[int] = []
    finished = threading.Event()
    errors: list[Exception] = []

    def handle(number: int) -> None:
        done.append(number)
        if number == 99:
            finished.set()

    worker: Worker[int] = Worker("w", handle, errors.append)
    for number in range(100):
        worker.offer(number)
    assert finished.wait(30)
    assert worker.close()
    assert (done, errors) == (list(range(100)), [])


def test_a_full_queue_drops_the_oldest() -> None:
    started, go_on = threading.Event(), threading.Event()
    done: list[str] = []
    dropped: list[str] = []

    def handle(item: str) -> None:
        started.set()
        go_on.wait(30)
        done.append(item)

    worker: Worker[str] = Worker("w", handle, lambda error: None, capacity=2, on_drop=dropped.append)
    worker.offer("at work")
    assert started.wait(30)
    for item in ("a", "b", "c", "d"):
        worker.offer(item)
    assert dropped == ["a", "b"]
    assert worker.pending == 3
    closing = threading.Thread(target=worker.close)
    closing.start()
    go_on.set()
    closing.join(30)
    assert done == ["at work"]  # close finishes what is at work and drops the rest
    assert dropped == ["a", "b", "c", "d"]


def test_an_exception_is_told_and_the_next_item_done() -> None:
    errors: list[Exception] = []
    done = threading.Event()

    def handle(item: str) -> None:
        if item == "bad":
            raise ValueError(item)
        done.set()

    worker: Worker[str] = Worker("w", handle, errors.append)
    worker.offer("bad")
    worker.offer("good")
    assert done.wait(30)
    assert [str(e) for e in errors] == ["bad"]
    assert worker.close()


def test_close_says_if_the_work_goes_on() -> None:
    started, go_on = threading.Event(), threading.Event()

    def handle(_: str) -> None:
        started.set()
        go_on.wait(30)

    worker: Worker[str] = Worker("w", handle, lambda error: None)
    worker.offer("slow")
    assert started.wait(30)
    assert not worker.close(0.05)
    go_on.set()
    assert worker.close(30)


def test_after_close_items_are_dropped() -> None:
    dropped: list[str] = []
    worker: Worker[str] = Worker("w", lambda _: None, lambda error: None, on_drop=dropped.append)
    assert worker.close()
    worker.offer("late")
    assert dropped == ["late"]
