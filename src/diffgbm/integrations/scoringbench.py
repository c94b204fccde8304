"""A model wrapper for ScoringBench, which ranks distributional regressors by proper scoring rules.

It asks for an object with ``fit(X, y)``, ``predict(X)`` and ``predict_distribution(X)``, which returns its own
``DistributionPrediction``. ScoringBench is a repository, not a package of the index: clone it and run it from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from diffgbm._util.errors import check_count
from diffgbm._util.types import Array
from diffgbm.estimators.auto import AutoDiffGBM

BASE = "scoringbench.univariate.wrappers.base"
"""The module of ScoringBench that has ``DistributionPrediction``."""


class DiffGBMWrapper:
    """Use this to measure an estimator of this library in ScoringBench.

    Add it to the ``MODELS`` of ScoringBench: ``"diffgbm": lambda: DiffGBMWrapper(AutoDiffGBM(seed=0))``.

    Parameters
    ----------
    estimator : DiffGBM, AutoDiffGBM, DiffGBMCV or ConformalDiffGBM, optional
        What is fitted: a clone of it. ``AutoDiffGBM()`` if left out.
    n_quantiles : int, default=199
        Quantiles at the levels ``k / (n_quantiles + 1)`` that describe a distribution.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    """

    def __init__(self, estimator: Any = None, n_quantiles: int = 199) -> None:
        self.estimator = estimator
        self.n_quantiles = check_count("n_quantiles", n_quantiles, 3)

    def fit(self, X: Any, y: Any) -> DiffGBMWrapper:
        """Fit a clone of the estimator; rows without a response are left out, as in the wrappers of ScoringBench."""
        response = np.asarray(y, dtype=np.float64).reshape(-1)
        rows = np.flatnonzero(np.isfinite(response))
        response = response[rows]
        if len(rows) < 2:
            raise ValueError(f"y must have at least 2 finite values; got {len(rows)}.")
        self._y_train_range = (float(response.min()), float(response.max()))
        base = AutoDiffGBM() if self.estimator is None else self.estimator
        self.estimator_ = clone(base).fit(_safe_indexing(X, rows), response)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the mean of p(y | x): shape (n,)."""
        mean: Array = np.asarray(self.estimator_.predict(X), dtype=np.float64)
        return mean

    def predict_distribution(self, X: Any) -> Any:
        """Return the distributions as ScoringBench's ``DistributionPrediction``, built from quantiles."""
        levels = np.arange(1, self.n_quantiles + 1) / (self.n_quantiles + 1.0)
        distribution = self.estimator_.predict_distribution(X)
        prediction = _distribution_prediction()
        return prediction.from_multi_quantile(
            distribution.quantile(levels), levels, mean=distribution.mean(), train_range=self._y_train_range
        )


def _distribution_prediction() -> Any:
    from importlib import import_module

    try:
        return import_module(BASE).DistributionPrediction
    except ImportError:
        raise ImportError(
            f"This needs ScoringBench ({BASE}), which is not on the package index: clone its repository and run Python "
            "in it."
        ) from None
