"""Tables whose later rows are harder to predict are found, and tables of independent rows are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from diffgbm import DiffGBM, DiffGBMWarning
from diffgbm.data.features import FeatureTable
from diffgbm.data.later_rows import MIN_ROWS, RATIO, later_error, later_hint, time_columns

TINY = {"n_estimators": 5, "n_repeats": 2, "seed": 0}


def dates(n, rng, days=900):
    return pd.Timestamp("2018-01-01") + pd.to_timedelta(np.sort(rng.uniform(0, days, n)), unit="D")


def walk(n=400, seed=0, column="day"):
    """A random walk: rows between others are easy to predict, later ones are not."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.standard_normal(n), column: dates(n, rng)})
    return X, np.cumsum(rng.standard_normal(n)) + X["a"].to_numpy()


def independent(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.standard_normal(n), "day": dates(n, rng)})
    return X, np.exp(X["a"] + rng.standard_normal(n)).to_numpy()


def ratios(X, y):
    features, matrix = FeatureTable.learn(X, None, "")
    return {name: later_error(matrix, y[:, None], when) for name, when in time_columns(features, matrix).items()}


@pytest.mark.parametrize("seed", range(5))
def test_a_random_walk_is_found(seed):
    X, y = walk(seed=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    assert ratios(X, y)["day"] > 2.0
    assert ratios(X.iloc[order], y[order])["day"] > 2.0  # also where rows are not in order
    assert ratios(X, np.exp(y / y.std()))["day"] > 2.0  # and where the response is skewed


@pytest.mark.parametrize("n", [MIN_ROWS, 300, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_independent_rows_are_not(n, seed):
    X, y = independent(n, seed)
    assert ratios(X, y)["day"] < RATIO


def test_seasons_that_come_again_are_not():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"day": dates(800, rng, 1400)})
    y = np.sin(2 * np.pi * X["day"].dt.dayofyear.to_numpy() / 365.25) + 0.3 * rng.standard_normal(800)
    assert ratios(X, y)["day"] < RATIO


def test_years_count_and_other_numbers_do_not():
    rng = np.random.default_rng(0)
    n = 300
    year = rng.integers(1980, 2020, n)
    X = pd.DataFrame({"year": year, "year_of_birth": year - 30.0, "years": rng.integers(0, 9, n), "hour": year % 24})
    features, matrix = FeatureTable.learn(X, None, "")
    assert set(time_columns(features, matrix)) == {"year"}
    np.testing.assert_array_equal(time_columns(features, matrix)["year"], year)


@pytest.mark.parametrize(
    "when",
    [
        np.full(300, np.nan),
        np.zeros(300),
        np.repeat([0.0, 1.0, 2.0], 100),
        np.r_[np.arange(90.0), np.full(210, np.nan)],
    ],
)
def test_too_few_times_say_nothing(when):
    rng = np.random.default_rng(0)
    assert later_error(rng.standard_normal((300, 2)), np.cumsum(rng.standard_normal((300, 1)), axis=0), when) == 1.0


def test_the_hardest_response_and_the_worst_column_count():
    X, y = walk()
    features, matrix = FeatureTable.learn(X, None, "")
    both = np.column_stack([np.random.default_rng(1).standard_normal(len(y)), y])
    times = {"noise": np.random.default_rng(2).uniform(size=len(y)), **time_columns(features, matrix)}
    hint = later_hint(matrix, both, times)
    assert "earlier by 'day'" in hint
    assert "pass time='day' to fit" in hint
    assert later_hint(matrix, both[:, :1], times) == ""
    assert later_hint(matrix, both, {}) == ""


def test_a_fit_warns_of_scores_that_are_too_good_and_remembers_it():
    X, y = walk()
    with pytest.warns(DiffGBMWarning, match="Rows are divided at random, but later rows are harder to predict"):
        model = DiffGBM.flow(**TINY).fit(X, y)
    assert "pass time='day' to fit" in model.division_


def test_a_table_with_dates_is_told_of_which_rows_scores_are():
    X, y = independent()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Rows are divided at random")
        model = DiffGBM.flow(**TINY).fit(X, y)
        plain = DiffGBM.flow(**TINY).fit(X[["a"]], y)
    assert "those of other rows of the same period" in model.division_
    assert "later by 'day', pass time='day' to fit" in model.division_
    assert "period" not in plain.division_


@pytest.mark.parametrize("said", ["time", "groups"])
def test_who_said_how_rows_depend_is_not_warned(said):
    X, y = walk()
    how = {"time": "day"} if said == "time" else {"groups": np.arange(len(y)) % 20}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Rows are divided at random")
        model = DiffGBM.flow(**TINY).fit(X, y, **how)
    assert "at random" not in model.division_
