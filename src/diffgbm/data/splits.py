"""Every split of the rows is decided here: which rows a model learns from, and which are held out.

A split is a pair of index arrays: rows to learn from, rows held out. Functions of a number of rows, a seed and a
``Structure`` serve tables in memory. No split divides rows of one label. If the rows have an order in time, rows that
are held out are later than all rows that are learned from: folds are expanding windows, whose first rows are never held
out, and what is held out once is the last part. Functions of positions and a key serve tables in partitions: they hash
a row's position in the whole table, so that a row's part does not depend on how the table is partitioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split

from diffgbm._util.errors import check_count
from diffgbm._util.types import Array, Booleans, Integers, Rows
from diffgbm.data.hashing import position_bits
from diffgbm.data.structure import INDEPENDENT, Structure

Split = tuple[Rows, Rows]
"""Rows to learn from, and rows held out."""

Seed = int | Sequence[int] | np.random.Generator

PAPER_FOLDS = 6
"""Folds of the paper's protocol, of which the first is held out."""
MAX_EXCESS = 2.0
"""A part that is to hold some share of the rows may hold so many times as many: labels may have many rows."""
MIN_DRAWN = 5
"""Whole labels that a part of the rows holds at least; if it would hold fewer, rows are drawn instead."""
MAX_LOSS = 1 / 3
"""Share of the past that a split by time may leave out because it is of the groups that are held out."""


def k_folds(n_rows: int, k: int, seed: int, structure: Structure = INDEPENDENT) -> list[Split]:
    """Return ``k`` shuffled folds, at most one for each label: each row is held out once.

    By time they are windows: the rows are divided into ``k + 1`` parts, and each but the first is held out by a split
    that learns from all parts before it. If labels occur in many windows, a window is held out in several splits.
    """
    if structure.order is not None:
        return expanding_windows(structure, k, seed)
    n_units = structure.n_units(n_rows)
    k = k if structure.labels is None else min(k, n_units)
    folds = KFold(k, shuffle=True, random_state=seed).split(np.arange(n_units))
    return [_rows_of(split, structure.labels) for split in folds]


def holdout(n_rows: int, share: float, seed: int, structure: Structure = INDEPENDENT) -> Split:
    """Hold out a random ``share`` of the rows (or labels), or the last ones; without structure in random order."""
    if structure.order is not None:
        return last_part(structure, share, seed)[0]
    train, held_out = train_test_split(np.arange(structure.n_units(n_rows)), test_size=share, random_state=seed)
    split = _rows_of((train, held_out), structure.labels)
    if structure.labels is not None and len(split[1]) > MAX_EXCESS * share * n_rows:
        return _small_part(structure.labels, share * n_rows, seed)
    return split


def _small_part(labels: Integers, size: float, seed: int) -> Split:
    """Hold out random labels of about ``size`` rows, none of which is too large; at least the smallest one."""
    counts = np.bincount(labels)
    order = np.random.default_rng(seed).permutation(len(counts))
    drawn: list[int] = []
    for label in order.tolist():
        if counts[[*drawn, label]].sum() <= size:
            drawn.append(label)
    drawn = drawn or [int(order[np.argmin(counts[order])])]
    return _rows_of((np.setdiff1d(order, drawn), np.array(drawn)), labels)


def can_hold_out(structure: Structure, n_rows: int) -> bool:
    """Whether some rows can be held out and others be left: a single group cannot be divided, nor can one moment."""
    if structure.order is None:
        return structure.n_units(n_rows) > 1
    return bool(structure.order.max() > 0 and _last_part(structure, 0.1, 0))


def bag_splits(
    n_rows: int,
    n_bags: int,
    eval_percent: float,
    seed: int,
    stopping: bool,
    ordered: bool = False,
    structure: Structure = INDEPENDENT,
) -> list[Split]:
    """Return the split of each bag, in the table's order if ``ordered``.

    One bag holds out ``eval_percent`` of the rows for early stopping, or nothing without it. Several hold out a share
    of ``1 / n_bags`` each, so that every row is held out once. By time, all bags hold out the last ``eval_percent``: a
    bag that learned from the first rows only would predict new rows worse than the others.
    """
    if n_bags > 1 and structure.order is not None:
        parts = last_part(structure, eval_percent, seed)
        return [parts[b % len(parts)] for b in range(n_bags)]
    if n_bags > 1:
        return k_folds(n_rows, min(n_bags, n_rows), seed, structure)
    if not stopping:
        rows = np.arange(n_rows)
        return [(rows, rows[:0])]
    train, held_out = holdout(n_rows, eval_percent, seed, structure)
    return [(np.sort(train), np.sort(held_out))] if ordered else [(train, held_out)]


def bags_by_rows(held_out: Sequence[Rows]) -> list[list[int]]:
    """Return the bags that hold out the same rows together; by time, all bags hold out the last ones."""
    together: dict[bytes, list[int]] = {}
    for b, rows in enumerate(held_out):
        together.setdefault(rows.tobytes(), []).append(b)
    return list(together.values())


def subsample(n_rows: int, size: int, seed: Seed, *, ordered: bool = True, structure: Structure = INDEPENDENT) -> Split:
    """Draw ``size`` rows without replacement; return them and the rest, in the table's order or at random.

    Whole labels are drawn, as many as are needed for ``size`` rows, unless they are so large that there would be few.
    Neither part judges the other: to hold rows out, use ``reserve``.
    """
    if structure.labels is not None and draws_labels(structure.labels, size):
        return _drawn_labels(structure.labels, size, seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    chosen, rest = order[:size], order[size:]
    return (np.sort(chosen), np.sort(rest)) if ordered else (chosen, rest)


def reserve(n_rows: int, size: int, seed: Seed, structure: Structure = INDEPENDENT) -> Split:
    """Hold out about ``size`` rows, drawn at random or the last ones; return rows to learn from, and them."""
    if structure.order is not None:
        number = int(np.random.default_rng(seed).integers(2**31))
        return last_part(structure, size / max(n_rows, 1), number)[0]
    if structure.labels is None:
        held_out, rest = subsample(n_rows, size, seed)
        return rest, held_out
    held_out, rest = _drawn_labels(structure.labels, size, seed)
    if len(held_out) > MAX_EXCESS * size or len(rest) == 0:
        return _small_part(structure.labels, size, int(np.random.default_rng(seed).integers(2**31)))
    return rest, held_out


def draws_labels(labels: Integers, size: int) -> bool:
    """Whether ``subsample`` draws whole labels: ``size`` rows are enough for several of any size."""
    return size >= len(labels) or int(np.bincount(labels).max()) * MIN_DRAWN <= size


def _drawn_labels(labels: Integers, size: int, seed: Seed) -> Split:
    """Draw whole labels, as many as are needed for ``size`` rows; return their rows and the others."""
    order = np.random.default_rng(seed).permutation(int(labels.max()) + 1)
    n_drawn = int(np.searchsorted(np.cumsum(np.bincount(labels)[order]), size)) + 1
    return _rows_of((order[n_drawn:], order[:n_drawn]), labels)[::-1]


def fold_numbers(n_rows: int, k: int, seed: Seed, structure: Structure = INDEPENDENT) -> Rows:
    """Assign each row to one of ``k`` folds of nearly equal size: shape (n,), values 0 to ``k - 1``."""
    if structure.labels is not None:
        return fold_numbers(structure.n_labels, k, seed)[structure.labels]
    return np.random.default_rng(seed).permutation(n_rows) % k


def trial_folds(n_rows: int, k: int, seed: Seed, structure: Structure = INDEPENDENT) -> list[Split]:
    """Return splits by ``fold_numbers``, in the table's order; by time, expanding windows."""
    fold = fold_numbers(n_rows, k, seed, structure)
    if structure.order is not None:
        return expanding_windows(structure, k, int(fold[:1].sum()))
    splits = [(np.flatnonzero(fold != j), np.flatnonzero(fold == j)) for j in range(k)]
    return [split for split in splits if all(map(len, split))]


def paper_holdout(n_rows: int, seed: int, structure: Structure = INDEPENDENT) -> Split:
    """Deal a permutation of the rows to ``PAPER_FOLDS`` folds in turn; hold out the first, the paper's fold 0."""
    if structure.order is not None:
        return last_part(structure, 1.0 / PAPER_FOLDS, seed)[0]
    n_units = structure.n_units(n_rows)
    held_out = np.zeros(n_units, dtype=bool)
    held_out[np.random.default_rng(seed).permutation(n_units)[::PAPER_FOLDS]] = True
    return _rows_of((np.flatnonzero(~held_out), np.flatnonzero(held_out)), structure.labels)


def _rows_of(split: Split, labels: Integers | None) -> Split:
    """Turn a split of labels into one of their rows, in the table's order; without labels it is one of rows."""
    if labels is None:
        return split
    held_out = np.zeros(int(labels.max()) + 1, dtype=bool)
    held_out[split[1]] = True
    return np.flatnonzero(~held_out[labels]), np.flatnonzero(held_out[labels])


# by time


def expanding_windows(structure: Structure, k: int, seed: int) -> list[Split]:
    """Return splits by time: of ``k + 1`` windows each but the first is held out from all that is before it.

    Rows of one time are in one window: with few different times there are fewer windows.
    """
    assert structure.order is not None
    window = time_windows(structure.order, k + 1)
    splits = []
    for number in range(1, int(window.max()) + 1):
        past, now = np.flatnonzero(window < number), np.flatnonzero(window == number)
        splits += _without_groups(past, now, structure.labels, seed)
    return _checked(splits, "windows")


def ordered_folds(n_rows: int, k: int, seed: int, structure: Structure) -> list[Split]:
    """Return expanding windows, and before them folds of the first window if all of it is of one time.

    Rows of one time are not each other's future.
    """
    windows = k_folds(n_rows, k, seed, structure)
    first = np.setdiff1d(np.arange(n_rows), np.concatenate([held_out for _, held_out in windows]))
    inside = structure.part(first)
    if inside.order is not None or len(first) < 2 * k:
        return windows
    folds = [(first[train], first[out]) for train, out in k_folds(len(first), k, seed, inside)]
    return [*folds, *windows]


def last_part(structure: Structure, share: float, seed: int) -> list[Split]:
    """Hold out the last ``share`` of the rows by time, at least those of the last time, from all rows before them.

    If labels occur on both sides there may be several splits, each of some labels.
    """
    return _checked(_last_part(structure, share, seed), "last part")


def _last_part(structure: Structure, share: float, seed: int) -> list[Split]:
    assert structure.order is not None
    counts = np.cumsum(np.bincount(structure.order))
    # between the time after which the share is nearest, and the last time
    first = 1 + int(np.argmin(np.abs(counts[:-1] - (1.0 - share) * counts[-1])))
    past, now = np.flatnonzero(structure.order < first), np.flatnonzero(structure.order >= first)
    return _without_groups(past, now, structure.labels, seed)


def time_windows(order: Integers, count: int) -> Rows:
    """Assign rows with ranks ``order`` (n,) of their times to at most ``count`` windows of nearly equal size.

    At least two, if there are two different times.
    """
    sizes = np.bincount(order)
    ends = np.cumsum(sizes)
    window = np.floor((ends - 0.5 * sizes) / ends[-1] * count)
    if window[0] == window[-1]:  # nearly all rows are of one time
        window = (np.arange(len(sizes)) > np.argmin(np.abs(ends[:-1] - 0.5 * ends[-1]))).astype(np.float64)
    return np.asarray(np.unique(window, return_inverse=True)[1]).ravel()[order]


def _without_groups(past: Rows, now: Rows, labels: Integers | None, seed: int) -> list[Split]:
    """Return splits that hold out ``now`` and learn from ``past``, with no label on both sides of one.

    What is of the labels held out is left out of the past. Where that is much of it, the labels are divided into two or
    three parts, one for each split.
    """
    if labels is None:
        return [(past, now)]
    held_out = np.unique(labels[now])
    lost = float(np.mean(np.isin(labels[past], held_out)))
    n_parts = min(len(held_out), max(1, int(np.ceil(lost / MAX_LOSS - 1e-9))))
    dealt = held_out[np.random.default_rng(seed).permutation(len(held_out))]
    splits = []
    for j in range(n_parts):
        some = dealt[j::n_parts]
        splits.append((past[~np.isin(labels[past], some)], now[np.isin(labels[now], some)]))
    return [split for split in splits if len(split[0])]


def _checked(splits: list[Split], what: str) -> list[Split]:
    if not splits:
        raise ValueError(
            f"groups and time leave no {what} to hold out: every earlier row is of a group that is held out. Pass "
            "only one of them, or smaller groups."
        )
    return splits


# splitters of the caller


def cross_validation_splits(
    cv: Any, X: Array, y: Any, seed: int, structure: Structure = INDEPENDENT, name: str = "cv"
) -> tuple[Split, ...]:
    """Return the splits that ``cv`` asks for.

    Parameters
    ----------
    cv : None, int, splitter or iterable of pairs
        ``None`` is ``paper_holdout``, a number that many folds. Anything else is a scikit-learn splitter, or pairs of
        row numbers.
    X : ndarray of shape (n, p)
        Rows.
    y : array-like of shape (n,) or (n, d)
        Responses, for splitters that use them.
    seed : int
        Seed of ``paper_holdout`` and of the folds.
    structure : Structure
        Labels of rows that stay together, which a splitter gets as its groups, and their order.
    name : str
        Name of the argument, for messages.
    """
    n = len(X)
    if cv is None:
        return (paper_holdout(n, seed, structure),)
    if isinstance(cv, (int, np.integer)):
        return tuple(k_folds(n, check_count(name, cv, 2), seed, structure))
    accepted = f"{name} must be a number of folds, a splitter of scikit-learn or pairs of row numbers"
    if isinstance(cv, str):
        raise ValueError(f"{accepted}; got {cv!r}.")
    try:
        pairs = cv.split(X, y, structure.labels) if hasattr(cv, "split") else cv
        splits = tuple((np.arange(n)[train], np.arange(n)[test]) for train, test in pairs)
    except (TypeError, ValueError, IndexError) as error:
        if structure.labels is None and "'groups' parameter should not be None" in str(error):
            raise ValueError(f"{name}={cv!r} needs groups: pass groups= as well.") from None
        raise ValueError(f"{accepted}. ({error})") from None
    if not splits or any(len(part) == 0 for split in splits for part in split):
        raise ValueError(f"{name} must yield at least one split, and rows on both sides of each.")
    if both := sum(len(np.intersect1d(*split)) for split in splits):
        raise ValueError(
            f"{name} learns from rows that it holds out, {both:,} of them: scores would be those of rows that were "
            "seen. Rows to learn from and rows held out must be different ones."
        )
    return splits


def check_splits(splits: Sequence[Split], structure: Structure, name: str) -> None:
    """Raise if the caller's splits divide the caller's groups, or learn from the future."""
    for train, held_out in splits:
        labels, order = structure.labels, structure.order
        if labels is not None and len(both := np.intersect1d(labels[train], labels[held_out])):
            raise ValueError(
                f"{name} divides {len(both)} of the groups that groups= asks to keep whole. Use a splitter for groups, "
                "such as GroupKFold, or a number of folds."
            )
        if order is not None and order[train].max() >= order[held_out].min():
            raise ValueError(
                f"{name} learns from rows that are not earlier, by time=, than those it holds out. Use a number of "
                "folds, or a splitter for time, such as TimeSeriesSplit, on a table sorted by time."
            )


# tables in partitions


def position_uniforms(positions: Integers, key: int) -> Array:
    """Return a number in [0, 1) for each row position (n,), by a hash of it."""
    return (position_bits(positions, key) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def hashed_folds(positions: Integers, k: int, key: int) -> Rows:
    """Assign rows at ``positions`` (n,) to ``k`` folds; a row's fold does not depend on the other rows."""
    return (position_uniforms(positions, key) * k).astype(np.intp)


def hashed_holdout(positions: Integers, share: float, key: int) -> Booleans:
    """Whether each row at ``positions`` (n,) is held out: about a ``share`` of them."""
    return position_uniforms(positions, key) < share
