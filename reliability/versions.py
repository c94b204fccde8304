"""Run the tests in an environment with other versions and record them with the installed versions.

``python -m reliability.versions NAME [--core]``; ``nox`` makes the environments and calls it.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from reliability.records import record

ROOT = Path(__file__).parent.parent
LIBRARIES = ("numpy", "lightgbm", "scikit-learn", "numba", "scipy", "narwhals", "scoringrules", "pandas", "polars")
CORE = (
    *("estimators/test_diffgbm", "estimators/test_conformal", "data", "persistence", "metrics", "distributions"),
    *("diffusion/test_targets", "diffusion/test_sampler", "fitting/test_boosting", "first_stage/test_models", "engine"),
)
"""Tests that touch every dependency, for machines on which the whole suite takes too long."""


def main() -> int:
    """Run the tests and add a line to ``versions.jsonl``."""
    parser = argparse.ArgumentParser(prog="python -m reliability.versions")
    parser.add_argument("name", help="of the environment, in the record")
    parser.add_argument("--core", action="store_true", help="only the tests of the core")
    args = parser.parse_args()
    core = [f"tests/{name}.py" if "/" in name else f"tests/{name}" for name in CORE]
    figures = {"name": args.name, "part": "core" if args.core else "all", **tested(core if args.core else ["tests"])}
    record("versions", {**figures, "versions": installed()})
    print(figures)
    return int(figures["failed"] > 0 or figures["passed"] == 0)


def tested(paths: list[str]) -> dict[str, Any]:
    """Run tests in one process; count them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-n", "1", "-p", "no:cacheprovider", f"--junitxml={report}", *paths]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, check=False)
        suite = next(ElementTree.parse(report).getroot().iter("testsuite")).attrib
    total, skipped = int(suite["tests"]), int(suite["skipped"])
    failed = int(suite["failures"]) + int(suite["errors"])
    return {"passed": total - failed - skipped, "failed": failed, "skipped": skipped}


def installed() -> dict[str, str]:
    """Return the versions of the interpreter and of the libraries that matter."""
    present = {distribution.name.lower(): distribution.version for distribution in distributions()}
    return {"python": platform.python_version(), **{name: present[name] for name in LIBRARIES if name in present}}


if __name__ == "__main__":
    sys.exit(main())
