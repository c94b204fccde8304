"""From Dask collections to a fitted model: facts of all partitions -> guide -> noisy copies -> boosters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffgbm._util.dask_client import the_client, workers_of
from diffgbm._util.errors import kept_warnings, known, warn
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.dask.boosting import (
    Rows,
    held_out_rows,
    noisy_part,
    residual_rows,
    sampled_noisy,
    train_noise,
)
from diffgbm.dask.first_stage import Table, check_plan, fit_first_stages
from diffgbm.dask.network import LEARNERS, TIME_OUT
from diffgbm.dask.partitions import aligned, check_collection, pieces
from diffgbm.dask.reading import encode, facts_of, whole_table
from diffgbm.dask.worker_group import Future, WorkerGroup
from diffgbm.data.features import FeatureTable
from diffgbm.data.response import ResponseTable
from diffgbm.diffusion.recipe import Recipe, resolve
from diffgbm.engine.stored import StoredBooster
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.first_stage import MIN_ROWS, FittedFirstStage, Plan, plan_first_stage
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.training import check_arguments, lightgbm_params, seed_integer

VALIDATION_LIMIT = 100_000
"""Rows held out for early stopping, at most: more of them decide no better, and every worker holds all of them."""
FARTHEST = 1000
"""Rows of each partition among which the two that are farthest apart are looked for."""


def fit_on_cluster(
    params: Mapping[str, Any],
    X: Any,
    y: Any,
    cat_idx: Sequence[int] | None,
    sample_weight: Any,
    client: Any,
    workers: Sequence[str] | None,
    owner: str,
) -> FittedModel:
    """Fit everything; ``params`` are the estimator's arguments, ``owner`` its name for messages."""
    check_collection(X, "X", owner)
    columns = [pieces(X), aligned(X, y, "y", owner)]
    columns.append(
        [None] * len(columns[0]) if sample_weight is None else aligned(X, sample_weight, "sample_weight", owner)
    )
    resolve(params)
    check_arguments(params)
    client = the_client(client)
    threads = workers_of(client, workers)
    delayed = need("dask").delayed
    read = [delayed(facts_of)(*row, i, cat_idx, owner) for i, row in enumerate(zip(*columns, strict=True))]
    # nothing is kept on the workers yet, so that Dask itself makes up for one that is lost
    facts = client.gather(client.compute(read, workers=list(threads), allow_other_workers=True))
    features, response = whole_table(facts, owner)
    filled = [i for i, f in enumerate(facts) if f.counted]
    if len(filled) == 1:
        return _fit_alone(params, [column[filled[0]] for column in columns], cat_idx, client, threads)
    plan = plan_first_stage(params["residualize"], params["first_stage_features"], params["extra_residualizer_params"])
    _check_options(params, plan, owner)
    worker_group = WorkerGroup.of(client, [facts[i].counted for i in filled], threads)
    starts = np.cumsum([0, *(f.n_rows for f in facts)])
    for at, i in zip(worker_group.places, filled, strict=True):
        part = delayed(encode)(*(c[i] for c in columns), i, int(starts[i]), features, response, owner)
        # a wish and no order: the user's own tasks must not be bound to a worker that may die
        worker_group.made.append(client.compute(part, workers=[at], allow_other_workers=True))
    return _fit_together(params, worker_group, [facts[i].counted for i in filled], features, response, plan)


def _fit_together(
    params: Mapping[str, Any],
    worker_group: WorkerGroup,
    rows: list[int],
    features: FeatureTable,
    response: ResponseTable,
    plan: Plan,
) -> FittedModel:
    """Train on the partitions that the crew has been asked to encode, of so many rows each."""
    seeds = np.random.SeedSequence(params["seed"]).spawn(5)
    table = Table(worker_group, list(worker_group.made), rows, features.categorical, seeds[0])
    try:
        worker_group.wait(table.parts)
        first_stage, own = _residuals(table, plan, params)
        # a release may overtake the tasks that need what is released
        worker_group.wait(own)
        worker_group.keep_only(table.parts, own)
        recipe, boosters = _noise_model(table, own, params, seeds[1:])
    finally:
        worker_group.keep_only()
    mix, engine, n_jobs = params["bag_mix"], params["engine"], params["n_jobs"]
    return FittedModel(features, response, first_stage, recipe, (boosters,), mix, engine, n_jobs)


def _fit_alone(
    params: Mapping[str, Any],
    columns: Sequence[Any],
    cat_idx: Sequence[int] | None,
    client: Any,
    threads: dict[str, int],
) -> FittedModel:
    """Fit the only partition that has rows on one worker, as a table in memory."""
    delayed = need("dask").delayed
    at = next(iter(threads))
    task = delayed(_fit_in_memory)(dict(params), *columns, cat_idx, threads[at])
    model, told = client.compute(task, workers=[at], allow_other_workers=True).result()
    for message in told:
        warn(message, stacklevel=5)
    return model


def _fit_in_memory(
    params: dict[str, Any], X: Any, y: Any, weights: Any, cat_idx: Sequence[int] | None, threads: int
) -> tuple[FittedModel, list[str]]:
    with kept_warnings() as messages:
        fitted = DiffGBM(**{**params, "n_jobs": threads, "verbose": 0}).fit(X, y, cat_idx, weights)
    return fitted.model_, messages


def _check_options(params: Mapping[str, Any], plan: Plan, owner: str) -> None:
    check_plan(plan, owner)
    if params["n_bags"] > 1:
        raise ValueError(f"{owner} fits one bag to a table in several partitions; got n_bags={params['n_bags']!r}.")
    for name in ("extra_lightgbm_params", "extra_residualizer_params"):
        if "tree_learner" in (params[name] or {}):
            known(f"tree_learner in {name}", params[name]["tree_learner"], LEARNERS)


def _time_out(params: Mapping[str, Any]) -> int:
    return int((params["extra_lightgbm_params"] or {}).get("time_out", TIME_OUT))


def _residuals(table: Table, plan: Plan, params: Mapping[str, Any]) -> tuple[FittedFirstStage | None, list[Future]]:
    """Fit the guides; return them with the ``Rows`` of each partition."""
    worker_group, nothing = table.worker_group, [None] * len(table.parts)
    if plan == Plan(None, None, ()):
        return None, worker_group.per_part(residual_rows, table.parts, nothing)
    if sum(table.rows) < MIN_ROWS:
        warn(
            f"residualize and first_stage_features need at least {MIN_ROWS} rows and got {sum(table.rows)}: fitting "
            "without them. Set residualize='off' to silence this.",
            stacklevel=5,
        )
        return None, worker_group.per_part(residual_rows, table.parts, nothing)
    first_stage, said = fit_first_stages(table, plan, params, _time_out(params))
    return first_stage, worker_group.per_part(residual_rows, table.parts, said)


def _noise_model(
    table: Table, own: list[Future], params: Mapping[str, Any], seeds: Sequence[np.random.SeedSequence]
) -> tuple[Recipe, tuple[StoredBooster, ...]]:
    """Train the noise model; ``seeds`` are those of the split, the two draws of noise and LightGBM."""
    worker_group, recipe, n = table.worker_group, resolve(params), sum(table.rows)
    if params["sde_initialize_from_data"]:
        recipe = recipe.fitted_to(np.concatenate(worker_group.results(worker_group.per_part(_farthest, own))))
    patience = params["early_stopping_rounds"]
    share = min(params["eval_percent"], VALIDATION_LIMIT / n) if patience else 0.0
    key = int(seeds[0].generate_state(1, np.uint64)[0])
    numbers = range(len(own))
    held_out = worker_group.per_part(held_out_rows, own, table.parts, share=share, hash_key=key)
    noise = {"share": share, "hash_key": key, "recipe": recipe, "repeats": params["n_repeats"], "seed": seeds[1]}
    noisy = worker_group.per_part(noisy_part, own, table.parts, numbers, **noise)
    size = table.shares(params["subsample_for_bin"], params["n_repeats"])
    sample = worker_group.per_part(sampled_noisy, noisy, size, numbers, seed=seeds[3])
    trained = worker_group.per_worker(
        train_noise,
        noisy,
        held_out=held_out,
        sample=sample,
        recipe=recipe,
        params=lightgbm_params(params, seed_integer(seeds[3]), 1),
        rounds=params["n_estimators"],
        patience=patience,
        repeats=params["n_repeats"],
        seed=seeds[2],
        categorical=table.categorical,
        time_out=_time_out(params),
    )
    texts = worker_group.results(trained)[0]
    return recipe, tuple(map(StoredBooster, texts))


def _farthest(rows: Rows) -> Array:
    """Return rows of residuals among which the extremes of the whole table must be (d = 1), or nearly so."""
    r = rows.residuals
    if r.shape[1] == 1:
        return r[[int(r.argmin()), int(r.argmax())]]
    return r[np.argsort(-np.linalg.norm(r - r.mean(axis=0), axis=1))[:FARTHEST]]
