"""The constructor that ``quick`` gives is that of ``dataclass``: same signature, same fields, just as frozen."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from r4_ros.core.quick import quick


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: tuple[float, ...] = (1.0,)
    note: str = field(default="", compare=False)


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    size: tuple[float, ...] = (1.0,)
    note: str = field(default="", compare=False)


def test_it_takes_the_same_arguments() -> None:
    theirs, ours = (inspect.signature(c).parameters.values() for c in (Plain, Quick))
    assert [(p.name, p.kind, p.default) for p in theirs] == [(p.name, p.kind, p.default) for p in ours]
    for arguments in ({}, {"name": "a", "other": 1}):
        for c in (Plain, Quick):
            with pytest.raises(TypeError):
                c(**arguments)


def test_it_fills_the_same_fields() -> None:
    for made in (Quick("a"), Quick(name="a"), Quick("a", (1.0,), "")):
        assert (made.name, made.size, made.note) == ("a", (1.0,), "")
        assert repr(made) == repr(Plain("a")).replace("Plain", "Quick")
    assert replace(Quick("a"), size=(2.0,)) == Quick("a", (2.0,), note="not compared") != Quick("a")
    assert hash(Quick("a")) == hash(Quick("a", note="other"))


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick("a").name = "b"  # type: ignore[misc]


def test_what_it_cannot_make_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Listed:
        names: list[str] = field(default_factory=list)

    with pytest.raises(AssertionError):
        quick(Listed)
