"""Scores against hand-worked cases, brute force, scoringrules and scipy, for distributions and samples."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from diffgbm import JointDistribution, PredictiveDistribution, Samples, metrics
from tests.metrics.predictions import SAMPLES, Y, calibrated_prediction, normal_distribution


@pytest.fixture(scope="module")
def calibrated():
    return calibrated_prediction()


def brute_crps(samples, y, fair=False):
    m = len(samples)
    pairs = np.abs(samples[:, None] - samples[None]).sum(axis=(0, 1))
    return np.abs(samples - y).mean(axis=0) - pairs / (2.0 * m * (m - 1 if fair else m))


def test_crps_by_hand():
    # first row: distances 1 0 1 4 -> 6/4; pairs 1 2 5 1 4 3 -> 32/(2*16)
    # second: 3 1 1 5 -> 10/4; pairs 2 2 8 0 6 6 -> 48/(2*16)
    np.testing.assert_allclose(metrics.crps(SAMPLES, Y), [0.5, 1.0])
    np.testing.assert_allclose(metrics.crps(SAMPLES, Y, fair=True), [1.5 - 16.0 / 12.0, 2.5 - 24.0 / 12.0])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(2, 12), shape=st.sampled_from([(3,), (1,), (4, 2)]))
def test_crps_is_brute_force(seed, m, shape):
    rng = np.random.default_rng(seed)
    samples, y = np.round(rng.normal(size=(m, *shape)), 1), np.round(rng.normal(size=shape), 1)
    for fair in (False, True):
        got = metrics.crps(samples, y, fair=fair)
        assert got.shape == shape
        np.testing.assert_allclose(got, brute_crps(samples, y, fair), atol=1e-12)
    np.testing.assert_allclose(metrics.crps(Samples(samples), y), metrics.crps(samples, y))


def test_fair_crps_has_no_bias_of_few_samples():
    rng = np.random.default_rng(1)
    samples, y = rng.normal(size=(3, 40_000)), np.full(40_000, 0.3)
    exact = scoringrules.crps_normal(0.3, 0.0, 1.0)
    assert metrics.crps(samples, y, fair=True).mean() == pytest.approx(exact, abs=0.01)
    # with m samples the ensemble form is too large by E|X - X'| / (2m)
    assert metrics.crps(samples, y).mean() == pytest.approx(exact + 2.0 / np.sqrt(np.pi) / 6.0, abs=0.01)


def test_crps_of_a_distribution_is_exact(calibrated):
    distribution, y, samples = calibrated
    np.testing.assert_array_equal(metrics.crps(distribution, y), distribution.crps(y))
    assert metrics.crps(samples, y).mean() == pytest.approx(distribution.crps(y).mean(), rel=0.02)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 30), n=st.integers(1, 10), d=st.sampled_from([None, 1, 3]))
def test_climatology_is_brute_force(seed, m, n, d):
    rng = np.random.default_rng(seed)
    shape = () if d is None else (d,)
    train, y = np.round(rng.normal(5.0, 2.0, (m, *shape)), 1), np.round(rng.normal(5.0, 3.0, (n, *shape)), 1)
    samples = np.repeat(train[:, None], n, axis=1)
    got = metrics.climatology_crps(train, y)
    assert got.shape == y.shape
    np.testing.assert_allclose(got, brute_crps(samples, y), atol=1e-10)


def test_climatology_of_a_large_offset():
    rng = np.random.default_rng(0)
    train, y = rng.normal(size=2000), rng.normal(size=50)
    np.testing.assert_allclose(
        metrics.climatology_crps(train + 1e6, y + 1e6), metrics.climatology_crps(train, y), atol=1e-7
    )


def test_crpss():
    y_train = np.array([0.0, 2.0, 4.0])
    np.testing.assert_allclose(metrics.crpss(np.repeat(Y[None], 3, axis=0), Y, y_train), 1.0)
    assert metrics.crpss(np.repeat(y_train[:, None], 2, axis=1), Y, y_train) == pytest.approx(0.0, abs=1e-12)
    expected = 1.0 - 0.75 / metrics.climatology_crps(y_train, Y).mean()
    assert metrics.crpss(SAMPLES, Y, y_train) == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(-np.inf, np.inf), (0.5, np.inf), (-np.inf, 2.5), (0.5, 2.5), (10.0, 20.0)])
def test_threshold_weighted_crps_counts_a_part_of_the_line(low, high):
    u = np.linspace(max(low, -2.0), min(high, 12.0), 100_001)
    for i in range(2):
        step = (SAMPLES[:, i, None] <= u).mean(axis=0) - (Y[i] <= u)
        expected = integrate.trapezoid(step**2, u) if high < 15.0 or low < 5.0 else 0.0
        assert metrics.threshold_weighted_crps(SAMPLES, Y, low, high)[i] == pytest.approx(expected, abs=1e-3)
    distribution = normal_distribution([0.0, 2.0], [1.0, 2.0])
    u = np.linspace(max(low, -12.0), min(high, 20.0), 100_001)
    expected = [
        integrate.trapezoid((stats.norm.cdf(u, m, s) - (u >= v)) ** 2, u)
        for m, s, v in ((0.0, 1.0, 1.0), (2.0, 2.0, 4.0))
    ]
    np.testing.assert_allclose(metrics.threshold_weighted_crps(distribution, Y, low, high), expected, atol=2e-3)


def test_threshold_weighted_crps_is_the_twcrps_of_scoringrules():
    got = metrics.threshold_weighted_crps(SAMPLES, Y, low=1.5)
    np.testing.assert_allclose(got, scoringrules.twcrps_ensemble(Y, SAMPLES.T, a=1.5))


def test_weighted_crps():
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(30, 7)), rng.normal(size=7)
    np.testing.assert_allclose(metrics.weighted_crps(samples, y, np.ones_like), metrics.crps(samples, y))

    def weight(v):
        return stats.norm.cdf(v)

    for i, v in enumerate(y):
        w = weight(samples[:, i]) / weight(samples[:, i]).sum()
        pairs = w @ np.abs(samples[:, i, None] - samples[None, :, i]) @ w
        expected = weight(v) * (w @ np.abs(samples[:, i] - v) - 0.5 * pairs)
        assert metrics.weighted_crps(samples, y, weight)[i] == pytest.approx(expected)
    many = rng.normal(size=(400, 150))
    truths = rng.normal(size=150)
    blocks = metrics.weighted_crps(many, truths, weight)
    np.testing.assert_allclose(
        blocks[[0, 80, 149]], metrics.weighted_crps(many[:, [0, 80, 149]], truths[[0, 80, 149]], weight)
    )


def test_weighted_crps_of_a_distribution():
    distribution = normal_distribution([0.0, 1.0], [1.0, 2.0])
    np.testing.assert_allclose(metrics.weighted_crps(distribution, Y, np.ones_like), distribution.crps(Y), atol=5e-3)
    right = metrics.weighted_crps(distribution[:1], [1.0], lambda v: (v > 0.0) * 1.0)
    half = PredictiveDistribution.from_points(stats.halfnorm.ppf((np.arange(500) + 0.5) / 500)[None])
    np.testing.assert_allclose(right, half.crps([1.0]), atol=5e-3)


def test_dss_by_hand():
    # unbiased variances 14/3 and 12, means 2 and 4
    np.testing.assert_allclose(metrics.dss(SAMPLES, Y), [np.log(14.0 / 3.0) + 3.0 / 14.0, np.log(12.0)])
    np.testing.assert_allclose(metrics.dss(np.ones((3, 1)), [1.0]), np.log(1e-12))
    np.testing.assert_allclose(metrics.dss(np.ones((3, 1)), [1.5]), np.log(1e-12) + 0.25e12)
    np.testing.assert_allclose(
        metrics.dss(normal_distribution([1.0], [2.0]), [4.0]), np.log(4.0) + 9.0 / 4.0, rtol=5e-3
    )
    with pytest.raises(ValueError, match="at least 2 samples"):
        metrics.dss(np.ones((1, 3)), np.ones(3))


def test_log_score(calibrated):
    distribution, y, samples = calibrated
    np.testing.assert_array_equal(metrics.log_score(distribution, y), -distribution.logpdf(y))
    assert metrics.log_score(samples, y).mean() == pytest.approx(metrics.log_score(distribution, y).mean(), abs=0.15)
    rng = np.random.default_rng(0)
    joint = rng.normal(size=(300, 5, 2))
    truth = rng.normal(size=(5, 2))
    distribution2 = JointDistribution(joint.swapaxes(0, 1), ("a", "b"))
    np.testing.assert_allclose(metrics.log_score(joint, truth), -distribution2.logpdf(truth))
    assert metrics.log_score(distribution2, truth).shape == (5,)


def test_several_responses():
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(50, 30, 2)), rng.normal(size=(30, 2))
    distribution = JointDistribution(samples.swapaxes(0, 1), ("a", "b"))
    for score in (metrics.crps, metrics.dss, metrics.pit, metrics.interval_score):
        got = score(samples, y)
        assert got.shape == (30, 2)
        for j in range(2):
            np.testing.assert_allclose(got[:, j], score(samples[..., j], y[:, j]))
        assert score(distribution, y).shape == (30, 2)
    inside = [metrics.coverage(samples[..., j], y[:, j]) for j in range(2)]
    assert metrics.coverage(samples, y) == pytest.approx(np.mean(inside))
    for summary in (metrics.q_mace, metrics.iqr_mace, metrics.coverage):
        assert summary(distribution, y) == pytest.approx(summary(samples, y), abs=0.03)
    assert metrics.crpss(samples, y, y) == pytest.approx(metrics.crpss(distribution, y, y), abs=0.02)
    assert metrics.threshold_weighted_crps(distribution, y, low=0.0).shape == (30, 2)


def test_energy_score_is_brute_force():
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(20, 70, 3)), rng.normal(size=(70, 3))
    near = np.linalg.norm(samples - y, axis=-1).mean(axis=0)
    pairs = np.linalg.norm(samples[:, None] - samples[None], axis=-1).mean(axis=(0, 1))
    np.testing.assert_allclose(metrics.energy_score(samples, y), near - 0.5 * pairs)
    # of one response it is the CRPS
    np.testing.assert_allclose(metrics.energy_score(samples[..., :1], y[:, :1]), metrics.crps(samples[..., 0], y[:, 0]))


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_variogram_score_is_brute_force(p):
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(20, 70, 3)), rng.normal(size=(70, 3))
    expected = np.zeros(70)
    for i in range(3):
        for j in range(3):
            forecast = (np.abs(samples[..., i] - samples[..., j]) ** p).mean(axis=0)
            expected += (np.abs(y[:, i] - y[:, j]) ** p - forecast) ** 2
    np.testing.assert_allclose(metrics.variogram_score(samples, y, p), expected)


def test_joint_scores_notice_dependence():
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]])
    y = rng.normal(size=(300, 2)) @ root.T
    right = rng.normal(size=(100, 300, 2)) @ root.T
    independent = rng.normal(size=(100, 300, 2))
    for score in (metrics.energy_score, metrics.variogram_score):
        assert score(right, y).mean() < score(independent, y).mean()


def test_errors():
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(10, 4)), rng.normal(size=4)
    for score in (metrics.crps, metrics.dss, metrics.pit, metrics.coverage, metrics.q_mace, metrics.log_score):
        with pytest.raises(ValueError, match="samples of shape"):
            score(samples.T, y)
        with pytest.raises(ValueError, match="samples of shape"):
            score(y, y)
    for score in (metrics.interval_score, metrics.threshold_weighted_crps):
        with pytest.raises(ValueError, match="samples of shape"):
            score(samples.T, y)
    with pytest.raises(ValueError, match="samples of shape"):
        metrics.weighted_crps(samples.T, y, np.ones_like)
    with pytest.raises(ValueError, match=r"\(n_samples, n, d\)"):
        metrics.energy_score(samples, y)
    with pytest.raises(ValueError, match=r"\(n_samples, n, d\)"):
        metrics.variogram_score(np.zeros((10, 4, 2)), np.zeros((3, 2)))
    for level in (0.0, 1.0, 95):
        with pytest.raises(ValueError, match="level"):
            metrics.coverage(samples, y, level)
