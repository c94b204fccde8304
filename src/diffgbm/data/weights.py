"""Sample weights: one number for each row. Rows of weight 0 are left out of training."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from diffgbm._util.types import Array

SMALLEST, LARGEST = 1e-30, 1e30
"""LightGBM keeps weights, and their products with errors, as float32."""


def read_weights(sample_weight: Any, matrix: Array) -> Array:
    """Read one weight for each row of ``matrix`` (n, p): shape (n,), at least 0."""
    try:
        weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
    except (TypeError, ValueError, OverflowError) as error:
        if "weight" in str(error):
            raise
        raise TypeError(f"sample_weight must hold one number for each row. ({error})") from None
    extreme = (weights > 0.0) & ((weights < SMALLEST) | (weights > LARGEST))
    if extreme.any():
        row = int(np.argmax(extreme))
        raise ValueError(
            f"sample_weight must be 0 or lie between {SMALLEST:g} and {LARGEST:g}; got {weights[row]:g} in row {row}. "
            "Divide all weights by their mean."
        )
    return np.asarray(weights)
