"""Options of the commands: data sets, families, budget and folds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.configs import Budget
from benchmarks.datasets import DATA_SETS, add_data_dir, data_directory, load
from benchmarks.dispatch import cores
from benchmarks.evaluation import N_SAMPLES
from benchmarks.families.base import Family
from benchmarks.layout import PROTOCOL, ResultsError
from benchmarks.protocol import EVALUATION_FOLDS, MASTER_SEED
from benchmarks.synthetic import DISTRIBUTIONS
from benchmarks.table_files import DataSetError, Table
from diffgbm._util.errors import known

REGISTRY = "benchmarks.families:FAMILIES"
"""Default registry of families: a module and the name of a mapping in it."""

SYNTHETIC = "heteroscedastic_nonlinear"
"""Synthetic distribution that replaces a data set that is not available."""

DISTRIBUTION_ROWS = 300
"""Rows drawn from a synthetic distribution."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run, the same in every process.

    Attributes
    ----------
    results_dir : Path
        Where results go.
    data_dir : Path or None
        Local data files.
    registry : str
        ``module:mapping`` of the families.
    budget : Budget
        Of each study.
    folds : tuple of int
        Evaluated folds.
    test_rows : int or None
        Test rows of a fold at most.
    n_samples : int
        Samples of a test row.
    force : bool
        Evaluate again what has been evaluated.
    threads : int
        Of each model.
    deadline : float or None
        Time, in seconds since the epoch, after which no trial and no fold starts.
    """

    results_dir: Path
    data_dir: Path | None = None
    registry: str = REGISTRY
    budget: Budget = field(default_factory=Budget)
    folds: tuple[int, ...] = EVALUATION_FOLDS
    test_rows: int | None = None
    n_samples: int = N_SAMPLES
    force: bool = False
    threads: int = 1
    deadline: float | None = None


def add_selectors(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all commands of the protocol share."""
    add_data_dir(parser)
    parser.add_argument("--results-dir", type=Path, help="directory of the results (default: the committed ones)")
    parser.add_argument(
        "--data-sets",
        nargs="+",
        metavar="NAME",
        help=f"data sets, or synthetic distributions of {DISTRIBUTION_ROWS} rows; default: all available data sets",
    )
    parser.add_argument("--families", nargs="+", metavar="NAME", help="default: all whose packages are installed")
    parser.add_argument(
        "--registry",
        default=REGISTRY,
        help=f"module:mapping of the families, for additional families (default: {REGISTRY})",
    )
    parser.add_argument("--jobs", type=_positive, help="processes; each does one study or one fold (default: 1)")
    parser.add_argument("--threads", type=_positive, help="threads of each model (default: cores divided by jobs)")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Declare the budget of a study."""
    parser.add_argument("--trials", type=_positive, help="finite trials of each study (default: the paper's)")
    parser.add_argument("--minutes", type=float, help="minutes of each study, over all runs (default: no limit)")
    parser.add_argument(
        "--prune", action="store_true", help="end trials that are bad on a part of the rows (the paper does not)"
    )


def add_folds(parser: argparse.ArgumentParser) -> None:
    """Declare what is evaluated."""
    parser.add_argument(
        "--folds", nargs="+", type=int, choices=EVALUATION_FOLDS, metavar="FOLD", help="default: 1 to 5"
    )
    parser.add_argument("--test-rows", type=_positive, help="score at most this many rows of a fold")
    parser.add_argument("--force", action="store_true", help="evaluate again what has been evaluated")


def settings_of(args: argparse.Namespace, deadline: float | None = None) -> Settings:
    """Read the options; those that a command does not have keep their defaults."""
    jobs = args.jobs or 1
    return Settings(
        results_dir=args.results_dir or PROTOCOL,
        data_dir=data_directory(args.data_dir),
        registry=args.registry,
        budget=Budget(getattr(args, "trials", None), getattr(args, "minutes", None), getattr(args, "prune", False)),
        folds=tuple(getattr(args, "folds", None) or EVALUATION_FOLDS),
        test_rows=getattr(args, "test_rows", None),
        force=getattr(args, "force", False),
        threads=args.threads or max(1, cores() // jobs),
        deadline=deadline,
    )


def registry(where: str) -> Mapping[str, Family]:
    """Import the mapping of families that ``module:name`` points at."""
    module, _, name = where.partition(":")
    try:
        result: Mapping[str, Family] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ResultsError(f"there is no registry of families at {where!r}: {error}.") from error
    return result


def choose_families(families: Mapping[str, Family], names: Sequence[str] | None) -> list[Family]:
    """Return the named families, which must be installed, or all installed ones; list the others on stderr."""
    if names is None:
        for family in families.values():
            if not family.available():
                _say(f"{family.name} is left out: it needs {', '.join(family.requires)}")
        return [family for family in families.values() if family.available()]
    chosen = [families[_known("--families", name, families)] for name in names]
    for family in chosen:
        if not family.available():
            raise ResultsError(f"the family {family.name!r} needs {', '.join(family.requires)}, not all installed.")
    return chosen


def choose_tables(names: Sequence[str] | None, directory: Path | None) -> dict[str, Table]:
    """Return the named data sets, which must be available, or all available ones; the smallest first."""
    if names is None:
        missing = {name: why for name in DATA_SETS if (why := why_not(name, directory))}
        for name, why in missing.items():
            _say(f"{name} is left out: {why}")
        names = [name for name in DATA_SETS if name not in missing]
    chosen = [_known("--data-sets", name, table_names()) for name in names]
    tables = {name: load_table(name, directory) for name in chosen}
    return dict(sorted(tables.items(), key=lambda item: len(item[1].y)))


def why_not(name: str, directory: Path | None) -> str | None:
    """Return why a data set is not available; ``None`` if it is."""
    try:
        load_table(name, directory)
    except DataSetError as error:
        return str(error)
    return None


@cache
def load_table(name: str, directory: Path | None) -> Table:
    """Read a data set, or draw a table from a synthetic distribution; cached per process."""
    if name in DATA_SETS:
        return load(DATA_SETS[name], directory)
    return DISTRIBUTIONS[name].draw(DISTRIBUTION_ROWS, np.random.default_rng(MASTER_SEED))


def table_names() -> list[str]:
    """Return the choices of ``--data-sets``: the data sets, and the synthetic distributions of one response."""
    return [*DATA_SETS, *(name for name, distribution in DISTRIBUTIONS.items() if distribution.n_outputs == 1)]


def _known(option: str, name: str, names: Mapping[str, object] | Sequence[str]) -> str:
    try:
        return known(option, name, names)
    except ValueError as error:
        raise ResultsError(str(error)) from None


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {value}")
    return value


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
