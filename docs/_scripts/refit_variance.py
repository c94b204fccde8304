"""How well predict_uncertainty knows the variance that a predicted mean has over fresh training tables.

Run ``python docs/_scripts/refit_variance.py``; it takes two minutes on one core. ``docs/uncertainty.md``
has the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm import DiffGBM


def mean_of(X: np.ndarray) -> np.ndarray:
    """Return the true means of rows (n, 4)."""
    return np.asarray(np.sin(6.0 * X[:, 0]) + 2.0 * X[:, 1])


def fresh_table(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a training table."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    return X, mean_of(X) + (0.2 + 0.5 * X[:, 2]) * rng.standard_normal(n)


def rows_to_predict() -> np.ndarray:
    """Return 100 rows inside the training range and 50 outside of it."""
    rng = np.random.default_rng(99)
    X = rng.uniform(size=(150, 4))
    X[100:, 0] = 1.0 + rng.uniform(0.0, 0.5, 50)
    return X


def measure(n: int, tables: int, **arguments: Any) -> None:
    """Fit models to fresh tables; print the variance of their means and what predict_uncertainty says."""
    at, means, said = rows_to_predict(), [], []
    for seed in range(tables):
        model = DiffGBM.flow(**{"n_repeats": 8, "n_estimators": 150, "n_jobs": 1, "seed": seed, **arguments})
        model.fit(*fresh_table(n, seed))
        found = model.predict_uncertainty(at)
        means.append(model.predict(at))
        said.append((found.epistemic, found.mean_error**2, found.aleatoric))
    variance, bias = np.var(means, axis=0, ddof=1), (np.mean(means, axis=0) - mean_of(at)) ** 2
    epistemic, error, aleatoric = np.mean(said, axis=0)
    for name, part in (("inside", slice(0, 100)), ("outside", slice(100, 150))):
        numbers = {"over tables": variance, "epistemic": epistemic, "mean_error^2": error, "bias^2": bias}
        line = ", ".join(f"{key} {values[part].mean():.4f}" for key, values in numbers.items())
        print(f"{n} rows, {arguments}, {name}: {line}, aleatoric {aleatoric[part].mean():.3f}", flush=True)


if __name__ == "__main__":
    measure(500, 10, n_bags=5)
    measure(500, 10, n_bags=10)
    measure(2000, 6, n_bags=5)
    measure(500, 10, n_bags=5, residualize="off", n_estimators=400)
