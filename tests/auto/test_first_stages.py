"""First-stage models of an automatic fit: which are tried, which are fitted, and in which order."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto import first_stages
from diffgbm.auto.budget import BUDGET, Clock
from diffgbm.auto.first_stages import FEW_COLUMNS, FirstStages, fit_first_stages, repeats_for, size_for, useful_models
from diffgbm.first_stage import MIN_ROWS, Task
from diffgbm.first_stage.shrunk_scale import ShrunkScale
from tests.auto.tiny_auto import TINY, small_trees  # noqa: F401

MODELS = ("lightgbm", "extra_trees", "ridge")
PRESET = replace(TINY, first_stage_models=MODELS, gp_rows=200)


def line(n=240, columns=2):
    """A table that a linear function explains."""
    X = np.random.default_rng(0).normal(size=(n, columns))
    return Task(X, (X[:, :2] @ [1.0, 2.0])[:, None], (), None, 3, 1, 0, 1)


def fitted(task, preset=PRESET, clock=None):
    """The fitted models, and the names in the order in which they were fitted."""
    messages = []
    made = fit_first_stages(task, preset, clock or Clock(None), messages.append)
    begin = "fitting first-stage models ("
    names = [text.removeprefix(begin)[:-1] for text in messages if text.startswith(begin)]
    return made, names


def test_the_most_useful_models_are_fitted_first(monkeypatch):
    """If time runs out, the least useful ones are missing; the order does not change the stack."""
    monkeypatch.setattr(first_stages, "TRIAL_ROWS", 60)
    made, names = fitted(line())
    assert names[0] == "ridge"
    assert "lightgbm" in names
    assert list(made.fitted) == [*(name for name in MODELS if name in names), "stack"]
    assert set(made.errors) == set(made.fitted)


def test_small_tables_try_nothing():
    assert useful_models(line(), MODELS, 200, Clock(None), print) == list(MODELS)


def test_few_rows_have_no_first_stage_models():
    made, names = fitted(line(MIN_ROWS - 1))
    assert (made.fitted, made.errors, names) == ({}, {}, [])


def test_smooth_models_need_few_columns():
    preset = replace(PRESET, first_stage_models=("ridge", "gp_rbf", "mlp_wide"))
    _, names = fitted(line(100, FEW_COLUMNS + 1), preset)
    assert names == ["ridge", "lightgbm"]


def test_without_time_lightgbm_is_left():
    clock = Clock(1.0, now=iter(np.arange(0.0, 1e6)).__next__)
    made, names = fitted(line(), replace(PRESET, first_stages=(("none", ("cdf",)),)), clock)
    assert names == ["lightgbm"]
    assert set(made.fitted) == {"lightgbm", "stack"}
    assert clock.cut
    assert BUDGET.first_stage_models < BUDGET.conditional_cdf


def test_the_distribution_function_is_fitted_where_a_candidate_needs_it():
    made, _ = fitted(line(), replace(PRESET, first_stages=(("none", ("cdf",)),)))
    assert "cdf" in made.fitted
    assert "cdf" not in fitted(line())[0].fitted


def test_the_stack_is_no_worse_than_its_members():
    errors = fitted(line())[0].errors
    assert errors["stack"] <= min(errors.values()) + 1e-9
    assert errors["ridge"] < 0.01


@pytest.mark.parametrize(
    ("subtracted", "features", "there"),
    [("none", (), True), ("stack", ("mean",), True), ("ridge", (), False), ("none", ("cdf",), False)],
)
def test_what_a_candidate_needs(subtracted, features, there):
    assert FirstStages(line(), {"stack": None}).has(subtracted, features) is there


def test_sizes_fall_with_the_rows():
    trees = [size_for(n, 100).n_trees for n in (500, 5000, 50_000)]
    repeats = [repeats_for(n) for n in (500, 5000, 50_000)]
    assert trees == sorted(trees, reverse=True)
    assert repeats == [3, 2, 1]
    assert size_for(500, 100).gp_rows == 100


def test_a_candidate_may_divide_by_a_shrunken_scale():
    rng = np.random.default_rng(0)
    task = line()
    task = replace(task, y=task.y + np.exp(task.X[:, :1]) * rng.standard_normal(task.y.shape))
    made, _ = fitted(task, replace(PRESET, first_stage_models=("ridge",)))
    assert made.has("stack_shrunk_scale", ())
    assert not made.has("gp_rbf_shrunk_scale", ())
    stage, values = made.assembled("stack_shrunk_scale", ())
    plain, _ = made.assembled("stack", ())
    assert stage.location is plain.location
    assert isinstance(stage.log_scale, ShrunkScale)
    assert np.corrcoef(np.log(values.scale[:, 0]), task.X[:, 0])[0, 1] > 0.5
    some = made.part(np.arange(100)).assembled("stack_shrunk_scale", ())[1]
    assert some.scale.shape == (100, 1)
