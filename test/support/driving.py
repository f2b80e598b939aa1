"""A robot's process that stores frames and keeps in step with a map server until it is killed.

``python driving.py DB URL ACKS NAME``: the id of each observation is appended to ACKS after its commit.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S, Box, Frame, Observation, Pose, View, observation_id
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

KINDS = ("mug", "chair", "plate", "lamp", "book")


def frame(name: str, number: int) -> Frame:
    """The robot goes round and round among five things."""
    angle = 0.1 * number
    sensor = Pose((0.3 * np.cos(angle), 0.3 * np.sin(angle), 1.0))
    seen = tuple(
        Observation(k, label, Box(Pose((1.03 * k - sensor.position[0], 2.0, 0.5)), (0.2, 0.2, 0.2)), confidence=0.9)
        for k, label in enumerate(KINDS)
        if (number + k) % 3
    )
    view = View(1.2, 0.9, 0.1, 10.0, np.full((6, 8), 4.0, np.float32))
    where = (f"map of {name}", "map", "camera", sensor, view)
    return Frame(name, "front", "w", number, 0, number * NS_PER_S // 2, *where, sensor, observations=seen)


def keep_in_step(library: Library, url: str) -> None:
    """For ever."""
    sync = Synchronizer(lambda: library, SyncConfig(url))
    while True:
        if not sync.step():
            sync.wait(0.05)


def main(db: str, url: str, acks: str, name: str) -> None:
    """Go on where it stopped."""
    with open_library(db, MemoryConfig(writer_silence_s=0.0)) as library, Path(acks).open("a") as log:
        threading.Thread(target=keep_in_step, args=(library, url), daemon=True).start()
        number = library.newest_stamp(name) // (NS_PER_S // 2)
        while True:
            number += 1
            one = frame(name, number)
            library.ingest(one)
            ids = (observation_id(name, 0, one.camera, one.stamp_ns, o.index) for o in one.observations)
            log.write("".join(f"{i}\n" for i in ids))
            log.flush()
            time.sleep(0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])
