"""From Dask collections to a fitted model: facts of all partitions -> first stage -> noisy copies -> boosters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diffgbm._util.dask_client import the_client, workers_of
from diffgbm._util.errors import kept_warnings, known, warn
from diffgbm._util.optional import need
from diffgbm._util.types import Array, Booleans, Integers
from diffgbm.dask.atoms import continuous_table, find_piles, fit_piles, relative_error
from diffgbm.dask.boosting import held_out_rows, noise_table, noisy_part, sampled_noisy, train_noise
from diffgbm.dask.first_stage import PartitionedTable, check_plan
from diffgbm.dask.groups import GROUPS_PER_PART, check_count_of_groups, counted, split_off
from diffgbm.dask.limits import ResponseFacts, asks_for_limits
from diffgbm.dask.network import LEARNERS, TIME_OUT
from diffgbm.dask.part_splits import HashedHoldout, PartSplits, given_splits
from diffgbm.dask.partitions import aligned, check_collection, pieces
from diffgbm.dask.reading import Facts, Part, encode, facts_of, whole_table
from diffgbm.dask.records import evidence, evidence_share, key_of, keyed
from diffgbm.dask.times import ranks, structure_of, time_parts
from diffgbm.dask.worker_group import Future, WorkerGroup
from diffgbm.data.features import FeatureTable
from diffgbm.data.level_statistics import most_levels
from diffgbm.data.splits import bag_splits
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.diffusion.recipe import Recipe, resolve
from diffgbm.engine.stored import StoredBooster
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.first_stage import FirstStageValues, FittedFirstStage, Plan, fit_first_stage, plan_first_stage
from diffgbm.first_stage.cross_fitting import with_values
from diffgbm.fitting.constraints import check_constraints
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.noise_design import copies
from diffgbm.fitting.noise_table import NoiseTable
from diffgbm.fitting.stopping import held_out_share
from diffgbm.fitting.training import (
    check_arguments,
    check_earlier_rows,
    check_folds,
    lightgbm_params,
    repeats_of,
    seed_integer,
    with_supports,
)

VALIDATION_LIMIT = 100_000
"""Rows held out for early stopping, at most: more of them decide no better, and every worker holds all of them."""
FARTHEST = 1000
"""Rows of each partition that may be one of the two farthest apart."""


def fit_on_cluster(
    params: Mapping[str, Any],
    X: Any,
    y: Any,
    cat_idx: Sequence[int] | None,
    sample_weight: Any,
    client: Any,
    workers: Sequence[str] | None,
    owner: str,
    groups: Any = None,
    time: Any = None,
) -> FittedModel:
    """Fit everything; ``params`` are the estimator's arguments, ``owner`` its name for messages."""
    check_collection(X, "X", owner)
    times = time_parts(X, time, owner)
    X, labels, group_column = split_off(X, groups, owner)
    columns = [pieces(X), aligned(X, y, "y", owner)]
    columns.append(
        [None] * len(columns[0]) if sample_weight is None else aligned(X, sample_weight, "sample_weight", owner)
    )
    resolve(params)
    check_arguments(params)
    if params["monotone"]:
        raise ValueError(f"{owner} has no monotone; got {params['monotone']!r}. Use DiffGBM.")
    client = the_client(client)
    threads = workers_of(client, workers)
    delayed = need("dask").delayed
    labels, times = ([None] * len(columns[0]) if column is None else column for column in (labels, times))
    asked = (params["support"],) if asks_for_limits(params) else None
    read = [
        delayed(facts_of)(*row, i, cat_idx, owner, labels[i], times[i], asked)
        for i, row in enumerate(zip(*columns, strict=True))
    ]
    # nothing is kept on the workers yet, so that Dask itself recovers from a lost worker
    facts = client.gather(client.compute(read, workers=list(threads), allow_other_workers=True))
    features, response = whole_table(facts, owner)
    features = features if group_column is None else replace(features, ignored=(group_column,))
    check_constraints(params, features.n_features, features.categorical)
    filled = [i for i, f in enumerate(facts) if f.counted]
    if len(filled) == 1:
        alone = [column[filled[0]] for column in (*columns, labels, times)]
        model = _fit_alone(params, alone, cat_idx, client, threads)
        # how the one partition was read, which is not how one of several is: constant parts of dates are left out
        ignored = () if group_column is None else (group_column,)
        return replace(model, features=replace(model.features, ignored=ignored))
    responses = ResponseFacts.of(response, [f.columns for f in facts if f.columns], params)
    _check_levels(features, sum(f.counted for f in facts), owner)
    plan = plan_first_stage(params["residualize"], params["first_stage_features"], params["extra_residualizer_params"])
    _check_options(params, plan, owner)
    structure, n_groups = _structure([facts[i] for i in filled], params, owner)
    worker_group = WorkerGroup.of(client, [facts[i].counted for i in filled], threads)
    starts = np.cumsum([0, *(f.n_rows for f in facts)])
    for at, i in zip(worker_group.assigned, filled, strict=True):
        row = (*(c[i] for c in columns), i, int(starts[i]), features, response, owner, labels[i], times[i])
        part = delayed(encode)(*row, with_observed=asked is not None)
        # a preference only: the user's own tasks must not be bound to a worker that may die
        worker_group.made.append(client.compute(part, workers=[at], allow_other_workers=True))
    rows = [facts[i].counted for i in filled]
    return _fit_together(params, worker_group, rows, features, responses, plan, structure, n_groups, owner)


def _fit_together(
    params: Mapping[str, Any],
    worker_group: WorkerGroup,
    rows: list[int],
    features: FeatureTable,
    responses: ResponseFacts,
    plan: Plan,
    structure: Structure,
    n_groups: int | None,
    owner: str,
) -> FittedModel:
    """Train on the partitions that the worker group has been asked to encode, of ``rows`` rows each."""
    *seeds, atom_seed = np.random.SeedSequence(params["seed"]).spawn(6)
    response = responses.table
    table = PartitionedTable(
        worker_group,
        list(worker_group.made),
        rows,
        len(response.scale),
        features.categorical,
        seeds[0],
        params["residualize_k_folds"],
        repeats_of(params["residualize_k_folds"], params["residualize_repeats"], structure),
        _time_out(params),
        structure,
    )
    try:
        worker_group.wait(table.parts)
        if n_groups is None and structure.labels is None:  # groups decide which rows belong together
            table = _with_keys(table, params["repeats"], features.n_features)
        found, supports = find_piles(table, responses, params)
        atoms = fit_piles(table, found, atom_seed)
        beside = atoms[0] if response.is_1d else None
        if beside is not None:
            table, response = continuous_table(table, beside.values, response)
            worker_group.keep_only()
            n_groups = _groups_left(table, n_groups, params, owner)
        first_stage, stage_values = _fitted_first_stage(table, plan, beside is not None)
        noise_tables = table.apply(noise_table, table.parts, stage_values, categorical=features.categorical)
        splits = _stopping_splits(table, stage_values, params, seeds[1], n_groups)
        # a release may overtake the tasks that need what is released
        table.worker_group.wait(noise_tables)
        table.worker_group.keep_only(table.parts, noise_tables)
        recipe, boosters = _noise_model(table, noise_tables, params, seeds[2:], splits)
    finally:
        for group in (worker_group, table.worker_group):
            group.keep_only()
    mix, engine, n_jobs = params["bag_mix"], params["engine"], params["n_jobs"]
    model = FittedModel(features, response, first_stage, recipe, (boosters,), mix, engine, n_jobs)
    if response.is_1d:
        return replace(model, atoms=atoms[0], support=responses.supports[0])
    return with_supports(model, tuple(supports) if any(supports) else (), atoms)


def _fitted_first_stage(
    table: PartitionedTable, plan: Plan, beside_atoms: bool
) -> tuple[FittedFirstStage | None, list[Future]]:
    """Fit the first stage; beside atoms a mean worse than none is left out, as in memory."""
    first_stage, stage_values = fit_first_stage(table, plan)
    subtracted = first_stage is not None and first_stage.location is not None
    if beside_atoms and subtracted and relative_error(table, stage_values) >= 1.0:
        return fit_first_stage(table, replace(plan, subtracted=None, scaled=None))
    return first_stage, stage_values


def _groups_left(table: PartitionedTable, n_groups: int | None, params: Mapping[str, Any], owner: str) -> int | None:
    """Return how many of the groups have rows that are no atoms; raise if a hash may leave a fold without any."""
    if n_groups is None:
        return None
    keys = table.gather(table.apply(_counted_keys, table.parts))
    try:
        return check_count_of_groups(keys, params, owner)
    except ValueError as error:
        raise ValueError(f"Of rows whose response is no atom, {error}") from None


def _with_keys(table: PartitionedTable, repeats: str, n_columns: int) -> PartitionedTable:
    """Return the table with keys that keep repeated rows together in every split, if they are the same records."""
    if repeats == "independent":
        return table
    gathered = table.gather(table.apply(evidence, table.parts, share=evidence_share(table.n_rows, n_columns)))
    by = key_of(gathered, repeats)
    if by == "position":
        return table
    parts = table.apply(keyed, table.parts, by=by)
    table.worker_group.wait(parts)
    table.worker_group.keep_only(parts)
    if table.structure.order is None:
        return replace(table, parts=parts)
    keys = np.concatenate(table.gather(table.apply(_split_keys, parts)))
    return replace(table, parts=parts, structure=structure_of(table.structure.order, keys))


def _counted_keys(part: Part) -> Integers:
    return counted(part.split_keys)


def _split_keys(part: Part) -> Integers:
    return part.split_keys


def _structure(facts: Sequence[Facts], params: Mapping[str, Any], owner: str) -> tuple[Structure, int | None]:
    """Return the structure of all rows if they have times; without them the number of groups that are hashed."""
    groups = [f.groups for f in facts if f.groups is not None]
    times = [f.times for f in facts if f.times is not None]
    if not times:
        return INDEPENDENT, check_count_of_groups(groups, params, owner) if groups else None
    structure = structure_of(ranks(times), np.concatenate(groups) if groups else None)
    if groups:
        check_folds(params, structure)
    return structure, None


def _fit_alone(
    params: Mapping[str, Any],
    columns: Sequence[Any],
    cat_idx: Sequence[int] | None,
    client: Any,
    threads: dict[str, int],
) -> FittedModel:
    """Fit the only partition with rows on one worker, as a table in memory."""
    delayed = need("dask").delayed
    at = next(iter(threads))
    task = delayed(_fit_in_memory)(dict(params), *columns, cat_idx, threads[at])
    model, messages = client.compute(task, workers=[at], allow_other_workers=True).result()
    for message in messages:
        warn(message)
    return model


def _fit_in_memory(
    params: dict[str, Any],
    X: Any,
    y: Any,
    weights: Any,
    groups: Any,
    time: Any,
    cat_idx: Sequence[int] | None,
    threads: int,
) -> tuple[FittedModel, list[str]]:
    with kept_warnings() as messages:
        fitted = DiffGBM(**{**params, "n_jobs": threads, "verbose": 0}).fit(X, y, cat_idx, weights, groups, time)
    return fitted.model_, messages


def _check_levels(features: FeatureTable, rows: int, owner: str) -> None:
    """Refuse columns of so many categories that they need cross-fitted statistics, which partitions do not have."""
    names = features.names or tuple(map(str, range(features.n_features)))
    for name, levels in zip(names, features.levels, strict=True):
        if levels is not None and len(levels) > most_levels(rows):
            raise ValueError(
                f"{owner}: column {name!r} has {len(levels):,} categories in {rows:,} rows; a table in several "
                f"partitions may have {most_levels(rows):,}. Leave the column out, group its categories, or fit a "
                "sample of the rows with DiffGBM, which encodes them."
            )


def _check_options(params: Mapping[str, Any], plan: Plan, owner: str) -> None:
    check_plan(plan, owner)
    folds = params["residualize_k_folds"]
    if plan != Plan(None, None, ()) and not isinstance(folds, (int, np.integer)):
        raise ValueError(
            f"residualize_k_folds must be a number of folds for a table in several partitions; got {folds!r}. {owner} "
            "divides rows by groups= and time=; for other folds use DiffGBM."
        )
    if params["n_bags"] > 1:
        raise ValueError(f"{owner} fits one bag to a table in several partitions; got n_bags={params['n_bags']!r}.")
    for name in ("extra_lightgbm_params", "extra_residualizer_params"):
        if "tree_learner" in (params[name] or {}):
            known(f"tree_learner in {name}", params[name]["tree_learner"], LEARNERS)


def _time_out(params: Mapping[str, Any]) -> int:
    return int((params["extra_lightgbm_params"] or {}).get("time_out", TIME_OUT))


def _stopping_splits(
    table: PartitionedTable,
    stage_values: Sequence[Future],
    params: Mapping[str, Any],
    seed: np.random.SeedSequence,
    n_groups: int | None,
) -> list[PartSplits]:
    """Return what each partition learns from, and what it holds out to decide when to stop.

    By time it is the last part that is held out, and rows without first-stage values are in neither.
    """
    enough = VALIDATION_LIMIT / table.n_rows
    enough = enough if n_groups is None else max(enough, GROUPS_PER_PART / n_groups)
    stopping = params["early_stopping_rounds"] is not None
    share = min(held_out_share(params["eval_percent"]), enough) if stopping else 0.0
    if not table.is_ordered:
        key = int(seed.generate_state(1, np.uint64)[0])
        return [HashedHoldout(share, key)] * len(table.parts)
    known = np.concatenate(table.gather(table.apply(_known, stage_values)))
    ((train, held_out),) = bag_splits(table.n_rows, 1, share, seed_integer(seed), stopping, True, table.structure)
    split = (train[known[train]], held_out[known[held_out]])
    check_earlier_rows([split])
    return list(given_splits([split], table.part_rows))


def _known(values: FirstStageValues) -> Booleans:
    mask = np.zeros(len(values.location), dtype=bool)
    mask[values.known(np.arange(len(mask)))] = True
    return mask


def _noise_model(
    table: PartitionedTable,
    noise_tables: list[Future],
    params: Mapping[str, Any],
    seeds: Sequence[np.random.SeedSequence],
    splits: Sequence[PartSplits],
) -> tuple[Recipe, tuple[StoredBooster, ...]]:
    """Train the noise model; ``seeds`` are those of the two draws of noise and LightGBM."""
    recipe = resolve(params)
    if params["sde_initialize_from_data"]:
        recipe = recipe.fitted_to(np.concatenate(table.gather(table.apply(_farthest, noise_tables))))
    numbers = range(len(noise_tables))
    held_out = table.apply(held_out_rows, noise_tables, table.parts, splits)
    repeats, design = copies(params["n_repeats"], table.n_rows), params["noise_design"]
    noise = {"recipe": recipe, "repeats": repeats, "design": design}
    noisy = table.apply(noisy_part, noise_tables, table.parts, splits, numbers, seed=seeds[0], **noise)
    size = table.shares(params["subsample_for_bin"], repeats)
    trained = table.worker_group.per_worker(
        train_noise,
        noisy,
        held_out=held_out,
        sample=table.apply(sampled_noisy, noisy, size, numbers, seed=seeds[2]),
        params=lightgbm_params(params, seed_integer(seeds[2]), 1),
        rounds=params["n_estimators"],
        patience=params["early_stopping_rounds"],
        seed=seeds[1],
        categorical=table.categorical,
        time_out=table.time_out,
        **noise,
    )
    texts = table.gather(trained)[0]
    return recipe, tuple(map(StoredBooster, texts))


def _farthest(table: NoiseTable) -> Array:
    """Return residuals that include the extremes of the whole table (d = 1), or nearly so."""
    r = with_values(table.residuals)
    if len(r) == 0:
        return r
    if r.shape[1] == 1:
        return r[[int(r.argmin()), int(r.argmax())]]
    return r[np.argsort(-np.linalg.norm(r - r.mean(axis=0), axis=1))[:FARTHEST]]
