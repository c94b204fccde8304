"""CatBoost's RMSEWithUncertainty: trees for the mean and the logarithm of the scale of a normal distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.families.base import EXTERNAL_TRIALS, Family, Model, need, normal_samples
from benchmarks.protocol import Seeds
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.tuning.search_spaces import Integer, Range, Real, suggest

RANGES: dict[str, Range] = {
    "iterations": Integer(200, 3000, log=True),
    "learning_rate": Real(0.001, 0.3, log=True),
    "depth": Integer(4, 10),
}


@dataclass
class CatBoostNormal:
    """A normal distribution with CatBoost's mean and variance."""

    regressor: Any
    seeds: Seeds

    def fit(self, X: Array, y: Array) -> CatBoostNormal:
        """Fit on all rows, all iterations."""
        self.regressor.fit(X, y)
        return self

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw from the normal distributions."""
        mean, variance = self.regressor.predict(X, prediction_type="RMSEWithUncertainty").T
        return normal_samples(mean, np.sqrt(variance), n_samples, self.seeds.sampler)


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build the model."""
    regressor = need("catboost").CatBoostRegressor(
        **params,
        loss_function="RMSEWithUncertainty",
        random_seed=seeds.model,
        thread_count=n_threads(n_jobs),
        allow_writing_files=False,
        verbose=False,
    )
    return CatBoostNormal(regressor, seeds)


FAMILY = Family(
    name="catboost",
    label="CatBoost-unc.",
    build=build,
    suggest=lambda trial: suggest(trial, RANGES),
    n_trials=EXTERNAL_TRIALS,
    requires=("catboost",),
    packages=("catboost", "numpy"),
    sampler="normal distribution",
)
