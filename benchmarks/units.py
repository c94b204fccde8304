"""Units of work of the protocol: one study, or one fold of a data set and a family."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from threadpoolctl import threadpool_limits

from benchmarks.evaluation import evaluate
from benchmarks.families.base import Family
from benchmarks.layout import Layout
from benchmarks.selection import Settings, load_table, registry
from benchmarks.table_files import Table
from benchmarks.tuning import tune

BAD = ("failed", "error")
"""States of units that failed: running them again without a change does not help."""


@dataclass(frozen=True)
class Unit:
    """One study (``fold`` is ``None``) or one fold; ``rows`` of the data set, for estimates."""

    data_set: str
    family: str
    fold: int | None = None
    rows: int = 1

    @property
    def action(self) -> Literal["tune", "evaluate"]:
        """What is done."""
        return "tune" if self.fold is None else "evaluate"

    def at(self, fold: int) -> Unit:
        """Return the unit that evaluates a fold with the configuration of this study."""
        return replace(self, fold=fold)

    def __str__(self) -> str:
        return f"{self.action} {self.data_set} {self.family}" + ("" if self.fold is None else f" fold {self.fold}")


@dataclass(frozen=True)
class Report:
    """How a unit ended: a state of ``tuning.Outcome`` or ``evaluation.Evaluated``, or ``error``."""

    state: str
    text: str
    seconds: float


def studies(tables: Mapping[str, Table], families: Iterable[Family]) -> list[Unit]:
    """All studies, data set by data set, so that all families of a data set finish together."""
    families = list(families)
    return [Unit(name, family.name, None, len(table.y)) for name, table in tables.items() for family in families]


def perform(settings: Settings, unit: Unit) -> Report:
    """Do one unit; an error becomes a report."""
    started = time.perf_counter()
    try:
        with threadpool_limits(settings.threads):
            state, text = _perform(settings, unit)
    except Exception as error:
        state, text = "error", f"{type(error).__name__}: {error}"
    return Report(state, text, time.perf_counter() - started)


def _perform(settings: Settings, unit: Unit) -> tuple[str, str]:
    family = registry(settings.registry)[unit.family]
    table, layout = load_table(unit.data_set, settings.data_dir), Layout(settings.results_dir)
    if unit.fold is None:
        tuned = tune(
            family,
            table,
            unit.data_set,
            layout,
            settings.budget,
            threads=settings.threads,
            stop=lambda: is_over(settings),
        )
        return tuned.state, tuned.text
    evaluated = evaluate(
        family,
        table,
        unit.data_set,
        unit.fold,
        layout,
        test_rows=settings.test_rows,
        n_samples=settings.n_samples,
        threads=settings.threads,
        force=settings.force,
    )
    return evaluated.state, evaluated.text


def is_over(settings: Settings) -> bool:
    """Whether the time for new work is over."""
    return settings.deadline is not None and time.time() >= settings.deadline
