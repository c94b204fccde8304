"""The compiler of kernels: what cached machine code is named after, and one intrinsic."""

from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm._util import kernels, progress
from diffgbm._util.kernels import MESSAGE, digest, kernel, lowest_bit, part


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
