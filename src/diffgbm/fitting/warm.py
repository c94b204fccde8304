"""Compile everything before it is needed."""

from __future__ import annotations

from diffgbm import engine
from diffgbm.first_stage import leaf_forest


def warmup() -> None:
    """Compile all kernels: some seconds the first time on a machine, little once the machine code is cached."""
    engine.warmup()
    leaf_forest.warmup()
