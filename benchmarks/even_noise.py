"""Even beside independent noise: CRPS and boosting rounds of single models with the same number of copies."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bag_mix import RESULTS
from benchmarks.datasets import DATA_SETS, add_data_dir
from benchmarks.protocol import REPEATS, seeds
from benchmarks.records import Record
from benchmarks.single_fits import MEASURES, ROWS, TEST_ROWS, Case, geometric, measured
from diffgbm import DiffGBM

RECIPES: dict[str, Callable[..., DiffGBM]] = {
    "DiffGBM()": DiffGBM,
    "flow": DiffGBM.flow,
    "published": DiffGBM.published,
    "EDM, no mean": lambda **params: DiffGBM(residualize="off", **params),
}
DESIGNS = ("independent", "even")
FOLDS = (0, 1, 2)
KEY = ("data_set", "fold", "recipe", "n_repeats", "rows", "seed", "design")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    names = [name for name in DATA_SETS if name != "ct_slices"]
    parser.add_argument("--data-sets", nargs="+", choices=list(DATA_SETS), default=names, metavar="NAME")
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=["DiffGBM()"], metavar="RECIPE")
    parser.add_argument("--folds", nargs="+", type=int, default=list(FOLDS))
    parser.add_argument("--copies", nargs="+", default=["30"], help="n_repeats: numbers, or auto")
    parser.add_argument("--rows", type=int, default=ROWS, help="training rows, at most")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each model")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """Yield all fits that the options ask for."""
    every = product(args.data_sets, args.folds, args.recipes, args.copies, range(args.seeds), DESIGNS)
    for name, fold, recipe, copies, seed, design in every:
        params: dict[str, Any] = {
            "n_repeats": copies if copies == "auto" else int(copies),
            "noise_design": design,
            "seed": seeds(fold).model + 1000 * seed,
            "n_jobs": 1,
            "repeats": REPEATS,
        }
        key = (name, fold, recipe, copies, args.rows, seed, design)
        yield dict(zip(KEY, key, strict=True)), partial(RECIPES[recipe], **params)


def averages(lines: Sequence[Record]) -> dict[tuple[str, str, str, int], dict[str, Record]]:
    """Average over seeds that have both designs: by recipe, copies, table and fold, then by design."""
    grouped: dict[tuple[str, str, str, int], dict[int, dict[str, Record]]] = {}
    for line in lines:
        key = (line["recipe"], line["n_repeats"], line["data_set"], line["fold"])
        grouped.setdefault(key, {}).setdefault(line["seed"], {})[line["design"]] = line
    both = {key: [pair for pair in fits.values() if set(pair) == set(DESIGNS)] for key, fits in grouped.items()}
    return {
        key: {
            design: {name: float(np.mean([pair[design][name] for pair in pairs])) for name in MEASURES}
            for design in DESIGNS
        }
        for key, pairs in both.items()
        if pairs
    }


def page(lines: Sequence[Record]) -> str:
    """Write the ratios of even to independent noise as Markdown."""
    found = averages(lines)
    seeds_ = len({line["seed"] for line in lines})
    out = [
        "# Even noise",
        "",
        "`python -m benchmarks even-noise`: the CRPS of single models whose noisy copies are placed evenly "
        '(`noise_design="even"`), over that with independent copies, with the same number of copies. '
        f"Means over {seeds_} seeds; at most {ROWS:,} training and {TEST_ROWS:,} test rows; repeated rows are "
        "independent. Settings were chosen on fold 0.",
        "",
    ]
    for recipe, copies in dict.fromkeys(key[:2] for key in found):
        here = {key[2:]: pair for key, pair in found.items() if key[:2] == (recipe, copies)}
        out += [*table(f"`{recipe}`" if "(" in recipe else recipe, copies, here), ""]
    return "\n".join(out)


def table(recipe: str, copies: str, pairs: Mapping[tuple[str, int], Mapping[str, Record]]) -> list[str]:
    """Write the ratios of one recipe: a row for each data set, a column for each fold."""
    folds = sorted({fold for _, fold in pairs})
    out = [
        f"{recipe}, {copies} copies:",
        "",
        "| data set | " + " | ".join(f"fold {fold}" for fold in folds) + " | rounds, independent | rounds, even |",
        "|---" * (len(folds) + 3) + "|",
    ]
    for name in [name for name in DATA_SETS if any(name == other for other, _ in pairs)]:
        here = [pairs.get((name, fold)) for fold in folds]
        cells = ["" if pair is None else f"{_ratio(pair, 'crps'):.3f}" for pair in here]
        rounds = [" / ".join(f"{pair[d]['rounds']:.0f}" for pair in here if pair is not None) for d in DESIGNS]
        out += [f"| {name} | " + " | ".join([*cells, *rounds]) + " |"]
    ratios = {key: _ratio(pair, "crps") for key, pair in pairs.items()}
    reported = [ratio for (_, fold), ratio in ratios.items() if fold != 0]
    without = f"; without fold 0 {geometric(reported):.3f}" if reported else ""
    tables = len({name for name, _ in ratios})
    seconds = geometric([_ratio(pair, "seconds") for pair in pairs.values()])
    return [
        *out,
        "",
        f"- Geometric mean over {tables} tables: {geometric(list(ratios.values())):.3f}{without}.",
        f"- Processor seconds of a fit: {seconds:.2f} times those with independent noise.",
    ]


def _ratio(pair: Mapping[str, Record], name: str) -> float:
    independent, even = (pair[design][name] for design in DESIGNS)
    return float(even / independent)


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    lines = measured(args.results_dir / "even_noise.jsonl", cases(args), args.data_dir, args.rows)
    path = args.results_dir / "even_noise.md"
    path.write_text(page(lines), encoding="utf-8")
    print(path)
