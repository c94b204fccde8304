"""Responses with limits, atoms and counts: scores of each model, and ways to confine a model without limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.structured.models import MODELS, ours, skipped
from benchmarks.structured.tables import Ends, Table, tables
from diffgbm import PredictiveDistribution
from diffgbm._util.types import Array
from diffgbm.distributions.support import Support
from diffgbm.metrics.diagnostics import inside_central

TEST_ROWS = 1000
Scores = dict[str, float]
Measured = Callable[[], Scores]


def jobs(rows: int, seed: int, models: Sequence[str]) -> Iterator[tuple[str, str, Measured]]:
    """Yield table, model and a function that measures, for all tables of a seed."""
    for name, (X, y, ends) in tables(rows + TEST_ROWS, seed).items():
        train, X_test, y_test = (X[:rows], y[:rows]), X[rows:], y[rows:]
        for model in models:
            if not skipped(model, name):
                predict = partial(MODELS[model], train, X_test, ends, seed)
                yield name, model, partial(_scored, predict, y_test, ends)
        if len(np.unique(train[1])) == len(train[1]):
            for way, confine in ways(train, X_test, ends, seed).items():
                yield name, f"confined: {way}", partial(_scored, confine, y_test, ends)


def _scored(predict: Callable[[], PredictiveDistribution], y: Array, ends: Ends) -> Scores:
    return scores(predict(), y, ends)


def scores(dist: PredictiveDistribution, y: Array, ends: Ends) -> dict[str, float]:
    """Mean CRPS, coverage of 90% intervals (randomised at atoms), and share of rows with a prediction outside.

    Predictions are the mean and the ends of the 90% interval. Boosted quantiles come close to an atom and do not reach
    it: outside is what is beyond a limit by more than a thousandth of a standard deviation of the response.
    """
    low, high = -np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1]
    predicted = np.column_stack([dist.quantile([0.05, 0.95]), dist.mean()])
    close = 0.001 * float(np.std(y))
    outside = (predicted < low - close) | (predicted > high + close)
    covered = inside_central(dist, y, np.array([0.9])).mean()
    return {
        "crps": float(dist.crps(y).mean()),
        "coverage": float(covered),
        "outside": float(outside.any(axis=1).mean()),
    }


def ways(train: Table, X: Array, ends: Ends, seed: int) -> dict[str, Callable[[], PredictiveDistribution]]:
    """Return ways to confine the distributions of one model without limits, and a model of the transformed response."""
    low, high = -np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1]
    support = Support(low, high)
    fitted: list[PredictiveDistribution] = []

    def free() -> PredictiveDistribution:
        if not fitted:
            fitted.append(ours(False)(train, X, ends, seed))
        return fitted[0]

    def moved(change: Callable[[Array], Array]) -> Callable[[], PredictiveDistribution]:
        return lambda: PredictiveDistribution.from_points(np.clip(change(free().values), low, high), support=support)

    def reflected(values: Array) -> Array:
        values = np.where(values < low, 2.0 * low - values, values)
        return np.where(values > high, 2.0 * high - values, values)

    def truncated(values: Array) -> Array:
        below, above = free().cdf(low), free().cdf(high)
        return free().quantile(np.clip(below[:, None] + free().levels * (above - below)[:, None], 0.0, 1.0))

    def transformed() -> PredictiveDistribution:
        forth: Callable[[Array], Array] = np.log if np.isinf(high) else lambda v: np.log(v / (1.0 - v))
        back: Callable[[Array], Array] = np.exp if np.isinf(high) else lambda v: 1.0 / (1.0 + np.exp(-v))
        inner = np.clip(train[1], 1e-12, None if np.isinf(high) else 1.0 - 1e-12)
        found = ours(False)((train[0], forth(inner)), X, ends, seed)
        return PredictiveDistribution.from_points(back(found.values), support=support)

    return {
        "none": lambda: PredictiveDistribution.from_points(free().values),
        "clip": moved(lambda values: values),
        "reflect": moved(reflected),
        "truncate": moved(truncated),
        "move inside": moved(support.confined),
        "log or logit": transformed,
    }
