"""From the user's table to a pooled model: first-stage models, search, final models, shapes, recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffgbm._util.errors import WeakFitWarning, warn
from diffgbm._util.parallel import one_blas_thread
from diffgbm._util.progress import StatusLine
from diffgbm._util.types import Array, Rows
from diffgbm.auto.acceptance import accepted_correction, accepted_shapes
from diffgbm.auto.atom_choice import accepted_atoms
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.auto.candidates import CLIMATOLOGY, Candidate
from diffgbm.auto.climatology import out_of_bag_crps, out_of_bag_points
from diffgbm.auto.disagreement import disagreement
from diffgbm.auto.effort import FOLDS, MAX_HOLDOUT, Effort, effort_for
from diffgbm.auto.final_models import POOL_POINTS, Pool, bag_plan, climatology_alone, train_final_models
from diffgbm.auto.first_stages import FirstStages, fit_first_stages, repeats_for
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.outside import fit_outside
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.presets import Preset, least_work
from diffgbm.auto.problem import Problem
from diffgbm.auto.progress import Progress
from diffgbm.auto.recalibration import Correction, adjusted_observations
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.screening import screened
from diffgbm.auto.search import search
from diffgbm.auto.summary import NOTHING, no_help, summary
from diffgbm.auto.trainer import Trainer
from diffgbm.data.splits import Split, k_folds, reserve, subsample
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.first_stage import FirstStageValues, Task
from diffgbm.first_stage.assembly import no_first_stage_values
from diffgbm.fitting.atoms import AtomFit
from diffgbm.fitting.limits import check_support, table_support
from diffgbm.fitting.outliers import fitted_without_outliers
from diffgbm.fitting.training import fitted_atoms
from diffgbm.fitting.training_table import TrainingTable, read_table
from diffgbm.fitting.warm import warmup
from diffgbm.members.argument import NamedEstimator

LARGE_TABLE = 20_000
"""Rows above which some are held out for recalibration. First-stage models are averaged over folds and distributions
mixed over bags, so that the pool is better than its out-of-bag distributions and covers more. A large table can spare
the rows that measure this."""
HOLDOUT_SHARE = 0.05
"""Share of a large table's rows that is held out."""
HOLDOUT_POINTS = 500
"""Points of the held-out rows' distributions."""
MAX_AT_ATOMS = 5000
"""Rows at atoms whose out-of-bag distributions are computed, at most."""


@dataclass(frozen=True)
class AutomaticFit:
    """The result of an automatic fit.

    Attributes
    ----------
    pool : PooledModel
        The model.
    candidates : tuple of Candidate
        What its members are.
    leaderboard : list of dict
        What was tried.
    out_of_bag : PredictiveDistribution or JointDistribution
        Out-of-bag distributions of the training rows ``rows``.
    rows : ndarray of int
        These rows.
    first_stage_errors : dict
        Out-of-fold errors of the first-stage models.
    cut_short : bool
        Whether the time limit left any work out.
    summary : str
        A few sentences.
    """

    pool: PooledModel
    candidates: tuple[Candidate, ...]
    leaderboard: list[dict[str, Any]]
    out_of_bag: Distribution
    rows: Rows
    first_stage_errors: dict[str, float]
    cut_short: bool
    summary: str


@one_blas_thread()
def fit_automatically(
    X: Any,
    y: Any,
    *,
    cat_idx: Sequence[int] | None,
    sample_weight: Any,
    preset: Preset,
    time_limit: float,
    discrete: bool | str,
    recalibrate: bool,
    repeats: str,
    seed: int | None,
    n_jobs: int,
    verbose: int,
    owner: str,
    groups: Any = None,
    time: Any = None,
    support: Any = "auto",
    members: Sequence[NamedEstimator] = (),
) -> AutomaticFit:
    """Fit a pooled model; the arguments are those of ``AutoDiffGBM``, ``owner`` is its name for messages."""
    clock = Clock(time_limit)
    whole_numbers = isinstance(discrete, (bool, np.bool_)) and bool(discrete)
    limits = None if check_support(support) is None else table_support(support, False, X, y)
    everything = read_table(X, y, cat_idx, sample_weight, owner, repeats, groups, time, n_jobs)
    with clock.stopped():  # the first fit on a machine is as good as the second
        warmup(joint=everything.y.shape[1] > 1)
    number = int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1)
    constant = bool(np.all(np.ptp(everything.observed, axis=0) == 0.0))
    everything = everything if constant else screened(everything, time_limit, number, n_jobs)
    preset = least_work(preset) if constant else preset
    atom_fit = _atoms(everything, number, n_jobs, clock) if discrete == "auto" and not constant else None
    rest = np.arange(len(everything.y)) if atom_fit is None else atom_fit.rest
    whole = everything if atom_fit is None else everything.continuous(rest)
    effort = effort_for(preset, clock.limit, *whole.X.shape)
    clock.budget, preset = effort.budget, effort.preset
    rows, held_out = divided(
        len(whole.y), number, recalibrate and whole.response.is_1d, whole.structure, effort.holdout
    )
    rows, clock.cut = effort.some(rows, number, whole.structure), clock.cut or effort.is_reduced
    table = whole.part(rows) if len(rows) < len(whole.y) else whole
    leaderboard = Leaderboard(float(np.mean(table.response.scale)))
    with StatusLine(owner, verbose, lambda: str(clock)) as line:
        progress = Progress(clock, leaderboard, line.stage, line.refresh)
        trainer, known = _trainer(table, effort, number, n_jobs, progress)
        rows, scorer = rows[known], Scorer.of(trainer.problem.table)
        plan = bag_plan(trainer.problem, preset, clock.limit)
        outside = fit_outside(() if constant else members, trainer.problem, plan[1], scorer, progress)
        if outside:
            trainer = replace(trainer, deadline=clock.deadline(clock.training))
        candidates = search(trainer, scorer, preset, progress)
        pool = train_final_models(trainer, scorer, candidates, preset, progress, plan, outside)
        progress.report("testing calibration on unseen rows")
        holdout = whole.part(held_out) if recalibrate else None
        shapes = tuple(
            _limited(shape, support, limits, column, whole_numbers)
            for shape, column in zip(_shapes(trainer, scorer, pool, discrete), table.observed.T, strict=True)
        )
        model, points = _finished(trainer, scorer, pool, shapes, holdout, clock)
    crps = float(np.mean([scorer.score(points, pool.rows)]))
    out_of_bag, out_of_bag_rows = model.distributions_of(points), rest[rows[pool.rows]]
    if atom_fit is not None:
        model = replace(model, atoms=atom_fit.atoms)
        out_of_bag, out_of_bag_rows = _with_atoms(model, points, out_of_bag_rows, everything, atom_fit, n_jobs)
        observed, weights = everything.observed[out_of_bag_rows, 0], everything.weights
        losses = out_of_bag.crps(observed)
        crps = float(np.average(losses, weights=None if weights is None else weights[out_of_bag_rows]))
        crps /= leaderboard.unit
    folds = k_folds(len(everything.y), min(FOLDS, len(everything.y)), number, everything.structure)
    reference = _reference(everything, folds, out_of_bag_rows, scorer.units)
    if constant or crps > reference:
        pool = climatology_alone(pool, everything)
        shapes = tuple(
            _limited(ResponseShape.of(column), support, limits, column, whole_numbers)
            for column in everything.observed.T
        )
        model = PooledModel(pool.members, pool.weights, None, shapes, None, pool.climatology)
        out_of_bag = model.distributions_of(_climatology_points(everything, folds, out_of_bag_rows))
        leaderboard.give_all_weight(CLIMATOLOGY)
        crps = reference
    if crps > (1.0 - NOTHING) * reference and not constant:
        warn(
            no_help(" and ".join(model.first.response_names), model.is_climatology),
            stacklevel=4,
            category=WeakFitWarning,
        )
    return AutomaticFit(
        pool=model,
        candidates=(
            *pool.candidates,
            *pool.outside_candidates,
            *(() if model.climatology is None else (CLIMATOLOGY,)),
        ),
        leaderboard=leaderboard.records(),
        out_of_bag=out_of_bag,
        rows=everything.sources[out_of_bag_rows],
        first_stage_errors=trainer.problem.first_stages.errors,
        cut_short=clock.cut,
        summary=summary(
            pool, model, leaderboard, (crps, reference), clock.cut, everything.division, len(out_of_bag_rows)
        ),
    )


def _reference(table: TrainingTable, folds: Sequence[Split], rows: Rows, units: Array) -> float:
    """CRPS of climatology for ``rows``, from the responses of other folds, in ``units`` (d,); mean over responses."""
    losses = np.mean(out_of_bag_crps(table.observed, table.weights, folds)[rows] / units, axis=1)
    return float(np.average(losses, weights=None if table.weights is None else table.weights[rows]))


def _climatology_points(table: TrainingTable, folds: Sequence[Split], rows: Rows) -> Array:
    """Points (rows, POOL_POINTS, d) of climatology for ``rows``, from the responses of other folds."""
    order = np.zeros(len(table.y), dtype=np.intp)
    held_out = np.concatenate([held_out for _, held_out in folds])
    order[held_out] = np.arange(len(held_out))
    return out_of_bag_points(table.observed, table.weights, folds, POOL_POINTS)[order[rows]]


def _atoms(table: TrainingTable, seed: int, n_jobs: int, clock: Clock) -> AtomFit | None:
    """Fit the atoms of a table where they help."""
    values = accepted_atoms(table, seed, n_jobs, clock)
    seconds = np.inf if clock.limit is None else clock.budget.atoms * clock.limit
    return fitted_atoms(table, values.tolist(), seed, n_jobs, seconds) if len(values) else None


def _with_atoms(
    model: PooledModel, points: Array, rows: Rows, table: TrainingTable, fit: AtomFit, n_jobs: int
) -> tuple[PredictiveDistribution, Rows]:
    """Out-of-bag distributions of the rows of the continuous part and of those at atoms, which no bag has seen.

    ``points`` (n, m, 1) are those of the continuous part at ``rows``. Returned with the rows of all.
    """
    others = np.setdiff1d(np.arange(len(table.y)), fit.rest)
    among = fit.rest
    if (order := table.structure.order) is not None:
        first = order[rows].min()
        others, among = others[order[others] >= first], among[order[among] >= first]
    # where the bags hold out a part of the continuous rows only, or piles are large, as large a part of each
    share = min(len(rows) / len(among), MAX_AT_ATOMS / max(len(others), 1))
    others = others[subsample(len(others), round(share * len(others)), MAX_AT_ATOMS)[0]]
    kept = subsample(len(rows), round(share * len(among)), MAX_AT_ATOMS)[0]
    rows, points = rows[kept], points[kept]
    continuous = replace(model, atoms=None, correction=None).distribution(
        table.X[others], points.shape[1], None, n_jobs
    )
    assert isinstance(continuous, PredictiveDistribution)
    everywhere = np.concatenate([rows, others])
    whole = np.concatenate([points[:, :, 0], continuous.values])
    name = model.first.response_names[0]
    return fit.atoms.distribution(whole, fit.out_of_fold[everywhere], name), everywhere


def divided(
    n: int, seed: int, wanted: bool, structure: Structure = INDEPENDENT, most: int = MAX_HOLDOUT
) -> tuple[Rows, Rows]:
    """Return the rows that models are trained on, in order, and those that are held out for recalibration."""
    if not wanted or n <= LARGE_TABLE:
        return np.arange(n), np.arange(0)
    return reserve(n, min(most, int(HOLDOUT_SHARE * n)), (seed, LARGE_TABLE), structure)


def _trainer(table: TrainingTable, effort: Effort, seed: int, n_jobs: int, progress: Progress) -> tuple[Trainer, Rows]:
    """Fit the first-stage models; return what trains noise models on top of them, and the rows that it has.

    By time these are not the first rows, of which there are no first-stage values.
    """
    once = effort.is_reduced or table.structure.order is not None
    repeats = 1 if once else repeats_for(len(table.y))
    task = Task(
        table.X,
        table.y,
        table.features.categorical,
        table.weights,
        effort.folds,
        repeats,
        seed,
        n_jobs,
        progress.tick,
        table.structure,
    )

    def fit(task: Task) -> tuple[FirstStages, FirstStageValues]:
        fitted = fit_first_stages(task, effort.preset, progress.clock, progress.report)
        values = fitted.assembled("stack", ())[1] if fitted.has("stack", ()) else no_first_stage_values(task.y)
        return fitted, values

    clock = progress.clock
    first_stages, _, y, moved = fitted_without_outliers(
        task,
        fit,
        lambda: clock.limit is None or clock.spent < clock.budget.first_stage_models * clock.limit,
        table.suspects,
    )
    table, first_stages = table.with_responses(y, moved), replace(first_stages, task=replace(task, y=y))
    known = np.arange(len(table.y))
    if table.structure.order is not None and first_stages.fitted:
        known = task.held_out
        table, first_stages = table.part(known), first_stages.part(known)
        if table.structure.order is None:
            raise ValueError(
                "time leaves no earlier rows for noise models: first-stage models take the first ones, and the others "
                "are of one time. Give times in smaller units, or leave time out."
            )
    return Trainer(
        Problem(table, first_stages, seed, n_jobs),
        lambda: progress.over(clock.training),
        clock.deadline(clock.training),
    ), known


def _shapes(trainer: Trainer, scorer: Scorer, pool: Pool, discrete: bool | str) -> tuple[ResponseShape, ...]:
    """Return the shape of each response that the argument ``discrete`` asks for.

    Shapes are found in the responses as the user passed them: if atoms differed in the last bit, probabilities would be
    wrong.
    """
    observed = trainer.problem.table.observed
    if discrete == "auto":
        return accepted_shapes(observed, observed[pool.rows], pool.points, scorer.weights_of(pool.rows))
    return tuple(ResponseShape.of(column) if discrete else ResponseShape() for column in observed.T)


def _limited(
    shape: ResponseShape, support: Any, limits: Support | None, y: Array, whole_numbers: bool
) -> ResponseShape:
    """Add what the argument ``support`` says to the shape of a response (n,): its ``limits``, or none of our own.

    A response that is to be discrete and takes too many values for a list is a whole number. One that takes few, which
    are whole numbers in a row, can be any whole number between limits that the caller gave.
    """
    if shape.atoms is not None:
        return shape if limits is None else shape.as_counts(limits)
    if support is None:
        shape = replace(shape, limits=None)
    elif limits is not None:
        shape = shape.within(limits, y)
    if whole_numbers and (y == np.rint(y)).all():
        least = Support(0.0) if support == "auto" and y.min() >= 0.0 else Support()
        shape = replace(shape, limits=replace(shape.limits or least, integers=True))
    return shape


def _finished(
    trainer: Trainer,
    scorer: Scorer,
    pool: Pool,
    shapes: tuple[ResponseShape, ...],
    holdout: TrainingTable | None,
    clock: Clock,
) -> tuple[PooledModel, Array]:
    """Confine and recalibrate the pool where that helps on unseen rows.

    Returns
    -------
    model : PooledModel
        The pool with its shapes and its correction.
    points : ndarray of shape (rows, m, d)
        Sorted, confined points of the out-of-bag distributions.

    Notes
    -----
    The rows of ``holdout`` determine the correction, the out-of-bag distributions if it has no rows. Without
    ``holdout`` there is none.
    """
    table = trainer.problem.table
    weights = scorer.weights_of(pool.rows)
    model = PooledModel(pool.members, pool.weights, None, shapes, None, pool.climatology, pool.outside)
    points = np.sort(model.confined(pool.points.copy()), axis=1)
    if holdout is None or not table.response.is_1d or model.is_climatology or clock.over():
        return model, points
    if len(holdout.y):
        correction = _correction_by_holdout(model, holdout, trainer.problem)
    else:
        out_of_bag = model.distributions_of(points)
        assert isinstance(out_of_bag, PredictiveDistribution)
        adjusted = _adjusted(trainer, pool, out_of_bag, float(scorer.units[0]))
        adjusted = shapes[0](adjusted)
        structure = table.structure.part(pool.rows)
        correction = accepted_correction(out_of_bag, adjusted, weights, trainer.problem.seed, structure)
    return replace(model, correction=correction), points


def _adjusted(trainer: Trainer, pool: Pool, out_of_bag: PredictiveDistribution, unit: float) -> Array:
    """Observations (n,) for out-of-bag distributions: each of these comes from one bag, the pool's from all.

    By time they come from all bags as well.
    """
    y = trainer.problem.table.observed[pool.rows, 0]
    if trainer.problem.table.structure.order is not None:
        return y
    uniforms = np.random.default_rng(trainer.problem.seed).uniform(size=len(y))
    return adjusted_observations(out_of_bag, y, disagreement(trainer, pool, unit), uniforms)


def _correction_by_holdout(model: PooledModel, holdout: TrainingTable, problem: Problem) -> Correction | None:
    """Return the correction that helps on rows that no part of the model was trained on."""
    distribution = model.distribution(holdout.X, HOLDOUT_POINTS, threads=problem.n_jobs)
    assert isinstance(distribution, PredictiveDistribution)
    return accepted_correction(distribution, holdout.observed[:, 0], holdout.weights, problem.seed, holdout.structure)
