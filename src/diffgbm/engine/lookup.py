"""Exact look-up of the bin of a number among sorted edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array

BUCKETS_PER_EDGE = 8
MOST_BUCKETS = 1 << 16
FINE_BUCKETS = 1 << 13
"""Up to this many buckets, there are more of them until none holds two edges; their table stays in a near cache."""


class Lookup(NamedTuple):
    r"""Buckets of equal width over sorted edges: :math:`\text{bin}(v) = \#\{\text{edges} < v\}`.

    The bucket of ``v`` is ``floor((v - low) * inverse)``, clipped. Rounding keeps it monotone in ``v``, so edges in
    earlier buckets are below ``v`` and edges in later ones are not: only its own bucket's edges are compared.

    Attributes
    ----------
    edges : ndarray of shape (n + 1,)
        The edges, then infinity.
    first : uint16 ndarray of shape (buckets + 1,)
        How many edges lie in earlier buckets.
    low, inverse : float
        Start of the first bucket, and buckets for each unit of length.
    most : int
        Edges in the fullest bucket. If there is only one, a single comparison finds the bin.
    """

    edges: Array
    first: NDArray[np.uint16]
    low: float
    inverse: float
    most: int


def make_lookup(edges: Array) -> Lookup:
    """Lay buckets over ascending, distinct, finite edges, at most 65,535."""
    n_buckets = int(min(MOST_BUCKETS, max(1, BUCKETS_PER_EDGE * len(edges))))
    found = _lookup(edges, n_buckets)
    while found.most > 1 and 2 * n_buckets <= FINE_BUCKETS:
        n_buckets *= 2
        finer = _lookup(edges, n_buckets)
        found = finer if finer.most < found.most else found
    return found


def _lookup(edges: Array, n_buckets: int) -> Lookup:
    low = float(edges[0]) if len(edges) else 0.0
    with np.errstate(over="ignore"):
        width = float(edges[-1] - edges[0]) if len(edges) else 0.0
    inverse = (n_buckets - 1) / width if width > 0 else 0.0
    if not np.isfinite(inverse) or inverse == 0.0:  # one edge, or a span that has no reciprocal
        n_buckets, inverse = 1, 0.0
    position = (edges - low) * inverse if n_buckets > 1 else np.zeros(len(edges))
    bucket = np.clip(position, 0, n_buckets - 1).astype(np.int64)
    first = np.searchsorted(bucket, np.arange(n_buckets + 1)).astype(np.uint16)
    return Lookup(np.append(edges, np.inf), first, low, inverse, int(np.diff(first.astype(np.int64)).max()))
