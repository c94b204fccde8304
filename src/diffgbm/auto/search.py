"""The search: successive halving. Candidates are scored on unseen rows; the best go on to more rows and larger models.

References
----------
Jamieson, K. and Talwalkar, A. (2016). Non-stochastic best arm identification and hyperparameter optimization. AISTATS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.candidates import LARGE_PLAIN, Candidate, candidates_of
from diffgbm.auto.leaderboard import ROUND, Leaderboard
from diffgbm.auto.pool import pool_weights
from diffgbm.auto.presets import Preset, Round
from diffgbm.auto.progress import Progress
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.trainer import Trainer
from diffgbm.data.splits import Split, k_folds, subsample
from diffgbm.data.structure import INDEPENDENT, Structure

ENOUGH_ROWS = 500
"""Unseen rows that a score averages, if there are so many."""
SPLITS = 5
"""A candidate learns from four fifths of the rows and is scored on the rest."""
SMALL_TABLE = 2000
"""Rows up to which noise models cost little and a pool gains most from several."""
LARGE_PLAIN_ROWS = 2000
"""Rows from which the large plain candidate may be the best."""
MAX_SCORE_RATIO = 2.0
"""The large plain candidate is left out if its score on a few rows exceeds the best one by this factor."""

Name = TypeVar("Name")


def search(trainer: Trainer, scorer: Scorer, preset: Preset, progress: Progress) -> list[Candidate]:
    """Run the rounds of a preset and return the candidates that are trained on all rows, best first.

    The best candidate of the last round is tried in several sizes, and all take the best size. The large plain
    candidate needs many rows: it does not take part in the rounds and is added at the end.
    """
    n_rows, clock = trainer.problem.n_rows, progress.clock
    candidates = candidates_of(preset, trainer.problem.first_stages)
    factor = preset.small_factor if n_rows <= SMALL_TABLE else 1
    shares = clock.budget.rounds(len(preset.rounds))
    for number, (round_, share) in enumerate(zip(preset.rounds, shares, strict=True)):
        if len(candidates) <= 1 or clock.over(share):
            break
        larger = replace(round_, keep=round_.keep * factor)
        candidates = run_round(trainer, scorer, progress, number, larger, candidates, share)
    size = _best_size(trainer, scorer, preset, progress, candidates[0])
    kept = [replace(candidate, size=size) for candidate in candidates[: preset.final_models * factor]]
    if preset.large_plain and LARGE_PLAIN not in kept and _large_plain_may_win(progress.leaderboard, n_rows):
        kept.append(LARGE_PLAIN)
    return kept


def _best_size(trainer: Trainer, scorer: Scorer, preset: Preset, progress: Progress, candidate: Candidate) -> str:
    """Return the size of the preset that suits a candidate best."""
    sized = [replace(candidate, size=size) for size in preset.sizes]
    if len(sized) > 1 and preset.rounds and not progress.clock.over(progress.clock.budget.size_round_begins):
        number, last = len(preset.rounds), replace(preset.rounds[-1], size=None, keep=len(sized))
        sized = run_round(trainer, scorer, progress, number, last, sized, progress.clock.budget.size_round_ends)
    return sized[0].size


def _large_plain_may_win(leaderboard: Leaderboard, n_rows: int) -> bool:
    scores = leaderboard.first_scores
    score = scores.get(replace(LARGE_PLAIN, size="usual"))
    return n_rows >= LARGE_PLAIN_ROWS and (score is None or score <= MAX_SCORE_RATIO * min(scores.values()))


def run_round(
    trainer: Trainer,
    scorer: Scorer,
    progress: Progress,
    number: int,
    round_: Round,
    candidates: Sequence[Candidate],
    share: float,
) -> list[Candidate]:
    """Train and score candidates on a part of the rows; return those that go on, best first.

    Parameters
    ----------
    trainer, scorer, progress : Trainer, Scorer, Progress
        What trains, scores and records.
    number : int
        Number of the round, from zero.
    round_ : Round
        How many rows, noisy copies and survivors.
    candidates : sequence of Candidate
        Those that take part.
    share : float
        Share of the time limit by which the round ends; the first candidate is always scored.
    """
    n = min(round_.rows, trainer.problem.n_rows)
    folds = part_folds(trainer.problem.n_rows, n, trainer.problem.seed, trainer.problem.table.structure)
    rows = np.concatenate([held_out for _, held_out in folds])
    distributions: dict[Candidate, Array] = {}
    slowest = 0.0
    for i, candidate in enumerate(candidates):
        if distributions and not progress.clock.fits(slowest, share):
            break
        progress.report(f"comparing candidates on {n} rows ({i + 1} of {len(candidates)})")
        before = progress.clock.spent
        arguments = candidate.arguments(round_.n_repeats, round_.size)
        points = []
        for b, split in enumerate(folds):
            model, _ = trainer.train(candidate, arguments, split, (number, b), lambda: progress.over(share))
            points.append(trainer.points(candidate, model, split[1]))
        distributions[candidate] = np.concatenate(points)
        seconds = progress.clock.spent - before
        slowest = max(slowest, seconds)
        score = scorer.score(distributions[candidate], rows)
        progress.leaderboard.add(candidate, f"{ROUND} {number + 1}", score, seconds, n)
    return survivors(scorer, distributions, rows, round_.keep)


def part_folds(n_rows: int, n: int, seed: int, structure: Structure = INDEPENDENT) -> list[Split]:
    """Return folds (rows to learn from, rows to score) of ``n`` random rows of a table, with its ``structure``.

    Few rows give noisy scores, so that small parts are scored in more than one fold; by time the last ones count.
    """
    part, _ = subsample(n_rows, n, seed, structure=structure)
    count = int(np.clip(ENOUGH_ROWS * SPLITS // n, 1, SPLITS))
    folds = k_folds(len(part), min(SPLITS, len(part)), seed, structure.part(part))
    chosen = folds[:count] if structure.order is None else folds[-count:]
    return [(part[train], part[held_out]) for train, held_out in chosen]


def survivors(scorer: Scorer, distributions: Mapping[Name, Array], rows: Rows, keep: int) -> list[Name]:
    """Return ``keep`` candidates by the points (rows, m, d) of their distributions, best first.

    Candidates that a pool of all would hold come before better ones that it would not: a pool gains more from a
    different candidate than from a near copy of the best. The best one always survives.
    """
    names = list(distributions)
    to_y, between = scorer.mean_terms(list(distributions.values()), rows)
    scores = to_y - 0.5 * np.diagonal(between)
    order = np.lexsort((scores, -pool_weights(to_y, between)))[:keep]
    kept = {*order.tolist(), int(np.argmin(scores))}
    return [names[i] for i in np.argsort(scores, kind="stable") if i in kept]
