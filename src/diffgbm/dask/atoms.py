"""Atoms of a table in partitions: all workers train their classifiers together, as first-stage models are trained.

What is decided is what ``fitting.atoms`` decides in memory: which values are atoms, how many rounds the classifiers
have, and how far they are trusted against the base rate. Out-of-fold log losses are sums, which workers send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Booleans
from diffgbm.dask.boosting import boost_folds, predict_fold, weights_of
from diffgbm.dask.first_stage import PartitionedTable
from diffgbm.dask.limits import ResponseFacts, atoms_among, with_piles
from diffgbm.dask.part_splits import PartSplits
from diffgbm.dask.reading import Part
from diffgbm.data.response import ResponseSummary, ResponseTable
from diffgbm.distributions.support import Support
from diffgbm.engine.stored import StoredBooster, text_of
from diffgbm.first_stage import FirstStageValues
from diffgbm.first_stage.lightgbm_mean import BoosterAverage
from diffgbm.fitting.atoms import (
    FOLDS,
    MIN_REST,
    ROUNDS,
    TRUST,
    Atoms,
    atom_limits,
    classifier_params,
    first_rounds,
    log_loss,
    piles,
    tried_rounds,
)
from diffgbm.fitting.limits import listed_supports


@dataclass(frozen=True)
class Piles:
    """Atoms of one response before their classifiers are fitted.

    Attributes
    ----------
    values, base : ndarray of shape (k,)
        The atoms, increasing, and their shares of the training rows.
    limits : tuple of float
        Of the continuous part.
    """

    values: Array
    base: Array
    limits: tuple[float, float]


@dataclass(frozen=True)
class WorkerClassifiers:
    """What one worker has of the classifiers.

    Attributes
    ----------
    texts : list of list of str
        For each atom the boosters of all folds; empty except on the first worker.
    rounds : list of tuple of int
        For each atom the numbers of rounds that are compared.
    losses : list of ndarray of shape (rounds, trusts)
        For each atom the out-of-fold log loss, summed over the worker's rows.
    """

    texts: list[list[str]]
    rounds: list[tuple[int, ...]]
    losses: list[Array]


def find_piles(
    table: PartitionedTable, facts: ResponseFacts, params: Mapping[str, Any]
) -> tuple[list[Piles | None], list[Support | None]]:
    """Return for each response the atoms that the arguments ask for, or ``None``, and its limits.

    Limits at which it piles up are atoms of it.
    """
    if not facts.columns:
        return [None] * table.n_responses, facts.supports
    atoms, asked = params["atoms"], listed_supports(params["support"], len(facts.columns))
    given = np.empty(0) if atoms is None or isinstance(atoms, str) else np.asarray(atoms, dtype=np.float64)
    candidates = [np.union1d(column.candidates, given) for column in facts.columns]
    counted = np.sum(table.gather(table.apply(value_sums, table.parts, values=candidates)), axis=0)
    ends = np.cumsum([0, *map(len, candidates)])
    found: list[Piles | None] = []
    supports = []
    for j, (column, values, support) in enumerate(zip(facts.columns, candidates, facts.supports, strict=True)):
        counts, weights = counted[:, ends[j] : ends[j + 1]]
        own = np.isin(values, column.candidates)
        piled = piles(values[own], counts[own], table.n_rows)
        chosen = atoms_among(piled, values[counts > 0.0], atoms, asked[j], support)
        at = np.isin(values, chosen)
        _check_rest(table.n_rows - int(counts[at].sum()), chosen)
        limits = atom_limits(chosen, column.candidates[0], column.candidates[-1])
        found.append(Piles(chosen, weights[at] / counted[1, -1], limits) if len(chosen) else None)
        supports.append(with_piles(support, piled))
    return found, supports


def _check_rest(rest: int, values: Array) -> None:
    if len(values) and rest < MIN_REST:
        raise ValueError(
            f"atoms must leave at least {MIN_REST} rows for the continuous part of a table in several partitions; "
            f"{values.tolist()} leave {rest}. Name fewer atoms, or use DiffGBM."
        )


def value_sums(part: Part, values: Sequence[Array]) -> Array:
    """Return how many rows of a partition have each of the ``values`` of each response, and their weights: (2, m + 1).

    The last column is of all rows.
    """
    hit = np.column_stack([*hits(part, values).T, np.ones(len(part.X))])
    weights = np.ones(len(part.X)) if part.weights is None else part.weights
    return np.stack([hit.sum(axis=0), weights @ hit])


def hits(part: Part, values: Sequence[Array]) -> Array:
    """Return whether each row has each of the ``values`` of each response, as numbers (n, m)."""
    assert part.observed is not None
    columns = zip(part.observed.T, values, strict=True)
    return np.column_stack([column[:, None] == each for column, each in columns]).astype(np.float64)


def fit_piles(
    table: PartitionedTable, found: Sequence[Piles | None], seed: np.random.SeedSequence
) -> tuple[Atoms | None, ...]:
    """Fit the classifiers of all atoms of all responses, on all workers together; ``None`` for one without any."""
    if not any(found):
        return (None,) * len(found)
    values = [np.empty(0) if each is None else each.values for each in found]
    base = np.concatenate([each.base for each in found if each is not None])
    rows = replace(table, seed=seed, k_folds=FOLDS, repeats=1, n_responses=len(base))
    params = classifier_params(rows.n_rows, rows.lightgbm_seed, 1)
    targets = rows.apply(hits, rows.parts, values=values)
    fitted: list[WorkerClassifiers] = rows.gather(
        rows.on_folds(cross_classify, targets, base=base, params=params, rounds=ROUNDS[-1])
    )
    models, trust = [], []
    for j, tried in enumerate(fitted[0].rounds):
        best, trusted = chosen_model(np.sum([each.losses[j] for each in fitted], axis=0))
        boosters = (lgb.Booster(model_str=text) for text in rows.predicting(fitted[0].texts[j]))
        models.append(tuple(StoredBooster(text_of(first_rounds(booster, tried[best]))) for booster in boosters))
        trust.append(TRUST[trusted])
    ends = np.cumsum([0, *map(len, values)])
    own = [slice(*both) for both in pairwise(ends)]
    return tuple(
        None
        if each is None
        else Atoms(each.values, BoosterAverage(tuple(models[at])), each.base, np.array(trust[at]), *each.limits)
        for each, at in zip(found, own, strict=True)
    )


def chosen_model(losses: Array) -> tuple[int, int]:
    """Return which rounds have the least of the losses (rounds, trusts) by themselves, and which trust then has."""
    best = int(np.argmin(losses[:, TRUST.index(1.0)]))
    return best, int(np.argmin(losses[best]))


def cross_classify(
    parts: Sequence[Part],
    targets: Sequence[Array],
    folds: Sequence[PartSplits],
    *,
    base: Array,
    threads: int,
    is_first: bool,
    **training: Any,
) -> WorkerClassifiers:
    """Fit a classifier of each column of ``targets`` (n, k) without each fold, together with the other workers.

    ``training`` are the other arguments of ``boost_folds``.
    """
    boosters: list[list[lgb.Booster]] = [[] for _ in base]
    held_out: list[Sequence[Booleans]] = []

    def receive(_: int, j: int, out: Sequence[Booleans], booster: lgb.Booster) -> None:
        boosters[j].append(booster)
        if j == 0:
            held_out.append(out)

    boost_folds(parts, targets, folds, receive, threads=threads, **training)
    hit, weights = np.concatenate(targets), weights_of(parts)
    tried, losses = [tried_rounds(each) for each in boosters], []
    for j, rate in enumerate(base.tolist()):
        predicted = [_held_out(parts, boosters[j], held_out, rounds, threads) for rounds in tried[j]]
        losses.append(np.array([loss_sums(hit[:, j], p, rate, weights) for p in predicted]))
    texts = [[text_of(booster) for booster in each] for each in boosters] if is_first else []
    return WorkerClassifiers(texts, tried, losses)


def _held_out(
    parts: Sequence[Part],
    boosters: Sequence[lgb.Booster],
    held_out: Sequence[Sequence[Booleans]],
    rounds: int,
    threads: int,
) -> Array:
    """Out-of-fold probabilities (n,) of the rows of all partitions after so many rounds; NaN where there are none."""
    out = [np.full(len(part.X), np.nan) for part in parts]
    for booster, masks in zip(boosters, held_out, strict=True):
        predict_fold(booster, parts, masks, out, threads, rounds)
    return np.concatenate(out)


def loss_sums(hit: Array, predicted: Array, base: float, weights: Array | None) -> Array:
    """Return the log loss of predicted probabilities (n,), summed over rows, for each weight against the base rate."""
    known = ~np.isnan(predicted)
    w = (np.ones(len(hit)) if weights is None else weights)[known]
    if len(w) == 0:
        return np.zeros(len(TRUST))
    p = predicted[known]
    return np.array([w.sum() * log_loss(hit[known], base + trust * (p - base), w) for trust in TRUST])


def continuous_table(
    table: PartitionedTable, values: Array, response: ResponseTable
) -> tuple[PartitionedTable, ResponseTable]:
    """Return the rows whose one response is no atom, standardised anew, divided evenly among the workers.

    A worker may have held nothing but atoms, as in a table that is sorted by its response.
    """
    rests = table.apply(_rest, table.parts, values=values)
    facts = table.gather(table.apply(_rest_facts, rests))
    filled = [i for i, (_, summary) in enumerate(facts) if summary is not None]
    summary = reduce(ResponseSummary.__add__, [facts[i][1] for i in filled])
    response = ResponseTable.from_summary(response.names, response.is_1d, summary)
    sizes = [facts[i][0] for i in filled]
    group = table.worker_group.regrouped(sizes)
    structure = table.structure
    if table.is_ordered:
        bits = table.gather(table.apply(_rest_bits, table.parts, values=values))
        masks = [np.unpackbits(each, count=n) for each, n in zip(bits, table.part_rows, strict=True)]
        structure = structure.part(np.flatnonzero(np.concatenate(masks)))
    try:
        parts = group.per_part(_standardised, [rests[i] for i in filled], response=response)
        group.wait(parts)
    except BaseException:
        group.keep_only()
        raise
    return replace(table, worker_group=group, parts=parts, part_rows=sizes, structure=structure), response


def _is_rest(part: Part, values: Array) -> Booleans:
    assert part.observed is not None
    return ~np.isin(part.observed[:, 0], values)


def _rest(part: Part, values: Array) -> Part:
    """Return the rows of a partition that are no atoms."""
    rows = _is_rest(part, values)
    columns = ("X", "y", "weights", "positions", "keys", "times", "observed")
    given = {name: getattr(part, name) for name in columns}
    return replace(part, **{name: column[rows] for name, column in given.items() if column is not None})


def _rest_facts(part: Part) -> tuple[int, ResponseSummary | None]:
    assert part.observed is not None
    return len(part.X), ResponseSummary.of(part.observed, part.weights) if len(part.X) else None


def _rest_bits(part: Part, values: Array) -> NDArray[np.uint8]:
    return np.packbits(_is_rest(part, values))


def _standardised(part: Part, response: ResponseTable) -> Part:
    assert part.observed is not None
    return replace(part, y=response.standardise(part.observed), observed=None)


def relative_error(table: PartitionedTable, stage_values: Sequence[Any]) -> float:
    """Out-of-fold squared error of the location that is subtracted, over that of the mean, which is zero."""
    error, variance = np.sum(table.gather(table.apply(_error_sums, table.parts, stage_values)), axis=0)
    return float(error / variance) if variance > 0.0 else 1.0


def _error_sums(part: Part, stage_values: FirstStageValues) -> Array:
    rows = stage_values.known(np.arange(len(part.y)))
    w = np.ones(len(rows)) if part.weights is None else part.weights[rows]
    errors = (part.y - stage_values.location)[rows], part.y[rows]
    return np.array([np.sum(w @ each**2) for each in errors])
