"""Run the studies of the paper's tables and figures and test its claims: lines, tables, figures and docs/paper.md.

Units that have a line are not run again, so you can run the same command again after an interruption.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.datasets import add_data_dir, data_directory
from benchmarks.dispatch import cores, dispatch
from benchmarks.layout import QUICK, ResultsError
from benchmarks.paper_studies.documents import write_document, write_study
from benchmarks.paper_studies.pages import finished
from benchmarks.paper_studies.reader import no_such
from benchmarks.paper_studies.schema import STUDIES, Study, load_studies
from benchmarks.paper_studies.study_tables import CT
from benchmarks.paper_studies.work import RESULTS, Report, Settings, Task, perform, tasks_of
from benchmarks.protocol import EVALUATION_FOLDS
from benchmarks.selection import table_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="studies of benchmarks/studies, or all")
    parser.add_argument("--quick", action="store_true", help="few rows and trees, into benchmarks/results/quick/paper")
    parser.add_argument("--data-sets", nargs="+", metavar="NAME", help="these instead (CT slices' studies keep theirs)")
    parser.add_argument("--folds", "--seeds", nargs="+", type=int, choices=EVALUATION_FOLDS, metavar="FOLD")
    parser.add_argument("--jobs", type=int, help="processes, each with one fold of a data set (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="of each fit (default: 1)")
    parser.add_argument("--minutes-total", type=float, help="start no unit after this time; the next run continues")
    parser.add_argument("--force", action="store_true", help="measure units again that have a line")
    parser.add_argument("--results-dir", type=Path, help="directory of the lines and tables")
    parser.add_argument("--studies-dir", type=Path, default=STUDIES, help="directory of the study files")
    parser.add_argument("--no-figures", action="store_true", help="write only tables, which needs no matplotlib")
    parser.add_argument("--pages", action="store_true", help="measure nothing; write tables, figures and docs/paper.md")
    parser.add_argument("--docs-dir", type=Path, help="where --pages writes paper.md (default: docs)")


def run(args: argparse.Namespace) -> None:
    """Run the chosen studies and write the tables of all lines."""
    results_dir = args.results_dir or (QUICK / "paper" if args.quick else RESULTS)
    if args.pages:
        write_pages(args, results_dir)
        return
    studies = chosen(args)
    bad = work(args, studies, results_dir)
    for study in studies:
        paths = write_study(study, results_dir, not args.no_figures)
        print(paths[0])
        for claim, outcome in finished(study, results_dir).outcomes():
            print(f"  {outcome.finding.upper():>14}  {claim.claim}\n                  {outcome.numbers}")
    if bad:
        raise ResultsError(f"no line of {len(bad)} units: {'; '.join(map(str, bad))}.")


def chosen(args: argparse.Namespace) -> list[Study]:
    """Return the named studies with what the options change."""
    if not args.names:
        raise no_such("study", "the study", "", ["all", *(s.name for s in load_studies(None, args.studies_dir))])
    names = None if args.names == ["all"] else args.names
    studies = load_studies(names, args.studies_dir)
    for name in args.data_sets or ():
        if name not in table_names():
            raise no_such("--data-sets", "the data set", name, table_names())
    return [_changed(study.quickly() if args.quick else study, args) for study in studies]


def _changed(study: Study, args: argparse.Namespace) -> Study:
    if args.folds:
        study = replace(study, folds=tuple(args.folds))
    if args.data_sets and study.kind == "models" and study.data_sets != (CT,):
        study = replace(study, data_sets=tuple(args.data_sets))
    return study


def work(args: argparse.Namespace, studies: list[Study], results_dir: Path) -> list[Report]:
    """Do all tasks and return the units that failed."""
    from diffgbm import warmup

    warmup()  # compile first, so that no unit's time includes it
    jobs = args.jobs or (cores() if args.quick else 1)
    settings = Settings(
        results_dir=results_dir,
        data_dir=data_directory(args.data_dir),
        threads=args.threads,
        download=not args.quick,
        force=args.force,
        deadline=None if args.minutes_total is None else time.time() + 60.0 * args.minutes_total,
    )
    tasks, bad = tasks_of(studies), list[Report]()

    def done(task: Task, reports: list[Report]) -> list[Task]:
        for report in reports:
            if report.state not in ("kept", "over"):
                print(report, file=sys.stderr, flush=True)
            if report.state == "failed":
                bad.append(report)
        return []

    def lost(task: Task) -> None:
        bad.extend(Report(s.name, task.data_set, task.fold, "failed", "its process died", 0.0) for s in task.studies)

    try:
        left = dispatch(
            tasks,
            partial(perform, settings),
            done,
            lost=lost,
            jobs=jobs,
            threads=args.threads,
            stop=settings.is_over,
        )
    except KeyboardInterrupt:
        raise ResultsError("interrupted; run the same command to continue.") from None
    if left:
        print(f"time is over; {len(left)} tasks were not started", file=sys.stderr)
    return bad


def write_pages(args: argparse.Namespace, results_dir: Path) -> None:
    """Write every study's page and ``paper.md`` from the lines."""
    studies = load_studies(None, args.studies_dir)
    if args.quick:
        studies = [study.quickly() for study in studies]
    for study in studies:
        write_study(study, results_dir, not args.no_figures)
    extra = {} if args.docs_dir is None else {"docs": args.docs_dir}
    print(write_document(studies, results_dir, **extra))
