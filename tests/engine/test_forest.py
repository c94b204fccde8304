"""Boosters as arrays."""

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm.engine.forest import CannotCollapse, Forest, concatenate, header_value, split_text

from . import models


def by_hand(forest, row):
    """Follow plain numeric splits (no missing values, no categories) of every tree."""
    total = 0.0
    for tree in range(len(forest.tree_nodes) - 1):
        first, node = forest.tree_nodes[tree], 0
        if forest.tree_nodes[tree + 1] == first:
            node = ~0
        while node >= 0:
            at = first + node
            goes_left = row[forest.feature[at]] <= forest.threshold[at]
            node = forest.left[at] if goes_left else forest.right[at]
        total += forest.value[forest.tree_leaves[tree] + ~node]
    return total


@pytest.mark.parametrize("params", [{}, {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1}])
def test_a_walk_by_hand_is_predict(params):
    one = models.booster(1, 1, 5, categorical=False, holes=0.0, **params)
    rows = np.random.default_rng(0).normal(size=(20, 2 + models.P))
    forest = Forest.from_booster(one)
    np.testing.assert_allclose([by_hand(forest, row) for row in rows], one.predict(rows), atol=1e-12)


def test_trees_beyond_the_best_iteration_are_left_out():
    one = models.booster(1, 1, 5)
    one.best_iteration = 4
    assert len(Forest.from_booster(one).tree_nodes) == 5


def test_concatenation_weighs_the_leaves():
    forests = [Forest.from_booster(models.booster(1, 1, seed, categorical=False, holes=0.0)) for seed in (1, 2)]
    both = concatenate(forests, [0.25, 2.0])
    row = np.random.default_rng(0).normal(size=2 + models.P)
    expected = 0.25 * by_hand(forests[0], row) + 2.0 * by_hand(forests[1], row)
    np.testing.assert_allclose(by_hand(both, row), expected, rtol=1e-12)


def test_header_and_trees_of_the_text():
    header, trees = split_text(models.booster(1, 1, 5, trees=3).model_to_string())
    assert len(trees) == 3
    assert header_value(header, "max_feature_idx") == str(1 + models.P)
    assert header_value(header, "nothing") == ""


@pytest.mark.parametrize(
    ("params", "reason"), [({"linear_tree": True}, "linear_tree"), ({"objective": "poisson"}, "poisson")]
)
def test_boosters_that_are_no_sums_are_refused(params, reason):
    F = np.random.default_rng(0).normal(size=(200, 3))
    booster = lgb.train({"verbose": -1, "num_threads": 1, **params}, lgb.Dataset(F, np.exp(F[:, 0])), num_boost_round=2)
    with pytest.raises(CannotCollapse, match=reason):
        Forest.from_booster(booster)
