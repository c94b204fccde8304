"""Candidates: their names, their arguments, and which of a preset can be tried."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto.candidates import LARGE_PLAIN, Candidate, candidates_of
from diffgbm.auto.first_stages import FirstStages
from diffgbm.auto.presets import PRESETS
from diffgbm.diffusion.recipe import NAMED, resolve
from diffgbm.diffusion.sampler import Sampler
from diffgbm.first_stage import Task
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.sizes import SIZES
from diffgbm.fitting.training import check_arguments


def test_a_candidate_reads_as_a_line():
    candidate = Candidate("stack", ("mean", "cdf"), "flow")
    assert str(candidate) == (
        "flow matching of the residuals of stacked regressions, "
        "given the predicted mean and the predicted distribution function"
    )
    assert str(Candidate("none", ("mean", "cdf", "kernel_cdf"), "edm")) == (
        "diffusion of the response, "
        "given the predicted mean, the predicted distribution function and a smooth distribution function"
    )
    assert str(LARGE_PLAIN) == "diffusion of the response, large trees"
    sampler = Sampler("heun", 10, "ode")
    assert str(replace(candidate, sampler=sampler)).endswith(f", sampled by {sampler}")
    assert replace(candidate, size="large", sampler=sampler).family == candidate


@pytest.mark.parametrize("preset", PRESETS)
def test_different_candidates_have_different_names(preset):
    everything = stages("stack", "cdf", "kernel_cdf", *PRESETS[preset].first_stage_models)
    candidates = [
        replace(candidate, size=size)
        for candidate in candidates_of(PRESETS[preset], everything)
        for size in PRESETS[preset].sizes
    ]
    assert len(set(map(str, candidates))) == len(candidates)
    assert not any("_" in str(candidate) for candidate in candidates), "no name of a setting"


@pytest.mark.parametrize("recipe", ["flow", "edm"])
@pytest.mark.parametrize("size", [None, "probe", "large"])
def test_arguments_are_those_of_the_recipe_and_the_size(recipe, size):
    found = Candidate("stack", (), recipe, "calm").arguments(12, size)
    check_arguments(found)
    assert set(found) == set(DEFAULTS)
    assert found["n_repeats"] == 12
    assert found["residualize"] == "off"
    assert {name: found[name] for name in SIZES[size or "calm"]} == SIZES[size or "calm"]
    assert resolve(found) == resolve({**DEFAULTS, **NAMED[recipe]})


def stages(*names):
    task = Task(np.zeros((2, 1)), np.zeros((2, 1)), (), None, 2, 1, 0, 1)
    return FirstStages(task, dict.fromkeys(names))


def test_candidates_need_their_first_stage_models():
    preset = PRESETS["fast"]
    with_all = candidates_of(preset, stages("stack", "cdf", "kernel_cdf"))
    assert len(with_all) == len(preset.first_stages) * len(preset.recipes)
    assert len(set(with_all)) == len(with_all)
    # a candidate goes on with the features that were fitted, once
    without_cdf = candidates_of(preset, stages("stack"))
    assert {(c.subtracted, c.features) for c in without_cdf} == {("stack", ()), ("none", ("mean",))}
    assert len(set(without_cdf)) == len(without_cdf)
    only_cdf = replace(preset, first_stages=(("none", ("cdf",)), ("none", ())))
    assert {c.features for c in candidates_of(only_cdf, stages("stack"))} == {()}


def test_without_first_stage_models_the_recipes_are_left():
    assert candidates_of(PRESETS["fast"], stages()) == [Candidate("none", (), "flow"), Candidate("none", (), "edm")]


@pytest.mark.parametrize("recipe", ["flow", "edm"])
def test_candidates_are_trained_with_even_noise(recipe):
    assert Candidate("none", (), recipe).arguments(30)["noise_design"] == "even"
