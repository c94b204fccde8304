import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist

from diffgbm.diffusion.paths import PATHS, T_MIN, GaussianPath, diameter, path_from_data

NAMES = list(PATHS)
INNER = np.linspace(0.02, 0.98, 49)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_path(name):
    path, h = GaussianPath(name), 1e-6
    here, before, after = path.at(INNER), path.at(INNER - h), path.at(INNER + h)
    np.testing.assert_allclose(here.d_alpha, (after.alpha - before.alpha) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(here.d_beta, (after.beta - before.beta) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_data_at_zero_and_noise_that_only_grows(name):
    path = GaussianPath(name)
    t = np.linspace(0.0, 1.0, 201)
    point = path.at(t)
    assert point.alpha[0] == 1.0
    assert point.beta[0] == 0.0
    assert (np.diff(point.beta) >= 0.0).all()
    assert (np.diff(point.alpha) <= 0.0).all()
    assert (np.diff(path.at(t[1:]).snr) < 0.0).all()


@pytest.mark.parametrize("name", NAMES)
def test_diffusion_and_wronskian_identities(name):
    point = GaussianPath(name).at(INNER)
    f = point.d_alpha / point.alpha
    by_variance = 2.0 * point.beta * point.d_beta - 2.0 * f * point.beta**2
    np.testing.assert_allclose(point.diffusion**2, by_variance, rtol=1e-10, atol=1e-12)
    # W is alpha^2 times the derivative of beta / alpha
    h = 1e-6
    ratio = [p.beta / p.alpha for p in (GaussianPath(name).at(INNER - h), GaussianPath(name).at(INNER + h))]
    np.testing.assert_allclose(point.wronskian, point.alpha**2 * (ratio[1] - ratio[0]) / (2 * h), rtol=1e-5)


def test_the_six_paths_are_the_papers():
    t = 0.37
    ve = GaussianPath("vesde").at(t)
    assert ve.alpha == 1.0
    assert ve.beta**2 == pytest.approx((0.01 * 2000.0**t) ** 2 - 0.01**2, rel=1e-12)
    rate = 0.01 * t + 0.5 * 19.99 * t**2
    vp, sub = GaussianPath("vpsde").at(t), GaussianPath("sub-vpsde").at(t)
    assert vp.alpha == pytest.approx(np.exp(-0.5 * rate))
    assert vp.alpha**2 + vp.beta**2 == pytest.approx(1.0)
    assert sub.alpha == pytest.approx(np.exp(-0.5 * rate))
    assert sub.beta == pytest.approx(1.0 - np.exp(-rate))
    flow = GaussianPath("vp").at(t)
    assert flow.alpha**2 == pytest.approx(np.exp(-(0.5 * 0.1 * t + 0.25 * 19.9 * t**2)))
    assert flow.alpha**2 + flow.beta**2 == pytest.approx(1.0)
    assert float(GaussianPath("vp").at(1.0).alpha) == pytest.approx(0.081, abs=5e-4)  # the paper's number
    linear, trig = GaussianPath("linear").at(t), GaussianPath("trig").at(t)
    assert (linear.alpha, linear.beta) == (1.0 - t, t)
    assert (trig.alpha, trig.beta) == (pytest.approx(np.cos(np.pi * t / 2)), pytest.approx(np.sin(np.pi * t / 2)))


def test_the_flow_and_the_sde_path_differ_by_two_in_the_exponent():
    flow, sde = (GaussianPath(name, 0.1, 20.0).at(INNER) for name in ("vp", "vpsde"))
    np.testing.assert_allclose(flow.alpha**2, sde.alpha, rtol=1e-12)


def test_which_paths_end_in_pure_noise():
    assert GaussianPath("linear").reaches_noise
    assert GaussianPath("trig").reaches_noise
    assert not GaussianPath("vp").reaches_noise
    for name in NAMES:
        end = GaussianPath(name).at(1.0)
        assert GaussianPath(name).start_scale == pytest.approx(np.hypot(end.alpha, end.beta))
    assert GaussianPath("linear").start_scale == 1.0
    assert GaussianPath("vp").start_scale == pytest.approx(1.0)
    assert GaussianPath("vesde").start_scale == pytest.approx(np.sqrt(401.0 - 1e-4))


def rate(low, high):
    """Integral of the rate up to ``T_MIN``."""
    return low * T_MIN + 0.5 * (high - low) * T_MIN**2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vesde", lambda low, high: low * np.sqrt(2.0 * np.log(high / low) * T_MIN)),
        ("vpsde", lambda low, high: np.sqrt(rate(low, high))),
        ("sub-vpsde", rate),
        ("vp", lambda low, high: np.sqrt(0.5 * rate(low, high))),
        ("linear", lambda low, high: T_MIN),
        ("trig", lambda low, high: 0.5 * np.pi * T_MIN),
    ],
)
def test_small_times_keep_their_digits(name, expected):
    """Near t = 0 beta is a difference of nearly equal numbers; it must not be computed as one."""
    path = GaussianPath(name)
    point = path.at(T_MIN)
    assert float(point.beta) == pytest.approx(expected(path.low, path.high), rel=1e-4)
    assert np.isfinite(point.d_beta)


@pytest.mark.parametrize("name", NAMES)
def test_any_shape_of_times(name):
    path = GaussianPath(name)
    assert path.at(0.5).beta.shape == ()
    assert path.at(np.full((3, 2), 0.5)).d_alpha.shape == (3, 2)
    np.testing.assert_array_equal(path.at(INNER[:, None]).beta[:, 0], path.at(INNER).beta)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (0.1, np.inf), (np.nan, 1)])
@pytest.mark.parametrize("name", [name for name in NAMES if PATHS[name].range_of])
def test_impossible_ranges_are_refused(name, low, high):
    with pytest.raises(ValueError, match=r"sde_hyperparam_min and sde_hyperparam_max must satisfy 0 < min < max"):
        GaussianPath(name, low, high)


def test_unknown_path_lists_the_valid_ones():
    with pytest.raises(ValueError, match=r"path must be one of 'vesde', 'vpsde', .*'trig'; got 'lineer'. Did you mean"):
        GaussianPath("lineer")


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.integers(1, 40).flatmap(lambda n: arrays(np.float64, (n, d), elements=st.floats(-1e3, 1e3)))
    )
)
def test_diameter_equals_brute_force(y):
    expected = pdist(y).max() if len(y) > 1 else 0.0
    assert diameter(y) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_diameter_of_many_rows():
    y = np.random.default_rng(0).standard_normal((3000, 3))
    assert diameter(y) == pytest.approx(pdist(y).max(), rel=1e-12)


def test_exploding_range_is_the_diameter():
    y = np.random.default_rng(1).standard_normal((200, 2))
    path = path_from_data("vesde", y)
    assert (path.low, path.high) == (0.01, pytest.approx(pdist(y).max()))
    assert path_from_data("vesde", np.zeros((5, 1))).high > 0.01


@pytest.mark.parametrize("name", ["vpsde", "sub-vpsde", "vp"])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_preserving_range_reaches_the_tolerance_and_no_more(name, scale):
    y = scale * np.random.default_rng(2).standard_normal((100, 1))

    def divergence(high):
        end = GaussianPath(name, 0.01, high).at(1.0)
        mean, var = end.alpha * np.abs(y).max(), end.beta**2
        return 0.5 * (var + mean**2 - 1.0 - np.log(var))

    high = path_from_data(name, y).high
    assert divergence(high) == pytest.approx(1e-5, rel=1e-3)
    assert divergence(0.99 * high) > 1e-5


@pytest.mark.parametrize("name", [name for name in NAMES if not PATHS[name].range_of])
def test_paths_without_a_range_take_nothing_from_the_data(name):
    assert path_from_data(name, np.ones((4, 1))) == GaussianPath(name)
