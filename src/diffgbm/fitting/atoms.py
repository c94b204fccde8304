r"""Atoms beside a continuous part: the probability of each atom from a classifier, the diffusion for the rest.

.. math:: F(y \mid x) = \sum_k \pi_k(x)\,1\{v_k \le y\} + \Bigl(1 - \sum_k \pi_k(x)\Bigr)\,G(y \mid x)

:math:`v_k` are the atoms, :math:`\pi_k` comes from cross-fitted LightGBM classifiers, and :math:`G` is the diffusion
model of the rows whose response is no atom.

References
----------
Duan, Manning, Morris & Newhouse (1983), A comparison of alternative models for the demand for medical care, Journal of
Business & Economic Statistics 1 (two-part models).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.special import ndtr

from diffgbm._util.types import Array, Integers, Rows
from diffgbm.data.blocks import map_rows
from diffgbm.data.splits import Split
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.engine import normals
from diffgbm.first_stage import Task
from diffgbm.first_stage.cross_fitting import Predictor, known_rows
from diffgbm.first_stage.lightgbm_mean import BoosterAverage, binned, regression_params, subset
from diffgbm.first_stage.useful_threads import with_useful_threads

MIN_SHARE = 0.05
"""Share of the rows at one value that makes it an atom."""
END_SHARE, END_ROWS = 0.02, 20
"""The same for the smallest and the largest value, where piles are limits of a sensor or of a survey."""
MIN_REST = 20
"""Rows that the continuous part needs; with fewer, "auto" finds no atoms."""
FOLDS = 5
"""Folds of the classifiers."""
CLASSIFIER = {"objective": "binary", "learning_rate": 0.05, "min_data_in_leaf": 20, "lambda_l2": 5.0}
"""Parameters of the classifiers: regularised."""
LEAST_LEAVES, MOST_LEAVES, ROWS_PER_LEAF = 4, 15, 500
"""Leaves of a classifier's trees: one for so many rows, within limits."""
ROUNDS = (10, 25, 50, 100, 200)
"""Numbers of boosting rounds, of which out-of-fold log loss chooses one."""
TRUST = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of a classifier against the base rate, of which out-of-fold log loss chooses one."""
SMALLEST = 1e-6
"""Least probability in the log loss."""
STREAM = 0x61746F6D73
"""Name of the stream of random numbers that decides which samples are atoms."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms of one response and their probabilities.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The atoms, increasing.
    predictor : Predictor
        From encoded rows (n, p) to the probability of each atom, (n, k).
    base, trust : ndarray of shape (k,)
        Shares of the atoms among the training rows, and the weight of the predictor against them.
    low, high : float
        Limits of the continuous part: an atom is a limit if no training response lies beyond it.
    """

    values: Array
    predictor: Predictor
    base: Array
    trust: Array
    low: float
    high: float

    @property
    def support(self) -> Support:
        """Support of the mixture."""
        return Support(self.low, self.high, self.values)

    def probabilities(self, X: Array) -> Array:
        """Probability of each atom for encoded rows (n, p): shape (n, k), each row's sum at most one."""
        return self.shrunk(self.predictor(np.ascontiguousarray(X, dtype=np.float64)))

    def shrunk(self, predicted: Array) -> Array:
        """Shrink predicted probabilities (n, k) towards the base rates."""
        shrunk = self.base + self.trust * (predicted - self.base)
        return shrunk / np.maximum(shrunk.sum(axis=1, keepdims=True), 1.0)

    def inside(self, values: Array) -> Array:
        """Move values of the continuous part between the limits: they are no atoms."""
        return np.clip(values, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf))

    def mixed(self, points: Array, probabilities: Array) -> Array:
        """Points (n, m) of the mixture, from points (n, m') of the continuous part and probabilities (n, k).

        Each atom has its share of the points, rounded; those of the continuous part are at even ranks.
        """
        continuous, m = PredictiveDistribution.from_points(self.inside(points)), points.shape[1]
        ends = np.rint(m * np.cumsum(probabilities, axis=1))[:, :, None]
        position = np.arange(m)
        atom = (position >= ends).sum(axis=1)
        rest = np.maximum(m - ends[:, -1], 1.0)
        levels = np.clip((position - ends[:, -1] + 0.5) / rest, 0.0, 1.0)
        values = self.inside(continuous.quantile(levels))
        known = np.append(self.values, np.nan)[atom]
        return np.sort(np.where(atom < len(self.values), known, values), axis=1)

    def distribution(
        self, points: Array, probabilities: Array, name: str = "y", index: Any = None
    ) -> PredictiveDistribution:
        """Make predictive distributions of the mixture; arguments as in ``mixed``."""
        return PredictiveDistribution.from_points(self.mixed(points, probabilities), name, index, self.support)

    def sampled(self, samples: Array, X: Array, key: int, first_row: int) -> Array:
        """Replace samples (n_samples, n, 1) of the continuous part by atoms, as often as these are probable."""
        rows, draws = first_row + np.arange(len(X)), np.arange(len(samples))
        uniform = ndtr(normals(key ^ STREAM, rows, draws, 0, 1)[:, :, 0])
        ends = np.cumsum(self.probabilities(X), axis=1)
        atom = (uniform[:, :, None] >= ends[:, None, :]).sum(axis=2).T
        known = np.append(self.values, np.nan)[atom]
        return np.where(atom < len(self.values), known, self.inside(samples[:, :, 0]))[:, :, None]


@dataclass(frozen=True, eq=False)
class AtomFit:
    """Fitted atoms, and what they leave.

    Attributes
    ----------
    atoms : Atoms
        For new rows.
    out_of_fold : ndarray of shape (n, k)
        Probabilities of the training rows, from classifiers that have not seen them.
    rest : ndarray of int
        Rows of the continuous part.
    """

    atoms: Atoms
    out_of_fold: Array
    rest: Rows


def atom_values(y: Array, atoms: str | Sequence[float]) -> Array:
    """Return the atoms of responses (n,), increasing: those of an argument ``atoms``, as far as they occur.

    ``"auto"`` takes the values that hold a share ``MIN_SHARE`` of the rows, at the ends ``END_SHARE`` and
    ``END_ROWS``, if at least ``MIN_REST`` rows and a share ``MIN_SHARE`` are left for the continuous part.
    """
    if not isinstance(atoms, str):
        return np.intersect1d(np.asarray(atoms, dtype=np.float64), y)
    return piles(*np.unique(y, return_counts=True), len(y))


def piles(values: Array, counts: Integers, n_rows: int) -> Array:
    """Return which of the increasing ``values`` (m,), that occur ``counts`` (m,) times in ``n_rows`` rows, are atoms.

    The first and the last are the smallest and the largest response; values of a share below ``MIN_SHARE`` between
    them may be left out.
    """
    many = counts >= max(2.0, MIN_SHARE * n_rows)
    many[[0, -1]] |= counts[[0, -1]] >= max(END_ROWS, END_SHARE * n_rows)
    rest = n_rows - counts[many].sum()
    return values[many] if rest >= max(MIN_REST, MIN_SHARE * n_rows) else values[:0]


def fit_atoms(task: Task, y: Array, values: Array, seconds: float = np.inf) -> AtomFit:
    """Fit the probabilities of atoms ``values`` (k,) of responses ``y`` (n,) to the rows of a task, within a time."""
    hits = (y[:, None] == values).astype(np.float64)
    predictor, out_of_fold = _classified(replace(task, y=hits, k_folds=FOLDS, repeats=1), seconds)
    base = np.average(hits, axis=0, weights=task.weights)
    columns = zip(hits.T, out_of_fold.T, base.tolist(), strict=True)
    trust = np.array([_trust(hit, predicted, rate, task.weights) for hit, predicted, rate in columns])
    atoms = Atoms(values, predictor, base, trust, *atom_limits(values, y.min(), y.max()))
    return AtomFit(atoms, atoms.shrunk(out_of_fold), np.flatnonzero(~hits.any(axis=1)))


def atom_limits(values: Array, lowest: float, highest: float) -> tuple[float, float]:
    """Return the limits of the continuous part: the smallest and the largest response if they are atoms."""
    low, high = (end if end in values else limit for end, limit in ((lowest, -np.inf), (highest, np.inf)))
    return float(low), float(high)


def classifier_params(n_rows: int, seed: int, threads: int) -> dict[str, Any]:
    """Return LightGBM's parameters of a classifier of ``n_rows`` rows."""
    leaves = int(np.clip(n_rows // ROWS_PER_LEAF, LEAST_LEAVES, MOST_LEAVES))
    return {**regression_params(seed, threads), **CLASSIFIER, "num_leaves": leaves}


def tried_rounds(boosters: Sequence[lgb.Booster]) -> tuple[int, ...]:
    """Return the numbers of rounds that are compared: ``ROUNDS``, as far as the boosters of all folds reach."""
    reached = min(booster.num_trees() for booster in boosters)
    return (*(rounds for rounds in ROUNDS if rounds < reached), reached)


def _classified(task: Task, seconds: float) -> tuple[Predictor, Array]:
    """Cross-fit a classifier of each column of ``task.y`` (n, k); return it with its out-of-fold probabilities (n, k).

    All folds of a column have as many rounds: those of least out-of-fold log loss. Each fit has its share of the time.
    """
    params = classifier_params(task.n_rows, task.seed, task.n_jobs)
    data, (folds,) = binned(task, params), task.folds
    models, out_of_fold = [], np.full_like(task.y, np.nan)
    for j in range(task.n_responses):
        share = seconds / (len(folds) * task.n_responses)
        boosters = [_boosted(params, subset(task, data, train, j), share) for train, _ in folds]
        predicted = {rounds: _held_out(task, folds, boosters, rounds) for rounds in tried_rounds(boosters)}
        best = min(predicted, key=lambda rounds: log_loss(task.y[:, j], predicted[rounds], task.weights))
        out_of_fold[:, j] = predicted[best]
        models.append(tuple(first_rounds(booster, best) for booster in task.predicting(boosters)))
    return BoosterAverage(tuple(models)), out_of_fold


def _boosted(params: dict[str, Any], data: lgb.Dataset, seconds: float) -> lgb.Booster:
    """Boost for ``ROUNDS[-1]`` rounds, or until the time is over."""
    end = time.monotonic() + seconds

    def stop(env: Any) -> None:
        if time.monotonic() > end:
            raise lgb.callback.EarlyStopException(env.iteration, [])

    return lgb.train(with_useful_threads(params), data, ROUNDS[-1], callbacks=[stop])


def _held_out(task: Task, folds: Sequence[Split], boosters: Sequence[lgb.Booster], rounds: int) -> Array:
    """Out-of-fold probabilities (n,) after so many rounds."""
    out = np.full(task.n_rows, np.nan)
    for (_, rows), booster in zip(folds, boosters, strict=True):
        if len(rows) == 0:
            continue
        predict: Callable[[Array], Any] = partial(booster.predict, num_iteration=rounds, num_threads=task.n_jobs)
        out[rows] = map_rows(predict, task.X, rows)
    return out


def first_rounds(booster: lgb.Booster, rounds: int) -> lgb.Booster:
    """Return a booster of the first rounds alone."""
    return lgb.Booster(model_str=booster.model_to_string(num_iteration=rounds))


def log_loss(hit: Array, p: Array, weights: Array | None) -> float:
    r"""Mean of :math:`-\log p` where ``hit`` (n,) is 1, of :math:`-\log(1 - p)` where it is 0.

    Rows of unknown probability are left out.
    """
    if (known := known_rows(p[:, None])) is not None:
        hit, p, weights = hit[known], p[known], None if weights is None else weights[known]
    p = np.clip(p, SMALLEST, 1.0 - SMALLEST)
    return float(np.average(-np.log(np.where(hit > 0.0, p, 1.0 - p)), weights=weights))


def _trust(hit: Array, predicted: Array, base: float, weights: Array | None) -> float:
    """Return the weight of predicted probabilities (n,) against the base rate, of least out-of-fold log loss."""
    return min(TRUST, key=lambda trust: log_loss(hit, base + trust * (predicted - base), weights))
