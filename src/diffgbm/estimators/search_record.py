"""What ``AutoDiffGBM`` remembers of its search: one value that a fit, folds or a model file give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from diffgbm.auto.fitting import AutomaticFit
from diffgbm.persistence.values import PLAIN, Stored, list_of, mapping, of_type, plain


@dataclass(frozen=True)
class SearchRecord:
    """The record of a search.

    Attributes
    ----------
    leaderboard : list of dict
        What was tried.
    weights : dict
        Weight of each member of the pool, by its name.
    first_stage_errors : dict
        Error of each first-stage model, by its name.
    cut_short : bool
        Whether the time limit ended the search early.
    summary : str
        What ``explain`` says.
    """

    leaderboard: list[dict[str, Any]]
    weights: dict[str, float]
    first_stage_errors: dict[str, float]
    cut_short: bool
    summary: str

    @classmethod
    def of_fit(cls, result: AutomaticFit) -> SearchRecord:
        """Return the record of one automatic fit."""
        weights = dict(zip(map(str, result.candidates), result.pool.shares.tolist(), strict=True))
        return cls(result.leaderboard, weights, result.first_stage_errors, result.cut_short, result.summary)

    @classmethod
    def of_folds(cls, folds: Iterable[SearchRecord], summary: str) -> SearchRecord:
        """Return the record of models that were fitted to folds: weights and errors are averages."""
        each = list(folds)
        return cls(
            [{"fold": k, **row} for k, record in enumerate(each) for row in record.leaderboard],
            mean_by_name([record.weights for record in each], len(each)),
            mean_by_name([record.first_stage_errors for record in each]),
            any(record.cut_short for record in each),
            summary,
        )

    def to_stored(self) -> dict[str, Any]:
        """Return what a model file holds of this record."""
        return {
            "leaderboard": plain(self.leaderboard, "leaderboard_"),
            "weights": plain(self.weights, "weights_"),
            "first_stage_errors": plain(self.first_stage_errors, "first_stage_errors_"),
            "cut_short": bool(self.cut_short),
            "summary": self.summary,
        }

    @classmethod
    def from_stored(cls, stored: Stored) -> SearchRecord:
        """Read a record from a model file; every value is checked."""
        board = list_of(stored, "leaderboard", dict)
        if not all(isinstance(value, PLAIN) for line in board for value in line.values()):
            raise TypeError("leaderboard must hold numbers and text")
        weights, errors = (
            {k: float(v) for k, v in mapping(stored, name).items()} for name in ("weights", "first_stage_errors")
        )
        return cls(board, weights, errors, of_type(stored, "cut_short", bool), of_type(stored, "summary", str))


def mean_by_name(each: Sequence[dict[str, float]], count: int | None = None) -> dict[str, float]:
    """Average the values of each name over those that have it, or over ``count``."""
    names = dict.fromkeys(name for values in each for name in values)
    found = {name: [values[name] for values in each if name in values] for name in names}
    return {name: float(sum(values) / (count or len(values))) for name, values in found.items()}


def rows_of(leaderboard: Any) -> list[dict[str, Any]]:
    """Return the rows of a leaderboard, be it a frame or a list."""
    rows: list[dict[str, Any]] = leaderboard if isinstance(leaderboard, list) else leaderboard.to_dict("records")
    return rows


def as_frame(leaderboard: list[dict[str, Any]]) -> Any:
    """Return a frame of the rows of a leaderboard; the rows themselves without pandas."""
    try:
        import pandas as pd
    except ImportError:
        return leaderboard
    return pd.DataFrame(leaderboard)
