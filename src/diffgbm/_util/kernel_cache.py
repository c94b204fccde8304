"""Where compiled kernels are found again: beside the source, where numba keeps them, or in a temporary directory.

numba keeps machine code beside the source or, if it may not write there, in the user's cache directory. It then does
not look beside the source, where an image of a container may have brought compiled kernels along, and where no
directory is writable it compiles in every process. Importing this module imports numba, so only ``kernels`` does.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import caching as numba_caching

caching: Any = numba_caching
"""Without types, which numba's own caches have in part only."""
BESIDE: Any = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator
"""numba's name for the folder beside the source; older versions have an underscore."""


def private_directory() -> Path:
    """Return a directory for temporary files of this user alone, made if needed; raise ``OSError`` if it is not.

    Machine code that others could have written is not run.
    """
    user = os.getuid() if hasattr(os, "getuid") else None
    path = Path(tempfile.gettempdir()) / f"diffgbm-kernels-{'user' if user is None else user}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or (user is not None and (found.st_uid != user or found.st_mode & 0o077)):
        raise PermissionError(f"{path} belongs to somebody else, or others may write to it")
    return path


def _cache(function: Any, folder: Path) -> Any:
    """Return numba's cache of a function in a folder, which need not be writable."""

    class Locator(BESIDE):
        def __init__(self, py_func: Any, py_file: str) -> None:
            super().__init__(py_func, py_file)
            self._cache_path = str(folder)

        def ensure_cache_path(self) -> None:
            """Check nothing: a folder that is only read is welcome."""

    class Implementation(caching.CompileResultCacheImpl):
        _locator_classes = [Locator]  # noqa: RUF012

    class Cache(caching.FunctionCache):
        _impl_class = Implementation

    return Cache(function)


class Layers(caching.NullCache):
    """Several caches: the first that has the machine code gives it, and the last keeps what is compiled.

    Parameters
    ----------
    caches : sequence of numba caches
        At least one.
    """

    def __init__(self, caches: Sequence[Any]) -> None:
        self._caches = caches

    @property
    def cache_path(self) -> Any:
        """Where compiled code is kept."""
        return self._caches[-1].cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code of a signature, ``None`` if no cache has it."""
        for cache in self._caches:
            try:
                found = cache.load_overload(sig, target_context)
            except OSError:  # a folder that may not even be read
                continue
            if found is not None:
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code; without it the next process compiles again."""
        with suppress(OSError):
            self._caches[-1].save_overload(sig, data)


def add_layers(dispatcher: Any) -> None:
    """Let a compiled function look beside its source and, if numba keeps nothing, in the temporary directory."""
    function = dispatcher.py_func
    beside = Path(function.__code__.co_filename).parent / "__pycache__"
    own = dispatcher._cache
    try:
        if isinstance(own, caching.NullCache):
            own = _cache(function, private_directory())
        elif Path(own.cache_path) == beside:
            return
        dispatcher._cache = Layers([_cache(function, beside), own])
    except (OSError, RuntimeError):  # no directory at all: compile in every process
        return
