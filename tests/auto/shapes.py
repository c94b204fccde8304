"""Correct distributions on few values."""

import numpy as np

N = 20_000


def correct_distributions(n=N, m=400, seed=0):
    """Points (n, m) near four values, and observations drawn from these distributions."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet([0.5, 1.0, 1.0, 0.5], size=n)
    y = (rng.uniform(size=n)[:, None] > np.cumsum(chance, axis=1)).sum(axis=1).astype(float)
    level = (np.arange(m) + 0.5) / m
    value = (level[None, :, None] > np.cumsum(chance, axis=1)[:, None, :]).sum(axis=2)
    return np.sort(value + 0.03 * rng.normal(size=(n, m)), axis=1), y
