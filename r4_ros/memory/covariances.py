"""Covariances of places, many at once: as they are held, and kept to what can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from r4_ros.core.model import FloatArray, Matrix3

_UNKNOWN = np.eye(3) * 0.05**2
_LEAST_VARIANCE = 0.01**2


def squares(covariances: Sequence[Matrix3]) -> FloatArray:
    """As matrices [n, 3, 3]."""
    return np.array(covariances, float).reshape(-1, 3, 3)


def transposed(matrices: FloatArray) -> FloatArray:
    """Each of matrices [n, 3, 3]."""
    return np.swapaxes(matrices, 1, 2)


def singles(covariances: FloatArray) -> list[Matrix3]:
    """Symmetric, with the numbers rounded to what float32 can say, as ``single`` does."""
    symmetric = ((covariances + transposed(covariances)) / 2).astype(np.float32).reshape(-1, 9)
    return cast(list[Matrix3], list(map(tuple, symmetric.tolist())))


def possible(covariances: FloatArray) -> FloatArray:
    """Symmetric, and no variance below a square centimetre: a place is never known better."""
    symmetric = (covariances + transposed(covariances)) / 2
    variances = np.einsum("nii->ni", symmetric)  # a view
    np.maximum(variances, _LEAST_VARIANCE, out=variances)
    return np.asarray(symmetric)


def usable(covariances: FloatArray) -> FloatArray:
    """Possible ones; where nothing is given, that of an unknown place."""
    given = covariances.any(axis=(1, 2), keepdims=True)
    return possible(np.where(given, covariances, _UNKNOWN))
