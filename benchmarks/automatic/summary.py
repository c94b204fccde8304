"""Groups of recorded lines, and their means."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from benchmarks.automatic.variants import DATA_SETS, FULL
from benchmarks.records import Record
from benchmarks.tables.paper_values import EXTENDED_CRPS

BEST_OF_NINE: Mapping[str, float] = {
    "yacht": 0.269,
    "diabetes": 31.2,
    "energy": 0.199,
    "concrete": 2.15,
    "wine": 0.278,
    "kin8nm": 0.0367,
    "power_plant": 1.47,
    "naval": 0.000129,
    "california_housing": 0.190,
    "protein": 1.57,
}
"""CRPS of the best of the paper's nine tuned families on each data set."""

FLOW: Mapping[str, float] = dict(zip(DATA_SETS, EXTENDED_CRPS.column("flow_vp", DATA_SETS), strict=True))
"""CRPS of the paper's flow row on each data set."""

Measure = Callable[[Record], float]


def metric(name: str) -> Measure:
    """Return a score by name as a function of a line."""
    return lambda line: float(line["metrics"][name])


def uniform(line: Record) -> float:
    """1 if the PIT values pass the Kolmogorov-Smirnov test at 0.05."""
    return float(line["metrics"]["pit_ks_p"] > 0.05)


def attainable_coverage(line: Record, level: int) -> float | None:
    """Coverage of a discrete response under its own predictive distributions; ``None`` if the line cannot tell.

    Distributions much narrower than the distance between values put all their mass on the observed one, which says
    nothing about coverage.
    """
    exact = line["metrics"].get(f"attainable_coverage_{level}")
    return None if exact is None or exact == line["metrics"][f"coverage_{level}"] else float(exact)


def of_exact_distributions(level: int) -> Measure:
    r"""Absolute coverage error :math:`\mathrm E|B/n - p|` that exact predictive distributions have on ``n`` test rows.

    :math:`B` is binomial with mean :math:`np`; for a discrete response, with the coverage of ``attainable_coverage``.
    """

    def measure(line: Record) -> float:
        n, exact = line["n_test"], attainable_coverage(line, level)
        covered = np.arange(n + 1)
        chance = binom.pmf(covered, n, level / 100 if exact is None else exact)
        return float(np.sum(chance * np.abs(covered / n - level / 100)))

    return measure


@dataclass(frozen=True)
class Lines:
    """The lines of one kind of fit.

    Attributes
    ----------
    by_fold : mapping of (str, int) to dict
        Line by data set and fold.
    """

    by_fold: Mapping[tuple[str, int], Record]

    @classmethod
    def of(cls, records: Iterable[Record], preset: str, variant: str = FULL, deduplicated: bool = False) -> Lines:
        """Select the lines of a preset and variant."""
        kind = (preset, variant, deduplicated)
        return cls(
            {
                (line["data_set"], line["fold"]): line
                for line in records
                if (line["preset"], line["variant"], line["deduplicated"]) == kind
            }
        )

    def __bool__(self) -> bool:
        return bool(self.by_fold)

    @property
    def data_sets(self) -> list[str]:
        """Data sets that have a line, in their usual order."""
        there = {name for name, _ in self.by_fold}
        return [name for name in DATA_SETS if name in there]

    def without(self, names: Collection[str]) -> Lines:
        """Leave out data sets."""
        return Lines({key: line for key, line in self.by_fold.items() if key[0] not in names})

    def folds(self, data_set: str) -> list[int]:
        """Folds of a data set that have a line."""
        return sorted(fold for name, fold in self.by_fold if name == data_set)

    def values(self, data_set: str, measure: Measure, folds: Sequence[int] | None = None) -> list[float]:
        """Return a measure at a data set's folds."""
        return [measure(self.by_fold[data_set, f]) for f in (self.folds(data_set) if folds is None else folds)]

    def mean(self, data_set: str, measure: Measure, folds: Sequence[int] | None = None) -> float:
        """Mean over folds; NaN without any."""
        result = self.values(data_set, measure, folds)
        return float(np.mean(result)) if result else math.nan

    def overall(self, measure: Measure) -> float:
        """Mean over folds, then over data sets; NaN without any."""
        return float(np.mean([self.mean(name, measure) for name in self.data_sets])) if self else math.nan

    def pooled_coverage_error(self, level: int) -> float:
        """Absolute coverage error with all folds of a data set pooled, averaged over data sets."""
        covered = [self.mean(name, metric(f"coverage_{level}")) for name in self.data_sets]
        return float(np.mean(np.abs(np.subtract(covered, level / 100)))) if self else math.nan

    def ratios(self, reference: Mapping[str, float]) -> dict[str, float]:
        """CRPS of each data set as a multiple of a reference."""
        return {name: self.mean(name, metric("crps")) / reference[name] for name in self.data_sets}

    def ratios_to(self, other: Lines) -> dict[str, float]:
        """CRPS of each data set as a multiple of another's on the folds that both have."""
        out = {}
        for name in self.data_sets:
            both = [fold for fold in self.folds(name) if (name, fold) in other.by_fold]
            if both:
                out[name] = self.mean(name, metric("crps"), both) / other.mean(name, metric("crps"), both)
        return out


@dataclass(frozen=True)
class Fits:
    """The compared fits: both presets, on whole tables and without repeated rows.

    Attributes
    ----------
    best, fast : Lines
        On whole tables.
    best_unrepeated, fast_unrepeated : Lines
        Without repeated rows.
    plain : Lines
        The plain flow recipe, without repeated rows.
    """

    best: Lines
    fast: Lines
    best_unrepeated: Lines
    fast_unrepeated: Lines
    plain: Lines

    @classmethod
    def of(cls, records: Sequence[Record]) -> Fits:
        """Select the lines of each kind."""
        return cls(
            best=Lines.of(records, "best"),
            fast=Lines.of(records, "fast"),
            best_unrepeated=Lines.of(records, "best", deduplicated=True),
            fast_unrepeated=Lines.of(records, "fast", deduplicated=True),
            plain=Lines.of(records, "best", "no_selection", deduplicated=True),
        )


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean; NaN of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
