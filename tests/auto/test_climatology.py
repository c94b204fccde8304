"""Climatology: equally likely responses, honest for held-out rows."""

import numpy as np
import pytest
from scipy.stats import kstest

from diffgbm.auto.climatology import MAX_POINTS, Climatology, out_of_bag_crps, out_of_bag_points
from diffgbm.metrics.scores import climatology_crps


def test_few_responses_are_kept_as_they_are():
    y = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    np.testing.assert_array_equal(Climatology.of(y, None).values, [[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]])


def test_many_responses_are_kept_at_even_quantiles():
    y = np.random.default_rng(0).standard_normal((20_001, 1))
    values = Climatology.of(y, None).values[:, 0]
    assert len(values) == MAX_POINTS
    levels = (np.arange(MAX_POINTS) + 0.5) / MAX_POINTS
    np.testing.assert_allclose(values, np.quantile(y, levels), atol=0.05)


def test_weights_are_shares_of_the_points():
    y, weights = np.array([[0.0], [5.0]]), np.array([3.0, 1.0])
    assert np.mean(Climatology.of(y, weights).values == 5.0) == 0.25


def test_points_belong_together():
    """Points of several responses are observed pairs."""
    y = np.random.default_rng(1).standard_normal((50, 2))
    points = Climatology.of(y, None).points(20)
    assert {tuple(p) for p in points.tolist()} <= {tuple(p) for p in y.tolist()}
    np.testing.assert_array_equal(Climatology.of(y, None).points(50), y[np.argsort(y[:, 0])])


def test_samples_are_keyed_by_row():
    climatology = Climatology(np.arange(10.0)[:, None])
    whole = climatology.sample(500, 6, 7, 0)
    np.testing.assert_array_equal(whole[:, 4:], climatology.sample(500, 2, 7, 4))
    assert kstest(whole.ravel() + 0.5, "uniform", args=(0.0, 10.0)).statistic < 0.1
    assert len(np.unique(whole)) == 10


def test_held_out_rows_do_not_see_themselves():
    y = np.array([[0.0], [1.0], [10.0]])
    splits = [(np.array([0, 1]), np.array([2])), (np.array([1, 2]), np.array([0]))]
    points = out_of_bag_points(y, None, splits, 2)[:, :, 0]
    np.testing.assert_array_equal(points, [[0.0, 1.0], [1.0, 10.0]])


@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_crps_is_that_of_the_other_rows(shift):
    rng = np.random.default_rng(2)
    y = shift + rng.integers(0, 5, (40, 2)).astype(float)
    train, held_out = np.arange(30), np.arange(30, 40)
    losses = out_of_bag_crps(y, None, [(train, held_out)])
    assert np.isnan(losses[train]).all()
    np.testing.assert_allclose(losses[held_out], climatology_crps(y[train] - shift, y[held_out] - shift), atol=1e-9)


def test_a_weight_is_a_number_of_copies():
    rng = np.random.default_rng(3)
    y, weights = rng.standard_normal((12, 1)), rng.integers(1, 4, 12).astype(float)
    copies = np.repeat(y[:10], weights[:10].astype(int), axis=0)
    losses = out_of_bag_crps(y, weights, [(np.arange(10), np.arange(10, 12))])[10:]
    np.testing.assert_allclose(losses, climatology_crps(copies, y[10:]))
