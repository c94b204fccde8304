"""Answers to questions about rows, as values of JSON: no NaN and no infinity, which are null."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.serving.questions import Event, Question


def answer(model: DistributionalRegressor, X: Any, question: Question) -> list[dict[str, Any]]:
    """Answer a question about each row of ``X``.

    Parameters
    ----------
    model : DistributionalRegressor
        The model.
    X : frame, array or EncodedTable of n rows
        The rows.
    question : Question
        What is asked.

    Returns
    -------
    list of n dict
        ``mean``, ``interval``, ``quantiles``, ``probability`` and ``samples``, as far as they were asked for. With
        several responses, a dict with such an answer for each.
    """
    names = model.response_names()
    n, d = len(X), len(names)
    rows: list[list[dict[str, Any]]] = [[{} for _ in names] for _ in range(n)]
    _predicted(model, X, question, rows)
    if question.samples:
        drawn = model.sample(X, question.samples, seed=question.seed).reshape(question.samples, n, d)
        for i, j, values in _cells(np.moveaxis(drawn, 0, -1)):
            rows[i][j]["samples"] = values
    if model.fitted_models()[0].response.is_1d:
        return [row[0] for row in rows]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _predicted(model: DistributionalRegressor, X: Any, question: Question, rows: list[list[dict[str, Any]]]) -> None:
    """Add to the answers what the predictive distributions say."""
    if not (question.mean or question.coverages or question.levels or question.events):
        return
    n, d = len(rows), len(rows[0])
    distribution = model.predict_distribution(X)
    marginals = distribution.marginals()
    if question.mean:
        for i, j, value in _cells(distribution.mean().reshape(n, d)):
            rows[i][j]["mean"] = value
    if question.coverages:
        # one at a time: AdaptiveConformal adapts that of its own coverage, also beside others
        ends = [model.interval_of(distribution, X, coverage).reshape(n, d, 2) for coverage in question.coverages]
        for i, j, values in _cells(np.stack(ends, axis=2)):
            pairs = zip(question.coverages, values, strict=True)
            rows[i][j]["interval"] = [{"coverage": c, "lower": low, "upper": high} for c, (low, high) in pairs]
    if question.levels:
        values = np.stack([marginal.quantile(list(question.levels)) for marginal in marginals], axis=1)
        for i, j, found in _cells(values):
            pairs = zip(question.levels, found, strict=True)
            rows[i][j]["quantiles"] = [{"level": level, "value": value} for level, value in pairs]
    if question.events:
        values = np.stack(
            [np.stack([probability(one, event) for event in question.events], axis=-1) for one in marginals], axis=1
        )
        for i, j, found in _cells(values):
            shares = zip(question.events, found, strict=True)
            rows[i][j]["probability"] = [{**event.label, "probability": share} for event, share in shares]


def probability(distribution: Any, event: Event) -> Array:
    r"""Return :math:`P(low < Y \le high)` of each row (n,)."""
    if math.isinf(event.high):
        return np.asarray(distribution.sf(event.low))
    if math.isinf(event.low):
        return np.asarray(distribution.cdf(event.high))
    return np.asarray(distribution.prob_between(event.low, event.high))


def plain(values: Array) -> Any:
    """Return an array as nested lists; numbers that are not finite are ``None``."""
    if np.isfinite(values).all():
        return values.tolist()
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    return found.tolist()


def _cells(values: Array) -> Any:
    """Yield row, response and value of an array (n, d, ...)."""
    for i, row in enumerate(plain(values)):
        for j, value in enumerate(row):
            yield i, j, value
