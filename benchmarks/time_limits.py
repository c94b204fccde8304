"""Whether AutoDiffGBM keeps short time limits, and how the CRPS improves with time and preset, on fold 0."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.bag_mix import RESULTS, first_folds
from benchmarks.datasets import DATA_SETS, add_data_dir
from benchmarks.dispatch import cores
from benchmarks.protocol import REPEATS, Fold
from diffgbm import AutoDiffGBM
from diffgbm.auto import presets

NAMES = ("yacht", "wine", "power_plant", "protein")
PRESETS = ("fast", "best")
LIMITS = (5.0, 20.0, 60.0)
ALLOWED = 1.2
"""A fit keeps its limit if it takes at most this multiple of it."""


@dataclass(frozen=True)
class Line:
    """One fit.

    Attributes
    ----------
    data_set, preset : str
        Data set and preset.
    rows : int
        Rows of the training part.
    limit, seconds : float
        Time limit, and seconds of the fit.
    crps : float
        Mean over the test rows, in original units.
    """

    data_set: str
    preset: str
    rows: int
    limit: float
    seconds: float
    crps: float

    @property
    def within_limit(self) -> bool:
        """Whether the limit was kept."""
        return self.seconds <= ALLOWED * self.limit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--data-sets", nargs="+", choices=list(DATA_SETS), default=list(NAMES), metavar="NAME")
    parser.add_argument("--presets", nargs="+", choices=list(presets.PRESETS), default=list(PRESETS))
    parser.add_argument("--limits", nargs="+", type=float, default=list(LIMITS), metavar="SECONDS")
    parser.add_argument("--threads", type=int, help="of each fit (default: all cores)")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of the page")


def measure(data_set: str, fold: Fold, model: Any, now: Callable[[], float] = time.monotonic) -> Line:
    """Fit once, measure wall-clock time, and score the test rows."""
    start = now()
    model.fit(fold.X_train, fold.y_train)
    seconds = now() - start
    crps = model.crps(fold.X_test, fold.response.apply(fold.y_test)).mean() * float(fold.response.scale)
    return Line(data_set, model.preset, len(fold.y_train), model.time_limit, seconds, float(crps))


def table(lines: Sequence[Line], threads: int) -> str:
    """Write the result as Markdown."""
    out = [
        "# Short time limits",
        "",
        f"`python -m benchmarks time-limits --threads {threads}`: `AutoDiffGBM` with a `time_limit` on fold 0.",
        "",
        "| data set | rows | preset | limit (s) | fit (s) | of the limit | CRPS |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {x.data_set} | {x.rows} | {x.preset} | {x.limit:g} | {x.seconds:.1f} | {x.seconds / x.limit:.2f} "
            f"| {x.crps:.3g} |"
            for x in lines
        ),
        "",
        f"- {sum(x.within_limit for x in lines)} of {len(lines)} took at most {ALLOWED:g} times the limit.",
    ]
    return "\n".join(out) + "\n"


def run(args: argparse.Namespace) -> None:
    """Fit every table with every preset under every limit, and write the page."""
    threads, lines = args.threads or cores(), []
    for name, fold in first_folds(args):
        for preset, limit in product(args.presets, args.limits):
            lines.append(
                measure(
                    name, fold, AutoDiffGBM(preset=preset, time_limit=limit, n_jobs=threads, seed=0, repeats=REPEATS)
                )
            )
            print(lines[-1], flush=True)
    path = args.results_dir / "time_limits.md"
    path.write_text(table(lines, threads), encoding="utf-8")
    print(path)
