"""Forests specialised to the knots: cells, boxes, zeros."""

import numpy as np
import pytest

from diffgbm.engine import Draws, Forest, make_engine
from diffgbm.engine.prune import ZERO, flushed, merge_knots, prune, start_boxes

from . import models


@pytest.mark.parametrize("d", [1, 2])
def test_zero_states_read_as_missing(d):
    groups = [models.group(d, 1, 5, zero_as_missing=True)]
    start = np.array([[0.0], [1e-40], [0.5], [-1e-20]]) * np.ones(d)
    steps, X = models.look(np.array([0.3])), models.rows(20, 1)
    fast = make_engine(groups, "collapse").prepare(steps)(X, Draws(4, 0, start=start))
    slow = make_engine(groups, "lightgbm").prepare(steps)(X, Draws(4, 0, start=start))
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_columns_must_be_monotone():
    steps = models.step_table(1)
    steps.columns[2] = 5.0
    with pytest.raises(ValueError, match="monotone"):
        make_engine([models.group(1, 1, 0)]).prepare(steps)


def test_a_pruned_forest_is_the_sum_of_its_boxes():
    """Without splits on x: F(y, t_k) adds the leaves whose boxes hold the cell and the bin."""
    one = models.booster(1, 1, 2, interaction_constraints=[[0, 1 + models.P]], categorical=False)
    columns = np.linspace(1.0, -1.0, 7)[:, None]
    forest = Forest.from_booster(one)
    pruned = prune(forest, np.zeros(len(forest.tree_nodes) - 1, dtype=np.int64), 1, columns)
    y = np.random.default_rng(0).normal(size=20)
    bins = np.searchsorted(pruned.edges[0], y)
    for k, t in enumerate(columns[:, 0]):
        cell = pruned.knot_cell[k]
        k0, k1, b0, b1 = (side[:, None] for side in pruned.boxes.T)
        inside = (k0 <= cell) & (cell < k1) & (b0 <= bins) & (bins < b1)
        features = np.column_stack([y, np.zeros((20, models.P)), np.full(20, t)])
        np.testing.assert_allclose(pruned.value @ inside, one.predict(features), atol=1e-12)


def test_knots_that_no_split_separates_share_a_cell():
    forest = Forest.from_booster(models.booster(1, 1, 2))
    close = np.array([[0.5], [0.5 - 1e-13], [0.5 - 2e-13]])
    cell, columns = merge_knots(forest, close)
    assert cell.tolist() == [0, 0, 0]
    assert columns.shape == (1, 1)
    apart, _ = merge_knots(forest, np.linspace(2.0, -2.0, 9)[:, None])
    assert apart[0] == 0
    assert len(np.unique(apart)) > 1


def test_tiny_thresholds_mean_zero():
    thresholds = np.array([0.0, 1e-40, -1e-40, 0.5, -0.5])
    values = np.array([0.0, 1e-36, -1e-36, ZERO, -ZERO, 1e-30, -1e-30, 0.5, -0.5])
    read = np.where(np.abs(values) <= ZERO, 0.0, values)
    for threshold in thresholds:
        np.testing.assert_array_equal(values <= flushed(np.array([threshold])), read <= threshold)


def test_boxes_are_cut_around_the_zero_of_a_state():
    assert start_boxes([4, 10], np.array([-1])).tolist() == [[0, 4, 0, 10]]
    assert start_boxes([4, 10], np.array([3])).tolist() == [[0, 4, 0, 3], [0, 4, 3, 4], [0, 4, 4, 10]]
