"""Rehearsals: the pool made again of most rows, guides included, and what it then says of the others.

An out-of-bag law is of one bag, on guides that are averaged over fewer models than those of new rows, and so it is not
what the pool would have said. Here a pool that has seen nothing of a row is asked, at the price of making it several
times.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffgbm.automatic.contest import TRAINED, Contest
from diffgbm.automatic.finals import Result, trained
from diffgbm.automatic.mixture import PooledModel
from diffgbm.automatic.stages import fit_again, needed
from diffgbm.bags import splits
from diffgbm.distribution import PredictiveDistribution

POINTS = 500
"""Points of a law."""
IN_TIME = 0.9
"""Share of the time limit by which the last rehearsal must be over."""
SHARE_OF_ALL = 0.5
"""How long the first one will take, as a share of all that went before: what was tried and dropped is not repeated."""


def rehearsed(
    contest: Contest, result: Result, pool: PooledModel, gp_rows: int, times: int
) -> PredictiveDistribution | None:
    """Laws of all training rows, each from a pool that has not seen the row; ``None`` if time does not allow it."""
    clock, task = contest.clock, contest.stages.task
    points = np.empty((contest.n_rows, POINTS))
    names = set().union(*(needed(candidate.subtracted, candidate.given) for candidate in result.candidates))
    n_bags = max(len(member.bags) for member in result.members)
    seconds = SHARE_OF_ALL * clock.spent
    for k, (most, others) in enumerate(splits(contest.n_rows, times, 0.2, contest.seed, True)):
        if not clock.fits((times - k) * seconds, IN_TIME):
            return None
        contest.report(f"rehearsal {k + 1} of {times}")
        before = clock.spent
        stages = fit_again(contest.stages, task.part(most), names, gp_rows)
        part = replace(contest, stages=stages, board=[], _guides={})
        members = tuple(trained(part, candidate, n_bags) for candidate in result.candidates)
        if clock.over(TRAINED):  # models that were stopped early are not what the pool is made of
            return None
        law = replace(pool, members=members).law(task.X[others], POINTS, threads=contest.n_jobs)
        assert isinstance(law, PredictiveDistribution)
        points[others] = law.values
        seconds = max(seconds if k else 0.0, clock.spent - before)
    return PredictiveDistribution.from_points(points)
