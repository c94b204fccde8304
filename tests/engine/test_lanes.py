"""Several rows collapsed together: whole leaf values, and an order of the rows."""

import numpy as np
import pytest

from diffgbm.engine import Draws, make_engine
from diffgbm.engine.lanes import BITS, WORTH_IT, Lanes
from diffgbm.engine.scalar import ScalarField

from . import models


def field(noise=0.3, n_steps=6):
    engine = make_engine([[models.booster(1, 2, seed=3)]], "collapse")
    return engine, engine.prepare(models.step_table(2, steps=n_steps, noise=noise)).fields[0]


def even(n):
    start = np.linspace(-2.0, 2.0, n)[:, None]
    return Draws(n, key=0, start=start, shared=True, low_discrepancy=True)


def test_only_noise_needs_lanes():
    assert field(noise=0.0)[1].lanes is None
    assert isinstance(field()[1].lanes, Lanes)


def test_no_sum_of_whole_values_overflows():
    _, noisy = field()
    lanes, pruned = noisy.lanes, noisy.pruned
    largest = np.zeros(len(pruned.roots), dtype=np.int64)
    np.maximum.at(largest, pruned.leaf_tree, np.abs(lanes.value.astype(np.int64)))
    assert 2 ** (BITS - 2) < largest.sum() <= 2**BITS
    np.testing.assert_allclose(lanes.value * lanes.unit, pruned.value, rtol=0, atol=lanes.unit)


def test_rows_of_a_cell_are_side_by_side():
    lanes = Lanes(np.empty(0, np.int32), 1.0, (1, 0), [np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0, 7.0])])
    X = np.random.default_rng(0).uniform([4.0, -1.0, 0.0], [8.0, 3.0, 1.0], size=(200, 3))
    X[7, 1] = np.nan
    order = lanes.order(X)
    assert sorted(order) == list(range(200))
    cells = np.column_stack([np.searchsorted(lanes.cuts[0], X[:, 1]), np.searchsorted(lanes.cuts[1], X[:, 0])])[order]
    assert np.all(np.diff(cells @ [4, 1]) >= 0)
    np.testing.assert_array_equal(lanes.order(X[: WORTH_IT - 1]), np.arange(WORTH_IT - 1))


def test_columns_are_those_that_are_asked_about_most():
    _, noisy = field()
    pruned, conditions = noisy.pruned, noisy.pruned.conditions
    numbers = pruned.nodes[(pruned.nodes[:, 0] >= 0) & (pruned.nodes[:, 0] < len(conditions.threshold)), 0]
    column = np.repeat(conditions.group_column, np.diff(conditions.group_start))[numbers]
    count = np.bincount(column, minlength=pruned.n_columns)
    assert len(noisy.lanes.columns) == min(3, np.count_nonzero(count))
    assert min(count[list(noisy.lanes.columns)]) >= max(np.delete(count, list(noisy.lanes.columns)), default=0)
    assert all(np.all(np.isfinite(cuts)) and np.all(np.diff(cuts) >= 0) for cuts in noisy.lanes.cuts)


@pytest.mark.parametrize("corrector", [0.0, 0.5])
def test_a_row_does_not_depend_on_its_neighbours(corrector):
    """Alone, in a group of eight or in a block of 64, in any order: to the last bit."""
    engine = make_engine([[models.booster(1, 2, seed=3)]], "collapse")
    integrate = engine.prepare(models.step_table(2, steps=6, noise=0.3, corrector=corrector))
    X = models.rows(150, 1, awkward=0.1)
    whole = integrate(X, even(34))
    for i in (0, 63, 64, 149):
        np.testing.assert_array_equal(integrate(X[i : i + 1], even(34)), whole[i : i + 1])
    shuffled = np.random.default_rng(0).permutation(150)
    np.testing.assert_array_equal(integrate(X[shuffled], even(34)), whole[shuffled])
    np.testing.assert_array_equal(integrate(X[:13], even(34)), whole[:13])


def test_many_rows_agree_with_lightgbm():
    steps, X = models.step_table(2, steps=6, noise=0.3), models.rows(130, 1, awkward=0.1)
    fast, slow = (
        make_engine([[models.booster(1, 2, seed=3)]], kind).prepare(steps)(X, even(21))
        for kind in ("collapse", "lightgbm")
    )
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-6)


def test_lanes_are_part_of_what_is_kept():
    from diffgbm.engine.prepared import array_bytes

    _, noisy = field()
    assert isinstance(noisy, ScalarField)
    alone = array_bytes(noisy.pruned) + array_bytes(noisy.leaves)
    assert array_bytes(noisy) >= alone + noisy.lanes.value.nbytes
