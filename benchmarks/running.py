"""Run the whole protocol: tune, evaluate and write the tables. Finished work is kept, so you can run it again.

Data sets run in the order of their size; all families finish on one before the next starts. ``--quick`` runs every
step on two small tables in a few minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks import selection
from benchmarks.cluster_dispatch import dispatch_at
from benchmarks.datasets import data_directory
from benchmarks.dispatch import cores, dispatch
from benchmarks.layout import QUICK, Layout, ResultsError
from benchmarks.monitor import Monitor
from benchmarks.selection import SYNTHETIC, Settings, choose_families, choose_tables, registry, settings_of, why_not
from benchmarks.units import BAD, Report, Unit, is_over, perform, studies

QUICK_DATA = ("yacht", "diabetes")
QUICK_TRIALS = 2
QUICK_MINUTES = 0.25
QUICK_FOLDS = (1, 2)

Follow = Callable[[Unit, Report], Sequence[Unit]]
"""Returns the units that can start once a unit has finished."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    selection.add_selectors(parser)
    selection.add_budget(parser)
    selection.add_folds(parser)
    parser.add_argument(
        "--minutes-total", type=float, help="start no trial and no fold after this time; the next run continues"
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="address of a Dask scheduler whose workers do the work")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{' and '.join(QUICK_DATA)}, {QUICK_TRIALS} trials, folds {QUICK_FOLDS[0]} and {QUICK_FOLDS[1]}, "
        "into benchmarks/results/quick; options on the command line take precedence",
    )


def run(args: argparse.Namespace) -> None:
    """Tune, evaluate, and write the tables of all finished units."""
    deadline = None if args.minutes_total is None else time.time() + 60.0 * args.minutes_total
    if args.quick:
        args = quick(args)
    settings = settings_of(args, deadline)
    bad = work(settings, args.data_sets, args.families, args.jobs or 1, ("tune", "evaluate"), args.dask)
    if Layout(settings.results_dir).evaluation.is_file():
        from benchmarks.tables.command import write_tables

        for path in write_tables(settings.results_dir):
            print(path)
    complain(bad)


def quick(args: argparse.Namespace) -> argparse.Namespace:
    """Fill in the quick preset for options that you left out. A synthetic table replaces a missing one."""
    preset = {
        "results_dir": QUICK,
        "data_sets": _quick_data(args),
        "trials": QUICK_TRIALS,
        "minutes": QUICK_MINUTES,
        "folds": list(QUICK_FOLDS),
        "jobs": cores(),
    }
    set_by_user = {name: value for name, value in vars(args).items() if value is not None}
    return argparse.Namespace(**{**vars(args), **preset, **set_by_user})


def _quick_data(args: argparse.Namespace) -> list[str]:
    directory = data_directory(args.data_dir)
    missing = {name: why for name in QUICK_DATA if (why := why_not(name, directory))}
    for name, why in missing.items():
        print(f"{name} is not available; the synthetic distribution {SYNTHETIC} replaces it: {why}", file=sys.stderr)
    return [name for name in QUICK_DATA if name not in missing] + [SYNTHETIC] * bool(missing)


def work(
    settings: Settings,
    data_sets: Sequence[str] | None,
    families: Sequence[str] | None,
    jobs: int,
    actions: Sequence[str],
    address: str | None = None,
) -> list[Unit]:
    """Do the chosen actions for each data set and family, here or on a Dask cluster; return the units that failed."""
    Layout(settings.results_dir).prepare()
    chosen = choose_families(registry(settings.registry), families)
    pairs = studies(choose_tables(data_sets, settings.data_dir), chosen)
    folds = [study.at(fold) for study in pairs for fold in settings.folds]
    expected = [*(pairs if "tune" in actions else []), *(folds if "evaluate" in actions else [])]
    monitor = Monitor(expected, jobs)
    follow: Follow = partial(_folds_of, settings, monitor) if "evaluate" in actions else lambda unit, report: []
    bad: list[Unit] = []
    try:
        over = (
            partial(dispatch, jobs=jobs, threads=settings.threads) if address is None else partial(dispatch_at, address)
        )
        left = over(
            pairs if "tune" in actions else folds,
            partial(perform, settings),
            partial(_ended, monitor, bad, follow),
            lost=partial(_lost, monitor, bad, follow),
            stop=partial(is_over, settings),
        )
        if left:
            monitor.say("time is over; run the same command to continue")
    except KeyboardInterrupt:
        raise ResultsError("interrupted; run the same command to continue.") from None
    finally:
        monitor.close()
    return bad


def complain(bad: Sequence[Unit]) -> None:
    """Raise if units failed."""
    if bad:
        raise ResultsError(f"no result of {len(bad)} units: {', '.join(map(str, bad))}.")


def _folds_of(settings: Settings, monitor: Monitor, unit: Unit, report: Report) -> list[Unit]:
    """Return the folds to evaluate after a study. If the study failed, drop them from the expected units."""
    if unit.fold is not None:
        return []
    folds = [unit.at(fold) for fold in settings.folds]
    if report.state in ("tuned", "kept"):
        return folds
    monitor.dropped(folds)
    return []


def _ended(monitor: Monitor, bad: list[Unit], follow: Follow, unit: Unit, report: Report) -> Sequence[Unit]:
    monitor.ended(unit, report)
    if report.state in BAD:
        bad.append(unit)
    return follow(unit, report)


def _lost(monitor: Monitor, bad: list[Unit], follow: Follow, unit: Unit) -> None:
    _ended(monitor, bad, follow, unit, Report("error", "its process died twice", 0.0))
