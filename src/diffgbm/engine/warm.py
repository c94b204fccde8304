"""Compile everything before it is needed."""

from __future__ import annotations

from functools import cache

import lightgbm as lgb
import numpy as np

from diffgbm.engine.factory import make_engine
from diffgbm.engine.random import normals, row_uniforms
from diffgbm.engine.steps import Draws, StepTable
from diffgbm.engine.tree_sum import TreeSum


def warmup(joint: bool = True) -> None:
    """Compile all kernels: 10 to 20 seconds the first time on a machine, little once the machine code is cached.

    Parameters
    ----------
    joint : bool
        Whether to compile those for several responses as well, which is 40% of the work.
    """
    _compile(1)
    if joint:
        _compile(2)
        normals(0, [0], [0], 0, 1)


@cache
def _compile(d: int) -> None:
    """Integrate a small forest of ``d`` responses."""
    steps = StepTable(
        scale=np.ones(2),
        linear=np.zeros(2),
        gain=np.ones(2),
        columns=np.array([[1.0], [0.0]]),
        size=np.ones(1),
        noise=np.ones(1),
        corrector=np.full(1, 0.5),
        start=1.0,
    )
    generator = np.random.default_rng(0)
    features = generator.normal(size=(60, d + 2))
    boosters = [
        lgb.train(
            {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1, "num_leaves": 8},
            lgb.Dataset(features, features.sum(axis=1)),
            num_boost_round=2,
        )
        for _ in range(d)
    ]
    integrate = make_engine([boosters], "collapse").prepare(steps)
    integrate(features[:2, d:-1], Draws(2, 0))
    if d == 1:
        integrate(features[:2, d:-1], Draws(2, 0, start=features[:2, :1], shared=True, low_discrepancy=True))
    total = TreeSum(boosters)
    total(features)
    total(features[:1])
    row_uniforms(features)
