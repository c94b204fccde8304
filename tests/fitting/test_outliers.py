"""Outliers among residuals, and whole fits with one wild row."""

import numpy as np
import pandas as pd
import pytest

from diffgbm import AutoDiffGBM, DiffGBM
from diffgbm._util.errors import DiffGBMWarning
from diffgbm.first_stage import FirstStageValues, Task
from diffgbm.fitting.outliers import fitted_without_outliers, warn_of_residuals, without_residual_outliers
from tests.auto.tiny_auto import TINY as TINY_PRESET
from tests.conftest import TINY


def line(n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, 10.0 * X[:, 0] + 0.1 * rng.standard_normal(n)


def by_line(task):
    """Out-of-fold values of an oracle that outliers bend by their share of the rows."""
    location = 10.0 * task.X[:, :1] + (task.y - 10.0 * task.X[:, :1]).mean()
    return "fitted", FirstStageValues(np.empty((len(location), 0)), location, np.ones_like(location))


def task_of(X, y):
    return Task(X, y[:, None], (), None, 3, 1, 0, 1)


def test_a_response_inside_the_range_but_far_from_its_prediction_is_moved():
    X, y = line()
    row = int(np.argmin(X[:, 0]))
    y[row] = 9.5
    _, _, moved, rows = fitted_without_outliers(task_of(X, y), by_line)
    assert rows.tolist() == [row]
    assert abs(moved[row, 0] - 10.0 * X[row, 0]) < 1.0
    others = np.arange(len(y)) != row
    assert np.array_equal(moved[others, 0], y[others])


def test_the_first_stage_is_fitted_once_without_outliers_and_again_with_them():
    X, y = line()
    fits = []

    def fit(task):
        fits.append(task.y)
        return by_line(task)

    assert len(fitted_without_outliers(task_of(X, y), fit)[3]) == 0
    assert len(fits) == 1
    y[3] += 50.0
    fits.clear()
    fitted_without_outliers(task_of(X, y), fit)
    assert len(fits) == 2
    fits.clear()
    _, _, moved, rows = fitted_without_outliers(task_of(X, y), fit, lambda: False)
    assert len(fits) == 1
    assert rows.tolist() == [3]
    assert abs(moved[3, 0] - 10.0 * X[3, 0]) < 2.0


def test_neighbours_that_an_outlier_takes_along_do_not_hide_it():
    X, y = line()
    y[3] += 50.0
    near = np.argsort(np.abs(X[:, 0] - X[3, 0]))[1:60]

    def fit(task):  # residuals of the neighbours follow the outlier's, the nearer the more
        fitted, values = by_line(task)
        error = task.y[3, 0] - 10.0 * X[3, 0]
        values.location[near, 0] += error / np.arange(2.0, len(near) + 2.0)
        return fitted, values

    assert len(without_residual_outliers(y[:, None], fit(task_of(X, y))[1])[1]) == 0
    assert fitted_without_outliers(task_of(X, y), fit)[3].tolist() == [3]


def test_heavy_tailed_residuals_are_left_alone():
    X, _ = line()
    for seed in range(4):
        noise = np.random.default_rng(seed).standard_cauchy(len(X))
        assert len(fitted_without_outliers(task_of(X, 10.0 * X[:, 0] + noise), by_line)[3]) == 0


def test_the_warning_names_rows_values_and_remedy():
    observed, moved = np.array([[1.0], [500.0]]), np.array([[1.0], [2.0]])
    with pytest.warns(DiffGBMWarning, match=r"1 row.*row b \(y = 500, moved to 2\).*Correct or remove"):
        warn_of_residuals(np.array([1]), observed, moved, ["a", "b"])


@pytest.mark.parametrize("recipe", [DiffGBM, DiffGBM.flow, DiffGBM.published])
def test_one_wild_row_does_not_decide_the_widths(recipe):
    X, y = line(300)
    wild = y.copy()
    wild[17] = 1e6 * y[17]
    widths = []
    for response in (y, wild):
        model = recipe(**TINY)
        if response is wild:
            with pytest.warns(DiffGBMWarning, match="row 17 "):
                model.fit(X, response)
        else:
            model.fit(X, response)
        widths.append(np.median(np.ptp(model.predict_interval(X, coverage=0.9), axis=1)))
    assert widths[1] == pytest.approx(widths[0], rel=0.25)


def test_the_label_of_a_frame_names_the_row():
    X, y = line(200)
    y[17] = 1e7
    index = [f"house {i}" for i in range(200)]
    with pytest.warns(DiffGBMWarning, match="row house 17 "):
        DiffGBM(**TINY).fit(pd.DataFrame(X, index=index, columns=["a", "b"]), pd.Series(y, index=index))


def test_one_wild_row_does_not_decide_an_automatic_fit():
    X, y = line(200)
    wild = y.copy()
    wild[17] = 1e6 * y[17]
    plain = AutoDiffGBM(preset=TINY_PRESET, seed=0, n_jobs=1).fit(X, y)
    with pytest.warns(DiffGBMWarning, match="row 17 "):
        model = AutoDiffGBM(preset=TINY_PRESET, seed=0, n_jobs=1).fit(X, wild)
    widths = [np.median(np.ptp(m.predict_interval(X, coverage=0.9), axis=1)) for m in (plain, model)]
    assert widths[1] < 1.5 * widths[0]


def test_an_unexpected_value_of_few_is_no_outlier():
    X = np.random.default_rng(0).uniform(size=(400, 1))
    y = np.round(3.0 * X)
    location = y + 1e-3 * np.random.default_rng(1).standard_normal((400, 1))
    y[5] = 3.0 - y[5]
    values = FirstStageValues(np.empty((400, 0)), location, np.ones_like(y))
    same, rows = without_residual_outliers(y, values)
    assert same is y
    assert len(rows) == 0


def test_a_count_far_beyond_all_others_is_an_outlier():
    rng = np.random.default_rng(0)
    location = 40.0 * rng.uniform(size=(400, 1))
    y = rng.poisson(location).astype(float)
    y[5] = 42_000.0
    values = FirstStageValues(np.empty((400, 0)), location, np.ones_like(y))
    moved, rows = without_residual_outliers(y, values)
    assert rows.tolist() == [5]
    assert moved[5] in np.delete(y, 5)
    assert abs(moved[5] - location[5]) < 40.0
    # a one among zeros, and a count that is large but not so far, are events
    for strange in (np.where(np.arange(400)[:, None] == 5, 1.0, 0.0), np.where(np.arange(400)[:, None] == 5, 80.0, y)):
        same, none = without_residual_outliers(strange, FirstStageValues(np.empty((400, 0)), location, np.ones_like(y)))
        assert same is strange
        assert len(none) == 0


def test_one_wild_count_does_not_decide_a_fit():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    y = rng.poisson(5.0 + 40.0 * X[:, 0]).astype(float)
    wild = np.where(np.arange(400) == 17, 1000.0 * y, y)
    with pytest.warns(DiffGBMWarning, match="row 17 "):
        model = DiffGBM(**TINY).fit(X, wild)
    width = np.median(np.ptp(model.predict_interval(X, coverage=0.9), axis=1))
    assert width < 60.0
