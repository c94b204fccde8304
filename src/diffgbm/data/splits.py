"""Every split of the rows is decided here: which rows a model learns from, and which are held out.

A split is a pair of index arrays: rows to learn from, rows held out. Functions of a number of rows and a seed serve
tables in memory; with ``records``, labels of rows that are records of the same thing, no split divides a record.
Functions of positions and a key serve tables in partitions: they hash a row's position in the whole table, so that a
row's part does not depend on how the table is partitioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split

from diffgbm._util.errors import check_count
from diffgbm._util.types import Array, Booleans, Integers, Rows
from diffgbm.data.hashing import STEP, mixed_bits

Split = tuple[Rows, Rows]
"""Rows to learn from, and rows held out."""

Seed = int | Sequence[int] | np.random.Generator

PAPER_FOLDS = 6
"""Folds of the paper's protocol, of which the first is held out."""


def k_folds(n_rows: int, k: int, seed: int, records: Integers | None = None) -> list[Split]:
    """Return ``k`` shuffled folds, at most one for each record: each row is held out once."""
    n_units = n_rows if records is None else count_records(records)
    k = k if records is None else min(k, n_units)
    folds = KFold(k, shuffle=True, random_state=seed).split(np.arange(n_units))
    return [_rows_of(split, records) for split in folds]


def holdout(n_rows: int, share: float, seed: int, records: Integers | None = None) -> Split:
    """Hold out a random ``share`` of the rows (or records); without records both parts are in random order."""
    n_units = n_rows if records is None else count_records(records)
    train, held_out = train_test_split(np.arange(n_units), test_size=share, random_state=seed)
    return _rows_of((train, held_out), records)


def bag_splits(
    n_rows: int,
    n_bags: int,
    eval_percent: float,
    seed: int,
    stopping: bool,
    ordered: bool = False,
    records: Integers | None = None,
) -> list[Split]:
    """Return the split of each bag, in the table's order if ``ordered``.

    One bag holds out ``eval_percent`` of the rows for early stopping, or nothing without it. Several hold out a share
    of ``1 / n_bags`` each, so that every row is held out once.
    """
    if n_bags > 1:
        return k_folds(n_rows, min(n_bags, n_rows), seed, records)
    if not stopping:
        rows = np.arange(n_rows)
        return [(rows, rows[:0])]
    train, held_out = holdout(n_rows, eval_percent, seed, records)
    return [(np.sort(train), np.sort(held_out))] if ordered else [(train, held_out)]


def subsample(n_rows: int, size: int, seed: Seed, *, ordered: bool = True, records: Integers | None = None) -> Split:
    """Draw ``size`` rows without replacement; return them and the rest, in the table's order or at random.

    With ``records`` whole records are drawn, as many as are needed for ``size`` rows.
    """
    if records is not None:
        order = np.random.default_rng(seed).permutation(count_records(records))
        n_drawn = int(np.searchsorted(np.cumsum(np.bincount(records)[order]), size)) + 1
        return _rows_of((order[:n_drawn], order[n_drawn:]), records)
    order = np.random.default_rng(seed).permutation(n_rows)
    chosen, rest = order[:size], order[size:]
    return (np.sort(chosen), np.sort(rest)) if ordered else (chosen, rest)


def fold_numbers(n_rows: int, k: int, seed: Seed, records: Integers | None = None) -> Rows:
    """Assign each row to one of ``k`` folds of nearly equal size: shape (n,), values 0 to ``k - 1``."""
    if records is not None:
        return fold_numbers(count_records(records), k, seed)[records]
    return np.random.default_rng(seed).permutation(n_rows) % k


def paper_holdout(n_rows: int, seed: int, records: Integers | None = None) -> Split:
    """Deal a permutation of the rows to ``PAPER_FOLDS`` folds in turn; hold out the first, the paper's fold 0."""
    n_units = n_rows if records is None else count_records(records)
    held_out = np.zeros(n_units, dtype=bool)
    held_out[np.random.default_rng(seed).permutation(n_units)[::PAPER_FOLDS]] = True
    return _rows_of((np.flatnonzero(~held_out), np.flatnonzero(held_out)), records)


def count_records(records: Integers) -> int:
    """Return the number of records that rows with these labels (n,), 0 to the number less one, are of."""
    return int(records.max()) + 1


def part_of_records(records: Integers | None, rows: Any) -> Integers | None:
    """Return the labels of some rows, numbered from 0 without gaps."""
    return None if records is None else np.unique(records[rows], return_inverse=True)[1]


def _rows_of(split: Split, records: Integers | None) -> Split:
    """Turn a split of records into one of their rows, in the table's order; without records it is one of rows."""
    if records is None:
        return split
    held_out = np.zeros(count_records(records), dtype=bool)
    held_out[split[1]] = True
    return np.flatnonzero(~held_out[records]), np.flatnonzero(held_out[records])


def cross_validation_splits(cv: Any, X: Array, y: Any, seed: int, records: Integers | None = None) -> tuple[Split, ...]:
    """Return the splits that ``cv`` asks for.

    Parameters
    ----------
    cv : None, int, splitter or iterable of pairs
        ``None`` is ``paper_holdout``, a number that many shuffled folds. Anything else is a scikit-learn splitter, or
        pairs of row numbers.
    X : ndarray of shape (n, p)
        Rows.
    y : array-like of shape (n,) or (n, d)
        Responses, for splitters that use them.
    seed : int
        Seed of ``paper_holdout`` and of the folds.
    records : ndarray of shape (n,) or None
        Labels of rows that stay together; a splitter gets them as its groups.
    """
    n = len(X)
    if cv is None:
        return (paper_holdout(n, seed, records),)
    if isinstance(cv, (int, np.integer)):
        return tuple(k_folds(n, check_count("cv", cv, 2), seed, records))
    pairs = cv.split(X, y, records) if hasattr(cv, "split") else cv
    try:
        splits = tuple((np.arange(n)[train], np.arange(n)[test]) for train, test in pairs)
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"cv must be None, a number of folds, a splitter or pairs of row numbers: {error}.") from None
    if not splits or any(len(part) == 0 for split in splits for part in split):
        raise ValueError("cv must yield at least one split, and rows on both sides of each.")
    return splits


def position_uniforms(positions: Integers, key: int) -> Array:
    """Return a number in [0, 1) for each row position (n,), by a hash of it."""
    with np.errstate(over="ignore"):
        z = (positions.astype(np.uint64) + np.uint64(1)) * STEP + mixed_bits(np.uint64(key))
        return (mixed_bits(z) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def hashed_folds(positions: Integers, k: int, key: int) -> Rows:
    """Assign rows at ``positions`` (n,) to ``k`` folds; a row's fold does not depend on the other rows."""
    return (position_uniforms(positions, key) * k).astype(np.intp)


def hashed_holdout(positions: Integers, share: float, key: int) -> Booleans:
    """Whether each row at ``positions`` (n,) is held out: about a ``share`` of them."""
    return position_uniforms(positions, key) < share
