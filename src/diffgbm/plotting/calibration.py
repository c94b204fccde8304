"""Pictures of calibration: whether the laws hold what they promise, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.errors import check_count
from diffgbm.metrics.diagnostics import LEVELS, equal_groups, inside_central, pit_counts, proportion, reliability_of
from diffgbm.metrics.scores import Ensemble, as_distribution, central_interval
from diffgbm.plotting.style import BLUE, INK, ORANGE, axes, dots, finish, observations, percent, tint


def pit_histogram(prediction: Any, y: ArrayLike, bins: int = 20, ax: Any = None) -> Any:
    """Histogram of the probability integral transforms, flat if the predictions are calibrated.

    A hump says the laws are too wide, a trough that they are too narrow, a slope that they are shifted. Each bar of a
    calibrated model lies in the band with 95% probability. The transform of ``m`` samples takes ``m + 1`` values:
    the band allows for how many of them fall into each bar, and is even where ``bins`` divides ``m + 1``.

    Parameters
    ----------
    prediction : samples or predictive distribution
        Predictions.
    y : array-like
        Observations.
    bins : int
        Number of bars.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

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
    >>> ax = plotting.pit_histogram(samples, y, bins=10)
    >>> ax.get_xlabel()
    'probability integral transform'
    """
    check_count("bins", bins, 1)
    distribution = as_distribution(prediction)
    chance = None
    if isinstance(distribution, Ensemble):
        m = len(distribution.samples)
        chance = np.histogram(np.arange(m + 1) / m, np.linspace(0.0, 1.0, bins + 1))[0] / (m + 1)
    found = pit_counts(distribution.pit(observations(distribution, y)), bins, chance)
    edges = found.edges
    ax = axes(ax)
    bars = {"align": "edge", "color": tint(BLUE, 0.5), "edgecolor": "white", "linewidth": 0.8}
    ax.bar(edges[:-1], found.counts, np.diff(edges), **bars)
    band = {"baseline": found.low, "fill": True, "color": INK, "alpha": 0.16, "linewidth": 0}
    ax.stairs(found.high, edges, label="95% if calibrated", **band)
    ax.stairs(found.expected, edges, baseline=None, color=INK, linestyle="--", linewidth=1.2, label="expected")
    top = 1.22 * max(found.counts.max(), found.high.max())
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
        Where to draw; a new figure if not given.

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
    observed = observations(distribution, y)
    found = reliability_of(inside_central(distribution, observed, nominal), nominal)
    ax = axes(ax, size=(4.8, 4.8))
    ax.fill_between(found.at, found.low, found.high, color="0.85", linewidth=0, label="95% if calibrated")
    ax.plot([0.0, 1.0], [0.0, 1.0], "--", color=INK, linewidth=1.0, label="calibrated")
    ax.plot(nominal, found.coverage, "o-", color=BLUE, markersize=4, linewidth=1.6, label="observed", clip_on=False)
    ax.set(xlabel="nominal coverage", ylabel="observed coverage", xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    return finish(ax, loc="upper left")


def coverage_by_spread(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5, ax: Any = None) -> Any:
    """Coverage in equal groups of observations, sorted by their predicted interquartile range.

    Shows whether intervals hold what they promise where the model is sure and where it is not; the average over all
    rows can hide both. Error bars are exact 95% binomial intervals of the coverage.

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
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib axes
        The axes drawn on.
    """
    check_count("bins", bins, 1)
    distribution = as_distribution(prediction)
    observed = observations(distribution, y)
    (low, high), (lower, upper) = central_interval(distribution, level), central_interval(distribution, 0.5)
    inside, spread = ((low <= observed) & (observed <= high)).ravel(), (upper - lower).ravel()
    groups = equal_groups(spread, bins)
    found = [proportion(inside[group]) for group in groups]
    coverage = np.array([each.value for each in found])
    bars = np.abs(np.array([[each.low, each.high] for each in found]).T - coverage)
    position = np.arange(len(groups))
    ax = axes(ax)
    ax.axhline(level, linestyle="--", color=INK, linewidth=1.0, label=f"nominal, {percent(level)}")
    style = {"fmt": "o", "color": BLUE, "markersize": 6, "linewidth": 1.6, "capsize": 4}
    ax.errorbar(position, coverage, bars, label="observed, with 95% interval", **style)
    ax.set_xticks(position, [f"{spread[group].mean():.3g}" for group in groups])
    ax.set(xlabel="predicted interquartile range (mean of the group)", ylabel="observed coverage")
    ax.set(xlim=(-0.5, len(groups) - 0.5))
    return finish(ax)


def width_against_error(prediction: Any, y: ArrayLike, level: float = 0.9, ax: Any = None, bins: int = 10) -> Any:
    """Width of the central interval against the absolute error of the median.

    Wide intervals should be where errors are large: the means of equal groups then rise from left to right. Above the
    dashed line an error is larger than half the width.

    Parameters
    ----------
    prediction : samples or predictive distribution
        Predictions.
    y : array-like
        Observations.
    level : float
        Probability of the central intervals.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.
    bins : int
        Number of groups, of equal size, whose means are shown.

    Returns
    -------
    matplotlib axes
        The axes drawn on.
    """
    check_count("bins", bins, 1)
    distribution = as_distribution(prediction)
    observed = observations(distribution, y)
    low, high = central_interval(distribution, level)
    width, error = (high - low).ravel(), np.abs(observed - distribution.quantile(0.5)).ravel()
    groups = equal_groups(width, bins)
    mean_width, mean_error = (np.array([v[group].mean() for group in groups]) for v in (width, error))
    ends = np.array([0.0, 1.05 * width.max() or 1.0])
    ax = axes(ax)
    ax.plot(width, error, color=tint(BLUE, 0.6), label="observations", **dots(len(width)))
    ax.plot(ends, 0.5 * ends, "--", color=INK, linewidth=1.0, label="half the width")
    style = {"color": ORANGE, "markersize": 6, "markeredgecolor": "white", "linewidth": 1.8}
    ax.plot(mean_width, mean_error, "o-", label="means of equal groups", **style)
    ax.set(xlabel=f"width of the {percent(level)} interval", ylabel="absolute error of the median")
    ax.set(xlim=ends, ylim=(0.0, None))
    return finish(ax)
