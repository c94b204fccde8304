"""The rows whose densities a report draws: which they are, and their curves and point masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.density_plot import density_grid
from diffgbm.reporting.scores import RowScores

ATOM = 0.02
"""Smallest probability of points that coincide for them to be drawn as a point mass."""
DISCRETE = 0.8
"""Total probability of point masses from which on all other values are point masses, too."""
SMOOTH = 0.1
"""Smallest bandwidth of a drawn density, in standard deviations."""
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


def picture(distribution: PredictiveDistribution, observed: float) -> Picture:
    """Split the distribution of one row into point masses and a density."""
    values = distribution.values[0]
    edges = np.concatenate([[0.0], 0.5 * (distribution.levels[1:] + distribution.levels[:-1]), [1.0]])
    mass = np.diff(edges)
    # a point mass in the units of the response may differ by rounding errors
    close = 1e-9 * max(float(np.ptp(values)), float(np.abs(values).max()))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > close]))
    together = np.add.reduceat(mass, starts)
    counts = np.diff(np.append(starts, len(values)))
    is_atom = (together >= ATOM) & ((counts > 1) | (len(values) == 1))
    if together[is_atom].sum() >= DISCRETE:
        is_atom[:] = True
    smooth = ~np.repeat(is_atom, counts)
    quantiles = distribution.quantile(list(MARKS))[0]
    atoms, masses = values[starts[is_atom]], together[is_atom]
    if not smooth.any() or mass[smooth].sum() < ATOM:
        return Picture(np.empty(0), np.empty(0), atoms, masses, quantiles)
    share = mass[smooth].sum()
    levels = (np.cumsum(mass[smooth]) - 0.5 * mass[smooth]) / share
    rest = PredictiveDistribution(values[smooth][None], levels) if len(atoms) else distribution
    grid = density_grid(rest, np.append(atoms, observed), even=81, fine=64)
    return Picture(grid, share * _smooth_density(rest, grid), atoms, masses, quantiles)


def _smooth_density(distribution: PredictiveDistribution, grid: Array) -> Array:
    """Density of one row on a grid (k,), with bandwidths of at least ``SMOOTH`` standard deviations.

    Distributions made by trees can have narrow peaks of little probability, which would dominate the picture.
    """
    mass, width = distribution.kernels
    width = np.maximum(width[0], SMOOTH * distribution.std()[0])
    return np.asarray(norm.pdf(grid[:, None], distribution.values[0], width) @ mass)


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
            picture(row, float(scores.y[i])),
        )
        for i, row, (low, high) in zip(positions, distribution, ends, strict=True)
    )
