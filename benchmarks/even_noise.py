"""Even beside independent noise: CRPS and boosting rounds of single models with the same number of copies."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bag_mix import RESULTS
from benchmarks.datasets import DATA_SETS, add_data_dir, data_directory, load
from benchmarks.protocol import REPEATS, Fold, prepare, seeds
from benchmarks.records import Record, append, latest
from diffgbm import DiffGBM
from diffgbm.data.splits import subsample

RECIPES: dict[str, Callable[..., DiffGBM]] = {
    "DiffGBM()": DiffGBM,
    "flow": DiffGBM.flow,
    "published": DiffGBM.published,
    "EDM, no mean": lambda **params: DiffGBM(residualize="off", **params),
}
DESIGNS = ("independent", "even")
FOLDS = (0, 1, 2)
ROWS, TEST_ROWS = 6000, 2000
MEASURES = ("crps", "rounds", "seconds")
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


def fold_of(name: str, fold: int, rows: int, data_dir: Any) -> Fold:
    """Return a standardised fold of a table whose training part has at most ``rows`` rows."""
    part = prepare(load(DATA_SETS[name], data_directory(data_dir)), fold, TEST_ROWS)
    if len(part.y_train) <= rows:
        return part
    kept, _ = subsample(len(part.y_train), rows, fold)
    return Fold(part.X_train[kept], part.y_train[kept], part.X_test, part.y_test, part.response)


def measure(part: Fold, model: DiffGBM) -> dict[str, float]:
    """Fit once; return the CRPS in original units, the boosting rounds and the processor seconds of the fit."""
    start = time.process_time()
    model.fit(part.X_train, part.y_train)
    seconds = time.process_time() - start
    y = part.response.apply(part.y_test)
    crps = model.crps(part.X_test, y).mean() * float(part.response.scale)
    return {"crps": float(crps), "rounds": float(np.mean(model.n_iterations_)), "seconds": round(seconds, 2)}


def measured(args: argparse.Namespace) -> list[Record]:
    """Return one record for each fit; those that the file of lines has are not fitted again."""
    path = args.results_dir / "even_noise.jsonl"
    done = latest(path, KEY)
    cases = list(product(args.recipes, args.copies, range(args.seeds), DESIGNS))
    for name, fold in product(args.data_sets, args.folds):
        part = None
        for recipe, copies, seed, design in cases:
            key = (name, fold, recipe, copies, args.rows, seed, design)
            if key in done:
                continue
            part = part or fold_of(name, fold, args.rows, args.data_dir)
            model = RECIPES[recipe](
                n_repeats=copies if copies == "auto" else int(copies),
                noise_design=design,
                seed=seeds(fold).model + 1000 * seed,
                n_jobs=1,
                repeats=REPEATS,
            )
            done[key] = {**dict(zip(KEY, key, strict=True)), **measure(part, model)}
            append(path, done[key])
            print(*done[key].values(), flush=True)
    return list(done.values())


def geometric(values: Sequence[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


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
    path = args.results_dir / "even_noise.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(measured(args)), encoding="utf-8")
    print(path)
