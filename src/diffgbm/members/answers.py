"""What estimators return, as one table (n, k): rows by quantiles, or rows by samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffgbm._util.types import Array


def answer_table(answer: Any, n: int, k: int) -> Array:
    """Return an answer for ``n`` rows and ``k`` quantiles or samples as an array (n, k).

    It may be an array or a frame (n, k) or (k, n), one with a last axis of one response, or a list of ``k`` arrays.
    Shapes with ``n == k`` are taken as (n, k), lists as (k, n): ask for another number of rows, see ``asked``.
    """
    values = np.asarray(answer, dtype=np.float64)
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[:, :, 0]
    if values.ndim == 1 and values.shape == (k,) and n == 1:
        values = values[None]
    if values.ndim == 1 and k == 1:
        values = values[:, None]
    if values.shape == (n, k):
        return values
    if values.shape == (k, n):
        return values.T
    raise ValueError(f"it returned an array of shape {values.shape} for {n} rows and {k} values of each")


def asked(ask: Callable[[Array], Any], X: Array, k: int) -> Array:
    """Return the answer of ``ask`` for rows (n, p) as a table (n, k).

    As many rows as values would leave open which axis is which: one row is asked twice then.
    """
    rows = np.concatenate([X, X[-1:]]) if len(X) == k else X
    return answer_table(ask(rows), len(rows), k)[: len(X)]


def point_answer(answer: Any, n: int) -> Array:
    """Return one number for each of ``n`` rows, shape (n,)."""
    values = np.asarray(answer, dtype=np.float64)
    if values.size != n or values.shape[0] != n:
        raise ValueError(f"it returned an array of shape {values.shape} for {n} rows and one response")
    return values.reshape(n)
