"""Where the protocol's results are: one directory, and the names of the files in it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import ROOT

PROTOCOL = ROOT / "benchmarks" / "results" / "protocol"
"""The committed results."""

QUICK = ROOT / "benchmarks" / "results" / "quick"
"""Results of ``run --quick``, which are not committed."""


class ResultsError(RuntimeError):
    """Results cannot be computed or written; the message gives the reason in one line."""


@dataclass(frozen=True)
class Layout:
    """Files of a results directory.

    Attributes
    ----------
    root : Path
        The directory.
    """

    root: Path

    @property
    def evaluation(self) -> Path:
        """One line for each data set, family and fold."""
        return self.root / "evaluation.jsonl"

    @property
    def studies(self) -> Path:
        """Optuna's journals and all locks: needed to continue a run, not to read its results."""
        return self.root / "studies"

    def config(self, data_set: str, family: str) -> Path:
        """Selected configuration."""
        return self.root / "configs" / f"{data_set}__{family}.yaml"

    def journal(self, data_set: str, family: str) -> Path:
        """Optuna's journal of a study."""
        return self.studies / f"{data_set}__{family}.journal"

    def fold_lock(self, data_set: str, family: str, fold: int) -> Path:
        """Lock of the process that evaluates a fold."""
        return self.studies / f"{data_set}__{family}__fold{fold}.lock"

    def prepare(self) -> Layout:
        """Make the directories and check that they are writable."""
        try:
            for folder in (self.root / "configs", self.studies):
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            raise ResultsError(f"cannot write results into {self.root}: {error.strerror or error}.") from error
        return self
