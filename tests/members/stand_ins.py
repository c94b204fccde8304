"""Small estimators with the interfaces of other packages: a straight line with normal errors, asked in every way."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class Line(RegressorMixin, BaseEstimator):
    """Least squares; ``sigma`` is the standard deviation of its errors."""

    def __init__(self, ridge=1e-9):
        self.ridge = ridge

    def fit(self, X, y):
        self.rows_ = len(X)
        A = np.column_stack([np.ones(len(X)), np.asarray(X)])
        self.coef_ = np.linalg.solve(A.T @ A + self.ridge * np.eye(A.shape[1]), A.T @ np.ravel(y))
        self.sigma_ = np.std(np.ravel(y) - A @ self.coef_)
        return self

    def mean(self, X):
        return np.column_stack([np.ones(len(X)), np.asarray(X)]) @ self.coef_

    def predict(self, X):
        return self.mean(X)

    def quantiles(self, X, levels):
        return norm.ppf(np.asarray(levels), self.mean(X)[:, None], self.sigma_)


class WithQuantiles(Line):
    """``predict_quantiles(X, levels)``, as in this library."""

    def predict_quantiles(self, X, alpha):
        return self.quantiles(X, alpha)


class LikeTabPFN(Line):
    """A list of arrays, one for each quantile."""

    def predict(self, X, *, output_type="mean", quantiles=None):
        assert all(isinstance(q, float) for q in quantiles or [])
        return self.mean(X) if output_type == "mean" else list(self.quantiles(X, quantiles).T)


class LikeTabICL(Line):
    """An array (n, k), levels are called alphas."""

    def predict(self, X, output_type="mean", alphas=None):
        return self.mean(X) if output_type == "mean" else self.quantiles(X, alphas)


class LikeQuantileForest(Line):
    def predict(self, X, quantiles=None, interpolation="linear"):
        return self.quantiles(X, [0.5] if quantiles is None else quantiles)


class LikeNGBoost(Line):
    def pred_dist(self, X):
        return norm(self.mean(X), self.sigma_)


class LikeSkpro(Line):
    """Takes and returns frames."""

    def fit(self, X, y):
        assert list(y.columns) == ["y"]
        assert X.columns[0] == "x0"
        return super().fit(X.to_numpy(), y.to_numpy())

    def predict_proba(self, X):
        raise AssertionError("quantiles are asked for instead")

    def predict_quantiles(self, X, alpha):
        import pandas as pd

        columns = pd.MultiIndex.from_product([["y"], alpha])
        return pd.DataFrame(self.quantiles(X.to_numpy(), alpha), columns=columns)


class LikeCatBoost(Line):
    """Quantiles at the levels of the loss, or mean and variance."""

    def __init__(self, loss_function="RMSE", ridge=1e-9):
        self.loss_function = loss_function
        self.ridge = ridge

    def predict(self, X):
        if self.loss_function.startswith("MultiQuantile"):
            levels = [float(p) for p in self.loss_function.split("=")[1].split(",")]
            return self.quantiles(X, levels)
        if self.loss_function == "RMSEWithUncertainty":
            return np.column_stack([self.mean(X), np.full(len(X), self.sigma_**2)])
        return self.mean(X)


class LikeGaussianProcess(Line):
    def predict(self, X, return_std=False):
        return (self.mean(X), np.full(len(X), self.sigma_)) if return_std else self.mean(X)


class LikeTreeffuser(Line):
    """Samples (n_samples, n, 1)."""

    def sample(self, X, n_samples, seed=None):
        noise = np.random.default_rng(seed).standard_normal((n_samples, 1, 1))
        return self.mean(X)[None, :, None] + self.sigma_ * noise


class WithDistribution(Line):
    def predict_distribution(self, X):
        return norm(self.mean(X), self.sigma_)


CATBOOST = {
    "MultiQuantile": LikeCatBoost("MultiQuantile:alpha=" + ",".join(map(str, reversed(LEVELS)))),
    "RMSEWithUncertainty": LikeCatBoost("RMSEWithUncertainty"),
}
ALL = {
    "skpro": LikeSkpro(),
    "predict_quantiles": WithQuantiles(),
    "pred_dist": LikeNGBoost(),
    "predict_distribution": WithDistribution(),
    "output_type": LikeTabPFN(),
    "quantiles": LikeQuantileForest(),
    "trained_quantiles": CATBOOST["MultiQuantile"],
    "mean_and_variance": CATBOOST["RMSEWithUncertainty"],
    "return_std": LikeGaussianProcess(),
    "sample": LikeTreeffuser(),
    "regressor": Line(),
}
"""One estimator for each way."""


class Raises(Line):
    def fit(self, X, y):
        raise ValueError("this estimator never learns")


class ReturnsNaN(WithQuantiles):
    def predict_quantiles(self, X, alpha):
        return np.where(np.arange(len(X))[:, None] % 3 == 0, np.nan, self.quantiles(X, alpha))


class WrongShape(WithQuantiles):
    def predict_quantiles(self, X, alpha):
        return self.quantiles(X, alpha)[:, :-1]


class Constant(WithQuantiles):
    def predict_quantiles(self, X, alpha):
        return np.tile(np.sort(alpha), (len(X), 1))


class FailsToPredict(WithQuantiles):
    def predict_quantiles(self, X, alpha):
        raise RuntimeError("no weights were downloaded")


BROKEN = {
    "never learns": Raises(),
    "NaN or infinity": ReturnsNaN(),
    "of shape": WrongShape(),
    "the same for all": Constant(),
    "no weights were downloaded": FailsToPredict(),
}
"""Estimators that cannot be members, by what the warning says."""


class NoneForFarRows(WithQuantiles):
    """Knows nothing of rows whose first column is above 5; sees the encoded rows."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def predict_quantiles(self, X, alpha):
        return np.where(np.asarray(X)[:, :1] > 5.0, np.nan, self.quantiles(X, alpha))


class Crossing(WithQuantiles):
    """The right quantiles in the wrong order."""

    def predict_quantiles(self, X, alpha):
        return self.quantiles(X, alpha)[:, ::-1]
