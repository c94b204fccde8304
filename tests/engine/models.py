"""Small boosters and step tables for the tests of the engine."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np

from diffgbm.engine import StepTable

P = 4
CATEGORY, HOLED, ZEROS = 1, 2, 3
"""Columns of x: 0 is plain, 1 holds categories, 2 missing values, 3 many zeros."""

TINY = [0.0, -0.0, 5e-324, 1e-36, -1e-36, 1e-35, -1e-35, np.float32(1e-35), -np.float32(1e-35)]
"""Numbers that LightGBM reads as zero, or that are next to them."""

AWKWARD = np.array(
    [np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0, -0.5, -1.0, -7.0, 3.7, 40.0, 1e10, -1e10, *TINY], dtype=np.float64
)


def rows(n, seed, awkward=0.0, holes=0.2):
    """Rows of x (n, P); a fraction of all entries is replaced by awkward numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P))
    X[:, CATEGORY] = rng.integers(0, 40, n)
    X[rng.random(n) < holes, HOLED] = np.nan
    X[rng.random(n) < 0.5, ZEROS] = 0.0
    return np.where(rng.random(X.shape) < awkward, rng.choice(AWKWARD, X.shape), X)


def booster(d, q, seed, *, n=400, trees=12, leaves=12, categorical=True, holes=0.2, coordinate=0, **params):
    """A booster on features [y (d), x (P), columns (q)] that uses all of them."""
    rng = np.random.default_rng(seed)
    X = rows(n, seed, holes=holes)
    y, columns = rng.normal(size=(n, d)), rng.normal(size=(n, q))
    signal = X[:, 0] + (X[:, CATEGORY] % 3 == 1) + 2 * np.isnan(X[:, HOLED]) + (X[:, ZEROS] == 0)
    signal = signal * (1 + y.sum(axis=1)) + np.sin(3 * y).sum(axis=1) * (1 + columns.sum(axis=1))
    if d:
        signal = signal + 2 * np.abs(y[:, coordinate])
    settings = {
        "verbose": -1,
        "num_threads": 1,
        "num_leaves": leaves,
        "min_data_in_leaf": 3,
        "min_data_per_group": 3,
        "cat_smooth": 1.0,
        "max_cat_to_onehot": 2,
        "learning_rate": 0.3,
        "seed": seed,
        **params,
    }
    data = lgb.Dataset(
        np.hstack([y, X, columns]), signal, categorical_feature=[d + CATEGORY] if categorical else "auto"
    )
    return lgb.train(settings, data, num_boost_round=trees)


def group(d, q, seed, **params):
    """One booster for each of d responses."""
    return [booster(d, q, seed + j, coordinate=j, **params) for j in range(d)]


def step_table(q, steps=5, noise=0.3, corrector=0.0):
    """Steps with varying coefficients; the known columns fall, and (the second) rise."""
    t = np.linspace(1.0, -1.0, steps + 1)
    columns = np.column_stack([t, -(t**3)])[:, :q]
    return StepTable(
        scale=1.0 + 0.3 * t**2,
        linear=-0.3 - 0.1 * t,
        gain=0.4 + 0.2 * t,
        columns=columns,
        size=np.full(steps, 0.3),
        noise=np.full(steps, noise),
        corrector=np.full(steps, corrector),
        start=1.1,
    )


def look(columns):
    """One step whose result is exactly ``y + F(y, x, columns)``."""
    return StepTable(
        scale=np.ones(2),
        linear=np.zeros(2),
        gain=np.ones(2),
        columns=np.vstack([columns, columns]),
        size=np.ones(1),
        noise=np.zeros(1),
        corrector=np.zeros(1),
        start=1.0,
    )


def size(boosters):
    """The largest sum of leaves that a prediction can be made of: the scale of its rounding errors."""
    from diffgbm.engine import Forest

    forests = [Forest.from_booster(b) for b in boosters]
    return max(
        sum(np.abs(f.value[a:b]).max() for a, b in zip(f.tree_leaves[:-1], f.tree_leaves[1:], strict=True))
        for f in forests
    )
