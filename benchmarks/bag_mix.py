"""Averaging the velocity fields of bags, or mixing bags sample by sample: CRPS and coverage on fold 0."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np

from benchmarks.datasets import DATA_SETS, ROOT, add_data_dir, data_directory, load
from benchmarks.protocol import Fold, prepare
from diffgbm import DiffGBM, metrics
from diffgbm.engine.factory import Mix

RESULTS = ROOT / "benchmarks" / "results"
NAMES = ("yacht", "diabetes", "energy", "concrete", "wine", "kin8nm", "power_plant")
N_SAMPLES = 1000
MIXES: tuple[Mix, ...] = get_args(Mix)


@dataclass(frozen=True)
class Line:
    """Scores of one way to combine the bags of a model."""

    data_set: str
    recipe: str
    mix: Mix
    crps: float
    coverage_50: float
    coverage_90: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--data-sets", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--bags", type=int, default=5, help="bags of each model")
    parser.add_argument("--threads", type=int, default=1, help="threads of each fit")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of the page")


def first_folds(args: argparse.Namespace) -> Iterator[tuple[str, Fold]]:
    """Yield fold 0 of each data set that the options name."""
    for name in args.data_sets:
        yield name, prepare(load(DATA_SETS[name], data_directory(args.data_dir)), 0)


def models(bags: int, threads: int) -> dict[str, DiffGBM]:
    """Return a deterministic and a stochastic recipe, with and without a mean subtracted."""
    return {
        "flow": DiffGBM.flow(seed=0, n_jobs=threads, n_bags=bags),
        "EDM, no mean": DiffGBM(residualize="off", seed=0, n_jobs=threads, n_bags=bags),
    }


def measure(data_set: str, recipe: str, model: DiffGBM, fold: Fold) -> list[Line]:
    """Fit once and score every way to combine the bags."""
    model.fit(fold.X_train, fold.y_train)
    y = (fold.y_test - fold.response.mean) / fold.response.scale
    fitted, lines = model.model_, []
    for mix in MIXES:
        model.model_ = replace(fitted, bag_mix=mix)
        samples = np.asarray(model.sample(fold.X_test, N_SAMPLES, seed=1))
        crps = float(metrics.crps(samples, y).mean() * fold.response.scale)
        lines.append(Line(data_set, recipe, mix, crps, *(metrics.coverage(samples, y, q) for q in (0.5, 0.9))))
    return lines


def table(lines: Sequence[Line], bags: int) -> str:
    """Write the result as Markdown."""
    out = [
        "# Bags averaged or mixed",
        "",
        f"`python -m benchmarks bag-mix --bags {bags}`: fold 0, {N_SAMPLES:,} samples of each test row. The bags are",
        "the same: `mean` averages their fields, `mixture` draws each sample from one of them.",
        "",
        "| data set | recipe | CRPS, mean | mixture | ratio | 50% coverage, mean | mixture | 90%, mean | mixture |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    by_key = {(line.data_set, line.recipe, line.mix): line for line in lines}
    ratios, errors = [], []
    for data_set, recipe in dict.fromkeys((line.data_set, line.recipe) for line in lines):
        mean, mixture = (by_key[data_set, recipe, mix] for mix in ("mean", "mixture"))
        ratios.append(mixture.crps / mean.crps)
        errors.append([abs(line.coverage_50 - 0.5) for line in (mean, mixture)])
        errors[-1] += [abs(line.coverage_90 - 0.9) for line in (mean, mixture)]
        covered = (mean.coverage_50, mixture.coverage_50, mean.coverage_90, mixture.coverage_90)
        numbers = [f"{mean.crps:.4g}", f"{mixture.crps:.4g}", f"{ratios[-1]:.3f}", *(f"{c:.3f}" for c in covered)]
        out.append(f"| {data_set} | {recipe} | {' | '.join(numbers)} |")
    off = np.mean(errors, axis=0)
    ratio = math.exp(float(np.mean(np.log(ratios))))
    out += [
        "",
        f"Geometric mean of the ratios: {ratio:.3f}. Coverage is off by {off[0]:.3f} (mean) and {off[1]:.3f} (mixture)",
        f"at 50%, and by {off[2]:.3f} and {off[3]:.3f} at 90%.",
    ]
    return "\n".join(out) + "\n"


def run(args: argparse.Namespace) -> None:
    """Measure every table and recipe, and write the page."""
    lines = []
    for name, fold in first_folds(args):
        for recipe, model in models(args.bags, args.threads).items():
            lines += measure(name, recipe, model, fold)
            print(*lines[-len(MIXES) :], sep="\n", flush=True)
    path = args.results_dir / "bag_mix.md"
    path.write_text(table(lines, args.bags), encoding="utf-8")
    print(path)
