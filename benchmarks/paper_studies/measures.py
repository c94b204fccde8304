"""Measures of model tables: how each is read from a line and formatted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Cell = Mapping[str, Any]
"""One arm of one line: numbers by name."""


@dataclass(frozen=True)
class Measure:
    """A column.

    Attributes
    ----------
    header : str
        Its name, with the better direction.
    digits : int
        Decimals; negative: significant digits.
    best : {"max", "min"} or None
        The better end.
    of : callable or None
        From an arm of a line to the number; ``None`` needs the other arms as well (see ``results``).
    """

    header: str
    digits: int
    best: Literal["max", "min"] | None
    of: Callable[[Cell], float] | None


def _number(name: str) -> Callable[[Cell], float]:
    return lambda cell: float(cell.get(name, math.nan))


def _passes(cell: Cell) -> float:
    return float(cell["pit_ks_p"] > 0.05) if "pit_ks_p" in cell else math.nan


MEASURES: dict[str, Measure] = {
    "crpss": Measure("CRPSS ↑", 4, "max", _number("crpss")),
    "rel_crps": Measure("rel. CRPS ↓", 3, "min", None),
    "crps": Measure("CRPS ↓", -4, "min", _number("crps")),
    "dss": Measure("DSS ↓", 3, "min", _number("dss")),
    "q_mace": Measure("q-MACE ↓", 4, "min", _number("q_mace")),
    "pit_ks": Measure("KS statistic ↓", 4, "min", _number("pit_ks")),
    "ks_pass": Measure("KS p > .05 ↑", 2, "max", _passes),
    "coverage_error_50": Measure("|cE|@50 ↓", 4, "min", _number("coverage_error_50")),
    "coverage_error_90": Measure("|cE|@90 ↓", 4, "min", _number("coverage_error_90")),
    "coverage_error_95": Measure("|cE|@95 ↓", 4, "min", _number("coverage_error_95")),
    "top_iqr_coverage_90": Measure("top-IQR cov.@90", 3, None, _number("top_iqr_coverage_90")),
    "top_iqr_coverage_95": Measure("top-IQR cov.@95", 3, None, _number("top_iqr_coverage_95")),
    "iqr_mace_90": Measure("IQR-MACE@90 ↓", 4, "min", _number("iqr_mace_90")),
    "iqr_mace_95": Measure("IQR-MACE@95 ↓", 4, "min", _number("iqr_mace_95")),
    "fit_seconds": Measure("fit s", -3, "min", _number("fit_seconds")),
    "sample_seconds": Measure("sample s", -3, "min", _number("sample_seconds")),
    "rounds": Measure("trees", 0, None, _number("rounds")),
    "raw_wins": Measure("raw wins", 0, "max", None),
}
"""The measures by name."""

KEPT = (
    "crps",
    "crpss",
    "dss",
    "q_mace",
    "pit_ks",
    "pit_ks_p",
    "coverage_error_50",
    "coverage_error_90",
    "coverage_error_95",
    "iqr_mace_90",
    "iqr_mace_95",
)
"""Scores that a line stores unchanged."""


def cell_of(scores: Mapping[str, Any], fit_seconds: float, sample_seconds: float, rounds: float) -> dict[str, float]:
    """Shorten the scores of ``evaluation.scores`` to what studies show, seven digits each."""
    cell = {name: scores[name] for name in KEPT}
    for level in (90, 95):
        cell[f"top_iqr_coverage_{level}"] = scores[f"iqr_coverage_{level}"][-1]
    cell |= {"fit_seconds": fit_seconds, "sample_seconds": sample_seconds, "rounds": rounds}
    return {name: float(f"{value:.7g}") for name, value in cell.items()}
