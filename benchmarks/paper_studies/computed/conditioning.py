"""Table of conditioning: scales of target and feature, and the score's amplification, from the code's (a, b, c)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.paper_studies.computed.views import VIEWS, view_at

MEASURES = (
    "target_min",
    "target_max",
    "target_ratio",
    "feature_min",
    "feature_max",
    "feature_ratio",
    "gain_max",
    "same_as_noise",
)


def arms(seed: int, t_low: float = 0.01, points: int = 400) -> dict[str, dict[str, Any]]:
    """Evaluate every variant for unit-variance data at times from ``t_low`` to 1; nothing is random.

    ``gain_max`` stops at t = 0.9, beyond which alpha vanishes on some paths and the score is known without a model.
    ``same_as_noise`` is the largest difference between the score that the variant and noise prediction derive from
    the same state and noise.
    """
    t = np.linspace(t_low, 1.0, points)
    result = {}
    for name in VIEWS:
        view = view_at(name, t)
        target, feature = view.target_sd, view.feature_sd
        result[name] = {
            "target_min": float(target.min()),
            "target_max": float(target.max()),
            "target_ratio": float(target.max() / target.min()),
            "feature_min": float(feature.min()),
            "feature_max": float(feature.max()),
            "feature_ratio": float(feature.max() / feature.min()),
            "gain_max": float(view.score_gain[t <= 0.9].max()),
            "same_as_noise": _score_difference(name, t[t <= 0.9]),
        }
    return result


def _score_difference(name: str, t: np.ndarray) -> float:
    """Compare ``-z / beta`` with the score derived from the target, for states on a grid; relative."""
    y0, z = np.meshgrid(np.linspace(-2.0, 2.0, 5), np.linspace(-2.0, 2.0, 4))
    view = view_at(name, t[:, None])
    y0, z = y0.reshape(1, -1), z.reshape(1, -1)
    state, target = view.path.alpha * y0 + view.path.beta * z, view.a * y0 + view.b * z
    determinant = view.path.beta * (view.a * view.path.beta - view.b * view.path.alpha)
    derived = (view.path.alpha * target - view.a * state) / determinant
    return float(np.max(np.abs(derived * view.path.beta + z)))
