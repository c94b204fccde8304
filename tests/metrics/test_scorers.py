"""Scorers: greater is better, in searches and at the end of pipelines."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from diffgbm import metrics
from tests.conftest import tiny, toy


def test_scorers_are_better_when_greater(flow_model):
    X, y = toy(60, seed=1)
    distribution = flow_model.predict_distribution(X)
    assert metrics.crps_scorer(flow_model, X, y) == pytest.approx(-distribution.crps(y).mean())
    assert metrics.crps_scorer(flow_model, X, y) > metrics.crps_scorer(flow_model, X, y + 5.0)
    expected = -abs(metrics.coverage(distribution, y, 0.9) - 0.9)
    assert metrics.coverage_scorer(flow_model, X, y) == pytest.approx(expected)
    assert metrics.coverage_scorer(flow_model, X, y + 50.0, level=0.8) == pytest.approx(-0.8)


def test_scorers_of_two_responses(two_responses):
    X, y = toy(20, d=2, seed=1)
    distribution = two_responses.predict_distribution(X)
    assert metrics.crps_scorer(two_responses, X, y) == pytest.approx(-distribution.crps(y).mean())
    assert metrics.coverage_scorer(two_responses, X, y) == pytest.approx(-metrics.coverage_error(distribution, y))


def test_grid_search_selects_by_them():
    X, y = toy(150)
    search = GridSearchCV(
        tiny(residualize="off"), {"n_estimators": [1, 40]}, scoring=metrics.crps_scorer, cv=2, error_score="raise"
    ).fit(X, y)
    assert search.best_params_ == {"n_estimators": 40}
    scores = cross_val_score(tiny(residualize="off", n_estimators=40), X, y, scoring=metrics.crps_scorer, cv=2)
    assert search.best_score_ == pytest.approx(scores.mean())
    both = {"crps": metrics.crps_scorer, "coverage": metrics.coverage_scorer}
    search = GridSearchCV(tiny(residualize="off"), {"n_estimators": [1, 40]}, scoring=both, refit="coverage", cv=2)
    search.fit(X, y)
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_coverage"])


def test_scorers_see_what_reaches_the_last_step_of_a_pipeline(flow_model):
    X, y = toy(60, seed=1)
    pipeline = Pipeline(
        [("shift", FunctionTransformer(lambda X: X - 2.0)), ("inner", Pipeline([("model", flow_model)]))]
    )
    for scorer in (metrics.crps_scorer, metrics.coverage_scorer):
        assert scorer(pipeline, X + 2.0, y) == pytest.approx(scorer(flow_model, X, y))
        assert scorer(pipeline, X + 2.0, y) != pytest.approx(scorer(flow_model, X + 2.0, y))
