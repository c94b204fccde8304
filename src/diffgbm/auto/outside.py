"""Members from outside: estimators of other packages, fitted to the bags of an automatic fit within its time limit."""

from __future__ import annotations

from collections.abc import Sequence

from diffgbm._util.errors import warn
from diffgbm.auto.candidates import outside_candidate
from diffgbm.auto.final_models import POINTS, FinalModel
from diffgbm.auto.problem import Problem
from diffgbm.auto.progress import Progress
from diffgbm.auto.scorer import Scorer
from diffgbm.data.splits import Split
from diffgbm.members.argument import NamedEstimator
from diffgbm.members.cross_fit import MemberTable, Unfit, cross_fit
from diffgbm.members.ways import WAYS


def fit_outside(
    members: Sequence[NamedEstimator], problem: Problem, splits: Sequence[Split], scorer: Scorer, progress: Progress
) -> list[FinalModel]:
    """Cross-fit members on the splits of the bags; those that cannot be members are left out with a warning.

    The seconds that they take are set aside: the shares of everything else are those of the rest of the time limit.
    """
    if not members:
        return []
    clock, table = progress.clock, problem.table
    rows = MemberTable(
        table.X,
        table.observed[:, 0],
        table.weights,
        table.features.categorical,
        splits,
        table.structure,
        problem.seed,
    )
    start, allowed = clock.now(), clock.budget.members * clock.left
    fitted = []
    for i, named in enumerate(members):
        before = clock.now()
        progress.report(f"fitting members ({named.name})")
        try:
            found = cross_fit(named, rows, POINTS, (allowed - (before - start)) / (len(members) - i), clock.now)
        except Unfit as reason:
            warn(f"members: {named.name} was left out: {reason}.")
            continue
        candidate = outside_candidate(named.name, WAYS[named.way].gives)
        seconds = clock.now() - before
        progress.leaderboard.add(
            candidate, f"bag {len(found.points)}", scorer.score(found.points[0], splits[0][1]), seconds, problem.n_rows
        )
        fitted.append(FinalModel(candidate, None, found.points, seconds, found.member))
    clock.set_aside(clock.now() - start)
    return fitted
