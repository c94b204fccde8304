"""Rows that depend on each other: what is promised and what fresh entities get, and coverage while a series drifts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from benchmarks.structured.models import FAMILY_FREE, OURS, RIVALS, automatic, skipped
from benchmarks.structured.tables import Ends, drifting, entities
from diffgbm import AdaptiveConformal, ConformalDiffGBM, DiffGBM, PredictiveDistribution
from diffgbm._util.types import Array, Booleans

ENTITIES, FRESH = 100, 150
"""Entities to learn from, and fresh ones."""
PAST, WINDOW, WINDOWS = 500, 500, 4
"""Rows to learn from, and windows that follow."""
ANYWHERE: Ends = (None, None)
FOLDS = 5
Measured = Callable[[], dict[str, float]]


def covered(dist: PredictiveDistribution, y: Array) -> Booleans:
    """Whether responses (n,) lie inside central 90% intervals."""
    low, high = dist.interval(0.9).T
    return np.asarray((low <= y) & (y <= high))


def _of(dist: PredictiveDistribution, y: Array, name: str) -> dict[str, float]:
    return {f"{name}_crps": float(dist.crps(y).mean()), f"{name}_coverage": float(covered(dist, y).mean())}


# groups


def group_jobs(seed: int) -> Iterator[tuple[str, Measured]]:
    """Yield model and a function that measures what it promises, and what fresh entities get."""
    for name, model in {
        "DiffGBM": DiffGBM.flow(**OURS, n_bags=FOLDS, seed=seed),
        "AutoDiffGBM": automatic(seed),
    }.items():
        for grouped in (False, True):
            yield _named(name, grouped), partial(_library, model, grouped, seed)
    for name in FAMILY_FREE:
        if skipped(name, "entities"):
            continue
        for grouped in (False, True):
            yield _named(name, grouped), partial(_rival, name, grouped, seed)


def _named(model: str, grouped: bool) -> str:
    return f"{model}, {'with' if grouped else 'without'} groups"


def _library(model: Any, grouped: bool, seed: int) -> dict[str, float]:
    """Out-of-bag scores, and those of fresh entities."""
    X, y, entity = entities(ENTITIES, seed)
    X_new, y_new, _ = entities(FRESH, seed + 1000)
    model.fit(X, y, groups=entity if grouped else None)
    promised = _of(model.oob_distribution_, y[model.oob_rows_], "promised")
    return {**promised, **_of(model.predict_distribution(X_new), y_new, "fresh")}


def _rival(name: str, grouped: bool, seed: int) -> dict[str, float]:
    """Scores by cross-validation of rows or of groups, and those of fresh entities; the model is the same."""
    X, y, entity = entities(ENTITIES, seed)
    X_new, y_new, _ = entities(FRESH, seed + 1000)
    predict = RIVALS[name]
    splitter = GroupKFold(FOLDS) if grouped else KFold(FOLDS, shuffle=True, random_state=seed)
    parts = []
    for train, test in splitter.split(X, y, entity if grouped else None):
        found = _of(predict((X[train], y[train]), X[test], ANYWHERE, seed), y[test], "promised")
        parts.append({key: value * len(test) / len(y) for key, value in found.items()})
    promised = {key: sum(part[key] for part in parts) for key in parts[0]}
    return {**promised, **_of(predict((X, y), X_new, ANYWHERE, seed), y_new, "fresh")}


# time


def time_jobs(seed: int) -> Iterator[tuple[str, Measured]]:
    """Yield model and a function that measures windows after the past that it learned from."""
    X, y = drifting(PAST + WINDOW * WINDOWS, seed)
    past, after = slice(0, PAST), slice(PAST, None)
    time = np.arange(PAST)
    fitted: list[DiffGBM] = []

    def model() -> DiffGBM:
        fit = slice(0, 3 * PAST // 4)  # the last quarter of the past calibrates
        if not fitted:
            fitted.append(DiffGBM.flow(**OURS, seed=seed).fit(X[fit], y[fit], time=time[fit]))
        return fitted[0]

    def own() -> dict[str, float]:
        return _windows(_ends(model().predict_distribution(X[after])), y[after])

    def static() -> dict[str, float]:
        calibration = slice(3 * PAST // 4, PAST)
        conformal = ConformalDiffGBM(model()).calibrate(X[calibration], y[calibration])
        return _windows(conformal.predict_interval(X[after]), y[after])

    def adaptive() -> dict[str, float]:
        online = AdaptiveConformal(model())
        calibration = slice(3 * PAST // 4, PAST)
        online.follow(X[calibration], y[calibration])
        return _windows(online.follow(X[after], y[after]), y[after])

    def rival(name: str) -> dict[str, float]:
        return _windows(_ends(RIVALS[name]((X[past], y[past]), X[after], ANYWHERE, seed)), y[after])

    yield "DiffGBM", own
    yield "DiffGBM, static conformal", static
    yield "DiffGBM, AdaptiveConformal", adaptive
    for name in FAMILY_FREE:
        if not skipped(name, "series"):
            yield name, partial(rival, name)


def _ends(dist: Any) -> Array:
    return np.asarray(dist.interval(0.9))


def _windows(ends: Array, y: Array) -> dict[str, float]:
    """Coverage (randomness aside, 0.9) and mean width of intervals (n, 2) in each window."""
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    parts = inside.reshape(WINDOWS, WINDOW).mean(axis=1)
    return {f"window {k + 1}": float(part) for k, part in enumerate(parts)} | {
        "width": float(np.mean(ends[:, 1] - ends[:, 0]))
    }
