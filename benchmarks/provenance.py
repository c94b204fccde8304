"""Where a result comes from: package versions, commit, and a hash of the code that computed it."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path

from benchmarks.datasets import ROOT

HASHED = ("src/diffgbm", "benchmarks/families")
"""Folders whose Python files affect a result: the library and the adapters of the families."""

COMMON = ("diffgbm", "numpy", "scikit-learn")
"""Distributions that every result depends on."""


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the installed version of each distribution, ``"missing"`` where there is none."""
    return {name: _version(name) for name in sorted({*distributions, *COMMON})}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def python() -> str:
    """Return Python's version."""
    return platform.python_version()


@cache
def commit(root: Path = ROOT) -> str:
    """Return the commit of the repository; ``"unknown"`` without git."""
    try:
        result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return result.stdout.strip() if result.returncode == 0 else "unknown"


@cache
def source_hash(root: Path = ROOT, trees: tuple[str, ...] = HASHED) -> str:
    """SHA-256 over names and contents of the Python files of ``trees``, which may differ from the commit."""
    digest = hashlib.sha256()
    for path in sorted(path for tree in trees for path in (root / tree).rglob("*.py")):
        content = path.read_bytes()
        # the length separates consecutive files
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def now() -> str:
    """Return the time, in UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
