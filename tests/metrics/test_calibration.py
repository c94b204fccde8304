"""Calibration against hand-worked cases and scipy, for distributions and samples."""

import numpy as np
import pytest
import scoringrules
from scipy import stats

from diffgbm import PredictiveDistribution, metrics
from diffgbm.distributions import Ensemble
from diffgbm.metrics.randomisation import row_numbers
from tests.metrics.predictions import SAMPLES, Y, calibrated_prediction


@pytest.fixture(scope="module")
def calibrated():
    return calibrated_prediction()


def test_pit_by_hand(calibrated):
    np.testing.assert_allclose(metrics.pit(SAMPLES, Y), [0.5, 0.75])  # ties count as below
    distribution, y, samples = calibrated
    np.testing.assert_array_equal(metrics.pit(distribution, y), distribution.cdf(y))
    assert np.abs(metrics.pit(samples, y) - distribution.cdf(y)).max() < 0.2


def test_pit_ks(calibrated):
    distribution, y, samples = calibrated
    result = metrics.pit_ks(distribution, y)
    reference = stats.kstest(distribution.cdf(y), "uniform")
    assert (result.statistic, result.pvalue) == (reference.statistic, reference.pvalue)
    assert result.pvalue > 0.01
    assert metrics.pit_ks(distribution, 2.0 * y).pvalue < 1e-3
    assert metrics.pit_ks(samples, y).pvalue > 0.01


def test_coverage_and_width_by_hand():
    samples = np.repeat(np.linspace(0.0, 10.0, 11)[:, None], 4, axis=1)
    y = np.array([0.0, 2.5, 7.5, 7.6])
    assert metrics.coverage(samples, y, 0.5) == 0.5  # [2.5, 7.5], ends included
    assert metrics.coverage_error(samples, y, 0.5) == 0.0
    assert metrics.coverage_error(samples, y, 0.8) == pytest.approx(0.05)
    assert metrics.width(samples, 0.5) == pytest.approx(5.0)
    np.testing.assert_allclose(metrics.interval_score(samples, y, 0.5), [15.0, 5.0, 5.0, 5.4])
    low, high = metrics.central_interval(samples, 0.5)
    np.testing.assert_allclose(scoringrules.interval_score(y, low, high, 0.5), metrics.interval_score(samples, y, 0.5))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_a_calibrated_distribution_is_covered(calibrated, level):
    distribution, y, samples = calibrated
    limit = 4.0 * np.sqrt(level * (1.0 - level) / len(y))
    assert metrics.coverage(distribution, y, level) == pytest.approx(level, abs=limit)
    assert metrics.coverage(samples, y, level) == pytest.approx(level, abs=limit + 0.01)
    np.testing.assert_allclose(metrics.width(distribution, level), metrics.width(samples, level), rtol=0.03)
    z = stats.norm.ppf(0.5 + 0.5 * level)
    assert metrics.width(distribution, level) == pytest.approx(2.0 * z * distribution.std().mean(), rel=0.02)


def test_q_mace_by_hand():
    samples = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0], [4.0, 4.0, 4.0]])
    # at or above the truth: all four of 1.0 (ties count), one of 3.5, none of 5; an even grid is 0, 1/2, 1
    assert metrics.q_mace(samples, [1.0, 3.5, 5.0]) == pytest.approx(0.25 / 3.0)
    assert metrics.q_mace(samples, [5.0, 5.0, 5.0]) == pytest.approx(0.5)


def test_survival_means_the_same_everywhere():
    y = np.array([0.0])
    atom = np.array([[0.0], [0.0], [0.0], [1.0]])
    for prediction in (Ensemble(atom), PredictiveDistribution.from_points(atom.T)):
        assert prediction.sf(y) == pytest.approx(1.0 - prediction.pit(y))
        assert prediction.prob_at_least(y) == pytest.approx(1.0)
    # at ties the rank is drawn from [P(Y > y), P(Y >= y)], with the same number for predictions of both kinds
    u = row_numbers((1,))[0]
    assert metrics.q_mace(atom, y) == pytest.approx(1.0 - 0.75 * u)
    assert metrics.q_mace(PredictiveDistribution.from_points(atom.T), y) == pytest.approx(1.0 - 0.625 * u)


def test_q_mace_of_distributions(calibrated):
    distribution, y, samples = calibrated
    ranks = np.sort((samples >= y).mean(axis=0))
    expected = np.abs(ranks - np.linspace(0.0, 1.0, len(y))).mean()
    assert metrics.q_mace(samples, y) == pytest.approx(expected)
    assert metrics.q_mace(distribution, y) < 0.03
    assert metrics.q_mace(distribution, y + 3.0) > 0.3


def test_iqr_mace_by_hand():
    # widths rise with the row; the first group of two rows is covered, the second half, the third not at all
    samples = np.linspace(-1.0, 1.0, 21)[:, None] * np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    y = np.array([0.0, 0.0, 0.0, 9.0, 9.0, 9.0])
    order = [3, 0, 5, 1, 4, 2]
    np.testing.assert_allclose(metrics.iqr_binned_coverage(samples[:, order], y[order], 0.8, bins=3), [1.0, 0.5, 0.0])
    assert metrics.iqr_mace(samples[:, order], y[order], 0.8, bins=3) == pytest.approx((0.2 + 0.3 + 0.8) / 3.0)
    assert len(metrics.iqr_binned_coverage(samples, y, bins=50)) == 6


def test_iqr_coverage_of_a_calibrated_distribution(calibrated):
    distribution, y, samples = calibrated
    for prediction in (distribution, samples):
        groups = metrics.iqr_binned_coverage(prediction, y, 0.9)
        assert groups.shape == (5,)
        np.testing.assert_allclose(groups, 0.9, atol=4.0 * np.sqrt(0.09 / 400) + 0.01)
        assert groups.mean() == pytest.approx(metrics.coverage(prediction, y, 0.9))
        assert metrics.iqr_mace(prediction, y) == pytest.approx(np.abs(groups - 0.9).mean())
