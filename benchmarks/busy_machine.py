"""Automatic fits beside other work: threads that follow the load beside threads that do not.

All fits of a table have the same rows, seed and limit in seconds of the clock on the wall. The other work is processes
that count, one for each core that is taken.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import provenance
from benchmarks.bag_mix import RESULTS
from benchmarks.datasets import add_data_dir
from benchmarks.records import Record, append, latest
from benchmarks.rivals.page import markdown
from benchmarks.rivals.problems import TABLES, Problem, problem
from benchmarks.rivals.scores import LEVELS, scores
from diffgbm import AutoDiffGBM, warmup
from diffgbm.first_stage import useful_threads

KEY = ("table", "rows", "preset", "limit", "busy", "threads", "follow")
ROWS = 4000
"""Training rows, at most: those of fold 0."""
CASES = ((True, "follow the load"), (False, "as many as asked for"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument(
        "--tables", nargs="+", choices=TABLES, default=["yacht", "concrete", "kin8nm", "power_plant"], metavar="NAME"
    )
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds of each fit")
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2], help="cores that other work takes")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads that are asked for")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def count() -> None:
    """Keep a core busy."""
    number = 0
    while True:
        number += 1


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Let so many processes count."""
    started = [multiprocessing.get_context("spawn").Process(target=count, daemon=True) for _ in range(processes)]
    for process in started:
        process.start()
    if started:
        time.sleep(2.0)  # until they have imported what they need
    try:
        yield
    finally:
        for process in started:
            process.terminate()
            process.join()


@contextmanager
def threads_as_asked() -> Iterator[None]:
    """Let LightGBM have the threads that were asked for, whatever the load."""
    module: Any = useful_threads
    usual = module._LOAD
    module._LOAD = useful_threads.Load(lambda threads: 1.0)
    try:
        yield
    finally:
        module._LOAD = usual


def measure(part: Problem, key: Record) -> Record:
    """Fit one pool beside other work, and score its 99 quantiles."""
    with busy(key["busy"]):
        if key["follow"]:
            fitted, seconds = _fit(part, key)
        else:
            with threads_as_asked():
                fitted, seconds = _fit(part, key)
    found = scores(fitted.predict_quantiles(part.X_test, LEVELS.tolist()), part.y_test)
    return {**key, "crps": found["crps"], "seconds": seconds, "cut": fitted.cut_short_, "time": provenance.now()}


def _fit(part: Problem, key: Record) -> tuple[AutoDiffGBM, float]:
    model = AutoDiffGBM(preset=key["preset"], time_limit=key["limit"], n_jobs=key["threads"], seed=0)
    before = time.perf_counter()
    model.fit(part.X_train[: key["rows"]], part.y_train[: key["rows"]])
    return model, time.perf_counter() - before


def page(lines: Sequence[Record]) -> str:
    """Write the lines as Markdown."""
    text = [
        "# Beside other work",
        "`python -m benchmarks busy-machine`: automatic fits while other processes take cores of the machine. "
        "LightGBM's threads wait for each other many times in each tree; `first_stage.useful_threads` measures every "
        "few seconds how many of them help. * The limit cut the fit short.",
    ]
    settings = ("rows", "preset", "limit", "threads")
    for chosen in dict.fromkeys(tuple(line[name] for name in settings) for line in lines):
        here = [line for line in lines if tuple(line[name] for name in settings) == chosen]
        rows, preset, limit, threads = chosen
        body = [_row(here, *place) for place in dict.fromkeys((line["table"], line["busy"]) for line in here)]
        header = ["", "cores taken", *(f"{what}, {name}" for what in ("CRPS", "seconds") for _, name in CASES)]
        text += [f"## {preset}, {threads} threads, {limit:g} s, {rows} rows at most", markdown(header, body)]
    return "\n\n".join(text) + "\n"


def _row(lines: Sequence[Record], table: str, taken: int) -> list[str]:
    found = {line["follow"]: line for line in lines if (line["table"], line["busy"]) == (table, taken)}
    crps = [f"{found[case]['crps']:.4g}{'*' * found[case]['cut']}" if case in found else "" for case, _ in CASES]
    seconds = [f"{found[case]['seconds']:.1f}" if case in found else "" for case, _ in CASES]
    return [table, str(taken), *crps, *seconds]


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    lines, done = args.results_dir / "busy_machine.jsonl", latest(args.results_dir / "busy_machine.jsonl", KEY)
    warmup()
    for table in args.tables:
        part = problem(table, 0, args)
        for taken in args.busy:
            for follow, _ in CASES:
                values = (table, ROWS, args.preset, args.time_limit, taken, args.threads, follow)
                if values not in done:
                    done[values] = measure(part, dict(zip(KEY, values, strict=True)))
                    append(lines, done[values])
                    print(*values, f"{done[values]['crps']:.4g} {done[values]['seconds']:.1f} s", flush=True)
    path = args.results_dir / "busy_machine.md"
    path.write_text(page(list(done.values())), encoding="utf-8")
    print(path)
