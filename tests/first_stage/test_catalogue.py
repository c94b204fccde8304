"""The table of first-stage models: what each argument accepts, sizes, and what a new entry takes."""

import numpy as np
import pytest

from diffgbm import DiffGBM, load
from diffgbm.diffusion.recipe import RESIDUALIZER_A, RESIDUALIZER_C
from diffgbm.first_stage import Task
from diffgbm.first_stage.catalogue import (
    CATALOGUE,
    USUAL_STACK,
    Entry,
    Size,
    build,
    feature_names,
    stacked_names,
    subtracted_names,
)
from diffgbm.first_stage.conditional_cdf import ConditionalCDF
from diffgbm.first_stage.gaussian_process import GaussianProcessMean
from diffgbm.first_stage.kernel_cdf import KernelCDF
from diffgbm.first_stage.leaf_forest import ExtraTreesMean
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from tests.conftest import tiny, toy


def test_what_the_arguments_accept():
    assert subtracted_names() == ("off", "mean", "mean_scale", "mean_shrunk_scale", "stack", "gp")
    assert feature_names() == ("mean", "stack", "gp", "cdf", "kernel_cdf")
    assert stacked_names() == ("mean", "stack", "gp")


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_every_entry_builds_a_first_stage_model(name):
    X, y = toy(90)
    task = Task(X, y[:, None], (), None, 2, 1, 0, 1)
    for size in (Size(), Size(n_trees=3, gp_rows=50)):
        model = build(name, size)
        assert model.n_fits(task) >= 0
        assert hasattr(model, "cross_fit")
    assert CATALOGUE[name].meaning


def test_sizes():
    assert build("extra_trees") == ExtraTreesMean()
    assert build("extra_trees", Size(n_trees=7)) == ExtraTreesMean(7)
    assert build("cdf", Size(n_trees=7)) == ConditionalCDF(7)
    assert build("gp") == build("gp_matern") == GaussianProcessMean()
    assert build("gp_rbf", Size(gp_rows=1000)) == GaussianProcessMean("rbf", 100, 1000)
    assert build("kernel_cdf", Size(gp_rows=1000)) == KernelCDF("rbf", 100, 1000)
    assert build("gp_rbf", Size(gp_rows=9000)) == GaussianProcessMean("rbf", 500, 9000)
    assert build("mean", Size(lightgbm={"num_leaves": 3})) == LightGBMMean({**RESIDUALIZER_A, "num_leaves": 3})
    assert build("lightgbm") == LightGBMMean(RESIDUALIZER_C)


def test_the_stack_is_made_of_entries():
    stack = build("stack")
    assert len(stack.stages) == len(USUAL_STACK)
    assert set(USUAL_STACK) <= set(CATALOGUE)
    assert all(CATALOGUE[name].predicts_response for name in USUAL_STACK)


def test_a_name_that_is_not_there():
    with pytest.raises(ValueError, match=r"first-stage model must be one of .*'ridge'.* got 'rigde'. Did you mean 'ri"):
        build("rigde")


def test_a_new_model_is_one_entry(monkeypatch, tmp_path):
    """It is accepted, fitted, saved and loaded without a second list."""
    from sklearn.linear_model import LinearRegression

    entry = Entry(lambda size: AnyRegressor(LinearRegression()), "least squares", public=True)
    monkeypatch.setitem(CATALOGUE, "line", entry)
    X, y = toy()
    model = tiny("flow", residualize="line", first_stage_features=["line", ["line", "mean"]]).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.get_params()["residualize"] == "line"
    np.testing.assert_array_equal(loaded.sample(X, 3, seed=1), model.sample(X, 3, seed=1))
    with pytest.raises(ValueError, match=r"'gp', 'line'; got 'lime'. Did you mean 'line'"):
        DiffGBM(residualize="lime").fit(X, y)
