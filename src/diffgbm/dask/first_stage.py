"""First-stage models on a cluster: the boosters of a fold are trained by all workers together.

How their predictions are put together is that of a table in memory (``first_stage.assembly``), with two differences.
Rows without an order in time are assigned to folds by a hash of their position. Quantiles of the residuals are those of
a sample where there are more than ``SAMPLE`` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from diffgbm._util.types import Array, Booleans
from diffgbm.dask.boosting import WorkerCrossFit, cross_fit, fold_sums, sampled_part, sampled_rows
from diffgbm.dask.part_splits import HashedFolds, PartSplits, given_splits
from diffgbm.dask.reading import Part
from diffgbm.dask.worker_group import Future, WorkerGroup
from diffgbm.data.splits import k_folds, ordered_folds
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.engine.stored import StoredBooster
from diffgbm.first_stage import Plan
from diffgbm.first_stage.cross_fitting import CrossFitted, FirstStage, combine, with_values
from diffgbm.first_stage.lightgbm_mean import BoosterAverage, LightGBMMean, first_stage_params
from diffgbm.fitting.training import seed_integer

Model = TypeVar("Model")

SAMPLE = 1_000_000
"""Residuals that quantiles are estimated from."""
BIN_ROWS = 200_000
"""Rows that the bins of first-stage models are made of, LightGBM's default."""


@dataclass(frozen=True)
class PartitionedTable:
    """A training table in partitions on the workers: ``TrainingRows`` whose columns are lists of futures.

    Attributes
    ----------
    worker_group : WorkerGroup
        The workers that hold the partitions.
    parts : list of Future
        Partitions, each a ``Part``.
    part_rows : list of int
        Rows of each partition.
    n_responses : int
        Number of response coordinates.
    categorical : list of int
        Categorical columns.
    seed : SeedSequence
        Seed of folds and samples.
    k_folds, repeats : int
        ``repeats`` divisions of the rows into ``k_folds``.
    time_out : int
        Minutes that a worker waits for another.
    structure : Structure
        With an order in time, that of all rows, and the labels of those that stay together; these are rows of the
        partitions in turn. Without an order nothing: keys of the rows are hashed.
    """

    worker_group: WorkerGroup
    parts: list[Future]
    part_rows: list[int]
    n_responses: int
    categorical: list[int]
    seed: np.random.SeedSequence
    k_folds: int
    repeats: int
    time_out: int
    structure: Structure = INDEPENDENT

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.part_rows)

    @property
    def n_models(self) -> int:
        """Models of one response: one for each fold of each repetition."""
        return self.repeats * self.k_folds

    @cached_property
    def responses(self) -> list[Future]:
        """Standardised responses (n, d) of each partition."""
        return self.apply(_responses, self.parts)

    def apply(self, function: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> list[Future]:
        """Apply a function to columns, partition by partition, where they are."""
        return self.worker_group.per_part(function, *columns, **common)

    def gather(self, columns: Sequence[Future]) -> list[Any]:
        """Return what each partition holds, in order."""
        return self.worker_group.results(columns)

    def sample(self, columns: Sequence[Future]) -> Array:
        """Return at most about ``SAMPLE`` rows of columns (n, k), for quantiles."""
        numbers = range(len(columns))
        found = self.gather(self.apply(sampled_rows, columns, self.shares(SAMPLE), numbers, seed=self.seed))
        return with_values(np.concatenate(found))

    def shares(self, count: int, copies: int = 1) -> list[int]:
        """How many of ``count`` rows each partition contributes to a sample, if there are ``copies`` of each row."""
        count = min(count, copies * self.n_rows)
        return [-(-count * n // self.n_rows) for n in self.part_rows]

    def cross_fit(self, stage: FirstStage, targets: Sequence[Future]) -> CrossFitted:
        """Fit the boosters of all folds to ``targets`` (n, d), on all workers together."""
        assert isinstance(stage, LightGBMMean)
        params, rounds, _ = first_stage_params(stage.params, self.lightgbm_seed, 1)
        fitted = self.on_folds(cross_fit, targets, params=params, rounds=rounds, repeats=self.repeats)
        average, gained = combine(self, self.worker_group.split(fitted, _clean))
        (texts,) = self.gather([self.worker_group.at(self.worker_group.workers[0], _texts, fitted[0])])
        models = BoosterAverage(tuple(tuple(map(StoredBooster, self.predicting(each))) for each in texts))
        return CrossFitted(models, average, gained)

    def on_folds(self, function: Callable[..., Any], targets: Sequence[Future], **options: Any) -> list[Future]:
        """Call a function that trains on the folds of ``targets`` (n, d) on all workers together; wait for them."""
        folds = self._folds(self._keys[1:], targets)
        numbers = range(len(self.parts))
        fitted = self.worker_group.per_worker(
            function,
            self.parts,
            targets,
            folds,
            sample=self.apply(sampled_part, self.parts, self.shares(BIN_ROWS), numbers, seed=self.seed),
            means=self._means(targets, folds),
            categorical=self.categorical,
            time_out=self.time_out,
            **options,
        )
        self.worker_group.wait(fitted)
        return fitted

    @property
    def _keys(self) -> tuple[int, ...]:
        """Random numbers: one for LightGBM, and one for each division into folds."""
        return tuple(int(key) for key in self.seed.generate_state(1 + self.repeats, np.uint64))

    @property
    def lightgbm_seed(self) -> int:
        """Seed of LightGBM."""
        return self._keys[0] >> 33

    def predicting(self, models: Sequence[Model]) -> Sequence[Model]:
        """Return the models that predict new rows: all, or by time the last one, which learned from all rows."""
        return models[-1:] if self.is_ordered else models

    @property
    def is_ordered(self) -> bool:
        """Whether the rows have an order in time."""
        return self.structure.order is not None

    def _folds(self, keys: tuple[int, ...], targets: Sequence[Future]) -> list[PartSplits]:
        """Return the folds of each partition; by time those of a table in memory, of the rows that have targets."""
        if not self.is_ordered:
            return [HashedFolds(self.k_folds, keys)] * len(self.parts)
        rows = np.flatnonzero(np.concatenate(self.gather(self.apply(_have_values, targets))))
        structure, seed = self.structure.part(rows), seed_integer(self.seed)
        k = min(self.k_folds, len(rows))
        found = (ordered_folds if structure.order is not None else k_folds)(len(rows), k, seed, structure)
        folds = [(rows[train], rows[held_out]) for train, held_out in found]
        return list(given_splits([*folds, (rows, rows[:0])], self.part_rows))

    def _means(self, targets: Sequence[Future], folds: Sequence[PartSplits]) -> Array:
        """Return the means of the targets that each fold learns from (folds, d)."""
        if not self.is_ordered:
            return np.zeros((self.n_models, self.n_responses))
        sums = np.sum(self.gather(self.apply(fold_sums, self.parts, targets, folds)), axis=0)
        return np.asarray(sums[:, 1:] / sums[:, :1])


def check_plan(plan: Plan, owner: str) -> None:
    """Refuse first-stage models that are not trained by LightGBM."""
    stages = [stage for stage in (plan.subtracted, plan.scaled, *plan.features) if stage is not None]
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


def _have_values(targets: Array) -> Booleans:
    return np.asarray(~np.isnan(targets).any(axis=1))


def _responses(part: Part) -> Array:
    return part.y


def _clean(fitted: WorkerCrossFit, number: int) -> Array:
    return fitted.clean[number]


def _texts(fitted: WorkerCrossFit) -> list[list[str]]:
    return fitted.texts
