"""One cell of the comparison: rows out to a contestant's environment, quantiles back, scores as a line."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import provenance
from benchmarks.peers.environments import CACHE, PeerError, python_of
from benchmarks.peers.jobs import SOURCE, source_of_ours
from benchmarks.protocol import seeds
from benchmarks.records import Record
from benchmarks.rivals.contestants import CONTESTANTS, Contestant
from benchmarks.rivals.problems import Problem
from benchmarks.rivals.scores import LEVELS, scores

RUNNER = Path(__file__).with_name("runner.py")
KEY = ("table", "fold", "contestant", "limit", "threads")
"""What makes a cell; the limit of a contestant that takes none is null."""
PATIENCE, STARTING = 3.0, 120.0
"""A process is ended after this multiple of the time limit, and seconds for imports and predictions besides."""
BUSY = 1.5
"""A machine is busy with more runnable processes for each core than this, the fit's own included."""
SHARE, MOMENT = 0.8, 0.2
"""A fit on one core had the core if its processor time is at least this share of its time, less some seconds."""
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS"),
    *("MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


@dataclass(frozen=True)
class Cell:
    """One fit and its predictions."""

    table: str
    fold: int
    contestant: str
    limit: float | None
    threads: int

    @property
    def key(self) -> tuple[Any, ...]:
        """The cell as it is looked up among lines."""
        return tuple(getattr(self, name) for name in KEY)

    def __str__(self) -> str:
        limit = "" if self.limit is None else f", {self.limit:g} s"
        return f"{self.table} fold {self.fold}, {self.contestant}{limit}"


def load() -> float | None:
    """Return the runnable processes for each core, averaged over the last minute; ``None`` where it is unknown."""
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else None


def is_busy(line: Record) -> bool:
    """Whether a line was measured beside other jobs: a time limit then allows less, and times are too long.

    Processor time says it of a fit on one core, whatever runs on the others. A fit on several does not use all of them
    all the time: there the load has to tell.
    """
    if line["threads"] == 1 and "fit_processor_seconds" in line:
        return bool(line["fit_processor_seconds"] < SHARE * line["fit_seconds"] - MOMENT)
    return bool((line.get("load") or 0.0) > BUSY)


def run_cell(cell: Cell, problem: Problem, longest: float, environments: Path = CACHE) -> Record:
    """Fit one contestant; return its line, with ``failed`` instead of scores if it did not answer.

    ``longest`` is the largest time limit of the comparison, for contestants that take none; ``environments`` is the
    directory of their environments.
    """
    contestant = CONTESTANTS[cell.contestant]
    start: Record = {
        **{name: getattr(cell, name) for name in KEY},
        "train_rows": len(problem.y_train),
        "test_rows": len(problem.y_test),
        "time": provenance.now(),
        "source": source_of_ours() if contestant.ours else contestant.requirement,
    }
    try:
        quantiles, report = run_contestant(contestant, cell, problem, longest, environments)
        found = scores(quantiles, problem.y_test)
    except (PeerError, ValueError) as error:
        return {**start, "load": load(), "failed": str(error)[-400:]}
    row = 1e6 * report["predict_seconds"] / len(problem.y_test)
    return {**start, **found, "oracle": problem.oracle, **report, "row_microseconds": row, "load": load()}


def run_contestant(
    contestant: Contestant, cell: Cell, problem: Problem, longest: float, environments: Path = CACHE
) -> tuple[Any, dict[str, Any]]:
    """Run one job in the contestant's environment: quantiles (n, 99) and its report."""
    python = python_of(contestant.package, environments)
    spec = {
        "recipe": contestant.recipe,
        "name": contestant.name,
        "levels": LEVELS.tolist(),
        "threads": cell.threads,
        "limit": cell.limit,
        "seed": seeds(cell.fold).model,
        "path": str(SOURCE) if contestant.ours else None,
    }
    allowed = PATIENCE * (longest if cell.limit is None else cell.limit) + STARTING
    with tempfile.TemporaryDirectory(prefix="diffgbm-rivals-") as folder:
        job, result = Path(folder) / "job.npz", Path(folder) / "result.npz"
        rows = {name: getattr(problem, name) for name in ("X_train", "y_train", "X_test")}
        np.savez(job, spec=json.dumps(spec), **rows)
        try:
            done = subprocess.run(
                [str(python), "-I", "-W", "ignore", str(RUNNER), str(job), str(result)],
                env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(cell.threads))},
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                timeout=allowed,
            )
        except subprocess.TimeoutExpired:
            raise PeerError(f"no answer after {allowed:.0f} s") from None
        if done.returncode or not result.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]  # above it are paths of this machine
            raise PeerError(f"exit code {done.returncode}: {last[:300]}")
        with np.load(result, allow_pickle=False) as out:
            return out["quantiles"], json.loads(str(out["report"]))
