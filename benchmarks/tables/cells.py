"""Recorded results: evaluation lines as cells, and configurations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import configs
from benchmarks.configs import Config
from benchmarks.layout import Layout, ResultsError
from benchmarks.records import latest
from benchmarks.tables.labels import FAMILY_ORDER
from benchmarks.tables.paper_values import DATA_SETS

KEY = ("data_set", "family", "fold")
"""Fields that identify a line."""


class NoResults(ResultsError):
    """There are no results; the message says what to do."""


@dataclass(frozen=True)
class Cell:
    """One evaluation line: a family on one fold of a data set.

    Attributes
    ----------
    data_set, family, fold
        The key of the line.
    metrics : mapping
        Name to number; the lists of binned coverages are here too.
    fit_seconds, sample_seconds : float
        Of the processor where the line has them, else of the clock; NaN if they were not taken.
    n_train, n_test, n_samples, threads : int or None
        Sizes and threads of the run; ``None`` if they were not recorded.
    budget : mapping
        Trials and minutes of the study behind the configuration.
    params : mapping
        Hyperparameters that were used.
    source_hash : str
        The source tree that ran.
    """

    data_set: str
    family: str
    fold: int
    metrics: Mapping[str, Any]
    fit_seconds: float = math.nan
    sample_seconds: float = math.nan
    n_train: int | None = None
    n_test: int | None = None
    n_samples: int | None = None
    threads: int | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    source_hash: str = ""

    def metric(self, name: str) -> float:
        """Return a number; NaN where the line has none."""
        return number(self.metrics.get(name))


Measure = Callable[[Cell], float]
"""A number of a cell that is averaged over folds and data sets."""


def number(value: Any) -> float:
    """Read a JSON number; NaN for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


@dataclass(frozen=True)
class Results:
    """All usable lines and configurations.

    Attributes
    ----------
    cells : tuple of Cell
        Lines with a finite CRPS, one for each key.
    unusable : tuple of (data_set, family, fold)
        Lines without one.
    configs : tuple of Config
        Selected configurations.
    """

    cells: tuple[Cell, ...]
    unusable: tuple[tuple[str, str, int], ...] = ()
    configs: tuple[Config, ...] = ()

    def grid(self) -> dict[tuple[str, str], dict[int, Cell]]:
        """Return the cells by data set and family, then by fold."""
        out: dict[tuple[str, str], dict[int, Cell]] = {}
        for cell in sorted(self.cells, key=lambda c: c.fold):
            out.setdefault((cell.data_set, cell.family), {})[cell.fold] = cell
        return out

    def data_sets(self) -> tuple[str, ...]:
        """Return the data sets that have results, the paper's first and in its order."""
        return in_order({cell.data_set for cell in self.cells}, DATA_SETS)

    def families(self) -> tuple[str, ...]:
        """Return the families that have results, the paper's first and in its order."""
        return in_order({cell.family for cell in self.cells}, FAMILY_ORDER)


def in_order(names: Iterable[str], order: tuple[str, ...]) -> tuple[str, ...]:
    """Sort names by their index in ``order``, then the others alphabetically."""
    return tuple(sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name)))


def cell_of(record: Mapping[str, Any]) -> Cell:
    """Make a cell of an evaluation line."""
    return Cell(
        data_set=str(record["data_set"]),
        family=str(record["family"]),
        fold=int(record["fold"]),
        metrics=dict(record.get("metrics") or {}),
        fit_seconds=number(record.get("fit_cpu_seconds", record.get("fit_seconds"))),
        sample_seconds=number(record.get("sample_cpu_seconds", record.get("sample_seconds"))),
        n_train=record.get("n_train"),
        n_test=record.get("n_test"),
        n_samples=record.get("n_samples"),
        threads=record.get("threads"),
        budget=dict(record.get("budget") or {}),
        params=dict(record.get("params") or {}),
        source_hash=str(record.get("source_hash") or ""),
    )


def results_of(records: Iterable[Mapping[str, Any]], configs: Iterable[Config] = ()) -> Results:
    """Split lines by whether their CRPS is finite."""
    cells = [cell_of(record) for record in records]
    good = tuple(cell for cell in cells if math.isfinite(cell.metric("crps")))
    bad = tuple((cell.data_set, cell.family, cell.fold) for cell in cells if not math.isfinite(cell.metric("crps")))
    return Results(good, bad, tuple(configs))


def read_configs(directory: Path) -> tuple[Config, ...]:
    """Read every configuration of a directory; a missing directory has none."""
    result = (configs.read(file) for file in sorted(directory.glob("*.yaml")))
    return tuple(config for config in result if config is not None)


def read_results(directory: Path) -> Results:
    """Read a results directory.

    Raises
    ------
    NoResults
        It has no evaluation line with a finite CRPS.
    """
    path = Layout(directory).evaluation
    results = results_of(latest(path, KEY).values(), read_configs(directory / "configs"))
    if not results.cells:
        why = (
            f"none of the {len(results.unusable)} lines of {path} has a finite CRPS"
            if results.unusable
            else (f"{path} has no evaluation lines" if path.is_file() else f"there is no {path}")
        )
        raise NoResults(f"{why}. Run `python -m benchmarks evaluate` first, or name another --results-dir.")
    return results
