r"""When boosting stops: by rows that are held out, or by all rows, in turn.

A tenth of a small table is few rows, and the round with the lowest loss on them is a matter of luck. Small tables are
cross-validated instead: boosters grow side by side, each without the noisy copies of one fold of the rows, until the
loss of all rows in the folds that hold them out,

.. math:: \frac1n \sum_k \sum_{i \in \text{fold } k} \ell(f_{-k}^{(m)}; i),

does not fall any more. The model that is kept has the best number of rounds ``m`` and learns from all rows.

References
----------
Stone, M. (1974). Cross-validatory choice and assessment of statistical predictions. Journal of the Royal Statistical
Society B 36(2), 111-147.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np

from diffgbm._util.types import Rows
from diffgbm.data.splits import k_folds
from diffgbm.data.structure import Structure
from diffgbm.first_stage.useful_threads import with_useful_threads

AUTO = "auto"
"""Value of ``eval_percent`` that cross-validates small tables."""
HELD_OUT = 0.1
"""Share of the rows of other tables that is held out."""
FOLDS = 5
MOST_ROWS = 2000
"""Rows up to which a table is small: a fit of more rows would take long, and a tenth of them is no small number."""


def held_out_share(eval_percent: float | str) -> float:
    """Return the share of rows that a table holds out if it is not cross-validated."""
    return HELD_OUT if isinstance(eval_percent, str) else eval_percent


def stopping_folds(n_rows: int, n_bags: int, eval_percent: float | str, seed: int, structure: Structure) -> list[Rows]:
    """Return the rows that each fold holds out; no folds if rows are held out instead.

    Bags hold out rows in turn already, and rows in order of time are judged by the last of them.
    """
    groups = n_rows if structure.labels is None else len(np.unique(structure.labels))
    few = groups < 2 * FOLDS or n_rows > MOST_ROWS
    if eval_percent != AUTO or n_bags > 1 or structure.order is not None or few:
        return []
    return [held_out for _, held_out in k_folds(n_rows, FOLDS, seed, structure)]


def best_round(
    data: lgb.Dataset,
    held_out: Sequence[Rows],
    n_rows: int,
    params: dict[str, Any],
    n_estimators: int,
    patience: int,
    callbacks: Sequence[Callable[..., Any]],
) -> int:
    """Return the number of rounds with the lowest cross-validated loss.

    Parameters
    ----------
    data : lightgbm.Dataset
        Binned noisy copies of ``n_rows`` rows, with labels; row ``i`` of copy ``r`` at position ``r n_rows + i``.
    held_out : sequence of ndarray of int
        Rows that each fold holds out, with all their copies.
    n_rows : int
        Rows.
    params : dict
        LightGBM's parameters.
    n_estimators, patience : int
        Rounds at most, and how many without improvement end them.
    callbacks : sequence of callable
        LightGBM's callbacks.
    """
    copies = np.arange(data.num_data()).reshape(-1, n_rows)
    folds = []
    for rows in held_out:
        rest = np.setdiff1d(np.arange(n_rows), rows)
        folds.append((copies[:, rest].ravel(), copies[:, rows].ravel()))
    stopping = lgb.early_stopping(patience, verbose=False)
    losses: dict[str, Any] = lgb.cv(
        with_useful_threads(params), data, n_estimators, folds=folds, callbacks=[*callbacks, stopping]
    )
    return max(1, *map(len, losses.values()))
