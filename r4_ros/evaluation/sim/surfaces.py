"""What things stand on in the apartment, measured by hand from its plan: the placement scripts' own knowledge."""

from __future__ import annotations

from dataclasses import dataclass

from r4_ros.core.model import Box

CONTACT_M = 0.03


@dataclass(frozen=True)
class Surface:
    """A level top: ``x0, y0, x1, y1`` in the map, metres, at height ``z``.

    ``free``: scripts may put things here. ``listed``: all that stands on it does so plainly, so it can be asked for.
    """

    name: str
    thing: str
    room: str
    x0: float
    y0: float
    x1: float
    y1: float
    z: float
    free: bool = True
    listed: bool = True

    def holds(self, box: Box) -> bool:
        """Whether a box stands on it: its underside at the top, its centre over it."""
        x, y, z = box.pose.position
        level = abs(z - box.extent[2] / 2 - self.z) <= CONTACT_M
        return level and self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1


SURFACES = (
    Surface("coffee table", "coffee table", "living room", 1.35, 1.80, 2.45, 2.40, 0.432),
    Surface("tv stand", "tv stand", "living room", 1.05, 0.07, 2.75, 0.49, 0.45, free=False),
    Surface("side table", "side table", "living room", 3.05, 3.25, 3.55, 3.75, 0.52, free=False),
    Surface("kitchen table", "kitchen table", "kitchen", 7.50, 2.40, 9.00, 3.30, 0.74),
    Surface("kitchen counter", "kitchen counter", "kitchen", 8.45, 0.20, 9.60, 0.60, 0.90, listed=False),
    Surface("sideboard", "sideboard", "kitchen", 6.09, 3.45, 6.51, 4.65, 0.85),
    Surface("console table", "console table", "hallway", 2.10, 5.08, 3.10, 5.40, 0.80),
    Surface("bench", "bench", "hallway", 6.35, 5.08, 7.45, 5.46, 0.45),
    Surface("dresser", "dresser", "bedroom", 3.84, 7.20, 4.32, 8.30, 0.85),
    Surface("bed", "bed", "bedroom", 0.75, 8.40, 2.05, 9.60, 0.54, listed=False),
    Surface("desk", "desk", "study", 9.61, 8.25, 10.33, 9.95, 0.74),
    Surface("low shelf", "low shelf", "study", 9.98, 6.90, 10.32, 8.10, 0.78, listed=False),
)


def surface_under(box: Box) -> Surface | None:
    """The surface that a box stands on; None: the floor, a wall, or a place that isn't listed here."""
    return next((s for s in SURFACES if s.holds(box)), None)
