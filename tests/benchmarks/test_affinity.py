"""iBUG's parts that need no XGBoost: neighbours by shared leaves, and the calibration of their variance."""

import numpy as np
import pytest
from benchmarks.families._affinity import neighbour_variance
from benchmarks.families.ibug import Calibration, normal_nll
from hypothesis import given, settings
from hypothesis import strategies as st


def plain_variance(train, y, query, k):
    """The definition, row by row: sort by affinity, let ties at the k-th rank share."""
    out = []
    for row in query:
        affinity = (train == row).sum(axis=1)
        kth = np.sort(affinity)[::-1][k - 1]
        above, tied = affinity > kth, affinity == kth
        weights = above + tied * (k - above.sum()) / tied.sum()
        mean = np.average(y, weights=weights)
        out.append(np.average((y - mean) ** 2, weights=weights))
    return np.array(out)


@given(
    n=st.integers(1, 40),
    n_trees=st.integers(1, 12),
    n_leaves=st.integers(1, 6),
    k=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
@settings(deadline=None)
def test_neighbours_are_those_of_the_definition(n, n_trees, n_leaves, k, seed):
    rng = np.random.default_rng(seed)
    train = rng.integers(n_leaves, size=(n, n_trees), dtype=np.int32)
    query = rng.integers(n_leaves + 2, size=(7, n_trees), dtype=np.int32)  # some leaves hold no training row
    y = rng.standard_normal(n)
    result = neighbour_variance(train, y, query, k, threads=1)
    np.testing.assert_allclose(result, plain_variance(train, y, query, min(k, n)), atol=1e-12)


def test_order_of_the_rows_and_threads_change_nothing():
    rng = np.random.default_rng(0)
    train, query = (rng.integers(4, size=(size, 20), dtype=np.int32) for size in (200, 150))
    y = rng.standard_normal(200)
    order = rng.permutation(200)
    result = neighbour_variance(train, y, query, 15, threads=1)
    np.testing.assert_allclose(neighbour_variance(train[order], y[order], query, 15, threads=1), result, rtol=1e-9)
    assert np.array_equal(neighbour_variance(train, y, query, 15, threads=2), result)


def test_all_rows_as_neighbours_give_the_variance_of_the_response():
    rng = np.random.default_rng(1)
    train, y = rng.integers(3, size=(50, 5), dtype=np.int32), rng.standard_normal(50)
    np.testing.assert_allclose(neighbour_variance(train, y, train, 1000, threads=1), y.var())


@pytest.mark.parametrize("factor", [0.01, 1.0, 25.0])
def test_calibration_finds_a_wrong_factor(factor):
    rng = np.random.default_rng(2)
    variances = np.exp(rng.uniform(-2.0, 2.0, 3000))
    errors = np.sqrt(factor * variances) * rng.standard_normal(3000)
    chosen = Calibration.fit(errors, variances)
    # the grid's ratios are at most 2.5, so the nearest value is within its square root, 1.6; 3000 rows add 3%
    assert chosen.delta == 0.0
    assert 1.0 / 1.65 < chosen.gamma / factor < 1.65
    assert normal_nll(errors, chosen(variances)) <= normal_nll(errors, variances)


def test_calibration_finds_missing_noise():
    rng = np.random.default_rng(3)
    variances = np.exp(rng.uniform(-12.0, -8.0, 2000))
    chosen = Calibration.fit(rng.standard_normal(2000), variances)
    assert (chosen.gamma, chosen.delta) == (1.0, 1.0)


def test_neighbours_that_all_agree_still_give_a_distribution():
    chosen = Calibration.fit(np.array([0.1, -0.1, 0.05]), np.zeros(3))
    assert np.all(chosen(np.zeros(4)) > 0.0)
    assert 1e-3 < chosen(np.zeros(1))[0] < 1e-1
