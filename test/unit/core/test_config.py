"""Parameters: every default is valid, every documented limit is enforced, all problems are named at once."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import (
    ExperienceConfig,
    MemoryConfig,
    PerceptionConfig,
    ReasonerConfig,
    build,
    default_of,
    param_fields,
)
from r4_ros.core.errors import InvalidArgument

CONFIGS = [PerceptionConfig, MemoryConfig, ReasonerConfig, ExperienceConfig]
FIELDS = [(config, f) for config in CONFIGS for f in param_fields(config)]
NUMBERS = [(c, f) for c, f in FIELDS if type(default_of(f)) in (int, float)]


@pytest.mark.parametrize("config", CONFIGS)
def test_the_defaults_are_valid_and_what_the_class_itself_gives(config: type) -> None:
    assert build(config, {}) == config()
    assert build(config, {f.name: default_of(f) for f in param_fields(config)}) == config()


@pytest.mark.parametrize(("config", "field"), FIELDS, ids=lambda p: getattr(p, "__name__", getattr(p, "name", "")))
def test_every_parameter_is_described_and_refuses_another_type(config: type, field: object) -> None:
    assert field.metadata["doc"]
    wrong = 1 if isinstance(default_of(field), str) else "text"
    with pytest.raises(InvalidArgument, match=f"{field.name} = .*must be a"):
        build(config, {field.name: wrong})


@pytest.mark.parametrize(("config", "field"), NUMBERS, ids=lambda p: getattr(p, "__name__", getattr(p, "name", "")))
def test_every_number_refuses_what_is_out_of_its_range(config: type, field: object) -> None:
    kind = type(default_of(field))
    outside = [field.metadata["low"] - 1, field.metadata["high"] + 1]
    tried = [kind(v) for v in outside if math.isfinite(v)] + ([math.nan, math.inf] if kind is float else [])
    assert tried
    for value in tried:
        with pytest.raises(InvalidArgument, match=field.name):
            build(config, {field.name: value})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(0, 1), st.integers(1, 100))
def test_what_is_in_range_is_taken(confidence: float, queue_size: int) -> None:
    made = build(PerceptionConfig, {"detector_confidence": confidence, "queue_size": queue_size})
    assert (made.detector_confidence, made.queue_size) == (confidence, queue_size)


def test_an_integer_is_taken_for_a_float_but_no_bool_and_no_float_for_an_integer() -> None:
    made = build(MemoryConfig, {"epsilon_max_m": 2})
    assert type(made.epsilon_max_m) is float
    for name, value in [("epsilon_max_m", True), ("absent_frames", 3.0), ("absent_frames", True), ("autostart", 1)]:
        with pytest.raises(InvalidArgument, match=name):
            build(MemoryConfig, {name: value})


def test_all_problems_are_named_together() -> None:
    values = {"durability": "maybe", "absent_frames": 0, "colour": "red", "label_similarity": 2.0}
    with pytest.raises(InvalidArgument) as caught:
        build(MemoryConfig, values)
    text = str(caught.value)
    assert all(name in text for name in values)
    assert "normal, full" in text
    assert "at least 1" in text
    assert "from -1 to 1" in text


def test_limits_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="min_depth_m = 4 must not exceed max_depth_m = 3"):
        build(PerceptionConfig, {"min_depth_m": 4.0, "max_depth_m": 3.0})
    with pytest.raises(InvalidArgument, match="epsilon_min_m"):
        build(MemoryConfig, {"epsilon_min_m": 1.5})


def test_lists_hold_strings_and_are_nobody_elses() -> None:
    agents = ["/a", "/b"]
    made = build(MemoryConfig, {"agents": agents})
    agents.append("/c")
    assert made.agents == ["/a", "/b"]
    assert build(MemoryConfig, {}).agents is not build(MemoryConfig, {}).agents
    with pytest.raises(InvalidArgument, match="list of strings"):
        build(MemoryConfig, {"agents": ["/a", 7]})


def test_true_and_false_are_words_where_these_are_choices() -> None:
    assert build(PerceptionConfig, {"optical": True}).optical == "true"
    with pytest.raises(InvalidArgument, match="depth_source"):
        build(PerceptionConfig, {"depth_source": True})
