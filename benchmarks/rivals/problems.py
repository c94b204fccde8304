"""The tables of the comparison: ten data sets on two folds, and five distributions with known truth."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from benchmarks.datasets import DATA_SETS, data_directory, load
from benchmarks.protocol import MASTER_SEED, Split, cap_test_rows, seeds, split
from benchmarks.synthetic import DISTRIBUTIONS
from diffgbm._util.types import Array

TABLES = (
    *("yacht", "diabetes", "energy", "concrete", "wine"),
    *("kin8nm", "power_plant", "naval", "california_housing", "protein"),
)
"""Data sets, the smallest first."""
KNOWN = ("homoscedastic", "heteroscedastic_nonlinear", "student_t", "skewed", "bimodal")
"""Distributions with known truth."""
FOLDS = (1, 2)
TRAINING_ROWS, TEST_ROWS = 8000, 2000
"""Rows to learn from, and rows that are scored, at most."""
KNOWN_ROWS = 2000
"""Rows to learn from of a known distribution."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One table at one fold.

    Attributes
    ----------
    X_train, y_train, X_test, y_test : ndarray
        In original units.
    oracle : float or None
        Mean CRPS of the true distributions of the test rows, where they are known.
    """

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    oracle: float | None = None


def problem(name: str, fold: int, args: argparse.Namespace) -> Problem:
    """Return a table at a fold; ``args`` has ``data_dir``."""
    if name in DISTRIBUTIONS:
        return known_problem(name, fold)
    table = load(DATA_SETS[name], data_directory(args.data_dir))
    part = limited(split(len(table.y), fold))
    return Problem(table.X[part.train], table.y[part.train], table.X[part.test], table.y[part.test])


def known_problem(name: str, fold: int) -> Problem:
    """Draw a table from a known distribution; the fold is the seed."""
    distribution, rng = DISTRIBUTIONS[name], np.random.default_rng((seeds(fold).data, sum(map(ord, name))))
    train, test = (distribution.draw(n, rng) for n in (KNOWN_ROWS, TEST_ROWS))
    oracle = float(np.mean(distribution.score(test.X, test.y)))
    return Problem(train.X, train.y, test.X, test.y, oracle)


def limited(part: Split, training: int = TRAINING_ROWS, test: int = TEST_ROWS) -> Split:
    """Keep at most so many rows of a split, the first of a fixed permutation."""
    part = cap_test_rows(part, test)
    if len(part.train) <= training:
        return part
    kept = np.random.default_rng(MASTER_SEED).permutation(len(part.train))[:training]
    return Split(part.train[np.sort(kept)], part.test)
