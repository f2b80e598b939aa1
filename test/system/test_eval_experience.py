"""Whether experience helps, on a tiny stream: the command runs, and its figures hold together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from r4_ros.cli.main import app, load_commands

pytestmark = pytest.mark.system


MODES = ("none", "experience", "lifecycle", "random", "noisy")


def test_a_tiny_stream_in_some_modes(tmp_path: Path) -> None:
    load_commands()
    command = ["eval", "experience", "--seeds", "1", "--day-tasks", "12", "--duration", "150", "--embedder", "none"]
    command += ["--first", "3", "--modes", ",".join(MODES)]
    result = CliRunner().invoke(app, [*command, "--cache", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found["modes"]) == set(MODES) and 30 <= found["tasks"] <= 48
    for figures in found["modes"].values():
        assert 0 <= figures["accuracy_second_half"] <= 1 and len(figures["accuracy_by_quarter"]) == 4
        assert figures["ci95"][0] <= figures["accuracy_second_half"] <= figures["ci95"][1]
    assert found["modes"]["none"]["bank"] == 0 < found["modes"]["experience"]["bank"]
    assert found["modes"]["lifecycle"]["bank"] <= found["modes"]["experience"]["bank"]


def test_an_unknown_mode_is_refused() -> None:
    load_commands()
    assert CliRunner().invoke(app, ["eval", "experience", "--modes", "magic"]).exit_code != 0
