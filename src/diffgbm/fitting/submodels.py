"""Submodels: single bags of a fitted model, each with the first-stage models of a single fold.

Each submodel has learned from a part of the rows only, and they leave out different parts. Bags alone would not do:
they share the first-stage models, in which most of the uncertainty is. On 500 rows of a regression with known truth the
means of bags vary by 2% of the variance that the predicted mean has over fresh tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from diffgbm._util.types import Array
from diffgbm.diffusion.sampler import Sampler
from diffgbm.distributions.uncertainty import Uncertainty, decomposed, stacked
from diffgbm.first_stage import FirstStageValues
from diffgbm.first_stage.folds import first_stage_folds, fold, n_folds
from diffgbm.fitting.atoms import Atoms
from diffgbm.fitting.joint_atoms import probabilities_of
from diffgbm.fitting.model import FittedModel

POINTS, JOINT_POINTS = 89, 128
"""Points of the distribution of a submodel, for one response and for several."""
MOST = 30
"""Submodels at most, so that each bag meets as many folds; beyond, one for each bag or fold."""


@dataclass(frozen=True, eq=False)
class SubmodelPoints:
    """What the submodels of a model predict.

    Attributes
    ----------
    points : tuple of ndarray of shape (n, m, d)
        For each submodel the equally likely points of its predictive distributions.
    factor : ndarray of shape (n, d)
        Jackknife factor: the square of the standard error of the mean, divided by the variance between submodels.
    """

    points: tuple[Array, ...]
    factor: Array


def submodel_points(
    model: FittedModel, X: Array, sampler: Sampler, threads: int = 1, k_folds: int | None = None
) -> SubmodelPoints:
    """Predict encoded rows ``X`` (n, p) by the submodels of a model.

    A jackknife that leaves out one of ``K`` parts multiplies the variance of the ``K`` estimates by ``K - 1``. Bags and
    folds may have different ``K``: the share of the folds is the variance of the locations that are subtracted. If
    cross-fitting was repeated there are more models than ``k_folds``, each without one part of ``k_folds``.

    References
    ----------
    Efron, B. and Stein, C. (1981). The jackknife estimate of variance. The Annals of Statistics, 9(3), 586-596.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    stages: list[FirstStageValues | None] = [None]
    if model.first_stage is not None:
        stages = [part.values(X) for part in first_stage_folds(model.first_stage)]
    bags, folds = len(model.bags), len(stages)
    count = lcm(bags, folds) if lcm(bags, folds) <= MOST else max(bags, folds)
    n_points = POINTS if model.n_responses == 1 else JOINT_POINTS
    points = tuple(
        model.single_bags[s % bags].points(X, sampler, n_points, threads, stage_values=stages[s % folds])
        for s in range(count)
    )
    locations = np.array([np.zeros((len(X), 1)) if part is None else part.location for part in stages])
    response = model.response
    # without a power scale the location of the response drops out of the variance
    moved = locations * response.scale if response.power is None else response.restore(locations)
    between_folds = moved.var(axis=0)
    between = np.var([part.mean(axis=1) for part in points], axis=0)
    between_bags = np.maximum(between - between_folds, 0.0)
    whole = np.maximum(between_bags + between_folds, np.finfo(np.float64).tiny)
    parts = folds if k_folds is None else min(folds, k_folds)
    factor = ((parts - 1) * between_folds + (bags - 1) * between_bags) / whole
    points = _confined(model, points, X)
    if model.atoms is not None:
        points = with_atoms(points, model.atoms, X)
    if model.support is not None and model.support.integers:
        points = tuple(np.clip(np.rint(part), model.support.low, model.support.high) for part in points)
    return SubmodelPoints(points, factor)


def _confined(model: FittedModel, points: Sequence[Array], X: Array) -> tuple[Array, ...]:
    """Confine the points of each submodel; atoms of several responses have the probabilities of one fold."""
    count = max((n_folds(atoms.predictor) for atoms in model.joint_atoms if atoms is not None), default=1)

    def of_fold(k: int) -> Callable[[Atoms], Atoms]:
        return lambda atoms: replace(atoms, predictor=fold(atoms.predictor, k, n_folds(atoms.predictor)))

    folds = [probabilities_of(model.joint_atoms, X, of_fold(k)) for k in range(count)]
    return tuple(model.confined(part, folds[s % count]) for s, part in enumerate(points))


def with_atoms(points: Sequence[Array], atoms: Atoms, X: Array) -> tuple[Array, ...]:
    """Mix the points of each submodel with the atoms, whose probabilities are those of one fold."""
    count = n_folds(atoms.predictor)
    folds = [replace(atoms, predictor=fold(atoms.predictor, k, count)).probabilities(X) for k in range(count)]
    return tuple(atoms.mixed(part[:, :, 0], folds[s % count])[:, :, None] for s, part in enumerate(points))


@dataclass(frozen=True, eq=False)
class Submodels:
    """What all submodels of an estimator predict.

    Attributes
    ----------
    parts : tuple of SubmodelPoints
        The submodels of each of its models.
    weights : ndarray of shape (k,)
        Weights of the models; they sum to one.
    """

    parts: tuple[SubmodelPoints, ...]
    weights: Array

    @property
    def mean(self) -> Array:
        """Means (n, d) of the mixture of all submodels."""
        return np.asarray(sum(w * np.mean([p.mean(axis=1) for p in m.points], axis=0) for m, w in self._weighted))

    @property
    def mean_error(self) -> Array:
        """Standard error (n, d) of the weighted mean of all models: submodel ``s`` of each leaves out the same rows."""
        count = max(len(model.points) for model in self.parts)
        means = [
            sum(w * model.points[s % len(model.points)].mean(axis=1) for model, w in self._weighted)
            for s in range(count)
        ]
        factor = sum(w * model.factor for model, w in self._weighted)
        return np.sqrt(factor * np.var(means, axis=0))

    @property
    def _weighted(self) -> list[tuple[SubmodelPoints, float]]:
        return list(zip(self.parts, self.weights.tolist(), strict=True))

    def changed(self, change: Callable[[Array], Array]) -> Submodels:
        """Apply a function to the points (n, m, d) of each submodel."""
        parts = (SubmodelPoints(tuple(map(change, model.points)), model.factor) for model in self.parts)
        return Submodels(tuple(parts), self.weights)

    def uncertainty(self, is_1d: bool, mean_error: Array | None = None) -> Uncertainty:
        """Decompose the uncertainty into that within and that between all submodels.

        Arrays have shape (n,) if ``is_1d``, else (n, d).
        """
        every = [part for model in self.parts for part in model.points]
        shares = np.concatenate([np.full(len(m.points), w / len(m.points)) for m, w in self._weighted])
        errors = self.mean_error if mean_error is None else mean_error
        of_responses = [
            decomposed([part[:, :, j] for part in every], shares, errors[:, j]) for j in range(every[0].shape[2])
        ]
        return of_responses[0] if is_1d else stacked(of_responses, axis=1)


def cross_fitted_uncertainty(each: Sequence[Submodels]) -> Uncertainty:
    """Decompose the uncertainty of the equal mixture of cross-fitted models of one response: arrays (n,).

    Each of the ``K`` models has left out another part of the rows: the jackknife multiplies the variance of their means
    by ``K - 1``.
    """
    count = len(each)
    joined = Submodels(
        tuple(part for model in each for part in model.parts), np.concatenate([model.weights for model in each]) / count
    )
    return joined.uncertainty(True, np.sqrt((count - 1) * np.var([model.mean for model in each], axis=0)))


def is_single(model: FittedModel) -> bool:
    """Whether the first-stage models are single models of all rows, whose uncertainty no submodel shows."""
    stage = model.first_stage
    if stage is None:
        return False
    deciding = stage.features if stage.location is None else (stage.location,)
    return max(map(n_folds, deciding), default=1) == 1
