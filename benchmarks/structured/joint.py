"""Atoms of two responses, of known probability: by classifiers, and by what the joint model puts beyond a limit.

``python -m benchmarks.structured.joint`` prints the table of ``docs/distributions.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from diffgbm import DiffGBM
from diffgbm._util.types import Array

Table = tuple[Array, Array, Array]
"""Rows (n, 4), responses (n, 2), and the probability of each response's first atom (n, 2)."""
SUPPORT = [(0, None), (None, 1)]
"""Limits of the responses of both tables."""
ATOMS = np.array([0.0, 1.0])
"""The lower limit of the first response and the upper one of the second."""


def claims(n: int, rng: np.random.Generator) -> Table:
    """A claim that is zero with a probability of its own, and a level that is capped; large claims have high levels."""
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    e, other, size = rng.normal(size=(3, n))
    zero = expit(2.0 * X[:, 0])
    claim = np.where(ndtr(e) < zero, 0.0, np.exp(0.5 * X[:, 1] + 0.5 * size))
    level = 0.5 + 0.4 * X[:, 2] + 0.3 * (0.7 * e + np.sqrt(0.51) * other)
    full = ndtr((0.4 * X[:, 2] - 0.5) / 0.3)
    return X, np.column_stack([claim, np.minimum(level, 1.0)]), np.column_stack([zero, full])


def censored(n: int, rng: np.random.Generator) -> Table:
    """Two correlated normal responses, of which one is cut off at zero and the other at one."""
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    e, other = rng.normal(size=(2, n))
    y = np.column_stack([X[:, 0] + 0.7 * e, X[:, 1] - 0.7 * (0.7 * e + np.sqrt(0.51) * other)])
    truth = ndtr(np.column_stack([-X[:, 0], X[:, 1] - 1.0]) / 0.7)
    return X, np.column_stack([np.maximum(y[:, 0], 0.0), np.minimum(y[:, 1], 1.0)]), truth


TABLES: dict[str, Callable[[int, np.random.Generator], Table]] = {"claims": claims, "censored": censored}


def scores(
    table: str, n_train: int = 1000, n_test: int = 1500, seed: int = 0, **options: Any
) -> dict[str, list[float]]:
    """Return error of both probabilities, error of that of both atoms together, CRPS of both, and energy score."""
    rng = np.random.default_rng(seed)
    X, y, _ = TABLES[table](n_train, rng)
    X_test, y_test, truth = TABLES[table](n_test, rng)
    fitted = DiffGBM.flow(seed=seed, n_jobs=1, support=SUPPORT, **options).fit(X, y)
    together = np.all(y_test == ATOMS, axis=1).mean()
    found = {}
    for name, model in {
        "beyond the limit": replace(fitted.model_, joint_atoms=()),
        "classifiers": fitted.model_,
    }.items():
        dist: Any = model.distribution(X_test, model.recipe.sampler, 256)
        both = np.all(dist.points == ATOMS, axis=2).mean()
        errors = np.abs(dist.pmf(ATOMS) - truth).mean(axis=0)
        found[name] = [*errors, both - together, *dist.crps(y_test).mean(axis=0), dist.energy_score(y_test).mean()]
    return found


def main(seeds: Sequence[int] = (0, 1)) -> None:
    """Print the mean over seeds of each table."""
    print("| table | atoms | error of P(Y1 = 0) | of P(Y2 = 1) | of both together | CRPS 1 | CRPS 2 | energy score |")
    print("|---|---|---|---|---|---|---|---|")
    for table in TABLES:
        runs = [scores(table, seed=seed) for seed in seeds]
        for name in runs[0]:
            mean = np.mean([run[name] for run in runs], axis=0)
            print(f"| {table} | {name} | {' | '.join(f'{value:.3f}' for value in mean)} |", flush=True)


if __name__ == "__main__":
    main()
