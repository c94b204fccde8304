"""Proposition 2: how much larger the recovered score's error is than the velocity's, near the data endpoint."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.paper_studies.computed.mixture import Mixture, toy_distribution_alone
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import GaussianPath
from diffgbm.diffusion.targets import target_at

MEASURES = (
    "gain_slope",
    "gain_largest",
    "gain_at_0.001",
    "gain_at_0.1",
    "formula_error",
    "velocity_error",
    "score_error_slope",
    "score_error_at_0.001",
    "drift_slope_constant",
    "drift_slope_sqrt",
    "drift_slope_linear",
)
SCHEDULES = {"constant": 0.0, "sqrt": 0.5, "linear": 1.0}
"""Exponents b of eps = t^b."""


def arms(
    seed: int, rows: int = 40_000, rounds: int = 200, points: int = 15, test_rows: int = 4000
) -> dict[str, dict[str, Any]]:
    """Fit the velocity on each path with trees and compare the errors of velocity and recovered score.

    The true velocity and score are the mixture's own, from its density; the times are those at which the paper's
    statement is asymptotic (1e-6 to 1e-4 for the slopes) and those a sampler visits (1e-3 to 0.5 for the curve).
    """
    return {path: _path(path, seed, rows, rounds, points, test_rows) for path in ("linear", "trig", "vp")}


def _path(name: str, seed: int, rows: int, rounds: int, points: int, test_rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    distribution, path = toy_distribution_alone(), GaussianPath(name)
    model = _fit(distribution, path, rows, rounds, rng)
    seen, near = np.geomspace(1e-3, 0.5, points), np.geomspace(1e-6, 1e-4, 9)
    errors = np.array([_errors(model, distribution, path, t, test_rows, rng) for t in (*near, *seen)])
    gain = errors[:, 1] / errors[:, 0]
    point = path.at(np.concatenate([near, seen]))
    formula = np.abs(point.alpha / (point.wronskian * point.beta))
    at = {t: float(np.interp(np.log(t), np.log(seen), gain[len(near) :])) for t in (1e-3, 0.1)}
    drift = {
        f"drift_slope_{schedule}": _slope(near, near ** (2.0 * b) * gain[: len(near)])
        for schedule, b in SCHEDULES.items()
    }
    return {
        "gain_slope": _slope(near, gain[: len(near)]),
        "gain_largest": float(gain.max()),
        "gain_at_0.001": at[1e-3],
        "gain_at_0.1": at[0.1],
        "formula_error": float(np.max(np.abs(gain / formula - 1.0))),
        "velocity_error": float(np.sqrt(np.mean(errors[len(near) :, 0] ** 2))),
        "score_error_slope": _slope(seen[seen <= 0.05], errors[len(near) :, 1][seen <= 0.05]),
        "score_error_at_0.001": float(errors[len(near), 1]),
        **drift,
        "t": seen.tolist(),
        "gain": gain[len(near) :].tolist(),
        "formula": formula[len(near) :].tolist(),
        "score_error": errors[len(near) :, 1].tolist(),
    }


def _fit(distribution: Mixture, path: GaussianPath, rows: int, rounds: int, rng: np.random.Generator) -> lgb.Booster:
    y0, z, t = distribution.times(rows).draw(rng), rng.standard_normal(rows), rng.uniform(1e-5, 1.0, rows)
    point = target_at("velocity", path, t)
    params = {"verbosity": -1, "num_threads": 1, "seed": 0, "deterministic": True, "force_col_wise": True}
    features = np.column_stack([point.path.alpha * y0 + point.path.beta * z, t])
    return lgb.train(params, lgb.Dataset(features, point.of(y0, z)), rounds)


def _errors(
    model: lgb.Booster, distribution: Mixture, path: GaussianPath, t: float, rows: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the root mean square errors of velocity and recovered score at time t."""
    point = target_at("velocity", path, np.full(rows, t))
    y0 = distribution.times(rows).draw(rng)
    y = point.path.alpha * y0 + point.path.beta * rng.standard_normal(rows)
    predicted = np.asarray(model.predict(np.column_stack([y, np.full(rows, t)])))
    true = point.of(distribution.clean(y, point.path), distribution.noise(y, point.path))
    recovered = point.score(y, predicted)
    return _rms(predicted - true), _rms(recovered - distribution.score(y, point.path))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _slope(t: Array, values: Array) -> float:
    return float(np.polyfit(np.log(t), np.log(values), 1)[0])
