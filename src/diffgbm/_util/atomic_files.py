"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Return where ``path`` leads; raise unless a file can be put there as far as one can see."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {str(target.parent)!r}.")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder.")
    return target


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place when the block ends well, and is removed otherwise.

    Whatever happens, ``path`` is what it was before, or all of what was written.
    """
    target = check_folder(path)
    # the ending is kept: it says how the content is written
    temporary = target.with_name(f".{secrets.token_hex(8)}.{target.name}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
