"""The decomposition has closed forms where the submodels are known distributions."""

import numpy as np
import pytest
from scipy.special import ndtri

from diffgbm.distributions.uncertainty import decomposed, half_mean_difference, stacked

QUANTILES = ndtri((np.arange(2000) + 0.5) / 2000)
"""Points of the standard normal distribution."""


def normal(mean: float, std: float) -> np.ndarray:
    return (mean + std * QUANTILES)[None]


def test_total_variance_is_the_mean_of_the_variances_and_the_variance_of_the_means() -> None:
    found = decomposed([normal(0.0, 1.0), normal(2.0, 2.0)], np.array([0.25, 0.75]), np.array([0.1]))
    assert found.aleatoric[0] == pytest.approx(0.25 * 1.0 + 0.75 * 4.0, rel=2e-3)
    assert found.epistemic[0] == pytest.approx(0.25 * 1.5**2 + 0.75 * 0.5**2, rel=1e-9)
    assert found.total[0] == found.aleatoric[0] + found.epistemic[0]
    # the variance of the mixture itself, by its first two moments
    assert found.total[0] == pytest.approx(0.25 * 1.0 + 0.75 * (4.0 + 4.0) - 1.5**2, rel=2e-3)
    assert found.epistemic_share[0] == found.epistemic[0] / found.total[0]


def test_crps_parts_are_those_of_normal_distributions() -> None:
    a, b = 0.0, 3.0
    found = decomposed([normal(a, 1.0), normal(b, 1.0)], np.array([0.5, 0.5]), np.zeros(1))
    within = 1.0 / np.sqrt(np.pi)  # E|X - X'| / 2 of the standard normal
    assert found.aleatoric_crps[0] == pytest.approx(within, rel=2e-3)
    # E|A - B| with A - B normal of variance 2
    from scipy.stats import norm

    s, m = np.sqrt(2.0), b - a
    across = m * (1 - 2 * norm.cdf(-m / s)) + 2 * s * norm.pdf(m / s)
    assert found.total_crps[0] == pytest.approx(0.5 * (0.5 * 2 * within + 0.5 * across), rel=2e-3)
    assert found.total_crps[0] == found.aleatoric_crps[0] + found.epistemic_crps[0]


def test_equal_submodels_have_no_epistemic_part() -> None:
    points = np.random.default_rng(0).normal(1e6, 1.0, (5, 30))
    found = decomposed([points, points, points], np.full(3, 1.0 / 3.0), np.zeros(5))
    np.testing.assert_array_equal(found.epistemic, 0.0)
    np.testing.assert_allclose(found.epistemic_crps, 0.0, atol=1e-9)


def test_weighted_mean_difference_equals_the_double_sum() -> None:
    rng = np.random.default_rng(1)
    points, weights = rng.normal(size=(3, 7)), rng.uniform(size=7)
    shares = weights / weights.sum()
    direct = [0.5 * shares @ np.abs(row[:, None] - row) @ shares for row in points]
    np.testing.assert_allclose(half_mean_difference(points, weights), direct)


def test_a_constant_response_has_no_uncertainty_at_all() -> None:
    found = decomposed([np.ones((2, 5)), np.ones((2, 5))], np.array([0.5, 0.5]), np.zeros(2))
    for values in found.columns().values():
        np.testing.assert_array_equal(values, 0.0)


def test_blocks_and_responses_are_stacked() -> None:
    one = decomposed([np.random.default_rng(2).normal(size=(4, 9))], np.ones(1), np.zeros(4))
    assert stacked([one, one], axis=0).total.shape == (8,)
    assert stacked([one, one, one], axis=1).mean_error.shape == (4, 3)
