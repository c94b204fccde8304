"""The learned field of one row: its drift on a grid of times and values, and trajectories from noise to data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffgbm._util.errors import check_count
from diffgbm._util.figures import INK, axes, finish
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import T_MIN, GaussianPath
from diffgbm.engine import Draws
from diffgbm.engine.trajectories import drift_at, trajectories
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.quadrature import normal_points

_TIMES, _VALUES = 120, 160
"""Numbers of times and values of the grid of the drift."""
_MARGIN = 0.05
"""Margin of the grid above and below the trajectories, as a fraction of their range."""


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
    """Draw the learned field of one row, with trajectories from noise (left) to data (right).

    The background is the drift: the velocity of a value at each time. The trajectories start from quantiles of the
    noise and end in points of p(y | x). They take the steps of the sampler; the background is evaluated on a finer grid
    of times.

    Parameters
    ----------
    model : DiffGBM
        Fitted on one response.
    X_row : array-like of shape (p,) or (1, p), or a frame of one row
        The row.
    n_paths : int
        Number of trajectories.
    ax : matplotlib axes, optional
        Axes to draw on; a new figure by default.
    rescale : bool
        Divide the values at each time by the standard deviation that standardised data has there on the Gaussian path,
        so that noise is as wide as data (on the variance-exploding path it is twenty times wider). The trajectories end
        in the units of the response either way.
    n_steps : int, optional
        Integration steps of the trajectories, by default those of the recipe.
    pf_ode : bool, optional
        Whether to integrate the probability-flow ODE of a score model instead of its reverse SDE.
    seed : int
        Seed of the noise of stochastic samplers.
    colorbar : bool
        Whether to add a colour bar for the drift.

    Returns
    -------
    matplotlib axes
        The axes drawn on.
    """
    field = row_field(model, X_row, n_paths, rescale, n_steps, pf_ode, seed)
    ax = axes(ax)
    # far from the trajectories, and for some targets close to the data, the drift is huge: keep it out of the scale
    low, high = (
        np.interp(field.times[::-1], field.path_times[::-1], ends[::-1])[::-1]
        for ends in (field.paths.min(axis=1), field.paths.max(axis=1))
    )
    near = np.abs(field.drift[(field.values[:, None] >= low) & (field.values[:, None] <= high)])
    # keep the darkest shades away from the trajectories
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
    """The field that carries noise to the predictive distribution of one row, in the units of the response.

    Attributes
    ----------
    times : ndarray of shape (k,)
        Times of the drift, from noise (1) to data (0): centres of cells of equal width.
    values : ndarray of shape (m,)
        Values of the drift's grid.
    drift : ndarray of shape (m, k)
        Change of the value per unit of time on the way to the data.
    path_times : ndarray of shape (K + 1,)
        Knots of the sampler.
    paths : ndarray of shape (K + 1, n_paths)
        Values at the knots; the last ones are points of the predictive distribution.
    rescaled : bool
        Whether values at times before the data are rescaled.
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
    """Evaluate the field of one row, and integrate it from quantiles of the noise.

    The parameters are those of ``vector_field``.
    """
    X = model.encode(np.reshape(X_row, (1, -1)) if np.ndim(X_row) < 2 else X_row)
    if len(X) != 1:
        raise ValueError(f"X_row must hold one row; got {len(X)}.")
    fitted = model.model_
    if fitted.n_responses != 1:
        raise ValueError(f"The field of one row is drawn for one response; this model has {fitted.n_responses}.")
    X, first_stage = fitted.with_first_stage(np.ascontiguousarray(X, dtype=np.float64))
    location, unit = _location_unit(fitted, first_stage)
    if unit == 0.0:
        raise ValueError("The responses were all equal in training: there is no field to draw.")

    sampler = model.sampler_with({"n_steps": n_steps, "pf_ode": pf_ode})
    steps = fitted.recipe.steps(sampler)
    path_times = np.linspace(1.0, T_MIN, steps.n_steps + 1)
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    draws = Draws(check_count("n_paths", n_paths, 1), key, start=normal_points(n_paths, 1))
    scale, _ = _data_scale(fitted.recipe.path, path_times, rescale)
    paths = trajectories(fitted.engine, X, steps, draws)[:, 0, :, 0] / scale[:, None]

    low, high = paths.min(), paths.max()
    margin = _MARGIN * (high - low) or 1.0
    values = np.linspace(low - margin, high + margin, _VALUES)[:, None]
    # every second knot of a table with twice the steps is the centre of a cell
    fine = fitted.recipe.steps(replace(sampler, n_steps=2 * _TIMES))
    centres = np.arange(1, 2 * _TIMES, 2)
    times = np.linspace(1.0, T_MIN, 2 * _TIMES + 1)[centres]
    scale, growth = _data_scale(fitted.recipe.path, times, rescale)
    states = (values * scale).reshape(-1, 1)
    drift = drift_at(fitted.engine, np.repeat(X, len(states), axis=0), states, fine, np.tile(centres, _VALUES))
    # u = y / scale changes with y and with the scale, which decreases as time runs backwards
    drift = drift.reshape(_VALUES, _TIMES) / scale + values * growth

    rescaled = bool(np.any(np.abs(scale - 1.0) > 0.01))
    return RowField(times, location + unit * values[:, 0], unit * drift, path_times, location + unit * paths, rescaled)


def _location_unit(fitted: FittedModel, first_stage: FirstStageValues | None) -> tuple[float, float]:
    """Value of the state 0 of a row in the units of the response, and the length of a unit of the state."""
    location, scale = np.zeros((1, 1)), np.ones((1, 1))
    if first_stage is not None:
        location, scale = first_stage.location, first_stage.scale
    return fitted.response.restore(location).item(), (fitted.response.scale * scale).item()


def _data_scale(path: GaussianPath, t: Array, rescale: bool) -> tuple[Array, Array]:
    """Standard deviation of standardised data at times ``t``, one at the data, and its logarithmic derivative."""
    if not rescale:
        return np.ones_like(t), np.zeros_like(t)
    point, end = path.at(t), path.at(T_MIN)
    square = point.alpha**2 + point.beta**2
    growth = (point.alpha * point.d_alpha + point.beta * point.d_beta) / square
    return np.sqrt(square) / np.hypot(end.alpha, end.beta), growth
