"""What a worker does while all of them train together: its rows to a binned table, LightGBM's learners to boosters.

Bins come from one sample of all partitions, the same on every worker. LightGBM by itself would take each column's bins
from the rows of one worker, which is wrong for a table that is sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.dask.network import Link, linked
from diffgbm.dask.reading import Part
from diffgbm.dask.rows import nth
from diffgbm.data.splits import hashed_folds, hashed_holdout
from diffgbm.diffusion.recipe import Recipe
from diffgbm.engine.stored import text_of
from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.bags import VALIDATION_ROWS
from diffgbm.fitting.boosting import NoisyRows, _RowSequence, noisy_rows


@dataclass(frozen=True)
class Rows:
    """What the noise model learns from: a ``Part`` with residuals and the guides' columns (n, k)."""

    X: Array
    residuals: Array
    weights: Array | None
    given: Array | None = None


@dataclass(frozen=True)
class Folds:
    """How rows are dealt out for cross-fitting: ``len(keys)`` times to ``k`` folds."""

    k: int
    keys: tuple[int, ...]


@dataclass(frozen=True)
class CrossFit:
    """What a worker has of cross-fitted models.

    Attributes
    ----------
    texts : list of list of str
        For each response the boosters of all folds; nothing but on the first worker.
    clean : list of ndarray of shape (repeats, n, d)
        For each partition the predictions of models that have not seen its rows.
    """

    texts: list[list[str]]
    clean: list[Array]


def sampled_rows(X: Any, count: int, number: int, seed: np.random.SeedSequence) -> Any:
    """Return ``count`` rows of a partition's matrix, or all of them."""
    if count >= len(X):
        return X
    return X[np.sort(np.random.default_rng(nth(seed, number)).choice(len(X), count, replace=False))]


def sampled_part(part: Part, count: int, number: int, seed: np.random.SeedSequence) -> Array:
    """Return ``count`` encoded rows of a partition."""
    return np.asarray(sampled_rows(part.X, count, number, seed))


def cross_fit(
    parts: Sequence[Part],
    targets: Sequence[Array],
    *,
    sample: Sequence[Array],
    dealt: Folds,
    params: Mapping[str, Any],
    rounds: int,
    categorical: Sequence[int],
    link: Link | None,
    threads: int,
    is_first: bool,
) -> CrossFit:
    """Fit one booster for each repetition, fold and response, together with the other workers."""
    params = _for_datasets(params, threads)
    bins = _bins(sample, params, categorical)
    y = np.concatenate(targets)
    weights = None if parts[0].weights is None else np.concatenate([p.weights for p in parts if p.weights is not None])
    data = _binned([part.X for part in parts], params, categorical, bins)
    clean = [np.zeros((len(dealt.keys), *target.shape)) for target in targets]
    texts: list[list[str]] = [[] for _ in range(y.shape[1])]
    with linked(link) as network:
        for r, key in enumerate(dealt.keys):
            fold = [hashed_folds(part.positions, dealt.k, key) for part in parts]
            for k in range(dealt.k):
                train = np.flatnonzero(np.concatenate(fold) != k)
                rows = data.subset(train.tolist()).construct()
                for j in range(y.shape[1]):
                    rows.set_label(y[train, j])
                    rows.set_weight(None if weights is None else weights[train])
                    booster = lgb.train({**network, **params}, rows, rounds)
                    _predict_fold(booster, parts, [own == k for own in fold], [c[r, :, j] for c in clean], threads)
                    if is_first:
                        texts[j].append(text_of(booster))
    return CrossFit(texts, clean)


def _predict_fold(
    booster: lgb.Booster, parts: Sequence[Part], out: Sequence[NDArray[np.bool_]], clean: Sequence[Array], threads: int
) -> None:
    """Write into ``clean`` (n,) of each partition what a booster says of the rows that it has not seen."""
    for part, mask, values in zip(parts, out, clean, strict=True):
        if mask.any():
            values[mask] = booster.predict(part.X[mask], num_threads=threads)


def residual_rows(part: Part, said: FirstStageValues | None) -> Rows:
    """Take out of a partition's responses what the guides say of them."""
    if said is None:
        return Rows(part.X, part.y, part.weights)
    given = said.features if said.features.shape[1] else None
    return Rows(part.X, (part.y - said.location) / said.scale, part.weights, given)


def held_out_rows(rows: Rows, part: Part, share: float, hash_key: int) -> Rows:
    """Return the rows that decide when to stop: a ``share`` of them."""
    mask = hashed_holdout(part.positions, share, hash_key)
    weights, given = (None if column is None else column[mask] for column in (rows.weights, rows.given))
    return Rows(rows.X[mask], rows.residuals[mask], weights, given)


def noisy_part(
    rows: Rows,
    part: Part,
    number: int,
    *,
    share: float,
    hash_key: int,
    recipe: Recipe,
    repeats: int,
    seed: np.random.SeedSequence,
) -> NoisyRows:
    """Make the noisy copies of the rows of partition ``number`` that are not held out."""
    chosen = np.flatnonzero(~hashed_holdout(part.positions, share, hash_key))
    weights = None if rows.weights is None else rows.weights[chosen]
    rng = np.random.default_rng(nth(seed, number))
    return noisy_rows(recipe, rows.X, rows.residuals[chosen], weights, repeats, rng, chosen, rows.given)


def sampled_noisy(noisy: NoisyRows, count: int, number: int, seed: np.random.SeedSequence) -> Array:
    """Return ``count`` noisy rows as LightGBM sees them."""
    return _RowSequence(noisy).rows(sampled_rows(np.arange(len(noisy)), count, number, seed))


def train_noise(
    noisy: Sequence[NoisyRows],
    *,
    held_out: Sequence[Rows],
    sample: Sequence[Array],
    recipe: Recipe,
    params: Mapping[str, Any],
    rounds: int,
    patience: int | None,
    repeats: int,
    seed: np.random.SeedSequence,
    categorical: Sequence[int],
    link: Link | None,
    threads: int,
    is_first: bool,
) -> list[str]:
    """Fit one booster for each response, together with the other workers; the first one returns them.

    All workers evaluate the same held-out rows with the same trees, so that all stop after the same round.
    """
    params = _for_datasets(params, threads)
    noisy = [part for part in noisy if len(part)]
    d = noisy[0].y.shape[1]
    categorical = [d + j for j in categorical]
    bins = _bins(sample, params, categorical)
    weights = [w for w in (part.weights for part in noisy) if w is not None]
    data = _binned(
        [_RowSequence(part) for part in noisy], params, categorical, bins, np.concatenate(weights) if weights else None
    )
    valid = _held_out_copies(held_out, recipe, repeats, seed) if patience else None
    stop = None
    if valid is not None and patience:
        stop = _binned([_RowSequence(valid)], params, categorical, bins, valid.weights)
    labels, texts = [part.labels() for part in noisy], []
    with linked(link) as network:
        for j in range(d):
            data.set_label(np.concatenate([own[j] for own in labels]))
            options: dict[str, Any] = {}
            if stop is not None and valid is not None and patience:
                stop.set_label(valid.labels()[j])
                options = {"valid_sets": [stop], "callbacks": [lgb.early_stopping(patience, verbose=False)]}
            booster = lgb.train({**network, **params}, data, rounds, **options)
            if is_first:
                texts.append(text_of(booster))
    return texts


def _held_out_copies(
    held_out: Sequence[Rows], recipe: Recipe, repeats: int, seed: np.random.SeedSequence
) -> NoisyRows | None:
    X = np.concatenate([rows.X for rows in held_out])
    if len(X) == 0:
        return None
    copies = min(repeats, -(-VALIDATION_ROWS // len(X)))
    residuals = np.concatenate([rows.residuals for rows in held_out])
    weights = [rows.weights for rows in held_out if rows.weights is not None]
    given = [rows.given for rows in held_out if rows.given is not None]
    w, columns = (np.concatenate(parts) if parts else None for parts in (weights, given))
    return noisy_rows(recipe, X, residuals, w, copies, np.random.default_rng(seed), given=columns)


def _for_datasets(params: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Return parameters with what LightGBM must be told before it bins: rows are the worker's own, columns all kept."""
    return {**params, "num_threads": threads, "pre_partition": True, "feature_pre_filter": False}


def _bins(sample: Sequence[Array], params: Mapping[str, Any], categorical: Sequence[int]) -> lgb.Dataset:
    """Bin a sample of all partitions: what every worker's rows are binned by."""
    rows = np.concatenate(sample)
    return lgb.Dataset(
        rows, label=np.zeros(len(rows)), params=dict(params), categorical_feature=list(categorical)
    ).construct()


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
