import itertools

import numpy as np
import pytest

from diffgbm.diffusion.paths import PATHS, GaussianPath
from diffgbm.diffusion.targets import TARGETS, can_start, check_pair, target_at
from tests.exact import BIMODAL, NORMAL

PAIRS = [(path, target) for path, target in itertools.product(PATHS, TARGETS) if can_start(target, GaussianPath(path))]
TIMES = np.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])[:, None]
Y = np.linspace(-3.0, 3.0, 25)[None, :]


def states(point):
    """States where the noisy data lives: a few of its standard deviations."""
    return Y * np.hypot(point.path.alpha, point.path.beta)


@pytest.mark.parametrize("sd", [1.0, 0.4])
@pytest.mark.parametrize("distribution", [NORMAL, BIMODAL], ids=["normal", "mixture"])
@pytest.mark.parametrize(("path", "target"), PAIRS)
def test_an_exact_prediction_gives_the_exact_field(path, target, distribution, sd):
    point = target_at(target, GaussianPath(path), TIMES, sd)
    y = states(point)
    clean, noise = distribution.posterior(point.path, y)
    prediction = point.of(clean, noise)
    # the size of each quantity sets what rounding can do to it
    np.testing.assert_allclose(point.denoised(y, prediction), clean, rtol=1e-9, atol=1e-9 * np.abs(clean).max())
    np.testing.assert_allclose(point.noise(y, prediction), noise, rtol=1e-9, atol=1e-9 * np.abs(noise).max())
    score = distribution.score(point.path, y)
    np.testing.assert_allclose(point.score(y, prediction), score, rtol=1e-9, atol=1e-9 * np.abs(score).max())
    velocity = distribution.velocity(point.path, y)
    np.testing.assert_allclose(point.velocity(y, prediction), velocity, rtol=1e-9, atol=1e-9 * np.abs(velocity).max())


@pytest.mark.parametrize(("path", "target"), PAIRS)
def test_velocity_is_the_forward_drift_less_half_the_diffused_score(path, target):
    inner = np.linspace(0.05, 0.95, 10)[:, None]
    point = target_at(target, GaussianPath(path), inner)
    y = states(point)
    prediction = point.of(*BIMODAL.posterior(point.path, y))
    f = point.path.d_alpha / point.path.alpha
    expected = f * y - 0.5 * point.path.diffusion**2 * point.score(y, prediction)
    np.testing.assert_allclose(point.velocity(y, prediction), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("path", "target"), PAIRS)
def test_a_known_pair_of_clean_and_noise_is_recovered(path, target):
    rng = np.random.default_rng(0)
    y0, z = rng.standard_normal((2, len(TIMES), 50))
    point = target_at(target, GaussianPath(path), TIMES, 0.7)
    y, prediction = point.path.alpha * y0 + point.path.beta * z, point.of(y0, z)
    np.testing.assert_allclose(point.denoised(y, prediction), y0, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(point.noise(y, prediction), z, rtol=1e-8, atol=1e-9)
    velocity = point.path.d_alpha * y0 + point.path.d_beta * z
    np.testing.assert_allclose(point.velocity(y, prediction), velocity, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("sd", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("path", PATHS)
def test_edm_keeps_target_and_feature_at_unit_variance(path, sd):
    point = target_at("edm", GaussianPath(path), TIMES, sd)
    np.testing.assert_allclose(point.a**2 * sd**2 + point.b**2, 1.0, rtol=1e-12)
    variance = (point.path.alpha * sd) ** 2 + point.path.beta**2
    np.testing.assert_allclose(point.feature_scale**2 * variance, 1.0, rtol=1e-12)
    # target and feature are uncorrelated: nothing is left that the skip connection could have taken
    np.testing.assert_allclose(point.a * point.path.alpha * sd**2 + point.b * point.path.beta, 0.0, atol=1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_edm_is_the_preconditioned_residual(path):
    sd, inner = 0.6, np.linspace(0.05, 0.95, 10)
    point = target_at("edm", GaussianPath(path), inner, sd)
    alpha, beta = point.path.alpha, point.path.beta
    den = beta**2 + alpha**2 * sd**2
    skip, out = alpha * sd**2 / den, beta * sd / np.sqrt(den)
    np.testing.assert_allclose(point.a, (1.0 - skip * alpha) / out, rtol=1e-9)
    np.testing.assert_allclose(point.b, -skip * beta / out, rtol=1e-9)
    np.testing.assert_allclose(point.feature_scale, 1.0 / np.sqrt(den), rtol=1e-12)


def test_edm_on_the_exploding_path_is_karras():
    sd = 0.5
    point = target_at("edm", GaussianPath("vesde"), np.linspace(0.1, 1.0, 10), sd)
    sigma = point.path.beta
    skip, out, into = sd**2 / (sigma**2 + sd**2), sigma * sd / np.hypot(sigma, sd), 1.0 / np.hypot(sigma, sd)
    y, prediction = 1.3, 0.4
    np.testing.assert_allclose(point.feature_scale, into, rtol=1e-12)
    np.testing.assert_allclose(point.denoised(y, prediction), skip * y + out * prediction, rtol=1e-10)


def test_edm_raw_in_differs_only_in_the_feature():
    path = GaussianPath("vp")
    edm, raw = (target_at(name, path, TIMES, 0.8) for name in ("edm", "edm_raw_in"))
    np.testing.assert_array_equal(edm.a, raw.a)
    np.testing.assert_array_equal(edm.b, raw.b)
    np.testing.assert_array_equal(raw.feature_scale, 1.0)


def test_the_velocity_targets_score_is_the_papers_second_equation():
    point = target_at("velocity", GaussianPath("vp"), TIMES)
    y, v = 0.7, -1.1
    p = point.path
    np.testing.assert_allclose(point.score(y, v), (p.d_alpha * y - p.alpha * v) / (p.wronskian * p.beta), rtol=1e-10)
    np.testing.assert_allclose(point.velocity(y, v), v, rtol=1e-10)


@pytest.mark.parametrize("path", ["linear", "trig"])
def test_pairs_without_a_start_are_refused_with_the_reason(path):
    with pytest.raises(ValueError, match=rf"score_parameterization='noise' cannot .*'{path}' path: alpha\(1\) = 0"):
        check_pair("noise", GaussianPath(path))


def test_the_refusal_names_what_works_instead():
    with pytest.raises(
        ValueError, match=r"Use .*'velocity' or .* with this path, or 'noise' with the path .*'vp'"
    ) as error:
        check_pair("noise", GaussianPath("linear"))
    advice = str(error.value).partition("Use ")[2]
    assert "'trig'" not in advice


@pytest.mark.parametrize(("path", "target"), PAIRS)
def test_the_other_pairs_are_accepted(path, target):
    check_pair(target, GaussianPath(path))


def test_unknown_target_lists_the_valid_ones():
    with pytest.raises(ValueError, match=r"score_parameterization must be one of 'noise', 'x0', .*got 'eps'"):
        target_at("eps", GaussianPath("vp"), 0.5)
