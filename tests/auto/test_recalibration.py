"""Corrections of distributions: what PIT values reveal about them, overall and by width."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from diffgbm.auto.recalibration import (
    CELLS,
    RANKS,
    Correction,
    effective_sample_size,
    fit_correction,
    interquartile_range,
    rank,
    smooth_functions,
    weighted_quantiles,
)
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.metrics.randomisation import randomised_pit
from tests.auto.distributions import (
    adjusted,
    covered,
    distributions_of_bags,
    distributions_of_ranks,
    half_informative_distributions,
    normal_distributions,
)


def test_coverage_by_hand():
    # c = |2u - 1| with density 2 (1 - c): theta_1 = E sqrt(3) (2c - 1) = -1 / sqrt(3), and nothing of higher orders
    n = 2000
    distance = 1.0 - np.sqrt(1.0 - (np.arange(n) + 0.5) / n)
    mixed_up = np.random.default_rng(0).permutation(n)
    distribution = distributions_of_ranks(n)
    correction = fit_correction(distribution, 0.5 + 0.5 * (distance * np.where(np.arange(n) % 2, 1.0, -1.0))[mixed_up])
    assert correction.theta[1, 0] == pytest.approx(-(1.0 - 1.0 / (n / 3.0)) / np.sqrt(3.0), abs=1e-3)
    level = np.linspace(0.0, 1.0, 11)
    only = Correction(
        np.where(np.abs(correction.theta) == np.abs(correction.theta).max(), correction.theta, 0.0), RANKS
    )
    # MIN_DENSITY lifts the last twentieth by 0.1 * 0.05 / 2 of the whole
    np.testing.assert_allclose(covered(only, level), 2.0 * level - level**2, atol=3e-3)


def test_a_correction_without_coefficients_changes_nothing():
    distribution, _ = half_informative_distributions(50)
    same = Correction(np.zeros((16, 4)), np.sort(interquartile_range(distribution)))(distribution)
    np.testing.assert_allclose(same.values, distribution.values, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(same.levels, distribution.levels)


def test_corrected_distributions_have_the_coverage_of_the_correction():
    distribution = distributions_of_ranks(3)
    theta = np.zeros((16, 4))
    theta[1, 0], theta[2, 1] = -0.2, 0.1
    correction = Correction(theta, interquartile_range(distribution))
    better = correction(distribution)
    for i, at in enumerate((0.0, 0.5, 1.0)):
        for level in (0.3, 0.5, 0.9):
            low, high = distribution[i].interval(level)[0]
            assert np.diff(better[i].cdf(np.array([[low, high]])))[0, 0] == pytest.approx(
                covered(correction, level, at), abs=2e-3
            )


def test_each_row_is_corrected_by_itself():
    distribution, y = half_informative_distributions(500)
    correction = fit_correction(distribution, distribution.pit(y))
    whole = correction(distribution).values
    for rows in (slice(0, 1), slice(7, 300), [3, 499, 20]):
        np.testing.assert_array_equal(correction(distribution[rows]).values, whole[rows])


@pytest.mark.parametrize("unit", [2.0**-160, 2.0**160])
def test_the_unit_of_the_response_does_not_matter(unit):
    """Also where single precision has no numbers."""
    distribution, y = half_informative_distributions(500)
    other = PredictiveDistribution(unit * distribution.values, distribution.levels)
    found = fit_correction(other, other.pit(unit * y))(other)
    np.testing.assert_array_equal(
        found.values, unit * fit_correction(distribution, distribution.pit(y))(distribution).values
    )


@pytest.mark.parametrize("count", [4, 16])
def test_smooth_functions_are_orthonormal(count):
    c = (np.arange(200_000) + 0.5) / 200_000
    functions = smooth_functions(c, count)
    np.testing.assert_allclose(functions.T @ functions / len(c), np.eye(count), atol=1e-6)


def test_few_rows_are_described_by_few_orders():
    """A density of |2u - 1| that goes up and down five times needs orders for which 150 rows are too few."""
    grid = np.linspace(0.0, 1.0, 10_001)
    reached = grid + 0.9 * np.sin(10.0 * np.pi * grid) / (10.0 * np.pi)
    found = []
    for n in (150, 3000):
        pit = 0.5 + 0.5 * np.interp((np.arange(n) + 0.5) / n, reached, grid)
        found.append(fit_correction(distributions_of_ranks(n), np.random.default_rng(0).permutation(pit)))
    few, many = found
    assert few is None or not few.theta[4:].any()
    assert np.abs(many.theta[8:, 0]).max() > 0.2


def test_a_scaled_correction_changes_coverage_in_proportion():
    distribution, y = half_informative_distributions(800)
    whole = fit_correction(distribution, distribution.pit(y))
    ranks = np.linspace(0.1, 0.9, 5)
    half, none = whole.scaled(0.5).coverage(ranks), whole.scaled(0.0).coverage(ranks)
    np.testing.assert_allclose(half, 0.5 * (whole.coverage(ranks) + none), atol=0.01)
    np.testing.assert_array_equal(whole.scaled(1.0).theta, whole.theta)


def test_distributions_of_equal_width_share_one_correction():
    """The rank carries no information then, and must not be counted twice."""
    distribution, y = normal_distributions(3000, 1.5)
    pit = distribution.pit(y)
    correction = fit_correction(distribution, pit)
    ranks = rank(interquartile_range(distribution), correction.iqr_quantiles)
    np.testing.assert_array_equal(ranks, 0.5)
    for level in (0.3, 0.5, 0.8):
        wanted = np.mean(np.abs(2.0 * pit - 1.0) <= level)
        np.testing.assert_allclose(correction.coverage(ranks)[:, round(level * CELLS)], wanted, atol=0.02)


def test_random_deviations_are_not_corrected():
    n = 1000
    distribution = distributions_of_ranks(n)
    samples = [np.random.default_rng(seed).uniform(size=n) for seed in range(200)]
    found = [fit_correction(distribution, sample) for sample in samples]
    ranks = (np.arange(20) + 0.5) / 20

    def off(correction):
        return 0.0 if correction is None else abs(np.mean(correction.coverage(ranks)[:, CELLS // 2]) - 0.5)

    empirical = [abs(np.mean(np.abs(2.0 * sample - 1.0) <= 0.5) - 0.5) for sample in samples]
    # what uniform samples are moved by is a part of what they show
    assert np.mean(list(map(off, found))) < 0.5 * np.mean(empirical)


@given(st.integers(0, 2**32 - 1), st.integers(5, 3000), st.floats(0.2, 5.0))
def test_corrected_distributions_of_anything_are_distributions(seed, n, shape):
    rng = np.random.default_rng(seed)
    distribution = PredictiveDistribution.from_points(rng.normal(size=(n, 1)) + rng.gamma(shape, size=(n, 7)))
    correction = fit_correction(distribution, rng.beta(shape, shape, size=n), rng.uniform(0.1, 2.0, size=n))
    if correction is not None:
        better = correction(distribution[:20])
        assert (np.diff(better.values, axis=1) >= 0.0).all()
        ends = distribution[:20].quantile([0.0, 1.0])
        assert (better.values >= ends[:, :1]).all()
        assert (better.values <= ends[:, 1:]).all()


def test_pit_of_distributions_with_atoms_is_uniform():
    rng = np.random.default_rng(0)
    n = 4000
    distribution = PredictiveDistribution.from_points(np.tile(np.repeat([0.0, 1.0, 2.0], [30, 50, 20]), (n, 1)))
    y = rng.choice([0.0, 1.0, 2.0], p=[0.3, 0.5, 0.2], size=n)
    assert kstest(randomised_pit(distribution, y, rng.uniform(size=n)), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("rho", [0.02, 0.3])
def test_adjusted_observations_have_the_pit_of_the_pool(rho):
    one, many, y = distributions_of_bags(4000, rho)
    assert kstest(one.pit(y), "uniform").pvalue > 1e-3
    assert kstest(many.pit(y), one.pit(adjusted(one, y, rho))).pvalue > 1e-3
    if rho > 0.1:  # and it matters
        assert kstest(many.pit(y), one.pit(y)).pvalue < 1e-9


def test_equal_bags_do_not_adjust_observations():
    distribution, y = normal_distributions(500, 0.5)
    low, high = distribution.quantile([0.0, 1.0]).T
    beyond = (y <= low) | (y >= high)
    assert 0 < np.count_nonzero(beyond) < 250
    np.testing.assert_allclose(adjusted(distribution, y, 0.0), y, atol=1e-9)
    np.testing.assert_array_equal(adjusted(distribution, y, 10.0)[beyond], y[beyond])
    middle = distribution.quantile([0.5])[:, 0]
    moved = adjusted(distribution, y, 10.0)[~beyond]
    assert (np.abs(moved - middle[~beyond]) <= np.abs(y - middle)[~beyond]).all()


def test_rank_and_quantiles():
    values = np.array([3.0, 1.0, 2.0, 4.0])
    np.testing.assert_allclose(weighted_quantiles(values, np.array([0.0, 0.125, 0.5, 1.0])), [1.0, 1.0, 2.5, 4.0])
    # weights 1, 1, 6 of 1, 2, 3 in their order: the middles are at 1/16, 3/16 and 10/16
    heavy = np.array([6.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(weighted_quantiles(values, np.array([1, 2, 3, 10]) / 16, heavy), [1.0, 1.5, 2.0, 3.0])
    quantiles = np.array([0.0, 1.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(rank(np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 9.0]), quantiles), [0, 0, 0.125, 0.5, 1, 1])
    np.testing.assert_allclose(rank(np.full(3, 5.0), np.full(101, 5.0)), 0.5)


def test_effective_sample_size():
    assert effective_sample_size(7, None) == 7.0
    assert effective_sample_size(4, np.array([2.0, 2.0, 0.0, 0.0])) == 2.0


def test_the_correction_by_nodes_is_that_of_each_rank():
    """Interpolated between ranks, by the kernel and by quantiles, it is that of the coverage at the row's own rank."""
    distribution, y = half_informative_distributions(500)
    correction = fit_correction(distribution, distribution.pit(y))
    ranks = rank(interquartile_range(distribution), correction.iqr_quantiles)
    side, covered_at = 2.0 * distribution.levels - 1.0, correction.coverage(ranks)
    grid = np.linspace(0.0, 1.0, covered_at.shape[1])
    before = np.array([np.interp(np.abs(side), row, grid) for row in covered_at])
    exact = distribution.quantile(0.5 + 0.5 * np.sign(side) * before)
    scale = distribution.std()[:, None]
    error = np.abs(correction(distribution).values - exact) / scale
    assert error.mean() < 5e-5
    assert np.quantile(error, 0.99) < 1e-3
    by_quantiles = distribution.quantile(correction._between_nodes(ranks, distribution.levels))
    np.testing.assert_allclose(correction(distribution).values, by_quantiles, rtol=0, atol=1e-10 * scale.max())
    # levels that are not even, and a support with atoms, have no kernel
    other = replace(distribution, levels=np.sort(np.random.default_rng(0).uniform(0.01, 0.99, len(side))))
    assert correction(other).values.shape == other.values.shape


def test_a_correction_is_stored_without_its_tables():
    distribution, y = half_informative_distributions(200)
    correction = fit_correction(distribution, distribution.pit(y))
    found = correction(distribution).values
    again = pickle.loads(pickle.dumps(correction))
    assert not again._levels_before
    np.testing.assert_array_equal(again(distribution).values, found)
