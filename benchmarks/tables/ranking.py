"""Rank statistics of k families on N data sets: mean ranks, Friedman, Nemenyi, paired Wilcoxon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from diffgbm._util.types import Array

ALPHA = 0.05


def mean_ranks(values: Array) -> Array:
    """Mean over data sets of the rank within each; the smallest value has rank 1, ties share their mean.

    Parameters
    ----------
    values : ndarray of shape (k, N)
        Families by data sets.

    Returns
    -------
    ndarray of shape (k,)
        NaN where a data set has a NaN.
    """
    return np.asarray(stats.rankdata(values, axis=0)).mean(axis=1)


@dataclass(frozen=True)
class Friedman:
    """chi^2 with k - 1 degrees of freedom, corrected for ties, and its p-value."""

    chi2: float
    p_value: float


def friedman(values: Array) -> Friedman | None:
    """Test whether k families have equal ranks on N data sets, ``values`` of shape (k, N).

    The test needs three families and two data sets; with fewer, or when all are tied, there is none.
    """
    n_families, n_data_sets = values.shape
    if n_families < 3 or n_data_sets < 2 or np.all(values == values[:1]):
        return None
    result = stats.friedmanchisquare(*values)
    return Friedman(float(result.statistic), float(result.pvalue))


def critical_difference(n_families: int, n_data_sets: int, alpha: float = ALPHA) -> float:
    """Nemenyi's critical difference of mean ranks.

    ``CD = q sqrt(k (k + 1) / (6 N))``, where ``sqrt(2) q`` is the upper ``alpha`` quantile of the studentized range of
    k means with infinitely many degrees of freedom.
    """
    quantile = float(stats.studentized_range.ppf(1.0 - alpha, n_families, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(n_families * (n_families + 1) / (6.0 * n_data_sets))


def nemenyi(ranks: Array, n_data_sets: int) -> Array:
    """P-values of all pairs, ``P(range > |R_i - R_j| / sqrt(k (k + 1) / (12 N)))``, (k, k); 1 on the diagonal."""
    k = len(ranks)
    gaps = np.abs(ranks[:, None] - ranks[None, :])
    tails = stats.studentized_range.sf(gaps / math.sqrt(k * (k + 1) / (12.0 * n_data_sets)), k, np.inf)
    return np.where(gaps == 0.0, 1.0, np.clip(tails, 0.0, 1.0))


def cliques(ranks: Array, difference: float) -> list[tuple[int, int]]:
    """Return the maximal runs of sorted ranks within ``difference``, as first and last index, without single ones.

    Parameters
    ----------
    ranks : ndarray of shape (k,)
        Mean ranks in increasing order.
    difference : float
        The critical difference.
    """
    result: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.flatnonzero(ranks <= ranks[first] + difference)[-1])
        if last > first and (not result or last > result[-1][1]):
            result.append((first, last))
    return result


@dataclass(frozen=True)
class Wilcoxon:
    """One-sided signed-rank test that one row's CRPS is lower than another's.

    Attributes
    ----------
    wins, losses, ties : int
        Data sets where the row is lower, higher, equal.
    statistic : float
        Sum of the ranks of the losses.
    p_value : float
        Probability of so small a sum if the sign were a coin; NaN if all are ties.
    """

    wins: int
    losses: int
    ties: int
    statistic: float
    p_value: float


def wilcoxon(row: Array, other: Array) -> Wilcoxon:
    """Test the CRPS of two rows on the same N data sets, (N,) each.

    Ranks are those of ``|log(row/other)|``: free of the units of the response, unlike those of differences, and of
    the same sign.
    """
    ratios = np.log(row / other)
    wins, losses = int(np.sum(ratios < 0.0)), int(np.sum(ratios > 0.0))
    if wins + losses == 0:
        return Wilcoxon(0, 0, len(ratios), 0.0, math.nan)
    result = stats.wilcoxon(ratios[ratios != 0.0], alternative="less")
    return Wilcoxon(wins, losses, len(ratios) - wins - losses, float(result.statistic), float(result.pvalue))
