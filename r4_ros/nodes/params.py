"""ROS parameters from the config dataclasses: declared once, validated together, applied together."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from r4_ros.core.config import Value, build, default_of, param_fields
from r4_ros.core.errors import InvalidArgument

ConfigT = TypeVar("ConfigT")
INTEGER_LIMIT = 2**63 - 1


class Parameters(Generic[ConfigT]):
    """The parameters of one node. ``current`` is always a whole, valid config.

    Raises InvalidArgument, naming every wrong value, if those given at the start don't fit together.
    """

    def __init__(self, node: Node, config: type[ConfigT], on_change: Callable[[ConfigT], None] | None = None) -> None:
        self._config = config
        self._on_change = on_change
        self._names = [f.name for f in param_fields(config)]
        for f in param_fields(config):  # without ranges: rclpy would stop at the first value that is wrong
            node.declare_parameter(f.name, default_of(f), ParameterDescriptor(dynamic_typing=True))
        given = {name: node.get_parameter(name) for name in self._names}
        self.current = build(config, {name: value_of(p) for name, p in given.items() if _is_set(p)})
        for f in param_fields(config):
            node.set_descriptor(f.name, descriptor(f))
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def _check(self, changes: Sequence[Parameter]) -> SetParametersResult:
        """Refuse a set of changes as a whole, before anything is applied."""
        try:
            self._with(changes)
        except InvalidArgument as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, changes: Sequence[Parameter]) -> None:
        config = self._with(changes)
        if config != self.current:
            self.current = config
            if self._on_change is not None:
                self._on_change(config)

    def _with(self, changes: Sequence[Parameter]) -> ConfigT:
        values: dict[str, Value] = {name: getattr(self.current, name) for name in self._names}
        values.update({p.name: value_of(p) for p in changes if p.name in values})
        return build(self._config, values)


def value_of(parameter: Parameter) -> Value:
    """The value in plain Python; arrays become lists."""
    value = parameter.value
    plain: Value = value if isinstance(value, (bool, int, float, str)) else list(value or [])
    return plain


def _is_set(parameter: Parameter) -> bool:
    return bool(parameter.type_ != Parameter.Type.NOT_SET)  # `agents: []` in a YAML file has no type


def descriptor(f: Field[Any]) -> ParameterDescriptor:
    """Description, range and mutability of a config field.

    The type is left open so that an integer is taken for a float; ``build`` checks it.
    """
    meta = f.metadata
    text = meta["doc"] + (f" [{meta['unit']}]" if meta["unit"] else "")
    if meta["choices"]:
        text += "; one of " + ", ".join(meta["choices"])
    made = ParameterDescriptor(name=f.name, description=text, read_only=not meta["live"], dynamic_typing=True)
    default = default_of(f)
    if isinstance(default, float) and (math.isfinite(meta["low"]) or math.isfinite(meta["high"])):
        made.floating_point_range = [FloatingPointRange(from_value=float(meta["low"]), to_value=float(meta["high"]))]
    elif isinstance(default, int) and not isinstance(default, bool) and math.isfinite(meta["low"]):
        high = INTEGER_LIMIT if math.isinf(meta["high"]) else int(meta["high"])
        made.integer_range = [IntegerRange(from_value=int(meta["low"]), to_value=high, step=1)]
    return made


def agent_id_of(config: object, namespace: str) -> str:
    """Whose memory this is: the parameter, else the namespace without slashes at its ends, else the host's name."""
    given = getattr(config, "agent_id", "") if any(f.name == "agent_id" for f in fields(config)) else ""  # type: ignore[arg-type]
    return str(given or namespace.strip("/") or socket.gethostname())
