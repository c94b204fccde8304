"""The two small interfaces of the engine, and how several fields share the samples of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from diffgbm._util.types import Array
from diffgbm.engine.steps import Draws, StepTable


class Integrator(Protocol):
    """Rows in, samples out. Serial, releases the GIL, and may be called from many threads at once."""

    def __call__(self, X: Array, draws: Draws) -> Array:
        """States at the last knot, of shape (rows, n_samples, d), for a block ``X`` of shape (rows, p)."""
        ...


class Engine(Protocol):
    """A fitted forest that can be integrated and looked at."""

    @property
    def n_outputs(self) -> int:
        """Number of response coordinates ``d``."""
        ...

    def prepare(self, steps: StepTable) -> Integrator:
        """Do all work that depends on the forest and the steps, but not on rows."""
        ...

    def evaluate(self, X: Array, y: Array, columns: Array) -> Array:
        """Evaluate the forest at rows (n, p), scaled states (n, d) and known columns (n, q): shape (n, d)."""
        ...


class Field(Protocol):
    """One vector field, ready to be integrated for every ``stride``-th sample."""

    @property
    def n_outputs(self) -> int:
        """Number of response coordinates ``d``."""
        ...

    def fill(self, X: Array, draws: Draws, out: Array, offset: int, stride: int) -> None:
        """Write samples ``offset, offset + stride, ...`` of each row into ``out`` (rows, n_samples, d)."""
        ...


@dataclass(frozen=True)
class Mixture:
    """Integrate sample ``i`` of every row with field ``i mod B``; with one field, simply integrate.

    Attributes
    ----------
    fields : sequence of Field, of length B
    """

    fields: Sequence[Field]

    def __call__(self, X: Array, draws: Draws) -> Array:
        """States at the last knot, of shape (rows, n_samples, d), for a block ``X`` of shape (rows, p)."""
        # kernels are compiled for writable arrays; those of a memory map, as joblib makes them, may not be
        X = np.require(X, dtype=np.float64, requirements=["C", "W"])
        if draws.start is not None and draws.start.shape != (draws.n_samples, self.fields[0].n_outputs):
            raise ValueError(f"starting points of shape {draws.start.shape} for {draws.n_samples} samples")
        out = np.empty((X.shape[0], draws.n_samples, self.fields[0].n_outputs))
        stride = len(self.fields)
        for position, field in enumerate(self.fields):
            offset = (position - draws.first_sample) % stride
            if len(X) and offset < draws.n_samples:
                field.fill(X, draws, out, offset, stride)
        return out
