"""Requests of ``srv/CorrectEntry`` as records."""

from __future__ import annotations

from typing import Any

from r4_ros.core.model import CorrectionKind, EntryCorrection
from r4_ros.nodes.convert import enum_from_msg, point_from_msg, time_from_msg


def correction_from_request(request: Any) -> EntryCorrection:
    """Raises InvalidArgument for an unknown action."""
    return EntryCorrection(
        kind=enum_from_msg(CorrectionKind, request.action, "action"),
        entry_id=request.entry_id,
        label=request.label,
        other_id=request.other_id,
        at_ns=time_from_msg(request.at),
        position=point_from_msg(request.position) if request.has_position else None,
        correction_id=request.correction_id,
        source=request.source,
    )
