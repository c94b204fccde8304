"""Forests of leaves predict what scikit-learn's trees do."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from diffgbm.first_stage.dense import DenseTable
from diffgbm.first_stage.leaf_forest import from_trees, grown_trees, joined


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_leaf_forest_is_scikit_learns(outputs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=(80, outputs))
    model = ExtraTreesRegressor(7, min_samples_leaf=2, random_state=0).fit(X, y[:, 0] if outputs == 1 else y)
    trees = [tree.tree_ for tree in model.estimators_]
    forest = from_trees(DenseTable.learn(X, []), trees)
    at_thresholds = rng.normal(size=(60, 4))
    for i in range(60):  # rows that sit exactly where a split is
        tree = trees[i % 7]
        inner = np.flatnonzero(tree.feature >= 0)
        node = inner[i % len(inner)]
        at_thresholds[i, tree.feature[node]] = tree.threshold[node]
    for rows in (X, rng.normal(size=(50, 4)), at_thresholds):
        singles = rows.astype(np.float32)
        leaves = [tree.value[tree.apply(singles)][:, :, 0].astype(np.float32) for tree in trees]
        np.testing.assert_allclose(
            forest.prepared(rows), np.mean(leaves, axis=0, dtype=np.float64), rtol=1e-12, atol=1e-15
        )
        expected = model.predict(rows).reshape(len(rows), outputs)
        np.testing.assert_allclose(forest.prepared(rows), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_those_of_a_forest_of_scikit_learn(outputs, weighted, threads):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=(80, outputs))
    weights = rng.uniform(size=80) if weighted else None
    forest = ExtraTreesRegressor(7, min_samples_leaf=2, random_state=5)
    forest.fit(X, y[:, 0] if outputs == 1 else y, sample_weight=weights)
    trees = grown_trees(X, y, weights, 7, 2, 5, threads)
    for ours, theirs in zip(trees, forest.estimators_, strict=True):
        np.testing.assert_array_equal(ours.threshold, theirs.tree_.threshold)
        np.testing.assert_array_equal(ours.value, theirs.tree_.value)


def test_no_warning_filter_is_touched_while_trees_grow(monkeypatch):
    """Filters that are replaced for a moment stay for good where threads overlap."""

    def refuse(*args, **options):
        raise AssertionError("the filters of the process were changed")

    monkeypatch.setattr(warnings, "resetwarnings", refuse)
    monkeypatch.setattr(warnings, "filterwarnings", refuse)
    grown_trees(np.ones((9, 2)), np.ones((9, 1)), None, 3, 2, 0, 2)


def test_joined_forests_predict_the_average():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    trees = [tree.tree_ for tree in ExtraTreesRegressor(4, random_state=0).fit(X, y).estimators_]
    dense = DenseTable.learn(X, [])
    halves = [from_trees(dense, trees[:2]), from_trees(dense, trees[2:])]
    mean = np.mean([half.prepared(X) for half in halves], axis=0)
    np.testing.assert_allclose(joined(halves).prepared(X), mean, rtol=1e-12)
    np.testing.assert_array_equal(joined(halves).prepared(X), from_trees(dense, trees).prepared(X))
