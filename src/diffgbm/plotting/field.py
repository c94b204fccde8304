"""The learned field of one row: its drift on a grid of times and values, and paths from noise to data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.errors import check_count
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import T_MIN, GaussianPath
from diffgbm.engine import StepTable, normals
from diffgbm.fitting.quadrature import normal_points
from diffgbm.plotting.style import INK, axes, finish

if TYPE_CHECKING:
    from diffgbm.estimators.diffgbm import DiffGBM
    from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.model import FittedModel

Forest = Callable[[Array, Array], Array]
"""The forest of one row: scaled states (n,) and known columns (n, q) to predictions (n,)."""

_TIMES, _VALUES = 120, 160
"""Columns and rows of the drift's grid."""
_MARGIN = 0.05
"""Part of the paths' range that the grid shows beyond them, on either side."""


def vector_field(
    model: DiffGBM,
    X_row: Any,
    n_paths: int = 30,
    ax: Any = None,
    *,
    rescale: bool = True,
    n_steps: int | None = None,
    pf_ode: bool | None = None,
    seed: int = 0,
    colorbar: bool = True,
) -> Any:
    """Draw the learned field of one row, with paths from noise (left) to data (right).

    The background is the drift: how fast, and which way, a value moves at each time. The paths start from evenly
    spread points of the noise and end in points of p(y | x). They take the sampler's own steps; the background is
    evaluated on a finer grid of times.

    Parameters
    ----------
    model : DiffGBM
        Fitted on one response.
    X_row : array-like of shape (p,) or (1, p), or a frame of one row
        The row.
    n_paths : int
        Number of paths.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.
    rescale : bool
        Divide what is shown at each time by the spread that standardised data has there on the Gaussian path, so that
        noise is as wide as data (on the variance-exploding path it is twenty times wider). At the data nothing
        changes: the paths end in the units of the response either way.
    n_steps : int, optional
        Integration steps of the paths; the recipe's own if not given.
    pf_ode : bool, optional
        Whether to follow the deterministic flow of a score model instead of its reverse SDE.
    seed : int
        Seed of the noise of stochastic samplers.
    colorbar : bool
        Whether to add the scale of the drift beside the axes.

    Returns
    -------
    matplotlib axes
        The axes drawn on.
    """
    field = row_field(model, X_row, n_paths, rescale, n_steps, pf_ode, seed)
    ax = axes(ax)
    # far from the paths, and for some targets close to the data, the drift is huge: that must not set the scale
    low, high = (
        np.interp(field.times[::-1], field.path_times[::-1], ends[::-1])[::-1]
        for ends in (field.paths.min(axis=1), field.paths.max(axis=1))
    )
    near = np.abs(field.drift[(field.values[:, None] >= low) & (field.values[:, None] <= high)])
    # nor may the darkest shades lie under the paths
    limit = 1.3 * float(np.quantile(near, 0.98)) if near.any() else 1.0
    style = {"cmap": "PuOr_r", "vmin": -limit, "vmax": limit, "shading": "nearest", "rasterized": True}
    mesh = ax.pcolormesh(field.times, field.values, field.drift, **style)
    ax.plot(field.path_times, field.paths, color=INK, linewidth=0.8, alpha=0.8)
    ends = np.full(n_paths, field.path_times[-1])
    ax.plot(ends, field.paths[-1], "o", color=INK, markersize=3.5, clip_on=False, zorder=5)
    if colorbar:
        bar = ax.figure.colorbar(mesh, ax=ax, extend="both", label="drift (change per unit of time)")
        bar.outline.set_visible(False)
    name = model.model_.response_names[0]
    ax.set(xlabel="time (1 is noise, 0 is data)", ylabel=f"{name} (noise rescaled)" if field.rescaled else name)
    ax.set(xlim=(1.0, 0.0), ylim=(field.values[0], field.values[-1]))
    return finish(ax, legend=False)


@dataclass(frozen=True, eq=False)
class RowField:
    """The field that carries noise to the law of one row, in the units of the response.

    Attributes
    ----------
    times : ndarray of shape (k,)
        Times of the drift, from noise (1) to data (0): centres of even cells.
    values : ndarray of shape (m,)
        Values of the drift's grid.
    drift : ndarray of shape (m, k)
        Change of the value per unit of time on the way to the data.
    path_times : ndarray of shape (K + 1,)
        Knots of the sampler.
    paths : ndarray of shape (K + 1, n_paths)
        Values at the knots; the last ones are points of the predictive law.
    rescaled : bool
        Whether values before the data are shown on another scale than the sampler's.
    """

    times: Array
    values: Array
    drift: Array
    path_times: Array
    paths: Array
    rescaled: bool


def row_field(
    model: DiffGBM,
    X_row: Any,
    n_paths: int = 30,
    rescale: bool = True,
    n_steps: int | None = None,
    pf_ode: bool | None = None,
    seed: int = 0,
) -> RowField:
    """Evaluate the field of one row and follow it from evenly spread starting points.

    The parameters are those of ``vector_field``.
    """
    X = model._encode(np.reshape(X_row, (1, -1)) if np.ndim(X_row) < 2 else X_row)
    if len(X) != 1:
        raise ValueError(f"X_row must hold one row; got {len(X)}.")
    fitted = model.model_
    if fitted.n_responses != 1:
        raise ValueError(f"The field of one row is drawn for one response; this model has {fitted.n_responses}.")
    X, said = fitted.with_first_stage(np.ascontiguousarray(X, dtype=np.float64))
    location, unit = _location_unit(fitted, said)
    if unit == 0.0:
        raise ValueError("The responses were all equal in training: there is no field to draw.")

    def forest(scaled: Array, columns: Array) -> Array:
        return fitted.engine.evaluate(np.repeat(X, len(scaled), axis=0), scaled[:, None], columns)[:, 0]

    sampler = model._sampler({"n_steps": n_steps, "pf_ode": pf_ode})
    steps = fitted.recipe.steps(sampler)
    path_times = np.linspace(1.0, T_MIN, steps.n_steps + 1)
    start = normal_points(check_count("n_paths", n_paths, 1), 1)[:, 0]
    spread, _ = _spread(fitted.recipe.path, path_times, rescale)
    paths = _follow(steps, forest, start, seed) / spread[:, None]

    low, high = paths.min(), paths.max()
    margin = _MARGIN * (high - low) or 1.0
    values = np.linspace(low - margin, high + margin, _VALUES)[:, None]
    # every second knot of a table with twice the steps is the centre of a cell
    fine = fitted.recipe.steps(replace(sampler, n_steps=2 * _TIMES))
    centres = np.arange(1, 2 * _TIMES, 2)
    times = np.linspace(1.0, T_MIN, 2 * _TIMES + 1)[centres]
    spread, growth = _spread(fitted.recipe.path, times, rescale)
    drift = _drift(fine, forest, np.tile(centres, _VALUES), (values * spread).ravel()).reshape(_VALUES, _TIMES)
    # u = y / spread moves with y, and with the spread, which shrinks as time runs backwards
    drift = drift / spread + values * growth

    rescaled = bool(np.any(np.abs(spread - 1.0) > 0.01))
    return RowField(times, location + unit * values[:, 0], unit * drift, path_times, location + unit * paths, rescaled)


def _location_unit(fitted: FittedModel, said: FirstStageValues | None) -> tuple[float, float]:
    """Where the state 0 of a row lies in the user's units, and how long its unit is."""
    location, scale = (np.zeros((1, 1)), np.ones((1, 1))) if said is None else (said.location, said.scale)
    return fitted.response.restore(location).item(), (fitted.response.scale * scale).item()


def _spread(path: GaussianPath, t: Array, rescale: bool) -> tuple[Array, Array]:
    """Spread of standardised data at times ``t``, one at the data, and its logarithmic derivative."""
    if not rescale:
        return np.ones_like(t), np.zeros_like(t)
    point, end = path.at(t), path.at(T_MIN)
    square = point.alpha**2 + point.beta**2
    growth = (point.alpha * point.d_alpha + point.beta * point.d_beta) / square
    return np.sqrt(square) / np.hypot(end.alpha, end.beta), growth


def _drift(steps: StepTable, forest: Forest, knots: NDArray[np.intp], y: Array) -> Array:
    """Drift of the states ``y`` at their ``knots``, both of shape (n,)."""
    prediction = forest(steps.scale[knots] * y, steps.columns[knots])
    return np.asarray(steps.linear[knots] * y + steps.gain[knots] * prediction)


def _follow(steps: StepTable, forest: Forest, start: Array, seed: int) -> Array:
    """Integrate from standard normal starting points (n,): the states at all knots, shape (K + 1, n)."""
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    states = np.empty((steps.n_steps + 1, len(start)))
    states[0] = y = steps.start * start
    for k in range(steps.n_steps):
        noise = steps.noise[k] * normals(key, 0, np.arange(len(start)), k + 1, 1)[0, :, 0]
        knot = np.full(len(start), k)
        drift = _drift(steps, forest, knot, y)
        if w := steps.corrector[k]:
            drift = (1.0 - w) * drift + w * _drift(steps, forest, knot + 1, y + steps.size[k] * drift + noise)
        states[k + 1] = y = y + steps.size[k] * drift + noise
    return states
