"""``r4 bench perception``: what each stage from messages to a published frame record costs."""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.bridges.apartment.simulation import SimFrame, Simulation
from r4_ros.bridges.bag import Bag
from r4_ros.core.config import MemoryConfig, PerceptionConfig
from r4_ros.core.errors import FrameRefused, InvalidArgument
from r4_ros.core.model import NS_PER_S, Frame, Intrinsics, Pose
from r4_ros.core.ports import RgbdImage, Segment, Segmenter
from r4_ros.memory.library import open_library
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream

SIZE = (640, 480)
AGENT = "robot1"
CAMERA = "camera_optical_frame"
NEAR = 500
WARM_UP = 3  # frames that fill caches and aren't counted
CPU = "decode to observations, CPU"  # on this core, without the segmenter
Message = tuple[str, Any]  # role, message
Say = Callable[[str], None]


class Stopwatch:
    """Adds up the time spent inside ``with``: of the clock, and of this thread on its core."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0
        self._start = (0.0, 0.0)

    def __enter__(self) -> None:
        self._start = time.perf_counter(), time.thread_time()

    def __exit__(self, *exception: object) -> None:
        self.wall_s += time.perf_counter() - self._start[0]
        self.cpu_s += time.thread_time() - self._start[1]


class Timed:
    """Another segmenter; ``watch`` has the time of its last image. Implements core.ports.Segmenter."""

    def __init__(self, segmenter: Segmenter) -> None:
        self.watch = Stopwatch()
        self._segmenter = segmenter

    def load(self) -> None:
        """Load it."""
        self._segmenter.load()

    def close(self) -> None:
        """Free it."""
        self._segmenter.close()

    def segment(self, image: RgbdImage) -> list[Segment]:
        """Its segments."""
        self.watch = Stopwatch()
        with self.watch:
            return self._segmenter.segment(image)


class Ellipses:
    """So many equal masks spread over the image, at no cost. Implements core.ports.Segmenter."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._made: tuple[tuple[int, ...], list[Segment]] = ((), [])

    def load(self) -> None:
        """Nothing to load."""

    def close(self) -> None:
        """Nothing to free."""

    def segment(self, image: RgbdImage) -> list[Segment]:
        """The same masks for every image of a size."""
        if self._made[0] != image.depth.shape:
            self._made = image.depth.shape, self._make(*image.depth.shape)
        return self._made[1]

    def _make(self, height: int, width: int) -> list[Segment]:
        columns = int(np.ceil(np.sqrt(self._count * width / height)))
        rows = -(-self._count // columns)
        h, w = height // rows - 4, width // columns - 4
        y, x = np.mgrid[:h, :w]
        mask = ((y - (h - 1) / 2) / (h / 2)) ** 2 + ((x - (w - 1) / 2) / (w / 2)) ** 2 <= 1
        corners = [(c * width // columns + 2, r * height // rows + 2) for r in range(rows) for c in range(columns)]
        return [Segment(f"thing {i}", 0.9, *corners[i], mask) for i in range(self._count)]


def bench_perception(
    recording: Path | None,
    detector: Callable[[], Segmenter] | None,
    frames: int,
    masks: int,
    publish: Callable[[Frame], bytes] | None,
    say: Say,
) -> dict[str, Any]:
    """Times for each stage in ms, on the simulator's labelled images and on a recording, if one is given.

    A recording is measured with ``masks`` equal masks, and with ``detector`` where there is one. ``publish`` makes the
    bytes of a frame record; None: that stage isn't measured. Raises InvalidArgument for a recording without frames.
    """
    runs: list[dict[str, Any]] = []
    say("the simulated apartment, label image")
    config = PerceptionConfig(agent_id=AGENT, segmenter="label_image", map_id="apartment")
    runs.append({"source": "apartment", "segmenter": "label_image"})
    runs[-1].update(_measured(config, _simulated(frames + WARM_UP), LabelSegmenter(), publish))
    if recording is not None:
        config = PerceptionConfig(agent_id=AGENT, map_id="recording")
        kinds: list[tuple[str, Callable[[], Segmenter]]] = [(f"{masks} masks", lambda: Ellipses(masks))]
        if detector is not None:
            kinds.append(("detector", detector))
        for name, make in kinds:
            say(f"{recording.name}, {name}")
            runs.append({"source": recording.name, "segmenter": name})
            runs[-1].update(_measured(config, _recorded(recording, config, frames + WARM_UP), make(), publish))
    return {"goal_ms": 15.0, "frames": frames, "runs": runs}


def _measured(
    config: PerceptionConfig,
    messages: Iterable[Message],
    segmenter: Segmenter,
    publish: Callable[[Frame], bytes] | None,
) -> dict[str, Any]:
    """Percentiles by stage (of the clock, but for one), masks a frame, and memory."""
    timed = Timed(segmenter)
    stream, pipeline = Stream(config), Pipeline(config, timed, None, writer="bench")
    pipeline.load()
    rows: list[dict[str, float]] = []
    counts: list[int] = []
    sizes: list[int] = []
    before = _resident_mb()
    with ExitStack() as stack:
        stack.enter_context(closing(pipeline))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="r4-bench-")))
        library = stack.enter_context(open_library(folder / "memory.db", MemoryConfig(agent_id=config.agent_id)))
        matching = Stopwatch()
        for role, message in messages:
            with matching:
                captures = stream.add(role, message)
            for capture in captures:
                entries, working = library.entries_near(config.agent_id, NEAR), Stopwatch()
                try:
                    with working:
                        frame = pipeline.process(capture, entries)
                except FrameRefused:
                    continue
                row = {"match": matching.wall_s / len(captures), **pipeline.timings_s}
                row[CPU] = matching.cpu_s / len(captures) + working.cpu_s - timed.watch.cpu_s
                if publish is not None:
                    start = time.perf_counter()
                    sizes.append(len(publish(frame)))
                    row["publish"] = time.perf_counter() - start
                library.ingest(frame)
                rows.append(row)
                counts.append(len(pipeline.segments))
            if captures:
                matching = Stopwatch()
    if len(rows) <= WARM_UP:
        why = stream.refusals.messages or "no frame was complete"
        raise InvalidArgument(f"only {len(rows)} frames came through: {why}")
    return {
        "size": _size(pipeline),
        "frames": len(rows) - WARM_UP,
        "masks": {"median": float(np.median(counts)), "most": max(counts)},
        "stages_ms": {name: _percentiles([row.get(name, 0.0) for row in rows[WARM_UP:]]) for name in rows[-1]},
        "bytes": round(float(np.median(sizes))) if sizes else None,
        "memory_mb": {"before": before, "after": _resident_mb(), "peak": _peak_mb()},
    }


def _size(pipeline: Pipeline) -> list[int]:
    assert pipeline.image is not None
    return [pipeline.image.intrinsics.width, pipeline.image.intrinsics.height]


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """min, p50 and p99 in ms."""
    values = np.percentile(seconds, (0, 50, 99)) * 1e3
    return {name: round(float(v), 3) for name, v in zip(("min", "p50", "p99"), values, strict=True)}


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * resource.getpagesize() / 2**20, 1)


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def _recorded(path: Path, config: PerceptionConfig, frames: int) -> Iterator[Message]:
    """Messages of a recording, up to so many colour images."""
    bag = Bag(path, wanted=("color", "depth", "color_info"))
    with closing(bag):
        for recorded in bag.messages(Stream(config).roles):
            frames -= recorded.role == "color"
            if frames < 0:
                return
            yield recorded.role, recorded.decode()


def _simulated(frames: int) -> Iterator[Message]:
    """What a simulated robot's drivers publish: raw colour, depth in metres and 16-bit labels."""
    simulation = Simulation(0, duration_s=frames / 2, rate_hz=2.0, size=SIZE, robots=(AGENT,), depth_noise=True)
    yield "label_info", SimpleNamespace(data=json.dumps(simulation.legend))
    for frame in simulation.frames():
        header = _header(frame.stamp_ns, CAMERA)
        yield "tf", _transform(frame)
        yield "color_info", _info(frame.intrinsics, header)
        yield "depth_info", _info(frame.intrinsics, header)
        yield "depth", _image(frame.depth, "32FC1", header)
        yield "label", _image(frame.labels.astype(np.uint16), "16UC1", header)
        yield "color", _image(frame.color, "rgb8", header)


def _header(stamp_ns: int, frame: str) -> Any:
    return SimpleNamespace(stamp=SimpleNamespace(sec=stamp_ns // NS_PER_S, nanosec=stamp_ns % NS_PER_S), frame_id=frame)


def _image(pixels: npt.NDArray[Any], encoding: str, header: Any) -> Any:
    height, width = pixels.shape[:2]
    data = np.ascontiguousarray(pixels)
    step = data.nbytes // height
    return SimpleNamespace(
        header=header, height=height, width=width, encoding=encoding, is_bigendian=0, step=step, data=data
    )


def _info(camera: Intrinsics, header: Any) -> Any:
    return SimpleNamespace(
        header=header,
        width=camera.width,
        height=camera.height,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0],
        p=[camera.fx, 0.0, camera.cx, 0.0, 0.0, camera.fy, camera.cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        binning_x=0,
        binning_y=0,
        roi=SimpleNamespace(x_offset=0, y_offset=0, width=0, height=0, do_rectify=False),
    )


def _transform(frame: SimFrame) -> Any:
    pose: Pose = frame.sensor_in_map
    (x, y, z), (qx, qy, qz, qw) = pose.position, pose.orientation
    placed = SimpleNamespace(
        header=_header(frame.stamp_ns, "map"),
        child_frame_id=CAMERA,
        transform=SimpleNamespace(
            translation=SimpleNamespace(x=x, y=y, z=z), rotation=SimpleNamespace(x=qx, y=qy, z=qz, w=qw)
        ),
    )
    return SimpleNamespace(transforms=[placed])
