"""The look-up of bins, exact wherever the edges are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm._util.kernels import kernel
from diffgbm.engine._sample_kernels import look_up
from diffgbm.engine.lookup import make_lookup

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@kernel
def compiled(table, lookup, scale, state, buckets, out):
    look_up(table, lookup, scale, state, buckets, out)


def bins(edges, values):
    """Look values up in a table that holds the bins' own numbers."""
    out = np.empty(len(values))
    compiled(np.arange(len(edges) + 2.0), make_lookup(edges), 1.0, values, np.empty(len(values), np.uint64), out)
    return out


def neighbours(edges):
    """The edges, the numbers next to them, and what lies far outside."""
    ends = [-np.inf, np.inf, 0.0, -0.0, np.nan]
    with np.errstate(over="ignore"):
        return np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), ends])


def expected(edges, values):
    return np.where(np.isnan(values), 0, np.searchsorted(edges, np.nan_to_num(values, nan=-np.inf, posinf=np.inf)))


@given(st.lists(NUMBERS, max_size=60, unique=True), st.lists(NUMBERS, max_size=20))
@settings(max_examples=200, deadline=None)
def test_bins_count_the_edges_below(edges, values):
    edges = np.unique(np.array(edges, dtype=np.float64))
    values = np.concatenate([neighbours(edges), values])
    np.testing.assert_array_equal(bins(edges, values), expected(edges, values))


def test_even_edges_need_one_comparison_and_crowded_ones_more():
    even = np.linspace(-2.0, 3.0, 250)
    crowded = np.concatenate([even, np.linspace(0.5, 0.5001, 40)])
    crowded.sort()
    assert make_lookup(even).most == 1
    assert make_lookup(crowded).most >= 40
    for edges in (even, crowded):
        values = np.concatenate([neighbours(edges), np.random.default_rng(0).normal(size=500)])
        np.testing.assert_array_equal(bins(edges, values), expected(edges, values))
