"""A fitted pool: several models that share the points and samples of a row in proportion to their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.pool import mixed, shares
from diffgbm.auto.recalibration import Correction
from diffgbm.distributions import Distribution, JointDistribution, PredictiveDistribution
from diffgbm.engine import Draws, row_uniforms
from diffgbm.fitting.model import FittedModel

BLOCK = 2048
"""Rows whose guides are asked together."""
POINTS_OF_A_BAG = 55
"""Points of a scalar law from each bag: a handful of them, with a handful of noises, is not its law."""


@dataclass(frozen=True)
class PooledModel:
    """The parts of an automatic fit.

    Attributes
    ----------
    members : tuple of FittedModel
        Models of the same table.
    weights : ndarray of shape (k,)
        Their weights.
    correction : Correction or None
        What laws are recalibrated by.
    shapes : tuple of ResponseShape
        What each response is confined to.
    """

    members: tuple[FittedModel, ...]
    weights: Array
    correction: Correction | None
    shapes: tuple[ResponseShape, ...]

    @property
    def first(self) -> FittedModel:
        """The first member, which knows the table as well as any."""
        return self.members[0]

    def distribution(
        self, X: Array, n_points: int, index: object = None, threads: int = 1, verbose: int = 0
    ) -> Distribution:
        """Predictive laws of encoded rows (n, p)."""
        points = np.empty((len(X), n_points, self.first.n_responses))
        with progress_bar(len(X), "predict", verbose, "row") as bar:
            for first in range(0, len(X), BLOCK):
                rows = slice(first, first + BLOCK)
                block = np.ascontiguousarray(X[rows], dtype=np.float64)
                points[rows] = self._points(block, n_points, threads)
                bar.update(len(block))
        u = self.places(X)
        points = self.confined(points, u)
        if not self.first.response.is_1d:
            return JointDistribution(points, self.first.response_names, index)
        distribution = PredictiveDistribution.from_points(points[:, :, 0], self.first.response_names[0], index)
        if self.correction is None:
            return distribution
        distribution = self.correction(distribution)
        # points that come to lie between possible values are confined again
        return replace(distribution, values=self.confined(distribution.values[:, :, None], u)[:, :, 0])

    def _points(self, X: Array, n_points: int, threads: int) -> Array:
        """Points (n, n_points, d) of the pool's laws for a block of rows.

        A scalar law of a member is made of so many points that each bag has enough, and thinned at even ranks. The
        points of several responses belong together and are divided among the members.
        """
        memo: dict[int, Array] = {}
        counts = shares(self.weights, n_points)
        distributions = []
        for member, count in zip(self.members, counts.tolist(), strict=True):
            said = None if member.first_stage is None else member.first_stage.values(X, memo)
            own = max(count, POINTS_OF_A_BAG * len(member.bags)) if self.first.n_responses == 1 else count
            if count:  # fewer points than members leave the lightest without
                distributions.append(member.points(X, member.recipe.sampler, own, threads, said=said))
        if self.first.n_responses > 1:
            return np.concatenate(distributions, axis=1)
        weights = self.weights[counts > 0]
        return mixed(
            [np.sort(distribution, axis=1) for distribution in distributions], weights / weights.sum(), n_points
        )

    def places(self, X: Array) -> Array | None:
        """Where values have room in the laws of encoded rows: shape (n,), or ``None`` if they have none."""
        return row_uniforms(X) if self.has_room else None

    def confined(self, points: Array, u: Array | None) -> Array:
        """Move points (n, m, d) of laws to where the responses can be.

        If values have room, ``u`` (n,) says where; there is one response then, and its points are sorted. Without ``u``
        points go to the values themselves.
        """
        for j, shape in enumerate(self.shapes):
            if shape:
                own = points[:, :, j]
                points[:, :, j] = shape.spread(own, u) if shape.room and u is not None else shape(own)
        return points

    def single(self, values: Array, u: Array | None) -> Array:
        """Move single values (n, m) of the one response, not sorted, to where it can be."""
        (shape,) = self.shapes
        return shape.pull(values, u) if shape.room and u is not None else shape(values)

    @property
    def has_room(self) -> bool:
        """Whether the values of the response have room."""
        return any(shape.room for shape in self.shapes)

    @property
    def samples_are_of_distributions(self) -> bool:
        """Whether laws differ from what trajectories end at by more than where the response can be."""
        return self.correction is not None or self.has_room

    def sample(self, X: Array, n_samples: int, key: int, first_row: int, threads: int, verbose: int) -> Array:
        """Draw samples (n_samples, n, d); each sample belongs to one member, the same for all rows.

        They are where trajectories end, on the nearest possible value: not recalibrated, and without room.
        """
        out = np.empty((n_samples, len(X), self.first.n_responses))
        owner = owners(self.weights, n_samples)
        for i, member in enumerate(self.members):
            own = np.flatnonzero(owner == i)
            if len(own):
                # a member draws as many samples as it needs from a stream of its own
                stream = int(np.random.SeedSequence((key, i)).generate_state(1, np.uint64)[0])
                draws = Draws(len(own), stream, first_row)
                steps = member.recipe.steps(member.recipe.sampler)
                member.integrate(X, steps, draws, threads, verbose, _receiver(out, own))
        return np.swapaxes(self.confined(np.swapaxes(out, 0, 1), None), 0, 1)


def _receiver(out: Array, own: NDArray[np.intp]) -> Callable[[slice, Array], None]:
    def receive(rows: slice, values: Array) -> None:
        out[own, rows] = values.swapaxes(0, 1)

    return receive


def owners(weights: Array, n: int) -> NDArray[np.intp]:
    """Member of each of ``n`` samples: any first samples are divided nearly in proportion to the weights.

    Sample ``i`` belongs to whoever holds the fractional part of ``i`` times the golden ratio.
    """
    position = (0.5 + np.arange(n) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0
    return np.searchsorted(np.cumsum(weights)[:-1], position, side="right").astype(np.intp)
