"""Any scikit-learn regressor as a first-stage model: what it sees, its seeds, its weights, its parameters."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from diffgbm import DiffGBM
from diffgbm.first_stage import Task
from diffgbm.first_stage.regressors import AnyRegressor, seeded
from tests.conftest import tiny, toy

SEEN = []


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean and records what it was fitted to."""

    def __init__(self, allow_nan=False):
        self.allow_nan = allow_nan

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allow_nan
        return tags

    def fit(self, X, y, sample_weight=None):
        SEEN.append((X, y, sample_weight))
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def gaps(n=100):
    """A table with missing values and a category in the last column."""
    X, y = toy(n)
    rng = np.random.default_rng(2)
    X[:, 2] = rng.integers(0, 3, n)
    X[::7, 0] = np.nan
    return X, y


@pytest.mark.parametrize(
    "regressor",
    [
        Ridge(),
        make_pipeline(PolynomialFeatures(2), Ridge()),
        HistGradientBoostingRegressor(max_iter=5),
        TransformedTargetRegressor(Ridge()),
        [Ridge(), "mean", HistGradientBoostingRegressor(max_iter=5)],
        "gp",
    ],
    ids=["ridge", "pipeline", "histogram", "transformed", "list", "gp"],
)
def test_any_regressor_can_be_subtracted_or_be_a_feature(regressor):
    X, y = gaps()
    for params in ({"residualize": regressor}, {"residualize": "off", "first_stage_features": [regressor, "cdf"]}):
        model = tiny(**params).fit(X, y, cat_idx=[2])
        samples = model.sample(X, 5, seed=1)
        assert np.isfinite(samples).all()
        # scikit-learn's matrix products may add in another order for fewer rows
        part = model.sample(X[30:40], 5, seed=1, first_row=30)
        np.testing.assert_allclose(part, samples[:, 30:40], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).sample(X, 5, seed=1), samples)


def test_a_regressor_sees_what_it_can_read():
    X, y = gaps()
    tiny(residualize=Recorder(), residualize_k_folds=2).fit(X, y, cat_idx=[2])
    rows, _, weights = SEEN[0]
    # two numbers, a flag of gaps, three categories
    assert rows.shape == (50, 6)
    assert np.isfinite(rows).all()
    assert weights is None
    SEEN.clear()
    tiny(residualize=Recorder(allow_nan=True), residualize_k_folds=2).fit(X, y, cat_idx=[2])
    rows, _, _ = SEEN[0]
    assert rows.shape == (50, 3)
    assert np.isnan(rows[:, 0]).any()
    np.testing.assert_array_equal(np.unique(rows[:, 2]), [0.0, 1.0, 2.0])


def test_weights_reach_a_regressor_with_their_rows():
    X, y = toy(100)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    model = tiny(residualize=Recorder(), residualize_k_folds=4).fit(X, y, sample_weight=weights)
    standard = (y - model.model_.response.location) / model.model_.response.scale
    of_response = dict(zip(standard, weights, strict=True))
    assert len(SEEN) == 4
    for _, responses, passed in SEEN:
        np.testing.assert_array_equal(passed, [of_response[value] for value in responses])
    # a pipeline does not take them, which is no error
    tiny(residualize=make_pipeline(Ridge())).fit(X, y, sample_weight=weights)


def test_each_response_and_fold_has_its_model():
    X, y = toy(100, d=2)
    model = tiny(residualize=Recorder(), residualize_k_folds=3, residualize_repeats=2).fit(X, y)
    assert len(SEEN) == 2 * 2 * 3
    assert list(map(len, model.model_.first_stage.location.models)) == [6, 6]
    assert model.sample(X, 3, seed=0).shape == (3, 100, 2)


def test_users_regressor_is_left_alone():
    X, y = toy(100)
    mine = Ridge()
    tiny(residualize=mine).fit(X, y)
    assert not hasattr(mine, "coef_")


def test_parameters_of_nested_regressors():
    model = tiny(residualize=make_pipeline(PolynomialFeatures(2), Ridge(alpha=2.0)))
    assert model.get_params()["residualize__ridge__alpha"] == 2.0
    twin = clone(model).set_params(residualize__ridge__alpha=5.0, residualize__polynomialfeatures__degree=1)
    assert twin.residualize[-1].alpha == 5.0
    assert model.residualize[-1].alpha == 2.0
    listed = clone(DiffGBM(residualize=[Ridge(3.0), "mean"], first_stage_features=["cdf", Ridge()]))
    assert listed.residualize[0].alpha == 3.0
    assert listed.residualize[1] == "mean"
    X, y = toy(200)
    grid = {"residualize__alpha": [1e-6, 1e9]}
    search = GridSearchCV(tiny(residualize=Ridge(), n_estimators=1), grid, cv=2).fit(X, y)
    assert search.best_params_ == {"residualize__alpha": 1e-6}


def test_open_random_states_are_closed_in_pipelines_too():
    model = make_pipeline(StandardScaler(), ExtraTreesRegressor(3))
    assert seeded(model, 5).get_params()["extratreesregressor__random_state"] == 5
    assert seeded(ExtraTreesRegressor(3, random_state=8), 5).random_state == 8
    assert model.get_params()["extratreesregressor__random_state"] is None


def test_objects_without_predict_are_refused():
    with pytest.raises(TypeError, match="a first-stage model must be a regressor with fit and predict; got 3"):
        AnyRegressor(3)


@pytest.mark.parametrize(
    "regressor", [RidgeCV(), MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=20, random_state=0)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_prediction_of_a_row_does_not_depend_on_the_other_rows(regressor):
    """To the last bit: matrix products of other shapes add in another order."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(200, 8)), rng.normal(size=(1600, 8))
    y = (X @ rng.normal(size=8) + rng.normal(size=200))[:, None]
    predict = AnyRegressor(regressor).cross_fit(Task(X, y, (), None, 3, 1, 0, 1)).predictor
    whole = predict(new)
    assert whole.shape == (1600, 1)
    for size in (1, 7, 24, 301):
        firsts = range(0, 1600, size) if size > 1 else range(5)
        for first in firsts:
            np.testing.assert_array_equal(predict(new[first : first + size]), whole[first : first + size])
    assert predict(new[:0]).shape == (0, 1)
