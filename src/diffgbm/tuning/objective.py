r"""What a search minimises: the mean CRPS of held-out rows.

.. math:: \text{score}(\theta) = \frac1K \sum_{k=1}^K \frac{1}{n_k} \sum_{i \in \text{split } k}
    \text{CRPS}\bigl(\hat p_{\theta, -k}(\cdot \mid x_i),\ y_i\bigr)

with :math:`\hat p_{\theta, -k}` fitted to the other rows with the arguments :math:`\theta`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from diffgbm._util.errors import check_count, kept_warnings, known
from diffgbm._util.types import Array
from diffgbm.data.features import FeatureTable
from diffgbm.data.records import find_records
from diffgbm.data.response import ResponseTable, read_response
from diffgbm.data.splits import PAPER_FOLDS, Split, check_splits, cross_validation_splits
from diffgbm.data.structure import NOTHING_GIVEN, GivenStructure, Structure, check_groups, read_structure
from diffgbm.metrics.scores import crps
from diffgbm.tuning.search_spaces import ALIASES, CORNERS, SPACES, Params, Space, Trial, space_names


class Regressor(Protocol):
    """The part of ``DiffGBM`` that a search uses."""

    def get_params(self, deep: bool = ...) -> dict[str, Any]:
        """Return the arguments."""
        ...

    def fit(
        self,
        X: Any,
        y: Any,
        cat_idx: Sequence[int] | None = ...,
        sample_weight: Any = ...,
        groups: Any = ...,
        time: Any = ...,
    ) -> Any:
        """Learn p(y | x)."""
        ...

    def sample(self, X: Any, n_samples: int, *, seed: int | None = ...) -> Array:
        """Draw samples of shape (n_samples, n) or (n_samples, n, d)."""
        ...

    def crps(self, X: Any, y: Any) -> Array:
        """Score the predictive distributions."""
        ...


@dataclass(frozen=True)
class Pinned:
    """A trial that does not choose the arguments in ``fixed``."""

    trial: Trial
    fixed: Mapping[str, Any]

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Choose an integer in [low, high]."""
        return self.fixed[name] if name in self.fixed else self.trial.suggest_int(name, low, high, log=log)

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Choose a number in [low, high]."""
        return self.fixed[name] if name in self.fixed else self.trial.suggest_float(name, low, high, log=log)

    def suggest_categorical(self, name: str, choices: tuple[Any, ...]) -> Any:
        """Choose one of several values."""
        return self.fixed[name] if name in self.fixed else self.trial.suggest_categorical(name, choices)


@dataclass(frozen=True)
class Objective:
    """A function from a trial to the mean CRPS of the held-out rows; a picklable value.

    Attributes
    ----------
    estimator : callable
        From arguments to an unfitted regressor: ``DiffGBM``.
    X : ndarray of shape (n, p)
        Encoded rows.
    y : ndarray of shape (n,) or (n, d)
        Responses, in the user's units.
    weights : ndarray of shape (n,) or None
        Weights of the rows, in training and in the mean.
    categorical : tuple of int
        Categorical columns.
    unit : ndarray of shape (1,) or (d,)
        Unit of the CRPS: 1 for one response, each response's standard deviation for several.
    splits : tuple of (ndarray, ndarray)
        Training rows and held-out rows.
    space : str or callable
        What a trial may choose: a name, or a function from a trial to arguments.
    fixed : dict
        Arguments that no trial chooses.
    n_samples : int or None
        Samples for each row; ``None`` scores the predictive distribution itself.
    seed, n_jobs : int
        Seed and threads of each estimator.
    given : GivenStructure
        Groups and times of the rows, which each estimator gets as well.
    """

    estimator: Callable[..., Regressor]
    X: Array
    y: Array
    weights: Array | None
    categorical: tuple[int, ...]
    unit: Array
    splits: tuple[Split, ...]
    space: str | Space
    fixed: Params
    n_samples: int | None
    seed: int
    n_jobs: int | None
    given: GivenStructure = NOTHING_GIVEN

    def __call__(self, trial: Any) -> float:
        """Score the choices of an Optuna trial and record the score of each split."""
        return self.record(trial, self.scores(self.arguments(trial)))

    @staticmethod
    def record(trial: Any, scores: Array) -> float:
        """Record the score of each split (k,) in a trial and return their mean."""
        trial.set_user_attr("splits", scores.tolist())
        return float(scores.mean())

    def arguments(self, trial: Trial) -> Params:
        """Return the arguments of the estimator that ``trial`` chooses."""
        return {**space_of(self.space)(Pinned(trial, self.fixed)), **self.fixed}

    def corners(self) -> tuple[Params, ...]:
        """Return the choices of the first trials, without the fixed arguments."""
        named = CORNERS.get(ALIASES.get(self.space, self.space), ()) if isinstance(self.space, str) else ()
        left = [{name: value for name, value in corner.items() if name not in self.fixed} for corner in named]
        return tuple(corner for i, corner in enumerate(left) if corner not in left[:i])

    def scores(self, params: Mapping[str, Any]) -> Array:
        """Return the mean CRPS of each split's held-out rows under ``estimator(**params)``: shape (k,)."""
        scores = np.array([self._score(params, k, split) for k, split in enumerate(self.splits)])
        if not np.isfinite(scores).all():
            raise ValueError(f"the CRPS is not finite: {scores.tolist()}")
        return scores

    def _score(self, params: Mapping[str, Any], k: int, split: Split) -> float:
        train, test = split
        seeds = np.random.SeedSequence([self.seed, k]).generate_state(2) >> 1
        model = self.estimator(**{"seed": int(seeds[0]), "n_jobs": self.n_jobs, **params, "verbose": 0})
        weights = None if self.weights is None else self.weights[train]
        part = Structure(self.given.labels, self.given.order).part(train)
        given = {name: value for name, value in (("groups", part.labels), ("time", part.order)) if value is not None}
        model.fit(self.X[train], self.y[train], list(self.categorical), weights, **given)
        if self.n_samples is None:
            values = np.asarray(model.crps(self.X[test], self.y[test]))
        else:
            values = crps(model.sample(self.X[test], self.n_samples, seed=int(seeds[1])), self.y[test])
        each = (values.reshape(len(test), -1) / self.unit).mean(axis=1)
        return float(np.average(each, weights=None if self.weights is None else self.weights[test]))


def make_objective(
    estimator: Callable[..., Regressor],
    X: Any,
    y: Any,
    cat_idx: Sequence[int] | None,
    sample_weight: Any,
    groups: Any = None,
    time: Any = None,
    *,
    cv: Any,
    space: str | Space,
    fixed: Mapping[str, Any] | None,
    n_samples: int | None,
    seed: int,
    n_jobs: int | None,
    owner: str,
) -> Objective:
    """Read the user's table and arguments. Errors in them are raised here and not by every trial."""
    space_of(space)
    arguments = estimator().get_params(deep=False)
    fixed = {known("estimator_params", name, arguments): value for name, value in (fixed or {}).items()}
    if n_samples is not None:
        check_count("n_samples", n_samples, 2)
    X, given = read_structure(X, groups, time)
    if isinstance(cv, (int, np.integer)):
        check_groups(given.labels, int(cv), "cv")
    with kept_warnings():  # the final fit issues them
        features, matrix = FeatureTable.learn(X, cat_idx, owner, given.wanted)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
    response, _ = ResponseTable.learn(y, weights, len(matrix))
    if len(matrix) < PAPER_FOLDS:
        raise ValueError(f"{owner} needs at least {PAPER_FOLDS} rows; got n_samples={len(matrix)}.")
    several = len(response.scale) > 1
    observed = read_response(y)[1]
    repeats = fixed.get("repeats", arguments["repeats"])
    structure = Structure(given.labels, given.order)
    if given.labels is None and given.order is None:
        structure = Structure(find_records(matrix, observed.reshape(len(matrix), -1), repeats).labels)
    splits = cross_validation_splits(cv, matrix, y, seed, structure)
    check_splits(splits, Structure(given.labels, given.order), "cv")
    return Objective(
        estimator=estimator,
        X=matrix,
        y=observed,
        weights=weights,
        categorical=tuple(features.categorical),
        unit=np.where(response.scale > 0.0, response.scale, 1.0) if several else np.ones(1),
        splits=splits,
        space=space,
        fixed=fixed,
        n_samples=n_samples,
        seed=seed,
        n_jobs=n_jobs,
        given=given,
    )


def space_of(space: str | Space) -> Space:
    """Return the search space of a name; a function is a space itself."""
    if callable(space):
        return space
    name = known("space", space, (*space_names(), *ALIASES.values()))
    return SPACES[ALIASES.get(name, name)]
