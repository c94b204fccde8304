import dataclasses
import itertools

import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.diffusion.paths import PATHS, GaussianPath
from diffgbm.diffusion.recipe import RESIDUALIZER_C, resolve
from diffgbm.diffusion.sampler import Sampler
from diffgbm.diffusion.targets import TARGETS, can_start
from tests.conftest import tiny, toy


def recipe_of(**params):
    return DiffGBM(**params).recipe


def test_published_is_treeffusers_recipe():
    model = DiffGBM.published()
    recipe = model.recipe
    assert recipe.path == GaussianPath("vesde", 0.01, 20.0)
    assert (recipe.target, recipe.noise_features, recipe.times.kind) == ("noise", "raw_time", "uniform")
    assert recipe.times.endpoint_fraction == 0.0
    assert recipe.loss_weighting == "uniform"
    assert recipe.sampler == Sampler("euler", 50, "sde")
    assert model.residualize == "off"


def test_score_plus_is_the_papers():
    model = DiffGBM.score_plus()
    recipe = model.recipe
    assert recipe.path == GaussianPath("vesde", 0.01, 20.0)
    assert (recipe.target, recipe.noise_features) == ("edm", "raw_time_log_std")
    assert (recipe.times.kind, recipe.times.mean, recipe.times.std) == ("log_sigma_normal", -1.2, 1.2)
    assert recipe.sampler == Sampler("heun", 25, "ode")
    assert model.residualize == "mean"
    assert model.extra_residualizer_params == RESIDUALIZER_C
    assert RESIDUALIZER_C == {
        "n_estimators": 300,
        "learning_rate": 0.05,
        "max_depth": -1,
        "num_leaves": 63,
        "min_child_samples": 10,
    }


@pytest.mark.parametrize("path", ["vp", "linear", "trig"])
def test_flow_is_the_papers(path):
    model = DiffGBM.flow(path=path)
    recipe = model.recipe
    assert recipe.path == GaussianPath(path)
    assert (recipe.target, recipe.noise_features) == ("velocity", "raw_time")
    assert (recipe.times.kind, recipe.times.endpoint_fraction) == ("uniform", 0.05)
    assert recipe.sampler == Sampler("heun", 5, "ode")
    assert model.residualize == "mean"
    assert model.extra_residualizer_params == RESIDUALIZER_C


def test_flow_is_vp_unless_told_otherwise():
    assert DiffGBM.flow().recipe.path.name == "vp"


def test_named_recipes_take_every_argument():
    model = DiffGBM.score_plus(n_estimators=7, residualize="off", n_steps=3)
    assert (model.n_estimators, model.residualize, model.recipe.sampler.n_steps) == (7, "off", 3)
    assert isinstance(type("Mine", (DiffGBM,), {}).flow(), DiffGBM)


def test_the_defaults_are_the_released_packages():
    recipe = recipe_of()
    assert (recipe.target, recipe.path.name, recipe.times.kind) == ("edm", "vesde", "log_sigma_normal")
    assert recipe.sampler == Sampler("euler", 50, "sde")
    assert recipe_of(training_objective="flow_matching").sampler == Sampler("heun", 5, "ode")


@pytest.mark.parametrize("make", [DiffGBM, DiffGBM.published, DiffGBM.score_plus, DiffGBM.flow])
def test_a_recipe_prints_in_one_line(make):
    line = str(make().recipe)
    assert "\n" not in line
    assert len(line) < 160
    for word in (make().recipe.target, make().recipe.path.name, make().recipe.times.kind):
        assert word in line


def test_the_line_of_the_flow_recipe():
    assert str(DiffGBM.flow("linear").recipe) == (
        "velocity on linear | t uniform+5% at 1 | features raw_time | weights uniform | heun ODE x5"
    )


def test_a_recipe_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DiffGBM().recipe.target = "x0"


@pytest.mark.parametrize(("path", "target"), list(itertools.product(PATHS, TARGETS)))
def test_any_target_goes_with_any_path_the_algebra_allows(path, target):
    params = {"sde_name": path, "score_parameterization": target}
    if not can_start(target, GaussianPath(path)):
        with pytest.raises(ValueError, match=r"alpha\(1\) = 0"):
            recipe_of(**params)
    else:
        recipe = recipe_of(**params)
        assert (recipe.path.name, recipe.target) == (path, target)
        # where the reverse SDE cannot start the ODE is the default
        assert recipe.sampler.equation == ("ode" if GaussianPath(path).reaches_noise else "sde")


@pytest.mark.parametrize("path", [name for name in PATHS if GaussianPath(name).reaches_noise])
def test_reverse_sde_asked_for_on_a_path_without_one(path):
    with pytest.raises(ValueError, match="reverse SDE cannot start"):
        recipe_of(sde_name=path, pf_ode=False)


@pytest.mark.parametrize("path", PATHS)
def test_any_path_may_carry_a_flow(path):
    recipe = recipe_of(training_objective="flow_matching", flow_path=path)
    assert (recipe.path.name, recipe.target) == (path, "velocity")


def test_range_of_the_path():
    assert recipe_of(sde_hyperparam_min=0.1, sde_hyperparam_max=5).path == GaussianPath("vesde", 0.1, 5.0)
    assert recipe_of(sde_hyperparam_min="default", sde_hyperparam_max="default").path == GaussianPath("vesde")


def test_range_from_data_is_the_diameter_of_what_is_diffused():
    X, y = toy(60)
    model = tiny("published", sde_initialize_from_data=True).fit(X, y)
    standard = (y - y.mean()) / y.std()
    assert model.recipe_.path.high == pytest.approx(np.ptp(standard))
    assert model.recipe is model.recipe_
    assert np.isfinite(model.sample(X[:2], 5, seed=0)).all()


def test_sampler_arguments_left_out_take_the_recipes_own(flow_model, sde_model):
    score_plus = tiny("score_plus").fit(*toy())
    for model, n_steps, weight, noisy in (
        (flow_model, 5, 0.5, False),
        (score_plus, 25, 0.5, False),
        (sde_model, 10, 0.0, True),
        (tiny("published").fit(*toy()), 50, 0.0, True),
        (tiny("default").fit(*toy()), 50, 0.0, True),
    ):
        steps = model._steps({})
        assert steps.n_steps == n_steps
        assert (steps.corrector == weight).all()
        assert steps.is_deterministic is not noisy


def test_sampler_arguments_override_one_by_one(flow_model, sde_model):
    steps = flow_model._steps({"n_steps": 9})
    assert (steps.n_steps, steps.corrector[0]) == (9, 0.5)
    steps = flow_model._steps({"sampler_method": "euler"})
    assert (steps.n_steps, steps.corrector[0]) == (5, 0.0)
    steps = flow_model._steps({"velocity_stochasticity": 0.5})
    assert steps.n_steps == 5
    assert not steps.is_deterministic
    steps = sde_model._steps({"pf_ode": True})
    assert steps.n_steps == 10
    assert steps.is_deterministic
    sqrt = sde_model._steps({"velocity_stochasticity": 0.5, "velocity_stochasticity_schedule": "sqrt"})
    np.testing.assert_allclose(sqrt.noise[0], 0.5 * np.sqrt(sqrt.size[0]))


def test_a_caller_may_name_the_other_kind_of_sampler():
    model = tiny("score_plus").fit(*toy())  # pf_ode=True in the recipe
    assert not model._steps({"velocity_stochasticity": 1.0}).is_deterministic
    assert not model._steps({"pf_ode": False}).is_deterministic
    model = tiny("flow", velocity_stochasticity=1.0).fit(*toy())
    assert not model._steps({}).is_deterministic
    assert model._steps({"pf_ode": True}).is_deterministic
    assert model._steps({"velocity_stochasticity": 0.0}).is_deterministic


def test_sample_uses_its_arguments(flow_model):
    X = toy()[0][:3]
    own = flow_model.sample(X, 4, seed=0)
    np.testing.assert_array_equal(own, flow_model.sample(X, 4, seed=0, n_steps=5, sampler_method="heun"))
    assert not np.allclose(own, flow_model.sample(X, 4, seed=0, n_steps=2))
    assert not np.allclose(own, flow_model.sample(X, 4, seed=0, velocity_stochasticity=1.0))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"pf_ode": True, "velocity_stochasticity": 0.5}, "pf_ode=True .* velocity_stochasticity=0.5 .*Leave one"),
        (
            {"sde_initialize_from_data": True, "sde_hyperparam_max": 5.0},
            "sde_initialize_from_data=True contradicts sde_hyperparam_min/sde_hyperparam_max",
        ),
        ({"sde_hyperparam_min": "small"}, "sde_hyperparam_min must be a number, 'default' or None; got 'small'"),
        ({"sde_hyperparam_min": 5.0, "sde_hyperparam_max": 1.0}, r"0 < min < max < inf .*got min=5.0, max=1.0"),
        ({"edm_sigma_data": 0.0}, "edm_sigma_data must be a finite number > 0; got 0.0"),
        ({"min_snr_gamma": -1.0}, "min_snr_gamma must be a finite number > 0; got -1.0"),
        ({"log_sigma_p_mean": np.nan}, "log_sigma_p_mean must be a finite number; got nan"),
        ({"log_sigma_p_std": -0.1}, "log_sigma_p_std must be a finite number >= 0; got -0.1"),
        ({"velocity_stochasticity": "much"}, "velocity_stochasticity must be a finite number >= 0; got 'much'"),
        (
            {"training_objective": "flow_matching", "t_sampling": "uniform", "uniform_endpoint_fraction": 1.5},
            "uniform_endpoint_fraction must be a finite number >= 0 and <= 1; got 1.5",
        ),
    ],
)
def test_impossible_recipes_say_why(params, message):
    with pytest.raises(ValueError, match=message):
        resolve(DiffGBM(**params).get_params())
