"""Supports: atoms hold exactly their share of the probability, and nothing lies beyond the limits."""

import numpy as np
import pytest
from scipy.stats import poisson

from diffgbm.distributions import JointDistribution, PredictiveDistribution
from diffgbm.distributions.support import Support

COUNTS = np.arange(60.0)


def poisson_distribution(n=3, m=400):
    points = poisson.ppf((np.arange(m) + 0.5) / m, 2.5)
    return PredictiveDistribution.from_points(np.tile(points, (n, 1)), support=Support(0.0, np.inf, COUNTS))


def test_a_mixture_has_all_atoms_and_the_widest_limits():
    assert Support.union([None, None]) is None
    both = Support.union([Support(0.0, 5.0, np.array([0.0, 2.0])), Support(-1.0, 4.0, np.array([1.0, 2.0]))])
    assert (both.low, both.high, both.atoms.tolist()) == (-1.0, 5.0, [0.0, 1.0, 2.0])
    free = Support.union([Support(0.0, 5.0, np.array([2.0])), None])
    assert (free.low, free.high, free.atoms.tolist()) == (-np.inf, np.inf, [2.0])


def test_probabilities_of_counts_are_those_of_the_values():
    distribution, points = poisson_distribution(), poisson_distribution().values[0]
    for value in range(-1, 12):
        np.testing.assert_allclose(distribution.cdf(value), np.mean(points <= value), atol=1e-12)
        np.testing.assert_allclose(distribution.sf(value), np.mean(points > value), atol=1e-12)
        np.testing.assert_allclose(distribution.pmf(value), np.mean(points == value), atol=1e-12)
        np.testing.assert_allclose(distribution.pmf(value), poisson.pmf(value, 2.5), atol=1.1 / 400)
        np.testing.assert_allclose(distribution.prob_at_least(value), np.mean(points >= value), atol=1e-12)
        np.testing.assert_allclose(distribution.cdf(value + 0.5), distribution.cdf(value), atol=1e-12)
    np.testing.assert_allclose(distribution.prob_between(0.0, 2.0), np.mean((points > 0) & (points <= 2)), atol=1e-12)


def test_quantiles_and_samples_of_counts_are_counts():
    distribution = poisson_distribution()
    levels = np.linspace(0.0, 1.0, 1001)
    quantiles = distribution.quantile(levels)
    assert np.isin(quantiles, COUNTS).all()
    inner = slice(1, -1)
    # the empirical quantile function, inf{y: F(y) >= q}
    expected = np.quantile(distribution.values[0], levels[inner], method="inverted_cdf")
    assert np.mean(quantiles[0, inner] != expected) < 0.01  # rounding of levels that are a multiple of 1/400
    np.testing.assert_array_equal(distribution.quantile(np.tile(levels, (3, 1))), quantiles)
    samples = distribution.sample(2000, seed=0)
    assert np.isin(samples, COUNTS).all()
    assert samples.mean() == pytest.approx(2.5, abs=0.1)
    assert distribution.quantile(0.5).shape == (3,)


def test_moments_and_crps_are_those_of_the_points():
    distribution, y = poisson_distribution(), np.array([0.0, 2.0, 7.0])
    points = distribution.values
    np.testing.assert_allclose(distribution.mean(), points.mean(axis=1))
    np.testing.assert_allclose(distribution.var(), points.var(axis=1))
    between = np.abs(points[0][:, None] - points[0]).mean()
    np.testing.assert_allclose(distribution.crps(y), np.abs(points - y[:, None]).mean(axis=1) - 0.5 * between)


def test_an_atom_beside_a_continuous_part():
    points = np.concatenate([np.zeros(70), np.arange(1.0, 31.0)])
    distribution = PredictiveDistribution.from_points(points[None], support=Support(0.0, np.inf, np.zeros(1)))
    assert distribution.cdf(0.0)[0] == pytest.approx(0.7)
    assert distribution.pmf(0.0)[0] == pytest.approx(0.7)
    assert distribution.cdf(-1e-9)[0] == 0.0
    assert distribution.pmf(3.0)[0] == 0.0
    assert distribution.quantile(0.69)[0] == 0.0
    assert distribution.quantile(0.705)[0] == pytest.approx(1.0)
    assert distribution.quantile(0.0)[0] == 0.0
    assert np.mean(distribution.sample(5000, seed=0) == 0.0) == pytest.approx(0.7, abs=0.03)


def test_nothing_lies_beyond_the_limits():
    points = np.array([[0.1, 5.0, 9.9]])
    free = PredictiveDistribution.from_points(points)
    confined = PredictiveDistribution.from_points(points, support=Support(0.0, 10.0))
    assert free.quantile(0.0)[0] < 0.0 < free.cdf(0.0)[0]
    assert confined.quantile(0.0)[0] == 0.0
    assert confined.quantile(1.0)[0] == 10.0
    assert confined.cdf(-1e-12)[0] == 0.0
    assert (confined.sample(500, seed=0) >= 0.0).all()


def test_rows_and_appended_rows_keep_the_support():
    distribution = poisson_distribution()
    assert distribution[1].support is distribution.support
    assert distribution.append([distribution]).pmf(0.0).shape == (6,)
    np.testing.assert_array_equal(distribution.append([distribution]).pmf(1.0)[:3], distribution.pmf(1.0))


def test_marginals_of_joint_distributions_have_supports():
    points = np.stack([poisson_distribution(2).values, np.random.default_rng(0).normal(size=(2, 400))], axis=2)
    joint = JointDistribution(points, ("count", "size"), None, (Support(atoms=COUNTS), None))
    np.testing.assert_allclose(joint.pmf([2.0, 0.0])[:, 0], poisson.pmf(2, 2.5), atol=0.003)
    np.testing.assert_array_equal(joint.pmf([2.0, 0.0])[:, 1], 0.0)
    assert joint[0]["count"].support is joint.supports[0]
    assert joint.append([joint]).supports is joint.supports


def test_no_rows():
    empty = poisson_distribution()[np.arange(0)]
    assert empty.quantile(0.5).shape == (0,)
    assert empty.quantile([0.1, 0.5]).shape == (0, 2)
    assert empty.pmf(1.0).shape == (0,)
    assert empty.crps(np.empty(0)).shape == (0,)


@pytest.mark.parametrize(("low", "high"), [(0.0, np.inf), (-np.inf, 1.0), (0.0, 1.0), (5.0, 6.0), (-1e6, 1e6)])
def test_points_beyond_limits_are_moved_inside_in_order(low, high):
    points = np.sort(np.random.default_rng(0).normal(0.5, [[0.1], [1.0], [30.0]], size=(3, 200)), axis=1)
    support = Support(low, high)
    moved = support.confined(points)
    assert moved.min() > low
    assert moved.max() < high
    assert (np.diff(moved, axis=1) >= 0.0).all()
    distribution = PredictiveDistribution.from_points(moved, support=support)
    assert (distribution.pmf(low if np.isfinite(low) else high) == 0.0).all()
    np.testing.assert_array_equal(support.confined(moved), moved)


def test_few_points_move():
    points = np.sort(np.random.default_rng(1).normal(1.0, 1.0, size=(1, 1000)), axis=1)
    moved = Support(0.0, np.inf).confined(points)
    assert (moved != points).mean() == pytest.approx(2.0 * (points < 0.0).mean())
    assert (moved[points >= np.quantile(points, 0.35)] == points[points >= np.quantile(points, 0.35)]).all()


def test_whole_numbers_are_atoms():
    support = Support(0.0, 3.0, integers=True)
    distribution = PredictiveDistribution.from_points(
        support.rounded(np.array([[-2.0, 0.4, 0.5, 1.5, 2.4, 9.0]])), support=support
    )
    np.testing.assert_array_equal(distribution.values, [[0.0, 0.0, 1.0, 2.0, 2.0, 3.0]])
    np.testing.assert_allclose(distribution.pmf(np.arange(4.0)[None]), [[1 / 3, 1 / 6, 1 / 3, 1 / 6]])
    np.testing.assert_allclose(distribution.transform(np.negative).pmf(-2.0), 1 / 3)
    np.testing.assert_allclose(distribution.transform(lambda y: (y - 2.0) ** 2).pmf(0.0), 1 / 3)
    np.testing.assert_allclose(distribution.transform(np.exp).pmf(np.exp(2.0)), 1 / 3)
    assert str(support) == "whole numbers at least 0 and at most 3"
    assert Support.union([support, Support()]).integers


def test_densities_integrate_to_one_between_limits():
    rng = np.random.default_rng(0)
    for points, support in (
        (rng.uniform(size=(2, 5)), Support(0.0, 1.0)),
        (rng.exponential(size=(2, 300)), Support(0.0, np.inf)),
        (-rng.exponential(size=(2, 300)), Support(-np.inf, 0.0)),
    ):
        distribution = PredictiveDistribution.from_points(points, support=support)
        grid = np.linspace(max(support.low, -30.0), min(support.high, 30.0), 100_001)
        np.testing.assert_allclose(np.trapezoid(distribution.pdf(grid[None]), grid, axis=1), 1.0, atol=1e-3)
        outside = support.low - 1e-9 if np.isfinite(support.low) else support.high + 1e-9
        assert (distribution.pdf(outside) == 0.0).all()


def test_joint_points_keep_their_ranks_and_samples_follow():
    rng = np.random.default_rng(0)
    points, support = rng.normal(0.5, 1.0, size=(6, 200)), Support(0.0)
    moved = support.moved(points)
    assert moved.min() > 0.0
    np.testing.assert_array_equal(np.argsort(moved, axis=1), np.argsort(points, axis=1))
    samples = rng.normal(0.5, 1.0, size=(50, 6))
    carried = support.carried(samples, points)
    assert carried.min() > 0.0
    np.testing.assert_array_equal(support.carried(samples[:7], points), carried[:7])
    far = samples > np.sort(points, axis=1)[:, 190]
    np.testing.assert_array_equal(carried[far], samples[far])
    piled = Support(0.0, atoms=np.zeros(1))
    np.testing.assert_array_equal(piled.moved(points), np.maximum(points, 0.0))
    np.testing.assert_array_equal(Support(0.0, integers=True).carried(samples, points), np.maximum(np.rint(samples), 0))
