"""The models of single folds average to the predictor that new rows get."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from diffgbm.first_stage import fit_first_stage
from diffgbm.first_stage.catalogue import build
from diffgbm.first_stage.cross_fitting import Task
from diffgbm.first_stage.folds import first_stage_folds, fold, n_folds
from diffgbm.first_stage.plan import plan_first_stage
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Stack


def table() -> Task:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2))
    y = X[:, :1] + 0.1 * rng.standard_normal((200, 1))
    return Task(X, y, (), None, 4, 1, 0, 1)


@pytest.mark.parametrize("name", ["mean", "extra_trees", "linear", "stacked"])
def test_folds_average_to_the_predictor(name: str) -> None:
    task = table()
    linear = AnyRegressor(LinearRegression())
    stages = {"linear": linear, "stacked": Stack((linear, build("mean")))}
    predictor = (stages[name] if name in stages else build(name)).cross_fit(task).predictor
    count = 4
    parts = [fold(predictor, k, count)(task.X) for k in range(count)]
    np.testing.assert_allclose(np.mean(parts, axis=0), predictor(task.X), atol=1e-6)
    assert np.std(parts, axis=0).mean() > 0.0
    # a forest does not know how many folds it has
    assert n_folds(predictor) == (1 if name == "extra_trees" else count)


def test_a_single_fold_shares_the_tables_of_all() -> None:
    task = table()
    predictor = build("mean").cross_fit(task).predictor
    averages = predictor.averages
    part = fold(predictor, 1, 4)
    expected = predictor.models[0][1].predict(task.X, num_threads=1)
    np.testing.assert_allclose(part(task.X)[:, 0], expected, rtol=1e-12, atol=1e-12)
    assert part.of.averages is averages


def test_a_gaussian_process_is_one_model() -> None:
    predictor = build("gp").cross_fit(table()).predictor
    assert n_folds(predictor) == 1
    assert fold(predictor, 2, 5) is predictor
    assert n_folds(None) == 1


def test_a_predictor_that_is_used_twice_stays_one_object() -> None:
    first_stage, _ = fit_first_stage(table(), plan_first_stage("mean", ["mean", "cdf"], None))
    assert first_stage is not None
    parts = list(first_stage_folds(first_stage))
    assert len(parts) == 4
    for part in parts:
        assert part.location is part.features[0]
        assert part.features[1] is not first_stage.features[1]
