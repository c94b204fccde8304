"""Savings inside members: fewer steps, points and trees change what they should, and nothing else."""

import numpy as np
import pytest

from diffgbm.auto.economy import ECONOMIES, WHOLE, Economy
from tests.auto.test_compression import pool_of
from tests.conftest import tiny, toy

X, Y = toy(300)


@pytest.fixture(scope="module")
def pool():
    """A flow of five steps beside an SDE of twelve behind a first stage."""
    bags = {"n_bags": 2, "bag_mix": "mixture", "early_stopping_rounds": 5}
    return pool_of(tiny("flow", **bags).fit(X, Y), tiny("published", n_steps=12, residualize="mean", **bags).fit(X, Y))


def test_no_saving_is_the_pool_itself(pool):
    assert WHOLE(pool) is pool
    assert WHOLE.parts == []
    assert ECONOMIES[0] == WHOLE
    assert str(WHOLE) == ""


def test_steps_are_fewer_but_some_are_left(pool):
    steps = [[m.recipe.sampler.n_steps for m in Economy(steps=share)(pool).members] for share in (1.0, 0.5, 0.01)]
    assert steps == [[5, 12], [3, 6], [3, 3]]


def test_points_of_a_bag_are_computed_and_the_rest_interpolated(pool):
    few = Economy(points=21)(pool)
    assert few._computed(few.members[0], 188, 377) == 42
    assert few._computed(few.members[0], 1000, 2000) == 1000
    found, whole = few.distribution(X[:50], 377), pool.distribution(X[:50], 377)
    assert found.values.shape == whole.values.shape
    assert np.mean(np.abs(found.mean() - whole.mean()) / whole.std()) < 0.05
    assert 0.85 < np.mean(found.std() / whole.std()) < 1.1


def test_parts_are_single_savings():
    economy = Economy(0.5, 0.35, 34)
    assert economy.parts == [Economy(trees=0.5), Economy(steps=0.35), Economy(points=34)]
    assert (
        str(economy)
        == ", first-stage models to fewer trees and points, samplers to 35% of their steps, bags to 34 points"
    )
