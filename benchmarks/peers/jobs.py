"""One cell of the comparison: data out to a package's environment, samples back, scores as a record."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import ROOT
from benchmarks.peers.environments import PeerError, python_of
from benchmarks.peers.recipes import BOOSTING, PACKAGES, RECIPES, Package, constructor_arguments, sample_arguments
from benchmarks.protocol import N_FOLDS, Fold, prepare, seeds
from benchmarks.table_files import Table
from diffgbm.metrics import coverage, crps

RUNNER = Path(__file__).with_name("runner.py")
SOURCE = ROOT / "src"

KEY = ("data_set", "fold", "recipe", "package", "repeat", "test_rows", "n_samples")
"""What makes a cell: a record with the same values is the same cell."""


@dataclass(frozen=True)
class Cell:
    """One fit and its samples; ``test_rows`` is the number of rows that are scored."""

    data_set: str
    fold: int
    recipe: str
    package: str
    repeat: int
    test_rows: int
    n_samples: int

    @property
    def key(self) -> tuple[Any, ...]:
        """The cell as it is looked up among records."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def seed_index(self) -> int:
        """Index of its seeds: the same for all packages, another for every fold and repeat."""
        return self.fold + N_FOLDS * self.repeat

    def __str__(self) -> str:
        return f"{self.data_set} fold {self.fold} {self.recipe} {self.package} repeat {self.repeat}"


def run_cell(cell: Cell, table: Table) -> dict[str, Any]:
    """Fit and sample one package and return the record of its scores."""
    fold, package = prepare(table, cell.fold, cell.test_rows), PACKAGES[cell.package]
    recipe, streams = RECIPES[cell.recipe], seeds(cell.seed_index)
    spec = {
        "module": package.module,
        "estimator": package.estimator,
        "path": str(SOURCE) if package.requirement is None else None,
        "constructor": constructor_arguments(recipe, package.name, streams.model),
        "sample": sample_arguments(recipe, package.name, cell.n_samples, streams.sampler),
    }
    samples, report = run_package(package, fold, spec)
    samples = fold.response.restore(samples)
    return {
        **{name: getattr(cell, name) for name in KEY},
        "crps": float(crps(samples, fold.y_test).mean()),
        "coverage90": coverage(samples, fold.y_test, 0.9),
        "train_rows": len(fold.y_train),
        "seeds": {"model": streams.model, "sampler": streams.sampler},
        "constructor": spec["constructor"],
        "sample": spec["sample"],
        "source": source_of_ours() if package.requirement is None else package.requirement,
        **report,
    }


def run_package(
    package: Package, fold: Fold, spec: dict[str, Any], threads: int = BOOSTING["n_jobs"]
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Run one job in the package's environment: standardised samples (n_samples, n_rows) and its report."""
    python = python_of(package)
    with tempfile.TemporaryDirectory(prefix="diffgbm-peers-") as folder:
        job, result = Path(folder) / "job.npz", Path(folder) / "result.npz"
        np.savez(job, X_train=fold.X_train, y_train=fold.y_train, X_test=fold.X_test, spec=json.dumps(spec))
        done = subprocess.run(
            [str(python), "-I", "-W", "ignore", str(RUNNER), str(job), str(result)],
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_THREAD_LIMIT": str(threads)},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        if done.returncode:
            raise PeerError(f"{package.name} failed:\n{done.stderr.strip()}")
        with np.load(result, allow_pickle=False) as out:
            return out["samples"], json.loads(str(out["report"]))


def source_of_ours() -> dict[str, str]:
    """Return the commit and a checksum of the source tree, which may be ahead of it."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.py")):
        digest.update(path.relative_to(SOURCE).as_posix().encode() + b"\0" + path.read_bytes())
    return {"commit": commit.stdout.strip(), "tree": digest.hexdigest()[:12]}
