"""Limits and whole numbers of a table in partitions: facts of partitions, and what they decide, as in memory."""

import numpy as np
import pytest

from diffgbm.dask import limits
from diffgbm.dask.limits import asks_for_limits, atoms_among, column_facts, supports_of, whole_columns, with_piles
from diffgbm.distributions.support import Support
from diffgbm.fitting.limits import are_counts, find_support

ALL = slice(None)


def facts(y, support, counted=ALL):
    kept = np.zeros(len(y), dtype=bool)
    kept[counted] = True
    parts = zip(np.array_split(y.reshape(len(y), -1), 3), np.array_split(kept, 3), strict=True)
    return whole_columns([column_facts(part, rows, support) for part, rows in parts])


def found(y, support, discrete=False, names=None):
    return supports_of(facts(y, support), support, discrete, names, y.ndim == 1)


@pytest.mark.parametrize("support", [None, "auto", (0, None), (-5, 100)])
@pytest.mark.parametrize("discrete", [False, True])
def test_limits_are_those_of_a_table_in_memory(support, discrete):
    rng = np.random.default_rng(0)
    for y in (rng.poisson(3.0, 90).astype(float), rng.permutation(90) * 1.0, rng.exponential(size=90), np.zeros(90)):
        if discrete and (y != np.rint(y)).any():
            continue
        (ours,), theirs = found(y, support, discrete), find_support(support, discrete, y, np.arange(90))
        assert str(ours) == str(theirs)


def test_different_values_are_counted_by_their_least_hashes(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(limits, "SKETCH", 200)
    for most in (20, 2_000, 10_000, 100_000):
        y = rng.integers(0, most, 10_000).astype(float)
        (column,) = facts(y, "auto")
        assert len(column.hashes) <= 200
        assert column.are_counts() == are_counts(y)
    assert not facts(y - 1e6, "auto")[0].are_counts()
    assert not facts(y + 0.5, "auto")[0].are_counts()


def test_what_many_rows_of_a_partition_share_may_be_an_atom():
    y = np.r_[np.full(30, 7.0), np.arange(30.0), np.linspace(0.0, 1.0, 30)]
    (column,) = facts(y, None)
    assert {0.0, 7.0, 29.0} <= set(column.candidates)
    assert len(column.candidates) < 70
    # rows of no weight count for limits, not for atoms
    (column,) = facts(y, (0, None), slice(30, None))
    assert (column.rows, column.lowest) == (90, 0.0)
    assert facts(y, (8, None), slice(30, None))[0].outside == np.sum(y < 8.0)


def test_what_the_responses_contradict():
    y = np.linspace(-1.0, 5.0, 90)
    with pytest.raises(ValueError, match=r"^support=\(0\.0, None\): 15 of 90 responses lie outside. Correct"):
        found(y, (0, None))
    with pytest.raises(ValueError, match=r"whole numbers; .* of 90 are not"):
        found(y, None, True)
    both = np.column_stack([np.abs(y), y])
    with pytest.raises(ValueError, match=r"^Response v: support=\(0\.0, None\): 15 of 90"):
        found(both, [None, (0, None)], names=("u", "v"))
    assert found(both, [(0, None), None])[1] is None
    with pytest.raises(ValueError, match="a list of one for each of 2 responses"):
        found(both, [(0, None), None, None])
    with pytest.raises(ValueError, match=r"one pair .* for one response"):
        found(y, [(-1, None)])


def test_which_values_are_atoms():
    piled, present = np.array([0.0, 3.0]), np.array([0.0, 1.0, 3.0, 8.0])
    limited = Support(0.0)
    assert atoms_among(piled, present, None, None, None).tolist() == []
    assert atoms_among(piled, present, None, (0, None), limited).tolist() == [0.0]
    assert atoms_among(piled, present, None, "auto", limited).tolist() == [0.0, 3.0]
    assert atoms_among(piled, present, "auto", None, None).tolist() == [0.0, 3.0]
    assert atoms_among(piled, present, [8.0, 9.0], (0, None), limited).tolist() == [8.0]
    assert with_piles(limited, piled).atoms.tolist() == [0.0]
    assert with_piles(None, piled) is None
    assert asks_for_limits({"support": None, "atoms": "auto", "discrete": False})
    assert not asks_for_limits({"support": None, "atoms": None, "discrete": False})
