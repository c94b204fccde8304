"""Types of arrays, defined once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Real numbers."""

Rows = NDArray[np.intp]
"""Positions of rows in a table."""

Integers = NDArray[np.int64]
"""Integers, 64 bits."""

SmallIntegers = NDArray[np.int32]
"""Integers, 32 bits."""

Booleans = NDArray[np.bool_]
"""Truth values."""
