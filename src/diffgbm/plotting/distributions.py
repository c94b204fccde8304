"""Pictures of predictive distributions: over a feature, and as densities of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.docs import with_paragraphs
from diffgbm._util.figures import BLUE, INK, axes, dots, finish, percent, tint
from diffgbm.distributions import Ensemble, PredictiveDistribution
from diffgbm.distributions.base import matching_observations
from diffgbm.distributions.density_plot import draw_densities
from diffgbm.metrics.predictions import as_distribution, central_interval
from diffgbm.plotting.calibration import SHARED


@with_paragraphs(**SHARED)
def fan(
    x: ArrayLike,
    distribution: Any,
    y: ArrayLike | None = None,
    levels: Sequence[float] = (0.5, 0.8, 0.95),
    ax: Any = None,
) -> Any:
    """Fan chart: central intervals and median of each row over one feature.

    Parameters
    ----------
    x : array-like of shape (n,)
        The feature, in any order.
    distribution : PredictiveDistribution or samples (n_samples, n)
        Predictions for the same rows.
    y : array-like of shape (n,), optional
        Observations, drawn as points.
    levels : sequence of float
        Probabilities of the intervals.
    {ax}

    {returns}

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import PredictiveDistribution, plotting
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> dist = PredictiveDistribution.from_points(x[:, None] + np.linspace(-1.0, 1.0, 21), name="price")
    >>> ax = plotting.fan(x, dist, levels=[0.5, 0.9])
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('price', ['90% interval', '50% interval', 'median'])
    """
    scalar = _scalar_distribution(distribution)
    median = scalar.quantile(0.5)
    feature = np.asarray(x).reshape(-1)
    if feature.shape != median.shape:
        raise ValueError(f"x must hold one value for each of the {len(median)} rows; got shape {np.shape(x)}.")
    observed = None if y is None else matching_observations(scalar, y)
    widest_first = sorted({float(level) for level in levels}, reverse=True)
    intervals = [central_interval(scalar, level) for level in widest_first]
    order = np.argsort(feature, kind="stable")
    at = feature[order]
    single = len(at) == 1
    ax = axes(ax)
    for i, (low, high) in enumerate(intervals):
        shade = tint(BLUE, 0.16 + 0.32 * i / max(len(intervals) - 1, 1))
        label = f"{percent(widest_first[i])} interval"
        ax.fill_between(at, low[order], high[order], color=shade, linewidth=0, label=label)
        if single:  # a band over one point has no width
            ax.vlines(at, low, high, color=shade, linewidth=14)
    style = {"marker": "_", "markersize": 14} if single else {}
    ax.plot(at, median[order], color=BLUE, linewidth=1.8, label="median", **style)
    if observed is not None:
        ax.plot(at, observed[order], color=INK, label="observed", **dots(len(at)))
    ax.set(xlabel=_name(x, "x"), ylabel=_name(distribution, "response"))
    return finish(ax)


@with_paragraphs(**SHARED)
def densities(
    distribution: Any,
    rows: Sequence[int] | None = None,
    y: ArrayLike | None = None,
    ax: Any = None,
    smooth: bool = True,
) -> Any:
    """Draw the predictive densities of some rows on a common grid.

    Trees make densities with narrow peaks of little probability. The picture smooths them; modes with much probability
    stay, and the distribution function moves by at most 0.05. Point masses are stems as high as their probability,
    where the height of the axes is 1.

    Parameters
    ----------
    distribution : PredictiveDistribution or samples (n_samples, n)
        Predictions for ``n`` rows.
    rows : sequence of int, optional
        Positions of the rows to draw, by default the first five.
    y : array-like of shape (n,), optional
        Observations of all ``n`` rows, drawn as ticks on the axis and dots on the curves.
    {ax}
    smooth : bool
        Whether to smooth; ``False`` draws ``pdf``, in which a point mass is a narrow peak.

    {returns}

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import PredictiveDistribution, plotting
    >>> dist = PredictiveDistribution.from_points(np.arange(3)[:, None] + np.linspace(-1.0, 1.0, 200))
    >>> ax = plotting.densities(dist, rows=[0, 2])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['row 0', 'row 2']
    """
    scalar = _scalar_distribution(distribution)
    if isinstance(scalar, Ensemble):
        scalar = PredictiveDistribution.from_points(scalar.samples.T)
    return draw_densities(scalar, rows, y, ax, label=_name(distribution, "response"), smooth=smooth)


def _scalar_distribution(distribution: Any) -> Any:
    """Return the prediction of one response: a predictive distribution, or an ensemble of samples (n_samples, n)."""
    scalar = as_distribution(distribution)
    if len(scalar.shape) != 1:
        raise ValueError("This picture shows one response: select it, as in dist['name'] or samples[:, :, j].")
    return scalar


def _name(thing: Any, otherwise: str) -> str:
    """Name of a series or a distribution."""
    name = getattr(thing, "name", None)
    return otherwise if name is None or name == "" else str(name)
