"""Properties of every predictive distribution, on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate

from diffgbm import PredictiveDistribution, metrics


@st.composite
def distributions(draw, smallest_gap=0.0, low=2, high=30):
    """One distribution of a few points, at least ``smallest_gap`` apart."""
    gaps = draw(st.lists(st.floats(smallest_gap, 3.0), min_size=low, max_size=high))
    start = draw(st.floats(-50.0, 50.0))
    return PredictiveDistribution.from_points(start + np.cumsum(gaps)[None])


quick = settings(max_examples=50, deadline=None)


@quick
@given(distribution=distributions(smallest_gap=0.01), q=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_cdf_undoes_quantile(distribution, q):
    np.testing.assert_allclose(distribution.cdf(distribution.quantile(q)), [q], rtol=0, atol=1e-9)


@quick
@given(distribution=distributions(), q=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20))
def test_quantiles_never_cross(distribution, q):
    assert np.all(np.diff(distribution.quantile(np.sort(q))) >= 0.0)


@quick
@given(distribution=distributions(), y=st.lists(st.floats(-200.0, 200.0), min_size=2, max_size=20))
def test_cdf_rises_from_zero_to_one(distribution, y):
    p = distribution.cdf(np.concatenate([[-np.inf], np.sort(y), [np.inf]])[None])[0]
    assert np.all(np.diff(p) >= 0.0)
    assert p[0] == 0.0
    assert p[-1] == 1.0
    np.testing.assert_array_equal(distribution.sf(np.sort(y)[None])[0], 1.0 - p[1:-1])


@settings(max_examples=20, deadline=None)
@given(distribution=distributions(smallest_gap=0.1))
def test_density_integrates_to_one(distribution):
    ends = distribution.quantile([0.0, 1.0])[0]
    reach = 10.0 * (ends[1] - ends[0])
    u = np.linspace(ends[0] - reach, ends[1] + reach, 20_001)
    assert integrate.trapezoid(distribution.pdf(u[None])[0], u) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("more", [[], [5.0]])
def test_probabilities_between_points_that_are_next_to_each_other(more):
    """The slope between them overflows; probabilities must not."""
    distribution = PredictiveDistribution.from_points(np.array([[0.0, 2.2e-313, *more]]))
    u = np.array([-1.0, -1e-313, -1e-314, 0.0, 1e-313, 2e-313, 2.2e-313, 3e-313, 1.0, 9.0])
    p = distribution.cdf(u[None])[0]
    assert (np.diff(p) >= 0.0).all()
    assert p[0] == 0.0
    assert p[-1] == 1.0
    assert np.isnan(distribution.cdf(np.nan)).all()


@quick
@given(distribution=distributions(), y=st.floats(-100.0, 100.0))
@example(distribution=PredictiveDistribution.from_points(np.array([[0.0, 2.22507386e-313]])), y=0.0)
def test_crps_is_its_integral(distribution, y):
    """Between knots the integrand is a parabola, for which two Gauss points are exact."""
    knots = distribution.quantile(np.concatenate([[0.0], distribution.levels, [1.0]]))[0]
    ends = np.unique(np.concatenate([knots, [y]]))
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    total = 0.0
    for side in (-1.0, 1.0):
        u = middle + side * half / np.sqrt(3.0)
        total += half @ (distribution.cdf(u[None])[0] - (u >= y)) ** 2
    score = distribution.crps([y])[0]
    assert score >= 0.0
    # cut anywhere, its two parts add up
    cut = distribution.quantile(0.3)[0] + 0.01
    assert distribution.crps([y], high=cut)[0] + distribution.crps([y], low=cut)[0] == pytest.approx(
        score, rel=1e-9, abs=1e-9
    )
    assert score == pytest.approx(total, abs=1e-7 + 1e-9 * abs(y))


@quick
@given(distribution=distributions(), y=st.floats(-100.0, 100.0))
def test_crps_is_close_to_that_of_the_points(distribution, y):
    m = distribution.values.shape[1]
    ensemble = metrics.crps(distribution.values.T, [y])[0]
    assert distribution.crps([y])[0] == pytest.approx(
        ensemble, abs=np.ptp(distribution.quantile([0.0, 1.0])) / m + 1e-9
    )


@quick
@given(
    distribution=distributions(smallest_gap=0.05, low=4),
    scale=st.floats(0.01, 100.0),
    shift=st.floats(-1000.0, 1000.0),
    q=st.floats(0.0, 1.0),
)
def test_shift_and_scale(distribution, scale, shift, q):
    moved = PredictiveDistribution(scale * distribution.values + shift, distribution.levels)
    tolerance = {"rtol": 1e-7, "atol": 1e-7 * (abs(shift) + scale)}
    y = distribution.quantile(q)
    at = scale * y + shift
    for name in ("mean", "median"):
        np.testing.assert_allclose(getattr(moved, name)(), scale * getattr(distribution, name)() + shift, **tolerance)
    np.testing.assert_allclose(moved.quantile(q), at, **tolerance)
    # equally high peaks and equally short intervals may differ by rounding: compare heights and widths
    peak = distribution.logpdf(distribution.mode()) - np.log(scale)
    np.testing.assert_allclose(moved.logpdf(moved.mode()), peak, rtol=0, atol=1e-3)
    for kind in ("central", "highest_density"):
        np.testing.assert_allclose(
            np.ptp(moved.interval(0.8, kind)), scale * np.ptp(distribution.interval(0.8, kind)), **tolerance
        )
    np.testing.assert_allclose(moved.sample(5, seed=1), scale * distribution.sample(5, seed=1) + shift, **tolerance)
    np.testing.assert_allclose(moved.std(), scale * distribution.std(), **tolerance)
    np.testing.assert_allclose(
        moved.var(), scale**2 * distribution.var(), rtol=1e-6, atol=1e-9 * (abs(shift) + scale) ** 2
    )
    np.testing.assert_allclose(moved.crps(at), scale * distribution.crps(y), **tolerance)
    np.testing.assert_allclose(moved.cdf(at), distribution.cdf(y), rtol=0, atol=1e-6 * (1.0 + abs(shift) / scale))
    np.testing.assert_allclose(moved.logpdf(at), distribution.logpdf(y) - np.log(scale), rtol=0, atol=1e-3)
    np.testing.assert_allclose(moved.entropy(), distribution.entropy() + np.log(scale), rtol=0, atol=1e-3)
    np.testing.assert_allclose(
        moved.expect(lambda u: (u - shift) / scale), distribution.expect(lambda u: u), rtol=1e-6, atol=1e-4
    )


@quick
@given(distribution=distributions(smallest_gap=0.05), q=st.floats(0.0, 1.0))
def test_reflection(distribution, q):
    mirror = PredictiveDistribution.from_points(-distribution.values)
    np.testing.assert_allclose(mirror.quantile(q), -distribution.quantile(1.0 - q), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mirror.mean(), -distribution.mean(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mirror.crps([3.0]), distribution.crps([-3.0]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mirror.logpdf([3.0]), distribution.logpdf([-3.0]), rtol=1e-6, atol=1e-6)


@quick
@given(distribution=distributions(), y=st.floats(-100.0, 100.0))
def test_at_least_is_more_than_only_at_point_masses(distribution, y):
    at_least, more = distribution.prob_at_least(y), distribution.sf(y)
    assert (at_least >= more).all()
    if np.count_nonzero(distribution.values == y) < 2:
        np.testing.assert_array_equal(at_least, more)
