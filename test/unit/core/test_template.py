"""Descriptions that need no model."""

from __future__ import annotations

import pytest

from r4_ros.core.template import size_word, template_description


@pytest.mark.parametrize(
    ("label", "attributes", "extent", "text"),
    [
        ("mug", (("color", "red"),), (0.08, 0.08, 0.1), "A small red mug."),
        ("wine glass", (), (0.05, 0.05, 0.2), "A small wine glass."),
        ("ring", (("color", ""),), (0.02, 0.02, 0.01), "A tiny ring."),
        ("dining  table\n", (("color", "brown"), ("open", "no")), (1.5, 0.9, 0.75), "A large brown dining table."),
        ("sofa", (("color", "gray"),), (2.1, 0.9, 0.8), "A very large gray sofa."),
        ("chair", (), (0.5, 0.5, 0.79), "A medium-sized chair."),
        (" ", (("color", "red"),), (1.0, 1.0, 1.0), ""),
    ],
)
def test_label_colour_and_size_are_told_and_nothing_else(
    label: str, attributes: tuple[tuple[str, str], ...], extent: tuple[float, float, float], text: str
) -> None:
    assert template_description(label, attributes, extent) == text


def test_sizes_grow() -> None:
    words = [size_word((size, 0.0, 0.0)) for size in (0.01, 0.1, 0.5, 1.0, 5.0)]
    assert words == ["tiny", "small", "medium-sized", "large", "very large"]
