"""Numbers row by row: sorted, and interpolated, in as little time as may be."""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array

FEW = 16
"""Up to this many rows numpy interpolates one after the other, without the compiler."""


def is_sorted(values: Array) -> bool:
    """Whether each row of values (n, m) is ascending; not with a NaN."""
    return bool(np.all(values[:, 1:] >= values[:, :-1])) and not np.isnan(values[:, :1]).any()


def sorted_rows(values: Array) -> Array:
    """Return values (n, m) with each row sorted: the same array if its rows are, which takes a tenth of the time."""
    return values if is_sorted(values) else np.sort(values, axis=1)


def interpolated_rows(x: Array, xs: Array, ys: Array) -> Array:
    """Return ``numpy.interp(x[i], xs[i], ys[i])`` for each row, to the last bit: shape (n, k).

    Parameters
    ----------
    x : ndarray of shape (n, k) or (1, k)
        Arguments; those in order are found fastest.
    xs, ys : ndarray of shape (n, m) or (1, m)
        Ascending places, and values there.
    """
    n = max(len(x), len(xs), len(ys)) if min(len(x), len(xs), len(ys)) else 0
    out = np.empty((n, x.shape[1]))
    if n <= FEW:
        for i in range(n):
            out[i] = np.interp(*(part[i if len(part) > 1 else 0] for part in (x, xs, ys)))
        return out
    from diffgbm._util._row_kernels import interpolate

    x, xs, ys = (np.require(part, dtype=np.float64, requirements=["C", "W"]) for part in (x, xs, ys))
    interpolate(x, xs, ys, out)
    return out
