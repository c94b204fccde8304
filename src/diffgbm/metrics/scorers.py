"""Scorers of estimators and pipelines, for ``scoring=`` in scikit-learn: greater is better."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from diffgbm.metrics.calibration import coverage_error


def crps_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Minus the mean CRPS, for ``scoring=`` in scikit-learn: greater is better.

    ``estimator`` may be a pipeline that ends in a distributional regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from diffgbm import DiffGBM, metrics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(120)
    >>> model = DiffGBM.flow(n_estimators=10, n_repeats=5, seed=0, n_jobs=1)
    >>> bool((cross_val_score(model, X, y, cv=3, scoring=metrics.crps_scorer) < 0).all())
    True
    """
    model, rows = last_step(estimator, X)
    return -float(np.mean(model.crps(rows, y)))


def coverage_scorer(estimator: Any, X: Any, y: Any, level: float = 0.9) -> float:
    """Minus the coverage error of the central intervals, for ``scoring=`` in scikit-learn: greater is better.

    ``estimator`` may be a pipeline that ends in a distributional regressor.
    """
    model, rows = last_step(estimator, X)
    return -coverage_error(model.predict_distribution(rows), y, level)


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline and the rows that reach it; any other estimator as it is."""
    if not isinstance(estimator, Pipeline):
        return estimator, X
    # a pipeline of one step has no transformer
    return last_step(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)
