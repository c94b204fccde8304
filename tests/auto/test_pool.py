"""Linear pools: terms, weights, shares of points and mixtures."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffgbm import metrics
from diffgbm.auto.pool import (
    MIN_WEIGHT,
    mean_difference,
    mixture_points,
    point_counts,
    point_crps,
    pool_crps,
    pool_terms,
    pool_weights,
)

SEEDS = st.integers(0, 2**32 - 1)


def members(k, n, m, seed):
    """Sorted points of ``k`` members that differ in place and width, and responses."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    centre, width = rng.normal(size=(k, 1, 1)), rng.uniform(0.2, 2.0, size=(k, 1, 1))
    return list(np.sort(y[:, None] * 0.5 + centre + width * rng.normal(size=(k, n, m)), axis=2)), y


def simplex(k, steps):
    """All weights (..., k) that are multiples of ``1 / steps``."""
    grid = np.stack(np.meshgrid(*[np.arange(steps + 1)] * (k - 1), indexing="ij"), axis=-1).reshape(-1, k - 1)
    rest = steps - grid.sum(axis=1, keepdims=True)
    return np.hstack([grid, rest])[rest[:, 0] >= 0] / steps


@given(arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-1e3, 1e3)))
def test_mean_difference_is_the_mean_distance_of_all_pairs(points):
    points = np.sort(points, axis=1)
    brute = np.abs(points[:, :, None] - points[:, None, :]).mean(axis=(1, 2))
    np.testing.assert_allclose(mean_difference(points), brute, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_terms_are_averages_over_all_pairs_of_points(weighted):
    distributions, y = members(3, 7, 5, seed=0)
    weights = np.random.default_rng(1).uniform(size=7) if weighted else None
    to_y, between = pool_terms(distributions, y, weights)
    for i in range(3):
        assert to_y[i] == pytest.approx(np.average(np.abs(distributions[i] - y[:, None]).mean(axis=1), weights=weights))
        for j in range(3):
            distance = np.abs(distributions[i][:, :, None] - distributions[j][:, None, :]).mean(axis=(1, 2))
            assert between[i, j] == pytest.approx(np.average(distance, weights=weights))


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), SEEDS)
def test_crps_of_equal_weights_is_that_of_all_points_together(k, m, seed):
    distributions, y = members(k, 5, m, seed)
    together = metrics.crps(np.hstack(distributions).T, y).mean()
    assert pool_crps(np.full(k, 1.0 / k), *pool_terms(distributions, y)) == pytest.approx(together)


def test_members_must_have_equally_many_points():
    with pytest.raises(ValueError, match="same number of points"):
        pool_terms([np.zeros((2, 3)), np.zeros((2, 4))], np.zeros(2))


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 3), SEEDS)
def test_weights_are_those_of_least_crps(k, seed):
    terms = pool_terms(*members(k, 30, 8, seed))
    grid = simplex(k, 400 if k == 2 else 80)
    values = np.array([pool_crps(w, *terms) for w in grid])
    optimum = grid[values.argmin()]
    # members of little weight are left out on purpose
    assume(np.all((optimum == 0.0) | (optimum > MIN_WEIGHT + 0.03)))
    weights = pool_weights(*terms)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0.0).all()
    assert pool_crps(weights, *terms) <= values.min() + 1e-9
    np.testing.assert_allclose(weights, optimum, atol=0.06)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), SEEDS)
def test_weights_are_sparse_and_no_worse_than_equal_ones(k, seed):
    terms = pool_terms(*members(k, 20, 6, seed))
    weights = pool_weights(*terms)
    assert weights.sum() == pytest.approx(1.0)
    kept = weights[weights > 0.0]
    assert len(kept) == 1 or kept.min() > MIN_WEIGHT / 3.0
    alone = min(pool_crps(row, *terms) for row in np.eye(k))
    assert pool_crps(weights, *terms) <= alone * (1.0 + 1e-6)


def test_identical_members_are_as_good_as_one():
    distributions, y = members(1, 20, 6, seed=3)
    terms = pool_terms(distributions * 3, y)
    weights = pool_weights(*terms)
    assert weights.sum() == pytest.approx(1.0)
    assert pool_crps(weights, *terms) == pytest.approx(point_crps(distributions[0], y).mean())


def test_a_dominant_member_takes_all():
    distributions, y = members(2, 20, 6, seed=4)
    exact = y[:, None] + np.linspace(-1e-3, 1e-3, 6)
    np.testing.assert_array_equal(
        pool_weights(*pool_terms([distributions[0] + 9.0, exact, distributions[1] - 9.0], y)), [0.0, 1.0, 0.0]
    )


def test_one_member_has_all_weight():
    np.testing.assert_array_equal(pool_weights(*pool_terms(*members(1, 5, 4, seed=0))), [1.0])


@st.composite
def weight_vectors(draw, least=0.0):
    raw = np.array(draw(st.lists(st.floats(least, 1.0), min_size=1, max_size=6)))
    assume(raw.sum() > 1e-3)
    return raw / raw.sum()


@given(weight_vectors(), st.integers(1, 400))
def test_point_counts_divide_all_points(weights, n):
    counts = point_counts(weights, n)
    assert counts.sum() == n
    assert (counts >= 0).all()
    if n >= np.count_nonzero(weights):
        assert (counts[weights > 0.0] > 0).all()
    if (weights * n >= 1.0).all():
        assert np.abs(counts - weights * n).max() < 1.0 + 1e-9


def test_a_member_of_small_weight_gets_a_point():
    np.testing.assert_array_equal(point_counts(np.array([0.98, 0.01, 0.01]), 10), [8, 1, 1])


@given(weight_vectors(0.05), SEEDS)
@settings(deadline=None, max_examples=30)
def test_a_mixture_has_the_weighted_mean_of_its_members(weights, seed):
    rng = np.random.default_rng(seed)
    distributions = [np.sort(rng.normal(size=(4, 50, 2)) + shift, axis=1) for shift in range(len(weights))]
    points = mixture_points(distributions, weights, 1000)
    assert points.shape == (4, 1000, 2)
    assert (np.diff(points, axis=1) >= 0.0).all()
    expected = sum(w * distribution.mean(axis=1) for w, distribution in zip(weights, distributions, strict=True))
    # a member gets a whole number of points, which moves the mean by less than its distance over their number
    np.testing.assert_allclose(points.mean(axis=1), expected, atol=0.03)


def test_point_crps_is_that_of_the_ensemble():
    distributions, y = members(1, 9, 7, seed=0)
    np.testing.assert_allclose(point_crps(distributions[0], y), metrics.crps(distributions[0].T, y))
