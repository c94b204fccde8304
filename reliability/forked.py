"""Commands of the command line in forks of one process, which has imported the library once: a run costs no import.

A fork ends as any process does: the interpreter is finalised, handlers at exit run, libraries' static objects are
destroyed beside their threads. Threads that a command starts are the fork's own, as the parent has none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

IMPORTS = (
    "diffgbm.cli.commands",
    "lightgbm",
    "numba",
    "pandas",
    "pyarrow.csv",
    "pyarrow.parquet",
    "pydantic",
    "typer._adapters",
)
"""Modules that commands import; importing them starts no thread."""


class Forks:
    """Runs commands in a folder, each in its own fork, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        call = [sys.executable, "-m", "reliability.forked"]
        self._parent = subprocess.Popen(
            call, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parent.communicate()

    def command(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run one command; return how its process ended and what it printed."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(list(words)) + "\n")
        self._parent.stdin.flush()
        code = int(self._parent.stdout.readline())
        out, errors = ((self.folder / name).read_text(errors="replace") for name in PRINTED)
        return subprocess.CompletedProcess(words, code, out, errors)


PRINTED = ("printed.out", "printed.err")


def main() -> None:
    """Read commands from standard input, one list in JSON a line; print the exit code of each."""
    import gc
    import importlib
    import threading

    from diffgbm.cli import entry

    for module in IMPORTS:
        importlib.import_module(module)
    if threading.active_count() > 1:
        raise RuntimeError("a thread of the parent would be missing in its forks")
    gc.freeze()  # a fork need not look at all modules again when it ends
    for line in sys.stdin:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            for name, stream in zip(PRINTED, (1, 2), strict=True):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            entry.main(json.loads(line))  # raises SystemExit: the fork leaves the loop and ends like a command
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
