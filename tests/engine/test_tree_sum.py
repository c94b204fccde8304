"""Sums of boosters equal LightGBM's predictions."""

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm.engine import TreeSum, _wide_kernels, tree_sum

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


@pytest.mark.parametrize("kind", ["plain", "zero as missing", "one leaf"])
def test_wide_blocks_add_the_same_numbers(kind, monkeypatch):
    """Rows go through in blocks of 512, of 64 and alone, with the same bits."""
    total = TreeSum([models.booster(1, 1, 5, **models.KINDS[kind])])
    rng = np.random.default_rng(3)
    Z = np.hstack([rng.normal(size=(1200, 1)), models.rows(1200, 4, awkward=0.3), rng.normal(size=(1200, 1))])
    found = total(Z)
    parts = [total(Z[:130]), total(Z[130:131]), total(Z[131:200]), total(Z[200:])]
    np.testing.assert_array_equal(np.concatenate(parts), found)
    assert tree_sum.is_wide(total.pruned, len(Z))
    assert (tree_sum.WORTH_IT, tree_sum.MOST_LEAVES) == (_wide_kernels.WORTH_IT, _wide_kernels.MOST_LEAVES)
    monkeypatch.setattr(tree_sum, "MOST_LEAVES", 0)
    assert not tree_sum.is_wide(total.pruned, len(Z))
    np.testing.assert_array_equal(total(Z), found)


def test_trees_of_many_leaves_and_of_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    params = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1, "num_leaves": 300}
    for y, most in ((X[:, 0] + rng.normal(size=3000), 300), (np.ones(3000), 1)):
        booster = lgb.train(params, lgb.Dataset(X, y), num_boost_round=2)
        total = TreeSum([booster])
        assert total.pruned.most_leaves == most
        np.testing.assert_allclose(total(X), booster.predict(X), rtol=0, atol=1e-12)


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


@pytest.mark.parametrize("kind", sorted(models.KINDS))
def test_a_packed_forest_gives_a_row_alone_the_same_bits(kind, monkeypatch):
    boosters = [models.booster(1, 1, seed, **models.KINDS[kind]) for seed in (1, 2)]
    total = TreeSum(boosters, [0.25, 0.75])
    assert total.packed.nodes.nbytes == total.pruned.nodes.nbytes // 2
    rng = np.random.default_rng(3)
    Z = np.hstack([rng.normal(size=(90, 1)), models.rows(90, 4, awkward=0.3), rng.normal(size=(90, 1))])
    alone = np.concatenate([total(Z[i : i + 1]) for i in range(len(Z))])
    np.testing.assert_array_equal(alone, total(Z))
    with pytest.raises(ValueError, match="columns of x"):
        total(Z[:1, :-1])
    # numbers that do not fit into 16 bits are not packed
    monkeypatch.setattr(tree_sum, "NO_QUESTION", 0)
    other = TreeSum(boosters, [0.25, 0.75])
    assert other.packed is None
    np.testing.assert_array_equal(other(Z[:1]), alone[:1])
