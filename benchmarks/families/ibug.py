r"""iBUG on XGBoost: the variance of a prediction from the training rows that share most leaves with it.

.. math:: A(x, x_i) = \sum_t 1[\text{leaf}_t(x) = \text{leaf}_t(x_i)], \qquad
          y \mid x \sim N(\hat f(x), \gamma s_k^2(x) + \delta)

where :math:`s_k^2` is the variance of the responses of the ``k`` rows of highest affinity ``A``. Rows tied at the k-th
rank share the remaining weight evenly, so that the order of the table does not matter. ``gamma`` and ``delta``, one
of them at its neutral value, are chosen by the likelihood of held-out rows under a model of the other rows; the final
model is then fitted on all rows. This is an implementation of the paper, because the released package cannot be
built.

References
----------
Brophy, J. and Lowd, D. (2022). Instance-based uncertainty estimation for gradient-boosted regression trees. Advances in
Neural Information Processing Systems 35.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.families.base import EXTERNAL_TRIALS, Family, Model, need, normal_samples
from benchmarks.protocol import Seeds
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.tuning.search_spaces import Integer, Range, Real, suggest

RANGES: dict[str, Range] = {
    "k": Integer(10, 200, log=True),
    "n_estimators": Integer(200, 2000, log=True),
    "learning_rate": Real(0.001, 0.3, log=True),
    "max_depth": Integer(3, 10),
}
HELD_OUT = 0.1
"""Share of the rows that calibrate the variance."""

_GRID = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
_MULTIPLES = (1.0, 2.5, 5.0)


@dataclass(frozen=True)
class Calibration:
    """``variance -> gamma * max(variance, floor) + delta``.

    ``floor`` is the smallest positive variance among the held-out rows, for neighbours with equal responses.
    """

    gamma: float
    delta: float
    floor: float

    @classmethod
    def fit(cls, errors: Array, variances: Array) -> Calibration:
        """Choose the pair of highest likelihood of ``errors`` (n,) given ``variances`` (n,)."""
        positive = variances[variances > 0.0]
        floor = float(positive.min()) if len(positive) else 1e-12
        values = [m * power for power in _GRID for m in _MULTIPLES]
        candidates = [cls(1.0, 0.0, floor)]
        candidates += [cls(v, 0.0, floor) for v in values] + [cls(1.0, v, floor) for v in values]
        return min(candidates, key=lambda c: normal_nll(errors, c(variances)))

    def __call__(self, variances: Array) -> Array:
        """Calibrate."""
        return self.gamma * np.maximum(variances, self.floor) + self.delta


def normal_nll(errors: Array, variances: Array) -> float:
    """Return the mean negative log-likelihood of ``errors``, up to a constant."""
    return float(np.mean(0.5 * (np.log(variances) + errors**2 / variances)))


@dataclass
class IBug:
    """A normal distribution with an XGBoost mean and the variance of the nearest neighbours by affinity."""

    k: int
    n_estimators: int
    learning_rate: float
    max_depth: int
    seeds: Seeds
    n_jobs: int
    calibration: Calibration = field(init=False)
    mean: AffinityModel = field(init=False, repr=False)

    def fit(self, X: Array, y: Array) -> IBug:
        """Calibrate on held-out rows, then fit on all."""
        order = np.random.default_rng(self.seeds.model).permutation(len(y))
        n_held_out = max(1, round(HELD_OUT * len(y)))
        held_out, rest = order[:n_held_out], order[n_held_out:]
        trial = self._fit_mean(X[rest], y[rest])
        mean, variance = trial.predict(X[held_out], self.k)
        self.calibration = Calibration.fit(y[held_out] - mean, variance)
        self.mean = self._fit_mean(X, y)
        return self

    def _fit_mean(self, X: Array, y: Array) -> AffinityModel:
        xgboost = need("xgboost")
        params = {
            "objective": "reg:squarederror",
            "tree_method": "hist",
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "seed": self.seeds.model,
            "nthread": n_threads(self.n_jobs),
            "verbosity": 0,
        }
        data = xgboost.DMatrix(X, label=y, nthread=n_threads(self.n_jobs))
        booster = xgboost.train(params, data, num_boost_round=self.n_estimators)
        return AffinityModel(booster, leaves_of(booster, data), y, n_threads(self.n_jobs))

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw from the normal distributions."""
        mean, variance = self.mean.predict(X, self.k)
        return normal_samples(mean, np.sqrt(self.calibration(variance)), n_samples, self.seeds.sampler)


def leaves_of(booster: Any, data: Any) -> NDArray[np.int32]:
    """Return the node in which each row ends in each tree, (n, T)."""
    return np.ascontiguousarray(booster.predict(data, pred_leaf=True).reshape(data.num_row(), -1), dtype=np.int32)


@dataclass(frozen=True)
class AffinityModel:
    """A fitted booster with the leaves (n, T) and responses (n,) of its training rows."""

    booster: Any
    leaves: NDArray[np.int32]
    y: Array
    threads: int

    def predict(self, X: Array, k: int) -> tuple[Array, Array]:
        """Return the mean, and the variance of the responses of the ``k`` rows of highest affinity, both (n,)."""
        from benchmarks.families._affinity import neighbour_variance

        data = need("xgboost").DMatrix(X, nthread=self.threads)
        mean = self.booster.predict(data).astype(np.float64)
        return mean, neighbour_variance(self.leaves, self.y, leaves_of(self.booster, data), k, self.threads)


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build the model."""
    need("xgboost")
    return IBug(**params, seeds=seeds, n_jobs=n_jobs)


def distribution() -> str:
    """Return which distribution brings the module: ``xgboost-cpu``, which is much the smaller, or ``xgboost``."""
    try:
        version("xgboost-cpu")
    except PackageNotFoundError:
        return "xgboost"
    return "xgboost-cpu"


FAMILY = Family(
    name="ibug",
    label="iBUG",
    build=build,
    suggest=lambda trial: suggest(trial, RANGES),
    n_trials=EXTERNAL_TRIALS,
    requires=("xgboost",),
    packages=(distribution(), "numba", "numpy"),
    sampler="normal distribution around the mean, affinity k-NN variance",
)
