"""AdaptiveConformal: long-run coverage under drift, one observation at a time; state that can be stored."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from diffgbm import AdaptiveConformal, ConformalDiffGBM, load
from tests.conftest import tiny, toy

N = 3000


class Fixed(BaseEstimator):
    """A model that predicts the standard normal distribution for ever."""

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_interval(self, X, coverage=0.9):
        return np.tile(norm.ppf([(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0]), (len(X), 1))


SERIES = {
    "steady": lambda rng, t: rng.normal(size=len(t)),
    "walk": lambda rng, t: np.cumsum(0.1 * rng.normal(size=len(t))) + rng.normal(size=len(t)),
    "jumps": lambda rng, t: rng.normal(size=len(t)) + 4.0 * ((t // 700) % 2),
    "trend": lambda rng, t: rng.normal(size=len(t)) + t / 300.0,
    "scale": lambda rng, t: rng.normal(size=len(t)) * (0.5 + 2.0 * np.abs(np.sin(t / 400.0))),
    "heavy": lambda rng, t: rng.standard_t(2.0, size=len(t)),
}


def inside(ends, y):
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


def windows(covered, length=500):
    return covered[length:].reshape(-1, length).mean(axis=1)


@pytest.mark.parametrize("name", SERIES)
def test_coverage_over_windows_of_500_is_within_two_points(name):
    y = SERIES[name](np.random.default_rng(0), np.arange(N))
    X = np.zeros((N, 1))
    model = AdaptiveConformal(Fixed())
    ends = model.follow(X, y)
    assert np.abs(windows(inside(ends, y)) - 0.9).max() <= 0.02
    assert model.coverage_ == pytest.approx(inside(ends, y).mean())
    assert np.isfinite(ends).all()
    assert (ends[:, 0] <= ends[:, 1]).all()
    if name == "steady":  # and the intervals are little wider than the best, of 3.29
        assert np.ptp(ends[500:], axis=1).mean() < 3.6


def test_static_conformal_intervals_lose_their_coverage_where_adaptive_ones_keep_it():
    rng = np.random.default_rng(1)
    n = 400 + 1500
    X = rng.uniform(size=(n, 1))
    drift = np.concatenate([np.zeros(400), np.cumsum(rng.normal(0.002, 0.03, 1500))])
    y = X[:, 0] + 0.3 * rng.normal(size=n) + drift
    model = tiny("flow").fit(X[:300], y[:300])
    static = ConformalDiffGBM(model).calibrate(X[300:400], y[300:400])
    adaptive = AdaptiveConformal(model)
    adaptive.follow(X[300:400], y[300:400])
    later = slice(400, n)
    of_static = windows(inside(static.predict_interval(X[later], 0.9), y[later]))
    of_adaptive = windows(inside(adaptive.follow(X[later], y[later]), y[later]))
    assert of_static.max() < 0.8
    assert np.abs(of_adaptive - 0.9).max() <= 0.02


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.99])
def test_other_coverages(coverage):
    y = SERIES["trend"](np.random.default_rng(0), np.arange(N))
    ends = AdaptiveConformal(Fixed(), coverage=coverage).follow(np.zeros((N, 1)), y)
    assert abs(inside(ends, y)[500:].mean() - coverage) < 0.02


def test_the_guarantee_holds_for_any_responses():
    """The share of misses at each end differs from its target by the way of its level over gamma T."""
    y = np.where(np.arange(1000) % 2, 1e6, -1e6)
    model = AdaptiveConformal(Fixed())
    ends = model.follow(np.zeros((1000, 1)), y)
    misses = np.array([(y < ends[:, 0]).mean(), (y > ends[:, 1]).mean()])
    np.testing.assert_allclose(misses, 0.05 + (0.05 - model.levels_) / (0.02 * 1000), atol=1e-12)
    assert np.isfinite(ends).all()


def test_one_by_one_is_the_same_as_following():
    X, y = toy()
    model = tiny("flow", residualize="off").fit(X[:60], y[:60])
    one, other = AdaptiveConformal(model), AdaptiveConformal(model)
    ends = []
    for i in range(60, 120):
        ends.append(one.predict_interval(X[i : i + 1])[0])
        one.update(y[i])
    np.testing.assert_array_equal(np.array(ends), other.follow(X[60:], y[60:]))
    np.testing.assert_array_equal(one.levels_, other.levels_)
    third = AdaptiveConformal(model).update(y[60:], X[60:])
    np.testing.assert_array_equal(third.scores_, one.scores_)


def test_a_loaded_model_goes_on_where_the_saved_one_stopped(tmp_path):
    X, y = toy()
    model = AdaptiveConformal(tiny("flow", residualize="off"), coverage=0.8).fit(X[:90], y[:90])
    model.save(tmp_path / "model.diffgbm")
    again = load(tmp_path / "model.diffgbm")
    assert (again.n_observed_, again.n_covered_, again.coverage) == (model.n_observed_, model.n_covered_, 0.8)
    np.testing.assert_array_equal(again.follow(X[90:], y[90:]), model.follow(X[90:], y[90:]))
    assert "observations inside 80% intervals" in again.describe()["adapted"]


def test_fit_follows_the_last_rows_in_the_order_of_time():
    X, y = toy()
    order = np.random.default_rng(0).permutation(120)
    model = AdaptiveConformal(tiny("flow")).fit(X, y, time=order)
    assert model.n_observed_ == 30
    expected = AdaptiveConformal(model.model_)
    last = np.argsort(order)[90:]
    expected.follow(X[last], y[last])
    np.testing.assert_array_equal(model.scores_, expected.scores_)


def test_frames_and_distributions():
    X, y = toy()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], index=np.arange(120) + 5)
    model = AdaptiveConformal(tiny("flow")).fit(frame, y)
    found = model.predict_interval(frame[:3])
    assert list(found.columns) == ["lower", "upper"]
    assert list(found.index) == [5, 6, 7]
    np.testing.assert_array_equal(model.predict(frame[:3]), model.model_.predict(frame[:3]))
    assert model.sample(frame[:3], 4, seed=0).shape == (4, 3)
    distribution = model.predict_distribution(frame[:3])
    np.testing.assert_array_equal(model.interval_of(distribution, frame[:3], 0.9), found.to_numpy())
    np.testing.assert_array_equal(model.interval_of(distribution, frame[:3], 0.5), distribution.interval(0.5))


def test_errors_name_the_argument():
    X, y = toy()
    model = AdaptiveConformal(tiny("flow").fit(X, y))
    with pytest.raises(ValueError, match=r"update has 1 observation\(s\), but predict_interval was asked for 0 row"):
        model.update(1.0)
    with pytest.raises(ValueError, match=r"adapts intervals of coverage=0\.9; got coverage=0\.5"):
        model.predict_interval(X, 0.5)
    with pytest.raises(ValueError, match="kind must be 'central'"):
        model.predict_interval(X, kind="highest_density")
    with pytest.raises(ValueError, match="y must be finite"):
        model.update([np.nan], X[:1])
    with pytest.raises(NotFittedError):
        AdaptiveConformal(tiny("flow")).predict_interval(X)
    with pytest.raises(ValueError, match="gamma must be > 0"):
        AdaptiveConformal(Fixed(), gamma=-1.0).follow(X, y)
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        AdaptiveConformal(Fixed(), coverage=90).follow(X, y)
    with pytest.raises(ValueError, match="calibration_size must be between 0 and 1"):
        AdaptiveConformal(tiny("flow"), calibration_size=2.0).fit(X, y)
