r"""The power scale: responses on which a skewed, non-negative response is learned, and the way back.

References
----------
Box, G. E. P. and Cox, D. R. (1964). An analysis of transformations. Journal of the Royal Statistical Society B 26(2),
211-252.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array

LOWER_SHARE = 0.1
"""Quantile of the positive responses that is the unit: below it the scale is nearly linear."""


@dataclass(frozen=True)
class PowerScale:
    r"""The increasing map :math:`z = ((1 + y/s)^\lambda - 1) / \lambda`, for :math:`\lambda = 0` :math:`\log(1 + y/s)`.

    It is linear, with the slope at the end, below zero and above the largest training response. A value on this scale
    that lies beyond all training responses is therefore not raised to an exponential in the user's units.

    Attributes
    ----------
    power : float
        :math:`\lambda`, from 0 to 1.
    unit : float
        :math:`s > 0`, in the user's units.
    highest : float
        The largest training response.
    spread : float
        Standard deviation of the training responses in the user's units.
    """

    power: float
    unit: float
    highest: float
    spread: float

    @classmethod
    def of(cls, y: Array, weights: Array | None, power: float) -> PowerScale | None:
        """Return the scale of responses (n,), ``None`` if one of them is negative or all are equal."""
        positive = y[y > 0.0]
        if len(positive) == 0 or y.min() < 0.0 or y.min() == y.max():
            return None
        spread = float(np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)))
        return cls(power, float(np.quantile(positive, LOWER_SHARE)), float(y.max()), spread)

    def __str__(self) -> str:
        return {0.0: "the logarithm", 0.5: "the square root"}.get(self.power, f"the power {self.power:g}")

    def __call__(self, y: Array) -> Array:
        """Map values of any shape to the scale."""
        inside = np.clip(y, 0.0, self.highest)
        z = self._raised(inside)
        return np.asarray(z + (y - inside) / self._slope(inside))

    def inverse(self, z: Array) -> Array:
        """Map values of any shape back to the user's units."""
        inside = np.clip(z, 0.0, self._raised(np.asarray(self.highest)))
        if self.power == 0.0:
            y = self.unit * np.expm1(inside)
        else:
            y = self.unit * ((1.0 + self.power * inside) ** (1.0 / self.power) - 1.0)
        return np.asarray(y + (z - inside) * self._slope(y))

    def _raised(self, y: Array) -> Array:
        ratio = np.log1p(y / self.unit)
        return np.asarray(ratio if self.power == 0.0 else np.expm1(self.power * ratio) / self.power)

    def _slope(self, y: Array) -> Array:
        """User's units for each unit of the scale, at responses from zero to the largest."""
        return np.asarray(self.unit * (1.0 + y / self.unit) ** (1.0 - self.power))
