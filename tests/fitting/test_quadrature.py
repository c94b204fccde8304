import numpy as np
import pytest
from scipy.stats import norm

from diffgbm.fitting.quadrature import normal_points


@pytest.mark.parametrize("n", [1, 7, 256, 300])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_same_finite_points_every_time(n, d):
    points = normal_points(n, d)
    assert points.shape == (n, d)
    assert np.isfinite(points).all()
    np.testing.assert_array_equal(points, normal_points(n, d))


def test_one_dimension_has_the_midpoints_in_probability():
    points = normal_points(100, 1)[:, 0]
    np.testing.assert_allclose(norm.cdf(points), (np.arange(100) + 0.5) / 100)
    np.testing.assert_allclose(points, -points[::-1], atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_moments_are_closer_than_random_points_would_be(d):
    points = normal_points(1024, d)
    assert np.abs(points.mean(axis=0)).max() < 0.3 / np.sqrt(1024)
    np.testing.assert_allclose(np.cov(points.T).reshape(d, d), np.eye(d), atol=1.0 / np.sqrt(1024))
