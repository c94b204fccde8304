"""Paired comparisons: closed forms, calibrated tests for rows, groups and time, and what is refused."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm import DiffGBMWarning, compare, metrics
from diffgbm.metrics.comparison import SCORES
from tests.conftest import tiny, toy
from tests.metrics.predictions import normal_distribution

Y = np.random.default_rng(0).normal(size=400)
GOOD, WIDE = (
    normal_distribution(np.zeros(400), np.ones(400), 100),
    normal_distribution(np.zeros(400), np.full(400, 2.0), 100),
)


class Given:
    """A predictive distribution of which only the score of each row is known."""

    def __init__(self, scores):
        self.scores = np.asarray(scores, dtype=float)

    def crps(self, y):
        return self.scores


def given(differences, **options):
    """Compare two models whose scores differ by these numbers."""
    d = np.asarray(differences, dtype=float)
    return compare(Given(1.0 + d), Given(np.ones(len(d))), None, np.zeros(len(d)), **options)


def test_rows_are_compared_by_a_paired_t_test():
    result = compare(GOOD, WIDE, None, Y)
    a, b = metrics.crps(GOOD, Y), metrics.crps(WIDE, Y)
    test = stats.ttest_rel(a, b)
    interval = test.confidence_interval(0.95)
    assert result.pvalue == pytest.approx(test.pvalue)
    assert (result.low, result.high) == pytest.approx((interval.low, interval.high))
    assert (result.mean_a, result.mean_b) == pytest.approx((a.mean(), b.mean()))
    assert result.better == "a"
    assert compare(WIDE, GOOD, None, Y).better == "b"
    np.testing.assert_allclose(result.differences, a - b)


def test_groups_of_equal_size_are_compared_by_their_means():
    rng = np.random.default_rng(1)
    d = np.repeat(rng.normal(size=30), 5) + 0.1 * rng.normal(size=150)
    names = np.repeat([f"g{i}" for i in range(30)], 5)
    order = rng.permutation(150)
    result = given(d[order], groups=names[order])
    test = stats.ttest_1samp(d.reshape(30, 5).mean(axis=1), 0.0)
    assert result.pvalue == pytest.approx(test.pvalue)
    assert (result.rows, result.clusters, result.clustered_by) == (150, 30, "group")


def rejected(make, **options):
    """Share of 400 tests at 5% of series without a difference that reject."""
    return np.mean([given(make(np.random.default_rng(i)), **options).pvalue < 0.05 for i in range(400)])


def autoregressive(rng, n=300, memory=0.7):
    noise, series = rng.normal(size=n + 50), np.zeros(n + 50)
    for i in range(1, n + 50):
        series[i] = memory * series[i - 1] + noise[i]
    return series[50:]


def test_dependent_rows_need_blocks():
    """Two standard errors of a share of 5% of 400 tests are 2.2%; blocks of 20 rows leave some dependence."""
    assert rejected(autoregressive) > 0.25
    assert rejected(autoregressive, blocks=15) < 0.10
    assert rejected(lambda rng: rng.normal(size=300), blocks=15) < 0.08
    assert 0.02 < rejected(lambda rng: rng.normal(size=300)) < 0.08


def test_dependent_groups_need_groups():
    def make(rng):
        return np.repeat(rng.normal(size=25), 8) + rng.normal(size=200)

    assert rejected(make) > 0.25
    assert rejected(make, groups=np.repeat(np.arange(25), 8)) < 0.085


def test_time_orders_the_rows():
    d = autoregressive(np.random.default_rng(3))
    order = np.random.default_rng(4).permutation(len(d))
    days = np.datetime64("2026-01-01") + np.arange(len(d))
    assert given(d[order], time=days[order], blocks=12).pvalue == pytest.approx(given(d, blocks=12).pvalue)
    assert given(d, time=days).clusters == 10


def test_rows_of_the_same_time_are_in_the_same_block():
    d = np.arange(60.0)
    result = given(d, time=np.repeat(np.arange(12), 5), blocks=11)
    assert result.clusters <= 11
    sums = given(d, groups=np.repeat(np.arange(12), 5))
    assert given(d, time=np.repeat(np.arange(12), 5), blocks=60).pvalue == pytest.approx(sums.pvalue)


@pytest.mark.parametrize("score", [name for name in SCORES if "energy" not in name and "variogram" not in name])
def test_scores_by_name(score):
    result = compare(GOOD, WIDE, None, Y, score)
    assert result.score == score
    assert result.mean_a == pytest.approx(np.mean(getattr(metrics, score)(GOOD, Y)))


def test_other_scores_and_several_responses():
    def absolute_error(prediction, y):
        return np.abs(prediction.mean() - y)

    result = compare(GOOD, WIDE, None, Y, absolute_error)
    assert (result.score, result.difference) == ("absolute_error", pytest.approx(0.0, abs=1e-12))
    samples, y = np.random.default_rng(5).normal(size=(30, 50, 2)), np.zeros((50, 2))
    several = compare(samples, samples + 1.0, None, y)
    np.testing.assert_allclose(
        several.differences, (metrics.crps(samples, y) - metrics.crps(samples + 1.0, y)).mean(axis=1)
    )
    assert compare(samples, samples + 1.0, None, y, "energy_score").better == "a"


def test_fitted_models_and_pipelines(flow_model):
    X, y = toy(seed=1)
    pipeline = make_pipeline(StandardScaler(), tiny("flow", n_estimators=2)).fit(*toy())
    result = compare(flow_model, pipeline, X, y)
    assert result.mean_a == pytest.approx(np.mean(flow_model.crps(X, y)))
    assert result.mean_b == pytest.approx(-metrics.crps_scorer(pipeline, X, y))


def test_models_that_agree_do_not_differ():
    result = compare(GOOD, GOOD, None, Y)
    assert (result.difference, result.low, result.high, result.pvalue, result.better) == (0.0, 0.0, 0.0, 1.0, None)
    assert "No clear difference" in repr(result)


def test_the_comparison_as_text():
    result = given(np.tile([-1.0, -2.0, -3.0], 40), groups=np.repeat(np.arange(40), 3))
    lines = repr(given(np.tile([-1.0, -3.0], 60))).splitlines()
    assert lines[0] == "crps on 120 rows (lower is better)"
    assert lines[1:3] == ["  first model   -1", "  second model  1"]
    assert lines[3] == "  difference    -2, 95% interval -2.182 to -1.818, p < 0.0001"
    assert lines[4] == "The first model is better."
    assert repr(result).startswith("crps on 120 rows in 40 groups")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 2]}, r"groups must have one value for each of the 400 rows; got shape \(2,\)"),
        ({"groups": [None] * 400}, "groups has 400 missing values"),
        ({"groups": np.zeros(400)}, "at least 2 groups; there are 1"),
        ({"groups": np.arange(400), "blocks": 5}, "give one of them"),
        ({"blocks": 1}, "blocks must be an integer >= 2"),
        ({"level": 95}, "level must lie between 0 and 1"),
        ({"score": "crsp"}, "Did you mean 'crps'"),
        ({"score": lambda prediction, y: 1.0 / (y - y)}, "score of model_a is not finite in 400 of 400 rows"),
        ({"score": lambda prediction, y: 1.0}, "one number for each of 400 rows"),
    ],
)
def test_arguments_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
        compare(GOOD, WIDE, None, Y, **options)


def test_models_that_are_refused(flow_model):
    X, y = toy()
    with pytest.raises(TypeError, match=r"model_b must predict a distribution; LinearRegression has no"):
        compare(flow_model, LinearRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="model_a is an estimator, which needs X"):
        compare(flow_model, GOOD, None, y)


def test_few_groups_are_warned_about():
    with pytest.warns(DiffGBMWarning, match="4 groups are few"):
        given(np.arange(40.0), groups=np.arange(40) % 4)
