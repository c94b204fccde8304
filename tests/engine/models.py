"""Small boosters and step tables for the tests of the engine."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np

from diffgbm.engine import Draws, Forest, StepTable, make_engine

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
    forests = [Forest.from_booster(b) for b in boosters]
    return max(
        sum(np.abs(f.value[a:b]).max() for a, b in zip(f.tree_leaves[:-1], f.tree_leaves[1:], strict=True))
        for f in forests
    )


KINDS = {
    "plain": {},
    "no holes in training": {"holes": 0.0},
    "zero as missing": {"zero_as_missing": True},
    "no missing": {"use_missing": False},
    "numbers only": {"categorical": False},
    "one-hot categories": {"max_cat_to_onehot": 100},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "random forest": {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1},
    "goss": {"data_sample_strategy": "goss"},
    "monotone": {"categorical": False, "monotone_constraints": [1] + [0] * (P + 1)},
    "interactions": {"interaction_constraints": [[0, 1, 2], [0, 3, 4, 5]]},
    "one leaf": {"min_data_in_leaf": 1000},
    "huber": {"objective": "huber"},
    "quantile": {"objective": "quantile", "alpha": 0.8},
    "extra trees": {"extra_trees": True},
    "255 bins": {"max_bin": 255, "n": 3000, "leaves": 63, "min_data_in_bin": 1},
    "1023 bins": {"max_bin": 1023, "n": 3000, "leaves": 63, "min_data_in_bin": 1},
    "4095 bins": {"max_bin": 4095, "n": 6000, "leaves": 127, "min_data_in_bin": 1},
}
"""Parameters of LightGBM for every kind of split and tree."""


def check_tables(boosters, q, seed, awkward, n=70):
    """The collapsed forest at chosen states, edges of its bins among them, against predict."""
    d = len(boosters)
    rng = np.random.default_rng(seed)
    forest = Forest.from_booster(boosters[0])
    edges = forest.threshold[(forest.feature < d) & np.isfinite(forest.threshold)]
    points = rng.normal(size=(40, d)) * 2
    special = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), TINY, [1e9, -1e9]])
    points[rng.random(points.shape) < 0.6] = 0.0
    points = np.where(points == 0.0, rng.choice(special, points.shape), points)
    X, columns = rows(n, seed + 1, awkward), rng.normal(size=q)
    got = make_engine([boosters], "collapse").prepare(look(columns))(X, Draws(40, 0, start=points))
    for j, one in enumerate(boosters):
        features = np.concatenate(
            [
                np.broadcast_to(points, (n, 40, d)),
                np.broadcast_to(X[:, None], (n, 40, P)),
                np.broadcast_to(columns, (n, 40, q)),
            ],
            axis=2,
        )
        predicted = one.predict(features.reshape(n * 40, -1)).reshape(n, 40)
        # the step adds y, so its rounding counts too
        scale = 1 + size(boosters) + np.abs(points[:, j])
        assert np.all(np.abs(got[..., j] - (points[:, j] + predicted)) <= 1e-12 * scale)
