"""The paper's protocol: six folds from one master seed, standardisation by the training part, three seed streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.table_files import Table
from diffgbm._util.types import Array, Rows

REPEATS = "independent"
"""How fits of the protocol treat repeated rows. The paper's folds are random over rows, so that test rows repeat
training rows; models that keep repeated rows together would be tuned for a harder task than the one that is scored."""

MASTER_SEED = 0
N_FOLDS = 6
TUNING_FOLD = 0
EVALUATION_FOLDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Seeds:
    """The three independent streams of one run."""

    data: int
    model: int
    sampler: int


def seeds(index: int) -> Seeds:
    """Return the seeds of run ``index``, at the paper's offsets."""
    return Seeds(data=index, model=10_000 + index, sampler=20_000 + index)


def fold_of_rows(n_rows: int, seed: int = MASTER_SEED) -> Rows:
    """Return the fold (0 to 5) of each row: row ``i`` of a permutation is in fold ``i mod 6``."""
    folds = np.empty(n_rows, dtype=np.intp)
    folds[np.random.default_rng(seed).permutation(n_rows)] = np.arange(n_rows) % N_FOLDS
    return folds


@dataclass(frozen=True)
class Split:
    """Row numbers of a training and a test part."""

    train: Rows
    test: Rows


def split(n_rows: int, fold: int, seed: int = MASTER_SEED) -> Split:
    """Hold out one fold and train on the other five."""
    if not 0 <= fold < N_FOLDS:
        raise ValueError(f"fold must be 0 to {N_FOLDS - 1}; got {fold!r}.")
    held_out = fold_of_rows(n_rows, seed) == fold
    return Split(np.flatnonzero(~held_out), np.flatnonzero(held_out))


def cap_test_rows(part: Split, limit: int | None, seed: int = MASTER_SEED) -> Split:
    """Keep ``limit`` test rows, the first of a fixed permutation; all of them if ``limit`` is ``None``."""
    if limit is None or limit >= len(part.test):
        return part
    return Split(part.train, part.test[np.random.default_rng(seed).permutation(len(part.test))[:limit]])


@dataclass(frozen=True)
class Standardiser:
    """Shift and scale of each column; constant columns keep their scale."""

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, values: Array) -> Standardiser:
        """Learn from the training part, (n,) or (n, p)."""
        scale = np.asarray(values.std(axis=0))
        return cls(np.asarray(values.mean(axis=0)), np.where(scale > 0.0, scale, 1.0))

    def apply(self, values: Array) -> Array:
        """Standardise."""
        return (values - self.mean) / self.scale

    def restore(self, values: Array) -> Array:
        """Go back to the original units."""
        return values * self.scale + self.mean


@dataclass(frozen=True)
class Fold:
    """One standardised fold, with the inverse transform of the response.

    Attributes
    ----------
    X_train, y_train, X_test : ndarray
        Standardised by the training part.
    y_test : ndarray
        In original units, in which scores are computed.
    response : Standardiser
        Transforms samples back to original units.
    """

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    response: Standardiser


def prepare(table: Table, fold: int, test_rows: int | None = None) -> Fold:
    """Split a table at a fold and standardise it."""
    part = cap_test_rows(split(len(table.y), fold), test_rows)
    features, response = Standardiser.fit(table.X[part.train]), Standardiser.fit(table.y[part.train])
    return Fold(
        features.apply(table.X[part.train]),
        response.apply(table.y[part.train]),
        features.apply(table.X[part.test]),
        table.y[part.test],
        response,
    )
