"""Figure of the toy preconditioning: scales of target and feature by t, and LightGBM's error at fixed t."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.paper_studies.computed.mixture import toy_distribution
from benchmarks.paper_studies.computed.views import VIEWS, View, view_at
from diffgbm._util.types import Array

MEASURES = ("target_min", "target_max", "target_ratio", "feature_ratio", "fit_error", "overlap")


def arms(
    seed: int, rows: int = 20_000, points: int = 41, fit_times: int = 9, fit_rows: int = 6000, rounds: int = 100
) -> dict[str, dict[str, Any]]:
    """Draw the heteroscedastic mixture, look at it through every variant, and fit trees at fixed times.

    Parameters
    ----------
    rows, points : int
        Draws and times of panels (a) and (b).
    fit_times, fit_rows, rounds : int
        Times, training rows and trees of panel (c).

    Returns
    -------
    dict
        By variant: standard deviations over ``t``; ``fit_error``, the root mean square error of the trees against
        the exact conditional expectation over the target's standard deviation; ``overlap``, the largest relative
        difference between this curve and that of the direct VE score.
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=rows)
    distribution = toy_distribution(x)
    y0, z = distribution.draw(rng), rng.standard_normal(rows)
    t, fit_t = np.linspace(0.01, 1.0, points), np.linspace(0.05, 0.95, fit_times)
    test = np.random.default_rng(seed + 1)
    x_test = test.uniform(size=fit_rows)
    y0_test, z_test = toy_distribution(x_test).draw(test), test.standard_normal(fit_rows)
    result: dict[str, dict[str, Any]] = {}
    for name in VIEWS:
        sd = np.array([_scales(view_at(name, time), y0, z) for time in t])
        errors = [
            _fixed_time_error(
                view_at(name, time),
                (x[:fit_rows], y0[:fit_rows], z[:fit_rows]),
                (x_test, y0_test, z_test),
                rounds,
            )
            for time in fit_t
        ]
        result[name] = {
            "target_min": float(sd[:, 0].min()),
            "target_max": float(sd[:, 0].max()),
            "target_ratio": float(sd[:, 0].max() / sd[:, 0].min()),
            "feature_ratio": float(sd[:, 1].max() / sd[:, 1].min()),
            "fit_error": float(np.mean(errors)),
            "t": t.tolist(),
            "target_sd": sd[:, 0].tolist(),
            "feature_sd": sd[:, 1].tolist(),
            "fit_t": fit_t.tolist(),
            "fit_errors": errors,
        }
    base = np.array(result["ve_score"]["fit_errors"])
    for numbers in result.values():
        numbers["overlap"] = float(np.max(np.abs(np.array(numbers["fit_errors"]) / base - 1.0)))
    return result


def _scales(view: View, y0: Array, z: Array) -> tuple[float, float]:
    target = view.a * y0 + view.b * z
    return float(np.std(target)), float(np.std(view.c * (view.path.alpha * y0 + view.path.beta * z)))


def _fixed_time_error(view: View, train: tuple[Array, ...], test: tuple[Array, ...], rounds: int) -> float:
    x, y0, z = train
    state = view.path.alpha * y0 + view.path.beta * z
    params = {"verbosity": -1, "num_threads": 1, "seed": 0, "deterministic": True, "force_col_wise": True}
    target = view.a * y0 + view.b * z
    model = lgb.train(params, lgb.Dataset(np.column_stack([view.c * state, x]), target), rounds)
    x, y0, z = test
    state = view.path.alpha * y0 + view.path.beta * z
    distribution = toy_distribution(x)
    true = view.a * distribution.clean(state, view.path) + view.b * distribution.noise(state, view.path)
    predicted = np.asarray(model.predict(np.column_stack([view.c * state, x])))
    return float(np.sqrt(np.mean((predicted - true) ** 2)) / np.std(target))
