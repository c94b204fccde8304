"""Shapes with atoms of positive width, and correct distributions on few values."""

import numpy as np

from diffgbm.auto.atoms import ResponseShape

N = 20_000


def wide_atoms(values):
    """A shape with these atoms, of positive width."""
    return ResponseShape(np.sort(np.array(values, dtype=float))).with_atom_width()


def uniforms(n, seed=0):
    """Jitter of ``n`` rows."""
    return np.random.default_rng(seed).uniform(size=n)


def correct_distributions(n=N, m=400, seed=0):
    """Points (n, m) near four values, and observations drawn from these distributions."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet([0.5, 1.0, 1.0, 0.5], size=n)
    y = (rng.uniform(size=n)[:, None] > np.cumsum(chance, axis=1)).sum(axis=1).astype(float)
    level = (np.arange(m) + 0.5) / m
    value = (level[None, :, None] > np.cumsum(chance, axis=1)[:, None, :]).sum(axis=2)
    return np.sort(value + 0.03 * rng.normal(size=(n, m)), axis=1), y
