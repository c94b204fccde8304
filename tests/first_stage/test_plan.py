"""Which first-stage models the arguments of DiffGBM ask for, and which values are refused."""

import pytest
from sklearn.linear_model import Ridge

from diffgbm.first_stage import Task, n_fits, plan_first_stage
from diffgbm.first_stage.gaussian_process import GaussianProcessMean
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Stack
from tests.conftest import tiny, toy


@pytest.mark.parametrize(
    ("residualize", "features", "kinds", "fits"),
    [
        ("off", None, (None, None, []), 0),
        ("mean", None, (LightGBMMean, None, []), 10),
        ("mean", "mean", (LightGBMMean, None, [LightGBMMean]), 10),
        ("mean_scale", None, (LightGBMMean, LightGBMMean, []), 20),
        ("gp", ["gp"], (GaussianProcessMean, None, [GaussianProcessMean]), 6),
        ("gp", ["mean", "cdf"], (GaussianProcessMean, None, None), 16),
        (Ridge(), ["mean"], (AnyRegressor, None, [AnyRegressor]), 10),
        ([Ridge(), "gp"], None, (Stack, None, []), 16),
    ],
)
def test_plans(residualize, features, kinds, fits):
    plan = plan_first_stage(residualize, features, None)
    subtracted, scaled, columns = kinds
    assert type(plan.subtracted) is (subtracted or type(None))
    assert type(plan.scaled) is (scaled or type(None))
    if columns is not None:
        assert [type(stage) for stage in plan.features] == columns
        assert all(stage is plan.subtracted for stage in plan.features)
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
