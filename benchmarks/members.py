"""What CatBoost and quantile-forest add as members of AutoDiffGBM: CRPS with them over CRPS without, table by table.

Both fits of a pair have the same rows, seed and processor seconds, so that a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import provenance
from benchmarks.automatic.summary import geometric_mean
from benchmarks.bag_mix import RESULTS
from benchmarks.datasets import add_data_dir
from benchmarks.protocol import seeds
from benchmarks.records import Record, append, latest
from benchmarks.rivals.page import markdown
from benchmarks.rivals.problems import KNOWN, TABLES, Problem, problem
from benchmarks.rivals.scores import LEVELS, scores
from benchmarks.short_limits import processor_clock
from diffgbm import AutoDiffGBM, warmup
from diffgbm._util.optional import need

KEY = ("table", "fold", "preset", "limit", "members")
WORSE, BETTER, TABLES_BETTER = 1.005, 0.99, 3
"""Targets: never worse than the first ratio, and at most the second on so many tables."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--tables", nargs="+", choices=[*TABLES, *KNOWN], default=list(TABLES), metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[1], metavar="FOLD")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--time-limit", type=float, default=120.0, help="processor seconds of each fit")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def outside(seed: int) -> list[tuple[str, Any]]:
    """Return the members: CatBoost's quantiles at 19 levels and a quantile forest, on one thread."""
    levels = ",".join(f"{0.05 * i:.2f}" for i in range(1, 20))
    catboost = need("catboost").CatBoostRegressor(
        loss_function=f"MultiQuantile:alpha={levels}",
        thread_count=1,
        random_seed=seed,
        verbose=False,
        allow_writing_files=False,
    )
    forest = need("quantile_forest").RandomForestQuantileRegressor(n_jobs=1, random_state=seed)
    return [("CatBoost", catboost), ("quantile-forest", forest)]


def measure(part: Problem, key: Record) -> Record:
    """Fit one pool and score its 99 quantiles."""
    seed = seeds(key["fold"]).model
    members = outside(seed) if key["members"] else None
    model = AutoDiffGBM(preset=key["preset"], time_limit=key["limit"], n_jobs=1, seed=seed, members=members)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(part.X_train, part.y_train)
        seconds = time.process_time() - start
    found = scores(model.predict_quantiles(part.X_test, LEVELS.tolist()), part.y_test)
    rows = model.leaderboard_ if isinstance(model.leaderboard_, list) else model.leaderboard_.to_dict("records")
    weights = {row["model"]: row["weight"] for row in rows if "your member" in row["model"]}
    said = [str(each.message) for each in caught if "member" in str(each.message)]
    return {**key, **found, "seconds": seconds, "weights": weights, "warnings": said, "time": provenance.now()}


def page(lines: Sequence[Record]) -> str:
    """Write the pairs as Markdown: one table for each preset and limit."""
    text = [
        "# Members from outside",
        "`python -m benchmarks members`: `AutoDiffGBM` with CatBoost (19 quantiles) and quantile-forest as members, "
        "beside the same fit without. The time limit counts processor seconds of one thread; at most 8,000 training "
        f"rows. The target: no ratio above {WORSE}, and {BETTER} or less on {TABLES_BETTER} of the ten tables.",
    ]
    for preset, limit in dict.fromkeys((line["preset"], line["limit"]) for line in lines):
        here = [line for line in lines if (line["preset"], line["limit"]) == (preset, limit)]
        text += [f"## {preset}, {limit:g} s", *pairs(here)]
    return "\n\n".join(text) + "\n"


def pairs(lines: Sequence[Record]) -> list[str]:
    """Return the table of pairs and what became of the target."""
    found: dict[tuple[str, int], dict[bool, Record]] = {}
    for line in lines:
        found.setdefault((line["table"], line["fold"]), {})[line["members"]] = line
    both = {key: (pair[False], pair[True]) for key, pair in found.items() if len(pair) == 2}
    if not both:
        return ["No table has both fits yet."]
    ratios = {key: _ratio(after["crps"], before["crps"]) for key, (before, after) in both.items()}
    body = [
        [
            f"{table}, fold {fold}",
            f"{before['crps']:.4g}",
            f"{after['crps']:.4g}",
            f"{ratios[table, fold]:.3f}",
            _weights(after),
            f"{before['seconds']:.0f}",
            f"{after['seconds']:.0f}",
        ]
        for (table, fold), (before, after) in both.items()
    ]
    header = ["", "CRPS without", "with", "ratio", "weights of the members", "seconds without", "with"]
    worse = sum(ratio > WORSE for ratio in ratios.values())
    better = sum(ratio <= BETTER for ratio in ratios.values())
    return [
        markdown(header, body),
        f"{len(ratios)} pairs: worse than {WORSE} on {worse} (the highest is {max(ratios.values()):.3f}), {BETTER} or "
        f"less on {better}; geometric mean {geometric_mean(ratios.values()):.3f}.",
    ]


def _ratio(after: float, before: float) -> float:
    """Divide two CRPS; they are equal where both are zero, as on naval, whose values are predicted exactly."""
    return 1.0 if after == before else after / before if before > 0.0 else float("inf")


def _weights(line: Record) -> str:
    weights = ", ".join(f"{name.partition(' (')[0]} {weight:.2f}" for name, weight in line["weights"].items())
    return weights or "left out"


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    lines, done = args.results_dir / "members.jsonl", latest(args.results_dir / "members.jsonl", KEY)
    warmup()
    with processor_clock():
        for table in args.tables:
            for fold in args.folds:
                part = problem(table, fold, args)
                for members in (False, True):
                    values = (table, fold, args.preset, args.time_limit, members)
                    if values not in done:
                        done[values] = measure(part, dict(zip(KEY, values, strict=True)))
                        append(lines, done[values])
                        print(*values, f"{done[values]['crps']:.4g}", done[values]["weights"], flush=True)
    path = args.results_dir / "members.md"
    path.write_text(page(list(done.values())), encoding="utf-8")
    print(path)
