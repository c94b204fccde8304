"""TabPFN's interface: one ``predict`` with an ``output_type``, so that scripts for TabPFN run with this library.

TabPFN itself is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import known
from diffgbm._util.types import Array
from diffgbm.distributions import PredictiveDistribution
from diffgbm.estimators.auto import AutoDiffGBM

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Levels of the quantiles, unless others are asked for."""


def _quantiles(distribution: PredictiveDistribution, levels: Array) -> list[Array]:
    return list(distribution.quantile(levels).T)


def _main(distribution: PredictiveDistribution, levels: Array) -> dict[str, Any]:
    return {name: OUTPUT_TYPES[name](distribution, levels) for name in ("mean", "median", "mode", "quantiles")}


OUTPUT_TYPES: Mapping[str, Callable[[PredictiveDistribution, Array], Any]] = {
    "mean": lambda distribution, levels: distribution.mean(),
    "median": lambda distribution, levels: distribution.median(),
    "mode": lambda distribution, levels: distribution.mode(),
    "quantiles": _quantiles,
    "main": _main,
    "full": lambda distribution, levels: {**_main(distribution, levels), "distribution": distribution},
}
"""What ``predict`` returns, by the name of ``output_type``."""


class DiffGBMRegressor(RegressorMixin, BaseEstimator):
    """Use this where TabPFN's regressor is expected: ``predict(X, output_type="quantiles", quantiles=[0.1, 0.9])``.

    Parameters
    ----------
    estimator : DiffGBM, AutoDiffGBM, DiffGBMCV or ConformalDiffGBM, optional
        What is fitted: a clone of it. ``AutoDiffGBM()`` if left out.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import DiffGBM
    >>> from diffgbm.integrations.tabpfn import DiffGBMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(200)
    >>> model = DiffGBMRegressor(DiffGBM.flow(n_estimators=20, n_repeats=5, seed=0, n_jobs=1)).fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    >>> low, high = model.predict(X[:3], output_type="quantiles", quantiles=[0.05, 0.95])
    >>> bool((low < high).all())
    True
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def _base(self) -> Any:
        return AutoDiffGBM() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base())
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.non_deterministic = inner.non_deterministic
        return tags

    def fit(self, X: Any, y: Any, **options: Any) -> DiffGBMRegressor:
        """Fit a clone of the estimator to one response; ``options`` are those of its ``fit``."""
        flat = column_or_1d(y, warn=True)
        # a series keeps its name
        self.estimator_ = clone(self._base()).fit(X, y if getattr(y, "ndim", 2) == 1 else flat, **options)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    @fill_docstring(outputs=OUTPUT_TYPES)
    def predict(self, X: Any, *, output_type: str = "mean", quantiles: Sequence[float] | None = None) -> Any:
        """Predict numbers of p(y | x).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.
        output_type : {outputs}, default="mean"
            What is returned.
        quantiles : sequence of float, optional
            Levels of the quantiles, 0.1 to 0.9 by default.

        Returns
        -------
        ndarray of shape (n,), list or dict
            An array for ``"mean"``, ``"median"`` and ``"mode"``; for ``"quantiles"`` a list of one array (n,) for each
            level. ``"main"`` is a dict of these four, ``"full"`` adds the ``distribution`` (TabPFN adds logits).
        """
        known("output_type", output_type, OUTPUT_TYPES)
        check_is_fitted(self)
        levels = np.asarray(DECILES if quantiles is None else quantiles, dtype=np.float64)
        if levels.ndim != 1 or not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ValueError(f"quantiles must be a list of levels between 0 and 1; got {quantiles!r}.")
        distribution = self.estimator_.predict_distribution(X)
        return OUTPUT_TYPES[output_type](distribution, levels)
