"""The kernel that interpolates row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import kernel, part


@part
def between(x: Any, xs: Any, ys: Any, j: Any) -> Any:
    """Interpolate at ``x`` from ``xs[j]`` up to ``xs[j + 1]``, in the operations of ``numpy.interp``."""
    if xs[j] == x:
        return ys[j]
    slope = (ys[j + 1] - ys[j]) / (xs[j + 1] - xs[j])
    found = slope * (x - xs[j]) + ys[j]
    if np.isnan(found):  # an infinite slope or end
        found = slope * (x - xs[j + 1]) + ys[j + 1]
        if np.isnan(found) and ys[j] == ys[j + 1]:
            found = ys[j]
    return found


@kernel
def interpolate(x: Any, xs: Any, ys: Any, out: Any) -> None:
    """Interpolate at ``x`` (n or 1, k) between ascending ``xs`` and ``ys`` (n or 1, m), into ``out`` (n, k).

    The search goes on from the place of the last argument, which is close if arguments are in order.
    """
    for i in range(out.shape[0]):
        at = x[i if len(x) > 1 else 0]
        a, b = xs[i if len(xs) > 1 else 0], ys[i if len(ys) > 1 else 0]
        last = len(a) - 1
        j = 0
        for k in range(len(at)):
            v = at[k]
            if np.isnan(v):
                out[i, k] = v
            elif v >= a[last]:
                out[i, k] = b[last]
            elif v < a[0]:
                out[i, k] = b[0]
            else:
                while a[j + 1] <= v:
                    j += 1
                while a[j] > v:
                    j -= 1
                out[i, k] = between(v, a, b, j)
