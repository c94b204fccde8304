"""A fitted pool: several models that share the points and samples of a row in proportion to their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.errors import warn
from diffgbm._util.progress import progress_bar
from diffgbm._util.rows import sorted_rows
from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.climatology import Climatology
from diffgbm.auto.pool import mixture_points, point_counts
from diffgbm.auto.recalibration import Correction
from diffgbm.distributions import Distribution, JointDistribution, PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.engine import Draws
from diffgbm.fitting.atoms import Atoms
from diffgbm.fitting.joint_atoms import JointAtoms, joint_support, probabilities_of, snapped
from diffgbm.fitting.model import FittedModel
from diffgbm.members.member import FittedMember

BLOCK = 2048
"""Rows whose first-stage values are computed together."""
USUAL_POINTS = 377
"""Points of a distribution, unless more are asked for."""
POINTS_OF_A_BAG = 55
"""Points of a scalar distribution from each bag: a handful of points describes a distribution badly."""


@dataclass(frozen=True)
class PooledModel:
    """The result of an automatic fit.

    Attributes
    ----------
    members : tuple of FittedModel
        Models of the same table, at least one.
    weights : ndarray of shape (k,)
        Their weights: positive, or one zero where climatology or members from outside are everything.
    correction : Correction or None
        Recalibrates the distributions.
    shapes : tuple of ResponseShape
        Values that each response is confined to.
    atoms : Atoms or None
        Atoms beside the continuous part, which everything else describes then.
    climatology : Climatology or None
        The training responses, if they have a weight; the weights of all members and its weight sum to one.
    outside : tuple of FittedMember
        Members of other packages, with their weights.
    points_of_a_bag : int or None
        Points that each bag of a compressed pool computes, however few bags there are; the others are interpolated.
    joint_atoms : tuple of Atoms or None
        Atoms of each of several responses; empty if none has any. Members describe all rows.
    """

    members: tuple[FittedModel, ...]
    weights: Array
    correction: Correction | None
    shapes: tuple[ResponseShape, ...]
    atoms: Atoms | None = None
    climatology: Climatology | None = None
    outside: tuple[FittedMember, ...] = ()
    points_of_a_bag: int | None = None
    joint_atoms: JointAtoms = ()

    @property
    def shares(self) -> Array:
        """Weights of the members, of those from outside and, last, of climatology if it has one."""
        others = [member.weight for member in self.outside]
        others += [] if self.climatology is None else [self.climatology.weight]
        return np.append(self.weights, others) if others else self.weights

    @property
    def is_climatology(self) -> bool:
        """Whether every row has the training responses as its distribution."""
        alone = self.climatology is not None and not self.weights.any() and not self.outside
        return alone and self.atoms is None

    @property
    def first(self) -> FittedModel:
        """The first member. All members read the table in the same way."""
        return self.members[0]

    def distribution(
        self, X: Array, n_points: int, index: object = None, threads: int = 1, verbose: int = 0
    ) -> Distribution:
        """Predictive distributions of encoded rows (n, p)."""
        points = np.empty((len(X), n_points, self.first.n_responses))
        with progress_bar(len(X), "predict", verbose, "row") as bar:
            for first in range(0, len(X), BLOCK):
                rows = slice(first, first + BLOCK)
                block = np.ascontiguousarray(X[rows], dtype=np.float64)
                points[rows] = self._points(block, n_points, threads)
                bar.update(len(block))
        found = probabilities_of(self.joint_atoms, X)
        distribution = self.distributions_of(self.confined(points, found), index)
        distribution = self.corrected(distribution)
        if self.atoms is None:
            return distribution
        assert isinstance(distribution, PredictiveDistribution)
        probabilities = self.atoms.probabilities(X)
        return self.atoms.distribution(distribution.values, probabilities, distribution.name, index)

    def corrected(self, distribution: Distribution) -> Distribution:
        """Recalibrate distributions, if the pool has a correction."""
        if self.correction is None:
            return distribution
        assert isinstance(distribution, PredictiveDistribution)
        distribution = self.correction(distribution)
        # the correction moves points between possible values: confine them again
        return replace(distribution, values=self.shapes[0].confined(distribution.values))

    def _computed(self, member: FittedModel, count: int, n_points: int) -> int:
        """Points that a member computes, of which ``count`` are its share of ``n_points``."""
        if self.first.n_responses > 1:
            return count
        if self.points_of_a_bag is not None and n_points <= USUAL_POINTS:
            return self.points_of_a_bag * len(member.bags)
        return max(count, POINTS_OF_A_BAG * len(member.bags))

    def distributions_of(self, points: Array, index: object = None) -> Distribution:
        """Make predictive distributions of confined points (n, m, d)."""
        supports = self.supports
        if self.first.response.is_1d:
            return PredictiveDistribution.from_points(points[:, :, 0], self.first.response_names[0], index, supports[0])
        return JointDistribution(points, self.first.response_names, index, supports if any(supports) else None)

    def _points(self, X: Array, n_points: int, threads: int) -> Array:
        """Points (n, n_points, d) of the pool's distributions for a block of rows.

        A member computes enough points of a scalar distribution for each of its bags; they are thinned at even ranks.
        The points of several responses belong together: each member computes its share of them.
        """
        memo: dict[int, Array] = {}
        shares = self.shares
        counts = _kept_counts(tuple(shares.tolist()), n_points)
        distributions = []
        for member, count in zip(self.members, counts[: len(self.members)].tolist(), strict=True):
            if count == 0:  # with fewer points than members, the members of least weight have none
                continue
            values = None if member.first_stage is None else member.first_stage.values(X, memo)
            computed = self._computed(member, count, n_points)
            distributions.append(member.points(X, member.recipe.sampler, computed, threads, stage_values=values))
        lost = np.zeros(len(X), dtype=bool)
        for outside, count in zip(self.outside, counts[len(self.members) :].tolist(), strict=False):
            if count:
                found = outside.points(X, max(count, POINTS_OF_A_BAG * len(outside.models)))
                unknown = np.isnan(found).any(axis=(1, 2))
                _warn_of_lost(outside, int(unknown.sum()), len(X))
                lost |= unknown
                distributions.append(np.where(np.isnan(found), 0.0, found))
        if self.climatology is not None and counts[-1]:
            points = self.climatology.points(int(counts[-1]))
            distributions.append(np.broadcast_to(points, (len(X), *points.shape)))
        if self.first.n_responses > 1:
            return np.concatenate(distributions, axis=1)
        weights = shares[counts > 0]
        in_order = [sorted_rows(distribution[:, :, 0])[:, :, None] for distribution in distributions]
        points = mixture_points(in_order, weights / weights.sum(), n_points)
        if lost.any():
            points[lost] = self.without_outside()._points(X[lost], n_points, threads)
        return points

    def without_outside(self) -> PooledModel:
        """Return the pool without members from outside; the weights of the others sum to one."""
        rest = float(self.shares.sum() - sum(member.weight for member in self.outside))
        if rest <= 0.0:
            return replace(self, weights=np.full(len(self.members), 1.0 / len(self.members)), outside=())
        climatology = self.climatology
        if climatology is not None:
            climatology = replace(climatology, weight=climatology.weight / rest)
        return replace(self, weights=self.weights / rest, climatology=climatology, outside=())

    @property
    def supports(self) -> tuple[Support | None, ...]:
        """Support of each response."""
        atoms = self.joint_atoms or (None,) * len(self.shapes)
        both = zip(self.shapes, atoms, strict=True)
        return tuple(shape.support if each is None else joint_support(shape.limits, each) for shape, each in both)

    def confined(self, points: Array, probabilities: Sequence[Array | None] = ()) -> Array:
        """Move points (n, m, d) of distributions to possible values, in place.

        Those of several responses also to atoms, whose ``probabilities`` (n, k) belong to each response.
        """
        probabilities = probabilities or (None,) * len(self.shapes)
        for j, (shape, support, found) in enumerate(zip(self.shapes, self.supports, probabilities, strict=True)):
            if found is not None and support is not None:
                points[:, :, j] = snapped(points[:, :, j], support, found)
            elif shape:
                # points of several responses belong together: they keep their order
                move = shape.confined if self.first.response.is_1d else shape.moved
                points[:, :, j] = move(points[:, :, j])
        return points

    @property
    def samples_distribution(self) -> bool:
        """Whether samples are drawn from the distribution: trajectories have no correction, atoms or limits.

        Members from outside have no trajectories.
        """
        limited = self.first.response.is_1d and self.shapes[0].limits is not None
        has_atoms = self.atoms is not None or any(self.joint_atoms)
        return limited or self.correction is not None or has_atoms or bool(self.outside)

    def sample(self, X: Array, n_samples: int, key: int, first_row: int, threads: int, verbose: int) -> Array:
        """Draw samples (n_samples, n, d); each sample belongs to one member, the same for all rows.

        Samples are the ends of trajectories, moved to the nearest possible value. They are not recalibrated.
        """
        out = np.empty((n_samples, len(X), self.first.n_responses))
        member_of = sample_members(self.shares, n_samples)
        for i, member in enumerate(self.members):
            samples = np.flatnonzero(member_of == i)
            if len(samples):
                # each member has its stream of random numbers
                draws = Draws(len(samples), _stream(key, i), first_row)
                steps = member.recipe.steps(member.recipe.sampler)
                member.integrate(X, steps, draws, threads, verbose, _receiver(out, samples))
        if self.climatology is not None:
            samples = np.flatnonzero(member_of == len(self.members))
            out[samples] = self.climatology.sample(len(samples), len(X), _stream(key, len(self.members)), first_row)
        for j, shape in enumerate(self.shapes):
            out[:, :, j] = shape(out[:, :, j])
        return out


@lru_cache(maxsize=128)
def _kept_counts(weights: tuple[float, ...], n: int) -> NDArray[np.intp]:
    """Return the ``point_counts`` of weights, counted once."""
    return point_counts(np.array(weights), n)


def _warn_of_lost(member: FittedMember, count: int, n_rows: int) -> None:
    if count:
        warn(
            f"members: {member.name} returned NaN or infinity for {count:,} of {n_rows:,} rows: the rest of the pool "
            "predicts them.",
        )


def _stream(key: int, member: int) -> int:
    return int(np.random.SeedSequence((key, member)).generate_state(1, np.uint64)[0])


def _receiver(out: Array, samples: NDArray[np.intp]) -> Callable[[slice, Array], None]:
    def receive(rows: slice, values: Array) -> None:
        out[samples, rows] = values.swapaxes(0, 1)

    return receive


def sample_members(weights: Array, n: int) -> NDArray[np.intp]:
    """Member of each of ``n`` samples: any first samples are divided nearly in proportion to the weights.

    Sample ``i`` belongs to the member whose part of [0, 1) holds the fractional part of ``i`` times the golden ratio.
    """
    position = (0.5 + np.arange(n) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0
    return np.searchsorted(np.cumsum(weights)[:-1], position, side="right").astype(np.intp)
