"""Quadrature points of the standard normal distribution."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from diffgbm._util.types import Array


@lru_cache(maxsize=64)
def normal_points(n: int, d: int) -> Array:
    r"""Return ``n`` points in ``d`` dimensions whose averages are close to normal expectations.

    One dimension: the midpoints :math:`\Phi^{-1}((i + \tfrac12)/n)`. Several: a Sobol sequence with a fixed
    scrambling. Either way the same points for the same ``(n, d)``, of which the last are kept: do not change them.
    """
    if d == 1:
        return np.asarray(ndtri((np.arange(n) + 0.5) / n))[:, None]
    uniform = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(0)).random_base2(int(np.ceil(np.log2(n))))
    return np.asarray(ndtri(np.clip(uniform[:n], 1e-12, 1.0 - 1e-12)))
