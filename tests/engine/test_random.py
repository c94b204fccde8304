"""The generator: exact distribution, no state, no correlation between neighbours of any kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from diffgbm._util.kernels import kernel
from diffgbm.engine import normals, row_uniforms
from diffgbm.engine._random_kernels import draw, row_key
from diffgbm.engine.ziggurat import TAIL

LIMIT = 4.5
"""Standard errors allowed: about 7e-6 of all correct generators would fail one comparison, and seeds are fixed."""


@pytest.fixture(scope="module")
def sample():
    return normals(2024, np.arange(1000), np.arange(2000), 3, 1).ravel()


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_moments(sample, power):
    distribution = stats.norm()
    expected, variance = distribution.moment(power), distribution.moment(2 * power) - distribution.moment(power) ** 2
    assert abs(np.mean(sample**power) - expected) < LIMIT * np.sqrt(variance / len(sample))


def test_distribution(sample):
    assert stats.kstest(sample, "norm").pvalue > 1e-4


@pytest.mark.parametrize("bound", [0.5, 2.0, TAIL, 4.2])
def test_tails_on_both_sides(sample, bound):
    expected = len(sample) * stats.norm.sf(bound)
    for side in (sample > bound, sample < -bound):
        assert abs(side.sum() - expected) < LIMIT * np.sqrt(expected)


def test_distribution_beyond_the_last_layer():
    z = normals(7, np.arange(2000), np.arange(4000), 1, 1).ravel()
    beyond = np.abs(z[np.abs(z) > TAIL])
    assert stats.kstest(stats.norm.sf(beyond) / stats.norm.sf(TAIL), "uniform").pvalue > 1e-4


def correlation_is_noise(a, b):
    """Neither values nor sizes of the two are correlated."""
    for f in (lambda z: z, lambda z: z**2 - 1, np.abs):
        assert abs(np.corrcoef(f(a.ravel()), f(b.ravel()))[0, 1]) < LIMIT / np.sqrt(a.size)


@pytest.mark.parametrize("gap", [1, 2, 64, 256])
def test_neighbours_are_independent(gap):
    rows, samples = np.arange(500), np.arange(500)
    z = normals(5, rows, samples, 4, 1)
    correlation_is_noise(z, normals(5, rows + gap, samples, 4, 1))
    correlation_is_noise(z, normals(5, rows, samples + gap, 4, 1))
    correlation_is_noise(z, normals(5, rows, samples, 4 + gap, 1))
    correlation_is_noise(z, normals(5 + gap, rows, samples, 4, 1))
    correlation_is_noise(z, normals(5 ^ (gap << 32), rows, samples, 4, 1))


def test_prior_step_noise_and_coordinates_are_independent():
    z = [normals(5, np.arange(300), np.arange(300), step, 3) for step in (0, 1)]
    parts = [part[..., j] for part in z for j in range(3)]
    for i, a in enumerate(parts):
        for b in parts[:i]:
            correlation_is_noise(a, b)


def test_no_number_appears_twice():
    z = np.stack([normals(9, np.arange(100), np.arange(100), step, 2) for step in range(10)])
    assert len(np.unique(z)) == z.size


def test_a_normal_depends_on_its_position_only():
    whole = normals(3, np.arange(20), np.arange(30), 2, 2)
    np.testing.assert_array_equal(normals(3, [7, 4], [29, 0, 11], 2, 2), whole[[7, 4]][:, [29, 0, 11]])
    np.testing.assert_array_equal(normals(3 + 2**64, np.arange(20), np.arange(30), 2, 2), whole)


def split_mix(state, n, twist=0):
    """Output ``n`` of SplitMix64 (Steele, Lea and Flood, 2014), counted from ``state``, in whole numbers."""
    x = (state + n * 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64 ^ twist
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**20))
@settings(max_examples=50, deadline=None)
def test_the_bits_are_what_the_notes_say(key, row, sample, draw):
    from diffgbm.engine._random_kernels import fill_bits

    out = np.empty((1, 1, 1), np.uint64)
    fill_bits(np.uint64(key), np.array([row]), np.array([sample]), np.array([draw]), out)
    own = split_mix(split_mix(key, 1), row + 1)
    start, twist = split_mix(own, 2 * draw + 1), split_mix(own, 2 * draw + 2)
    assert int(out[0, 0, 0]) == split_mix(start, sample, twist)


@kernel
def draw_row(key, row, first, stride, number, scratch, out):
    draw(row_key(key, row), first, stride, number, scratch, out)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_the_kernel_of_the_samples_draws_the_same_normals(key, row, first, stride, n):
    out, scratch = np.empty(n), (np.empty(n, np.uint64), np.empty(n, np.uint64))
    draw_row(np.uint64(key), row, first, stride, 5, scratch, out)
    samples = first + stride * np.arange(n)
    np.testing.assert_array_equal(out, normals(key, [row], samples, 5, 1)[0, :, 0])


def test_the_first_numbers_do_not_change():
    """Samples of a seed are part of what users rely on."""
    np.testing.assert_allclose(normals(0, [0, 1], [0, 1], 0, 1)[..., 0], FIRST, rtol=1e-15)


FIRST = [[1.5487892716863365, 0.9016781250033744], [0.5192346175327983, 0.006929892934055865]]


def test_a_number_of_a_row_is_uniform_and_its_own():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    u = row_uniforms(X)
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert ((u > 0.0) & (u < 1.0)).all()
    np.testing.assert_array_equal(row_uniforms(X[::-2]), u[::-2])
    np.testing.assert_array_equal(row_uniforms(np.asfortranarray(X)), u)
    limit = LIMIT / np.sqrt(len(u))
    for other in (X[:, ::-1], np.nextafter(X, 9.0), X + 1e-12, X[:, :2], np.roll(X, 1, axis=0)):
        assert abs(np.corrcoef(u, row_uniforms(other))[0, 1]) < limit
    # small whole numbers differ in few bits
    grid = np.stack(np.meshgrid(*[np.arange(30.0)] * 3), axis=-1).reshape(-1, 3)
    assert stats.kstest(row_uniforms(grid), "uniform").pvalue > 1e-3


def test_rows_that_are_equal_have_one_number():
    other_nan = np.array([0xFFF8000000000001], dtype=np.uint64).view(float)[0]
    rows = np.array([[0.0, np.nan], [-0.0, other_nan]])
    a, b = row_uniforms(rows)
    assert a == b
    assert np.isnan(rows[1, 1])
    assert np.signbit(rows[1, 0])  # what is given is not changed
    assert row_uniforms(np.zeros((2, 0))).tolist() == [row_uniforms(np.zeros((1, 0)))[0]] * 2
    assert row_uniforms(np.array([[2]], dtype=np.int64)) == row_uniforms(np.array([[2.0]], dtype=np.float32))
