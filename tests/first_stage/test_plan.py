"""Guides as arguments of DiffGBM: any regressor, lists, columns for the noise model, and the width of intervals."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

from diffgbm import DiffGBM
from diffgbm.first_stage import Task, assemble, fit_first_stage, n_fits, plan_first_stage
from diffgbm.first_stage.cross_fitting import CrossFitted
from diffgbm.first_stage.gaussian_process import GaussianProcessMean
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Stack
from tests.conftest import tiny, toy

SEEN = []


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean and remembers what it was given."""

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
def test_any_regressor_can_be_subtracted_and_given(regressor):
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
    for _, own, passed in SEEN:
        np.testing.assert_array_equal(passed, [of_response[value] for value in own])
    # a pipeline does not take them, which is no error
    tiny(residualize=make_pipeline(Ridge())).fit(X, y, sample_weight=weights)


def test_each_response_and_fold_has_a_model_of_its_own():
    X, y = toy(100, d=2)
    model = tiny(residualize=Recorder(), residualize_k_folds=3, residualize_repeats=2).fit(X, y)
    assert len(SEEN) == 2 * 2 * 3
    assert [len(own) for own in model.model_.first_stage.location.models] == [6, 6]
    assert model.sample(X, 3, seed=0).shape == (3, 100, 2)


def test_users_regressor_is_left_alone():
    X, y = toy(100)
    mine = Ridge()
    tiny(residualize=mine).fit(X, y)
    assert not hasattr(mine, "coef_")


@pytest.mark.parametrize(
    ("params", "columns"),
    [
        ({}, 0),
        ({"first_stage_features": "mean"}, 1),
        ({"first_stage_features": ["mean", Ridge()]}, 2),
        ({"first_stage_features": "cdf"}, 8),
        ({"residualize": "off", "first_stage_features": [[Ridge(), "mean"]]}, 1),
        ({"residualize": Ridge(), "first_stage_features": ["mean", "cdf"]}, 9),
    ],
)
def test_given_columns_reach_the_noise_model(params, columns):
    X, y = toy(200)
    model = tiny(**params).fit(X, y)
    booster = model.boosters_[0]
    # the state, three columns of X, what the guides say, the time
    assert booster.num_feature() == 1 + 3 + columns + 1
    if columns:
        gain = booster.feature_importance("gain")[4 : 4 + columns]
        assert gain.sum() > 0.0


def test_a_given_mean_says_what_the_features_cannot():
    """The noise model gets a column it could not make itself in so few rounds, and uses it."""
    X, _ = toy(300)
    signal = X @ [3.0, -2.0, 1.0]
    y = signal + 0.1 * np.random.default_rng(0).normal(size=300)
    new, _ = toy(300, seed=1)
    truth = new @ [3.0, -2.0, 1.0]
    plain, given = (
        tiny(residualize="off", first_stage_features=first_stage).fit(X, y).predict(new)
        for first_stage in (None, LinearRegression())
    )
    assert np.mean((given - truth) ** 2) < 0.5 * np.mean((plain - truth) ** 2)


def test_out_of_fold_columns_are_given_in_training():
    X, y = toy(100)
    params = tiny().get_params(deep=False)
    plan = plan_first_stage("off", ["cdf", Ridge()], params["extra_residualizer_params"])
    first_stage, said = fit_first_stage(Task(X, y[:, None], [], None, 5, 1, 3, 1), plan)
    assert said.features.shape == first_stage.values(X).features.shape == (100, 9)
    np.testing.assert_array_equal(said.location, 0.0)
    np.testing.assert_array_equal(said.scale, 1.0)
    # trees of one row a leaf know their own rows by heart; out of fold they do not
    inside = np.abs(first_stage.values(X).features[:, 0] - y).mean()
    assert inside < 0.5 * np.abs(said.features[:, 0] - y).mean()


@pytest.mark.parametrize(
    ("residualize", "given", "kinds", "fits"),
    [
        ("off", None, (None, None, []), 0),
        ("mean", None, (LightGBMMean, None, []), 10),
        ("mean", "mean", (LightGBMMean, None, [LightGBMMean]), 10),
        ("mean_scale", None, (LightGBMMean, LightGBMMean, []), 20),
        ("gp", ["gp"], (GaussianProcessMean, None, [GaussianProcessMean]), 1),
        ("gp", ["mean", "cdf"], (GaussianProcessMean, None, None), 11),
        (Ridge(), ["mean"], (AnyRegressor, None, [AnyRegressor]), 10),
        ([Ridge(), "gp"], None, (Stack, None, []), 11),
    ],
)
def test_plans(residualize, given, kinds, fits):
    plan = plan_first_stage(residualize, given, None)
    subtracted, scaled, columns = kinds
    assert type(plan.subtracted) is (subtracted or type(None))
    assert type(plan.scaled) is (scaled or type(None))
    if columns is not None:
        assert [type(stage) for stage in plan.given] == columns
        assert all(stage is plan.subtracted for stage in plan.given)
    X, y = toy(100)
    assert n_fits(plan, Task(X, y[:, None], [], None, 5, 2, 0, 1)) == fits


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"residualize": "median"}, ValueError, "residualize must be one of 'off', 'mean'"),
        ({"residualize": []}, ValueError, "residualize must name at least one regressor"),
        (
            {"residualize": 3},
            TypeError,
            "residualize must be one of .*, a regressor with fit and predict or a list of these; got 3",
        ),
        ({"residualize": None}, TypeError, "residualize must be one of .*, a regressor"),
        ({"residualize": ["off"]}, ValueError, "residualize must be one of 'mean', 'stack', 'gp'; got 'off'"),
        ({"residualize": [Ridge(), "cdf"]}, ValueError, "residualize must be one of 'mean', 'stack', 'gp'; got 'cdf'"),
        (
            {"first_stage_features": "men"},
            ValueError,
            "first_stage_features must be one of .*; got 'men'. Did you mean 'mean'",
        ),
        ({"first_stage_features": [Ridge(), 3]}, TypeError, "first_stage_features must be one of .*, a regressor"),
        (
            {"first_stage_features": [["cdf"]]},
            ValueError,
            "first_stage_features must be one of 'mean', 'stack', 'gp'; got 'cdf'",
        ),
        ({"residualize_repeats": 0}, ValueError, "residualize_repeats must be an integer >= 1"),
        ({"residualize_k_folds": 1}, ValueError, "residualize_k_folds must be an integer >= 2"),
        ({"n_bags": 0}, ValueError, "n_bags must be an integer >= 1"),
        ({"bag_mix": "median"}, ValueError, "bag_mix must be one of 'mean', 'mixture'"),
    ],
)
def test_refusals_name_the_argument(params, error, message):
    with pytest.raises(error, match=message):
        tiny(**params).fit(*toy(100))


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


def test_shrink_by_hand():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), rng.normal(size=(200, 2))
    task = Task(X, y, [], None, 5, 2, 0, 1)
    variance = y.var(axis=0)
    # a quarter of the first residual's variance will go, and more of the second's than is believed
    fitted = CrossFitted(lambda X: np.zeros((len(X), 2)), np.zeros((200, 2)), variance * [0.25, 0.9])
    first_stage, said = assemble(task, fitted, [])
    np.testing.assert_allclose(first_stage.shrink, [np.sqrt(0.75), 0.5])
    np.testing.assert_allclose(first_stage.values(X).scale, said.scale * first_stage.shrink)
    np.testing.assert_array_equal(first_stage.values(X).location, said.location)


def test_shrinking_brings_coverage_closer_to_nominal():
    """A fully grown tree changes much from fold to fold: the average of all is far better than any one of them.

    Intervals are those of the out-of-fold residuals themselves, so that nothing but the guide decides.
    """

    def table(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(n, 3))
        return X, np.sin(4.0 * X[:, :1]) + X[:, 2:] + 0.5 * rng.standard_normal((n, 1))

    errors = []
    plan = plan_first_stage(DecisionTreeRegressor(min_samples_leaf=2), None, None)
    for seed in range(5):
        X, y = table(1000, seed)
        new, truth = table(8000, 100 + seed)
        first_stage, said = fit_first_stage(Task(X, y, [], None, 5, 2, seed, 1), plan)
        ends = np.quantile((y - said.location) / said.scale, [0.05, 0.95])
        for own in (replace(first_stage, shrink=np.ones(1)), first_stage):
            values = own.values(new)
            low, high = (values.location + values.scale * end for end in ends)
            errors.append(np.mean((low <= truth) & (truth <= high)) - 0.9)
    before, after = np.reshape(errors, (5, 2)).mean(axis=0)
    # of the quantiles of 1,000 residuals and of the coverage of 8,000 rows, five times
    sampling = np.sqrt(0.09 / 1000 + 0.09 / 8000) / np.sqrt(5.0)
    assert before > 3.0 * sampling  # too wide, as the documentation says
    assert abs(after) < 3.0 * sampling


def test_one_repetition_claims_nothing():
    X, y = toy(100)
    assert tiny(residualize=DecisionTreeRegressor()).fit(X, y).model_.first_stage.shrink == 1.0
