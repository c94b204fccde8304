"""What a worker does while all of them train together: bin its rows, and run LightGBM's distributed learners.

Bins come from one sample of all partitions, the same on every worker. LightGBM by itself takes each column's bins from
the rows of one worker, which is wrong for a sorted table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import lightgbm as lgb
import numpy as np

from diffgbm._util.types import Array, Booleans
from diffgbm.dask.network import Link, linked
from diffgbm.dask.part_splits import PartSplits
from diffgbm.dask.reading import Part
from diffgbm.dask.seeds import child_seed
from diffgbm.diffusion.recipe import Recipe
from diffgbm.engine.stored import text_of
from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.boosting import BinnedRows, boost, categorical_columns, params_of
from diffgbm.fitting.noise_design import NOISE_DESIGNS
from diffgbm.fitting.noise_table import NoiseTable, joined
from diffgbm.fitting.noisy_rows import NoisyRows, NoisyRowSequence

IDLE_ROWS = 50
"""Rows that a worker trains on if it has none of a split."""
IDLE_WEIGHT = 1e-9
"""Their weight: it must be positive, since LightGBM divides by the sum of a worker's weights."""


@dataclass(frozen=True)
class WorkerCrossFit:
    """What one worker has of cross-fitted models.

    Attributes
    ----------
    texts : list of list of str
        For each response the boosters of all folds; empty except on the first worker.
    clean : list of ndarray of shape (repeats, n, d)
        For each partition the predictions of models that have not seen its rows; NaN for rows that no fold holds out.
    """

    texts: list[list[str]]
    clean: list[Array]


def sampled_rows(X: Any, count: int, number: int, seed: np.random.SeedSequence) -> Any:
    """Return ``count`` rows of the matrix of partition ``number``, or all of them."""
    if count >= len(X):
        return X
    return X[np.sort(np.random.default_rng(child_seed(seed, number)).choice(len(X), count, replace=False))]


def sampled_part(part: Part, count: int, number: int, seed: np.random.SeedSequence) -> Array:
    """Return ``count`` encoded rows of a partition."""
    return np.asarray(sampled_rows(part.X, count, number, seed))


def cross_fit(
    parts: Sequence[Part],
    targets: Sequence[Array],
    folds: Sequence[PartSplits],
    *,
    repeats: int,
    threads: int,
    is_first: bool,
    **training: Any,
) -> WorkerCrossFit:
    """Fit one booster for each repetition, fold and response, together with the other workers.

    ``training`` are the other arguments of ``boost_folds``.
    """
    clean = [np.full((repeats, *target.shape), np.nan) for target in targets]
    texts: list[list[str]] = [[] for _ in range(targets[0].shape[1])]

    def receive(r: int, j: int, held_out: Sequence[Booleans], booster: lgb.Booster) -> None:
        predict_fold(booster, parts, held_out, [c[r, :, j] for c in clean], threads)
        if is_first:
            texts[j].append(text_of(booster))

    boost_folds(parts, targets, folds, receive, threads=threads, **training)
    return WorkerCrossFit(texts, clean)


def boost_folds(
    parts: Sequence[Part],
    targets: Sequence[Array],
    folds: Sequence[PartSplits],
    receive: Callable[[int, int, Sequence[Booleans], lgb.Booster], None],
    *,
    sample: Sequence[Array],
    means: Array,
    params: Mapping[str, Any],
    rounds: int,
    categorical: Sequence[int],
    link: Link | None,
    threads: int,
) -> None:
    """Train one booster for each repetition, fold and response, together with the other workers.

    ``receive`` gets the number of the repetition and of the response, which rows of each partition are held out, and
    the booster.

    LightGBM needs rows on each worker. One that has none of a fold, which is usual if the table is sorted by time,
    gives a few of its rows hardly any weight, and as their label the mean of the fold, in ``means`` (folds, d).
    """
    params = _for_datasets(params, threads)
    bins = _bins(sample, params, categorical)
    y = np.concatenate(targets)
    weights = weights_of(parts)
    data = _binned([part.X for part in parts], params, categorical, bins)
    with linked(link) as network:
        masks = zip(*(split.masks(part) for split, part in zip(folds, parts, strict=True)), strict=True)
        for fold, of_parts in enumerate(masks):
            r, held_out = of_parts[0][0], [out for _, _, out in of_parts]
            train = np.flatnonzero(np.concatenate([learned for _, learned, _ in of_parts]))
            idle = len(train) == 0
            train = np.arange(min(IDLE_ROWS, len(y))) if idle else train
            rows = data.subset(train.tolist()).construct()
            for j in range(y.shape[1]):
                rows.set_label(np.full(len(train), means[fold, j]) if idle else y[train, j])
                rows.set_weight(
                    np.full(len(train), IDLE_WEIGHT) if idle else None if weights is None else weights[train]
                )
                receive(r, j, held_out, lgb.train({**network, **params}, rows, rounds))


def weights_of(parts: Sequence[Part]) -> Array | None:
    """Return the weights of the rows of several partitions, if they have any."""
    return None if parts[0].weights is None else np.concatenate([p.weights for p in parts if p.weights is not None])


def fold_sums(part: Part, targets: Array, splits: PartSplits) -> Array:
    """Return for each split the weights of the rows to learn from, and their targets times these: (splits, 1 + d)."""
    sums = []
    for _, train, _ in splits.masks(part):
        w = np.ones(int(train.sum())) if part.weights is None else part.weights[train]
        sums.append(np.concatenate([[w.sum()], w @ targets[train]]))
    return np.array(sums)


def predict_fold(
    booster: lgb.Booster,
    parts: Sequence[Part],
    out: Sequence[Booleans],
    clean: Sequence[Array],
    threads: int,
    rounds: int | None = None,
) -> None:
    """Write a booster's predictions of the rows that it has not seen into ``clean`` (n,) of each partition.

    They are those after so many ``rounds``, or of all.
    """
    for part, mask, values in zip(parts, out, clean, strict=True):
        if mask.any():
            values[mask] = booster.predict(part.X[mask], num_iteration=rounds, num_threads=threads)


def noise_table(part: Part, stage_values: FirstStageValues, categorical: Sequence[int]) -> NoiseTable:
    """Return what the noise model learns from a partition."""
    return NoiseTable.of(part.X, part.y, part.weights, categorical, stage_values, part.positions)


def held_out_rows(table: NoiseTable, part: Part, split: PartSplits) -> NoiseTable:
    """Return the rows of a partition that decide when to stop."""
    _, _, held_out = next(iter(split.masks(part)))
    return table.part(held_out)


def noisy_part(
    table: NoiseTable,
    part: Part,
    split: PartSplits,
    number: int,
    *,
    recipe: Recipe,
    repeats: int,
    seed: np.random.SeedSequence,
    design: str,
) -> NoisyRows:
    """Make the noisy copies of the rows of partition ``number`` that are learned from."""
    _, train, _ = next(iter(split.masks(part)))
    rows = np.flatnonzero(train)
    seed = seed if NOISE_DESIGNS[design].by_row else child_seed(seed, number)
    return table.noisy_copies(rows, recipe, repeats, seed, design)


def sampled_noisy(noisy: NoisyRows, count: int, number: int, seed: np.random.SeedSequence) -> Array:
    """Return ``count`` noisy rows as LightGBM sees them."""
    return NoisyRowSequence(noisy).rows(sampled_rows(np.arange(len(noisy)), count, number, seed))


def train_noise(
    noisy: Sequence[NoisyRows],
    *,
    held_out: Sequence[NoiseTable],
    sample: Sequence[Array],
    recipe: Recipe,
    params: Mapping[str, Any],
    rounds: int,
    patience: int | None,
    repeats: int,
    seed: np.random.SeedSequence,
    design: str,
    categorical: Sequence[int],
    link: Link | None,
    threads: int,
    is_first: bool,
) -> list[str]:
    """Fit one booster for each response, together with the other workers; the first one returns them.

    All workers evaluate the same held-out rows with the same trees, so that all stop after the same round.
    """
    noisy = [part for part in noisy if len(part)] or [_idle_rows(noisy[0])]
    params = params_of(noisy[0], _for_datasets(params, threads))
    columns = categorical_columns(noisy[0], categorical)
    bins = _bins(sample, params, columns)
    train, valid = _binned_noise(noisy, params, columns, bins), None
    if patience:
        table = joined(held_out)
        copies = table.validation_copies(np.arange(len(table.X)), recipe, repeats, seed, design)
        valid = None if copies is None else _binned_noise([copies], params, columns, bins)
    with linked(link) as network:
        boosters = boost(
            train, valid, params={**network, **params}, n_estimators=rounds, early_stopping_rounds=patience
        )
    return [text_of(booster) for booster in boosters] if is_first else []


def _idle_rows(noisy: NoisyRows) -> NoisyRows:
    """Return rows of hardly any weight, and of residual 0, for a worker whose rows are all held out."""
    m, d = min(IDLE_ROWS, len(noisy.X)), noisy.y.shape[1]
    first = np.arange(m)
    return replace(
        noisy,
        y=np.zeros((m, d)),
        row_weights=np.full(m, IDLE_WEIGHT),
        times=np.full(m, 0.5),
        noise=np.zeros((m, d)),
        chosen=first,
    )


def _for_datasets(params: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Add the parameters that LightGBM needs before it bins: each worker has its rows, all columns are kept."""
    return {**params, "num_threads": threads, "pre_partition": True, "feature_pre_filter": False}


def _bins(sample: Sequence[Array], params: Mapping[str, Any], categorical: Sequence[int]) -> lgb.Dataset:
    """Bin a sample of all partitions; every worker's rows are binned by it."""
    rows = np.concatenate(sample)
    return lgb.Dataset(
        rows, label=np.zeros(len(rows)), params=dict(params), categorical_feature=list(categorical)
    ).construct()


def _binned_noise(
    parts: Sequence[NoisyRows], params: Mapping[str, Any], categorical: Sequence[int], bins: lgb.Dataset
) -> BinnedRows:
    """Bin the noisy rows of several partitions, which are laid end to end, by the bins of the sample."""
    weights = [w for w in (part.weights for part in parts) if w is not None]
    sequences = [NoisyRowSequence(part) for part in parts]
    data = _binned(sequences, params, categorical, bins, np.concatenate(weights) if weights else None)
    labels = zip(*(part.labels() for part in parts), strict=True)
    return BinnedRows(data, [np.concatenate(response) for response in labels])


def _binned(
    blocks: list[Any],
    params: Mapping[str, Any],
    categorical: Sequence[int],
    bins: lgb.Dataset,
    weights: Array | None = None,
) -> lgb.Dataset:
    """Bin blocks of rows, as arrays or sequences, by the bins of the sample."""
    cats = list(categorical)
    return lgb.Dataset(
        blocks, weight=weights, params=dict(params), categorical_feature=cats, reference=bins
    ).construct()
