"""From quantiles to points: in order, exact for normal distributions, with tails beyond the outermost levels."""

import numpy as np
import pytest
from scipy.stats import laplace, norm

from diffgbm.members.quantile_points import even_levels, points_of

LEVELS = np.arange(1, 10) / 10


def test_normal_quantiles_are_interpolated_exactly():
    points = points_of(LEVELS, norm.ppf(LEVELS, 3.0, 2.0)[None], 99)[0]
    inside = (even_levels(99) >= 0.1) & (even_levels(99) <= 0.9)
    np.testing.assert_allclose(points[inside], norm.ppf(even_levels(99)[inside], 3.0, 2.0))


def test_crossing_quantiles_are_rearranged():
    q = norm.ppf(LEVELS)
    np.testing.assert_array_equal(points_of(LEVELS, q[None, ::-1], 20), points_of(LEVELS, q[None], 20))


@pytest.mark.parametrize("outermost", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("truth", [norm, laplace])
def test_tails_are_neither_missing_nor_absurd(outermost, truth):
    """Beyond the outermost level the quantiles go on: at least two thirds, at most twice as far as they should."""
    levels = np.concatenate([[outermost], np.arange(2, 9) / 10, [1.0 - outermost]])
    points = points_of(levels, truth.ppf(levels)[None], 999)[0]
    assert np.all(np.diff(points) >= 0.0)
    beyond = truth.ppf(outermost) - points[even_levels(999) < outermost]
    expected = truth.ppf(outermost) - truth.ppf(even_levels(999)[even_levels(999) < outermost])
    # the outermost point stands for half a permille
    assert 0.66 < beyond[0] / expected[0] < 2.0
    np.testing.assert_allclose(points, -points[::-1], atol=1e-9)


def test_tails_keep_coverage():
    """Deciles of normal distributions: an interval of 98% holds about 98%, and not 80%."""
    points = points_of(LEVELS, norm.ppf(LEVELS)[None], 1000)[0]
    low, high = np.quantile(points, [0.01, 0.99])
    assert 0.975 < norm.cdf(high) - norm.cdf(low) < 0.995


def test_a_point_mass_has_no_tail():
    levels, q = np.array([0.1, 0.2, 0.5, 0.9]), np.array([[0.0, 0.0, 1.0, 4.0]])
    assert points_of(levels, q, 50).min() == 0.0


def test_tails_do_not_run_away():
    levels, q = np.array([0.4, 0.41, 0.42]), np.array([[0.0, 100.0, 101.0]])
    points = points_of(levels, q, 1000)
    assert points.min() >= -202.0
    assert points.max() <= 303.0


def test_rows_without_numbers_stay_so():
    q = np.tile(norm.ppf(LEVELS), (3, 1))
    q[1, 4], q[2, 0] = np.nan, -np.inf
    points = points_of(LEVELS, q, 10)
    assert np.isfinite(points[0]).all()
    assert np.isnan(points[1:]).all()
