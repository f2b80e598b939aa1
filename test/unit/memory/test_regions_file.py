from __future__ import annotations

from pathlib import Path

import pytest

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Region
from r4_ros.memory.regions import load_regions

SQUARE = "[[0, 0], [2, 0], [2, 2], [0, 2]]"


def test_regions_with_and_without_limits(tmp_path: Path) -> None:
    file = tmp_path / "regions.yaml"
    file.write_text(
        f"regions:\n- {{name: kitchen, polygon: {SQUARE}}}\n"
        f"- {{name: shelf, polygon: {SQUARE}, z_min: 1, z_max: 1.5, map_id: home}}\n"
    )
    corners = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))
    assert load_regions(file) == [Region("kitchen", corners), Region("shelf", corners, 1.0, 1.5, "home")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rooms: []", "must be 'regions:'"),
        ("regions: [{polygon: [[0, 0]]}]", "name"),
        ("regions: [{name: a, polygon: [1, 2]}]", "polygon"),
        ("regions: [{name: a, polygon: [], colour: red}]", "unknown field 'colour'"),
        ("regions: [", "regions file"),
        ("just text", "must be 'regions:'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "regions.yaml"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match=why):
        load_regions(file)


def test_an_absent_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="nowhere"):
        load_regions(tmp_path / "nowhere.yaml")
