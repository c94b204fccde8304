"""Repeated rows of a table in partitions: which of them stay together in every split.

Splits hash a key of each row. The key is its position, or a hash of its content if rows that agree are records of the
same thing: then they have the same fold, wherever they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from diffgbm._util.types import Array
from diffgbm.dask.reading import Part
from diffgbm.data.records import Kind, find_records, row_hashes

By = Literal["position", "x", "x and y"]
"""What a row's key is made of."""
MAX_ROWS, MAX_CELLS = 200_000, 20_000_000
"""Rows and numbers that the evidence is gathered from, at most."""
KEYS: dict[Kind, By] = {
    "distinct": "position",
    "independent": "position",
    "stacked": "x and y",
    "copies": "x and y",
    "entities": "x",
    "together": "x",
}


def evidence_share(n_rows: int, n_columns: int) -> float:
    """Share of all distinct ``X`` whose rows are evidence."""
    return min(1.0, MAX_ROWS / n_rows, MAX_CELLS / (n_rows * n_columns))


def evidence(part: Part, share: float) -> tuple[Array, Array]:
    """Return the rows and responses of a partition whose hash of ``X`` is among a ``share`` of all hashes.

    All repetitions of an ``X`` are evidence, or none of them.
    """
    X = described(part)
    chosen = row_hashes(X) <= np.uint64(share * (2**64 - 2**11))
    return X[chosen], part.y[chosen]


def described(part: Part) -> Array:
    """Return what tells the records of a partition apart: an observation at another time is another one."""
    return part.X if part.times is None else np.column_stack([part.X, part.times])


def key_of(parts: Sequence[tuple[Array, Array]], repeats: str) -> By:
    """Decide what keys are made of, by the evidence of all partitions and the argument ``repeats``."""
    X, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    return KEYS[find_records(X, y, repeats).kind] if len(X) > 1 else "position"


def keyed(part: Part, by: By) -> Part:
    """Return a partition whose rows are split by a hash of their content."""
    X = described(part)
    tables = (X,) if by == "x" else (X, part.y)
    return replace(part, keys=row_hashes(*tables).view(np.int64))
