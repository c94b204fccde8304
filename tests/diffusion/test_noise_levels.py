import warnings

import numpy as np
import pytest
from scipy.stats import norm

from diffgbm.diffusion.noise_levels import LOSS_WEIGHTINGS, NOISE_FEATURES, TIME_SAMPLINGS, TimeSampling, noise_columns
from diffgbm.diffusion.paths import PATHS, T_MIN, GaussianPath
from diffgbm.diffusion.targets import target_at
from tests.exact import ks_distance, ks_limit

N = 20_000


def draw(kind, path, n=N, seed=0, **distribution):
    return TimeSampling(kind, **distribution).draw(n, GaussianPath(path), np.random.default_rng(seed))


@pytest.mark.parametrize("kind", TIME_SAMPLINGS)
@pytest.mark.parametrize("path", PATHS)
def test_times_stay_in_range_and_repeat_with_the_seed(path, kind):
    t = draw(kind, path, std=5.0)
    assert t.shape == (N,)
    assert T_MIN <= t.min() <= t.max() <= 1.0
    np.testing.assert_array_equal(t, draw(kind, path, std=5.0))


def test_uniform_times():
    t = draw("uniform", "linear")
    assert ks_distance(t, lambda u: (u - T_MIN) / (1.0 - T_MIN)) < ks_limit(N)


@pytest.mark.parametrize("path", PATHS)
def test_log_sigma_is_a_clipped_normal(path):
    level = np.log(GaussianPath(path).at(draw("log_sigma_normal", path, mean=-1.2, std=1.2)).beta)
    low, high = np.log(GaussianPath(path).at([T_MIN, 1.0]).beta)
    assert level.min() >= low - 1e-9
    assert level.max() <= high + 1e-9
    inside = (level > low + 1e-9) & (level < high - 1e-6)
    for end, share in ((low, norm.cdf(low, -1.2, 1.2)), (high, norm.sf(high, -1.2, 1.2))):
        clipped = np.mean(np.abs(level - end) <= 1e-6)
        assert clipped == pytest.approx(share, abs=4.0 * np.sqrt(share / N) + 1e-4)
    a, b = norm.cdf([low, high], -1.2, 1.2)
    distance = ks_distance(level[inside], lambda u: (norm.cdf(u, -1.2, 1.2) - a) / (b - a))
    assert distance < ks_limit(inside.sum())


@pytest.mark.parametrize("path", PATHS)
def test_log_snr_is_a_clipped_normal(path):
    mean, std = 0.4, 1.5
    t = draw("log_snr_normal", path, mean=mean, std=std)
    point = GaussianPath(path).at(t)
    with np.errstate(divide="ignore"):
        level = np.log(point.alpha / point.beta)
    first = GaussianPath(path).at(T_MIN)
    high, low = np.log(first.alpha / first.beta), level.min()
    inside = (level < high - 1e-6) & (level > low + 1e-6)
    a, b = norm.cdf([low, high], mean, std)
    assert inside.mean() > 0.8
    assert ks_distance(level[inside], lambda u: (norm.cdf(u, mean, std) - a) / (b - a)) < ks_limit(inside.sum())


@pytest.mark.parametrize("fraction", [0.05, 0.5, 1.0])
def test_endpoint_anchor_is_an_exact_share(fraction):
    t = draw("uniform", "linear", n=1000, endpoint_fraction=fraction)
    assert np.sum(t == 1.0) == round(1000 * fraction)
    rest = t[t < 1.0]
    if len(rest):
        assert ks_distance(rest, lambda u: (u - T_MIN) / (1.0 - T_MIN)) < ks_limit(len(rest))


def test_no_anchor_unless_asked_and_at_least_one_if_asked():
    assert not np.any(draw("uniform", "linear", n=1000) == 1.0)
    assert np.sum(draw("uniform", "linear", n=3, endpoint_fraction=0.05) == 1.0) == 1


def test_noise_features():
    t = np.array([0.1, 0.5, 1.0])
    point = GaussianPath("vp").at(t)
    np.testing.assert_array_equal(NOISE_FEATURES["raw_time"](t, point), t[:, None])
    both = NOISE_FEATURES["raw_time_log_std"](t, point)
    np.testing.assert_array_equal(both[:, 0], t)
    np.testing.assert_allclose(both[:, 1], np.log(point.beta))


@pytest.mark.parametrize("name", NOISE_FEATURES)
def test_noise_features_are_monotone_columns(name):
    t = np.linspace(T_MIN, 1.0, 50)
    for path in PATHS:
        columns = NOISE_FEATURES[name](t, GaussianPath(path).at(t))
        assert columns.shape == (50, noise_columns(name, GaussianPath(path)))
        change = np.diff(columns, axis=0)
        assert ((change >= 0.0).all(axis=0) | (change <= 0.0).all(axis=0)).all()


@pytest.mark.parametrize("gamma", [1.0, 5.0])
@pytest.mark.parametrize("target", ["noise", "x0", "velocity", "edm", "edm_raw_in"])
@pytest.mark.parametrize("path", ["vesde", "vpsde", "vp"])
def test_min_snr_weights(path, target, gamma):
    t = np.linspace(0.01, 1.0, 50)
    sd = 0.7
    point = target_at(target, GaussianPath(path), t, sd)
    alpha, beta = point.path.alpha, point.path.beta
    snr = alpha**2 / beta**2
    if target == "velocity":
        expected = np.minimum(1.0, gamma / snr)
    elif target == "noise":  # D = alpha: Hang et al.'s min(SNR, gamma) / SNR
        expected = np.minimum(snr, gamma) / snr
    elif target == "x0":  # D = beta: their min(SNR, gamma)
        expected = np.minimum(snr, gamma)
    else:  # an error of EDM's target is an error of y0 divided by c_out
        c_out = beta * sd / np.sqrt(beta**2 + alpha**2 * sd**2)
        expected = np.minimum(snr, gamma) * c_out**2
    np.testing.assert_allclose(LOSS_WEIGHTINGS["min_snr"](point, gamma), expected, rtol=1e-9)


@pytest.mark.parametrize("target", ["x0", "velocity", "edm"])
def test_min_snr_at_pure_noise_is_finite_and_quiet(target):
    """At t = 1 of a flow path the signal is zero: a sampler starts there and training visits it."""
    point = target_at(target, GaussianPath("linear"), np.array([0.5, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = LOSS_WEIGHTINGS["min_snr"](point, 5.0)
    assert np.isfinite(weights).all()
    if target == "velocity":
        assert weights[1] == 1.0


def test_uniform_weighting_means_no_weights():
    assert LOSS_WEIGHTINGS["uniform"](target_at("x0", GaussianPath("vp"), np.array([0.5])), 5.0) is None


def test_unknown_time_sampling_lists_the_valid_ones():
    with pytest.raises(ValueError, match=r"t_sampling must be one of 'uniform', 'log_sigma_normal', 'log_snr_normal'"):
        draw("log_sigma", "vp")
