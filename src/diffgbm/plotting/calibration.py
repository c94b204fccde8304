"""Pictures of calibration: transforms, coverage overall and in groups, and widths against errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.errors import check_count
from diffgbm._util.figures import BLUE, INK, ORANGE, axes, dots, finish, percent, tint
from diffgbm.distributions import Ensemble
from diffgbm.distributions.base import matching_observations
from diffgbm.metrics import diagnostics
from diffgbm.metrics.diagnostics import LEVELS
from diffgbm.metrics.predictions import as_distribution, central_interval
from diffgbm.metrics.randomisation import randomised_pit, row_numbers


def pit_histogram(prediction: Any, y: ArrayLike, bins: int = 20, ax: Any = None) -> Any:
    """Histogram of the probability integral transforms, flat if the predictions are calibrated.

    A hump means distributions that are too wide, a trough ones that are too narrow, a slope a bias. Each bar of a
    calibrated model lies in the band with 95% probability. The transform of ``m`` samples takes ``m + 1`` values: the
    band allows for how many of them fall into each bar, and is constant where ``bins`` divides ``m + 1``.

    Parameters
    ----------
    prediction : samples or predictive distribution
        Predictions.
    y : array-like
        Observations.
    bins : int
        Number of bars.
    ax : matplotlib axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib axes
        The axes drawn on.

    References
    ----------
    Dawid (1984), Statistical theory: the prequential approach, Journal of the Royal Statistical Society A 147.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import plotting
    >>> rng = np.random.default_rng(0)
    >>> samples, y = rng.standard_normal((99, 200)), rng.standard_normal(200)
    >>> ax = plotting.pit_histogram(samples, y, bins=10)
    >>> ax.get_xlabel()
    'probability integral transform'
    """
    check_count("bins", bins, 1)
    distribution = as_distribution(prediction)
    chance = None
    if isinstance(distribution, Ensemble):
        chance = diagnostics.ensemble_chance(len(distribution.samples), bins)
    observed = matching_observations(distribution, y)
    transforms = randomised_pit(distribution, observed, row_numbers(observed.shape))
    histogram = diagnostics.pit_counts(transforms, bins, chance)
    edges = histogram.edges
    ax = axes(ax)
    bars = {"align": "edge", "color": tint(BLUE, 0.5), "edgecolor": "white", "linewidth": 0.8}
    ax.bar(edges[:-1], histogram.counts, np.diff(edges), **bars)
    band = {"baseline": histogram.low, "fill": True, "color": INK, "alpha": 0.16, "linewidth": 0}
    ax.stairs(histogram.high, edges, label="95% if calibrated", **band)
    ax.stairs(histogram.expected, edges, baseline=None, color=INK, linestyle="--", linewidth=1.2, label="expected")
    top = 1.22 * max(histogram.counts.max(), histogram.high.max())
    ax.set(xlabel="probability integral transform", ylabel="observations", xlim=(0.0, 1.0), ylim=(0.0, top))
    return finish(ax, loc="upper center", ncols=2)


def reliability(prediction: Any, y: ArrayLike, levels: Sequence[float] = LEVELS, ax: Any = None) -> Any:
    """Reliability diagram: observed against nominal coverage of central intervals.

    Below the diagonal the intervals are too narrow, above it too wide. At each level a calibrated model lies in the
    band with 95% probability.

    Parameters
    ----------
    prediction : samples or predictive distribution
        Predictions.
    y : array-like
        Observations.
    levels : sequence of float
        Nominal coverages.
    ax : matplotlib axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import plotting
    >>> rng = np.random.default_rng(0)
    >>> samples, y = rng.standard_normal((99, 200)), rng.standard_normal(200)
    >>> ax = plotting.reliability(samples, y)
    >>> ax.get_ylabel()
    'observed coverage'
    """
    nominal = np.sort(np.asarray(levels, dtype=np.float64).reshape(-1))
    if len(nominal) == 0 or not np.all((nominal > 0.0) & (nominal < 1.0)):
        raise ValueError(f"levels must lie between 0 and 1; got {levels!r}.")
    distribution = as_distribution(prediction)
    inside = diagnostics.inside_central(distribution, matching_observations(distribution, y), nominal)
    curve = diagnostics.reliability_of(inside, nominal)
    ax = axes(ax, size=(4.8, 4.8))
    ax.fill_between(curve.at, curve.low, curve.high, color="0.85", linewidth=0, label="95% if calibrated")
    ax.plot([0.0, 1.0], [0.0, 1.0], "--", color=INK, linewidth=1.0, label="calibrated")
    ax.plot(nominal, curve.coverage, "o-", color=BLUE, markersize=4, linewidth=1.6, label="observed", clip_on=False)
    ax.set(xlabel="nominal coverage", ylabel="observed coverage", xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    return finish(ax, loc="upper left")


def coverage_by_iqr(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5, ax: Any = None) -> Any:
    """Coverage in equal groups of observations, sorted by their predicted interquartile range.

    Coverage can be right on average and wrong for narrow or wide distributions. Error bars are exact 95% binomial
    intervals of the coverage.

    Parameters
    ----------
    prediction : samples or predictive distribution
        Predictions.
    y : array-like
        Observations.
    level : float
        Nominal coverage of the central intervals.
    bins : int
        Number of groups.
    ax : matplotlib axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib axes
        The axes drawn on.
    """
    check_count("bins", bins, 1)
    distribution = as_distribution(prediction)
    observed = matching_observations(distribution, y)
    lower, upper = central_interval(distribution, 0.5)
    inside = diagnostics.inside_central(distribution, observed, np.array([level])).ravel()
    iqr = (upper - lower).ravel()
    groups = diagnostics.coverage_by_group(inside, iqr, diagnostics.equal_groups(iqr, bins))
    coverage = np.array([group.value for group in groups.covered])
    bars = np.abs(np.array([[group.low, group.high] for group in groups.covered]).T - coverage)
    position = np.arange(len(coverage))
    ax = axes(ax)
    ax.axhline(level, linestyle="--", color=INK, linewidth=1.0, label=f"nominal, {percent(level)}")
    style = {"fmt": "o", "color": BLUE, "markersize": 6, "linewidth": 1.6, "capsize": 4}
    ax.errorbar(position, coverage, bars, label="observed, with 95% interval", **style)
    ax.set_xticks(position, [f"{mean:.3g}" for mean in groups.mean])
    ax.set(xlabel="predicted interquartile range (mean of the group)", ylabel="observed coverage")
    ax.set(xlim=(-0.5, len(coverage) - 0.5))
    return finish(ax)


def width_against_error(prediction: Any, y: ArrayLike, level: float = 0.9, ax: Any = None, bins: int = 10) -> Any:
    """Width of the central interval against the absolute error of the median.

    Intervals should be wide where errors are large: the means of equal groups then increase from left to right. Above
    the dashed line an error is larger than half the width.

    Parameters
    ----------
    prediction : samples or predictive distribution
        Predictions.
    y : array-like
        Observations.
    level : float
        Probability of the central intervals.
    ax : matplotlib axes, optional
        Axes to draw on; a new figure by default.
    bins : int
        Number of groups, of equal size, whose means are shown.

    Returns
    -------
    matplotlib axes
        The axes drawn on.
    """
    check_count("bins", bins, 1)
    distribution = as_distribution(prediction)
    observed = matching_observations(distribution, y)
    low, high = central_interval(distribution, level)
    width, error = (high - low).ravel(), np.abs(observed - distribution.quantile(0.5)).ravel()
    points = diagnostics.width_against_error(width, error, bins)
    ends = np.array([0.0, 1.05 * width.max() or 1.0])
    ax = axes(ax)
    ax.plot(points.width, points.error, color=tint(BLUE, 0.6), label="observations", **dots(len(width)))
    ax.plot(ends, 0.5 * ends, "--", color=INK, linewidth=1.0, label="half the width")
    style = {"color": ORANGE, "markersize": 6, "markeredgecolor": "white", "linewidth": 1.8}
    ax.plot(points.mean_width, points.mean_error, "o-", label="means of equal groups", **style)
    ax.set(xlabel=f"width of the {percent(level)} interval", ylabel="absolute error of the median")
    ax.set(xlim=ends, ylim=(0.0, None))
    return finish(ax)
