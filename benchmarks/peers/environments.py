"""One virtual environment for each peer, made once, which isolates its dependencies from this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.datasets import ROOT
from benchmarks.peers.recipes import Package

CACHE = ROOT / ".venv-peers"


class PeerError(RuntimeError):
    """A peer could not be installed or run; the message contains its output."""


def python_of(package: Package, cache: Path = CACHE) -> Path:
    """Return the interpreter to run a package with, installing the package when its environment is missing.

    An environment counts only once pip has finished: the requirement is written beside it last.
    """
    if package.requirement is None:
        return Path(sys.executable)
    folder = cache / package.name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    installed = folder / "installed.txt"
    if python.exists() and installed.is_file() and installed.read_text().strip() == package.requirement:
        return python
    print(f"peers: installing {package.requirement} into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    _install(python, package.requirement)
    installed.write_text(package.requirement + "\n")
    return python


def _install(python: Path, requirement: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # several packages are separated by spaces
    done = subprocess.run([*command, *requirement.split()], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerError(f"pip could not install {requirement}:\n{done.stderr.strip()}")
