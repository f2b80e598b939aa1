"""The quality of service of every topic, by name: see docs/nodes.md."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(depth: int, reliable: bool, transient_local: bool = False) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if transient_local else DurabilityPolicy.VOLATILE,
    )


SENSOR = _profile(10, reliable=False)
"""Images and odometry: best effort, so that both kinds of publisher match."""
CAMERA_INFO = _profile(10, reliable=False)
TF = _profile(100, reliable=True)
TF_STATIC = _profile(100, reliable=True, transient_local=True)
OBSERVATIONS = _profile(200, reliable=True, transient_local=True)
"""Frame records: a memory node that comes back receives the last 200."""
EVENTS = _profile(200, reliable=True)
"""Acks, deltas, events and answers: every one counts, none is kept for late subscribers."""
LATCHED = _profile(1, reliable=True, transient_local=True)
"""State: a late subscriber gets the newest."""
STREAM = _profile(50, reliable=True)
"""Publishers of recordings: reliable, which best-effort subscribers accept."""
LATCHED_STREAM = _profile(100, reliable=True, transient_local=True)
