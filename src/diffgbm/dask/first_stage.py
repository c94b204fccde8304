"""Cross-fitted means and scales on a cluster: the boosters of a fold are trained by all workers together.

As for a table in memory, with two differences. Rows are dealt out to folds by a hash of their position. Quantiles of
the residuals are those of a sample where there are more than ``SAMPLE`` of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.dask.boosting import CrossFit, Folds, cross_fit, sampled_part, sampled_rows
from diffgbm.dask.reading import Part
from diffgbm.dask.worker_group import Future, WorkerGroup
from diffgbm.data.moments import Moments, merged
from diffgbm.engine.stored import StoredBooster
from diffgbm.first_stage import FirstStageValues, FittedFirstStage, Plan
from diffgbm.first_stage.assembly import LEAST_SHRINK
from diffgbm.first_stage.lightgbm_mean import BoosterAverage, LightGBMMean, _lightgbm_params

SAMPLE = 1_000_000
"""Residuals of which quantiles are taken."""
BIN_ROWS = 200_000
"""Rows of which the residualizer's bins are made, LightGBM's own number."""


@dataclass(frozen=True)
class Stage:
    """A cross-fitted model: its predictor, and for each partition its out-of-fold predictions (n, d)."""

    predictor: BoosterAverage
    out_of_fold: list[Future]
    gained: Array


@dataclass(frozen=True)
class Spread:
    """Mean, winsorised standard deviation and variance of columns, each (d,)."""

    mean: Array
    std: Array
    variance: Array


@dataclass(frozen=True)
class Table:
    """Partitions on their workers, and what all of them share.

    Attributes
    ----------
    crew : Crew
        Who holds them.
    parts : list of Future
        Of ``Part``.
    rows : list of int
        Rows of each.
    categorical : list of int
        Categorical columns.
    seed : SeedSequence
        Of folds and samples.
    """

    worker_group: WorkerGroup
    parts: list[Future]
    rows: list[int]
    categorical: list[int]
    seed: np.random.SeedSequence

    def shares(self, count: int, copies: int = 1) -> list[int]:
        """How many of ``count`` rows each partition contributes to a sample, if there are ``copies`` of each row."""
        count = min(count, copies * sum(self.rows))
        return [-(-count * n // sum(self.rows)) for n in self.rows]


def check_plan(plan: Plan, owner: str) -> None:
    """Refuse guides that are not trained by LightGBM."""
    stages = [stage for stage in (plan.subtracted, plan.scaled, *plan.given) if stage is not None]
    if any(not isinstance(stage, LightGBMMean) for stage in stages):
        raise ValueError(
            f"{owner} fits residualize='off', 'mean' or 'mean_scale' and first_stage_features=None or 'mean' to a "
            "table in several partitions; other first-stage models need it in memory. Put the rows into one "
            "partition, or use DiffGBM."
        )
    if any(isinstance(stage, LightGBMMean) and stage.params.get("early_stopping_rounds") for stage in stages):
        raise ValueError(
            f"extra_residualizer_params: {owner} fits n_estimators rounds; leave early_stopping_rounds out."
        )


def fit_first_stages(
    table: Table, plan: Plan, params: Mapping[str, Any], time_out: int
) -> tuple[FittedFirstStage, list[Future]]:
    """Fit the guides; return them with what they say of each partition (``GuideValues``), out of fold."""
    worker_group, stage = (
        table.worker_group,
        next(stage for stage in (plan.subtracted, *plan.given) if stage is not None),
    )
    y = worker_group.per_part(_responses, table.parts)
    mean = _cross_fit(table, stage, y, params, time_out)
    given = (mean.predictor,) if plan.given else ()
    d = len(mean.gained)
    zero, one = np.zeros(d), np.ones(d)
    if plan.subtracted is None:
        said = worker_group.per_part(
            _said, mean.out_of_fold, is_given=True, is_subtracted=False, centre=zero, spread=one
        )
        return FittedFirstStage(None, None, given, zero, one, zero, one), said
    residuals = worker_group.per_part(np.subtract, y, mean.out_of_fold)
    spread = _spread(table, residuals)
    floor, scale, log_scale = zero, None, None
    if plan.scaled is not None:
        magnitude = worker_group.per_part(_magnitude, residuals, least=1e-3 * spread.std)
        scale = _cross_fit(table, plan.scaled, magnitude, params, time_out)
        log_scale = scale.predictor
        floor = 0.05 * np.median(np.exp(_sample(table, scale.out_of_fold)), axis=0)
        spread = _spread(table, worker_group.per_part(_scaled, residuals, scale.out_of_fold, floor=floor))
    shrink = one
    if scale is None:
        left = 1.0 - mean.gained / np.maximum(spread.variance, np.finfo(float).tiny)
        shrink = np.sqrt(np.maximum(left, LEAST_SHRINK**2))
    columns = [mean.out_of_fold] if scale is None else [mean.out_of_fold, scale.out_of_fold]
    common = {"is_given": bool(given), "centre": spread.mean, "spread": spread.std, "floor": floor}
    first_stage = FittedFirstStage(mean.predictor, log_scale, given, spread.mean, spread.std, floor, shrink)
    return first_stage, worker_group.per_part(_said, *columns, **common)


def _cross_fit(table: Table, stage: Any, targets: Sequence[Future], params: Mapping[str, Any], time_out: int) -> Stage:
    worker_group, k, repeats = table.worker_group, params["residualize_k_folds"], params["residualize_repeats"]
    keys = tuple(int(key) for key in table.seed.generate_state(1 + repeats, np.uint64))
    lightgbm, rounds, _ = _lightgbm_params(stage.params, int(keys[0] >> 33), 1)
    numbers = range(len(table.parts))
    sample = worker_group.per_part(sampled_part, table.parts, table.shares(BIN_ROWS), numbers, seed=table.seed)
    fitted = worker_group.per_worker(
        cross_fit,
        table.parts,
        targets,
        sample=sample,
        dealt=Folds(k, keys[1:]),
        params=lightgbm,
        rounds=rounds,
        categorical=table.categorical,
        time_out=time_out,
    )
    worker_group.wait(fitted)
    clean = worker_group.split(fitted, _clean)
    average = worker_group.per_part(np.mean, clean, axis=0)
    (texts,) = worker_group.results([worker_group.at(worker_group.workers[0], _texts, fitted[0])])
    models = BoosterAverage(tuple(tuple(StoredBooster(text) for text in own) for own in texts))
    gained = np.zeros(len(texts))
    if repeats > 1:
        variance = sum(worker_group.results(worker_group.per_part(_variance, clean))) / sum(table.rows)
        gained = variance * (1.0 / repeats - 1.0 / (repeats * k))
    return Stage(models, average, gained)


def _spread(table: Table, columns: Sequence[Future]) -> Spread:
    """Return what describes columns (n, d) that are spread over the partitions."""
    worker_group = table.worker_group
    low, high = np.quantile(_sample(table, columns), [0.01, 0.99], axis=0)
    inner = merged(worker_group.results(worker_group.per_part(_moments, columns, low=low, high=high)))
    plain = merged(worker_group.results(worker_group.per_part(_moments, columns, low=-np.inf, high=np.inf)))
    std = np.where(inner.std > 0.0, inner.std, plain.std)
    return Spread(plain.mean, np.where(std > 0.0, std, 1.0), plain.std**2)


def _sample(table: Table, columns: Sequence[Future]) -> Array:
    numbers = range(len(columns))
    found = table.worker_group.per_part(sampled_rows, columns, table.shares(SAMPLE), numbers, seed=table.seed)
    return np.concatenate(table.worker_group.results(found))


def _responses(part: Part) -> Array:
    return part.y


def _clean(fitted: CrossFit, number: int) -> Array:
    return fitted.clean[number]


def _texts(fitted: CrossFit) -> list[list[str]]:
    return fitted.texts


def _variance(clean: Array) -> Array:
    return np.asarray(clean.var(axis=0, ddof=1).sum(axis=0))


def _moments(values: Array, low: Any, high: Any) -> Moments:
    return Moments.of(np.clip(values, low, high))


def _magnitude(residuals: Array, least: Array) -> Array:
    return np.asarray(np.log(np.abs(residuals) + least))


def _scaled(residuals: Array, log_scale: Array, floor: Array) -> Array:
    return np.asarray(residuals / np.maximum(np.exp(log_scale), floor))


def _said(
    mean: Array,
    log_scale: Array | None = None,
    *,
    is_given: bool,
    centre: Array,
    spread: Array,
    floor: Array | float = 0.0,
    is_subtracted: bool = True,
) -> FirstStageValues:
    """Say of a partition's rows what the guides do, out of fold."""
    features = mean if is_given else np.empty((len(mean), 0))
    location = mean if is_subtracted else np.zeros_like(mean)
    sigma = np.ones_like(mean) if log_scale is None else np.maximum(np.exp(log_scale), floor)
    return FirstStageValues(features, location + sigma * centre, sigma * spread)
