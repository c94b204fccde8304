"""Drawn densities: one mode for one, two for two, nothing beyond limits, point masses apart, little is moved."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, trapezoid
from scipy.stats import lognorm, norm

from diffgbm import DiffGBM
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.smoothing import MOST_MOVED, smooth_rows
from diffgbm.distributions.support import Support

POINTS = 256


def from_density(density, grid, support=None):
    """The distribution of ``POINTS`` points with a density on a fine grid."""
    cdf = cumulative_trapezoid(density, grid, initial=0.0)
    points = np.interp((np.arange(POINTS) + 0.5) / POINTS, cdf / cdf[-1], grid)
    return PredictiveDistribution.from_points(points[None], support=support)


def mixture(*parts):
    """Return a function: the density of a mixture of normals (weight, mean, standard deviation)."""
    return lambda y: sum(weight * norm.pdf(y, mean, std) for weight, mean, std in parts)


def modes(density):
    """Number of maxima; steps of less than a thousandth of the peak do not count."""
    steps = np.diff(density / density.max())
    signs = np.sign(steps[np.abs(steps) > 1e-4])
    return int(np.sum((signs[1:] < 0) & (signs[:-1] > 0)))


@pytest.fixture(scope="module")
def prices():
    """Log-normal prices of 800 training rows: predictions of 40 new rows, and their true densities."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(840, 3))
    location, scale = 11.0 + X[:, 0] + 0.5 * X[:, 1], 0.3 + 0.3 * X[:, 2]
    y = np.exp(location + scale * rng.standard_normal(840))
    model = DiffGBM(n_jobs=1, seed=0).fit(X[:800], y[:800])
    truth = lognorm(scale[800:], scale=np.exp(location[800:]))
    return model.predict_distribution(X[800:]), truth


def test_densities_of_lognormal_prices_have_one_mode(prices):
    distribution, truth = prices
    grid = np.linspace(0.0, 4.5e5, 800)
    smooth, exact = distribution.smooth_pdf(grid[None]), distribution.pdf(grid[None])
    true = np.array([truth.pdf(y) for y in grid]).T
    assert np.median([modes(density) for density in exact]) >= 5
    assert np.mean([modes(density) == 1 for density in smooth]) >= 0.9
    distance = {name: trapezoid(np.abs(d - true), grid).mean() for name, d in (("smooth", smooth), ("exact", exact))}
    assert distance["smooth"] < distance["exact"]
    # spikes stand out of the truth, a smooth density does not
    assert np.median(smooth.max(axis=1) / true.max(axis=1)) < 1.2


@pytest.mark.parametrize(
    "parts",
    [
        [(0.5, -1.5, 1.0), (0.5, 1.5, 1.0)],
        [(0.5, -10.0, 1.0), (0.5, 10.0, 1.0)],
        [(0.7, 0.0, 1.0), (0.3, 5.0, 0.5)],
        [(0.88, 0.0, 1.0), (0.12, 6.0, 1.0)],
        [(0.5, 0.0, 0.05), (0.5, 5.0, 1.0)],
        [(0.33, 0.0, 0.5), (0.34, 4.0, 0.5), (0.33, 8.0, 0.5)],
    ],
    ids=["close", "far", "uneven", "small", "narrow", "three"],
)
def test_true_modes_stay(parts):
    grid = np.linspace(-15.0, 15.0, 6001)
    true = mixture(*parts)(grid)
    smooth = from_density(true, grid).smooth_pdf(grid[None])[0]
    assert modes(smooth) == modes(true) == len(parts)
    for _, mean, std in parts:  # each mode is where it belongs
        near = np.abs(grid - mean) < 1.2 * std
        assert smooth[near].max() == pytest.approx(true[near].max(), rel=0.5)


def test_a_spike_of_little_probability_disappears():
    grid = np.linspace(-6.0, 6.0, 12001)
    spiky = mixture((0.95, 0.0, 1.0), (0.05, 0.6, 0.01))(grid)
    distribution = from_density(spiky, grid)
    assert distribution.pdf(0.6)[0] > 3 * norm.pdf(0.0)
    smooth = distribution.smooth_pdf(grid[None])[0]
    assert modes(smooth) == 1
    assert smooth.max() < 1.2 * norm.pdf(0.0)


def test_a_spike_in_the_tail_disappears():
    grid = np.linspace(-6.0, 6.0, 12001)
    distribution = from_density(mixture((0.98, 0.0, 1.0), (0.02, -3.5, 0.01))(grid), grid)
    smooth = distribution.smooth_pdf(grid[None])[0]
    assert modes(smooth) == 1
    assert distribution.pdf(-3.5)[0] > 0.2
    assert smooth[np.abs(grid + 3.5) < 0.2].max() < 0.05 * smooth.max()


@pytest.mark.parametrize("seed", range(4))
def test_the_distribution_function_moves_little(seed):
    rng = np.random.default_rng(seed)
    grid = np.linspace(-40.0, 40.0, 20001)
    parts = [(1.0 / 6, m, s) for m, s in zip(rng.uniform(-9, 9, 6), 10 ** rng.uniform(-2, 0.5, 6), strict=True)]
    true = mixture(*parts)(grid)
    smooth = from_density(true, grid).smooth_pdf(grid[None])[0]
    distance = cumulative_trapezoid(smooth - true, grid, initial=0.0)
    assert np.abs(distance).max() < MOST_MOVED + 0.02


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_nothing_leaks_beyond_a_limit(side):
    grid = np.linspace(0.0, 12.0, 6001)
    support = Support(low=0.0) if side > 0 else Support(high=0.0)
    decay = from_density(np.exp(-grid), grid)
    distribution = PredictiveDistribution.from_points(side * decay.values, support=support)
    at = np.linspace(-2.0, 12.0, 1401)
    smooth = distribution.smooth_pdf(side * at[None])[0]
    assert not smooth[at < 0.0].any()
    assert trapezoid(smooth, at) == pytest.approx(1.0, abs=0.02)
    assert smooth[at == 0.0].item() > 0.75


def test_point_masses_are_apart():
    points = np.concatenate([np.zeros(150), np.linspace(1.0, 2.0, 50)])
    (row,) = smooth_rows(PredictiveDistribution.from_points(points[None], support=Support(low=0.0)))
    assert row.atoms.tolist() == [0.0]
    assert row.masses == pytest.approx([0.75])
    assert row.share == pytest.approx(0.25)
    grid = np.linspace(0.0, 4.0, 2001)
    assert trapezoid(row.pdf(grid), grid) == pytest.approx(0.25, abs=0.01)


def test_an_atom_has_the_probability_that_pmf_gives():
    """A limit moves points of the continuous part next to the atom; they are drawn as density, not as its mass."""
    beside = np.full(30, np.nextafter(0.0, 1.0))
    points = np.concatenate([np.zeros(20), beside, np.linspace(0.1, 2.0, 150)])[None]
    distribution = PredictiveDistribution.from_points(points, support=Support(low=0.0, atoms=np.zeros(1)))
    (row,) = smooth_rows(distribution)
    assert row.atoms.tolist() == [0.0]
    assert row.masses == pytest.approx(distribution.pmf(0.0), abs=0.005)
    assert row.share == pytest.approx(0.9, abs=0.005)


def test_a_count_is_a_set_of_point_masses():
    points = np.random.default_rng(0).poisson(100.0, 4000)
    points = np.quantile(points, (np.arange(POINTS) + 0.5) / POINTS, method="inverted_cdf")
    (row,) = smooth_rows(PredictiveDistribution.from_points(points[None]))
    assert row.discrete
    assert row.masses.sum() == pytest.approx(1.0)
    assert not row.pdf(np.array([100.0])).any()


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e200])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_units_do_not_matter(scale, shift):
    points = shift + norm.ppf((np.arange(POINTS) + 0.5) / POINTS)
    plain, scaled = (PredictiveDistribution.from_points(factor * points[None]) for factor in (1.0, scale))
    at = shift + np.linspace(-2.0, 2.0, 41)[None]
    with np.errstate(over="ignore"):
        found = scaled.smooth_pdf(scale * at) * scale
    np.testing.assert_allclose(found, plain.smooth_pdf(at), rtol=1e-6)


@pytest.mark.parametrize("points", [[3.0], [1.0, 2.0], [1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 5.0, 7.0], [5e-324, 1e-323]])
def test_any_number_of_points(points):
    (row,) = smooth_rows(PredictiveDistribution.from_points([points]))
    assert row.share + row.masses.sum() == pytest.approx(1.0)
    assert np.isfinite(row.pdf(np.array([0.0, 1.5]))).all()


def test_the_exact_density_is_not_changed():
    points = norm.ppf((np.arange(POINTS) + 0.5) / POINTS)[None]
    before, after = (PredictiveDistribution.from_points(points) for _ in range(2))
    after.smooth_pdf(0.0)
    np.testing.assert_array_equal(before.logpdf(0.3), after.logpdf(0.3))


def test_arguments_are_those_of_the_density():
    distribution = PredictiveDistribution.from_points(np.arange(3.0)[:, None] + np.linspace(-1.0, 1.0, 50))
    assert distribution.smooth_pdf(0.0).shape == (3,)
    assert distribution.smooth_pdf(np.zeros((1, 7))).shape == (3, 7)
    np.testing.assert_allclose(distribution.smooth_pdf([0.0, 1.0, 2.0]), distribution[0].smooth_pdf(0.0)[0])
    assert distribution[[]].smooth_pdf(0.0).shape == (0,)
