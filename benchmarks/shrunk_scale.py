"""Residuals divided by a conditional scale, or not: CRPS of single models behind the same mean."""

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
from benchmarks.protocol import REPEATS, seeds
from benchmarks.records import Record
from benchmarks.single_fits import ROWS, TEST_ROWS, Case, geometric, measured
from diffgbm import DiffGBM
from diffgbm.diffusion.recipe import RESIDUALIZER_C

RECIPES = {"DiffGBM()": {}, "flow": {"noise_design": "even", "eval_percent": "auto"}}
"""Recipes behind the mean C, with even noise."""
SCALES = ("mean", "mean_scale", "mean_shrunk_scale")
KEY = ("data_set", "fold", "recipe", "seed", "residualize")
NAMES = ("concrete", "wine", "power_plant", "california_housing", "protein")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--data-sets", nargs="+", choices=list(DATA_SETS), default=list(NAMES), metavar="NAME")
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=list(RECIPES), metavar="RECIPE")
    parser.add_argument("--folds", nargs="+", type=int, default=[0])
    parser.add_argument("--seeds", type=int, default=1, help="fits of each model")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """Yield all fits that the options ask for."""
    every = product(args.data_sets, args.folds, args.recipes, range(args.seeds), SCALES)
    for name, fold, recipe, seed, scale in every:
        params: dict[str, Any] = {
            **RECIPES[recipe],
            "residualize": scale,
            "extra_residualizer_params": RESIDUALIZER_C,
            "seed": seeds(fold).model + 1000 * seed,
        }
        make = DiffGBM.flow if recipe == "flow" else DiffGBM
        key = dict(zip(KEY, (name, fold, recipe, seed, scale), strict=True))
        yield key, partial(make, **params, n_jobs=1, repeats=REPEATS)


def page(lines: Sequence[Record]) -> str:
    """Write the ratios to the mean alone as Markdown."""
    grouped: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in lines:
        scales = grouped.setdefault((line["recipe"], line["data_set"]), {})
        scales.setdefault(line["residualize"], []).append(line["crps"])
    whole = {key: scales for key, scales in grouped.items() if set(scales) == set(SCALES)}
    folds = sorted({line["fold"] for line in lines})
    out = [
        "# A scale of the residuals",
        "",
        "`python -m benchmarks shrunk-scale`: CRPS of single models with even noise behind the mean C, whose residuals "
        "are divided by nothing, by the paper's scale (`mean_scale`) or by the shrunken one (`mean_shrunk_scale`). "
        f"At most {ROWS:,} training and {TEST_ROWS:,} test rows, fold{'s' * (len(folds) > 1)} "
        f"{', '.join(map(str, folds))}; ratios are those to the first column.",
        "",
        "| model | data set | CRPS, mean | mean_scale, ratio | mean_shrunk_scale, ratio |",
        "|---|---|---|---|---|",
    ]
    ratios: dict[str, list[float]] = {scale: [] for scale in SCALES[1:]}
    for (recipe, name), scales in whole.items():
        means = {scale: float(np.mean(values)) for scale, values in scales.items()}
        for scale, found in ratios.items():
            found.append(means[scale] / means["mean"])
        cells = " | ".join(f"{found[-1]:.3f}" for found in ratios.values())
        out.append(f"| {recipe} | {name} | {means['mean']:.4g} | {cells} |")
    if whole:
        both = " and ".join(f"{geometric(found):.3f} ({scale})" for scale, found in ratios.items())
        out += ["", f"Geometric means of the ratios: {both}."]
    return "\n".join(out) + "\n"


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    lines = measured(args.results_dir / "shrunk_scale.jsonl", cases(args), args.data_dir)
    path = args.results_dir / "shrunk_scale.md"
    path.write_text(page(lines), encoding="utf-8")
    print(path)
