"""What a thing looks like in words that need no model: its label, its measured colour and size."""

from __future__ import annotations

from collections.abc import Iterable

from r4_ros.core.values import Vec3

DESCRIBED_BY = "described_by"
"""Attribute that says who wrote a description: a model and the version of its prompt, or TEMPLATE."""
TEMPLATE = "template"
SIZES = ((0.06, "tiny"), (0.25, "small"), (0.8, "medium-sized"), (1.6, "large"))  # largest extent below, m


def size_word(extent: Vec3) -> str:
    """How large a thing is, compared with all things, not with its kind."""
    return next((word for limit, word in SIZES if max(extent) < limit), "very large")


def template_description(label: str, attributes: Iterable[tuple[str, str]], extent: Vec3) -> str:
    """A sentence of what is measured: 'A small red mug.' What it is made of stays unsaid; empty without a label."""
    if not label.strip():
        return ""
    known = dict(attributes)
    words = " ".join(filter(None, (size_word(extent), known.get("color", ""), " ".join(label.split()))))
    return f"A {words}."
