"""Compile everything before it is needed."""

from __future__ import annotations

import numpy as np

from diffgbm import engine


def warmup() -> None:
    """Compile all kernels: some seconds the first time on a machine, little once the machine code is kept."""
    from diffgbm.first_stage._leaf_kernels import average_leaves

    engine.warmup()
    # one tree of one leaf
    one, single = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.float32)
    leaves, rows = np.zeros((1, 1), dtype=np.float32), np.zeros((1, 1), dtype=np.float32)
    average_leaves(one, one - np.int32(1), single, one, one, leaves, rows, np.empty((1, 1)))
