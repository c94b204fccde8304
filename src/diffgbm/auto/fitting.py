"""From the user's table to a pooled model: first-stage models, search, final models, shapes, recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from diffgbm._util.errors import WeakFitWarning, warn
from diffgbm._util.parallel import one_blas_thread
from diffgbm._util.progress import StatusLine
from diffgbm._util.types import Array, Rows
from diffgbm.auto.atom_choice import accepted_atoms
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.auto.candidates import CLIMATOLOGY, Candidate
from diffgbm.auto.climatology import out_of_bag_crps, out_of_bag_points
from diffgbm.auto.effort import FOLDS, MAX_HOLDOUT, Effort, effort_for
from diffgbm.auto.final_models import POOL_POINTS, Pool, bag_plan, climatology_alone, train_final_models
from diffgbm.auto.finishing import Shaping, finished
from diffgbm.auto.first_stages import FirstStages, fit_first_stages, repeats_for
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.outside import fit_outside
from diffgbm.auto.planning import measured_speed, planned
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.power_choice import on_best_scale
from diffgbm.auto.presets import Preset, least_work
from diffgbm.auto.problem import Problem
from diffgbm.auto.progress import Progress
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.screening import screened
from diffgbm.auto.search import search
from diffgbm.auto.summary import NOTHING, no_help, summary
from diffgbm.auto.trainer import Trainer
from diffgbm.data.records import few_twins_together
from diffgbm.data.splits import Split, k_folds, reserve, subsample
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.first_stage import FirstStageValues, Task
from diffgbm.first_stage.assembly import no_first_stage_values
from diffgbm.fitting.atoms import AtomFit, atom_values
from diffgbm.fitting.outliers import fitted_without_outliers
from diffgbm.fitting.training import fitted_atoms, joint_atom_fits
from diffgbm.fitting.training_table import TrainingTable, read_table
from diffgbm.fitting.warm import warmup
from diffgbm.members.argument import NamedEstimator

LARGE_TABLE = 20_000
"""Rows above which some are held out for recalibration. First-stage models are averaged over folds and distributions
mixed over bags, so that the pool is better than its out-of-bag distributions and covers more. A large table can spare
the rows that measure this."""
HOLDOUT_SHARE = 0.05
"""Share of a large table's rows that is held out."""
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
    shaping = Shaping.of(discrete, support, X, y)
    everything = read_table(X, y, cat_idx, sample_weight, owner, repeats, groups, time, n_jobs)
    with clock.stopped():  # the first fit on a machine is as good as the second
        warmup(joint=everything.y.shape[1] > 1)
    number = int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1)
    constant = bool(np.all(np.ptp(everything.observed, axis=0) == 0.0))
    everything = everything if constant else screened(everything, time_limit, number, n_jobs)
    preset = least_work(preset) if constant else preset
    whole = everything if constant else on_best_scale(everything, number, n_jobs, clock)
    atom_fit = _atoms(whole, number, n_jobs, clock) if discrete == "auto" and not constant else None
    joint_fits = _joint_atoms(whole, number, n_jobs, clock) if discrete == "auto" and not constant else ()
    rest = np.arange(len(everything.y)) if atom_fit is None else atom_fit.rest
    if atom_fit is not None:  # another scale may suit the continuous part
        whole = on_best_scale(everything.continuous(rest), number, n_jobs, clock)
    n_rows, n_columns = whole.X.shape
    plan = planned(preset, clock.limit, n_rows, n_columns, lambda: measured_speed(n_jobs, clock.now))
    effort, clock.cut = effort_for(plan, clock.limit, n_rows, n_columns), clock.cut or plan is not preset
    clock.budget, preset = effort.budget, effort.preset
    rows, held_out = divided(
        len(whole.y), number, recalibrate and whole.response.is_1d, whole.structure, effort.holdout
    )
    rows, clock.cut = effort.some(rows, number, whole.structure), clock.cut or effort.is_reduced
    table = whole.part(rows) if len(rows) < len(whole.y) else whole
    leaderboard = Leaderboard(float(np.mean(table.response.units)))
    with StatusLine(owner, verbose, lambda: str(clock)) as line:
        progress = Progress(clock, leaderboard, line.stage, line.refresh)
        divided_as = table.structure if repeats == "independent" else few_twins_together(table.X, table.structure)
        trainer, known = _trainer(table, divided_as, effort, number, n_jobs, progress)
        rows, scorer = rows[known], Scorer.of(trainer.problem.table)
        bags = bag_plan(trainer.problem, preset, clock.limit)
        outside = fit_outside(() if constant else members, trainer.problem, bags[1], scorer, progress)
        if outside:
            trainer = replace(trainer, deadline=clock.deadline(clock.training))
        candidates = search(trainer, scorer, preset, progress)
        pool = train_final_models(trainer, scorer, candidates, preset, progress, bags, outside)
        progress.report("testing calibration on unseen rows")
        holdout = whole.part(held_out) if recalibrate else None
        shapes = shaping.of_pool(trainer, scorer, pool, table.observed)
        model, points = finished(trainer, scorer, pool, shapes, holdout, clock)
        if joint_fits:
            model, points = _with_joint_atoms(model, pool.points.copy(), joint_fits, rows[pool.rows])
    judged = _judged(model, points, scorer, pool, rest[rows[pool.rows]])
    if atom_fit is not None:
        judged = _with_atoms(judged, points, everything, atom_fit, leaderboard.unit, n_jobs)
    folds = k_folds(len(everything.y), min(FOLDS, len(everything.y)), number, everything.structure)
    reference = _reference(everything, folds, judged.rows, scorer.units)
    if constant or judged.crps > reference:
        pool = climatology_alone(pool, everything)
        judged = _climatology(pool, shaping, everything, folds, judged.rows, reference)
        leaderboard.give_all_weight(CLIMATOLOGY)
    if judged.crps > (1.0 - NOTHING) * reference and not constant:
        names, alone = " and ".join(judged.model.first.response_names), judged.model.is_climatology
        warn(no_help(names, alone), category=WeakFitWarning)
    scores = (judged.crps, reference)
    return AutomaticFit(
        pool=judged.model,
        candidates=(
            *pool.candidates,
            *pool.outside_candidates,
            *(() if judged.model.climatology is None else (CLIMATOLOGY,)),
        ),
        leaderboard=leaderboard.records(),
        out_of_bag=judged.out_of_bag,
        rows=everything.sources[judged.rows],
        first_stage_errors=trainer.problem.first_stages.errors,
        cut_short=clock.cut,
        summary=summary(pool, judged.model, leaderboard, scores, clock.cut, everything.division, len(judged.rows)),
    )


class _Judged(NamedTuple):
    """A model with its out-of-bag distributions, their rows, and their CRPS in the leaderboard's unit."""

    model: PooledModel
    out_of_bag: Distribution
    rows: Rows
    crps: float


def _judged(model: PooledModel, points: Array, scorer: Scorer, pool: Pool, rows: Rows) -> _Judged:
    """Score a model by its out-of-bag points (rows, m, d)."""
    crps = float(np.mean([scorer.score(points, pool.rows)]))
    return _Judged(model, model.distributions_of(points), rows, crps)


def _climatology(
    pool: Pool, shaping: Shaping, table: TrainingTable, folds: Sequence[Split], rows: Rows, crps: float
) -> _Judged:
    """Return climatology alone, which no candidate beats."""
    shapes = shaping.of_responses(table.observed)
    model = PooledModel(pool.members, pool.weights, None, shapes, None, pool.climatology)
    return _Judged(model, model.distributions_of(_climatology_points(table, folds, rows)), rows, crps)


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


def _joint_atoms(table: TrainingTable, seed: int, n_jobs: int, clock: Clock) -> tuple[AtomFit | None, ...]:
    """Fit the atoms of each of several responses that have a continuous part."""
    if table.response.is_1d:
        return ()
    continuous = [ResponseShape.of(column).atoms is None for column in table.observed.T]
    columns = zip(continuous, table.observed.T, strict=True)
    found = [atom_values(column, "auto").tolist() or None if rest else None for rest, column in columns]
    seconds = np.inf if clock.limit is None else clock.budget.atoms * clock.limit
    return joint_atom_fits(table, found, seed, n_jobs, seconds)


def _with_joint_atoms(
    model: PooledModel, points: Array, fits: Sequence[AtomFit | None], rows: Rows
) -> tuple[PooledModel, Array]:
    """Add the atoms of several responses to a pool, and to its out-of-bag points (rows, m, d)."""
    model = replace(model, joint_atoms=tuple(None if fit is None else fit.atoms for fit in fits))
    found = [None if fit is None else fit.out_of_fold[rows] for fit in fits]
    return model, np.sort(model.confined(points, found), axis=1)


def _with_atoms(
    judged: _Judged, points: Array, table: TrainingTable, fit: AtomFit, unit: float, n_jobs: int
) -> _Judged:
    """Score a model with its atoms, on rows of the continuous part and on those at atoms, which no bag has seen.

    ``points`` (n, m, 1) are those of the continuous part at the rows of ``judged``.
    """
    model, rows = replace(judged.model, atoms=fit.atoms), judged.rows
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
    out_of_bag = fit.atoms.distribution(whole, fit.out_of_fold[everywhere], name)
    losses = out_of_bag.crps(table.observed[everywhere, 0])
    weights = None if table.weights is None else table.weights[everywhere]
    return _Judged(model, out_of_bag, everywhere, float(np.average(losses, weights=weights)) / unit)


def divided(
    n: int, seed: int, wanted: bool, structure: Structure = INDEPENDENT, most: int = MAX_HOLDOUT
) -> tuple[Rows, Rows]:
    """Return the rows that models are trained on, in order, and those that are held out for recalibration."""
    if not wanted or n <= LARGE_TABLE:
        return np.arange(n), np.arange(0)
    return reserve(n, min(most, int(HOLDOUT_SHARE * n)), (seed, LARGE_TABLE), structure)


def _trainer(
    table: TrainingTable, structure: Structure, effort: Effort, seed: int, n_jobs: int, progress: Progress
) -> tuple[Trainer, Rows]:
    """Fit the first-stage models; return what trains noise models on top of them, and the rows that it has.

    By time these are not the first rows, of which there are no first-stage values. Folds of the first stage obey
    ``structure``.
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
        structure,
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
