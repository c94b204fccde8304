"""DiffGBM as a scikit-learn estimator."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from diffgbm import DiffGBM
from tests.conftest import tiny, toy

pytestmark = pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")

EXPECTED_FAILURES = {
    "check_fit1d": "a one-dimensional X is one column, by design",
    "check_sample_weight_equivalence_on_dense_data": "a weight is not a repetition: each copy of a row has other noise",
}


def checked(recipe: str) -> DiffGBM:
    """Small enough to be fitted a few hundred times."""
    if recipe == "published":  # no mean is learned first: the trees must find it in the noise
        return tiny(recipe, n_repeats=10, n_estimators=60, n_steps=20, min_child_samples=5)
    return tiny(recipe, n_repeats=3, n_estimators=8, n_steps=5, min_child_samples=5)


@parametrize_with_checks(
    [checked("score_plus"), checked("published"), checked("flow")],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_one_dimension_is_accepted():
    """scikit-learn's check_fit1d expects an error here."""
    X, y = toy(90, p=1)
    flat, tall = (tiny().fit(X_, y) for X_ in (X[:, 0], X))
    np.testing.assert_array_equal(flat.sample(X[:5, 0], 3, seed=0), tall.sample(X[:5], 3, seed=0))


def test_columns_in_another_order_are_reordered():
    X, y = toy(90)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = tiny().fit(frame, y)
    np.testing.assert_array_equal(model.sample(frame, 3, seed=0), model.sample(frame[["c", "a", "b"]], 3, seed=0))


@pytest.mark.parametrize("make", [DiffGBM, DiffGBM.published, DiffGBM.score_plus, DiffGBM.flow])
def test_clone_and_parameters(make):
    model = make(n_estimators=77, seed=3)
    twin = clone(model)
    assert twin is not model
    assert twin.get_params() == model.get_params()
    assert twin.set_params(n_repeats=5, n_steps=9) is twin
    assert (twin.n_repeats, twin.recipe.sampler.n_steps) == (5, 9)
    assert DiffGBM(**model.get_params()).get_params() == model.get_params()
    assert is_regressor(model)


def test_unknown_parameter():
    with pytest.raises(ValueError, match="Invalid parameter 'n_trees'"):
        DiffGBM().set_params(n_trees=3)


def test_repr_is_short_and_shows_what_is_set():
    assert repr(DiffGBM(seed=3)) == "DiffGBM(seed=3)"
    assert "flow_matching" in repr(DiffGBM.flow())


def test_a_clone_is_not_fitted(flow_model):
    with pytest.raises(NotFittedError):
        clone(flow_model).predict(toy()[0])


def test_fitting_again_starts_over():
    X, y = toy(90)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = tiny().fit(frame, np.column_stack([y, y]))
    assert model.fit(X, y) is model
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.sample(X[:4], 3, seed=1), tiny().fit(X, y).sample(X[:4], 3, seed=1))


def test_pipeline():
    X, y = toy()
    pipeline = make_pipeline(StandardScaler(), tiny()).fit(X, y)
    assert pipeline.predict(X).shape == y.shape
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline.predict(X), tiny().fit(scaled, y).predict(scaled))
    pipeline.set_params(diffgbm__n_estimators=3).fit(X, y)
    assert pipeline[-1].n_estimators_true == [3]


def test_grid_search():
    X, y = toy()
    search = GridSearchCV(tiny(), {"n_estimators": [2, 30], "sampler_method": ["euler", "heun"]}, cv=2).fit(X, y)
    assert search.best_params_["n_estimators"] == 30
    assert search.predict(X).shape == y.shape


def test_cross_validation():
    X, y = toy(200)
    scores = cross_val_score(tiny(n_estimators=40), X, y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.0
    assert cross_val_predict(tiny(), X, y, cv=2).shape == y.shape


def test_grid_search_over_processes_gives_the_same_numbers():
    X, y = toy(90)
    grid = {"n_repeats": [2, 4]}
    results = [GridSearchCV(tiny(), grid, cv=2, n_jobs=jobs).fit(X, y).cv_results_ for jobs in (1, 2)]
    np.testing.assert_array_equal(results[0]["mean_test_score"], results[1]["mean_test_score"])


def test_meta_estimators():
    X, y = toy(90, d=2)
    assert MultiOutputRegressor(tiny()).fit(X, y).predict(X).shape == y.shape
    assert BaggingRegressor(tiny(), n_estimators=2, random_state=0).fit(X, y[:, 0]).predict(X).shape == (90,)


def _sample(model, X):
    return model.sample(X, 7, seed=3)


def _fit_and_sample(X, y):
    return _sample(tiny().fit(X, y), X)


@pytest.mark.parametrize("name", ["flow_model", "sde_model", "two_responses"])
def test_joblib_workers_draw_the_same_numbers(name, request):
    model, X = request.getfixturevalue(name), toy()[0][:10]
    here = _sample(model, X)
    there = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(_sample)(model, X) for _ in range(2))
    for samples in there:
        np.testing.assert_array_equal(samples, here)


def test_joblib_workers_fit_the_same_model():
    X, y = toy(90)
    there = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(_fit_and_sample)(X, y) for _ in range(2))
    for samples in there:
        np.testing.assert_array_equal(samples, _fit_and_sample(X, y))


@pytest.mark.parametrize("way", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("recipe", ["published", "score_plus", "flow", "default"])
def test_a_copy_draws_the_same_bits(recipe, way):
    X, y = toy()
    model = tiny(recipe, n_estimators=60, learning_rate=0.5, early_stopping_rounds=3, n_steps=4).fit(X, y)
    assert model.n_estimators_true[0] < 60  # so that the best iteration matters
    twin = way(model)
    assert twin.n_estimators_true == model.n_estimators_true
    assert str(twin.recipe_) == str(model.recipe_)
    np.testing.assert_array_equal(twin.sample(X[:9], 5, seed=2), model.sample(X[:9], 5, seed=2))
    np.testing.assert_array_equal(twin.predict(X[:9]), model.predict(X[:9]))


def test_a_copy_keeps_names_and_categories():
    frame = pd.DataFrame({"a": toy(90)[0][:, 0], "c": pd.Categorical(["u", "v", "w"] * 30)})
    model = tiny().fit(frame, toy(90)[1])
    twin = pickle.loads(pickle.dumps(model))
    assert list(twin.feature_names_in_) == ["a", "c"]
    np.testing.assert_array_equal(twin.sample(frame[["c", "a"]], 3, seed=0), model.sample(frame, 3, seed=0))


def test_an_unfitted_copy_is_a_clone():
    twin = pickle.loads(pickle.dumps(DiffGBM.score_plus(seed=1)))
    assert twin.get_params() == DiffGBM.score_plus(seed=1).get_params()
