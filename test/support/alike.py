"""Comparison of what may differ in the last digits of its numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

TOLERANCE = 1e-6  # metres of boxes that came through float32


def assert_alike(found: Any, expected: Any, where: str = "") -> None:
    """Equal records, lists and dictionaries, with numbers that differ by a millionth at most."""
    if dataclasses.is_dataclass(expected):
        assert type(found) is type(expected), where
        for item in dataclasses.fields(expected):
            assert_alike(getattr(found, item.name), getattr(expected, item.name), f"{where}.{item.name}")
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_alike(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), f"{where}: {len(found)} and not {len(expected)}"
        for index, value in enumerate(expected):
            assert_alike(found[index], value, f"{where}[{index}]")
    elif isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE, err_msg=where)
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE), f"{where}: {found} not {expected}"
    else:
        assert found == expected, where
