"""Trajectories of samples: their states at all knots, from one loop over the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.engine.base import Engine
from diffgbm.engine.low_discrepancy import arranged_noise
from diffgbm.engine.random import normals, positions
from diffgbm.engine.steps import Draws, StepTable

Drift = Callable[[Array, int], Array]
"""From states (rows, samples, d) and the index of a knot to the drift of the states, of the same shape."""


def states(
    drift: Drift, steps: StepTable, draws: Draws, n_rows: int, d: int, offset: int = 0, stride: int = 1
) -> Iterator[Array]:
    """Yield the states (rows, samples, d) of samples ``offset, offset + stride, ...`` at knots 0 to K."""
    rows, samples = positions(draws, n_rows, offset, stride)
    if draws.start is None:
        start = normals(draws.key, rows, samples, 0, d)
    else:
        start = np.broadcast_to(draws.start[offset::stride], (len(rows), len(samples), d))
    yield (y := steps.start * start)
    arranged = arranged_noise(draws, offset, stride, steps.n_steps)
    for k in range(steps.n_steps):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        noise: Array | float = 0.0
        if e and draws.low_discrepancy:
            y = np.sort(y, axis=1)
            noise = e * arranged.normals[k][:, None]
        elif e:
            noise = e * normals(draws.key, rows, samples, k + 1, d)
        slope = drift(y, k)
        ahead = y + h * slope + noise
        y = ahead if w == 0 else y + h * ((1 - w) * slope + w * drift(ahead, k + 1)) + noise
        yield y


def drift_at(engine: Engine, X: Array, y: Array, steps: StepTable, knots: Rows) -> Array:
    """Drift (n, d) of states ``y`` (n, d) of rows ``X`` (n, p), each at one of the ``knots`` (n,)."""
    prediction = engine.evaluate(X, steps.scale[knots, None] * y, steps.columns[knots])
    return np.asarray(steps.linear[knots, None] * y + steps.gain[knots, None] * prediction)


def trajectories(engine: Engine, X: Array, steps: StepTable, draws: Draws) -> Array:
    """Integrate samples of rows and keep their states at all knots.

    Parameters
    ----------
    engine : Engine
        The forest. Where an engine has several fields, their average is integrated.
    X : ndarray of shape (rows, p)
        Encoded rows.
    steps : StepTable
        K steps.
    draws : Draws
        Samples for each row, and their random numbers.

    Returns
    -------
    ndarray of shape (K + 1, rows, n_samples, d)
        States, before they are scaled back to the units of the response.
    """

    def drift(y: Array, k: int) -> Array:
        rows, samples, d = y.shape
        repeated = np.repeat(X, samples, axis=0)
        knots = np.full(rows * samples, k, dtype=np.intp)
        return drift_at(engine, repeated, y.reshape(-1, d), steps, knots).reshape(y.shape)

    return np.stack(list(states(drift, steps, draws, len(X), engine.n_outputs)))
