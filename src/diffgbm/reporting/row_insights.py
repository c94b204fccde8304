"""Novelty and epistemic share of the rows of a report, where the model has an answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.formatting import percent
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.shown import random_rows

MOST_ROWS = 200
"""Rows whose uncertainty is divided into its parts: each costs as much as some predictions."""
RARE = 0.01
"""P-value below which a row is called unlike the training rows."""


@dataclass(frozen=True, eq=False)
class RowInsights:
    """What a report says of each row beside its prediction.

    Attributes
    ----------
    novelty : ndarray of shape (n,) or None
        P-values; ``None`` if the model holds no reference rows.
    share : ndarray of shape (n, d) or None
        Epistemic share of the variance, NaN for rows that were not asked; ``None`` if the model has one bag.
    """

    novelty: Array | None
    share: Array | None

    def sentence(self, response: int) -> str:
        """Say how many rows are unlike the training rows, and how much of the variance more rows would remove."""
        sentences = []
        if self.novelty is not None:
            new = int(np.sum(self.novelty < RARE))
            sentences.append(
                f"{new:,} of {len(self.novelty):,} rows ({percent(new / len(self.novelty))}) are unlike the training "
                f"rows (novelty below {RARE:g}); {percent(RARE, 0)} would be by chance."
            )
        if self.share is not None:
            known = self.share[~np.isnan(self.share[:, response]), response]
            sentences.append(
                f"More training rows would remove about {percent(float(np.median(known)))} of the variance of a "
                f"prediction (epistemic share, median of {len(known):,} rows)."
            )
        return " ".join(sentences)


def row_insights(model: DistributionalRegressor, rows: Rows, seed: int) -> RowInsights:
    """Ask the model about the rows: novelty of all, uncertainty of ``MOST_ROWS`` random ones."""
    # scoring the rows has issued all warnings
    with kept_warnings():
        return RowInsights(_novelty(model, rows), _share(model, rows, seed))


def _novelty(model: DistributionalRegressor, rows: Rows) -> Array | None:
    try:
        return np.asarray(model.predict_novelty(rows.take(np.arange(len(rows)))), dtype=np.float64)
    except (ValueError, TypeError, AttributeError, NotImplementedError):  # models that have no answer
        return None


def _share(model: DistributionalRegressor, rows: Rows, seed: int) -> Array | None:
    some = np.sort(random_rows(len(rows), seed)[:MOST_ROWS])
    try:
        found = model.uncertainty_parts(rows.take(some))
    except (ValueError, TypeError, AttributeError, NotImplementedError):
        return None
    share = np.full((len(rows), len(model.response_names())), np.nan)
    share[some] = found.epistemic_share.reshape(len(some), -1)
    return share
