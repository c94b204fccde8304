"""The paper's lemma and propositions, and the identities around them, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper_studies.computed import conditioning, endpoint_gain, histogram_bins, module_of, toy_geometry
from benchmarks.paper_studies.computed.histogram_bins import Pooled, bounds, proxy
from benchmarks.paper_studies.computed.mixture import Mixture, toy_distribution, toy_distribution_alone
from benchmarks.paper_studies.computed.views import VIEWS, view_at
from benchmarks.paper_studies.schema import COMPUTED
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from diffgbm.diffusion.paths import PATHS, GaussianPath
from diffgbm.diffusion.targets import TARGETS, target_at

DISTRIBUTION = toy_distribution_alone()
Y = np.linspace(-2.5, 2.5, 41)


@pytest.mark.parametrize("path", PATHS)
@given(t=st.floats(0.01, 0.99))
@settings(max_examples=25, deadline=None)
def test_lemma_the_population_velocity_implies_the_score(path, t):
    """(alpha' y - alpha v) / (W beta) is the derivative of the log density, v = E[u | y]."""
    point = GaussianPath(path).at(t)
    y = point.alpha * Y + point.beta * np.linspace(-2.0, 2.0, 41)
    velocity = point.d_alpha * DISTRIBUTION.clean(y, point) + point.d_beta * DISTRIBUTION.noise(y, point)
    implied = (point.d_alpha * y - point.alpha * velocity) / (point.wronskian * point.beta)
    np.testing.assert_allclose(implied, DISTRIBUTION.score(y, point), rtol=1e-6, atol=1e-6 / float(point.beta))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", PATHS)
def test_every_target_on_every_path_implies_the_score(target, path):
    for t in (0.05, 0.4, 0.8):
        point = target_at(target, GaussianPath(path), np.full(len(Y), t))
        expected = point.of(DISTRIBUTION.clean(Y, point.path), DISTRIBUTION.noise(Y, point.path))
        score = DISTRIBUTION.score(Y, point.path)
        np.testing.assert_allclose(point.score(Y, expected), score, rtol=1e-5, atol=1e-5 * np.abs(score).max())


def test_the_mixtures_score_is_the_derivative_of_its_density():
    point = GaussianPath("vp").at(0.3)
    step = 1e-5
    slope = (np.log(DISTRIBUTION.density(Y + step, point)) - np.log(DISTRIBUTION.density(Y - step, point))) / (
        2.0 * step
    )
    np.testing.assert_allclose(DISTRIBUTION.score(Y, point), slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        (DISTRIBUTION.cdf(Y + step, point) - DISTRIBUTION.cdf(Y - step, point)) / (2.0 * step),
        DISTRIBUTION.density(Y, point),
        rtol=1e-6,
    )
    grid = np.linspace(-9.0, 9.0, 4001)
    assert trapezoid(DISTRIBUTION.density(grid, point), grid) == pytest.approx(1.0, abs=1e-9)
    # E y0 = E E[y0 | y]
    assert trapezoid(DISTRIBUTION.clean(grid, point) * DISTRIBUTION.density(grid, point), grid) == pytest.approx(
        0.0, abs=1e-9
    )


def test_the_toy_distribution_is_standardised_and_drawn_as_it_says():
    x = np.linspace(0.0, 1.0, 2001)
    assert toy_distribution(x).moments() == pytest.approx((0.0, 1.0), abs=1e-12)
    drawn = DISTRIBUTION.times(40_000).draw(np.random.default_rng(0))
    # five standard errors
    assert abs(drawn.mean()) < 5.0 / 200.0
    levels = np.mean(drawn[:, None] <= Y, axis=0)
    at_start = GaussianPath("linear").at(0.0)
    assert np.max(np.abs(levels - DISTRIBUTION.cdf(Y, at_start))) < 5.0 * 0.5 / 200.0


@pytest.mark.parametrize("name", histogram_bins.VARIANTS)
@pytest.mark.parametrize("bins", [3, 16, 100])
def test_proposition_1_bounds_the_error_of_pooled_bins(name, bins):
    pooled = Pooled(DISTRIBUTION, name, np.array([0.1, 0.4, 0.7, 0.95]))
    edges = pooled.edges(bins, pooled.support())
    assert len(edges) == bins + 1
    assert np.all(np.diff(edges) > 0.0)
    mass = np.diff(pooled.cdf(edges))
    np.testing.assert_allclose(mass, mass.mean(), rtol=0.02)
    for t in (0.1, 0.5, 0.9):
        found = bounds(pooled, edges, t)
        assert 0.0 < found.error <= 0.2501 * found.oscillation  # a mean is at most half the oscillation off, squared
        assert found.oscillation <= found.lipschitz * (1.0 + 1e-9)


def test_proposition_1_is_exact_for_a_line_on_even_bins():
    """f(u) = k u under a uniform distribution on bins of width h: A = k^2 h^2 / 12, and every bound k^2 h^2."""

    class Line(Pooled):
        def density(self, u, t=None):
            return np.ones_like(u)

        def regression(self, u, t):
            return 3.0 * u

    line = Line(DISTRIBUTION, "linear_velocity", np.array([0.5]))
    for bins in (4, 10):
        found = bounds(line, np.linspace(0.0, 2.0, bins + 1), 0.5)
        assert found.error == pytest.approx((3.0 * 2.0 / bins) ** 2 / 12.0, rel=1e-12)
        assert found.oscillation == pytest.approx((3.0 * 2.0 / bins) ** 2)
        assert found.lipschitz == pytest.approx((3.0 * 2.0 / bins) ** 2)
        # the proxy's integral of p / q^2 is the squared length
        assert proxy(line, (0.0, 2.0), bins, 0.5) == pytest.approx((3.0 * 2.0 / bins) ** 2, rel=1e-3)


def test_proposition_1_errors_fall_with_the_square_of_the_bins():
    """f(u) = sin(3 u), uniform on [0, 2]: A B^2 tends to (2^2 / 12) times the mean of f'^2, below the proxy."""

    class Wave(Pooled):
        def density(self, u, t=None):
            return np.ones_like(u)

        def regression(self, u, t):
            return np.sin(3.0 * u)

    wave = Wave(DISTRIBUTION, "linear_velocity", np.array([0.5]))
    steepness = 9.0 * (0.5 + np.sin(12.0) / 24.0)
    for bins in (50, 100, 200):
        error = bounds(wave, np.linspace(0.0, 2.0, bins + 1), 0.5).error
        assert error * bins**2 == pytest.approx(4.0 / 12.0 * steepness, rel=20.0 / bins**2 + 1e-6)
        assert error <= proxy(wave, (0.0, 2.0), bins, 0.5)


@pytest.mark.parametrize(
    ("path", "formula"),
    [
        ("linear", lambda t: (1.0 - t) / t),
        ("trig", lambda t: 2.0 / np.pi / np.tan(0.5 * np.pi * t)),
        ("vp", lambda t: 2.0 / (0.05 + 0.5 * 19.9 * t)),
    ],
)
@given(t=st.floats(1e-5, 0.95), error=st.floats(-3.0, 3.0).filter(lambda v: abs(v) > 1e-2), y=st.floats(-2.0, 2.0))
@settings(max_examples=50, deadline=None)
def test_proposition_2_the_scores_error_is_the_velocitys_times_the_gain(path, formula, t, error, y):
    point = target_at("velocity", GaussianPath(path), t)
    shift = point.score(np.array(y), np.array(0.7 + error)) - point.score(np.array(y), np.array(0.7))
    assert float(shift) == pytest.approx(-formula(t) * error, rel=1e-6)
    gain = point.path.alpha / (point.path.wronskian * point.path.beta)
    assert float(gain) == pytest.approx(formula(t), rel=1e-9)


def test_proposition_2_is_what_fitted_trees_show():
    found = endpoint_gain.arms(0, rows=600, rounds=5, points=6, test_rows=200)
    for path, slope in (("linear", -1.0), ("trig", -1.0), ("vp", 0.0)):
        assert found[path]["gain_slope"] == pytest.approx(slope, abs=0.01)
        assert found[path]["formula_error"] < 1e-6
        for schedule, b in endpoint_gain.SCHEDULES.items():
            expected = 2.0 * b + slope  # 2b + 1 - 2a with a = 1, and a = 1/2 for VP
            assert found[path][f"drift_slope_{schedule}"] == pytest.approx(expected, abs=0.01)
    assert found["vp"]["gain_largest"] < 40.0 < found["linear"]["gain_largest"]


def test_feature_variance_of_the_paths():
    t = np.linspace(0.01, 1.0, 50)
    np.testing.assert_allclose(view_at("linear_velocity", t).feature_sd ** 2, (1.0 - t) ** 2 + t**2, atol=1e-12)
    for name in ("trig_velocity", "vp_velocity", "ve_edm"):
        np.testing.assert_allclose(view_at(name, t).feature_sd, 1.0, atol=1e-12)


def test_residualization_removes_the_variance_of_the_mean():
    """Var(Y) = E Var(Y | X) + Var(mu(X)), for the toy distribution over x."""
    distribution = toy_distribution(np.linspace(0.0, 1.0, 2001))
    mean = np.sum(distribution.weight * distribution.mean, axis=-1)
    inside = np.sum(distribution.weight * (distribution.mean**2 + distribution.sd**2), axis=-1) - mean**2
    assert np.mean(inside) + np.var(mean) == pytest.approx(1.0, abs=1e-12)
    residual = Mixture(distribution.weight, distribution.mean - mean[:, None], distribution.sd)
    assert residual.moments()[1] ** 2 == pytest.approx(np.mean(inside))


def test_ve_velocity_noise_and_edm_imply_one_score():
    found = conditioning.arms(0, points=50)
    assert max(numbers["same_as_noise"] for numbers in found.values()) < 1e-12
    assert found["ve_noise"]["feature_ratio"] == pytest.approx(20.0, rel=0.01)
    assert found["ve_edm"]["target_ratio"] == pytest.approx(1.0)


def test_trees_at_a_fixed_time_do_not_see_a_constant():
    found = toy_geometry.arms(0, rows=400, points=3, fit_times=2, fit_rows=200, rounds=5)
    for name in ("ve_noise", "ve_velocity", "ve_velocity_normalised"):
        assert found[name]["overlap"] < 1e-4
    assert found["linear_velocity"]["overlap"] > 1e-3


@pytest.mark.parametrize("kind", COMPUTED)
def test_computed_studies_bring_every_measure(kind, monkeypatch):
    monkeypatch.setattr(histogram_bins, "VARIANTS", ("vp_velocity",))
    small = {
        "toy_geometry": {"rows": 200, "points": 3, "fit_times": 2, "fit_rows": 100, "rounds": 2},
        "histogram_bins": {"pooled_times": 2, "rows": 200, "rounds": 2},
        "endpoint_gain": {"rows": 200, "rounds": 2, "points": 4, "test_rows": 50},
        "conditioning": {"points": 10},
    }[kind]
    found = module_of(kind).arms(1, **small)
    for arm, numbers in found.items():
        assert all(np.isfinite(numbers[measure]) for measure in module_of(kind).MEASURES), arm
    assert set(found) <= {*VIEWS, "linear", "trig", "vp"}
