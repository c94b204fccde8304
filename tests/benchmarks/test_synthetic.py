"""The synthetic distributions: draws, distribution functions, moments and scores agree."""

import numpy as np
import pytest
import scoringrules
from benchmarks.conditionals import Gamma, Normal, Student, TwoNormals, TwoResponses
from benchmarks.synthetic import DISTRIBUTIONS
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

SCALAR = [distribution for distribution in DISTRIBUTIONS.values() if distribution.n_outputs == 1]
ALL = list(DISTRIBUTIONS.values())
P_VALUE = 1e-3
"""Level of the tests at a fixed seed: a correct distribution fails at one in a thousand seeds."""

by_name = pytest.mark.parametrize("distribution", ALL, ids=lambda distribution: distribution.name)
scalar_by_name = pytest.mark.parametrize("distribution", SCALAR, ids=lambda distribution: distribution.name)
unit = st.floats(0.0, 1.0)


def rows(n=5, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 2))


def test_the_seven_are_there():
    assert list(DISTRIBUTIONS) == [
        "homoscedastic",
        "heteroscedastic_linear",
        "heteroscedastic_nonlinear",
        "student_t",
        "skewed",
        "bimodal",
        "two_outputs",
    ]


@by_name
def test_shapes(distribution):
    rng = np.random.default_rng(0)
    table = distribution.draw(6, rng)
    tail = () if distribution.n_outputs == 1 else (2,)
    assert table.X.shape == (6, 2)
    assert table.y.shape == distribution.mean(table.X).shape == distribution.std(table.X).shape == (6, *tail)
    assert distribution.sample(table.X, 4, rng).shape == (4, 6, *tail)
    assert distribution.cdf(table.X, table.y).shape == (6, *tail)
    assert distribution.score(table.X, table.y).shape == distribution.expected_score(table.X).shape == (6,)


@by_name
def test_a_seed_draws_the_same_rows(distribution):
    first, second = (distribution.draw(10, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)


@by_name
def test_the_transform_of_draws_is_uniform(distribution):
    table = distribution.draw(4000, np.random.default_rng(1))
    transformed = distribution.cdf(table.X, table.y).reshape(4000, -1)
    for column in transformed.T:
        assert stats.kstest(column, "uniform").pvalue > P_VALUE
    if distribution.n_outputs == 2:
        assert stats.pearsonr(*transformed.T).pvalue > P_VALUE


@by_name
@given(x1=unit, x2=unit, p=st.floats(0.001, 0.999), q=st.floats(0.001, 0.999))
def test_cdf_inverts_quantile(distribution, x1, x2, p, q):
    X = np.array([[x1, x2]])
    level = p if distribution.n_outputs == 1 else np.array([[p, q]])
    np.testing.assert_allclose(
        distribution.cdf(X, distribution.quantile(X, level)),
        np.broadcast_to(level, distribution.mean(X).shape),
        atol=1e-9,
    )


@scalar_by_name
def test_quantiles_of_several_levels_broadcast_and_rise(distribution):
    X, levels = rows(), np.linspace(0.02, 0.98, 25)
    quantiles = distribution.quantile(X, levels[:, None])
    assert quantiles.shape == (25, 5)
    assert (np.diff(quantiles, axis=0) > 0.0).all()
    np.testing.assert_allclose(distribution.cdf(X, quantiles), np.broadcast_to(levels[:, None], (25, 5)), atol=1e-9)


def fine_grid(distribution, X):
    """Points (20001, n) that reach from quantile 1e-9 to 1 - 1e-9 of each row, and the distribution function there."""
    ends = distribution.quantile(X, np.array([[1e-9], [1.0 - 1e-9]]))
    grid = np.linspace(*ends, 20_001)
    return grid, distribution.cdf(X, grid)


@scalar_by_name
def test_moments_are_integrals_of_the_distribution_function(distribution):
    X = rows(3)
    grid, F = fine_grid(distribution, X)
    mean = grid[-1] - integrate.trapezoid(F, grid, axis=0)
    tails = np.where(grid < mean, F, 1.0 - F) * np.abs(grid - mean)
    np.testing.assert_allclose(distribution.mean(X), mean, atol=1e-4)
    np.testing.assert_allclose(distribution.std(X), np.sqrt(2.0 * integrate.trapezoid(tails, grid, axis=0)), rtol=1e-3)


@by_name
def test_moments_are_those_of_samples(distribution):
    X, n = rows(), 40_000
    samples = distribution.sample(X, n, np.random.default_rng(2))
    z = (samples.mean(axis=0) - distribution.mean(X)) / (distribution.std(X) / np.sqrt(n))
    assert np.abs(z).max() < stats.norm.isf(P_VALUE / 2 / z.size)
    if distribution.name != "student_t":  # four degrees of freedom: the variance of the variance is infinite
        deviations = (samples - samples.mean(axis=0)) ** 2
        z = (deviations.mean(axis=0) - distribution.std(X) ** 2) / (deviations.std(axis=0) / np.sqrt(n))
        assert np.abs(z).max() < stats.norm.isf(P_VALUE / 2 / z.size)


def test_the_correlation_of_two_outputs_is_that_of_samples():
    distribution, X, n = DISTRIBUTIONS["two_outputs"], rows(), 20_000
    samples = distribution.sample(X, n, np.random.default_rng(4))
    for i, correlation in enumerate(distribution.conditional(X).correlation):
        z = np.arctanh(np.corrcoef(samples[:, i].T)[0, 1]) - np.arctanh(correlation)
        assert abs(z) * np.sqrt(n - 3) < stats.norm.isf(P_VALUE / 2 / len(X))


@by_name
def test_the_expected_score_is_the_mean_score_of_observations(distribution):
    X, n = rows(), 10_000
    scores = distribution.score(X, distribution.sample(X, n, np.random.default_rng(5)))
    z = (scores.mean(axis=0) - distribution.expected_score(X)) / (scores.std(axis=0) / np.sqrt(n))
    assert np.abs(z).max() < stats.norm.isf(P_VALUE / 2 / len(X))


@scalar_by_name
def test_the_score_is_the_integral_of_its_definition(distribution):
    X = rows(3)
    grid, F = fine_grid(distribution, X)
    y = grid[np.argmax(F > 0.7, axis=0), np.arange(3)]  # a point of the grid: the step is between two of its cells
    steps = integrate.trapezoid(np.where(grid <= y, F, 0.0) ** 2 + np.where(grid >= y, 1.0 - F, 0.0) ** 2, grid, axis=0)
    at_y = (
        distribution.cdf(X, y) ** 2 + (1.0 - distribution.cdf(X, y)) ** 2
    )  # counted whole where half a cell belongs to each side
    half_cell = 0.5 * (grid[1] - grid[0])
    expected = steps - half_cell * at_y
    np.testing.assert_allclose(distribution.score(X, y), expected, rtol=1e-4)


@by_name
def test_scores_are_those_of_an_ensemble_of_exact_samples(distribution):
    X, n = rows(3), 200
    rng = np.random.default_rng(6)
    y = distribution.sample(X, 1, rng)[0]
    errors = []
    for _ in range(20):
        samples = distribution.sample(X, n, rng)
        if distribution.n_outputs == 1:
            result = scoringrules.crps_ensemble(y, samples.T, estimator="fair", backend="numpy")
        else:
            distance = np.linalg.norm(samples - y, axis=-1).mean(axis=0)
            halves = np.linalg.norm(samples[::2] - samples[1::2], axis=-1).mean(axis=0)
            result = distance - 0.5 * halves
        errors.append(result - distribution.score(X, y))
    t = stats.ttest_1samp(np.array(errors), 0.0)
    assert t.pvalue.min() > P_VALUE / 3


def test_the_energy_score_of_one_dimension_is_the_crps():
    # a second response with zero variance at its observation leaves the score of the first
    location, scale, y = np.array([[0.3, 2.0]]), np.array([[0.5, 1e-7]]), np.array([[1.1, 2.0]])
    distribution = TwoResponses(location, scale, np.array([0.0]))
    assert distribution.score(y)[0] == pytest.approx(scoringrules.crps_normal(1.1, 0.3, 0.5), rel=1e-3)
    assert distribution.expected_score()[0] == pytest.approx(0.5 / np.sqrt(np.pi), rel=1e-6)


def test_the_expected_energy_score_of_a_round_distribution_is_known():
    distribution = TwoResponses(np.zeros((1, 2)), np.full((1, 2), 2.0), np.zeros(1))
    assert distribution.expected_score()[0] == pytest.approx(np.sqrt(np.pi))  # half of E||N(0, 8 I)|| = 2 sqrt(pi)


@given(shift=st.floats(-3.0, 3.0), scale=st.floats(0.1, 3.0))
def test_distributions_agree_where_they_meet(shift, scale):
    one = np.ones(1)
    normal = Normal(shift * one, scale * one)
    y, p = np.array([0.4]), np.array([0.3])
    student = Student(shift * one, scale * one, 1e8)
    merged = TwoNormals(0.3 * one, shift * one, shift * one, scale * one)
    for other in (student, merged):
        assert other.cdf(y)[0] == pytest.approx(normal.cdf(y)[0], abs=1e-6)
        assert other.quantile(p)[0] == pytest.approx(normal.quantile(p)[0], abs=1e-5)
        assert other.std()[0] == pytest.approx(normal.std()[0])
        assert other.score(y)[0] == pytest.approx(normal.score(y)[0], abs=1e-5)
        assert other.expected_score()[0] == pytest.approx(normal.expected_score()[0], abs=1e-5)


def test_a_gamma_of_shape_one_is_exponential():
    distribution = Gamma(np.ones(1), np.full(1, 2.0))
    assert distribution.cdf(3.0)[0] == pytest.approx(1.0 - np.exp(-1.5))
    assert distribution.cdf(-1.0)[0] == 0.0
    assert distribution.quantile(0.5)[0] == pytest.approx(2.0 * np.log(2.0))
    assert distribution.expected_score()[0] == pytest.approx(1.0)  # E|Y - Y'| is the scale


@by_name
@pytest.mark.parametrize(("shift", "stretch"), [(0.2, 1.0), (-0.2, 1.0), (0.0, 1.4), (0.0, 0.7)])
def test_no_shifted_or_stretched_distribution_scores_better(distribution, shift, stretch):
    X, n = rows(), 2000
    truths = distribution.sample(X, n, np.random.default_rng(7))
    centre = distribution.mean(X)
    # a shifted and stretched distribution scores like the original at an observation moved the other way
    moved = stretch * distribution.score(X, centre + (truths - centre - shift) / stretch)
    loss = (moved - distribution.score(X, truths)).mean(axis=1)
    assert loss.mean() > stats.norm.isf(P_VALUE) * loss.std() / np.sqrt(n)
