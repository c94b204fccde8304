"""How first-stage models are put to use: out-of-fold residuals, their scale, shrinkage, features of the noise model."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.first_stage import MIN_ROWS, Task, assemble, fit_first_stage, plan_first_stage
from diffgbm.first_stage.assembly import residual_moments
from diffgbm.first_stage.cross_fitting import CrossFitted
from tests.conftest import tiny, toy

SMALL = {"n_estimators": 20, "num_leaves": 8}


def fit(X, y, mode="mean", k=5, params=SMALL, weights=None, categorical=(), seed=7, tick=lambda: None):
    task = Task(X, y, categorical, weights, k, 1, seed, 1, tick)
    first_stage, stage_values = fit_first_stage(task, plan_first_stage(mode, None, params))
    return first_stage, stage_values.residuals(y)


def winsorised_std(residuals):
    n = len(residuals)
    return residual_moments(Task(np.empty((n, 0)), residuals, [], None, 2, 1, 0, 1), residuals).residual_scale


def location_scale(first_stage, X):
    values = first_stage.values(X)
    return values.location, values.scale


def data(n=200, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = np.sin(6.0 * X[:, :1]) + (0.1 + X[:, 1:]) * rng.standard_normal((n, d))
    return X, y


def out_of_fold(X, y, **kwargs):
    """Out-of-fold mean of each row, from the residuals."""
    first_stage, residuals = fit(X, y, **kwargs)
    return y - (residuals * first_stage.residual_scale + first_stage.centre)


@pytest.mark.parametrize("params", [SMALL, {**SMALL, "n_estimators": 200, "early_stopping_rounds": 5}])
def test_a_rows_residual_comes_from_models_that_never_saw_it(params):
    X, y = data()
    before = out_of_fold(X, y, params=params)
    i = 17
    changed = y.copy()
    changed[i] += 50.0
    after = out_of_fold(X, changed, params=params)
    fold = next(held for _, held in KFold(5, shuffle=True, random_state=7).split(X) if i in held)
    others = np.setdiff1d(np.arange(len(y)), fold)
    np.testing.assert_allclose(after[fold], before[fold], rtol=0, atol=1e-9)
    assert np.abs(after[others] - before[others]).max() > 0.1


def test_each_row_is_scaled_by_the_model_of_its_fold():
    X, y = data()
    first_stage, residuals = fit(X, y, mode="mean_scale")
    scaled = residuals * first_stage.residual_scale + first_stage.centre
    error = y - out_of_fold(X, y)
    for k, (_, held_out) in enumerate(KFold(5, shuffle=True, random_state=7).split(X)):
        sigma = np.maximum(np.exp(first_stage.log_scale.models[0][k].predict(X[held_out])), first_stage.scale_floor)
        np.testing.assert_allclose(scaled[held_out, 0], error[held_out, 0] / sigma, rtol=1e-9)


def test_prediction_averages_the_folds():
    X, y = data(d=2)
    first_stage, _ = fit(X, y, mode="mean_scale", k=4)
    new = data(seed=1)[0]
    location, scale = location_scale(first_stage, new)
    assert [len(fold) for fold in first_stage.location.models] == [4, 4]
    mean = np.column_stack([np.mean([b.predict(new) for b in fold], axis=0) for fold in first_stage.location.models])
    log_sigma = np.column_stack(
        [np.mean([b.predict(new) for b in fold], axis=0) for fold in first_stage.log_scale.models]
    )
    sigma = np.maximum(np.exp(log_sigma), first_stage.scale_floor)
    np.testing.assert_allclose(location, mean + sigma * first_stage.centre)
    np.testing.assert_allclose(scale, sigma * first_stage.residual_scale)


def test_mean_alone_has_one_scale():
    X, y = data()
    first_stage, residuals = fit(X, y)
    _, scale = location_scale(first_stage, X)
    np.testing.assert_array_equal(scale, np.full_like(y, first_stage.residual_scale))
    assert first_stage.log_scale is None
    assert np.abs(residuals.mean()) < 1e-12
    assert winsorised_std(residuals) == pytest.approx(1.0)


def test_winsorised_std_ignores_the_tails():
    rng = np.random.default_rng(0)
    r = rng.standard_normal((1000, 2))
    r[:5, 0] = 1e6
    low, high = np.quantile(r[:, 1], [0.01, 0.99])
    std = winsorised_std(r)
    assert std[1] == pytest.approx(np.clip(r[:, 1], low, high).std())
    assert std[0] < 1.2


def test_winsorised_std_is_never_zero():
    mostly = np.zeros((1000, 1))
    mostly[0] = 5.0
    assert winsorised_std(mostly) == pytest.approx(mostly.std())
    assert winsorised_std(np.zeros((10, 1))) == 1.0


def test_the_mean_is_learned_and_taken_out():
    X, y = data(1000)
    _, residuals = fit(X, y, params=None)
    signal = np.sin(6.0 * X[:, 0])
    assert abs(np.corrcoef(residuals[:, 0], signal)[0, 1]) < 0.1
    assert abs(np.corrcoef(y[:, 0], signal)[0, 1]) > 0.5


def test_mean_scale_evens_out_the_conditional_scale():
    X, y = data(2000)
    _, plain = fit(X, y, params=None)
    _, scaled = fit(X, y, mode="mean_scale", params=None)
    low, high = X[:, 1] < 0.3, X[:, 1] > 0.7

    def ratio(r):
        return r[high].std() / r[low].std()

    assert ratio(plain) > 2.0
    assert 0.7 < ratio(scaled) < 1.4


def test_off_does_nothing():
    X, y = data()
    first_stage, residuals = fit(X, y, mode="off")
    assert first_stage is None
    np.testing.assert_array_equal(residuals, y)


@pytest.mark.parametrize("n", [10, MIN_ROWS - 1])
def test_few_rows_are_fitted_without_a_mean_and_with_a_warning(n):
    X, y = data(n)
    with pytest.warns(DiffGBMWarning, match=rf"need at least 80 rows and got {n}"):
        first_stage, residuals = fit(X, y)
    assert first_stage is None
    np.testing.assert_array_equal(residuals, y)


def test_eighty_rows_are_enough():
    first_stage, _ = fit(*data(MIN_ROWS))
    assert first_stage is not None


def test_several_responses_are_residualized_one_by_one():
    X, y = data(d=3)
    first_stage, residuals = fit(X, y)
    for j in range(3):
        alone, r = fit(X, y[:, [j]])
        np.testing.assert_allclose(residuals[:, [j]], r)
        np.testing.assert_allclose(location_scale(first_stage, X)[0][:, [j]], location_scale(alone, X)[0])


def test_one_tick_for_each_fold():
    ticks = []
    fit(*data(), k=4, tick=lambda: ticks.append(1))
    assert len(ticks) == 4


def test_unknown_mode_lists_the_valid_ones():
    names = "'off', 'mean', 'mean_scale', 'mean_shrunk_scale', 'stack', 'gp'"
    with pytest.raises(ValueError, match=f"residualize must be one of {names}; got 'median'"):
        fit(*data(), mode="median")


def test_shrink_by_hand():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), rng.normal(size=(200, 2))
    task = Task(X, y, [], None, 5, 2, 0, 1)
    variance = y.var(axis=0)
    # a quarter of the first residual's variance will go, and more of the second's than the lower bound allows
    fitted = CrossFitted(lambda X: np.zeros((len(X), 2)), np.zeros((200, 2)), variance * [0.25, 0.9])
    first_stage, stage_values = assemble(task, fitted, [])
    np.testing.assert_allclose(first_stage.shrink, [np.sqrt(0.75), 0.5])
    np.testing.assert_allclose(first_stage.values(X).scale, stage_values.scale * first_stage.shrink)
    np.testing.assert_array_equal(first_stage.values(X).location, stage_values.location)


def test_shrinking_brings_coverage_closer_to_nominal():
    """A fully grown tree changes much from fold to fold: the average of all is far better than any one of them.

    Intervals are those of the out-of-fold residuals themselves, so that the first stage alone decides.
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
        first_stage, stage_values = fit_first_stage(Task(X, y, [], None, 5, 2, seed, 1), plan)
        ends = np.quantile(stage_values.residuals(y), [0.05, 0.95])
        for model in (replace(first_stage, shrink=np.ones(1)), first_stage):
            values = model.values(new)
            low, high = (values.location + values.scale * end for end in ends)
            errors.append(np.mean((low <= truth) & (truth <= high)) - 0.9)
    before, after = np.reshape(errors, (5, 2)).mean(axis=0)
    # of the quantiles of 1,000 residuals and of the coverage of 8,000 rows, five times
    sampling = np.sqrt(0.09 / 1000 + 0.09 / 8000) / np.sqrt(5.0)
    assert before > 3.0 * sampling  # too wide, as the documentation says
    assert abs(after) < 3.0 * sampling


def test_one_repetition_does_not_shrink():
    X, y = toy(100)
    assert tiny(residualize=DecisionTreeRegressor()).fit(X, y).model_.first_stage.shrink == 1.0


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
def test_features_reach_the_noise_model(params, columns):
    X, y = toy(200)
    model = tiny(**params).fit(X, y)
    booster = model.boosters_[0]
    # the state, three columns of X, features of the first stage, the time
    assert booster.num_feature() == 1 + 3 + columns + 1
    if columns:
        gain = booster.feature_importance("gain")[4 : 4 + columns]
        assert gain.sum() > 0.0


def test_a_mean_as_a_feature_helps_the_noise_model():
    """The noise model gets a column it could not make itself in so few rounds, and uses it."""
    X, _ = toy(300)
    signal = X @ [3.0, -2.0, 1.0]
    y = signal + 0.1 * np.random.default_rng(0).normal(size=300)
    new, _ = toy(300, seed=1)
    truth = new @ [3.0, -2.0, 1.0]
    plain, helped = (
        tiny(residualize="off", first_stage_features=first_stage).fit(X, y).predict(new)
        for first_stage in (None, LinearRegression())
    )
    assert np.mean((helped - truth) ** 2) < 0.5 * np.mean((plain - truth) ** 2)


def test_features_are_out_of_fold_in_training():
    X, y = toy(100)
    params = tiny().get_params(deep=False)
    plan = plan_first_stage("off", ["cdf", Ridge()], params["extra_residualizer_params"])
    first_stage, stage_values = fit_first_stage(Task(X, y[:, None], [], None, 5, 1, 3, 1), plan)
    assert stage_values.features.shape == first_stage.values(X).features.shape == (100, 9)
    np.testing.assert_array_equal(stage_values.location, 0.0)
    np.testing.assert_array_equal(stage_values.scale, 1.0)
    # trees of one row a leaf memorise their rows; out of fold they cannot
    inside = np.abs(first_stage.values(X).features[:, 0] - y).mean()
    assert inside < 0.5 * np.abs(stage_values.features[:, 0] - y).mean()
