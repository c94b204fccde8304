"""The parts of the automatic fit: linear pools, shapes of responses, verdicts and the clock."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffgbm import metrics
from diffgbm.auto.acceptance import coverage_error, helpful_shapes
from diffgbm.auto.atoms import MOST_ATOMS, ROWS_PER_ATOM, ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.auto.pool import LEAST, mixed, point_crps, pool_crps, pool_terms, pool_weights, shares, spread_of
from diffgbm.auto.pooled_model import owners
from diffgbm.distributions.scalar import PredictiveDistribution

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
def test_spread_is_the_mean_distance_of_all_pairs(points):
    points = np.sort(points, axis=1)
    brute = np.abs(points[:, :, None] - points[:, None, :]).mean(axis=(1, 2))
    np.testing.assert_allclose(spread_of(points), brute, atol=1e-9)


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


def test_points_must_be_as_many_for_all():
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
    assume(np.all((optimum == 0.0) | (optimum > LEAST + 0.03)))
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
    assert len(kept) == 1 or kept.min() > LEAST / 3.0
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
def test_shares_divide_all_points(weights, n):
    counts = shares(weights, n)
    assert counts.sum() == n
    assert (counts >= 0).all()
    if n >= np.count_nonzero(weights):
        assert (counts[weights > 0.0] > 0).all()
    if (weights * n >= 1.0).all():
        assert np.abs(counts - weights * n).max() < 1.0 + 1e-9


def test_a_light_member_is_not_forgotten():
    np.testing.assert_array_equal(shares(np.array([0.98, 0.01, 0.01]), 10), [8, 1, 1])


@settings(deadline=None)
@given(weight_vectors(0.01), st.integers(1, 2000))
def test_the_first_samples_are_divided_by_weight(weights, n):
    counts = np.bincount(owners(weights, n), minlength=len(weights))
    # random owners would be off by the square root of n
    assert np.abs(counts - n * weights).max() <= 2.0 + np.log(n)
    np.testing.assert_array_equal(owners(weights, n), owners(weights, 2000)[:n])


@given(weight_vectors(0.05), SEEDS)
@settings(deadline=None, max_examples=30)
def test_a_mixture_has_the_weighted_mean_of_its_members(weights, seed):
    rng = np.random.default_rng(seed)
    distributions = [np.sort(rng.normal(size=(4, 50, 2)) + shift, axis=1) for shift in range(len(weights))]
    points = mixed(distributions, weights, 1000)
    assert points.shape == (4, 1000, 2)
    assert (np.diff(points, axis=1) >= 0.0).all()
    expected = sum(w * distribution.mean(axis=1) for w, distribution in zip(weights, distributions, strict=True))
    # a member gets a whole number of points, which moves the mean by less than its distance over their number
    np.testing.assert_allclose(points.mean(axis=1), expected, atol=0.03)


def test_few_values_are_noticed():
    y = np.repeat([3.0, 5.0, 8.0], ROWS_PER_ATOM)
    shape = ResponseShape.of(y)
    np.testing.assert_array_equal(shape.atoms, [3.0, 5.0, 8.0])
    assert str(shape) == "3 values from 3 to 8"
    np.testing.assert_array_equal(shape(np.array([[-9.0, 3.9, 4.1], [6.4, 6.6, 99.0]])), [[3, 3, 5], [5, 8, 8]])


@pytest.mark.parametrize(
    "y",
    [
        np.repeat([3.0, 5.0, 8.0], ROWS_PER_ATOM - 1) + np.linspace(0.0, 1e-6, 3 * ROWS_PER_ATOM - 3),
        np.linspace(0.0, 1.0, 500),
        np.full(100, 2.0),
        np.arange(MOST_ATOMS + 1.0).repeat(ROWS_PER_ATOM)[ROWS_PER_ATOM - 1 : -ROWS_PER_ATOM + 1],
    ],
    ids=["nearly equal", "even", "constant", "many values"],
)
def test_other_responses_are_continuous(y):
    shape = ResponseShape.of(y)
    if len(np.unique(y)) == 1:  # a constant piles up at both its limits
        assert (shape.low, shape.high) == (2.0, 2.0)
        return
    assert not shape
    assert str(shape) == "continuous"
    np.testing.assert_array_equal(shape(y), y)


@pytest.mark.parametrize(("low", "high"), [(True, False), (False, True), (True, True)])
def test_a_pile_at_a_limit_is_noticed(low, high):
    y = np.random.default_rng(0).normal(size=1000)
    y = np.clip(y, -1.0 if low else None, 1.5 if high else None)
    shape = ResponseShape.of(y)
    assert shape.low == (-1.0 if low else None)
    assert shape.high == (1.5 if high else None)
    assert str(shape) == " and ".join(["at least -1"] * low + ["at most 1.5"] * high)
    far = shape(np.array([-50.0, 0.3, 50.0]))
    np.testing.assert_array_equal(far, [-1.0 if low else -50.0, 0.3, 1.5 if high else 50.0])


@given(arrays(float, 12, elements=st.floats(-1e6, 1e6)), st.lists(st.integers(-50, 50), min_size=2, unique=True))
def test_confining_is_to_the_nearest_value_and_done_once(points, values):
    atoms = np.sort(np.array(values, dtype=float))
    shape = ResponseShape(atoms=atoms)
    moved = shape(points)
    np.testing.assert_array_equal(np.abs(points - moved), np.abs(points[:, None] - atoms).min(axis=1))
    np.testing.assert_array_equal(shape(moved), moved)


def test_point_crps_is_the_ensembles():
    distributions, y = members(1, 9, 7, seed=0)
    np.testing.assert_allclose(point_crps(distributions[0], y), metrics.crps(distributions[0].T, y))


def test_a_response_is_confined_where_that_helps():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(400, 2)).astype(float)
    spread = np.sort(rng.normal(size=(400, 60, 2)) * 0.3 + y[:, None], axis=1)
    # the first response is discrete and its laws are not; the second's are already
    spread[:, :, 1] = np.clip(np.round(2.0 * spread[:, :, 1] - y[:, None, 1]), 0.0, 3.0)
    first, second = helpful_shapes(y, y, spread, None, None)
    np.testing.assert_array_equal(first.atoms, [0.0, 1.0, 2.0, 3.0])
    assert not second


def test_a_response_is_not_confined_at_the_cost_of_coverage():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(2000, 1)).astype(float)
    # laws that know nothing but the range: calibrated while they are spread over it, not when they sit on the values
    points = np.sort(rng.uniform(-0.5, 3.5, size=(2000, 60, 1)), axis=1)
    assert not helpful_shapes(y, y, points, None, None)[0]


def test_rows_without_weight_do_not_decide():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(400, 1)).astype(float)
    points = np.sort(y[:, None] + rng.normal(size=(400, 60, 1)) * 0.3, axis=1)
    points[:200] = np.clip(np.round(points[:200] + 0.3), 0.0, 3.0)  # here there is nothing to gain
    for weights, helps in ((np.arange(400) >= 200, True), (np.arange(400) < 200, False)):
        assert bool(helpful_shapes(y, y, points, weights.astype(float), None)[0]) is helps


def test_coverage_error_by_hand():
    points = np.tile(np.arange(1.0, 101.0), (4, 1))
    distribution = PredictiveDistribution.from_points(points)
    # three of four inside all intervals: errors .25, .05, .15 and .20
    assert coverage_error(distribution, np.array([50.0, 50.0, 50.0, 500.0])) == pytest.approx(
        (0.25 + 0.05 + 0.15 + 0.2) / 4
    )


def test_the_clock_counts_down():
    now = [100.0]
    clock = Clock(10.0, lambda: now[0])
    assert (clock.spent, clock.left) == (0.0, 10.0)
    assert clock.fits(5.0, 0.5)
    assert not clock.over(0.5)
    assert not clock.cut
    now[0] = 104.0
    assert (clock.spent, clock.left) == (4.0, 6.0)
    assert clock.fits(6.0)
    assert not clock.cut
    assert not clock.fits(2.0, 0.5)
    assert clock.cut  # a no is remembered
    assert clock.fits(1.0)
    assert clock.cut


def test_over_is_remembered():
    now = [0.0]
    clock = Clock(1.0, lambda: now[0])
    assert not clock.over()
    now[0] = 1.5
    assert clock.over()
    assert clock.cut
    assert clock.left == -0.5


def test_without_a_limit_everything_fits():
    clock = Clock(None, lambda: 1e9)
    assert clock.fits(1e12, 1e-9)
    assert not clock.over()
    assert clock.left == np.inf
    assert not clock.cut
