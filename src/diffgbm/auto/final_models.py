"""The final models: the best candidates trained on all rows, bag by bag, and pooled by their out-of-bag predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.budget import BUDGET
from diffgbm.auto.candidates import CLIMATOLOGY, Candidate
from diffgbm.auto.climatology import Climatology, out_of_bag_points
from diffgbm.auto.climatology_choice import climatology_weight
from diffgbm.auto.leaderboard import FINAL
from diffgbm.auto.pool import mixture_points, pool_weights
from diffgbm.auto.presets import Preset
from diffgbm.auto.problem import Problem
from diffgbm.auto.progress import Progress
from diffgbm.auto.sampler_choice import MIN_GAIN, better_sampler, deciding_bag, lowers, with_sampler
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.trainer import Trainer
from diffgbm.data.splits import Split, bag_splits, bags_by_rows, subsample
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.training_table import TrainingTable
from diffgbm.members.member import FittedMember

POINTS = 89
"""Points of an out-of-bag distribution."""
POOL_POINTS = 4 * POINTS
"""Points of an out-of-bag distribution of several models."""
MAX_SCORE_RATIO = 1.1
"""A model gets no second bag if its first one scores worse than the best model's by more than this factor."""
STREAM = 99
"""Name of the streams of random numbers of final models; rounds of the search have smaller ones."""
CELLS_PER_SECOND, ROWS_PER_SECOND = 3e6, 5000.0
"""Numbers of noisy rows that are binned, and rows that are predicted, by one thread."""
MIN_REPEATS, MIN_TRAINING_ROWS, MIN_SCORED_ROWS = 3, 2000, 1000
"""Least noisy copies, rows to learn from and rows to predict of a bag that is limited."""

Splits = Sequence[Split]


@dataclass(frozen=True, eq=False)
class FinalModel:
    """A candidate and its bags so far.

    Attributes
    ----------
    candidate : Candidate
        What it is.
    model : FittedModel or None
        All bags together.
    points : tuple of ndarray of shape (rows, POINTS, d)
        For each bag the predictive distributions of the rows that it holds out.
    seconds : float
        Time of the slowest bag.
    member : FittedMember or None
        A member from outside, which has no ``model``.
    """

    candidate: Candidate
    model: FittedModel | None = None
    points: tuple[Array, ...] = ()
    seconds: float = 0.0
    member: FittedMember | None = None


@dataclass(frozen=True, eq=False)
class Pool:
    """Final models with their weights.

    Attributes
    ----------
    members : tuple of FittedModel
        Models of positive weight; the best model, without weight, where climatology or outside members are everything.
    candidates : tuple of Candidate
        What they are.
    weights : ndarray of shape (k,)
        Their weights.
    points : ndarray of shape (rows, m, d)
        Sorted points of the pool's out-of-bag distributions.
    rows : ndarray of int
        The rows that these are predictions of.
    splits : tuple of (ndarray of int, ndarray of int)
        The training rows and the held-out rows of these predictions; the latter are ``rows``.
    climatology : Climatology or None
        The training responses, if they have a weight.
    outside : tuple of FittedMember
        Members from outside of positive weight.
    outside_candidates : tuple of Candidate
        What they are called.
    """

    members: tuple[FittedModel, ...]
    candidates: tuple[Candidate, ...]
    weights: Array
    points: Array
    rows: Rows
    splits: tuple[Split, ...] = ()
    climatology: Climatology | None = None
    outside: tuple[FittedMember, ...] = ()
    outside_candidates: tuple[Candidate, ...] = ()


def repeats_for(noisy_rows: int, n_rows: int) -> int:
    """Return the noisy copies of each row: thirty, as in the paper, and fewer on large tables."""
    return int(np.clip(noisy_rows // n_rows, 8, 30))


def affordable(splits: Splits, n_repeats: int, width: int, limit: float, seed: int) -> tuple[int, list[Split]]:
    """Return the noisy copies and the splits of bags that a time limit allows on a large table.

    Rows are binned before the first boosting round, and the rows that a bag holds out are predicted after the last.
    Neither may take more than a share of the limit, at a speed that most machines reach. This depends on the limit and
    not on the clock, so that two fits are equal.

    Parameters
    ----------
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from, and rows held out, of each bag.
    n_repeats, width : int
        Noisy copies of each row, and columns of a noisy row.
    limit : float
        Seconds.
    seed : int
        Seed of the rows that are left.
    """
    allowed = BUDGET.binning * limit * CELLS_PER_SECOND / width
    n_repeats = int(np.clip(allowed // len(splits[0][0]), min(MIN_REPEATS, n_repeats), n_repeats))
    rows = max(MIN_TRAINING_ROWS, int(allowed // n_repeats))
    scored = max(MIN_SCORED_ROWS, int(BUDGET.scoring * limit * ROWS_PER_SECOND))

    def some(values: Rows, most: int) -> Rows:
        return values if len(values) <= most else values[subsample(len(values), most, seed)[0]]

    return n_repeats, [(some(train, rows), some(held_out, scored)) for train, held_out in splits]


def bag_plan(problem: Problem, preset: Preset, limit: float | None) -> tuple[int, list[Split]]:
    """Return the noisy copies of each row and the splits of the bags, which all final models share."""
    splits = bag_splits(problem.n_rows, preset.bags, 0.2, problem.seed, True, structure=problem.table.structure)
    n_repeats = repeats_for(preset.noisy_rows, problem.n_rows)
    if limit is None:
        return n_repeats, splits
    return affordable(splits, n_repeats, problem.table.X.shape[1] + 3, limit, problem.seed)


def train_final_models(
    trainer: Trainer,
    scorer: Scorer,
    candidates: Sequence[Candidate],
    preset: Preset,
    progress: Progress,
    plan: tuple[int, Splits] | None = None,
    outside: Sequence[FinalModel] = (),
) -> Pool:
    """Train the bags of all candidates in turn while there is time, and pool them.

    All candidates share the splits of ``plan``: bag ``b`` of each holds out the same rows. As soon as enough rows were
    held out, other samplers are compared if the preset allows it. Members from ``outside`` are fitted already.
    """
    problem = trainer.problem
    n_repeats, splits = bag_plan(problem, preset, progress.clock.limit) if plan is None else plan
    deciding = deciding_bag(splits) if preset.samplers else None
    models = [FinalModel(candidate) for candidate in candidates]
    for b in range(len(splits)):
        models = _with_bags(trainer, scorer, models, splits, b, n_repeats, progress)
        models = _competitive(scorer, models, splits)
        if progress.clock.over(progress.clock.training):
            break
        if b == deciding:
            models = with_better_samplers(trainer, scorer, models, splits, progress)
    pool = with_members(scorer, pooled(scorer, models, splits), models, outside, splits)
    models = [*models, *outside]
    # weights are written as climatology leaves them
    pool, score = with_climatology(scorer, pool, problem.table)
    _record_weights(scorer, models, pool, progress)
    share = 0.0 if pool.climatology is None else pool.climatology.weight
    progress.leaderboard.add(CLIMATOLOGY, f"{FINAL}{share:.2f}", score, 0.0, len(pool.rows))
    return pool


def with_climatology(scorer: Scorer, pool: Pool, table: TrainingTable) -> tuple[Pool, float]:
    """Give climatology its weight in a pool; return the pool with climatology's out-of-bag CRPS.

    Each held-out row is compared with the responses of its bag's training rows. Where climatology has no weight the
    pool stays as it is.
    """
    climatology = out_of_bag_points(table.observed, table.weights, pool.splits, POINTS)
    score = scorer.score(climatology, pool.rows)
    models = mixture_points([pool.points], np.ones(1), POINTS)
    weight = climatology_weight(scorer, models, climatology, pool.rows)
    if weight == 0.0:
        return pool, score
    if weight == 1.0:
        points = out_of_bag_points(table.observed, table.weights, pool.splits, POOL_POINTS)
        return replace(climatology_alone(pool, table), points=points), score
    both = np.array([1.0 - weight, weight])
    mixed = replace(
        pool,
        weights=(1.0 - weight) * pool.weights,
        outside=tuple(member.weighted((1.0 - weight) * member.weight) for member in pool.outside),
        points=mixture_points([pool.points, climatology], both, POOL_POINTS),
        climatology=Climatology.of(table.observed, table.weights, weight),
    )
    return mixed, score


def climatology_alone(pool: Pool, table: TrainingTable) -> Pool:
    """Return a pool that is the climatology of a table; its best model stays, without weight."""
    best = int(np.argmax(pool.weights))
    return replace(
        pool,
        members=pool.members[best : best + 1],
        candidates=pool.candidates[best : best + 1],
        weights=np.zeros(1),
        climatology=Climatology.of(table.observed, table.weights),
        outside=(),
        outside_candidates=(),
    )


def _with_bags(
    trainer: Trainer,
    scorer: Scorer,
    models: Sequence[FinalModel],
    splits: Splits,
    b: int,
    n_repeats: int,
    progress: Progress,
) -> list[FinalModel]:
    """Train bag ``b`` of each model while there is time."""
    trained = list(models)
    for i, model in enumerate(models):
        # the first bag of the first model is always trained: every fit has a model
        if trained[0].points and not progress.clock.fits(model.seconds, progress.clock.training):
            break
        progress.report(f"fitting final models (bag {b + 1} of {len(splits)}, model {i + 1} of {len(models)})")
        trained[i] = _with_bag(trainer, scorer, model, splits[b], b, n_repeats, progress)
    return trained


def _with_bag(
    trainer: Trainer,
    scorer: Scorer,
    final: FinalModel,
    split: Split,
    b: int,
    n_repeats: int,
    progress: Progress,
) -> FinalModel:
    before, candidate, held_out = progress.clock.spent, final.candidate, split[1]
    model, bag = trainer.train(candidate, candidate.arguments(n_repeats), split, (STREAM, b))
    points = trainer.points(candidate, model, held_out, POINTS)
    bags = (bag.boosters,) if final.model is None else (*final.model.bags, bag.boosters)
    seconds = progress.clock.spent - before
    score = scorer.score(points, held_out)
    progress.leaderboard.add(candidate, f"bag {b + 1}", score, seconds, trainer.problem.n_rows)
    return FinalModel(candidate, replace(model, bags=bags), (*final.points, points), max(final.seconds, seconds))


def _competitive(scorer: Scorer, models: Sequence[FinalModel], splits: Splits) -> list[FinalModel]:
    """Return the models that are not far behind the best after their first bag."""
    trained = [model for model in models if model.points]
    scores = [scorer.score(model.points[0], splits[0][1]) for model in trained]
    # scores of a constant response may be a rounding error below zero
    most = max(MAX_SCORE_RATIO * min(scores), min(scores))
    return [model for model, score in zip(trained, scores, strict=True) if score <= most]


def with_better_samplers(
    trainer: Trainer, scorer: Scorer, models: list[FinalModel], splits: Splits, progress: Progress
) -> list[FinalModel]:
    """Give each model the sampler that suits held-out rows best, if that improves the pool.

    A pool averages out much of what a sampler gets wrong. Its CRPS must fall by a share ``MIN_GAIN``, and by more than
    the standard error of the difference.
    """
    before = progress.clock.spent
    others = [_with_better_sampler(trainer, scorer, model, splits, progress) for model in models]
    changed = [other for other, model in zip(others, models, strict=True) if other is not model]
    if not changed:
        return models
    pools = [pooled(scorer, some, splits) for some in (models, others)]
    rows = pools[0].rows
    # with equally many points: the CRPS of few points is a little higher
    current, new = (scorer.losses(mixture_points([pool.points], np.ones(1), POOL_POINTS), rows) for pool in pools)
    seconds = (progress.clock.spent - before) / len(changed)
    for model in changed:
        score = _score_of(scorer, model, rows)
        progress.leaderboard.add(model.candidate, "sampler", score, seconds, trainer.problem.n_rows)
    return others if lowers(new, current, scorer.weights_of(rows), MIN_GAIN) else models


def _with_better_sampler(
    trainer: Trainer, scorer: Scorer, final: FinalModel, splits: Splits, progress: Progress
) -> FinalModel:
    assert final.model is not None
    progress.report("comparing samplers of the final models")
    held_out = [rows for _, rows in splits[: len(final.points)]]
    sampler = better_sampler(trainer, scorer, final.candidate, final.model, held_out)
    if sampler is None:
        return final
    candidate, model = replace(final.candidate, sampler=sampler), with_sampler(final.model, sampler)
    points = trainer.out_of_bag(candidate, model, held_out, POINTS)
    return replace(final, candidate=candidate, model=model, points=tuple(points))


def pooled(scorer: Scorer, models: Sequence[FinalModel], splits: Splits) -> Pool:
    """Weight the models by the CRPS of their pool on rows that all of them predict out of bag."""
    common = min(len(model.points) for model in models)
    together = bags_by_rows([rows for _, rows in splits[:common]])
    rows = np.concatenate([splits[bags[0]][1] for bags in together])
    distributions = [_out_of_bag(model, together) for model in models]
    to_y, between = scorer.mean_terms(distributions, rows)
    weights = pool_weights(to_y, between, len(rows))
    kept = np.flatnonzero(weights).tolist()
    n_points = POINTS if len(kept) == 1 else POOL_POINTS
    ours = [i for i in kept if models[i].member is None]
    # one of our models stays in any case: it knows how the table is read
    ours = ours or [min((i for i, m in enumerate(models) if m.member is None), key=lambda i: _loss(i, to_y, between))]
    others = [(models[i], float(weights[i])) for i in kept if models[i].member is not None]
    return Pool(
        members=tuple(m for m in (models[i].model for i in ours) if m is not None),
        candidates=tuple(models[i].candidate for i in ours),
        weights=weights[ours],
        points=mixture_points([distributions[i] for i in kept], weights[kept], n_points),
        rows=rows,
        splits=tuple(splits[bags[0]] for bags in together),
        outside=tuple(model.member.weighted(w) for model, w in others if model.member is not None),
        outside_candidates=tuple(model.candidate for model, _ in others),
    )


def _loss(i: int, to_y: Array, between: Array) -> float:
    """CRPS of one member of a pool, from the terms of the pool's."""
    return float(to_y[i] - 0.5 * between[i, i])


def with_members(
    scorer: Scorer, pool: Pool, models: Sequence[FinalModel], outside: Sequence[FinalModel], splits: Splits
) -> Pool:
    """Return the pool with members from outside that are not far behind, if they lower the CRPS of held-out rows."""
    models = [model for model in models if model.points]
    near = {id(model) for model in _competitive(scorer, [*models, *outside], splits)}
    near_outside = [model for model in outside if id(model) in near]
    if not near_outside:
        return pool
    # on the rows that all of them predict: a member from outside may lack bags
    common = min(len(model.points) for model in [*models, *near_outside])
    ours = [replace(model, points=model.points[:common]) for model in models]
    before, after = pooled(scorer, ours, splits), pooled(scorer, [*ours, *near_outside], splits)
    # with equally many points: the CRPS of few points is a little higher
    scores = [scorer.score(mixture_points([p.points], np.ones(1), POOL_POINTS), p.rows) for p in (before, after)]
    return after if scores[1] < scores[0] else pool


def _out_of_bag(model: FinalModel, together: Sequence[Sequence[int]]) -> Array:
    """Points (rows, POINTS, d) of out-of-bag distributions; those of bags that hold out the same rows are mixed."""
    mixed = [
        model.points[bags[0]]
        if len(bags) == 1
        else mixture_points([model.points[b] for b in bags], np.full(len(bags), 1.0 / len(bags)), POINTS)
        for bags in together
    ]
    return np.concatenate(mixed)


def _record_weights(scorer: Scorer, models: Sequence[FinalModel], pool: Pool, progress: Progress) -> None:
    weights = dict(zip(pool.candidates, pool.weights.tolist(), strict=True))
    weights |= {c: member.weight for c, member in zip(pool.outside_candidates, pool.outside, strict=True)}
    for model in models:
        stage = f"{FINAL}{weights.get(model.candidate, 0.0):.2f}"
        progress.leaderboard.add(model.candidate, stage, _score_of(scorer, model, pool.rows), 0.0, len(pool.rows))


def _score_of(scorer: Scorer, model: FinalModel, rows: Rows) -> float:
    """CRPS of a model alone on the first of the rows, those that it predicts out of bag: it may lack bags."""
    points = np.concatenate(model.points)[: len(rows)]
    return scorer.score(points, rows[: len(points)])
