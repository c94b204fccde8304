r"""A shrunken model of the conditional scale, for residuals that a first-stage model leaves.

Small trees predict :math:`\log |e|` of out-of-fold residuals :math:`e` from ``x`` and from the mean's prediction
:math:`\hat\mu(x)`, cross-fitted. The residuals are divided by a power of what they predict,

.. math:: \hat\sigma(x) = \exp\bigl(\gamma\, (g(x, \hat\mu(x)) - \bar g)\bigr), \qquad
          \gamma = \arg\min_{0 \le \gamma \le 1} \log \sum_i |e_i|\, e^{-\gamma (g_i - \bar g)}.

The exponent maximises the Laplace likelihood of residuals that neither model has seen, for each response. It is zero,
and the scale one, if the likelihood hardly increases: a scale that follows noise widens some distributions and
narrows others.

References
----------
Davidian, M. and Carroll, R. J. (1987). Variance function estimation. Journal of the American Statistical Association
82(400), 1079-1091.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.first_stage.cross_fitting import CrossFitted, Predictor, Task, known_rows
from diffgbm.first_stage.lightgbm_mean import LightGBMMean

SMALL_TREES: Mapping[str, Any] = MappingProxyType({"n_estimators": 120, "learning_rate": 0.05, "num_leaves": 15})
LEAF_SHARE, LEAST_LEAF = 0.02, 20
"""Rows of a leaf: a share of all rows, and at least so many."""
EXPONENTS = np.linspace(0.0, 1.0, 41)
LEAST_GAIN = 2.0
"""Log likelihood that an exponent must gain over zero."""


@dataclass(frozen=True)
class ShrunkScale:
    """A fitted log scale.

    Attributes
    ----------
    model : Predictor
        Predicts log |residual| from rows (n, p) and the mean's predictions (n, d).
    location : Predictor
        The mean.
    exponent, centre : ndarray of shape (d,)
        The log scale is ``exponent (model - centre)``.
    """

    model: Predictor
    location: Predictor
    exponent: Array
    centre: Array

    def __call__(self, X: Array) -> Array:
        """Predict the log scale of rows (n, p): shape (n, d)."""
        return self.given(X, self.location(X))

    def given(self, X: Array, mean: Array) -> Array:
        """Predict the log scale of rows (n, p) whose mean (n, d) is known."""
        return self.exponent * (self.model(np.hstack([X, mean])) - self.centre)


@dataclass(frozen=True)
class ShrunkScaleModel:
    """The model before it is fitted.

    Attributes
    ----------
    params : mapping
        Parameters of the small trees.
    """

    params: Mapping[str, Any] = field(default_factory=lambda: dict(SMALL_TREES))

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return task.n_models

    def cross_fit(self, task: Task, subtracted: CrossFitted, residuals: Array, log_magnitude: Array) -> CrossFitted:
        """Fit the scale of residuals (n, d) of a mean; ``log_magnitude`` (n, d) is what the trees learn."""
        leaf = max(LEAST_LEAF, round(LEAF_SHARE * task.n_rows))
        trees = LightGBMMean({**self.params, "min_child_samples": leaf})
        with_mean = replace(task, X=np.hstack([task.X, subtracted.columns]))
        fitted = with_mean.cross_fit(trees, log_magnitude)
        known = known_rows(np.hstack([fitted.out_of_fold, residuals]))
        rows = np.arange(task.n_rows) if known is None else known
        weights = None if task.weights is None else task.weights[rows]
        centre = np.average(fitted.out_of_fold[rows], axis=0, weights=weights)
        found = [
            exponent(fitted.out_of_fold[rows, j] - centre[j], residuals[rows, j], weights) for j in range(len(centre))
        ]
        scale = ShrunkScale(fitted.predictor, subtracted.predictor, np.array(found), centre)
        return CrossFitted(scale, scale.exponent * (fitted.out_of_fold - centre), np.zeros(len(centre)))


def exponent(log_scale: Array, residuals: Array, weights: Array | None = None) -> float:
    r"""Return the exponent in [0, 1] with the highest Laplace likelihood of residuals (n,), or zero if it gains little.

    With the best common factor, the log likelihood of an exponent :math:`\gamma` is
    :math:`-n \log \sum_i |e_i| e^{-\gamma g_i}` for centred log scales ``g`` (n,), up to a constant.
    """
    size = np.abs(residuals)
    if not np.any(size > 0.0):
        return 0.0
    losses = np.log([np.average(size * np.exp(-power * log_scale), weights=weights) for power in EXPONENTS])
    best = int(np.argmin(losses))
    return float(EXPONENTS[best]) if len(size) * (losses[0] - losses[best]) > LEAST_GAIN else 0.0
