"""Arguments of DiffGBM: stored as they are, the defaults of the table, and named recipes."""

import inspect

import pytest

from diffgbm import DiffGBM
from diffgbm.diffusion.recipe import NAMED
from diffgbm.estimators.arguments import DiffGBMArguments
from diffgbm.fitting.defaults import DEFAULTS


def test_the_signature_has_the_defaults_of_the_table():
    signature = inspect.signature(DiffGBMArguments)
    assert {name: parameter.default for name, parameter in signature.parameters.items()} == dict(DEFAULTS)
    assert list(signature.parameters) == list(DEFAULTS)


def test_arguments_are_stored_as_they_are():
    given = {name: object() for name in DEFAULTS}
    stored = DiffGBMArguments(**given)
    assert all(getattr(stored, name) is value for name, value in given.items())


@pytest.mark.parametrize("name", NAMED)
def test_a_named_recipe_sets_its_arguments_and_leaves_the_others(name):
    model = DiffGBM.from_recipe(name, num_leaves=7)
    assert model.get_params() == {**DEFAULTS, **NAMED[name], "num_leaves": 7}
    changed = DiffGBM.from_recipe(name, n_steps=3)
    assert changed.n_steps == 3


def test_the_papers_rows_are_named_recipes():
    assert DiffGBM.published().get_params() == DiffGBM.from_recipe("published").get_params()
    assert DiffGBM.score_plus(seed=1).get_params() == DiffGBM.from_recipe("score_plus", seed=1).get_params()
    assert DiffGBM.flow().get_params() == DiffGBM.from_recipe("flow").get_params()
    assert DiffGBM.flow("trig").flow_path == "trig"
    assert DiffGBM.flow("trig", flow_path="linear").flow_path == "linear"


def test_an_unknown_recipe_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"recipe must be one of 'published', .*; got 'flo'. Did you mean 'flow'"):
        DiffGBM.from_recipe("flo")


RELEASED = [
    *("n_repeats", "n_estimators", "early_stopping_rounds", "eval_percent", "num_leaves", "max_depth"),
    *("learning_rate", "max_bin", "subsample_for_bin", "min_child_samples", "subsample", "subsample_freq", "n_jobs"),
    *("sde_name", "sde_initialize_from_data", "sde_hyperparam_min", "sde_hyperparam_max", "training_objective"),
    *("flow_path", "score_parameterization", "noise_features", "edm_sigma_data", "loss_weighting", "min_snr_gamma"),
    *("t_sampling", "uniform_endpoint_fraction", "log_sigma_p_mean", "log_sigma_p_std", "residualize"),
    *("residualize_k_folds", "seed", "verbose", "extra_lightgbm_params", "extra_residualizer_params"),
]
"""Arguments of the released package, in their order."""


def test_the_released_arguments_come_first():
    assert list(inspect.signature(DiffGBM).parameters)[: len(RELEASED)] == RELEASED


def test_a_subclass_gets_its_own_class():
    class Mine(DiffGBM):
        pass

    assert type(Mine.flow()) is Mine


def test_the_papers_rows_have_independent_noise_and_everything_else_even_noise():
    assert {DiffGBM.from_recipe(name).noise_design for name in ("published", "score_plus", "flow")} == {"independent"}
    assert DiffGBM().noise_design == DiffGBM.from_recipe("edm").noise_design == "even"
