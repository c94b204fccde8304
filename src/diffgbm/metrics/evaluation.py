"""Scores of a model on a table that is read in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import kstest

from diffgbm._util.types import Array
from diffgbm.distributions import Distribution
from diffgbm.metrics.diagnostics import inside_central
from diffgbm.metrics.randomisation import randomised_pit, row_numbers
from diffgbm.metrics.scores import climatology_crps

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Nominal coverages that are reported by default."""


class Scores:
    """Collects the scores of blocks of rows. A few numbers of each row are kept, not its distribution.

    Parameters
    ----------
    names : sequence of str
        The responses.
    levels : sequence of float
        Nominal coverages of the central intervals whose coverage and width are reported.
    """

    def __init__(self, names: Sequence[str], levels: Sequence[float] = LEVELS) -> None:
        self.names, self.levels = tuple(names), tuple(levels)
        self.rows = 0
        self._parts: list[dict[str, Array]] = []

    def add(self, distribution: Distribution, y: Array, interval: Callable[[float], Array] | None = None) -> None:
        """Add a block of rows.

        Parameters
        ----------
        distribution : Distribution
            Predictive distributions of ``n`` rows.
        y : ndarray of shape (n, d)
            Observations.
        interval : callable, optional
            From a nominal coverage to intervals (n, 2) or (n, d, 2); ``distribution.interval`` by default.
        """
        observed = y.reshape(distribution.shape)
        ends = {level: (interval or distribution.interval)(level) for level in self.levels}
        uniform = row_numbers(observed.shape, first_row=self.rows)
        part = row_scores(distribution, observed, ends, uniform)
        if interval is None:
            inside = inside_central(distribution, observed, np.array(self.levels), uniform)
            part |= {f"coverage_{level:g}": inside[..., k].astype(np.float64) for k, level in enumerate(self.levels)}
        columns = {name: np.asarray(values, dtype=np.float64).reshape(len(y), -1) for name, values in part.items()}
        self._parts.append({**columns, "logpdf": np.asarray(distribution.logpdf(observed)).reshape(len(y), 1)})
        self.rows += len(y)

    def summary(self) -> dict[str, Any]:
        """Return the scores of each response and the mean log score; numbers that are not finite are ``None``."""
        whole = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
        return {
            "rows": self.rows,
            "log_score": _number(-whole["logpdf"].mean()),
            "targets": {
                name: mean_scores({k: v[:, j] for k, v in whole.items() if k != "logpdf"})
                for j, name in enumerate(self.names)
            },
        }

    def table(self, summary: dict[str, Any]) -> str:
        """Format a summary as text: a line for each score, a column for each response."""
        rows = {"": list(self.names)}
        for score in next(iter(summary["targets"].values())):
            values = [summary["targets"][name][score] for name in self.names]
            rows[score] = ["-" if value is None else f"{value:.5g}" for value in values]
        lines = [f"{name:<14}" + "".join(f" {cell:>12}" for cell in cells) for name, cells in rows.items()]
        log_score = "-" if summary["log_score"] is None else f"{summary['log_score']:.5g}"
        return "\n".join(
            [
                f"{summary['rows']:,} rows, log score {log_score}",
                *lines,
                "crps, rmse, mae and log score: lower is better. skill: 1 is perfect, 0 is that of the distribution of",
                "all responses of this table. pit_p: p-value of a test of calibration, above 0.05 if it passes.",
            ]
        )


def row_scores(
    distribution: Distribution, observed: Array, ends: Mapping[float, Array], uniform: Array | None = None
) -> dict[str, Array]:
    """Scores of each row, by name and of the shape of ``observed``.

    Parameters
    ----------
    distribution : Distribution
        Predictive distributions of ``n`` rows.
    observed : ndarray of shape (n,) or (n, d)
        Observations.
    ends : mapping of float to ndarray of shape (n, 2) or (n, d, 2)
        Intervals by nominal coverage.
    uniform : ndarray of the shape of ``observed``, optional
        Random numbers for the transforms of point masses, see ``diffgbm.metrics.randomisation``.
    """
    uniform = row_numbers(observed.shape) if uniform is None else uniform
    inside = {level: (observed >= e[..., 0]) & (observed <= e[..., 1]) for level, e in ends.items()}
    return {
        "y": observed,
        "crps": distribution.crps(observed),
        "squared": (distribution.mean() - observed) ** 2,
        "absolute": np.abs(distribution.median() - observed),
        "pit": randomised_pit(distribution, observed, uniform),
        **{f"coverage_{level:g}": part for level, part in inside.items()},
        **{f"width_{level:g}": e[..., 1] - e[..., 0] for level, e in ends.items()},
    }


def mean_scores(values: Mapping[str, Array]) -> dict[str, float | None]:
    """Scores of one response from those of its rows (n,); numbers that are not finite are ``None``."""
    crps, by_climatology = values["crps"].mean(), climatology_crps(values["y"], values["y"]).mean()
    numbers = {
        "crps": crps,
        "skill": 1.0 - crps / by_climatology if by_climatology > 0.0 else math.nan,
        "rmse": np.sqrt(values["squared"].mean()),
        "mae": values["absolute"].mean(),
        "pit_p": kstest(values["pit"], "uniform").pvalue,
        **{name: v.mean() for name, v in values.items() if name.startswith(("coverage_", "width_"))},
    }
    return {name: _number(value) for name, value in numbers.items()}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
