"""The trainer: a candidate and a split give a model, and nothing else decides which."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto.candidates import Candidate
from diffgbm.auto.trainer import POINTS, Trainer
from diffgbm.diffusion.sampler import Sampler
from tests.auto.tiny_auto import small_trees, trainer_of  # noqa: F401
from tests.conftest import toy

SPLIT = (np.arange(90), np.arange(90, 120))
CANDIDATE = Candidate("stack", ("mean",), "flow", "probe")


@pytest.fixture(scope="module")
def trainer(small_trees):  # noqa: F811
    return trainer_of(*toy())[0]


def trees(bag):
    return [booster.model_to_string() for booster in bag.boosters]


def trained(trainer, stream=(0, 0), candidate=CANDIDATE):
    return trainer.train(candidate, candidate.arguments(2), SPLIT, stream)


def test_training_depends_on_its_arguments_alone(trainer):
    first = trained(trainer)
    assert trees(trained(trainer, (0, 1))[1]) != trees(first[1])
    assert trees(trained(trainer)[1]) == trees(first[1])
    other = Trainer(replace(trainer.problem, seed=1))
    assert trees(trained(other)[1]) != trees(first[1])


def test_a_sampler_changes_no_tree(trainer):
    sampler = Sampler("heun", 10, "ode")
    model, bag = trained(trainer, candidate=replace(CANDIDATE, sampler=sampler))
    plain, same = trained(trainer)
    assert model.recipe.sampler == sampler != plain.recipe.sampler
    assert trees(bag) == trees(same)


def test_points_use_out_of_fold_values(trainer):
    model, _ = trained(trainer)
    rows = np.array([3, 100, 7])
    points = trainer.points(CANDIDATE, model, rows)
    assert points.shape == (3, POINTS, 1)
    assert (np.diff(points, axis=1) >= 0.0).all()
    problem = trainer.problem
    values = problem.inputs(CANDIDATE).values[rows]
    expected = model.points(problem.table.X[rows], model.recipe.sampler, POINTS, 1, stage_values=values)
    np.testing.assert_array_equal(points, np.sort(expected, axis=1))
    new_rows = model.points(problem.table.X[rows], model.recipe.sampler, POINTS, 1)
    assert not np.array_equal(points, np.sort(new_rows, axis=1))


def test_each_bag_predicts_its_held_out_rows(trainer):
    model, first = trained(trainer)
    _, second = trained(trainer, (0, 1))
    both = replace(model, bags=(first.boosters, second.boosters))
    rows = [np.arange(5), np.arange(5, 9)]
    found = trainer.out_of_bag(CANDIDATE, both, rows, 21)
    for bag, part, points in zip((first, second), rows, found, strict=True):
        alone = replace(model, bags=(bag.boosters,))
        np.testing.assert_array_equal(points, trainer.points(CANDIDATE, alone, part, 21))


@pytest.mark.parametrize("rounds", [1, 3])
def test_training_ends_when_stop_returns_true(trainer, rounds):
    asked = []

    def stop():
        asked.append(None)
        return len(asked) == rounds

    trained(Trainer(trainer.problem, stop))
    assert len(asked) == rounds
