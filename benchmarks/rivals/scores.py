r"""Scores of 99 quantiles, the same for all: CRPS, coverage and interval score.

The CRPS is :math:`2 \int_0^1 \rho_p(y - Q(p))\,dp` with the pinball loss :math:`\rho_p`, averaged over the levels.

References
----------
Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of the
American Statistical Association 102, 359-378.
"""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array

LEVELS = np.round(np.arange(1, 100) / 100.0, 2)
"""Levels of the quantiles."""


def scores(quantiles: Array, y: Array) -> dict[str, float]:
    """Score sorted quantiles (n, 99) of observations (n,)."""
    if quantiles.shape != (len(y), len(LEVELS)) or not np.isfinite(quantiles).all():
        raise ValueError(f"quantiles of shape {quantiles.shape}, all finite: {np.isfinite(quantiles).all()}")
    error = y[:, None] - quantiles
    pinball = np.maximum(LEVELS * error, (LEVELS - 1.0) * error)
    inside = {level: _interval(quantiles, level) for level in (0.5, 0.9)}
    low, high = inside[0.9]
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return {
        "crps": float(2.0 * pinball.mean()),
        **{f"coverage_{100 * p:.0f}": float(np.mean((a <= y) & (y <= b))) for p, (a, b) in inside.items()},
        "interval_score_90": float(np.mean(high - low + 2.0 / 0.1 * outside)),
        "width_90": float(np.mean(high - low)),
    }


def _interval(quantiles: Array, coverage: float) -> tuple[Array, Array]:
    """Ends (n,) of central intervals."""
    ends = [int(np.argmin(np.abs(LEVELS - level))) for level in ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0)]
    return quantiles[:, ends[0]], quantiles[:, ends[1]]
