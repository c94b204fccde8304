"""Known distributions: a fitted recipe's CRPS is within 10% of that of samples of the true distribution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from benchmarks.synthetic import DISTRIBUTIONS as KNOWN
from benchmarks.synthetic import KnownDistribution

from diffgbm import DiffGBM

DISTRIBUTIONS = ("heteroscedastic_linear", "bimodal", "skewed")
RECIPES: dict[str, Callable[..., DiffGBM]] = {
    "published": DiffGBM.published,
    "score_plus": DiffGBM.score_plus,
    "flow": DiffGBM.flow,
    "flow linear": partial(DiffGBM.flow, path="linear"),
    "flow trig": partial(DiffGBM.flow, path="trig"),
}
N_TRAIN, N_TEST, N_SAMPLES, N_TRUTHS = 24_000, 1000, 200, 20


def crps(samples: np.ndarray, truths: np.ndarray) -> float:
    """Ensemble CRPS of samples (n_samples, n), averaged over several truths (k, n) of each row."""
    ordered = np.sort(samples, axis=0)
    n = len(ordered)
    mean_difference = (2.0 * np.arange(n) - n + 1.0) @ ordered / n**2  # 1/(2 n^2) of the sum of |y_i - y_j|
    return float(np.mean([np.abs(samples - truth).mean(axis=0) - mean_difference for truth in truths]))


def test_the_crps_of_this_file_is_the_definition():
    rng = np.random.default_rng(0)
    samples, truth = rng.standard_normal((7, 3)), rng.standard_normal(3)
    pairs = np.abs(samples[:, None] - samples[None]).sum(axis=(0, 1)) / (2 * 7**2)
    expected = (np.abs(samples - truth).mean(axis=0) - pairs).mean()
    assert crps(samples, truth[None]) == pytest.approx(expected)


def draw(distribution: KnownDistribution, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return distribution.sample(x, 1, rng)[0]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_comes_within_ten_percent_of_the_oracle(recipe, name):
    distribution, rng = KNOWN[name], np.random.default_rng(0)
    x_train, x_test = rng.uniform(size=(N_TRAIN, 2)), rng.uniform(size=(N_TEST, 2))
    # the recipes as they are named: their mean model is large, and needs many rows where there is little mean to learn
    model = RECIPES[recipe](n_repeats=10, early_stopping_rounds=20, seed=0, n_jobs=1).fit(
        x_train, draw(distribution, x_train, rng)
    )
    samples = model.sample(x_test, N_SAMPLES, seed=0)
    # many truths for each row: distributions are compared, not the truths that were drawn
    truths = np.stack([draw(distribution, x_test, rng) for _ in range(N_TRUTHS)])
    oracle = np.stack([draw(distribution, x_test, rng) for _ in range(N_SAMPLES)])
    ratio = crps(samples, truths) / crps(oracle, truths)
    assert 0.98 < ratio < 1.10  # nothing beats the true distribution by more than the error of this estimate
