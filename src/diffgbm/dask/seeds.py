"""Seeds of partitions."""

from __future__ import annotations

import numpy as np


def child_seed(seed: np.random.SeedSequence, i: int) -> np.random.SeedSequence:
    """Return the ``i``-th child of a seed, without making the others."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i))
