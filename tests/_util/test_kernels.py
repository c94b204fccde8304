"""The compiler of kernels: what cached machine code is named after, and one intrinsic."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm._util.kernels import digest, kernel, lowest_bit


@kernel
def add(a, b):
    return a + b


@kernel
def lowest(value):
    return lowest_bit(value)


def test_a_kernel_computes_what_the_function_does():
    assert add(2.0, 3.0) == add.py_func(2.0, 3.0) == 5.0


def test_the_name_in_the_cache_depends_on_all_files_of_the_folder(tmp_path):
    from diffgbm.engine._sample_kernels import look_up

    engine = Path(__file__).parents[2] / "src" / "diffgbm" / "engine"
    assert look_up.py_func.__qualname__ == f"look_up_{digest(Path(look_up.py_func.__code__.co_filename).parent)}"
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
