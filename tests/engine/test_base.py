"""Fields that share the samples of a row."""

import numpy as np
import pytest

from diffgbm.engine import Draws, TreeSum, make_engine

from . import models


def test_mixture_gives_each_bag_its_samples():
    bags = [models.group(1, 1, seed) for seed in (1, 10)]
    steps, X = models.step_table(1), models.rows(5, 3)
    mixed = make_engine(bags, "collapse", "mixture").prepare(steps)(X, Draws(8, 1, first_sample=1))
    for b, bag in enumerate(bags):
        alone = make_engine([bag], "collapse").prepare(steps)(X, Draws(8, 1, first_sample=1))
        ours = (np.arange(8) + 1) % 2 == b
        np.testing.assert_array_equal(mixed[:, ours], alone[:, ours])


@pytest.mark.parametrize("d", [1, 2])
def test_shapes_are_checked(d):
    integrator = make_engine([models.group(d, 1, 0)], "collapse").prepare(models.step_table(1))
    X = models.rows(3, 0)
    with pytest.raises(ValueError, match="columns of x"):
        integrator(X[:, :-1], Draws(2, 0))
    with pytest.raises(ValueError, match="starting points"):
        integrator(X, Draws(2, 0, start=np.zeros((1, d))))
    with pytest.raises(ValueError, match="columns of x"):
        TreeSum(models.group(d, 1, 0))(X)


@pytest.mark.parametrize("d", [1, 2])
def test_no_rows_and_no_samples(d):
    integrator, X = make_engine([models.group(d, 1, 1)]).prepare(models.step_table(1)), models.rows(3, 0)
    assert integrator(X[:0], Draws(5, 1)).shape == (0, 5, d)
    assert integrator(X, Draws(0, 1)).shape == (3, 0, d)
