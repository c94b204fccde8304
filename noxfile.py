"""Jobs with other versions of everything: ``nox`` runs all of them, ``nox -s oldest`` one, ``nox -l`` lists them.

Interpreters that are not installed are skipped. ``nox -s ... -- --core`` runs only the tests of the core.
"""

from __future__ import annotations

import re
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
LIBRARIES = ["numpy", "lightgbm", "scikit-learn", "numba"]
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONPATH": "."}


def lowest(name: str) -> str:
    """Return the oldest version of a dependency that pyproject.toml allows, like ``numpy==1.26.*``."""
    bound = re.search(rf'"{name}>=([0-9.]+)', Path("pyproject.toml").read_text())
    if bound is None:
        raise ValueError(f"{name} has no lower bound")
    return f"{name}=={bound[1]}.*"


def run_tests(session: nox.Session, name: str) -> None:
    """Run the tests and record what they ran with."""
    # an environment that is used again would keep the package of last time, whose version is the same
    session.install("--force-reinstall", "--no-deps", ".")
    session.run("python", "-m", "reliability.versions", name, *session.posargs, env=ENVIRONMENT)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Run the tests with the newest version of everything."""
    session.install("--upgrade", ".[test]")
    run_tests(session, f"newest, Python {session.python}")


@nox.session(python=["3.10", "3.11"], venv_backend="uv")
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest version of every dependency."""
    session.install("--resolution", "lowest-direct", ".[test]")
    run_tests(session, f"oldest, Python {session.python}")


@nox.session(python="3.11")
@nox.parametrize("library", LIBRARIES)
def library(session: nox.Session, library: str) -> None:
    """Run the tests with one library at its oldest and all others as new as it lets them be."""
    session.install(".[test]", lowest(library))
    run_tests(session, f"oldest {library}")


@nox.session(python="3.11")
def package(session: nox.Session) -> None:
    """Build wheel and sdist, look into them, install the wheel into an empty environment and use it."""
    session.install(".", "build", "twine")
    session.run("python", "-m", "reliability", "package", env=ENVIRONMENT)


@nox.session(python="3.11")
def audit(session: nox.Session) -> None:
    """Ask pip-audit for known vulnerabilities of the dependencies."""
    session.install(".", "pip-audit")
    session.run("python", "-m", "reliability", "audit", env=ENVIRONMENT)


@nox.session(python="3.11")
def coverage(session: nox.Session) -> None:
    """Measure the branches that the tests go through."""
    session.install("-e", ".[test]", "coverage>=7.10")
    # not by pytest's plugin, which begins when the library has been imported already
    measured = ("python", "-m", "coverage", "run", "-m", "pytest", "-p", "no:cacheprovider")
    session.run(*measured, "-n", "2", "--dist", "worksteal", *session.posargs, env=ENVIRONMENT)
    session.run(*measured, "tests/dask", "-k", "not dies and not stuck", env=ENVIRONMENT)
    session.run("python", "-m", "coverage", "combine", "--quiet")
    session.run("python", "-m", "coverage", "json", "--quiet", "-o", "coverage.json")
    session.run("python", "-m", "coverage", "report", "--skip-covered")
    session.run("python", "-m", "reliability.branches", "coverage.json", env=ENVIRONMENT)
