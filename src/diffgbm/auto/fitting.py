"""From the user's table to a pool of models: first stages, contest, finals, correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.parallel import one_blas_thread
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.auto.acceptance import helpful_correction, helpful_shapes
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.auto.final_models import Result, disagreement, finals
from diffgbm.auto.first_stages import Stages, fit_stages
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.presets import Preset
from diffgbm.auto.recalibration import Correction, as_in_a_pool
from diffgbm.auto.search import Candidate, Contest
from diffgbm.data.splits import subsample
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.engine import row_uniforms
from diffgbm.first_stage import MIN_ROWS, Task
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.training import TrainingTable, read_table

WILD_CARD = Candidate("none", (), "edm", "large")
SMALL = 2000
"""Rows up to which noise models cost next to nothing, and a pool gains most from several."""
WILD_ROWS = 2000
"""Rows from which a large noise model without any guide may be the best of all."""
FAR_BEHIND = 2.0
"""How many times the best score on a few rows it may have."""
LARGE = 20_000
"""Rows above which some are set aside for recalibration. Guides are averaged over folds and laws mixed over bags, so
that the pool is better than its out-of-bag laws and covers more than they do; a large table can spare the rows that
tell."""
ASIDE, MOST_ASIDE = 0.05, 2000
"""Share of a large table's rows that is set aside, and how many at most."""
ASIDE_POINTS = 500
"""Points of their laws."""


@dataclass(frozen=True)
class AutomaticFit:
    """The outcome of an automatic fit.

    Attributes
    ----------
    pool : PooledModel
        The model.
    candidates : tuple of Candidate
        What its members are.
    board : list of dict
        What was tried.
    unseen : PredictiveDistribution or JointDistribution
        Out-of-bag laws of the training rows ``rows``.
    stages : dict
        Errors of the first-stage models.
    cut_short : bool
        Whether time ran out.
    story : str
        Two sentences.
    """

    pool: PooledModel
    candidates: tuple[Candidate, ...]
    board: list[dict[str, Any]]
    unseen: Distribution
    rows: NDArray[np.intp]
    stages: dict[str, float]
    cut_short: bool
    story: str


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
    seed: int | None,
    n_jobs: int,
    verbose: int,
    owner: str,
) -> AutomaticFit:
    """Fit everything."""
    clock = Clock(time_limit)
    whole = read_table(X, y, cat_idx, sample_weight, owner)
    number = int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1)
    rows, aside = _divided(len(whole.y), number, recalibrate and whole.response.is_1d)
    table = whole.part(rows) if len(aside) else whole
    with progress_bar(None, owner, verbose, "step") as bar:

        def report(text: str) -> None:
            bar.set_postfix_str(text, refresh=False)
            bar.update()

        n = len(table.y)
        repeats = 3 if n <= 1000 else 2 if n <= 10_000 else 1
        task = Task(table.X, table.y, table.features.categorical, table.weights, 5, repeats, number, n_jobs)
        stages = _stages(task, preset, clock, report)
        contest = Contest(
            table.features,
            table.response,
            stages,
            _fixed_arguments(n_jobs),
            number,
            n_jobs,
            clock,
            preset.noisy_rows,
            report,
        )
        result = finals(contest, _finalists(contest, preset), preset.bags, preset.samplers)
    outcome = _conclude(contest, result, table.observed, discrete, whole.part(aside) if recalibrate else None)
    return replace(outcome, rows=rows[result.rows])


def _divided(n: int, seed: int, wanted: bool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that models are made of, in order, and those that are set aside for recalibration."""
    if not wanted or n <= LARGE:
        return np.arange(n), np.arange(0)
    aside, rest = subsample(n, min(MOST_ASIDE, int(ASIDE * n)), (seed, LARGE))
    return rest, aside


def _stages(task: Task, preset: Preset, clock: Clock, report: Callable[[str], None]) -> Stages:
    if len(task.y) < MIN_ROWS:
        return Stages(task, {}, {})
    with_cdf = any("cdf" in given for _, given in preset.first_stages)
    return fit_stages(task, preset.stages, preset.gp_rows, with_cdf, clock, report)


def _fixed_arguments(n_jobs: int) -> dict[str, Any]:
    return {**DEFAULTS, "n_jobs": n_jobs, "residualize": "off"}


def _finalists(contest: Contest, preset: Preset) -> list[Candidate]:
    """Run the rounds, and try the best of the last one in several sizes.

    The wild card needs many rows to shine, so that rounds on few of them would wrong it: it goes straight to the last.
    """
    candidates = [
        Candidate(subtracted, given, recipe)
        for subtracted, given in preset.first_stages
        if contest.stages.has(subtracted, given)
        for recipe in preset.recipes
    ] or [Candidate("none", (), recipe) for recipe in preset.recipes]
    factor = preset.small_factor if contest.n_rows <= SMALL else 1
    shares = np.linspace(0.45, 0.6, len(preset.rungs))
    for number, (rung, share) in enumerate(zip(preset.rungs, shares, strict=True)):
        if len(candidates) <= 1 or contest.clock.over(share):
            break
        candidates = contest.round(number, replace(rung, keep=rung.keep * factor), candidates, float(share))
    sized = [replace(candidates[0], capacity=capacity) for capacity in preset.capacities]
    if len(sized) > 1 and not contest.clock.over(0.65):
        last = replace(preset.rungs[-1], capacity=None, keep=len(sized))
        sized = contest.round(len(preset.rungs), last, sized, 0.7)
    places = preset.finalists * factor
    finalists = [replace(candidate, capacity=sized[0].capacity) for candidate in candidates[:places]]
    if preset.wild_card and WILD_CARD not in finalists and _has_a_chance(contest):
        finalists.append(WILD_CARD)
    return finalists


def _has_a_chance(contest: Contest) -> bool:
    """Whether the wild card may yet win: on a few rows it must not be far behind."""
    scores = contest.first_scores
    own = scores.get(replace(WILD_CARD, capacity="usual"))
    return contest.n_rows >= WILD_ROWS and (own is None or own <= FAR_BEHIND * min(scores.values()))


def _conclude(
    contest: Contest, result: Result, observed: Array, discrete: bool | str, aside: TrainingTable | None
) -> AutomaticFit:
    """Confine and correct the pool where that helps on unseen rows, and tell the story.

    Responses (n, d) are as the user gave them: values to which laws are confined must be theirs to the last bit, or
    coverage and PIT go wrong. The pool is corrected by the rows ``aside``, by out-of-bag laws if these are none, and
    not at all without them.
    """
    task = contest.stages.task
    y = observed[result.rows]
    weights = contest.weights(result.rows)
    u = row_uniforms(task.X)[result.rows] if discrete == "auto" and contest.response.is_1d else None
    if discrete == "auto":
        shapes = helpful_shapes(observed, y, result.points, weights, u)
    else:
        shapes = tuple(ResponseShape.of(column) if discrete else ResponseShape() for column in observed.T)
    pool = PooledModel(result.members, result.weights, None, shapes)
    points = np.sort(pool.confined(result.points.copy(), u), axis=1)
    first = result.members[0]
    unseen = first.distributions_of(points)
    if aside is not None and isinstance(unseen, PredictiveDistribution):
        if len(aside.y):
            correction = _told_by_rows_aside(contest, pool, aside)
        else:
            stand_ins = pool.single(_stand_ins(contest, result, unseen, y[:, 0])[:, None], u)[:, 0]
            correction = helpful_correction(unseen, stand_ins, weights, contest.seed)
        pool = replace(pool, correction=correction)
    crps = float(np.mean([contest.score(points, result.rows)]))
    return AutomaticFit(
        pool,
        result.candidates,
        contest.board,
        unseen,
        result.rows,
        contest.stages.errors,
        contest.clock.cut,
        _story(contest, result, pool, crps),
    )


def _stand_ins(contest: Contest, result: Result, unseen: PredictiveDistribution, y: Array) -> Array:
    """Observations (n,) that are to out-of-bag laws, of one bag each, what ``y`` is to those of the pool."""
    chance = np.random.default_rng(contest.seed).uniform(size=len(y))
    return as_in_a_pool(unseen, y, disagreement(contest, result), chance)


def _told_by_rows_aside(contest: Contest, pool: PooledModel, aside: TrainingTable) -> Correction | None:
    """Return what the pool is recalibrated by, if that helps on rows that nothing in it has seen."""
    distribution = pool.distribution(aside.X, ASIDE_POINTS, threads=contest.n_jobs)
    assert isinstance(distribution, PredictiveDistribution)
    return helpful_correction(distribution, aside.observed[:, 0], aside.weights, contest.seed)


def _story(contest: Contest, result: Result, pool: PooledModel, crps: float) -> str:
    parts = [f"{w:.0%} {c}" for w, c in zip(result.weights, result.candidates, strict=True)]
    extra = [f"kept to {shape}" for shape in pool.shapes if shape]
    extra += ["recalibrated"] if pool.correction is not None else []
    bags = max(len(member.bags) for member in result.members)
    tried = len({line["model"] for line in contest.board})
    unit = float(np.mean(contest.response.scale))
    return (
        f"Of {tried} candidates the pool holds {'; '.join(parts)}, in {bags} bag(s)"
        f"{', ' + ', '.join(extra) if extra else ''}. "
        f"On rows that it has not seen its CRPS is {crps * unit:.4g}, {crps:.1%} of the response's standard deviation"
        f"{', and the time limit left something out' if contest.clock.cut else ''}."
    )
