"""The contest: candidates scored by the CRPS of rows they have not seen, on more rows and trees each round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.budget import Clock
from diffgbm.auto.first_stages import Stages
from diffgbm.auto.pool import point_crps, pool_crps, pool_terms, pool_weights
from diffgbm.auto.presets import RECIPES, Rung
from diffgbm.data.features import FeatureTable
from diffgbm.data.response import ResponseTable
from diffgbm.data.splits import bag_splits, subsample
from diffgbm.diffusion.recipe import Recipe, resolve
from diffgbm.diffusion.sampler import Sampler
from diffgbm.first_stage import FirstStageValues, FittedFirstStage
from diffgbm.fitting.bags import Bag, NoiseTable, train_bag
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.sizes import SIZES
from diffgbm.fitting.training import lightgbm_params, seed_integer

TRAINED = 0.9
"""Share of the time limit after which training stops: the laws of unseen rows and their correction take the rest."""

POINTS = 55
"""Points of a law that is only scored; noise is arranged best for Fibonacci numbers."""
ENOUGH_ROWS = 500
"""Unseen rows that a score is an average of, if there are so many."""
SPLITS = 5
"""A candidate learns from four fifths of the rows and is scored on the rest."""


@dataclass(frozen=True)
class Candidate:
    """One way to model the table.

    Attributes
    ----------
    subtracted : str
        First-stage model that is taken out of the response, or ``"none"``.
    given : tuple of str
        First-stage models that the noise model sees as columns.
    recipe, capacity : str
        Names in ``RECIPES`` and ``SIZES``.
    sampler : Sampler or None
        Another than the recipe's own.
    """

    subtracted: str
    given: tuple[str, ...]
    recipe: str
    capacity: str = "usual"
    sampler: Sampler | None = None

    def __str__(self) -> str:
        first_stage = f"{self.subtracted} subtracted" if self.subtracted != "none" else "nothing subtracted"
        given = f", {' and '.join(self.given)} given" if self.given else ""
        sampler = f", {self.sampler}" if self.sampler else ""
        return f"{self.recipe}, {first_stage}{given}, {self.capacity}{sampler}"


@dataclass
class Contest:
    """What all candidates share, and what became of them.

    Attributes
    ----------
    features, response : FeatureTable, ResponseTable
        How the user's tables are read and written.
    stages : Stages
        Fitted first-stage models and the table itself.
    params : dict
        Arguments of ``DiffGBM`` that no candidate changes.
    seed, n_jobs : int
        Seed and threads.
    clock : Clock
        Time.
    noisy_rows : int
        Rows times repeats of a final model, about.
    board : list of dict
        A line for each candidate and round.
    first_scores : dict
        Score of each candidate in its first round.
    """

    features: FeatureTable
    response: ResponseTable
    stages: Stages
    params: dict[str, Any]
    seed: int
    n_jobs: int
    clock: Clock
    noisy_rows: int
    report: Callable[[str], None]
    board: list[dict[str, Any]] = field(default_factory=list)
    first_scores: dict[Candidate, float] = field(default_factory=dict)
    _first_stages: dict[tuple[str, tuple[str, ...]], tuple[FittedFirstStage, FirstStageValues, Array]] = field(
        default_factory=dict
    )

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.stages.task.y)

    def with_first_stage(self, candidate: Candidate) -> tuple[FittedFirstStage, FirstStageValues, Array]:
        """Return the candidate's guide, what it says of the training rows, and the rows with its columns."""
        key = (candidate.subtracted, candidate.given)
        if key not in self._first_stages:
            first_stage, said = self.stages.first_stage(*key)
            X = self.stages.task.X
            self._first_stages[key] = first_stage, said, np.hstack([X, said.features]) if said.features.shape[1] else X
        return self._first_stages[key]

    def arguments(self, candidate: Candidate, capacity: str | None, n_repeats: int) -> dict[str, Any]:
        """Return the candidate as arguments of ``DiffGBM``."""
        size = SIZES[capacity or candidate.capacity]
        return {**self.params, **RECIPES[candidate.recipe], **size, "n_repeats": n_repeats}

    def train(
        self, candidate: Candidate, params: dict[str, Any], split: tuple[Rows, Rows], stream: tuple[int, ...]
    ) -> tuple[FittedModel, Bag]:
        """Train one bag of a candidate on the rows of a split; ``stream`` names its random numbers."""
        first_stage, said, X = self.with_first_stage(candidate)
        task = self.stages.task
        table = NoiseTable(X, (task.y - said.location) / said.scale, task.weights, task.categorical)
        recipe: Recipe = resolve(params)
        if candidate.sampler is not None:
            recipe = replace(recipe, sampler=candidate.sampler)
        seeds = np.random.SeedSequence((self.seed, *stream)).spawn(3)
        bag = train_bag(
            table,
            recipe,
            split,
            params=params,
            lightgbm=lightgbm_params(params, seed_integer(seeds[2]), self.n_jobs),
            seeds=seeds[:2],
            tick=lambda loss: None,
            stop=lambda: self.clock.over(TRAINED),
        )
        model = FittedModel(
            self.features, self.response, first_stage, recipe, (bag.boosters,), "mixture", "auto", self.n_jobs
        )
        return model, bag

    def points(self, candidate: Candidate, model: FittedModel, rows: Rows, n_points: int = POINTS) -> Array:
        """Sorted points of the laws of training rows, guided out of fold: shape (rows, n_points, d)."""
        _, said, _ = self.with_first_stage(candidate)
        X = self.stages.task.X[rows]
        points = model.points(X, model.recipe.sampler, n_points, self.n_jobs, said=said[rows])
        return np.sort(points, axis=1)

    def score(self, points: Array, rows: Rows) -> float:
        """CRPS of laws (rows, n_points, d) in units of the response's spread, averaged over responses."""
        terms = [self.terms([points], rows, j) for j in range(points.shape[2])]
        return float(np.mean([pool_crps(np.ones(1), *term) for term in terms]))

    def losses(self, points: Array, rows: Rows) -> Array:
        """CRPS of each row's law (rows, n_points, d), as in ``score``: shape (rows,)."""
        own = [point_crps(points[:, :, j] / self.unit(j), self.observed(rows, j)) for j in range(points.shape[2])]
        return np.mean(own, axis=0)

    def weights(self, rows: Rows) -> Array | None:
        """Weights of some rows, if rows have any."""
        return None if self.stages.task.weights is None else self.stages.task.weights[rows]

    def unit(self, j: int) -> float:
        """Spread of response ``j``."""
        return float(self.response.scale[j] or 1.0)

    def observed(self, rows: Rows, j: int) -> Array:
        """Response ``j`` of some rows, in units of its spread."""
        return self.response.location[j] / self.unit(j) + self.stages.task.y[rows, j]

    def terms(self, members: Sequence[Array], rows: Rows, j: int) -> tuple[Array, Array]:
        """Return the terms of the pool's CRPS for response ``j``, in units of its spread."""
        points = [distribution[:, :, j] / self.unit(j) for distribution in members]
        return pool_terms(points, self.observed(rows, j), self.weights(rows))

    def round(self, number: int, rung: Rung, candidates: Sequence[Candidate], share: float) -> list[Candidate]:
        """Train and score candidates on a part of the rows; return those that go on, best first.

        Those go on that a pool of all of them would hold, then the next best: what is a little worse but different is
        worth more to a pool than what is nearly the same.
        """
        n = min(rung.rows, self.n_rows)
        part = subsample(self.n_rows, n, self.seed)[0]
        # few rows say little: they are scored in more than one split
        cuts = bag_splits(n, SPLITS, 0.2, self.seed, True)[: int(np.clip(ENOUGH_ROWS * SPLITS // n, 1, SPLITS))]
        rows = part[np.concatenate([out for _, out in cuts])]
        distributions: dict[Candidate, Array] = {}
        slowest = 0.0
        for i, candidate in enumerate(candidates):
            if distributions and not self.clock.fits(slowest, share):
                break
            self.report(f"round {number + 1}: {i + 1} of {len(candidates)}")
            before = self.clock.spent
            params = self.arguments(candidate, rung.capacity, rung.n_repeats)
            points = []
            for b, (train, out) in enumerate(cuts):
                model, _ = self.train(candidate, params, (part[train], part[out]), (number, b))
                points.append(self.points(candidate, model, part[out]))
            distributions[candidate] = np.concatenate(points)
            seconds = self.clock.spent - before
            slowest = max(slowest, seconds)
            score = self.score(distributions[candidate], rows)
            self.first_scores.setdefault(candidate, score)
            self.note(candidate, f"round {number + 1}", score, seconds, n)
        return self.chosen(distributions, rows, rung.keep)

    def chosen(self, distributions: Mapping[Candidate, Array], rows: Rows, keep: int) -> list[Candidate]:
        """Return ``keep`` candidates, those of a pool of all first; in order of their scores."""
        names = list(distributions)
        to_y, between = self.mean_terms(list(distributions.values()), rows)
        scores = to_y - 0.5 * np.diagonal(between)
        order = np.lexsort((scores, -pool_weights(to_y, between)))[:keep]
        best = int(np.argmin(scores))
        kept = set(order.tolist()) | {best}
        return [names[i] for i in np.argsort(scores, kind="stable") if i in kept]

    def mean_terms(self, members: Sequence[Array], rows: Rows) -> tuple[Array, Array]:
        """Return the terms of the pool's CRPS, averaged over responses."""
        parts = [self.terms(members, rows, j) for j in range(members[0].shape[2])]
        return np.mean([part[0] for part in parts], axis=0), np.mean([part[1] for part in parts], axis=0)

    def note(self, candidate: Candidate, stage: str, crps: float, seconds: float, rows: int) -> None:
        """Add a line to the board."""
        self.board.append(
            {
                "model": str(candidate),
                "stage": stage,
                "crps": crps * float(np.mean(self.response.scale)),
                "relative_crps": crps,
                "rows": rows,
                "seconds": round(seconds, 2),
            }
        )
