"""Pruned trials: a trial whose model is bad on a part of the training rows is not fitted on all of them.

The paper's protocol has no pruning: it is an option (``--prune``). The resource is the number of training rows, because
it is the only one that all families have, and because the scores are comparable: each is the validation CRPS in
original units. Boosting rounds are not comparable: the losses of different targets have different scales.

References
----------
Akiba, T., Sano, S., Yanase, T., Ohta, T. and Koyama, M. (2019). Optuna: a next-generation hyperparameter optimization
framework. Proceedings of KDD 2019, 2623-2631.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.protocol import MASTER_SEED, Fold
from diffgbm._util.optional import need

FRACTIONS = (1 / 8, 1 / 3)
"""Parts of the training rows on which a trial is judged before it gets all of them."""
STARTUP_TRIALS = 5
"""Trials that are never pruned: the median of fewer is chance."""


class Pruned(Exception):
    """The trial is worse than the median of the earlier ones at the same number of rows."""


def median_pruner() -> Any:
    """Return Optuna's median rule."""
    return need("optuna").pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS)


def score_in_stages(trial: Any, fold: Fold, score: Callable[[Fold], float]) -> float:
    """Score growing parts of the training rows, report each score, and return that of all rows.

    Raises
    ------
    Pruned
        The pruner of the study ends the trial.
    """
    order = np.random.default_rng(MASTER_SEED).permutation(len(fold.y_train))
    for fraction in FRACTIONS:
        rows = order[: int(np.ceil(fraction * len(order)))]
        part = replace(fold, X_train=fold.X_train[rows], y_train=fold.y_train[rows])
        trial.report(score(part), step=len(rows))
        if trial.should_prune():
            raise Pruned
    return score(fold)
