"""Running studies: tasks of one data set and fold, shared by all studies so that equal models are fitted once.

A unit is one study on one fold (or seed). It is one line, written to disk as soon as it is finished. A line whose
settings match the study is kept, any other is measured again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import provenance, records
from benchmarks.datasets import ROOT
from benchmarks.layout import PROTOCOL
from benchmarks.paper_studies.computed import module_of
from benchmarks.paper_studies.fits import Bench, Plan, measure_arms, plan_of
from benchmarks.paper_studies.results import COMPUTED_DATA
from benchmarks.paper_studies.schema import Study
from benchmarks.paper_studies.study_tables import table_of
from benchmarks.protocol import prepare
from benchmarks.records import Record
from benchmarks.table_files import DataSetError

RESULTS = ROOT / "benchmarks" / "results" / "studies"
"""The committed lines and tables."""

KEY = ("data_set", "fold")
"""Fields that identify a line of a study's file."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run, the same in every process.

    Attributes
    ----------
    results_dir, data_dir, configs_dir : Path
        Directories of the lines, the data files and the protocol's tuned configurations.
    threads : int
        Of each fit.
    download : bool
        Whether missing data files are downloaded.
    force : bool
        Measure again units that have a line.
    deadline : float or None
        Time, in seconds since the epoch, after which no unit starts.
    """

    results_dir: Path = RESULTS
    data_dir: Path | None = None
    configs_dir: Path = PROTOCOL
    threads: int = 1
    download: bool = True
    force: bool = False
    deadline: float | None = None

    def is_over(self) -> bool:
        """Whether the time for new units is over."""
        return self.deadline is not None and time.time() >= self.deadline


@dataclass(frozen=True)
class Task:
    """One fold of one table with all studies that use it; or one seed of a computed study."""

    data_set: str
    fold: int
    rows: int | None
    studies: tuple[Study, ...]


@dataclass(frozen=True)
class Report:
    """How a unit ended: ``kept``, ``measured``, ``absent`` (no data), ``over`` (of time) or ``failed``."""

    study: str
    data_set: str
    fold: int
    state: str
    text: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.study} {self.data_set} fold {self.fold}: {self.state} {self.text} ({self.seconds:.1f} s)"


def tasks_of(studies: Sequence[Study]) -> list[Task]:
    """Divide studies into tasks: computed ones first, then one data set after the other, its folds in turn."""
    tasks = [
        Task(COMPUTED_DATA, seed, None, (study,)) for study in studies if study.kind != "models" for seed in study.folds
    ]
    together: dict[tuple[str, int, int | None], list[Study]] = {}
    names = list(dict.fromkeys(name for study in studies for name in study.data_sets))
    wanted = [(name, fold, study) for name in names for study in studies for fold in study.folds]
    for name, fold, study in sorted(wanted, key=lambda item: (names.index(item[0]), item[1])):
        if study.kind == "models" and name in study.data_sets:
            together.setdefault((name, fold, study.rows), []).append(study)
    return [*tasks, *(Task(*key, tuple(group)) for key, group in together.items())]


def lines_path(results_dir: Path, study: str) -> Path:
    """Return the file of a study's lines."""
    return results_dir / f"{study}.jsonl"


def perform(settings: Settings, task: Task) -> list[Report]:
    """Do all units of a task; a failure does not stop the others."""
    bench: Bench | None = None
    reports = []
    for study in task.studies:
        started = time.perf_counter()
        state, text = "over", "time is over"
        if not settings.is_over():
            try:
                with threadpool_limits(settings.threads):
                    state, text, bench = _unit(settings, task, study, bench)
            except DataSetError as error:
                state, text = "absent", str(error)
            except Exception as error:  # one failure must not end a run of several hours
                state, text = "failed", f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - started
        reports.append(Report(study.name, task.data_set, task.fold, state, text, seconds))
    return reports


def _unit(settings: Settings, task: Task, study: Study, bench: Bench | None) -> tuple[str, str, Bench | None]:
    path = lines_path(settings.results_dir, study.name)
    there = records.latest(path, KEY).get((task.data_set, task.fold))
    if study.kind != "models":
        plan, note = Plan({}, (), {}), ""
    else:
        loaded = table_of(task.data_set, task.rows, settings.data_dir, settings.download)
        plan, note = plan_of(study, task.data_set, settings.configs_dir), loaded.note
    digest = plan.digest(kind=study.kind, settings=study.settings, rows=task.rows, n=study.n_samples, note=note)
    if there is not None and there.get("digest") == digest and not settings.force:
        return "kept", "", bench
    record: Record = {"study": study.name, "data_set": task.data_set, "fold": task.fold, "digest": digest}
    if study.kind != "models":
        record["arms"] = _rounded(module_of(study.kind).arms(task.fold, **study.settings))
    else:
        bench = bench or Bench.at(prepare(loaded.table, task.fold), task.fold, settings.threads)
        record["arms"] = measure_arms(study, plan, bench)
        record |= {"n_train": len(bench.part.y_train), "n_test": len(bench.part.y_test), "n_samples": study.n_samples}
        record |= {"note": note, "tuned": list(plan.tuned), "threads": settings.threads}
    records.append(path, {**record, **_origin()})
    return "measured", f"{len(record['arms'])} arms", bench


def _origin() -> Record:
    return {
        "versions": provenance.versions(("lightgbm",)),
        "commit": provenance.commit(),
        "source_hash": provenance.source_hash(),
        "time": provenance.now(),
    }


def _rounded(value: Any) -> Any:
    """Shorten numbers to seven digits."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value
