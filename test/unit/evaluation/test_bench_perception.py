"""``r4 bench perception`` on a few frames: what it prints, and that its segmenters do what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import bench
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage, Segment
from r4_ros.evaluation.bench_perception import CPU, Ellipses, Timed


def image(width: int, height: int) -> RgbdImage:
    depth = np.ones((height, width), np.float32)
    return RgbdImage(np.zeros((height, width, 3), np.uint8), depth, Intrinsics(width, height, 50, 50, 32, 24))


@pytest.mark.parametrize(("count", "size"), [(30, (640, 480)), (1, (64, 48)), (7, (100, 33))])
def test_so_many_masks_that_don_t_overlap(count: int, size: tuple[int, int]) -> None:
    found = Ellipses(count).segment(image(*size))
    covered = np.zeros((size[1], size[0]), int)
    for s in found:
        height, width = s.mask.shape
        covered[s.top : s.top + height, s.left : s.left + width] += s.mask
    assert len(found) == count and covered.max() == 1 and covered.mean() > 0.3
    assert len({s.label for s in found}) == count


def test_the_time_of_the_segmenter_is_taken_apart() -> None:
    class Slow(Ellipses):
        def segment(self, image: RgbdImage) -> list[Segment]:
            sum(range(200_000))
            return super().segment(image)

    timed = Timed(Slow(3))
    assert len(timed.segment(image(64, 48))) == 3
    assert timed.watch.cpu_s > 0 and timed.watch.cpu_s <= timed.watch.wall_s * 1.5


def test_json_has_every_stage() -> None:
    app = typer.Typer()
    bench.register(app)
    ran = CliRunner().invoke(app, ["bench", "perception", "--frames", "5", "--json"])
    assert ran.exit_code == 0
    [run] = json.loads(ran.stdout)["runs"]
    assert run["source"] == "apartment" and run["frames"] == 5 and run["size"] == [640, 480]
    stages = {"match", "decode", "register", "segment", "lift", "visibility", CPU}
    assert stages <= set(run["stages_ms"]) <= {*stages, "picture", "ask", "publish"}
    assert all(run["stages_ms"][name]["min"] > 0 for name in stages)
    assert all(t["min"] <= t["p50"] <= t["p99"] for t in run["stages_ms"].values())
    assert run["masks"]["most"] > 0 and run["memory_mb"]["peak"] > 50
