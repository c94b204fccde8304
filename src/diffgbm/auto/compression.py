r"""Compression: a pool with fewer members, bags, steps and points, which predicts nearly what the whole pool does.

If the whole pool :math:`F` is right, a smaller pool :math:`C` has a CRPS that is higher by the Cramer distance

.. math:: \int (C(u) - F(u))^2 du = -\tfrac12 \sum_{ij} (v_i - w_i)(v_j - w_j)\, \mathrm E|X_i - X_j|,

a quadratic function of the weights :math:`v` of the bags that are left; :math:`w` are those of all bags. It needs rows
but no responses. The weights of the whole pool minimise the out-of-bag CRPS, so that other weights of the same members
raise that by the same distance, and bags of one member are as good as each other: no subset is favoured by luck.

References
----------
Szekely, G. J. and Rizzo, M. L. (2013). Energy statistics: a class of statistics based on distances. Journal of
Statistical Planning and Inference 143, 1249-1272.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.acceptance import LEVELS
from diffgbm.auto.economy import ECONOMIES, WHOLE, Economy
from diffgbm.auto.operations import Operations
from diffgbm.auto.pool import pool_crps, pool_terms, simplex_minimum
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.recalibration import fit_correction
from diffgbm.data.kinds import Category, Number
from diffgbm.distributions import Distribution, PredictiveDistribution

ROWS = 512
"""Rows that distributions are compared on, at most."""
POINTS = 89
"""Points of the distribution of a bag."""
POOL_POINTS = 377
"""Points of the distribution of a pool."""
MARGIN = 2.0
"""Bags and trees differ more on new rows than on rows that most of them were trained on, and no pool is quite right."""
PROMISING = 1.2
"""Expected rise, in units of the tolerance, above which a pool is not compared."""
QUANTILES = 8
"""Quantiles of each row that a smaller pool is recalibrated to."""
GOLDEN = 0.6180339887498949
"""Fraction whose multiples are spread evenly."""
MAX_COVERAGE_CHANGE = 0.01
"""How far the probability inside central intervals may move."""

NAMES, MEANS = ("members", "bags"), ("operations", "crps_rise", "coverage")

Kept = tuple[tuple[int, ...], ...]
"""For each member the bags that are left."""


@dataclass(frozen=True)
class Compression:
    """What a compression saved, and what it costs.

    Attributes
    ----------
    members, bags : (int, int)
        Members and bags before and after.
    operations : float
        Operations of a prediction, as a share of those before; estimated from sizes, not from a clock.
    crps_rise : float
        Cramer distance from the whole pool, as a share of the CRPS that the whole pool expects of itself, with a margin
        for new rows.
    coverage : float
        Probability that the whole pool gives to the 90% intervals.
    rows : int
        Rows that this was measured on.
    kept : tuple of tuple of int
        For each member before the bags that are left.
    economy : Economy
        What is left of first-stage trees, steps and points.
    """

    members: tuple[int, int]
    bags: tuple[int, int]
    operations: float
    crps_rise: float
    coverage: float
    rows: int
    kept: Kept
    economy: Economy = WHOLE

    @classmethod
    def joined(cls, each: Sequence[Compression]) -> Compression:
        """Return the compression of several models that are mixed: sums of sizes, means of everything else."""
        members, bags = (tuple(sum(sizes) for sizes in zip(*(getattr(c, n) for c in each), strict=True)) for n in NAMES)
        mean = {name: float(np.mean([getattr(c, name) for c in each])) for name in MEANS}
        kept = tuple(bags for c in each for bags in c.kept)
        rows, economy = sum(c.rows for c in each), Economy.joined([c.economy for c in each])
        return cls((members[0], members[1]), (bags[0], bags[1]), **mean, rows=rows, kept=kept, economy=economy)

    def __str__(self) -> str:
        if self.bags[0] == self.bags[1] and self.economy == WHOLE:
            return "Nothing was left out in compression: each smaller pool predicts too differently."
        return (
            f"Compressed to {self.bags[1]} of {self.bags[0]} bags in {self.members[1]} of {self.members[0]} "
            f"members{self.economy}: a prediction takes about {self.operations:.0%} of the operations. By the "
            f"distributions of {self.rows} rows its CRPS is {self.crps_rise:.1%} higher than the whole model's, whose "
            f"probability inside the new 90% intervals is {self.coverage:.1%}."
        )


def compressed(pool: PooledModel, X: Array, tolerance: float, threads: int = 1) -> tuple[PooledModel, Compression]:
    """Leave out bags and members while the CRPS rises by less than a share ``tolerance``; return what is left.

    Bags are left out in turn, each time the one that saves most operations for the rise that it causes, and the
    weights of members are fitted again. Of the pools on this way, with all or some of their first-stage trees, steps
    and points, the one of fewest operations is chosen whose distributions, with everything that a prediction does, are
    within the tolerance and cover what they should. If a pool covers something else, because fewer bags differ less,
    it is recalibrated to the whole pool. Members from outside stay as they are.

    Parameters
    ----------
    pool : PooledModel
        The whole pool.
    X : ndarray of shape (n, p)
        Encoded rows; some of many are used.
    tolerance : float
        Largest rise.
    threads : int
        Threads.
    """
    X = np.ascontiguousarray(X[np.unique(np.linspace(0, len(X) - 1, ROWS).astype(np.intp))], dtype=np.float64)
    whole = pool.distribution(X, POOL_POINTS, threads=threads)
    everything: Kept = tuple(tuple(range(len(member.bags))) for member in pool.members)
    covered = _covered(whole, whole)
    sizes, at = _sizes(everything, everything), LEVELS.index(0.9)
    nothing = Compression(*sizes, 1.0, 0.0, float(covered[at]), len(X), everything)
    if not pool.weights.any():  # climatology or members from outside are everything
        return pool, nothing
    inner = pool.without_outside() if pool.outside else pool
    operations = Operations.of(pool)
    smaller_pools = _smaller_pools(_Distances.of(inner, X, threads), operations, everything, tolerance)
    way = [_Part(everything, inner.shares, 0.0), *smaller_pools]
    for cost, economy, part in _candidates(pool, X, whole, way, operations, tolerance, threads):
        smaller = _with_outside(economy(_part(inner, part)), pool)
        for candidate, found in _as_it_is_and_recalibrated(smaller, X, whole, threads):
            rise, inside = MARGIN * _rise(pool, whole, found), _covered(whole, found)
            if rise <= tolerance and np.abs(inside - covered).max() <= MAX_COVERAGE_CHANGE:
                saved, sizes = cost / operations.total(everything), _sizes(everything, part.kept)
                return candidate, Compression(*sizes, saved, rise, float(inside[at]), len(X), part.kept, economy)
    return pool, nothing


@dataclass(frozen=True, eq=False)
class _Part:
    """Bags that are left, the weights of their members (and of climatology, last), and the rise of the CRPS."""

    kept: Kept
    weights: Array
    rise: float


def _candidates(
    pool: PooledModel,
    X: Array,
    whole: Distribution,
    way: Sequence[_Part],
    operations: Operations,
    tolerance: float,
    threads: int,
) -> list[tuple[float, Economy, _Part]]:
    """Smaller pools that may be within the tolerance, those of fewest operations first.

    The rise of a pool is about the sum of those of its savings one by one, which are measured on the whole pool. A pool
    is left out if another one has fewer operations and a smaller rise.
    """
    scalar = pool.first.n_responses == 1
    economies = [each for each in ECONOMIES if scalar or each.points is None]
    alone: dict[Economy, float] = {}
    for saving in {saving for economy in economies for saving in economy.parts}:
        alone[saving] = _rise(pool, whole, saving(pool).distribution(X, POOL_POINTS, threads=threads))
    each = [
        (operations.total(part.kept, economy), sum(alone[saving] for saving in economy.parts), economy, part)
        for economy in economies
        for part in way
    ]
    found, least = [], PROMISING * tolerance / MARGIN
    for cost, rise, economy, part in sorted(each, key=lambda one: one[0]):
        if rise + part.rise < least and cost < operations.total(way[0].kept):
            least = rise + part.rise
            found.append((cost, economy, part))
    return found


def _as_it_is_and_recalibrated(
    pool: PooledModel, X: Array, whole: Distribution, threads: int
) -> Iterator[tuple[PooledModel, Distribution]]:
    """Yield a smaller pool with its distributions, then with a correction that makes it cover what the whole pool does.

    The correction is fitted to quantiles of the whole pool's distributions at even levels, as if they were
    observations. A response with point masses has none.
    """
    yield pool, pool.distribution(X, POOL_POINTS, threads=threads)
    support = pool.shapes[0].support
    discrete = pool.atoms is not None or (support is not None and (support.has_atoms or support.integers))
    if discrete or not isinstance(whole, PredictiveDistribution):
        return
    plain = replace(pool, correction=None).distribution(X, POOL_POINTS, threads=threads)
    assert isinstance(plain, PredictiveDistribution)
    first = np.arange(len(X))[:, None] * GOLDEN % 1.0
    pit = plain.cdf(whole.quantile((np.arange(QUANTILES) + first) / QUANTILES))
    correction = fit_correction(plain[np.repeat(np.arange(len(X)), QUANTILES)], pit.ravel())
    corrected = replace(pool, correction=correction)
    yield corrected, corrected.corrected(plain)


def reference_rows(pool: PooledModel) -> Array:
    """Return training rows that a model keeps to compare new rows with, encoded (n, p).

    It keeps one number for each column, which is all that numbers and categories are encoded as.
    """
    features, reference = pool.first.features, pool.first.reference
    plain = all(isinstance(column, (Number, Category)) for column in features.columns)
    if reference is None or not plain:
        found = "keeps no training rows" if plain else "keeps columns such as dates and texts in part only"
        raise ValueError(f"compress needs X, rows to compare predictions on, such as the training rows: it {found}.")
    return reference.values.astype(np.float64)


def _sizes(before: Kept, after: Kept) -> tuple[tuple[int, int], tuple[int, int]]:
    members, bags = ((sum(map(bool, kept)), sum(map(len, kept))) for kept in (before, after))
    return (members[0], bags[0]), (members[1], bags[1])


@dataclass(frozen=True, eq=False)
class _Distances:
    """Mean distances between the values of bags, and what the whole pool is.

    Attributes
    ----------
    owner : ndarray of shape (k,)
        Member of each bag, and last the number of members for climatology, if the pool has it.
    weights : ndarray of shape (k,)
        Weights of the bags in the whole pool.
    between : ndarray of shape (k, k)
        Mean differences, averaged over rows and, in standard deviations, over responses.
    """

    owner: Array
    weights: Array
    between: Array

    @classmethod
    def of(cls, pool: PooledModel, X: Array, threads: int) -> _Distances:
        """Predict rows (n, p) by each bag of a pool."""
        points, owner, weights = [], [], []
        for m, member in enumerate(pool.members):
            stage_values = None if member.first_stage is None else member.first_stage.values(X)
            for bag in member.bags:
                alone = replace(member, bags=(bag,))
                points.append(alone.points(X, member.recipe.sampler, POINTS, threads, stage_values=stage_values))
                owner.append(m)
                weights.append(pool.weights[m] / len(member.bags))
        if pool.climatology is not None:
            points.append(np.tile(pool.climatology.points(POINTS), (len(X), 1, 1)))
            owner.append(len(pool.members))
            weights.append(pool.climatology.weight)
        points = [np.sort(pool.confined(part.copy()), axis=1) for part in points]
        units = np.where(pool.first.response.units == 0.0, 1.0, pool.first.response.units)
        nowhere = np.zeros(len(X))
        parts = [pool_terms([p[:, :, j] / units[j] for p in points], nowhere)[1] for j in range(len(units))]
        return cls(np.array(owner), np.array(weights), np.mean(parts, axis=0))

    @property
    def expected(self) -> float:
        """CRPS that the whole pool expects of itself."""
        return float(0.5 * self.weights @ self.between @ self.weights)

    def best(self, kept: Kept) -> tuple[float, Array]:
        """Return the rise of the CRPS, as a share, and the weights of the members that are left (and climatology's)."""
        columns = [
            np.isin(np.arange(len(self.owner)), np.flatnonzero(self.owner == m)[list(bags)]) / len(bags)
            for m, bags in enumerate(kept)
            if bags
        ]
        if self.owner[-1] == len(kept):
            columns.append(np.eye(len(self.owner))[-1])
        mixed = np.column_stack(columns)
        to_whole, between = mixed.T @ self.between @ self.weights, mixed.T @ self.between @ mixed
        weights = simplex_minimum(to_whole, between)
        return pool_crps(weights, to_whole, between) / self.expected - 1.0, weights


def _smaller_pools(distances: _Distances, operations: Operations, kept: Kept, tolerance: float) -> Iterator[_Part]:
    """Yield smaller and smaller pools with their weights, as long as the rise is within the tolerance."""
    rise = 0.0
    while sum(map(len, kept)) > 1:
        before, found = operations.total(kept), []
        for candidate in _without_one(kept):
            new_rise, weights = distances.best(candidate)
            if new_rise <= tolerance and np.all(weights > 0.0):
                gain = (before - operations.total(candidate)) / max(new_rise - rise, 1e-4 * tolerance)
                found.append((gain, candidate, new_rise, weights))
        if not found:
            return
        _, kept, rise, weights = max(found, key=lambda each: each[0])
        yield _Part(kept, weights, rise)


def _without_one(kept: Kept) -> Iterator[Kept]:
    """Yield what is left without one bag, and without one member; something is always left."""
    for m, bags in enumerate(kept):
        for bag in bags:
            yield (*kept[:m], tuple(b for b in bags if b != bag), *kept[m + 1 :])
        if len(bags) > 1 and sum(map(bool, kept)) > 1:
            yield (*kept[:m], (), *kept[m + 1 :])


def _part(pool: PooledModel, part: _Part) -> PooledModel:
    """Return the pool of the bags that are left, with their weights."""
    members = tuple(
        replace(member, bags=tuple(member.bags[b] for b in bags))
        for member, bags in zip(pool.members, part.kept, strict=True)
        if bags
    )
    climatology = pool.climatology
    if climatology is not None:
        climatology = replace(climatology, weight=float(part.weights[-1]))
    return replace(pool, members=members, weights=part.weights[: len(members)], climatology=climatology)


def _with_outside(inner: PooledModel, pool: PooledModel) -> PooledModel:
    """Return a pool with the members from outside that the whole pool has, at their weights."""
    rest = 1.0 - sum(member.weight for member in pool.outside)
    climatology = inner.climatology
    if climatology is not None:
        climatology = replace(climatology, weight=rest * climatology.weight)
    return replace(inner, weights=rest * inner.weights, climatology=climatology, outside=pool.outside)


def _marginals(distribution: Distribution) -> Sequence[PredictiveDistribution]:
    return distribution.marginals()


def _rise(pool: PooledModel, whole: Distribution, found: Distribution) -> float:
    """Cramer distance of two pools' distributions as a share of the CRPS that the whole pool expects of itself."""
    distance, expected = 0.0, 0.0
    for unit, a, b in zip(pool.first.response.units, _marginals(whole), _marginals(found), strict=True):
        _, between = pool_terms([a.values, b.values], np.zeros(len(a)))
        distance += (between[0, 1] - 0.5 * between[0, 0] - 0.5 * between[1, 1]) / (unit or 1.0)
        expected += 0.5 * between[0, 0] / (unit or 1.0)
    return float(distance / expected) if expected > 0.0 else 0.0


def _covered(whole: Distribution, found: Distribution) -> Array:
    """Probability, by the whole pool, of central intervals of each level: the mean over rows and responses."""
    parts = []
    for a, b in zip(_marginals(whole), _marginals(found), strict=True):
        ends = b.interval(list(LEVELS))
        parts.append(np.mean(a.cdf(ends[:, :, 1]) - a.cdf(ends[:, :, 0]), axis=0))
    return np.asarray(np.mean(parts, axis=0))
