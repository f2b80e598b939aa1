"""Whatever sightings are merged, a thing keeps a size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.memory.stays import Views, _shrunk

sizes = st.floats(0.01, 2.0)


@given(sizes, sizes, st.floats(-3.0, 3.0), st.floats(0.0, 1.0))
def test_ends_that_move_inwards_never_cross(known: float, seen: float, offset: float, share: float) -> None:
    """Keys 2 cm high, seen 3 cm above their place, had a height of -1 cm, and their frame was refused."""
    low, high = np.full((1, 3), -known / 2), np.full((1, 3), known / 2)
    views = Views(np.full((1, 3), offset), np.full((1, 3), seen), np.eye(3)[None] * 1e-4)
    below, above = _shrunk(low, high, views, np.full((1, 3), share))
    assert (above - below >= min(known, seen) - 1e-9).all()
