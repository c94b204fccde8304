"""The rows whose laws a report draws: which they are, and their densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from diffgbm._util.types import Array
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.density_plot import density_grid
from diffgbm.reporting.scores import RowScores

Positions = NDArray[np.intp]

ATOM = 0.02
"""Probability that makes points which coincide a point mass."""
DISCRETE = 0.8
"""Probability of point masses from which on the other values are taken as rare point masses."""
SMOOTH = 0.1
"""Standard deviations over which a density is smoothed at least, where it is drawn."""
MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are marked."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A law to draw: the density (k,) of what is no point mass on a grid (k,), masses, and quantiles.

    Attributes
    ----------
    grid, density : ndarray of shape (k,)
        The density integrates to the probability that no point mass holds; both are empty if these hold all.
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
    """A row that is drawn: its position, observation, score, promised interval and law."""

    position: int
    observed: float
    crps: float
    interval: tuple[float, float]
    picture: Picture


def picks(scores: RowScores) -> dict[str, int]:
    """Rows that are worth a look, by what they are called."""
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
    """Positions of the named rows, and of others at random, in order: ``most`` together if there are so many."""
    first = np.unique(list(named.values()))
    others = np.random.default_rng([seed, 3]).permutation(np.setdiff1d(np.arange(n), first))
    return np.sort(np.concatenate([first, others[: max(0, most - len(first))]])).astype(np.intp)


def picture(distribution: PredictiveDistribution, observed: float) -> Picture:
    """Take the law of one row apart into point masses and a density."""
    values = distribution.values[0]
    edges = np.concatenate([[0.0], 0.5 * (distribution.levels[1:] + distribution.levels[:-1]), [1.0]])
    mass = np.diff(edges)
    # a point mass restored to the user's units may be spread by rounding
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
    """Density of one row on a grid (k,), with no kernel narrower than ``SMOOTH`` standard deviations.

    Trees make laws with needles that hold little probability, and would hide everything else in a picture.
    """
    mass, width = distribution.kernels
    width = np.maximum(width[0], SMOOTH * distribution.std()[0])
    return np.asarray(norm.pdf(grid[:, None], distribution.values[0], width) @ mass)


def shown_rows(
    distributions: PredictiveDistribution, ends: Array, scores: RowScores, positions: Positions
) -> tuple[ShownRow, ...]:
    """Draw the laws of ``positions``, whose promised intervals are ``ends`` (k, 2)."""
    return tuple(
        ShownRow(
            int(i),
            float(scores.y[i]),
            float(scores.values["crps"][i]),
            (float(low), float(high)),
            picture(distribution, float(scores.y[i])),
        )
        for i, distribution, (low, high) in zip(positions, distributions, ends, strict=True)
    )
