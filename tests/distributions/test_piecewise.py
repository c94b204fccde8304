"""Numbers of a piecewise linear quantile function against numerical integration."""

import numpy as np
import pytest

from diffgbm.distributions import piecewise

V = np.array([[0.0, 1.0, 1.0, 4.0], [-3.0, -2.0, 5.0, 6.0]])
P = np.array([0.0, 0.3, 0.6, 1.0])
FINE = (np.arange(200_000) + 0.5) / 200_000


def quantiles(row):
    return np.interp(FINE, P, V[row])


@pytest.mark.parametrize("level", [0.1, 0.3, 0.5, 0.9])
def test_the_mean_of_the_upper_tail(level):
    expected = [quantiles(i)[level < FINE].mean() for i in range(2)]
    np.testing.assert_allclose(piecewise.upper_mean(V, P, level), expected, atol=1e-4)
    np.testing.assert_allclose(piecewise.upper_mean(V, np.tile(P, (2, 1)), level), expected, atol=1e-4)


@pytest.mark.parametrize("threshold", [[-9.0, -9.0], [1.0, -2.5], [2.5, 5.5], [4.0, 7.0]])
def test_the_expected_excess(threshold):
    expected = [np.maximum(quantiles(i) - c, 0.0).mean() for i, c in enumerate(threshold)]
    np.testing.assert_allclose(piecewise.mean_excess(V, P, np.array(threshold)), expected, atol=1e-4)


def test_the_inverse_of_an_increasing_function():
    z = np.array([[-1.0, 0.0, 1.0, 8.0, 64.0], [-27.0, -8.0, 0.0, 1e9, -1e9]])
    found = piecewise.last_at_most(lambda u: u**3, V, z, strict=False)
    np.testing.assert_allclose(found, [[-np.inf, 0.0, 1.0, 2.0, 4.0], [-3.0, -2.0, 0.0, 6.0, -np.inf]], atol=1e-12)


def test_the_inverse_of_a_step():
    z = np.array([2.0, 2.0])
    assert piecewise.last_at_most(np.floor, V, z, strict=False).tolist() == [np.nextafter(3.0, 0.0)] * 2
    assert piecewise.last_at_most(np.floor, V, z, strict=True).tolist() == [np.nextafter(2.0, 0.0)] * 2
