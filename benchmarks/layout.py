"""Where the protocol's results are: one directory, and the names of the files in it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import ROOT

PROTOCOL = ROOT / "benchmarks" / "results" / "protocol"
"""The committed results."""

QUICK = ROOT / "benchmarks" / "results" / "quick"
"""Results of ``run --quick``, which nobody commits."""


class ResultsError(RuntimeError):
    """Results that cannot be made or kept; the message says why in one line."""


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
        """Optuna's journals and all locks: needed to go on, not to read the results."""
        return self.root / "studies"

    def config(self, data_set: str, family: str) -> Path:
        """Selected configuration."""
        return self.root / "configs" / f"{data_set}__{family}.yaml"

    def journal(self, data_set: str, family: str) -> Path:
        """Optuna's journal of a study."""
        return self.studies / f"{data_set}__{family}.journal"

    def fold_lock(self, data_set: str, family: str, fold: int) -> Path:
        """Lock of whoever evaluates a fold."""
        return self.studies / f"{data_set}__{family}__fold{fold}.lock"

    def prepare(self) -> Layout:
        """Make the directories and see that files can be put there."""
        try:
            for folder in (self.root / "configs", self.studies):
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            raise ResultsError(f"cannot write results into {self.root}: {error.strerror or error}.") from error
        return self
