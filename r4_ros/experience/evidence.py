"""What runs have shown about two queries: how likely it is that one does better than the other."""

from __future__ import annotations

import numpy as np

from r4_ros.core.lessons import Lesson, own_rank

SURE = 0.99
"""A run departs from its own order only where something else does better with at least this probability.

It is looked at again after each batch, so 0.95 would be passed by chance too often.
"""
GRID = (np.arange(400) + 0.5) / 400


def departs(success: Lesson, failure: Lesson) -> bool:
    """Whether two lessons of one core situation together say another thing than runs do there by themselves.

    They do where a run by itself puts what is warned of before what is preferred, or wouldn't care.
    """
    when = success.when_to_use
    prefer, avoid = success.correction.prefer, failure.correction.avoid
    if not prefer or not avoid or set(prefer) == set(avoid) or when.core != failure.when_to_use.core:
        return False
    facets = [f for f in when.facets if f in when.core[1]]
    return own_rank(prefer, when.anomaly, facets) >= own_rank(avoid, when.anomaly, facets)


def is_sure(success: Lesson, failure: Lesson) -> bool:
    """Whether what is preferred ends right more often than what is warned of, beyond doubt by chance.

    The lesson of what failed counts the other way round: it helped where what it warns of ended wrong.
    """
    return surpasses((success.helped, success.hurt), (failure.hurt, failure.helped)) >= SURE


def surpasses(better: tuple[float, float], worse: tuple[float, float]) -> float:
    """The probability, 0..1, that runs of one kind end right more often than those of another.

    Each is counted as (right, wrong). The shares are Beta distributed, each alike before anything is counted; the
    probability is their integral over the grid.
    """
    high, low = (_density(*counted) for counted in (better, worse))
    return float(np.sum(high * (np.cumsum(low) - low / 2)))


def _density(right: float, wrong: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    logs = right * np.log(GRID) + wrong * np.log1p(-GRID)
    density = np.exp(logs - logs.max())
    return np.asarray(density / density.sum(), np.float64)
