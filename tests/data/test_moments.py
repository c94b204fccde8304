"""Moments of partitions merge to those of all rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diffgbm.data.moments import Moments, merged


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 99), st.booleans(), st.floats(-1e6, 1e6))
def test_moments_merge_to_those_of_all_rows(sizes, seed, weighted, shift):
    rng = np.random.default_rng(seed)
    y = shift + rng.standard_normal((sum(sizes), 2))
    w = rng.uniform(0.1, 2.0, len(y)) if weighted else None
    ends = np.cumsum(sizes)[:-1]
    parts = zip(np.split(y, ends), np.split(w, ends) if weighted else [None] * len(sizes), strict=True)
    all_rows = merged(Moments.of(*part) for part in parts)
    mean = np.average(y, axis=0, weights=w)
    np.testing.assert_allclose(all_rows.mean, mean, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(all_rows.std**2, np.average((y - mean) ** 2, axis=0, weights=w), rtol=1e-8, atol=1e-12)


@given(st.integers(1, 300), st.integers(1, 3), st.integers(0, 99))
def test_moments_have_the_bits_of_numpys(n, d, seed):
    y = np.random.default_rng(seed).standard_normal((n, d))
    found = Moments.of(y)
    np.testing.assert_array_equal(found.mean, y.mean(axis=0))
    np.testing.assert_array_equal(found.std, y.std(axis=0))
