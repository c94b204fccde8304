"""The finals: the best candidates trained on all rows, bag by bag, and pooled by what they say of unseen rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.pool import mixed, pool_weights
from diffgbm.auto.sampler_choice import LEAST_GAIN, better_sampler, decisive_bag, out_of_bag, sampled_by, saves
from diffgbm.auto.search import TRAINED, Candidate, Contest
from diffgbm.data.splits import bag_splits, subsample
from diffgbm.fitting.model import FittedModel

POINTS = 89
"""Points of an out-of-bag law."""
DISAGREEMENT_ROWS = 500
"""Rows on which bags are compared."""
HOPELESS = 1.1
"""A finalist whose first bag is so much worse than the best one's gets no second."""


@dataclass
class Finalist:
    """A candidate and its bags so far.

    Attributes
    ----------
    candidate : Candidate
    model : FittedModel or None
        All bags together.
    points : list of ndarray of shape (rows, POINTS, d)
        For each bag the laws of the rows it has not seen.
    seconds : float
        Of the slowest bag.
    """

    candidate: Candidate
    model: FittedModel | None = None
    points: list[Array] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """The pool.

    Attributes
    ----------
    members : tuple of FittedModel
        Those with weight.
    candidates : tuple of Candidate
        What they are.
    weights : ndarray of shape (k,)
        Of the members.
    points : ndarray of shape (rows, m, d)
        Laws of the pool for rows that its bags have not seen, sorted.
    rows : ndarray of int
        Those rows.
    """

    members: tuple[FittedModel, ...]
    candidates: tuple[Candidate, ...]
    weights: Array
    points: Array
    rows: Rows


def repeats_for(contest: Contest) -> int:
    """Noisy copies of each row: thirty, as the paper has it, fewer for large tables."""
    return int(np.clip(contest.noisy_rows // contest.n_rows, 8, 30))


def finals(contest: Contest, candidates: Sequence[Candidate], n_bags: int, samplers: bool = True) -> Result:
    """Train the bags of the finalists in turn while there is time, and pool them.

    All finalists share the splits, so that bag ``b`` of each has not seen the same rows. As soon as these are many
    enough, other samplers are tried, if ``samplers`` says so.
    """
    cuts = bag_splits(contest.n_rows, n_bags, 0.2, contest.seed, True)
    decisive = decisive_bag(cuts) if samplers else None
    finalists = [Finalist(candidate) for candidate in candidates]
    for b, cut in enumerate(cuts):
        for finalist in list(finalists):
            # the first bag of the first finalist is always trained: there is a model whatever the limit
            if finalists[0].points and not contest.clock.fits(finalist.seconds, TRAINED):
                break
            contest.report(f"bag {b + 1} of {len(cuts)}: {finalist.candidate}")
            _train_bag(contest, finalist, b, cut)
        finalists = _still_in(contest, finalists, cuts)
        if contest.clock.over(TRAINED):
            break
        if b == decisive:
            finalists = with_samplers(contest, finalists, cuts)
    result = pooled(contest, finalists, cuts)
    _note_weights(contest, finalists, result)
    return result


def _train_bag(contest: Contest, finalist: Finalist, b: int, cut: tuple[Rows, Rows]) -> None:
    before = contest.clock.spent
    params = contest.arguments(finalist.candidate, None, repeats_for(contest))
    model, bag = contest.train(finalist.candidate, params, cut, (99, b))
    points = contest.points(finalist.candidate, model, cut[1], POINTS)
    finalist.points.append(points)
    bags = (bag.boosters,) if finalist.model is None else (*finalist.model.bags, bag.boosters)
    finalist.model = replace(model, bags=bags)
    seconds = contest.clock.spent - before
    finalist.seconds = max(finalist.seconds, seconds)
    contest.note(finalist.candidate, f"bag {b + 1}", contest.score(points, cut[1]), seconds, contest.n_rows)


def with_samplers(contest: Contest, finalists: list[Finalist], cuts: Sequence[tuple[Rows, Rows]]) -> list[Finalist]:
    """Give each finalist the sampler that suits unseen rows best, if a pool of them is the better for it.

    Pools even out much of what samplers do wrong: theirs must be better by a hundredth of the CRPS, and by more than
    the standard error of the difference.
    """
    before = contest.clock.spent
    others = [_with_sampler(contest, finalist, cuts) for finalist in finalists]
    changed = [other for other, finalist in zip(others, finalists, strict=True) if other is not finalist]
    if not changed:
        return finalists
    pools = [pooled(contest, some, cuts) for some in (finalists, others)]
    rows = pools[0].rows
    # as many points of both: the CRPS of few is a little higher
    own, other = (contest.losses(mixed([pool.points], np.ones(1), 4 * POINTS), rows) for pool in pools)
    seconds = (contest.clock.spent - before) / len(changed)
    for finalist in changed:
        contest.note(finalist.candidate, "sampler", _alone(contest, finalist, rows), seconds, contest.n_rows)
    return others if saves(other, own, contest.weights(rows), LEAST_GAIN) else finalists


def _with_sampler(contest: Contest, finalist: Finalist, cuts: Sequence[tuple[Rows, Rows]]) -> Finalist:
    assert finalist.model is not None
    contest.report(f"samplers: {finalist.candidate}")
    unseen = [out for _, out in cuts[: len(finalist.points)]]
    sampler = better_sampler(contest, finalist.candidate, finalist.model, unseen)
    if sampler is None:
        return finalist
    candidate, model = replace(finalist.candidate, sampler=sampler), sampled_by(finalist.model, sampler)
    points = out_of_bag(contest, candidate, model, unseen, POINTS)
    return replace(finalist, candidate=candidate, model=model, points=points)


def _still_in(contest: Contest, finalists: list[Finalist], cuts: Sequence[tuple[Rows, Rows]]) -> list[Finalist]:
    """Leave out finalists that are far behind."""
    trained = [finalist for finalist in finalists if finalist.points]
    scores = [contest.score(finalist.points[0], cuts[0][1]) for finalist in trained]
    return [f for f, score in zip(trained, scores, strict=True) if score <= HOPELESS * min(scores)]


def pooled(contest: Contest, finalists: Sequence[Finalist], cuts: Sequence[tuple[Rows, Rows]]) -> Result:
    """Weight the finalists by the CRPS of their pool on rows that all of them have laws of."""
    common = min(len(finalist.points) for finalist in finalists)
    rows = np.concatenate([cuts[b][1] for b in range(common)])
    distributions = [np.concatenate(finalist.points[:common]) for finalist in finalists]
    to_y, between = contest.mean_terms(distributions, rows)
    weights = pool_weights(to_y, between, len(rows))
    kept = np.flatnonzero(weights).tolist()
    members = tuple(m for m in (finalists[i].model for i in kept) if m is not None)
    points = mixed([distributions[i] for i in kept], weights[kept], POINTS if len(kept) == 1 else 4 * POINTS)
    return Result(members, tuple(finalists[i].candidate for i in kept), weights[kept], points, rows)


def _note_weights(contest: Contest, finalists: Sequence[Finalist], result: Result) -> None:
    weights = dict(zip(result.candidates, result.weights.tolist(), strict=True))
    for finalist in finalists:
        stage = f"final, weight {weights.get(finalist.candidate, 0.0):.2f}"
        contest.note(finalist.candidate, stage, _alone(contest, finalist, result.rows), 0.0, len(result.rows))


def _alone(contest: Contest, finalist: Finalist, rows: Rows) -> float:
    """CRPS of a finalist by itself on the first rows that it has laws of."""
    return contest.score(np.concatenate(finalist.points)[: len(rows)], rows)


def disagreement(contest: Contest, result: Result) -> float:
    r"""How far the bags of a pool are from each other: :math:`(1 - 1/B)\,v / w`, the median over rows, one response.

    ``v`` is the variance of the mean from bag to bag, ``w`` the variance of a bag's law. The rows are known to most of
    the bags; on new rows they disagree as much (measured on the paper's fold 0: 0.006, 0.005, 0.018, 0.008 on yacht,
    diabetes, energy and concrete, and 0.005, 0.006, 0.018, 0.008 on new rows).
    """
    n_bags = min(len(member.bags) for member in result.members)
    rows = subsample(contest.n_rows, DISAGREEMENT_ROWS, contest.seed)[0]
    unit, centre = contest.response.scale[0] or 1.0, None
    moments = np.zeros((2, n_bags, len(rows)))
    for member, candidate, weight in zip(result.members, result.candidates, result.weights, strict=True):
        for b, bag in enumerate(member.bags[:n_bags]):
            points = contest.points(candidate, replace(member, bags=(bag,)), rows)[:, :, 0] / unit
            # about a mean of theirs: squares of numbers far from zero lose what they differ by
            centre = points.mean(axis=1, keepdims=True) if centre is None else centre
            points -= centre
            moments[:, b] += weight * np.array([points.mean(axis=1), np.mean(points**2, axis=1)])
    mean, square = moments
    within = np.maximum((square - mean**2).mean(axis=0), np.finfo(float).tiny)
    # the unbiased variance of B means, times 1 - 1/B
    return float(np.median(mean.var(axis=0) / within))
