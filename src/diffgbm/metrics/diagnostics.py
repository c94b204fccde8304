"""The numbers behind pictures of calibration: counts, coverages, and bands of a calibrated model.

Pure functions of arrays. ``diffgbm.plotting`` draws their results with matplotlib, ``diffgbm.report`` as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, binomtest

from diffgbm._util.types import Array, Booleans, Rows
from diffgbm.distributions import Prediction
from diffgbm.metrics.randomisation import inside_levels, row_numbers

BAND = 0.95
"""Probability of bands and error bars."""
LEVELS = tuple(float(level) for level in np.round(np.arange(0.05, 0.96, 0.05), 2))
"""Nominal coverages of a reliability diagram."""


@dataclass(frozen=True, eq=False)
class PitHistogram:
    """Histogram of probability integral transforms.

    Attributes
    ----------
    edges : ndarray of shape (bins + 1,)
        Ends of the bins, from 0 to 1.
    counts : ndarray of shape (bins,)
        Observations in each bin.
    expected, low, high : ndarray of shape (bins,)
        Expected count of a calibrated model, and the ends of its 95% band.
    """

    edges: Array
    counts: Rows
    expected: Array
    low: Array
    high: Array


def pit_counts(pit: Array, bins: int, chance: Array | None = None) -> PitHistogram:
    """Count transforms of any shape in bins of equal width.

    ``chance`` (bins,) is the probability of each bin under calibration, ``1 / bins`` by default.

    References
    ----------
    Dawid (1984), Statistical theory: the prequential approach, Journal of the Royal Statistical Society A 147.
    """
    edges = np.linspace(0.0, 1.0, bins + 1)
    chance = np.full(bins, 1.0 / bins) if chance is None else chance
    return PitHistogram(edges, np.histogram(pit, edges)[0], pit.size * chance, *binomial_band(pit.size, chance))


def ensemble_chance(n_samples: int, bins: int) -> Array:
    """Probability (bins,) of each bin for the transform of a calibrated ensemble, which takes m + 1 values."""
    values = np.arange(n_samples + 1) / n_samples
    return np.histogram(values, np.linspace(0.0, 1.0, bins + 1))[0] / (n_samples + 1)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Observed against nominal coverage.

    Attributes
    ----------
    nominal, coverage : ndarray of shape (k,)
        Nominal levels, and the observed coverage at each.
    at, low, high : ndarray of shape (k + 2,)
        Levels from 0 to 1, and the ends of the 95% band of a calibrated model there.
    """

    nominal: Array
    coverage: Array
    at: Array
    low: Array
    high: Array


def inside_central(prediction: Prediction, observed: Array, levels: Array, uniform: Array | None = None) -> Booleans:
    """Whether observations lie in their central intervals, of the shape of ``observed`` with a last axis of levels.

    Point masses are covered at random, see ``diffgbm.metrics.randomisation``; ``uniform`` has the shape of
    ``observed``.
    """
    uniform = row_numbers(observed.shape) if uniform is None else uniform
    return inside_levels(prediction, observed, levels, uniform)


def reliability_of(inside: Booleans, nominal: Array) -> Reliability:
    """Summarise the result (..., k) of ``inside_central`` at the levels ``nominal`` (k,)."""
    each = inside.reshape(-1, len(nominal))
    # an empty interval covers nothing and the whole line covers everything: the band starts at 0 and ends at 1
    at = np.concatenate([[0.0], nominal, [1.0]])
    low, high = binomial_band(len(each), at)
    return Reliability(nominal, each.mean(axis=0), at, low / len(each), high / len(each))


@dataclass(frozen=True)
class Proportion:
    """A proportion of ``count`` observations with its exact 95% binomial interval."""

    count: int
    value: float
    low: float
    high: float


def proportion(inside: Booleans) -> Proportion:
    """Proportion of true values (n,).

    References
    ----------
    Clopper & Pearson (1934), The use of confidence or fiducial limits, Biometrika 26.
    """
    ends = binomtest(int(inside.sum()), len(inside)).proportion_ci(BAND)
    return Proportion(len(inside), float(inside.mean()), float(ends.low), float(ends.high))


@dataclass(frozen=True, eq=False)
class GroupCoverage:
    """Coverage in groups of observations.

    Attributes
    ----------
    mean : ndarray of shape (g,)
        Mean in each group of the values that define the groups.
    covered : tuple of Proportion, of length g
        Coverage of each group.
    """

    mean: Array
    covered: tuple[Proportion, ...]


def coverage_by_group(inside: Booleans, values: Array, groups: Sequence[Rows]) -> GroupCoverage:
    """Coverage ``inside`` (n,) in groups of positions, with the mean of ``values`` (n,) in each."""
    means = np.array([values[group].mean() for group in groups])
    return GroupCoverage(means, tuple(proportion(inside[group]) for group in groups))


@dataclass(frozen=True, eq=False)
class WidthAgainstError:
    """Widths of intervals against absolute errors.

    Attributes
    ----------
    width, error : ndarray of shape (n,)
        Width of the interval and absolute error of the median, for each observation.
    mean_width, mean_error : ndarray of shape (g,)
        Their means in equal groups of observations, sorted by width.
    """

    width: Array
    error: Array
    mean_width: Array
    mean_error: Array


def width_against_error(width: Array, error: Array, bins: int) -> WidthAgainstError:
    """Compare widths (n,) with absolute errors (n,) in ``bins`` equal groups sorted by width."""
    groups = equal_groups(width, bins)
    means = (np.array([values[group].mean() for group in groups]) for values in (width, error))
    return WidthAgainstError(width, error, *means)


@dataclass(frozen=True, eq=False)
class ObservedAgainstPredicted:
    """Observations against predicted medians.

    Attributes
    ----------
    predicted, observed : ndarray of shape (n,)
        Predicted median and observation of each row.
    group_predicted, group_observed : ndarray of shape (g,)
        Their medians in about equal groups of rows, sorted by prediction; equal predictions share a group.
    """

    predicted: Array
    observed: Array
    group_predicted: Array
    group_observed: Array


def observed_against_predicted(predicted: Array, observed: Array, bins: int) -> ObservedAgainstPredicted:
    """Compare predicted medians (n,) with observations (n,) in about ``bins`` groups sorted by prediction."""
    groups = tied_groups(predicted, bins)
    medians = (np.array([np.median(values[group]) for group in groups]) for values in (predicted, observed))
    return ObservedAgainstPredicted(predicted, observed, *medians)


@dataclass(frozen=True, eq=False)
class EventReliability:
    r"""Reliability of the probability :math:`P(Y > c)`.

    Attributes
    ----------
    threshold : float
        The value ``c``.
    probability : ndarray of shape (g,)
        Mean predicted probability in groups of rows with similar probabilities.
    happened : tuple of Proportion, of length g
        How often the observation exceeded the threshold in each group.
    brier : float
        Brier score, the mean of the squared difference between the probability and what happened (0 or 1).
    reference : float
        Brier score of the observed frequency as the prediction of all rows.
    """

    threshold: float
    probability: Array
    happened: tuple[Proportion, ...]
    brier: float
    reference: float


def event_reliability(threshold: float, probability: Array, observed: Array, bins: int) -> EventReliability:
    """Compare predicted probabilities (n,) of values above a threshold with observations (n,) in about ``bins`` groups.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78.
    """
    happened = observed > threshold
    # probabilities that differ by rounding errors alone are equal
    groups = tied_groups(np.round(probability, 9), bins)
    means = np.array([probability[group].mean() for group in groups])
    brier, share = float(np.mean((probability - happened) ** 2)), float(happened.mean())
    each = tuple(proportion(happened[group]) for group in groups)
    return EventReliability(threshold, means, each, brier, share * (1.0 - share))


def binomial_band(n: int, chance: Array) -> tuple[Array, Array]:
    """Ends of the central 95% range of binomial counts out of ``n``."""
    tail = 0.5 * (1.0 - BAND)
    return np.asarray(binom.ppf(tail, n, chance)), np.asarray(binom.ppf(1.0 - tail, n, chance))


def equal_groups(values: Array, bins: int) -> list[Rows]:
    """Positions of ``bins`` groups of equal size in the order of ``values`` (n,), at most one for each value."""
    order = np.argsort(values, kind="stable")
    return np.array_split(order, min(bins, len(order)))


def tied_groups(values: Array, bins: int) -> list[Rows]:
    """Positions of about ``bins`` groups in the order of ``values`` (n,); equal values are in the same group."""
    cuts = np.unique([values[group].max() for group in equal_groups(values, bins)])
    member = np.searchsorted(cuts, values)
    groups = [np.flatnonzero(member == g) for g in range(len(cuts))]
    return [group for group in groups if len(group)]
