"""A fitted member: estimators of another package, one for each bag, that predict distributions together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from diffgbm._util.types import Array
from diffgbm.first_stage.dense import DenseTable
from diffgbm.members.quantile_points import points_of
from diffgbm.members.residuals import Residuals
from diffgbm.members.ways import WAYS, Quantiles


class MemberError(RuntimeError):
    """Raised if a member cannot predict rows; the message names it."""


@dataclass(frozen=True, eq=False)
class FittedMember:
    """Estimators of other packages, fitted to the training rows of each bag.

    Attributes
    ----------
    name : str
        The name of the member.
    way : str
        How it is asked, a name in ``WAYS``.
    models : tuple
        Fitted estimators; their distributions are mixed.
    dense : DenseTable or None
        How rows are prepared for estimators that accept neither categories nor missing values.
    residuals : Residuals or None
        Residuals of held-out rows, for estimators that give no distribution.
    weight : float
        Weight in a pool.
    """

    name: str
    way: str
    models: tuple[Any, ...]
    dense: DenseTable | None
    residuals: Residuals | None = None
    weight: float = 0.0

    def weighted(self, weight: float) -> FittedMember:
        """Return the member with another weight."""
        return replace(self, weight=weight)

    def alone(self, b: int) -> FittedMember:
        """Return the member with the model of one bag."""
        return replace(self, models=self.models[b : b + 1])

    def points(self, X: Array, n_points: int) -> Array:
        """Equally likely points (n, m, 1) of the distributions of encoded rows (n, p), ``m`` at least ``n_points``.

        Rows for which a model returns no finite numbers have NaN.
        """
        rows = X if self.dense is None else self.dense(X)
        of_each = -(-n_points // len(self.models))
        try:
            answers = [ask(self.way, model, rows) for model in self.models]
            points = np.concatenate([self.points_of(answer, of_each) for answer in answers], axis=1)
        except Exception as error:
            raise MemberError(
                f"the member {self.name!r} cannot predict these rows: {type(error).__name__}: {error}. Fit without it "
                "if you cannot mend this."
            ) from error
        return np.sort(points, axis=1)[:, :, None]

    def points_of(self, quantiles: Quantiles, n_points: int) -> Array:
        """Equally likely points (n, n_points) of what one model has answered."""
        levels, values = quantiles
        if self.residuals is None:
            return points_of(levels, values, n_points)
        return self.residuals.points(values[:, 0], n_points)


def ask(way: str, model: Any, rows: Array) -> Quantiles:
    """Ask a fitted estimator, or the last step of a fitted pipeline, for the distributions of prepared rows (n, q)."""
    if isinstance(model, Pipeline):
        before = model[:-1]
        return ask(way, model.steps[-1][1], before.transform(rows) if len(before) else rows)
    return WAYS[way].ask(model, rows)
