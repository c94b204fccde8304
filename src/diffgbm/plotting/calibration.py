"""Pictures of calibration: transforms, coverage overall and in groups, and widths against errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.docs import with_paragraphs
from diffgbm._util.errors import check_count
from diffgbm._util.figures import BLUE, INK, ORANGE, axes, dots, finish, percent, tint
from diffgbm._util.types import Array
from diffgbm.distributions import Ensemble
from diffgbm.distributions.base import matching_observations
from diffgbm.metrics import diagnostics
from diffgbm.metrics.diagnostics import LEVELS
from diffgbm.metrics.predictions import as_distribution, central_interval
from diffgbm.metrics.randomisation import randomised_pit, row_numbers

SHARED = {
    "prediction": """
        prediction : samples or predictive distribution
            Predictions.
        y : array-like
            Observations.
        """,
    "ax": """
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        """,
    "returns": """
        Returns
        -------
        matplotlib axes
            The axes drawn on.
        """,
}
"""Paragraphs of the docstrings of all pictures."""
_ERRORS: dict[str, Any] = {"fmt": "o", "color": BLUE, "markersize": 6, "linewidth": 1.6, "capsize": 4}
"""Style of points with error bars."""


@with_paragraphs(**SHARED)
def pit_histogram(prediction: Any, y: ArrayLike, bins: int = 20, ax: Any = None) -> Any:
    """Histogram of the probability integral transforms, flat if the predictions are calibrated.

    A hump means distributions that are too wide, a trough ones that are too narrow, a slope a bias. Each bar of a
    calibrated model lies in the band with 95% probability. The transform of ``m`` samples takes ``m + 1`` values: the
    band allows for how many of them fall into each bar, and is constant where ``bins`` divides ``m + 1``.

    Parameters
    ----------
    {prediction}
    bins : int
        Number of bars.
    {ax}

    {returns}

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
    distribution, observed = _matched(prediction, y)
    chance = None
    if isinstance(distribution, Ensemble):
        chance = diagnostics.ensemble_chance(len(distribution.samples), bins)
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


@with_paragraphs(**SHARED)
def reliability(prediction: Any, y: ArrayLike, levels: Sequence[float] = LEVELS, ax: Any = None) -> Any:
    """Reliability diagram: observed against nominal coverage of central intervals.

    Below the diagonal the intervals are too narrow, above it too wide. At each level a calibrated model lies in the
    band with 95% probability.

    Parameters
    ----------
    {prediction}
    levels : sequence of float
        Nominal coverages.
    {ax}

    {returns}

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
    inside = diagnostics.inside_central(*_matched(prediction, y), nominal)
    curve = diagnostics.reliability_of(inside, nominal)
    ax = axes(ax, size=(4.8, 4.8))
    ax.fill_between(curve.at, curve.low, curve.high, color="0.85", linewidth=0, label="95% if calibrated")
    ax.plot([0.0, 1.0], [0.0, 1.0], "--", color=INK, linewidth=1.0, label="calibrated")
    ax.plot(nominal, curve.coverage, "o-", color=BLUE, markersize=4, linewidth=1.6, label="observed", clip_on=False)
    ax.set(xlabel="nominal coverage", ylabel="observed coverage", xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    return finish(ax, loc="upper left")


@with_paragraphs(**SHARED)
def threshold_reliability(prediction: Any, y: ArrayLike, threshold: float, bins: int = 10, ax: Any = None) -> Any:
    r"""Reliability of :math:`P(Y > c)`: how often the threshold ``c`` was exceeded, against the predicted probability.

    Observations are grouped by their predicted probability. Above the diagonal the event happens more often than
    predicted, below it less often. Error bars are exact 95% binomial intervals.

    Parameters
    ----------
    {prediction}
    threshold : float
        The value ``c``.
    bins : int
        Number of groups, of about equal size; equal probabilities share a group.
    {ax}

    {returns}

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import plotting
    >>> rng = np.random.default_rng(0)
    >>> samples, y = rng.standard_normal((99, 200)), rng.standard_normal(200)
    >>> ax = plotting.threshold_reliability(samples, y, threshold=1.0)
    >>> ax.get_xlabel()
    'predicted probability of more than 1'
    """
    check_count("bins", bins, 1)
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number; got {threshold!r}.")
    distribution, observed = _matched(prediction, y)
    above = distribution.sf(np.full(observed.shape, float(threshold)))
    result = diagnostics.event_reliability(float(threshold), above.ravel(), observed.ravel(), bins)
    share = np.array([group.value for group in result.happened])
    ax = axes(ax, size=(4.8, 4.8))
    ax.plot([0.0, 1.0], [0.0, 1.0], "--", color=INK, linewidth=1.0, label="reliable")
    ax.errorbar(
        result.probability, share, _bars(result.happened, share), label="observed, with 95% interval", **_ERRORS
    )
    ax.set(xlabel=f"predicted probability of more than {threshold:g}", ylabel="observed frequency")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    return finish(ax, loc="upper left")


@with_paragraphs(**SHARED)
def coverage_by_iqr(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5, ax: Any = None) -> Any:
    """Coverage in equal groups of observations, sorted by their predicted interquartile range.

    Coverage can be right on average and wrong for narrow or wide distributions. Error bars are exact 95% binomial
    intervals of the coverage.

    Parameters
    ----------
    {prediction}
    level : float
        Nominal coverage of the central intervals.
    bins : int
        Number of groups.
    {ax}

    {returns}
    """
    check_count("bins", bins, 1)
    distribution, observed = _matched(prediction, y)
    lower, upper = central_interval(distribution, 0.5)
    inside = diagnostics.inside_central(distribution, observed, np.array([level])).ravel()
    iqr = (upper - lower).ravel()
    groups = diagnostics.coverage_by_group(inside, iqr, diagnostics.equal_groups(iqr, bins))
    coverage = np.array([group.value for group in groups.covered])
    position = np.arange(len(coverage))
    ax = axes(ax)
    ax.axhline(level, linestyle="--", color=INK, linewidth=1.0, label=f"nominal, {percent(level)}")
    bars = _bars(groups.covered, coverage)
    ax.errorbar(position, coverage, bars, label="observed, with 95% interval", **_ERRORS)
    ax.set_xticks(position, [f"{mean:.3g}" for mean in groups.mean])
    ax.set(xlabel="predicted interquartile range (mean of the group)", ylabel="observed coverage")
    ax.set(xlim=(-0.5, len(coverage) - 0.5))
    return finish(ax)


@with_paragraphs(**SHARED)
def width_against_error(prediction: Any, y: ArrayLike, level: float = 0.9, ax: Any = None, bins: int = 10) -> Any:
    """Width of the central interval against the absolute error of the median.

    Intervals should be wide where errors are large: the means of equal groups then increase from left to right. Above
    the dashed line an error is larger than half the width.

    Parameters
    ----------
    {prediction}
    level : float
        Probability of the central intervals.
    {ax}
    bins : int
        Number of groups, of equal size, whose means are shown.

    {returns}
    """
    check_count("bins", bins, 1)
    distribution, observed = _matched(prediction, y)
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


def _matched(prediction: Any, y: ArrayLike) -> tuple[Any, Array]:
    """Return the prediction as a distribution, and observations of its shape."""
    distribution = as_distribution(prediction)
    return distribution, matching_observations(distribution, y)


def _bars(groups: Sequence[diagnostics.Proportion], values: Array) -> Array:
    """Lengths (2, g) of the error bars of proportions with these values (g,)."""
    return np.asarray(np.abs(np.array([[group.low, group.high] for group in groups]).T - values))
