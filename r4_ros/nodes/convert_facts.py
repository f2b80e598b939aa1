"""Messages to facts and back."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point

from r4_ros import msg
from r4_ros.core.model import NS_PER_S, Fact, FactKind
from r4_ros.nodes.convert import enum_from_msg, point_from_msg, point_to_msg, time_from_msg, time_to_msg


def fact_to_msg(fact: Fact) -> msg.Fact:
    """A fact; no time of day is -1."""
    return msg.Fact(
        fact_id=fact.fact_id,
        kind=int(fact.kind),
        label=fact.label,
        entry_ids=list(fact.entry_ids),
        object=fact.object,
        object_ids=list(fact.object_ids),
        region=fact.region,
        map_id=fact.map_id,
        has_place=fact.place is not None,
        place=Point() if fact.place is None else point_to_msg(fact.place),
        weekdays=list(fact.weekdays),
        day_from=-1.0 if fact.day_from_s is None else float(fact.day_from_s),
        day_to=-1.0 if fact.day_to_s is None else float(fact.day_to_s),
        weight=float(fact.weight),
        count=fact.count,
        total=fact.total,
        time_there=Duration(sec=fact.time_ns // NS_PER_S, nanosec=fact.time_ns % NS_PER_S),
        first=time_to_msg(fact.first_ns),
        last=time_to_msg(fact.last_ns),
        sources=list(fact.sources),
        agents=list(fact.agents),
    )


def fact_from_msg(fact: Any) -> Fact:
    """Raises InvalidArgument for an unknown kind."""
    return Fact(
        fact_id=fact.fact_id,
        kind=enum_from_msg(FactKind, fact.kind, "kind"),
        label=fact.label,
        entry_ids=tuple(fact.entry_ids),
        object=fact.object,
        object_ids=tuple(fact.object_ids),
        region=fact.region,
        map_id=fact.map_id,
        place=point_from_msg(fact.place) if fact.has_place else None,
        weekdays=tuple(int(day) for day in fact.weekdays),
        day_from_s=None if fact.day_from < 0 else fact.day_from,
        day_to_s=None if fact.day_to < 0 else fact.day_to,
        weight=fact.weight,
        count=fact.count,
        total=fact.total,
        time_ns=fact.time_there.sec * NS_PER_S + fact.time_there.nanosec,
        first_ns=time_from_msg(fact.first),
        last_ns=time_from_msg(fact.last),
        sources=tuple(fact.sources),
        agents=tuple(fact.agents),
    )
