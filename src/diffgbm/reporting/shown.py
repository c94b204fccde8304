"""The rows whose densities a report draws: which they are, and their curves and point masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.smoothing import smooth_rows
from diffgbm.reporting.scores import RowScores

EVEN, FINE = 40, 40
"""Points of a drawn density: equidistant ones, and at quantiles."""
MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the marked quantiles."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A predictive distribution to draw: point masses, and a density of the rest.

    Attributes
    ----------
    grid, density : ndarray of shape (k,)
        The density integrates to the probability outside the point masses; both are empty if there is none.
    atoms, masses : ndarray of shape (a,)
        Values of point masses, and their probabilities.
    quantiles : ndarray of shape (5,)
        At the levels ``MARKS``.
    """

    grid: Array
    density: Array
    atoms: Array
    masses: Array
    quantiles: Array


@dataclass(frozen=True, eq=False)
class ShownRow:
    """A row that is drawn: its position, observation, score, interval and distribution."""

    position: int
    observed: float
    crps: float
    interval: tuple[float, float]
    picture: Picture


def named_rows(scores: RowScores) -> dict[str, int]:
    """Positions of the typical, best, worst, narrowest and widest row."""
    crps, width = scores.values["crps"], scores.width()
    centred = [
        np.abs(2.0 * np.argsort(np.argsort(v, kind="stable"), kind="stable") - len(v) + 1) for v in (crps, width)
    ]
    return {
        "typical": int(np.argmin(np.maximum(*centred))),
        "best": int(np.argmin(crps)),
        "worst": int(np.argmax(crps)),
        "narrowest": int(np.argmin(width)),
        "widest": int(np.argmax(width)),
    }


def rows_to_show(named: dict[str, int], n: int, most: int, seed: int) -> Positions:
    """Sorted positions of the named rows and of random others, ``most`` together if there are as many."""
    first = np.unique(list(named.values()))
    others = np.random.default_rng([seed, 3]).permutation(np.setdiff1d(np.arange(n), first))
    return np.sort(np.concatenate([first, others[: max(0, most - len(first))]])).astype(np.intp)


def pictures(distribution: PredictiveDistribution) -> list[Picture]:
    """Split the distribution of each row into point masses and a smooth density, and mark its quantiles."""
    marks = distribution.quantile(list(MARKS))
    drawn = []
    for row, quantiles in zip(smooth_rows(distribution), marks, strict=True):
        grid = np.empty(0) if row.discrete else row.grid(EVEN, FINE)
        drawn.append(Picture(grid, row.pdf(grid), row.atoms, row.masses, quantiles))
    return drawn


def shown_rows(
    distribution: PredictiveDistribution, ends: Array, scores: RowScores, positions: Positions
) -> tuple[ShownRow, ...]:
    """Prepare the rows at ``positions`` (k,), with their distributions and intervals ``ends`` (k, 2), for drawing."""
    return tuple(
        ShownRow(
            int(i),
            float(scores.y[i]),
            float(scores.values["crps"][i]),
            (float(low), float(high)),
            picture,
        )
        for i, picture, (low, high) in zip(positions, pictures(distribution), ends, strict=True)
    )
