"""A fitted pool: several models that share the points and samples of a row in proportion to their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgbm.automatic.pool import shares
from diffgbm.automatic.shape import ResponseShape
from diffgbm.distribution import PredictiveDistribution
from diffgbm.engine import Draws
from diffgbm.joint import JointDistribution
from diffgbm.model import FittedModel, Laws
from diffgbm.progress import progress_bar

Array = NDArray[np.float64]

BLOCK = 4096
"""Rows whose guides are asked together."""


@dataclass(frozen=True)
class PooledModel:
    """The parts of an automatic fit.

    Attributes
    ----------
    members : tuple of FittedModel
        Models of the same table.
    weights : ndarray of shape (k,)
        Their weights.
    pit : ndarray of shape (m,) or None
        Out-of-bag PIT values by which laws are recalibrated, sorted.
    shapes : tuple of ResponseShape
        What each response is confined to.
    """

    members: tuple[FittedModel, ...]
    weights: Array
    pit: Array | None
    shapes: tuple[ResponseShape, ...]

    @property
    def first(self) -> FittedModel:
        """The first member, which knows the table as well as any."""
        return self.members[0]

    def law(self, X: Array, n_points: int, index: object = None, threads: int = 1, verbose: int = 0) -> Laws:
        """Predictive laws of encoded rows (n, p)."""
        points = np.empty((len(X), n_points, self.first.n_responses))
        counts = shares(self.weights, n_points)
        ends = np.cumsum(counts)
        with progress_bar(len(X), "predict", verbose, "row") as bar:
            for first in range(0, len(X), BLOCK):
                rows = slice(first, first + BLOCK)
                memo: dict[int, Array] = {}
                for member, count, end in zip(self.members, counts, ends, strict=True):
                    if count == 0:  # fewer points than members
                        continue
                    block = np.ascontiguousarray(X[rows], dtype=np.float64)
                    said = None if member.guide is None else member.guide.values(block, memo)
                    points[rows, end - count : end] = member.points(
                        block, member.recipe.sampler, int(count), threads, said=said
                    )
                bar.update(len(points[rows]))
        points = self.confined(points)
        if not self.first.response.is_1d:
            return JointDistribution(points, self.first.response_names, index)
        law = PredictiveDistribution.from_points(points[:, :, 0], self.first.response_names[0], index)
        return law if self.pit is None else corrected(law, self.pit)

    def confined(self, points: Array) -> Array:
        """Move points (n, m, d) to where the responses can be."""
        for j, shape in enumerate(self.shapes):
            if shape:
                points[:, :, j] = shape(points[:, :, j])
        return points

    def sample(self, X: Array, n_samples: int, key: int, first_row: int, threads: int, verbose: int) -> Array:
        """Draw samples (n_samples, n, d); each sample belongs to one member, the same for all rows."""
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
        return np.swapaxes(self.confined(np.swapaxes(out, 0, 1)), 0, 1)


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


def corrected(law: PredictiveDistribution, pit: Array) -> PredictiveDistribution:
    """Correct a law by the distribution of out-of-bag PIT values."""
    from diffgbm.calibration import recalibrated

    return recalibrated(law, pit)
