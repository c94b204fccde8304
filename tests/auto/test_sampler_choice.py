"""The choice of samplers for an automatic fit: by unseen rows, for the pool as a whole, at no cost in training."""

from dataclasses import replace

import numpy as np
import pytest

import diffgbm
from diffgbm.auto import final_models, fitting, sampler_choice
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.presets import PRESETS
from diffgbm.auto.sampler_choice import MIN_GAIN, ROWS, SAMPLERS, deciding_bag, lowers
from diffgbm.diffusion.recipe import NAMED, noise_model_arguments
from diffgbm.diffusion.sampler import Sampler
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401
from tests.conftest import toy

POOR = Sampler("euler", 2, "interpolant", 2.0)
"""Two steps from noise to data, with much noise between them."""


SAMPLED_POORLY = {"sampler_method": "euler", "n_steps": 2, "velocity_stochasticity": 2.0}


def boosters(model):
    return [b.model_to_string() for member in model.pool_.members for bag in member.bags for b in bag]


def unseen_crps(model, y):
    return model.oob_distribution_.crps(y[model.oob_rows_]).mean()


def used(model):
    return {member.recipe.sampler for member in model.pool_.members}


@pytest.fixture
def poor_recipes(monkeypatch):
    """Flows with a poor sampler."""
    monkeypatch.setitem(NAMED, "flow", {**NAMED["flow"], **SAMPLED_POORLY})


def test_every_recipe_can_be_sampled_otherwise():
    assert set(SAMPLERS) == {recipe for preset in PRESETS.values() for recipe in preset.recipes}
    for name, others in SAMPLERS.items():
        recipe = diffgbm.DiffGBM(**noise_model_arguments(name)).recipe
        assert recipe.sampler not in others
        assert len({replace(recipe, sampler=other).steps(other).size.shape for other in others}) > 1


@pytest.mark.parametrize("d", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_poor_sampler_is_replaced_without_training_anything_again(poor_recipes, d, weighted):
    X, y = toy(200, d=d)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=200) if weighted else None
    found = auto().fit(X, y, sample_weight=weights)
    kept = auto(replace(TINY, samplers=False)).fit(X, y, sample_weight=weights)
    assert used(kept) == {POOR}
    assert POOR not in used(found)
    assert used(found) <= set(SAMPLERS["flow"])
    assert (
        found.oob_distribution_.crps(y[found.oob_rows_]).mean() < kept.oob_distribution_.crps(y[kept.oob_rows_]).mean()
    )
    assert set(boosters(found)) & set(boosters(kept))


def test_the_choice_is_reported_and_saved(poor_recipes, tmp_path):
    X, y = toy(200)
    model = auto().fit(X, y)
    board = model.leaderboard_
    pooled = board["model"][board["outcome"] == "in the pool"]
    for sampler in used(model):
        assert str(sampler) in model.explain()
        assert any(name.endswith(str(sampler)) for name in model.weights_)
        assert any(name.endswith(str(sampler)) for name in pooled)
    model.save(tmp_path / "m.dgbm")
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    assert used(loaded) == used(model)
    np.testing.assert_array_equal(loaded.sample(X, 5, seed=1), model.sample(X, 5, seed=1))


@pytest.fixture
def written(monkeypatch):
    """All lines of the leaderboard, in order."""
    lines = []
    monkeypatch.setattr(fitting, "Leaderboard", lambda unit: Leaderboard(unit, lines))
    return lines


def test_bags_that_come_after_the_choice_follow_it(poor_recipes, monkeypatch, written):
    monkeypatch.setattr(sampler_choice, "ROWS", 10)  # the first bag decides
    X, y = toy(200)
    model = auto(replace(TINY, bags=4)).fit(X, y)
    assert POOR not in used(model)
    assert {len(member.bags) for member in model.pool_.members} == {4}
    for stage in ("bag 2", "bag 3", "bag 4"):
        samplers = {line.candidate.sampler for line in written if line.stage == stage}
        assert samplers & used(model)
    final = model.leaderboard_[~model.leaderboard_["outcome"].str.startswith("dropped")]
    assert set(final["rows"]) == {200}


def test_a_pool_that_is_no_better_keeps_its_samplers(poor_recipes, monkeypatch, written):
    X, y = toy(200)
    monkeypatch.setattr(final_models, "lowers", lambda *arguments: False)
    model = auto().fit(X, y)
    assert used(model) == {POOR}
    assert "sampler" in {line.stage for line in written}  # it was tried


def test_the_choice_comes_as_soon_as_there_are_rows_enough():
    def splits(*sizes):
        return [(np.arange(3), np.arange(size)) for size in sizes]

    assert deciding_bag(splits(ROWS, ROWS)) == 0
    assert deciding_bag(splits(ROWS - 1, 1, 5)) == 1
    assert deciding_bag(splits(10, 10, 10)) == 2
    assert deciding_bag(splits(10)) == 0


def test_many_rows_are_thinned_evenly(monkeypatch):
    """A large table decides by about as many rows as are enough."""
    asked = []

    class Equal:
        def stop(self):
            return False

        """A trainer and a scorer for which all samplers are equally good."""

        def out_of_bag(self, candidate, model, held_out):
            asked.extend(map(len, held_out))
            return [np.zeros((len(rows), 3, 1)) for rows in held_out]

        def losses(self, points, rows):
            return np.ones(len(rows))

        def weights_of(self, rows):
            return None

    model = auto().fit(*toy(200)).pool_.members[0]
    candidate = type("Candidate", (), {"recipe": "flow"})()
    unseen = [np.arange(30 * ROWS), np.arange(10 * ROWS)]
    assert sampler_choice.better_sampler(Equal(), Equal(), candidate, model, unseen) is None
    rounds = 1 + len(SAMPLERS["flow"])
    assert len(asked) == 2 * rounds
    assert ROWS // 2 <= sum(asked) / rounds <= 2 * ROWS


@pytest.mark.parametrize("weights", [None, np.full(400, 2.0)])
def test_what_lowers_the_loss(weights):
    rng = np.random.default_rng(0)
    reference = rng.uniform(1.0, 3.0, size=400)
    mean = reference.mean()
    assert lowers(reference - 2.0 * MIN_GAIN * mean, reference, weights, MIN_GAIN)
    assert not lowers(reference - 0.5 * MIN_GAIN * mean, reference, weights, MIN_GAIN)
    assert lowers(reference - 0.5 * MIN_GAIN * mean, reference, weights)
    assert not lowers(reference, reference, weights)
    # a gain that a few rows owe to chance: mean 0.01, standard error 0.05
    noise = rng.standard_normal(400)
    noise = (noise - noise.mean()) / noise.std()
    assert not lowers(reference - (0.01 + noise), reference, weights)
    assert lowers(reference - (0.1 + noise), reference, weights)
