"""What pictures of calibration show, as numbers: counts, coverages, and the bands that chance allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from diffgbm._util.types import Array

BAND = 0.95
"""Probability of bands and error bars."""
LEVELS = tuple(float(level) for level in np.round(np.arange(0.05, 0.96, 0.05), 2))
"""Nominal coverages of a reliability diagram."""


@dataclass(frozen=True, eq=False)
class PitHistogram:
    """Counts (bins,) of probability integral transforms between ``edges`` (bins + 1,), and what chance allows."""

    edges: Array
    counts: NDArray[np.intp]
    expected: Array
    low: Array
    high: Array


def pit_counts(pit: Array, bins: int, chance: Array | None = None) -> PitHistogram:
    """Count transforms of any shape in even bins; ``chance`` (bins,) is that of a calibrated model, even if left out.

    Each count of a calibrated model lies between ``low`` and ``high`` with 95% probability.
    """
    edges = np.linspace(0.0, 1.0, bins + 1)
    chance = np.full(bins, 1.0 / bins) if chance is None else chance
    return PitHistogram(edges, np.histogram(pit, edges)[0], pit.size * chance, *binomial_band(pit.size, chance))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Observed coverage (k,) at nominal levels (k,); the band, at ``at`` (k + 2,), begins at 0 and ends at 1."""

    nominal: Array
    coverage: Array
    at: Array
    low: Array
    high: Array


def inside_central(distribution: Any, observed: Array, levels: Array) -> NDArray[np.bool_]:
    """Whether observations lie in their central intervals: the shape of ``observed``, with the levels (k,) behind."""
    low, high = distribution.quantile(0.5 * (1.0 - levels)), distribution.quantile(0.5 * (1.0 + levels))
    return np.asarray((low <= observed[..., None]) & (observed[..., None] <= high))


def reliability_of(inside: NDArray[np.bool_], nominal: Array) -> Reliability:
    """Summarise what ``inside_central`` found at the levels ``nominal``."""
    each = inside.reshape(-1, len(nominal))
    # no interval covers nothing and the whole line covers all: the band begins and ends there
    at = np.concatenate([[0.0], nominal, [1.0]])
    low, high = binomial_band(len(each), at)
    return Reliability(nominal, each.mean(axis=0), at, low / len(each), high / len(each))


@dataclass(frozen=True)
class Proportion:
    """A share of ``count`` observations with its exact 95% binomial interval."""

    count: int
    value: float
    low: float
    high: float


def proportion(inside: NDArray[np.bool_]) -> Proportion:
    """Share of the true values (n,)."""
    ends = binomtest(int(inside.sum()), len(inside)).proportion_ci(BAND)
    return Proportion(len(inside), float(inside.mean()), float(ends.low), float(ends.high))


def binomial_band(n: int, chance: Array) -> tuple[Array, Array]:
    """Counts between which a binomial count of ``n`` lies with 95% probability."""
    tail = 0.5 * (1.0 - BAND)
    return np.asarray(binom.ppf(tail, n, chance)), np.asarray(binom.ppf(1.0 - tail, n, chance))


def equal_groups(values: Array, bins: int) -> list[NDArray[np.intp]]:
    """Positions of equal groups in the order of ``values``, as in ``metrics.iqr_binned_coverage``."""
    order = np.argsort(values, kind="stable")
    return np.array_split(order, min(bins, len(order)))
