"""Presets: every name is in its catalogue, and the work grows from preset to preset."""

from itertools import pairwise

import pytest

from diffgbm.auto.candidates import Candidate
from diffgbm.auto.first_stages import fitted_name, size_for
from diffgbm.auto.presets import PRESETS
from diffgbm.diffusion.recipe import NAMED, resolve
from diffgbm.first_stage.catalogue import CATALOGUE, SHRUNK_SCALE, build
from diffgbm.fitting.sizes import SIZES


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_name_is_in_its_catalogue(name):
    preset = PRESETS[name]
    for model in preset.first_stage_models:
        assert hasattr(build(model, size_for(5000, preset.gp_rows)), "cross_fit")
        assert CATALOGUE[model].predicts_response
    known = {"none", "stack", "cdf", "kernel_cdf", *preset.first_stage_models}
    for subtracted, features in preset.first_stages:
        assert {subtracted.removesuffix(SHRUNK_SCALE), *map(fitted_name, features)} <= known
    assert set(preset.recipes) <= set(NAMED)
    assert {*preset.sizes, *(item.size for item in preset.rounds)} <= set(SIZES)
    for recipe in preset.recipes:
        resolve(Candidate("none", (), recipe).arguments(8))


@pytest.mark.parametrize("name", list(PRESETS))
def test_later_rounds_have_more_rows_and_fewer_candidates(name):
    rounds = PRESETS[name].rounds
    for earlier, later in pairwise(rounds):
        assert later.rows >= earlier.rows
        assert later.n_repeats >= earlier.n_repeats
        assert later.keep <= earlier.keep


def test_presets_grow():
    fast, balanced, best = PRESETS.values()
    for smaller, larger in ((fast, balanced), (balanced, best)):
        assert smaller.time_limit < larger.time_limit
        assert set(smaller.first_stage_models) <= set(larger.first_stage_models)
        assert set(smaller.first_stages) <= set(larger.first_stages)
        assert smaller.noisy_rows < larger.noisy_rows
