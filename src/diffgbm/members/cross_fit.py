"""Members are fitted to the training rows of each bag, predict the rows that it holds out, and are checked there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from diffgbm._util.types import Array, Rows
from diffgbm.data.splits import Split, bags_by_rows, fold_numbers
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.first_stage.dense import DenseTable
from diffgbm.members.argument import NamedEstimator
from diffgbm.members.member import FittedMember, ask
from diffgbm.members.residuals import Residuals
from diffgbm.members.ways import WAYS, Quantiles, frame_of, response_frame

MIN_HELD_OUT = 500
"""Held-out rows that are enough for a weight where the time does not suffice for all bags."""
TRIALS = (200, 800)
"""Training rows of two trials, from whose times that of a fit is extrapolated on a larger table."""


class Unfit(Exception):
    """Raised if an estimator cannot be a member; the message says why and what to do."""


@dataclass(frozen=True, eq=False)
class MemberTable:
    """What members learn from.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows: codes for categories, NaN for missing values.
    y : ndarray of shape (n,)
        Responses in the user's units.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    categorical : sequence of int
        Categorical columns.
    splits : sequence of (ndarray of int, ndarray of int)
        Training rows and held-out rows of each bag.
    structure : Structure
        Rows that belong together, and their order.
    seed : int
        Seed of estimators that have none.
    """

    X: Array
    y: Array
    weights: Array | None
    categorical: Sequence[int]
    splits: Sequence[Split]
    structure: Structure = INDEPENDENT
    seed: int = 0
    _dense: list[tuple[DenseTable, Array]] = field(default_factory=list, init=False, repr=False)

    @property
    def dense(self) -> tuple[DenseTable, Array]:
        """The rows for estimators that accept neither categories nor missing values; made once."""
        if not self._dense:
            table = DenseTable.learn(self.X, self.categorical)
            self._dense.append((table, table(self.X)))
        return self._dense[0]


@dataclass(frozen=True, eq=False)
class CrossFittedMember:
    """A member and its predictions of rows that it has not seen.

    Attributes
    ----------
    member : FittedMember
        For new rows.
    points : tuple of ndarray of shape (rows, n_points, 1)
        For each bag the distributions of the rows that it holds out.
    """

    member: FittedMember
    points: tuple[Array, ...]


def cross_fit(
    named: NamedEstimator,
    table: MemberTable,
    n_points: int,
    seconds: float = np.inf,
    now: Callable[[], float] = time.monotonic,
) -> CrossFittedMember:
    """Fit one clone of an estimator for each bag and predict its held-out rows.

    Parameters
    ----------
    named : NamedEstimator
        The estimator.
    table : MemberTable
        Rows and bags.
    n_points : int
        Points of the distributions of held-out rows.
    seconds : float
        Time for all bags. Fewer bags do if they hold out ``MIN_HELD_OUT`` rows.
    now : callable
        Returns the time in seconds.

    Raises
    ------
    Unfit
        If the estimator fails, returns something else than distributions, knows nothing, or takes too long.
    """
    start = now()
    dense, rows = (None, table.X) if accepts_missing(named.estimator) else table.dense
    member = FittedMember(named.name, named.way, (), dense)
    predicted = expected_seconds(named, table, rows, seconds, now)
    if predicted > seconds:
        raise Unfit(_too_slow(predicted, seconds))
    models: list[Any] = []
    answers: list[Quantiles] = []
    fitted: dict[bytes, int] = {}
    longest = 0.0
    for b, (train, held_out) in enumerate(table.splits):
        key = train.tobytes()
        if key in fitted:  # by time all bags learn from the same rows
            answers.append(answers[fitted[key]])
            continue
        before = now()
        if b and before - start + longest > seconds:
            break
        models.append(fitted_model(named, table, rows, train, table.seed + b))
        answers.append(checked(_asked(named.way, models[-1], rows[held_out]), len(held_out)))
        fitted[key] = b
        longest = max(longest, now() - before)
    held_out_rows = [out for _, out in table.splits[: len(answers)]]
    if len(answers) < len(table.splits) and sum(map(len, held_out_rows)) < MIN_HELD_OUT:
        raise Unfit(_too_slow(longest * len(table.splits), seconds))
    member = replace(member, models=tuple(models))
    if len(answers[0][0]) > 1:
        return CrossFittedMember(member, tuple(member.points_of(a, n_points)[:, :, None] for a in answers))
    return _with_residuals(member, table, answers, held_out_rows, n_points)


def accepts_missing(estimator: Any) -> bool:
    """Whether an estimator accepts missing values, by its tags: it sees the encoded rows then."""
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except Exception:  # estimators without tags, or with those of another package
        return False


def fitted_model(named: NamedEstimator, table: MemberTable, rows: Array, train: Rows, seed: int) -> Any:
    """Fit a clone of an estimator to training rows of prepared rows (n, q)."""
    X, y = (rows[train], table.y[train])
    weighted = table.weights is not None and has_fit_parameter(named.estimator, "sample_weight")
    options = {"sample_weight": table.weights[train]} if weighted and table.weights is not None else {}
    try:
        model = seeded_clone(named.estimator, seed)
        if WAYS[named.way].frames:
            fitted = model.fit(frame_of(X), response_frame(y), **options)
        else:
            fitted = model.fit(X, y, **options)
        return model if fitted is None else fitted
    except Exception as error:
        raise Unfit(f"fit raised {type(error).__name__}: {_short(error)}") from error


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Clone an estimator, or copy it if it is not one of scikit-learn; set random states that are ``None``."""
    copy = clone(estimator, safe=False)
    if not hasattr(copy, "get_params"):
        return copy
    names = [n for n, value in copy.get_params().items() if n.split("__")[-1] == "random_state" and value is None]
    if names:
        copy.set_params(**dict.fromkeys(names, seed))
    return copy


def checked(quantiles: Quantiles, n: int) -> Quantiles:
    """Return what a model answered for ``n`` held-out rows; raise ``Unfit`` if that is nothing to build on."""
    levels, values = quantiles
    if values.shape != (n, len(levels)):
        raise Unfit(f"it returned an array of shape {values.shape} for {n} rows and {len(levels)} levels")
    wrong = ~np.isfinite(values).all(axis=1)
    if wrong.any():
        raise Unfit(f"it returned NaN or infinity for {wrong.sum():,} of {n:,} held-out rows")
    if n > 1 and np.all(values == values[0]):
        raise Unfit("it predicts the same for all held-out rows, so that it knows nothing of the columns")
    return quantiles


def expected_seconds(
    named: NamedEstimator, table: MemberTable, rows: Array, seconds: float, now: Callable[[], float]
) -> float:
    r"""Estimate the time of one bag by two trials with few rows: :math:`t_2 (n / n_2)^e`, with ``e`` from both.

    A fit of another package cannot be interrupted. On a small table, or without a limit, there are no trials.
    """
    train, held_out = table.splits[0]
    if len(train) <= 2 * TRIALS[1] or not np.isfinite(seconds):
        return 0.0
    times = []
    for size in TRIALS:
        some = train[np.random.default_rng(table.seed).permutation(len(train))[:size]]
        before = now()
        model = fitted_model(named, table, rows, some, table.seed)
        _asked(named.way, model, rows[held_out[: max(1, size * len(held_out) // len(train))]])
        times.append(max(now() - before, 1e-3))
        if times[-1] > seconds:
            return times[-1]
    exponent = float(np.clip(np.log(times[1] / times[0]) / np.log(TRIALS[1] / TRIALS[0]), 0.0, 2.0))
    return float(times[1] * (len(train) / TRIALS[1]) ** exponent)


def _asked(way: str, model: Any, rows: Array) -> Quantiles:
    try:
        return ask(way, model, rows)
    except Exception as error:
        raise Unfit(f"its prediction failed with {type(error).__name__}: {_short(error)}") from error


def _with_residuals(
    member: FittedMember, table: MemberTable, answers: Sequence[Quantiles], held_out: Sequence[Rows], n_points: int
) -> CrossFittedMember:
    """Give each held-out row the residuals of rows that other bags hold out, or of the other half of its bag's."""
    predictions = [values[:, 0] for _, values in answers]
    parts = [bags[0] for bags in bags_by_rows(held_out)]
    try:
        whole = Residuals.of(*(np.concatenate(x) for x in _pairs(predictions, table.y, held_out, parts)))
        points = []
        for b, rows in enumerate(held_out):
            others = [p for p in parts if held_out[p].tobytes() != rows.tobytes()]
            if others:
                seen = Residuals.of(*(np.concatenate(x) for x in _pairs(predictions, table.y, held_out, others)))
                points.append(seen.points(predictions[b], n_points))
            else:
                half = fold_numbers(len(rows), 2, table.seed, Structure(table.structure.part(rows).labels))
                points.append(_by_halves(predictions[b], table.y[rows], half, n_points))
    except ValueError as error:
        raise Unfit(str(error)) from error
    return CrossFittedMember(replace(member, residuals=whole), tuple(part[:, :, None] for part in points))


def _pairs(predictions: Sequence[Array], y: Array, held_out: Sequence[Rows], bags: Sequence[int]) -> Any:
    return [predictions[b] for b in bags], [y[held_out[b]] for b in bags]


def _by_halves(predictions: Array, y: Array, half: Rows, n_points: int) -> Array:
    points = np.empty((len(y), n_points))
    for k in (0, 1):
        points[half == k] = Residuals.of(predictions[half != k], y[half != k]).points(predictions[half == k], n_points)
    return points


def _too_slow(needed: float, seconds: float) -> str:
    return (
        f"it takes about {needed:.2g} s, and {max(seconds, 0.0):.2g} s of time_limit are for it: raise time_limit, or "
        "make the member smaller"
    )


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + "..."
