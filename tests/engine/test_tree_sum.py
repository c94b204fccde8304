"""Sums of boosters equal LightGBM's predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm.engine import TreeSum

from . import models


@pytest.mark.parametrize("kind", sorted(models.KINDS))
def test_tree_sum_is_predict(kind):
    boosters = [models.booster(1, 1, seed, **models.KINDS[kind]) for seed in (1, 2)]
    rng = np.random.default_rng(3)
    Z = np.hstack([rng.normal(size=(700, 1)), models.rows(700, 4, awkward=0.3), rng.normal(size=(700, 1))])
    expected = 0.25 * boosters[0].predict(Z) + 0.75 * boosters[1].predict(Z)
    total = TreeSum(boosters, [0.25, 0.75])
    close = 1e-12 * (1 + models.size(boosters))
    np.testing.assert_allclose(total(Z), expected, rtol=0, atol=close)
    for i, booster in enumerate(boosters):
        np.testing.assert_allclose(total.alone(i, Z), booster.predict(Z), rtol=0, atol=4 * close)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(sorted(models.KINDS)),
    awkward=st.floats(0.0, 1.0),
    n=st.integers(1, 200),
)
def test_tree_sum_is_predict_for_drawn_models(seed, kind, awkward, n):
    params = {**models.KINDS[kind], "n": 300, "trees": 5}
    boosters = [models.booster(1, 1, seed, **params)]
    rng = np.random.default_rng(seed)
    Z = np.hstack([rng.normal(size=(n, 1)), models.rows(n, seed + 1, awkward), rng.normal(size=(n, 1))])
    np.testing.assert_allclose(
        TreeSum(boosters)(Z), boosters[0].predict(Z), rtol=0, atol=1e-12 * (1 + models.size(boosters))
    )


def test_best_iteration_is_honoured():
    one = models.booster(1, 1, 0)
    one.best_iteration = 4
    Z = np.random.default_rng(0).normal(size=(50, models.P + 2))
    np.testing.assert_allclose(TreeSum([one])(Z), one.predict(Z, num_iteration=4), atol=1e-12)
    assert np.abs(one.predict(Z, num_iteration=12) - TreeSum([one])(Z)).max() > 1e-3
    forest_mean = models.booster(1, 1, 0, **models.KINDS["random forest"])
    forest_mean.best_iteration = 4
    np.testing.assert_allclose(TreeSum([forest_mean])(Z), forest_mean.predict(Z), atol=1e-12)


def test_weights_default_to_one():
    boosters = [models.booster(0, 0, seed) for seed in (1, 2)]
    X = models.rows(70, 0)
    np.testing.assert_allclose(TreeSum(boosters)(X), TreeSum(boosters, [1.0, 1.0])(X), rtol=0)
