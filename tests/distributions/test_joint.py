"""Joint distributions of several responses: marginals, dependence, scores."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from diffgbm import JointDistribution, PredictiveDistribution, metrics
from diffgbm.fitting.quadrature import normal_points

MEAN = np.array([[1.0, -2.0], [0.0, 10.0]])
COVARIANCE = np.array([[[1.0, 0.6], [0.6, 2.0]], [[4.0, -1.0], [-1.0, 0.5]]])
M = 1024


@pytest.fixture(scope="module")
def normal() -> JointDistribution:
    """Two rows, two responses: normal distributions with known correlation."""
    roots = np.linalg.cholesky(COVARIANCE)
    points = MEAN[:, None] + np.einsum("njk,mk->nmj", roots, normal_points(M, 2))
    return JointDistribution(points, ("height", "weight"), pd.Index([7, 9]))


def test_marginals_are_the_known_distributions(normal):
    sd = np.sqrt(np.einsum("njj->nj", COVARIANCE))
    np.testing.assert_allclose(normal.mean(), MEAN, atol=0.02)
    np.testing.assert_allclose(normal.std(), sd, rtol=0.02)
    np.testing.assert_allclose(normal.var(), sd**2, rtol=0.04)
    np.testing.assert_allclose(normal.median(), MEAN, atol=0.02)
    np.testing.assert_allclose(
        normal.quantile([0.1, 0.8]), stats.norm.ppf([0.1, 0.8], MEAN[..., None], sd[..., None]), atol=0.03
    )
    np.testing.assert_allclose(normal.interval(0.8)[..., 0], stats.norm.ppf(0.1, MEAN, sd), atol=0.03)
    np.testing.assert_allclose(normal.interval(0.8, "highest_density")[..., 1], stats.norm.ppf(0.9, MEAN, sd), atol=0.3)
    assert np.all(stats.norm.pdf(normal.mode(), MEAN, sd) > 0.9 * stats.norm.pdf(0.0) / sd)
    y = MEAN + np.array([[0.5, -1.0], [2.0, 0.1]])
    np.testing.assert_allclose(normal.cdf(y), stats.norm.cdf(y, MEAN, sd), atol=0.005)
    np.testing.assert_allclose(normal.sf(y) + normal.pit(y), 1.0)
    np.testing.assert_array_equal(normal.cdf([0.0, 1.0]), normal.cdf([[0.0, 1.0], [0.0, 1.0]]))


def test_a_marginal_is_a_distribution_of_its_own(normal):
    for j, name in enumerate(normal.names):
        distribution = normal[name]
        assert isinstance(distribution, PredictiveDistribution)
        assert distribution.name == name
        np.testing.assert_array_equal(distribution.values, np.sort(normal.points[:, :, j], axis=1))
        np.testing.assert_array_equal(normal.quantile(0.3)[:, j], distribution.quantile(0.3))
        np.testing.assert_array_equal(normal.crps(MEAN)[:, j], distribution.crps(MEAN[:, j]))
        np.testing.assert_allclose(normal.mean()[:, j], distribution.mean(), atol=1e-3)
        np.testing.assert_array_equal(distribution.index, [7, 9])
        np.testing.assert_array_equal(normal.marginal(j).values, distribution.values)


def test_dependence(normal):
    known = COVARIANCE[:, 0, 1] / np.sqrt(COVARIANCE[:, 0, 0] * COVARIANCE[:, 1, 1])
    correlation = normal.correlation()
    np.testing.assert_allclose(correlation[:, 0, 1], known, atol=0.02)
    np.testing.assert_allclose(np.einsum("njj->nj", correlation), 1.0)
    product = normal.expect(lambda y: y[..., 0] * y[..., 1])
    np.testing.assert_allclose(product, COVARIANCE[:, 0, 1] + MEAN.prod(axis=1), atol=0.05)
    larger = normal.expect(lambda y: y[..., 0] > y[..., 1])
    variance = COVARIANCE[:, 0, 0] + COVARIANCE[:, 1, 1] - 2.0 * COVARIANCE[:, 0, 1]
    np.testing.assert_allclose(larger, stats.norm.cdf((MEAN[:, 0] - MEAN[:, 1]) / np.sqrt(variance)), atol=0.01)
    np.testing.assert_allclose(normal.expect(lambda y: y), normal.mean(), atol=1e-3)


def test_density(normal):
    y = MEAN + np.array([[0.5, -0.7], [1.0, 0.2]])
    expected = [stats.multivariate_normal(m, c).logpdf(v) for m, c, v in zip(MEAN, COVARIANCE, y, strict=True)]
    # Scott's kernels add a tenth to the variance here
    np.testing.assert_allclose(normal.logpdf(y), expected, atol=0.15)
    kernel = [stats.gaussian_kde(row.T).logpdf(v)[0] for row, v in zip(normal.points, y, strict=True)]
    np.testing.assert_allclose(normal.logpdf(y), kernel, atol=0.01)


@pytest.mark.filterwarnings("error")
def test_density_of_a_point_is_a_peak():
    distribution = JointDistribution(np.tile([3.0, -2.0], (1, 20, 1)), ("a", "b"))
    assert distribution.logpdf([[3.0, -2.0]])[0] > 10.0
    assert distribution.logpdf([[3.1, -2.0]])[0] < -100.0


def test_scores_are_those_of_the_points(normal):
    samples = normal.points.swapaxes(0, 1)
    y = MEAN + 0.5
    np.testing.assert_allclose(normal.energy_score(y), metrics.energy_score(samples, y))
    np.testing.assert_allclose(normal.variogram_score(y, p=1.0), metrics.variogram_score(samples, y, p=1.0))
    np.testing.assert_allclose(metrics.energy_score(normal, y), normal.energy_score(y))
    np.testing.assert_allclose(metrics.variogram_score(normal, y), normal.variogram_score(y))


def test_samples_are_joint(normal):
    drawn = normal.sample(20_000, seed=3)
    assert drawn.shape == (20_000, 2, 2)
    np.testing.assert_array_equal(drawn, normal.sample(20_000, seed=3))
    for i in range(2):
        np.testing.assert_allclose(np.cov(drawn[:, i].T), COVARIANCE[i], atol=0.25)
        assert np.isin(drawn[:, i, 0], normal.points[i, :, 0]).all()
    assert abs(np.corrcoef(drawn[:, 0, 0], drawn[:, 1, 0])[0, 1]) < 0.05  # rows are independent
    np.testing.assert_array_equal(normal[1:].sample(7, seed=3, first_row=1), drawn[:7, 1:])


def test_rows(normal):
    for key, rows in ((1, [1]), (-1, [1]), (slice(None, 1), [0]), ([1, 0], [1, 0]), (np.array([False, True]), [1])):
        part = normal[key]
        np.testing.assert_array_equal(part.points, normal.points[rows])
        assert list(part.index) == [[7, 9][i] for i in rows]
    assert [len(part) for part in normal] == [1, 1]
    assert "height, weight" in repr(normal)
    with pytest.raises(IndexError, match="2 rows"):
        normal[2]


def test_to_frame(normal):
    frame = normal.to_frame([0.5])
    assert list(frame.columns) == [(n, c) for n in ("height", "weight") for c in ("mean", "std", "q0.5")]
    assert list(frame.index) == [7, 9]
    np.testing.assert_array_equal(frame["weight"]["q0.5"], normal.median()[:, 1])


def test_errors(normal):
    with pytest.raises(ValueError, match="Did you mean 'weight'"):
        normal["wieght"]
    for method in ("crps", "logpdf", "energy_score", "variogram_score"):
        with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
            getattr(normal, method)(np.zeros(2))
    with pytest.raises(ValueError, match="first two axes"):
        normal.expect(lambda y: y.mean(axis=1))
    with pytest.raises(ValueError, match="n_samples"):
        normal.sample(0)


@pytest.mark.parametrize("centre", [1e6, 1e9, 1e11])
def test_zero_may_be_anywhere(normal, centre):
    shift = np.array([centre, -centre])
    points = (normal.points + shift) - shift  # without rounding
    here, there = (JointDistribution(p, normal.names) for p in (points, points + shift))
    y = (MEAN + shift + 0.5) - shift
    np.testing.assert_allclose(there.logpdf(y + shift), here.logpdf(y), rtol=1e-6)


def test_survival_of_point_masses():
    distribution = JointDistribution(np.array([[[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [5.0, 4.0]]]), ("a", "b"))
    np.testing.assert_allclose(distribution.sf([[0.0, 2.0]]) + distribution.cdf([[0.0, 2.0]]), 1.0)
    np.testing.assert_allclose(distribution.prob_at_least([[0.0, 2.0]]), [[1.0, 0.625]])


def test_no_rows(normal):
    none = normal[:0]
    for method in ("mean", "var", "std", "median", "mode"):
        assert getattr(none, method)().shape == (0, 2)
    y = np.empty((0, 2))
    for method in ("cdf", "sf", "prob_at_least", "pit", "crps"):
        assert getattr(none, method)(y).shape == (0, 2)
    for method in ("logpdf", "energy_score", "variogram_score"):
        assert getattr(none, method)(y).shape == (0,)
    assert none.correlation().shape == (0, 2, 2)
    assert none.sample(3).shape == (3, 0, 2)
    assert none.interval().shape == (0, 2, 2)


@pytest.mark.parametrize("key", [None, 1.0, True, (0, 1), [[0]], np.ones((2, 2), bool)])
def test_keys_that_select_no_rows_are_refused(normal, key):
    with pytest.raises(TypeError, match="selected by a position, a slice, positions or a mask"):
        normal[key]
