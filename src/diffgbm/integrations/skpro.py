"""The skpro adapter: the estimators of the library as skpro regressors, whose ``predict_proba`` returns a distribution.

This module needs skpro (``pip install "diffgbm[skpro]"``); no other module imports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions import Distribution
from diffgbm.estimators.diffgbm import DiffGBM

_Base: Any = need("skpro.regression.base").BaseProbaRegressor


class DiffGBMRegressor(_Base):
    """Use this to put an estimator of this library into skpro.

    Quantiles, intervals, means and variances are exactly those of the predictive distribution. ``predict_proba``
    returns its points as an skpro ``Empirical`` distribution: equally likely, and joint for several responses.

    Parameters
    ----------
    estimator : DiffGBM, AutoDiffGBM, DiffGBMCV or ConformalDiffGBM, optional
        What is fitted: a clone of it. ``DiffGBM()`` if left out.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from diffgbm import DiffGBM
    >>> from diffgbm.integrations.skpro import DiffGBMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"a": rng.uniform(size=200)})
    >>> y = pd.DataFrame({"price": X["a"] + 0.1 * rng.standard_normal(200)})
    >>> model = DiffGBMRegressor(DiffGBM.flow(n_estimators=20, n_repeats=5, seed=0, n_jobs=1)).fit(X, y)
    >>> model.predict_interval(X[:2], coverage=0.9).columns.tolist()
    [('price', 0.9, 'lower'), ('price', 0.9, 'upper')]
    >>> model.predict_proba(X[:2]).shape
    (2, 1)
    """

    _tags = {  # noqa: RUF012 - skpro reads it from the class
        "authors": ["the DiffGBM developers"],
        "python_version": ">=3.10",
        "capability:multioutput": True,
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator
        super().__init__()

    def _fit(self, X: Any, y: Any) -> DiffGBMRegressor:
        self._y_columns = y.columns
        # one response is passed as a vector: its distribution is exact, a joint one is a set of points
        response = y.iloc[:, 0].to_numpy() if y.shape[1] == 1 else y.to_numpy()
        base = DiffGBM() if self.estimator is None else self.estimator
        self.estimator_ = clone(base).fit(_named(X), response)
        return self

    def _distribution(self, X: Any) -> Distribution:
        distribution: Distribution = self.estimator_.predict_distribution(_named(X))
        return distribution

    def _frame(self, values: Array, index: Any, columns: Any = None) -> Any:
        """Return values (n, ...) as a frame; its columns are the names of the responses by default."""
        flat = np.reshape(values, (len(values), -1))
        return need("pandas").DataFrame(flat, index=index, columns=self._y_columns if columns is None else columns)

    def _predict(self, X: Any) -> Any:
        return self._frame(self._distribution(X).mean(), X.index)

    def _predict_var(self, X: Any) -> Any:
        return self._frame(self._distribution(X).var(), X.index)

    def _predict_quantiles(self, X: Any, alpha: Sequence[float]) -> Any:
        values = self._distribution(X).quantile(np.asarray(alpha, dtype=np.float64))
        return self._frame(values, X.index, self._get_columns(method="predict_quantiles", alpha=alpha))

    def _predict_interval(self, X: Any, coverage: Sequence[float]) -> Any:
        if len(self._y_columns) == 1:
            # from the estimator: conformal intervals are not quantiles of its distribution
            ends = [np.asarray(self.estimator_.predict_interval(_named(X), c)) for c in coverage]
        else:
            distribution = self._distribution(X)
            ends = [distribution.interval(c) for c in coverage]
        columns = self._get_columns(method="predict_interval", coverage=coverage)
        return self._frame(np.stack(ends, axis=-2), X.index, columns)

    def _predict_proba(self, X: Any) -> Any:
        pandas, distributions = need("pandas"), need("skpro.distributions")
        points = self._distribution(X).equally_likely_points()
        n, m, d = points.shape
        labels = pandas.MultiIndex.from_product([range(m), X.index], names=["sample", "row"])
        samples = pandas.DataFrame(points.swapaxes(0, 1).reshape(m * n, d), index=labels, columns=self._y_columns)
        return distributions.Empirical(spl=samples, index=X.index, columns=self._y_columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return small settings for the checks of skpro."""
        small: dict[str, Any] = {"n_repeats": 2, "n_estimators": 5, "num_leaves": 4, "seed": 0, "n_jobs": 1}
        return [
            {"estimator": DiffGBM.flow(residualize="off", **small)},
            {"estimator": DiffGBM.published(n_steps=5, **small)},
        ]


def _named(X: Any) -> Any:
    """Convert the column names to text, as scikit-learn requires; skpro numbers the columns of arrays."""
    return X.set_axis([str(name) for name in X.columns], axis=1)
