"""A hash of 64-bit numbers: the mixing steps of splitmix64.

References
----------
Steele, G. L., Lea, D. and Flood, C. H. (2014). Fast splittable pseudorandom number generators. OOPSLA.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Integers

Bits = NDArray[np.uint64]

STEP = np.uint64(0x9E3779B97F4A7C15)
"""The odd number next to 2^64 divided by the golden ratio."""


def mixed_bits(z: Bits | np.uint64) -> Bits:
    """Mix the bits of each number, one to one, so that numbers which differ a little become unlike."""
    z = np.asarray(z, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def position_bits(positions: Integers, key: int) -> Bits:
    """Return 64 bits for each row position (n,), by a hash of it and a key."""
    with np.errstate(over="ignore"):
        return mixed_bits((positions.astype(np.uint64) + np.uint64(1)) * STEP + mixed_bits(np.uint64(key)))
