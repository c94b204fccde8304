"""Compile everything before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffgbm import engine
from diffgbm._util.errors import warn
from diffgbm.engine import prepared
from diffgbm.first_stage import gaussian_process, leaf_forest
from diffgbm.fitting.model import FittedModel


def warmup(joint: bool = True) -> None:
    """Compile all kernels: 10 to 20 seconds the first time on a machine, little once the machine code is cached.

    Parameters
    ----------
    joint : bool
        Whether to compile those for several responses as well, which is 40% of the work.
    """
    engine.warmup(joint)
    leaf_forest.warmup()
    gaussian_process.warmup()


def warm_up(models: Sequence[FittedModel], predict: Callable[[], object]) -> None:
    """Call ``predict``, which prepares the forests of ``models``; warn if they do not fit into the memory for them."""
    predict()
    before = times_prepared(models)
    predict()
    if times_prepared(models) > before:
        warn(
            f"warm_up: the prepared forests of this model take more than the {prepared.ledger.limit >> 20} MB that a "
            "process keeps, so that each prediction prepares them again. Set the environment variable "
            f"{prepared.LIMIT_NAME} to more megabytes before Python starts.",
        )


def times_prepared(models: Sequence[FittedModel]) -> int:
    """Return how often the forests of models were prepared for a sampler; LightGBM's own ``predict`` prepares none."""
    engines = [model.engine for model in models]
    return sum(each.prepared.made for each in engines if isinstance(each, engine.CollapseEngine))
