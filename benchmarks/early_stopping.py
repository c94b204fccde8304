"""How much the round at which boosting stops depends on the seed: a tenth held out, and cross-validation, on fold 0."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bag_mix import RESULTS
from benchmarks.datasets import DATA_SETS, add_data_dir
from benchmarks.even_noise import RECIPES
from benchmarks.protocol import REPEATS
from benchmarks.records import Record
from benchmarks.single_fits import Case, measured

NAMES = ("energy", "concrete")
WAYS = ((0.1, "independent"), (0.1, "even"), ("auto", "independent"), ("auto", "even"))
"""Values of ``eval_percent`` and ``noise_design``: those of the paper first, the defaults last."""
KEY = ("data_set", "fold", "recipe", "eval_percent", "design", "seed")
FOLD = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--data-sets", nargs="+", choices=list(DATA_SETS), default=list(NAMES), metavar="NAME")
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=["DiffGBM()", "published"])
    parser.add_argument("--seeds", type=int, default=10, help="fits of each model")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """Yield all fits that the options ask for."""
    for name, recipe, (share, design), seed in product(args.data_sets, args.recipes, WAYS, range(args.seeds)):
        key = dict(zip(KEY, (name, FOLD, recipe, share, design, seed), strict=True))
        params: dict[str, Any] = {"eval_percent": share, "noise_design": design, "repeats": REPEATS}
        yield key, partial(RECIPES[recipe], **params, seed=seed, n_jobs=1)


def page(lines: Sequence[Record]) -> str:
    """Write rounds and CRPS over seeds as Markdown."""
    grouped: dict[tuple[str, ...], list[Record]] = {}
    for line in lines:
        grouped.setdefault(tuple(line[name] for name in KEY[:-1]), []).append(line)
    out = [
        "# When boosting stops",
        "",
        "`python -m benchmarks early-stopping`: fold 0, the same model with other seeds, which decide the rows that "
        "are held out, the folds and the noise. Variation is the standard deviation of the rounds over their mean.",
        "",
        "| data set | model | `eval_percent` | noise | fits | rounds | variation | CRPS | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, _, recipe, share, design), fits in sorted(grouped.items(), key=lambda item: item[0][:3]):
        rounds = np.array([fit["rounds"] for fit in fits])
        out.append(
            f"| {name} | {recipe} | {share} | {design} | {len(fits)} | {rounds.min():.0f} to {rounds.max():.0f} "
            f"| {rounds.std() / rounds.mean():.2f} | {np.mean([fit['crps'] for fit in fits]):.4g} "
            f"| {np.mean([fit['seconds'] for fit in fits]):.1f} |"
        )
    return "\n".join(out) + "\n"


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    lines = measured(args.results_dir / "early_stopping.jsonl", cases(args), args.data_dir)
    path = args.results_dir / "early_stopping.md"
    path.write_text(page(lines), encoding="utf-8")
    print(path)
