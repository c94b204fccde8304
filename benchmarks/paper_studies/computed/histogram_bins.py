r"""Proposition 1: the pooled-bin proxy against the measured error of the best step function, over bins and paths.

The rows of all noise levels share one set of bins of equal mass under :math:`\bar p(u) = \int p_t(u)\, dt`, u the
feature ``c y_t``. The error at time t of the best function that is constant on each bin,

.. math:: A_t(P) = \sum_b \int_{I_b} (f_t - \bar f_b)^2 p_t \le \sum_b p_t(I_b)\, \mathrm{osc}_b(f_t)^2
          \le L_t^2 \sum_b p_t(I_b) |I_b|^2 \approx \frac{L_t^2}{B^2} \int \frac{p_t}{\bar p^2},

is measured by quadrature on the part of the line that holds all but ``2 * TAIL`` of the pooled mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.paper_studies.computed.mixture import Mixture, toy_distribution_alone
from benchmarks.paper_studies.computed.views import View, view_at
from diffgbm._util.types import Array

Times = float | Array

TAIL = 5e-4
"""Pooled mass that is cut off at each end: the proposition's proxy has compact support."""
BINS = (16, 64, 255, 1023, 4095)
VARIANTS = ("ve_noise", "ve_edm", "linear_velocity", "trig_velocity", "vp_velocity")
TIMES = (0.1, 0.3, 0.5, 0.7, 0.9)

MEASURES = (
    *(f"error_{bins}" for bins in BINS),
    *(f"tree_error_{bins}" for bins in BINS),
    "slope",
    "proxy_255",
    "proxy_ratio",
    "bound_ratio",
    "lipschitz_ratio",
    "pooling_cost",
    "pooling_worst",
)


@dataclass(frozen=True)
class Bounds:
    """``A_t`` and what the proposition bounds it by, for one time and partition."""

    error: float
    oscillation: float
    lipschitz: float


@dataclass(frozen=True)
class Pooled:
    """A variant with the times that are pooled: density and quantiles of the feature over all of them."""

    distribution: Mixture
    name: str
    times: Array

    def density(self, u: Array, t: Times | None = None) -> Array:
        """Return the density of the feature at one time, or pooled."""
        times = self.times if t is None else np.atleast_1d(t)
        return np.mean([self._at(u, view_at(self.name, time)) for time in times], axis=0)

    def _at(self, u: Array, view: View) -> Array:
        return self.distribution.density(u / view.c, view.path) / view.c

    def cdf(self, u: Array, t: Times | None = None) -> Array:
        """Return the distribution function of the feature at one time, or pooled."""
        times = self.times if t is None else np.atleast_1d(t)
        views = [view_at(self.name, time) for time in times]
        return np.mean([self.distribution.cdf(u / view.c, view.path) for view in views], axis=0)

    def edges(self, bins: int, support: tuple[float, float], t: float | None = None) -> Array:
        """Return the edges of bins of equal mass on the support, pooled or of one time."""
        grid = _grid(*support)
        mass = self.cdf(grid, t)
        edges = np.interp(np.linspace(mass[0], mass[-1], bins + 1), mass, grid)
        edges[0], edges[-1] = support
        return edges

    def support(self) -> tuple[float, float]:
        """Return the part of the line without the tails."""
        grid = _grid(-120.0, 120.0)
        low, high = np.interp([TAIL, 1.0 - TAIL], self.cdf(grid), grid)
        return float(low), float(high)

    def regression(self, u: Array, t: float) -> Array:
        """Return ``f_t(u) = E[target | c y_t = u]``."""
        view = view_at(self.name, t)
        y = u / view.c
        return view.a * self.distribution.clean(y, view.path) + view.b * self.distribution.noise(y, view.path)


def _grid(low: float, high: float, n: int = 40_001) -> Array:
    """Points that lie closest around zero, where the narrow distributions are."""
    edge = np.arcsinh(np.array([low, high]) / 0.05)
    return 0.05 * np.sinh(np.linspace(edge[0], edge[1], n))


def bounds(pooled: Pooled, edges: Array, t: float, points: int = 65) -> Bounds:
    """Measure ``A_t`` on a partition and evaluate both bounds, by Simpson's rule in every bin."""
    share = np.linspace(0.0, 1.0, points)
    u = edges[:-1, None] + np.diff(edges)[:, None] * share
    simpson = np.ones(points)
    simpson[1:-1:2], simpson[2:-1:2] = 4.0, 2.0
    weight = np.diff(edges)[:, None] * simpson / (3.0 * (points - 1))
    f = pooled.regression(u.ravel(), t).reshape(u.shape)
    p = pooled.density(u.ravel(), t).reshape(u.shape) * weight
    p /= p.sum()
    mass = p.sum(axis=1)
    centre = np.divide((p * f).sum(axis=1), mass, out=f.mean(axis=1), where=mass > 0.0)
    oscillation = np.ptp(f, axis=1)
    slope = np.max(np.abs(np.diff(f, axis=1)) / np.maximum(np.diff(u, axis=1), 1e-300))
    return Bounds(
        float(np.sum(p * (f - centre[:, None]) ** 2)),
        float(np.sum(mass * oscillation**2)),
        float(slope**2 * np.sum(mass * np.diff(edges) ** 2)),
    )


def proxy(pooled: Pooled, support: tuple[float, float], bins: int, t: float) -> float:
    r"""Evaluate :math:`L_t^2 / B^2 \int p_t / \bar p^2` on the support."""
    u = _grid(*support)
    step = np.gradient(u)
    p, q = pooled.density(u, t), pooled.density(u)
    p, q = p / np.sum(p * step), q / np.sum(q * step)
    steepest = np.max(np.abs(np.gradient(pooled.regression(u, t), u)))
    return float(steepest**2 / bins**2 * np.sum(p / q**2 * step))


def arms(
    seed: int, pooled_times: int = 60, rows: int = 40_000, rounds: int = 200, bins: Sequence[int] = BINS
) -> dict[str, dict[str, Any]]:
    """Measure every variant over numbers of bins; errors are over the target's variance at that time.

    ``tree_error_B`` is the same error of LightGBM with ``max_bin = B`` on ``rows`` pooled rows with features
    ``[c y_t, t]``; ``pooling_cost`` is ``A_t`` on the pooled bins over that on bins of p_t's own, at 255, the mean
    over times, and ``pooling_worst`` the largest.
    """
    distribution = toy_distribution_alone()
    return {name: _variant(distribution, name, seed, pooled_times, rows, rounds, bins) for name in VARIANTS}


def _variant(
    distribution: Mixture, name: str, seed: int, pooled_times: int, rows: int, rounds: int, bins: Sequence[int]
) -> dict[str, Any]:
    pooled = Pooled(distribution, name, (np.arange(pooled_times) + 0.5) / pooled_times)
    support = pooled.support()
    scale = np.array([float(view_at(name, t).target_sd) ** 2 for t in TIMES])
    result = {b: [bounds(pooled, pooled.edges(b, support), t) for t in TIMES] for b in bins}
    separate = [bounds(pooled, pooled.edges(255, support, t), t).error for t in TIMES]
    errors = {b: np.array([one.error for one in result[b]]) / scale for b in bins}
    guess = np.array([proxy(pooled, support, 255, t) for t in TIMES])
    cost = [one.error / alone for one, alone in zip(result[255], separate, strict=True)]
    every = [one for ones in result.values() for one in ones]
    fine = bins[-2:]  # the statement is about many bins
    return {
        **{f"error_{b}": float(errors[b].mean()) for b in bins},
        **{f"tree_error_{b}": _tree_error(distribution, name, b, rows, rounds, seed) for b in bins},
        "slope": float(np.polyfit(np.log(fine), np.log([errors[b].mean() for b in fine]), 1)[0]),
        "proxy_255": float(np.mean(guess / scale)),
        "proxy_ratio": float(np.max([one.error for one in result[255]] / guess)),
        "bound_ratio": max(one.error / one.oscillation for one in every),
        "lipschitz_ratio": max(one.oscillation / one.lipschitz for one in every),
        "pooling_cost": float(np.mean(cost)),
        "pooling_worst": float(np.max(cost)),
        "bins": list(bins),
        "errors": [float(errors[b].mean()) for b in bins],
        "times": list(TIMES),
        "error_by_time": errors[255].tolist(),
    }


def _tree_error(distribution: Mixture, name: str, bins: int, rows: int, rounds: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    y0, z, t = distribution.times(rows).draw(rng), rng.standard_normal(rows), rng.uniform(0.01, 1.0, rows)
    view = view_at(name, t)
    features = np.column_stack([view.c * (view.path.alpha * y0 + view.path.beta * z), t])
    target = (view.a * y0 + view.b * z) / view.target_sd
    params = {"verbosity": -1, "num_threads": 1, "seed": 0, "deterministic": True, "force_col_wise": True}
    model = lgb.train({**params, "max_bin": bins}, lgb.Dataset(features, target), rounds)
    n = 4000
    errors = []
    for time in TIMES:
        at = view_at(name, np.full(n, time))
        state = at.path.alpha * distribution.times(n).draw(rng) + at.path.beta * rng.standard_normal(n)
        true = (at.a * distribution.clean(state, at.path) + at.b * distribution.noise(state, at.path)) / at.target_sd
        predicted = np.asarray(model.predict(np.column_stack([at.c * state, np.full(n, time)])))
        errors.append(np.mean((predicted - true) ** 2))
    return float(np.mean(errors))
