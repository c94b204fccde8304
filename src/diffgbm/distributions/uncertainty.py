r"""Which uncertainty: the noise of the response, or what the training table leaves open.

Submodels :math:`s` with weights :math:`w_s`, each of which has learned from other rows, predict distributions with
means :math:`m_s` and variances :math:`v_s`. By the law of total variance their mixture has the variance

.. math:: \underbrace{\sum_s w_s v_s + \sum_s w_s (m_s - \bar m)^2}_{\text{total}}
          = \text{aleatoric} + \text{epistemic}.

In units of the CRPS, the expected score of the mixture where it is right, :math:`\tfrac12 \mathrm E|X - X'|`, is the
average of the same for the submodels, and their mean energy distance.

References
----------
Depeweg, S. et al. (2018). Decomposition of uncertainty in Bayesian deep learning for efficient and risk-sensitive
learning. International Conference on Machine Learning.

Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of the
American Statistical Association, 102(477), 359-378.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from diffgbm._util.types import Array
from diffgbm.distributions.scalar import PredictiveDistribution


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How uncertain each prediction is, and why; arrays of shape (n,) or (n, d).

    Attributes
    ----------
    total, aleatoric, epistemic : ndarray
        Variance of the mixture of all submodels, and its two parts: the average variance of a submodel, which more
        rows do not remove, and the variance of the submodels' means, which more rows do remove. They add up exactly.
    total_crps, aleatoric_crps, epistemic_crps : ndarray
        The same in units of the CRPS, which is that of the response.
    mean_error : ndarray
        Standard error of the predicted mean, by the jackknife: how far the mean would move if the model were fitted to
        another table of the same size. On known truths its square was 2 to 4 times the variance.
    """

    total: Array
    aleatoric: Array
    epistemic: Array
    total_crps: Array
    aleatoric_crps: Array
    epistemic_crps: Array
    mean_error: Array

    @property
    def epistemic_share(self) -> Array:
        """Epistemic share of the variance, from 0 to 1; 0 where there is none."""
        return np.divide(self.epistemic, self.total, out=np.zeros_like(self.total), where=self.total > 0.0)

    def columns(self) -> dict[str, Array]:
        """Return everything by name, the share last."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**named, "epistemic_share": self.epistemic_share}


def decomposed(points: Sequence[Array], weights: Array, mean_error: Array) -> Uncertainty:
    """Decompose the uncertainty of submodels of one response.

    Parameters
    ----------
    points : sequence of ndarray of shape (n, m)
        For each submodel the equally likely points of its predictive distributions.
    weights : ndarray of shape (s,)
        Weights of the submodels; they sum to one.
    mean_error : ndarray of shape (n,)
        Standard error of the mean.

    Returns
    -------
    Uncertainty
        Arrays of shape (n,).
    """
    distributions = [PredictiveDistribution.from_points(part) for part in points]
    means = np.array([distribution.mean() for distribution in distributions])
    aleatoric = weights @ np.array([distribution.var() for distribution in distributions])
    # the mean of equal numbers may differ from them in the last bit: measured from the first, it does not
    moved = means - means[0]
    epistemic = weights @ (moved - weights @ moved) ** 2
    within = weights @ np.array([half_mean_difference(d.values, np.ones(len(d.levels))) for d in distributions])
    each = np.concatenate([np.full(part.shape[1], w / part.shape[1]) for w, part in zip(weights, points, strict=True)])
    between = np.maximum(half_mean_difference(np.hstack(list(points)), each) - within, 0.0)
    return Uncertainty(aleatoric + epistemic, aleatoric, epistemic, within + between, within, between, mean_error)


def half_mean_difference(points: Array, weights: Array) -> Array:
    r"""Return :math:`\tfrac12 \mathrm E|X - X'| = \int F(z) (1 - F(z))\, dz` of points (n, m) with weights (m,)."""
    order = np.argsort(points, axis=1, kind="stable")
    cdf = np.cumsum((weights / weights.sum())[order], axis=1)[:, :-1]
    gaps = np.diff(np.take_along_axis(points, order, axis=1), axis=1)
    return np.asarray(np.sum(gaps * cdf * (1.0 - cdf), axis=1))


def stacked(parts: Sequence[Uncertainty], axis: int) -> Uncertainty:
    """Join blocks of rows (axis 0), or responses (axis 1: arrays of shape (n,) become (n, d))."""
    join = np.concatenate if axis == 0 else np.stack
    names = [field.name for field in fields(Uncertainty)]
    return Uncertainty(*(join([getattr(part, name) for part in parts], axis=axis) for name in names))
