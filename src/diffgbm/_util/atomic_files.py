"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NEW_FILE = 0o666
"""Mode of a file that was not there before, less the process's mask."""
ENDING = 16
"""Characters of a file's name that its temporary file keeps: the ending says how the content is written."""

AnyPath = str | os.PathLike[str]


def check_folder(path: AnyPath, *inputs: AnyPath) -> Path:
    """Return the file that ``path`` names, symbolic links followed; raise unless it can be written.

    Parameters
    ----------
    path : str or path
        The output: a regular file, a file that is not there yet, a pipe or a character device.
    *inputs : str or path
        Files and folders that the output is made from. The output may not be one of them, nor lie in one.
    """
    status = _status(path)
    # what /dev/stdout leads to need not have a name
    target = Path(os.path.realpath(path)) if status is None or stat.S_ISREG(status.st_mode) else Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {str(target.parent)!r}.")
    if status is not None:
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(f"{path} is a folder.")
        if not (stat.S_ISREG(status.st_mode) or _is_stream(status)):
            raise OSError(f"{path} is a special file that cannot be written to: name a regular file.")
    for name in inputs:
        _check_apart(path, status, name)
    return target


@contextmanager
def replacing(path: AnyPath) -> Iterator[Path]:
    """Yield a temporary file whose content ``path`` has when the block ends well; it is removed in any case.

    A regular file is replaced as a whole and keeps its mode: it has all of the old content or all of the new. Symbolic
    links stay, and the file they lead to is replaced. Pipes and character devices are written to.
    """
    target = check_folder(path)
    status = _status(path)
    if status is not None and _is_stream(status):
        with _streaming(target) as temporary:
            yield temporary
        return
    temporary = target.with_name(f".{secrets.token_hex(8)}.{target.name[-ENDING:]}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, NEW_FILE if status is None else 0o600))
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if status is not None:
            _keep_owner_and_mode(temporary, status)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def _streaming(target: Path) -> Iterator[Path]:
    """Yield a temporary file that is copied to a pipe or device: writers of tables go back and forth in theirs."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder, target.name[-ENDING:])
        temporary.touch()
        yield temporary
        with temporary.open("rb") as source, open(os.open(target, os.O_WRONLY), "wb") as sink:
            shutil.copyfileobj(source, sink)


def _keep_owner_and_mode(temporary: Path, status: os.stat_result) -> None:
    new = temporary.stat()
    if (new.st_uid, new.st_gid) != (status.st_uid, status.st_gid):
        with suppress(OSError, AttributeError):  # only root may, and Windows has no owners of this kind
            os.chown(temporary, status.st_uid, status.st_gid)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))


def _status(path: AnyPath) -> os.stat_result | None:
    """Return what the system says about a file, links followed, or ``None`` if it is not there."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_stream(status: os.stat_result) -> bool:
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)


def _check_apart(path: AnyPath, status: os.stat_result | None, name: AnyPath) -> None:
    """Raise if the output is an input, by another name perhaps, or a file in a folder that is read."""
    source = _status(name)
    if source is not None and stat.S_ISDIR(source.st_mode):
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(name)):
            raise ValueError(f"{path} lies in the folder {name}, which is read: write the output elsewhere.")
        return
    if source is None or status is None:
        same = os.path.realpath(path) == os.path.realpath(name)
    else:
        same = os.path.samestat(source, status) and not _is_stream(status)
    if same:
        raise ValueError(f"{path} is the input {name}: give the output another name.")
