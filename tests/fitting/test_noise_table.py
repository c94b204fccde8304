"""What a noise model learns from, in memory or in partitions."""

import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.noise_design import NOISE_DESIGNS
from diffgbm.fitting.noise_table import VALIDATION_ROWS, NoiseTable, joined

RECIPE = DiffGBM.flow().recipe
SEED = np.random.SeedSequence(3)


def table(n=12, k=2, weighted=True):
    rng = np.random.default_rng(0)
    values = FirstStageValues(rng.normal(size=(n, k)), rng.normal(size=(n, 1)), rng.uniform(0.5, 2.0, (n, 1)))
    weights = rng.uniform(size=n) if weighted else None
    X, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 1))
    return NoiseTable.of(X, y, weights, [1], values), y, values


@pytest.mark.parametrize("k", [0, 2])
def test_first_stage_values_are_taken_out_of_the_response(k):
    found, y, values = table(k=k)
    np.testing.assert_array_equal(found.residuals, (y - values.location) / values.scale)
    assert (found.stage_features is None) == (k == 0)


@pytest.mark.parametrize(("k", "weighted"), [(0, False), (2, True)])
def test_parts_that_are_joined_are_the_whole(k, weighted):
    whole, _, _ = table(k=k, weighted=weighted)
    mask = np.arange(12) < 5
    again = joined([whole.part(mask), whole.part(np.flatnonzero(~mask))])
    for name in ("X", "residuals", "weights", "stage_features"):
        one, other = getattr(again, name), getattr(whole, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)
    assert again.categorical == [1]
    np.testing.assert_array_equal(again.positions, np.arange(12))


@pytest.mark.parametrize("design", NOISE_DESIGNS)
def test_copies_of_some_rows_are_those_of_a_table_of_these_rows(design):
    whole, _, _ = table()
    rows = np.array([7, 1, 4])
    part = whole.part(rows)
    some = whole.noisy_copies(rows, RECIPE, 3, SEED, design)
    alone = part.noisy_copies(np.arange(3), RECIPE, 3, SEED, design)
    assert (some.chosen is None, alone.chosen is None) == (False, True)
    for name in ("states", "targets", "weights"):
        np.testing.assert_array_equal(getattr(some, name), getattr(alone, name))
    for one, other in zip(some.features_at(np.arange(9)), alone.features_at(np.arange(9)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n", "copies"), [(1, 30), (200, 25), (VALIDATION_ROWS + 1, 1)])
def test_few_held_out_rows_are_copied_more_often(n, copies):
    whole, _, _ = table(n)
    assert len(whole.validation_copies(np.arange(n), RECIPE, 30, SEED, "even")) == copies * n
    assert whole.validation_copies(np.arange(0), RECIPE, 30, SEED, "even") is None
