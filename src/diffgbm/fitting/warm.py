"""Compile everything before it is needed."""

from __future__ import annotations

from diffgbm import engine
from diffgbm.first_stage import leaf_forest


def warmup(joint: bool = True) -> None:
    """Compile all kernels: 10 to 20 seconds the first time on a machine, little once the machine code is cached.

    Parameters
    ----------
    joint : bool
        Whether to compile those for several responses as well, which is 40% of the work.
    """
    engine.warmup(joint)
    leaf_forest.warmup()
