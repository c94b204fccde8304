"""Arrays that kernels can take after they were sent to another process."""

import pickle
from typing import NamedTuple

import joblib
import numpy as np
import pytest

from diffgbm.engine import Draws, TreeSum, make_engine
from diffgbm.engine.arrays import writable

from . import models


def sample_and_count(engine, X):
    """Samples, and for how many kinds of arguments the kernel was compiled; runs in a worker."""
    samples = engine.prepare(models.step_table(1))(X, Draws(3, 1))
    from diffgbm.engine import _prune_kernels, _scalar_kernels

    kernels = _prune_kernels.prune_trees, _scalar_kernels.integrate_block
    return samples, [len(kernel.signatures) for kernel in kernels]


def test_read_only_maps_are_not_compiled_for():
    engine, X = make_engine([models.group(1, 1, 1)], "collapse"), models.rows(9, 0)
    here, _ = sample_and_count(engine, X)
    with joblib.Parallel(n_jobs=2, max_nbytes=100) as parallel:
        for samples, compiled in parallel(joblib.delayed(sample_and_count)(engine, X) for _ in range(2)):
            np.testing.assert_array_equal(samples, here)
            assert compiled == [1, 1]


@pytest.mark.parametrize("kind", ["collapse", "lightgbm"])
def test_engines_survive_pickling(kind):
    engine = make_engine([models.group(2, 1, 1)], kind)
    again = pickle.loads(pickle.dumps(engine))
    X, steps = models.rows(5, 0), models.step_table(1)
    np.testing.assert_array_equal(again.prepare(steps)(X, Draws(4, 1)), engine.prepare(steps)(X, Draws(4, 1)))


def test_tree_sum_survives_pickling():
    trees = TreeSum([models.booster(0, 0, 1)])
    X = models.rows(70, 0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trees))(X), trees(X))


class Pair(NamedTuple):
    numbers: np.ndarray
    name: str


def test_only_read_only_arrays_are_copied():
    free, frozen = np.ones(3), np.ones(3)
    frozen.flags.writeable = False
    assert writable(free) is free
    found = writable([Pair(frozen, "a"), free, 1.5])
    assert isinstance(found[0], Pair)
    assert found[0].numbers.flags.writeable
    np.testing.assert_array_equal(found[0].numbers, frozen)
    assert found[0].name == "a"
    assert found[1] is free
    assert found[2] == 1.5
