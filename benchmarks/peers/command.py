"""Compare DiffGBM with treeffuser and the released diffgbm: CRPS, coverage and seconds side by side.

Every cell (data set, fold, recipe, package, repeat) is one line of ``peers.jsonl`` and is not run again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.datasets import DATA_SETS, ROOT, add_data_dir, data_directory, load
from benchmarks.peers.jobs import KEY, Cell, run_cell
from benchmarks.peers.recipes import PACKAGES, RECIPES, TREEFFUSER
from benchmarks.peers.table import report
from benchmarks.protocol import cap_test_rows, split
from benchmarks.records import append, latest
from benchmarks.table_files import Table

RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Budget:
    """Test rows and repeats of a data set.

    Attributes
    ----------
    test_rows : int or None
        Test rows at most; ``None`` is all.
    repeats : int
        Model seeds for each fold.
    treeffuser_repeats : int
        The same for treeffuser, which samples slowest and is shown for orientation.
    """

    test_rows: int | None
    repeats: int
    treeffuser_repeats: int

    def repeats_of(self, package: str) -> int:
        """Return the model seeds of a package."""
        return self.treeffuser_repeats if package == TREEFFUSER else self.repeats


BUDGETS: dict[str, Budget] = {
    "concrete": Budget(None, 6, 2),
    "energy": Budget(None, 6, 2),
    "kin8nm": Budget(250, 4, 1),
    "california_housing": Budget(250, 2, 1),
}
"""The comparison as it is committed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_data_dir(parser)
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=list(BUDGETS), metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2], metavar="FOLD")
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--test-rows", type=int, help="score at most this many test rows (default: by data set)")
    parser.add_argument("--repeats", type=int, help="model seeds for each fold (default: by data set)")
    parser.add_argument("--n-samples", type=int, default=200)
    parser.add_argument("--again", nargs="+", choices=PACKAGES, default=[], help="run these even if results exist")
    parser.add_argument("--table-only", action="store_true", help="write the table from the recorded results")
    parser.add_argument("--results", type=Path, default=RESULTS, help="directory of peers.jsonl and peers.md")


def budget_of(name: str, test_rows: int | None, repeats: int | None) -> Budget:
    """Return a data set's budget with the overrides of the options."""
    budget = BUDGETS.get(name, Budget(250, 2, 1))
    if test_rows is not None:
        budget = replace(budget, test_rows=test_rows)
    return budget if repeats is None else replace(budget, repeats=repeats, treeffuser_repeats=repeats)


def plan(args: argparse.Namespace, rows: Mapping[str, int]) -> list[Cell]:
    """List all cells of the arguments, repeat by repeat; ``rows`` counts each data set's rows."""
    budgets = {name: budget_of(name, args.test_rows, args.repeats) for name in args.data}
    return [
        Cell(name, fold, recipe, package, repeat, scored_rows(rows[name], fold, budgets[name]), args.n_samples)
        for repeat in range(max(b.repeats for b in budgets.values()))
        for name in args.data
        for fold in args.folds
        for recipe in args.recipes
        for package in RECIPES[recipe].packages
        if package in args.packages and repeat < budgets[name].repeats_of(package)
    ]


def scored_rows(n_rows: int, fold: int, budget: Budget) -> int:
    """Return how many test rows are scored."""
    return len(cap_test_rows(split(n_rows, fold), budget.test_rows).test)


def missing(cells: Sequence[Cell], done: Iterable[tuple[Any, ...]], again: Sequence[str] = ()) -> list[Cell]:
    """Return the cells that have no record yet, and those of packages to run again."""
    present = set(done)
    return [cell for cell in cells if cell.key not in present or cell.package in again]


def work(
    cells: Sequence[Cell],
    tables: Mapping[str, Table],
    path: Path,
    run_one: Callable[[Cell, Table], dict[str, Any]] = run_cell,
) -> None:
    """Run cells one after another, each written to ``path`` as it finishes; progress on stderr."""
    started = time.monotonic()
    for number, cell in enumerate(cells, 1):
        record = run_one(cell, tables[cell.data_set])
        append(path, record)
        elapsed = time.monotonic() - started
        left = elapsed / number * (len(cells) - number)
        print(
            f"peers: {number}/{len(cells)} {cell}: CRPS {record['crps']:.4g}, 90% coverage {record['coverage90']:.3f} "
            f"(about {left / 60:.0f} min left)",
            file=sys.stderr,
            flush=True,
        )


def run(args: argparse.Namespace) -> None:
    """Run what is missing and write the table."""
    results, page = args.results / "peers.jsonl", args.results / "peers.md"
    if not args.table_only:
        directory = data_directory(args.data_dir)
        tables = {name: load(DATA_SETS[name], directory) for name in args.data}
        cells = plan(args, {name: len(table.y) for name, table in tables.items()})
        to_do = missing(cells, latest(results, KEY), args.again)
        print(f"peers: {len(cells) - len(to_do)} of {len(cells)} cells are recorded already", file=sys.stderr)
        work(to_do, tables, results)
    text = report(list(latest(results, KEY).values()))
    page.write_text(text, encoding="utf-8")
    print(text)
