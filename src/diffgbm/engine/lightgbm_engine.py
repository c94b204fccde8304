"""The slow engine: LightGBM predicts at every knot. The fast engine must agree with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Array
from diffgbm.engine.base import Mixture
from diffgbm.engine.steps import Draws, StepTable
from diffgbm.engine.stored import AnyBooster
from diffgbm.engine.trajectories import states

Group = Sequence[AnyBooster]
"""One booster for each response coordinate."""

CHUNK = 1 << 22
"""Most numbers in one matrix handed to LightGBM (32 MB)."""


@dataclass(frozen=True)
class LightGBMField:
    r"""The average of several groups of boosters, :math:`F_j(y, x, t) = \frac1B \sum_b f_{bj}(y, x, t)`."""

    groups: Sequence[Group]
    n_jobs: int = 1

    @property
    def n_outputs(self) -> int:
        """Number of response coordinates ``d``."""
        return len(self.groups[0])

    def predict(self, features: Array) -> Array:
        """Evaluate feature rows [y, x, columns] of shape (n, d + p + q): shape (n, d)."""
        total = np.zeros((features.shape[0], self.n_outputs))
        for group in self.groups:
            for j, booster in enumerate(group):
                total[:, j] += booster.predict(features, num_threads=self.n_jobs)
        return total / len(self.groups)


@dataclass(frozen=True)
class LightGBMIntegrator:
    """A field with the steps to integrate it over."""

    field: LightGBMField
    steps: StepTable

    @property
    def n_outputs(self) -> int:
        """Number of response coordinates ``d``."""
        return self.field.n_outputs

    def drift(self, X: Array, y: Array, k: int) -> Array:
        """Drift at knot ``k`` of states (rows, samples, d)."""
        rows, samples, d = y.shape
        columns = self.steps.columns[k]
        features = np.empty((rows, samples, d + X.shape[1] + len(columns)))
        features[..., :d] = self.steps.scale[k] * y
        features[..., d : d + X.shape[1]] = X[:, None, :]
        features[..., d + X.shape[1] :] = columns
        predicted = self.field.predict(features.reshape(rows * samples, -1)).reshape(y.shape)
        drift: Array = self.steps.linear[k] * y + self.steps.gain[k] * predicted
        return drift

    def integrate(self, X: Array, draws: Draws, offset: int, stride: int) -> Array:
        """Return samples ``offset, offset + stride, ...`` of each row: shape (rows, samples, d)."""
        knots = states(lambda y, k: self.drift(X, y, k), self.steps, draws, len(X), self.n_outputs, offset, stride)
        return deque(knots, maxlen=1)[0]

    def fill(self, X: Array, draws: Draws, out: Array, offset: int, stride: int) -> None:
        """Write samples ``offset, offset + stride, ...`` of each row into ``out`` (rows, n_samples, d)."""
        width = self.n_outputs + X.shape[1] + self.steps.columns.shape[1]
        block = max(1, CHUNK // (width * max(1, draws.n_samples // stride)))
        for first in range(0, X.shape[0], block):
            part = replace(draws, first_row=draws.first_row + first)
            rows = slice(first, first + block)
            out[rows, offset::stride] = self.integrate(X[rows], part, offset, stride)


@dataclass(frozen=True)
class LightGBMEngine:
    """Integrate by calling ``Booster.predict`` at every knot.

    Attributes
    ----------
    fields : sequence of LightGBMField
        Sample ``i`` is integrated with field ``i`` modulo their number.
    """

    fields: Sequence[LightGBMField]

    @property
    def n_outputs(self) -> int:
        """Number of response coordinates ``d``."""
        return self.fields[0].n_outputs

    def prepare(self, steps: StepTable) -> Mixture:
        """Bind the boosters to the steps."""
        return Mixture([LightGBMIntegrator(field, steps) for field in self.fields])

    def evaluate(self, X: Array, y: Array, columns: Array) -> Array:
        """Evaluate the forest at rows (n, p), scaled states (n, d) and known columns (n, q): shape (n, d)."""
        features = np.ascontiguousarray(np.hstack([y, X, columns]))
        total: Array = sum((field.predict(features) for field in self.fields), np.zeros(np.shape(y)))
        return total / len(self.fields)
