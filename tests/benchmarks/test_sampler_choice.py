"""The comparison of samplers for the same noise models."""

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.protocol import prepare
from benchmarks.sampler_choice import Line
from benchmarks.table_files import Table

from benchmarks import sampler_choice
from diffgbm import DiffGBM
from diffgbm.auto.sampler_choice import SAMPLERS
from diffgbm.diffusion.recipe import noise_model_arguments
from tests.conftest import TINY, toy


def test_all_samplers_of_a_recipe_on_the_same_trees():
    X, y = toy(180)
    fold = prepare(Table(X, 100.0 + 10.0 * y, ("a", "b", "c"), "y"), 0)
    poor = {"sampler_method": "euler", "n_steps": 2, "velocity_stochasticity": 2.0}
    model = DiffGBM(**{**noise_model_arguments("flow"), **poor, **TINY, "residualize": "off", "n_bags": 3})
    lines = sampler_choice.measure("toy", "flow", "off", model, fold)
    assert [line.sampler for line in lines] == [str(sampler) for sampler in SAMPLERS["flow"]]
    assert {(line.data_set, line.model) for line in lines} == {("toy", "flow, off")}
    assert all(0.3 < ratio < 1.0 for line in lines for ratio in (line.unseen, line.test))
    assert all(line.selected for line in lines)


def test_the_page_by_hand():
    lines = [
        Line("yacht", "flow, off", "a", 0.5, 0.8, True),
        Line("yacht", "flow, off", "b", 0.25, 0.2, True),
        Line("wine", "flow, off", "a", 0.999, 1.1, False),
    ]
    text = sampler_choice.table(lines, 3)
    assert "| yacht | flow, off | b | 0.2500 | 0.2000 | selected |" in text
    assert "| wine | flow, off | a | 0.9990 | 1.1000 |  |" in text
    assert "Geometric means of 2 selected: 0.3536 out of bag, 0.4000 on test rows (2 lower)" in text
    assert "Geometric means of 1 not selected: 0.9990 out of bag, 1.1000 on test rows (0 lower)" in text
    assert "Geometric means of 1 that models would use: 0.2500 out of bag, 0.2000 on test rows (1 lower)" in text
    assert "--bags 3" in text
    assert sampler_choice.selected(lines) == [lines[1]]
    assert "that models would use" not in sampler_choice.table(lines[2:], 3)


def test_models_are_those_of_the_automatic_fit():
    made = sampler_choice.models(4, 1)
    assert set(made) == {(recipe, first_stage) for recipe in SAMPLERS for first_stage in ("mean", "off")}
    for (recipe, first_stage), model in made.items():
        params = model.get_params()
        assert (params["n_bags"], params["bag_mix"], params["residualize"]) == (4, "mixture", first_stage)
        assert all(np.all(params[name] == value) for name, value in noise_model_arguments(recipe).items())
    with pytest.raises(SystemExit):
        main(["sampler-choice", "--data-sets", "nothing"])
