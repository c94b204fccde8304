"""The problem: a table, its fitted first-stage models and a seed, shared by all candidates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.candidates import Candidate
from diffgbm.auto.first_stages import FirstStages
from diffgbm.first_stage import FirstStageValues, FittedFirstStage
from diffgbm.fitting.training_table import TrainingTable


@dataclass(frozen=True)
class Inputs:
    """What the noise model of a candidate learns from.

    Attributes
    ----------
    first_stage : FittedFirstStage
        First-stage models for new rows.
    values : FirstStageValues
        Their out-of-fold values of the training rows.
    X : ndarray of shape (n, p + k)
        The training rows with the first-stage features.
    """

    first_stage: FittedFirstStage
    values: FirstStageValues
    X: Array


@dataclass(frozen=True, eq=False)
class Problem:
    """What all candidates share.

    Attributes
    ----------
    table : TrainingTable
        Features, responses and weights.
    first_stages : FirstStages
        Fitted first-stage models.
    seed, n_jobs : int
        Seed and threads.
    """

    table: TrainingTable
    first_stages: FirstStages
    seed: int
    n_jobs: int
    _inputs: dict[tuple[str, tuple[str, ...]], Inputs] = field(default_factory=dict, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.table.y)

    def inputs(self, candidate: Candidate) -> Inputs:
        """Return what the candidate's noise model learns from.

        Candidates with the same first-stage models share one value: it is computed, and stored in files, once.
        """
        key = (candidate.subtracted, candidate.features)
        if key not in self._inputs:
            first_stage, values = self.first_stages.assembled(*key)
            X = self.table.X
            X = np.hstack([X, values.features]) if values.features.shape[1] else X
            self._inputs[key] = Inputs(first_stage, values, X)
        return self._inputs[key]
