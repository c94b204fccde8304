r"""Randomisation at point masses: what makes transforms uniform and coverage nominal for discrete responses.

Where an observation is a point mass of its distribution, its probability integral transform is drawn from
:math:`[F(y^-), F(y)]`, and a central interval covers it if the drawn transform lies between the interval's levels.
Elsewhere nothing is random. The random numbers are a function of a seed and the row's position alone.

References
----------
Czado, Gneiting & Held (2009), Predictive model assessment for count data, Biometrics 65.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffgbm._util.types import Array, Booleans
from diffgbm.data.splits import position_uniforms
from diffgbm.distributions import Prediction


def row_numbers(shape: Sequence[int], seed: int = 0, first_row: int = 0) -> Array:
    """Uniform numbers of the shape (n,) or (n, d) of observations, decided by ``seed`` and the position of each."""
    d = int(np.prod(shape[1:], dtype=np.int64))
    return position_uniforms(first_row * d + np.arange(shape[0] * d), seed).reshape(tuple(shape))


def probabilities_around(prediction: Prediction, y: Array) -> tuple[Array, Array]:
    r""":math:`F(y^-)` and :math:`F(y)`, of the shape of ``y``; they are equal unless ``y`` is a point mass."""
    upto = np.asarray(prediction.pit(y))
    # predictions of other libraries need not know their point masses
    return (np.asarray(prediction.prob_below(y)) if hasattr(prediction, "prob_below") else upto), upto


def randomised_pit(prediction: Prediction, y: Array, uniform: Array) -> Array:
    r"""Randomised transform :math:`F(y^-) + u\,(F(y) - F(y^-))` with ``u`` uniform, of the shape of ``y``.

    It is uniform under calibration even if the distributions have point masses.
    """
    below, upto = probabilities_around(prediction, y)
    return np.asarray(below + uniform * (upto - below))


def inside_levels(prediction: Prediction, y: Array, levels: Array, uniform: Array) -> Booleans:
    """Whether central intervals of probability ``levels`` (k,) cover ``y``, of its shape with a last axis of levels."""
    low, high = prediction.quantile(0.5 * (1.0 - levels)), prediction.quantile(0.5 * (1.0 + levels))
    inside = (low <= y[..., None]) & (y[..., None] <= high)
    below, upto = probabilities_around(prediction, y)
    distance = np.abs(2.0 * (below + uniform * (upto - below)) - 1.0)
    return np.where((upto > below)[..., None], distance[..., None] <= levels, inside)
