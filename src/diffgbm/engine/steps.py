"""What an integrator needs to know of a sampler: a short table of numbers, and where its noise comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diffgbm._util.types import Array


@dataclass(frozen=True)
class StepTable:
    r"""The coefficients of ``K`` integration steps between ``K + 1`` knots.

    At knot ``k`` the drift of a state ``y`` is

    .. math:: d_k(y) = m_k\, y + n_k\, F(c_k y,\, x,\, \text{columns}_k)

    and step ``k`` takes ``y`` to

    .. math::

        y' = y + h_k d_k(y) + e_k \xi, \qquad
        y \leftarrow y + h_k \bigl[(1 - w_k) d_k(y) + w_k d_{k+1}(y')\bigr] + e_k \xi

    with a standard normal ``xi`` for each coordinate. ``w = 0`` is Euler's method, ``w = 1/2`` is Heun's.
    Path, target, sampler and step count have all disappeared: whoever integrates needs nothing else.

    Attributes
    ----------
    scale, linear, gain : ndarray of shape (K + 1,)
        ``c``, ``m`` and ``n`` at the knots.
    columns : ndarray of shape (K + 1, q)
        Known feature columns at the knots (time, log noise level), each monotone in ``k``.
    size, noise, corrector : ndarray of shape (K,)
        ``h``, ``e`` and ``w`` of the steps.
    start : float
        Standard deviation of the normal distribution of the state at knot 0.
    """

    scale: Array
    linear: Array
    gain: Array
    columns: Array
    size: Array
    noise: Array
    corrector: Array
    start: float

    @property
    def n_steps(self) -> int:
        """Number of steps ``K``."""
        return len(self.size)

    @cached_property
    def key(self) -> bytes:
        """All numbers of the table: equal for tables that are equal."""
        arrays = (self.scale, self.linear, self.gain, self.columns, self.size, self.noise, self.corrector, self.start)
        plain = [np.asarray(values, dtype=np.float64) for values in arrays]
        return repr([values.shape for values in plain]).encode() + b"".join(values.tobytes() for values in plain)

    @property
    def is_deterministic(self) -> bool:
        """Whether no step adds noise."""
        return not np.any(self.noise)


@dataclass(frozen=True)
class Draws:
    """Which random numbers a block of rows consumes.

    Every normal is a pure function of ``(key, row, sample, step, coordinate)``, so neither the size of
    the block, nor the number of threads, nor the process changes it.

    Attributes
    ----------
    n_samples : int
        Samples for each row.
    key : int
        64 bits made from the user's seed.
    first_row, first_sample : int
        Position of the block's first row and sample in the whole request.
    start : ndarray of shape (n_samples, d) or None
        Standard normal starting points for every row, instead of random ones.
    shared : bool
        Whether every row uses the noise of row 0 (common random numbers).
    low_discrepancy : bool
        Whether the noise of a scalar state is a low-discrepancy sequence instead of random: at each step the samples of
        a row are sorted and get a fixed arrangement of stratified normals. Needs ``start``.
    """

    n_samples: int
    key: int
    first_row: int = 0
    first_sample: int = 0
    start: Array | None = None
    shared: bool = False
    low_discrepancy: bool = False

    def __post_init__(self) -> None:
        if self.low_discrepancy and (self.start is None or self.start.shape[1] != 1):
            raise ValueError("low-discrepancy noise needs starting points of a scalar state")
