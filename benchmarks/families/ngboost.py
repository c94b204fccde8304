"""NGBoost: natural-gradient boosting of the mean and scale of a normal distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from benchmarks.families.base import EXTERNAL_TRIALS, Family, Model, need, normal_samples
from benchmarks.protocol import Seeds
from diffgbm._util.types import Array
from diffgbm.tuning.search_spaces import Integer, Range, Real, suggest

RANGES: dict[str, Range] = {
    "n_estimators": Integer(200, 3000, log=True),
    "learning_rate": Real(0.001, 0.3, log=True),
}


@dataclass
class NGBoostNormal:
    """A normal distribution with NGBoost's location and scale. The default base learners use one thread."""

    regressor: Any
    seeds: Seeds

    def fit(self, X: Array, y: Array) -> NGBoostNormal:
        """Fit on all rows, all rounds."""
        self.regressor.fit(X, y)
        return self

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw from the normal distributions."""
        distribution = self.regressor.pred_dist(X).params
        return normal_samples(distribution["loc"], distribution["scale"], n_samples, self.seeds.sampler)


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build the model; ``n_jobs`` has no effect."""
    del n_jobs
    regressor = need("ngboost").NGBRegressor(
        **params,
        Dist=need("ngboost.distns").Normal,
        # without a seed the trees break ties by numpy's global generator
        Base=clone(need("ngboost.learners").default_tree_learner).set_params(random_state=seeds.model),
        random_state=seeds.model,
        verbose=False,
    )
    return NGBoostNormal(regressor, seeds)


FAMILY = Family(
    name="ngboost",
    label="NGBoost",
    build=build,
    suggest=lambda trial: suggest(trial, RANGES),
    n_trials=EXTERNAL_TRIALS,
    requires=("ngboost",),
    packages=("ngboost", "numpy", "scikit-learn"),
    sampler="normal distribution",
)
