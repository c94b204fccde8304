"""Rehearsals: the pool made again of most rows, guides included, and what it then says of the others.

An out-of-bag law is of one bag, on guides that are averaged over fewer models than those of new rows, and so it is not
what the pool would have said. Here a pool that has seen nothing of a row is asked, at the price of making it again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from diffgbm.automatic.contest import TRAINED, Contest
from diffgbm.automatic.finals import Result, trained
from diffgbm.automatic.mixture import PooledModel
from diffgbm.automatic.stages import fit_again, needed
from diffgbm.bags import splits
from diffgbm.distribution import PredictiveDistribution

Array = NDArray[np.float64]

PARTS = 5
"""Parts of the rows of which a rehearsal leaves out one."""
POINTS = 500
"""Points of a law."""
IN_TIME = 0.9
"""Share of the time limit by which a rehearsal must be over."""
SHARE_OF_ALL = 0.7
"""How long one will take, as a share of all that went before: what was tried and dropped is not repeated."""


def rehearsed(
    contest: Contest, result: Result, pool: PooledModel, gp_rows: int, times: int
) -> tuple[PredictiveDistribution, NDArray[np.intp]] | None:
    """Return laws from pools that have not seen their rows, and these rows; ``None`` if time allows no rehearsal.

    As many as there is time for, ``times`` at most, each without another fifth of the rows.
    """
    clock, task = contest.clock, contest.stages.task
    names = set().union(*(needed(candidate.subtracted, candidate.given) for candidate in result.candidates))
    n_bags = max(len(member.bags) for member in result.members)
    seconds = SHARE_OF_ALL * clock.spent
    points: list[Array] = []
    rows: list[NDArray[np.intp]] = []
    for k, (most, others) in enumerate(splits(contest.n_rows, PARTS, 1 / PARTS, contest.seed, True)[:times]):
        if not clock.fits(seconds, IN_TIME):
            break
        contest.report(f"rehearsal {k + 1} of {times}")
        before = clock.spent
        stages = fit_again(contest.stages, task.part(most), names, gp_rows)
        part = replace(contest, stages=stages, board=[], _guides={})
        members = tuple(trained(part, candidate, n_bags) for candidate in result.candidates)
        if clock.over(TRAINED):  # models that were stopped early are not what the pool is made of
            break
        law = replace(pool, members=members).law(task.X[others], POINTS, threads=contest.n_jobs)
        assert isinstance(law, PredictiveDistribution)
        points.append(law.values)
        rows.append(others)
        seconds = clock.spent - before
    if not rows:
        return None
    return PredictiveDistribution.from_points(np.concatenate(points)), np.concatenate(rows)
