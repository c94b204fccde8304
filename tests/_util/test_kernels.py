"""The compiler of kernels: what cached machine code is named after, and the intrinsics."""

from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm._util import kernels, progress
from diffgbm._util.kernels import (
    LANES,
    MESSAGE,
    SIXTY_FOUR,
    add_to_some,
    digest,
    kernel,
    lowest_bit,
    part,
    running_sums,
    sort_sixty_four,
)


@kernel
def add(a, b):
    return a + b


@kernel
def lowest(value):
    return lowest_bit(value)


def test_a_kernel_computes_what_the_function_does():
    assert add(2.0, 3.0) == add.py_func(2.0, 3.0) == 5.0


@part
def twice(a):
    return 2 * a


@kernel
def four_times(a):
    return twice(twice(a))


def test_a_part_is_compiled_into_kernels_only():
    assert four_times(3.0) == 12.0
    assert twice("ab") == "abab", "Python calls the function itself"


def compiled_by(module):
    """Compile a function that pretends to be a module's."""

    def function(a):
        return a + 1

    function.__module__ = module
    assert numba.njit(function)(1) == 2


@pytest.mark.parametrize(("watched", "written"), [(True, f"diffgbm: {MESSAGE}\n"), (False, "")])
def test_compiling_is_said_once_where_someone_watches(watched, written, monkeypatch, capsys, caplog):
    monkeypatch.setattr(kernels.announcement, "said", False)
    monkeypatch.setattr(progress, "someone_watches", lambda: watched)
    with caplog.at_level("INFO", "diffgbm"):
        compiled_by("somebody.else")
        assert not caplog.messages
        compiled_by("diffgbm.made_up")
        compiled_by("diffgbm.made_up")
    assert caplog.messages == [MESSAGE]
    assert capsys.readouterr() == ("", written)


def test_the_name_in_the_cache_depends_on_all_files_of_the_folder(tmp_path):
    from diffgbm.engine._walk_kernels import sum_rows

    engine = Path(__file__).parents[2] / "src" / "diffgbm" / "engine"
    assert sum_rows.py_func.__qualname__ == f"sum_rows_{digest(Path(sum_rows.py_func.__code__.co_filename).parent)}"
    assert digest(engine) != digest(Path(__file__).parent)
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("2")
    before = digest(tmp_path)
    (tmp_path / "b.py").write_text("3")
    digest.cache_clear()
    assert digest(tmp_path) != before


@given(st.integers(1, 2**64 - 1))
@settings(max_examples=200, deadline=None)
def test_the_lowest_bit(value):
    assert lowest(np.uint64(value)) == (value & -value).bit_length() - 1


@kernel
def sorted_in_place(values):
    sort_sixty_four(values)


@kernel
def sums_after(values, at, lanes, term, out):
    add_to_some(values, at, lanes, term)
    running_sums(values, out, np.int64(len(out) // LANES))


@pytest.mark.parametrize("seed", range(5))
def test_sixty_four_numbers_are_sorted(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=SIXTY_FOUR + 3)
    values[10:20] = np.round(values[10:20])  # some are equal
    values[55:64] = np.inf
    expected = [*np.sort(values[:SIXTY_FOUR]), *values[SIXTY_FOUR:]]
    sorted_in_place(values)
    np.testing.assert_array_equal(values, expected)


def test_every_pattern_of_zeros_and_ones_that_a_merge_meets_is_sorted():
    """A network that sorts all of zeros and ones sorts everything; these have one step in each half of each size."""
    for size in (2, 8, 16, 32, 64):
        for ones in range(size + 1):
            for other in range(0, size + 1, max(1, size // 8)):
                half = np.arange(size) >= size - ones, np.arange(size) >= size - other
                values = np.tile(np.concatenate(half), 64)[:SIXTY_FOUR].astype(float)
                expected = np.sort(values)
                sorted_in_place(values)
                np.testing.assert_array_equal(values, expected)


def test_numbers_are_not_lost_beside_one_that_is_none():
    values = np.random.default_rng(0).permutation(np.arange(64.0))
    values[7] = np.nan
    before = np.sort(values)
    sorted_in_place(values)
    np.testing.assert_array_equal(np.sort(values), before)


def test_whole_numbers_are_added_to_some_lanes():
    values = np.arange(4 * LANES, dtype=np.int32)
    expected = values.reshape(4, LANES).copy()
    expected[2, [0, 3]] -= 7
    out = np.zeros(3 * LANES, dtype=np.int32)
    sums_after(values, 2, np.uint8(0b1001), np.int32(-7), out)
    np.testing.assert_array_equal(values.reshape(4, LANES), expected)
    np.testing.assert_array_equal(out.reshape(3, LANES), np.cumsum(expected[:3], axis=0))
