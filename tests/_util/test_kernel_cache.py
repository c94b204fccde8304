"""Compiled kernels are found again where no directory is writable, and beside a source that may only be read."""

import importlib.util
import os
import sys
import tempfile

import pytest
from numba.core import caching

from diffgbm._util import kernel_cache
from diffgbm._util.kernel_cache import private_directory

SOURCE = """
from diffgbm._util.kernels import kernel

@kernel
def twice(x):
    return 2 * x
"""


def compiled(path):
    """Import a module as a new process would, and return its kernel."""
    spec = importlib.util.spec_from_file_location("a_module_of_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.twice


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A module in a folder, with temporary files elsewhere."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "source").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "source" / "module.py"
    path.write_text(SOURCE)
    return path


def test_where_numba_finds_no_directory_kernels_are_kept_in_a_temporary_one(source, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    first = compiled(source)
    assert first(4) == 8
    assert sum(first.stats.cache_misses.values()) == 1
    again = compiled(source)
    assert again(5) == 10
    assert sum(again.stats.cache_hits.values()) == 1
    assert list(private_directory().glob("*.nbc"))


def test_kernels_beside_the_source_are_found_although_numba_looks_elsewhere(source, tmp_path, monkeypatch):
    assert compiled(source)(4) == 8
    before = sorted((source.parent / "__pycache__").glob("*.nbc"))
    assert before

    class Elsewhere(caching.InTreeCacheLocator):
        def __init__(self, py_func, py_file):
            super().__init__(py_func, py_file)
            self._cache_path = str(tmp_path / "elsewhere")

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [Elsewhere])
    found = compiled(source)
    assert found(6) == 12
    assert sum(found.stats.cache_hits.values()) == 1
    assert found(1.5) == 3.0  # another signature is compiled and kept where numba keeps it
    assert list((tmp_path / "elsewhere").glob("*.nbc"))
    assert sorted((source.parent / "__pycache__").glob("*.nbc")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such permissions")
def test_a_directory_that_others_may_write_to_is_not_used(source, monkeypatch):
    private_directory().chmod(0o777)
    with pytest.raises(PermissionError, match="somebody else"):
        private_directory()
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert compiled(source)(4) == 8
    assert not os.listdir(kernel_cache.tempfile.gettempdir() + f"/diffgbm-kernels-{os.getuid()}")
