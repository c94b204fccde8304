"""The rows of this library: published, score-flex (two samplers), score+ and flow matching on three paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.families.base import DIFFUSION_TRIALS, Family, Model
from benchmarks.protocol import REPEATS, Seeds
from diffgbm import DiffGBM
from diffgbm._util.types import Array
from diffgbm.diffusion.recipe import OF_THE_PAPER
from diffgbm.tuning.search_spaces import CORNERS, SPACES


@dataclass
class DiffGBMRow:
    """A ``DiffGBM`` whose samples have the protocol's seed."""

    params: Mapping[str, Any]
    seeds: Seeds
    n_jobs: int
    estimator: DiffGBM = field(init=False)

    def __post_init__(self) -> None:
        # arguments that were tuned before there was a choice lack it
        params = {**OF_THE_PAPER, **self.params}
        self.estimator = DiffGBM(**params, seed=self.seeds.model, n_jobs=self.n_jobs, repeats=REPEATS)

    def fit(self, X: Array, y: Array) -> DiffGBMRow:
        """Fit the estimator."""
        self.estimator.fit(X, y)
        return self

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw with the sampler of the recipe."""
        return self.estimator.sample(X, n_samples, seed=self.seeds.sampler)


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build a row from a complete set of ``DiffGBM`` arguments, as its search space returns it."""
    return DiffGBMRow(params, seeds, n_jobs)


def _row(name: str, label: str, sampler: str) -> Family:
    return Family(
        name=name,
        label=label,
        build=build,
        suggest=SPACES[name],
        n_trials=DIFFUSION_TRIALS,
        requires=("lightgbm",),
        packages=("lightgbm", "numba", "numpy"),
        sampler=sampler,
        corners=CORNERS.get(name, ()),
    )


ROWS = (
    _row("published", "Treeffuser-published", "Euler-50 reverse SDE"),
    _row("score_flex_sde", "DiffGBM-score-flex", "Euler-50 reverse SDE"),
    _row("score_flex_ode", "DiffGBM-score-flex, PF-ODE", "Heun-25 probability-flow ODE"),
    _row("score_plus", "Treeffuser-score+", "Heun-25 probability-flow ODE"),
    _row("flow_vp", "DiffGBM-FM", "Heun-5 ODE"),
    _row("flow_linear", "DiffGBM-FM linear", "Heun-5 ODE"),
    _row("flow_trig", "DiffGBM-FM trig", "Heun-5 ODE"),
)
