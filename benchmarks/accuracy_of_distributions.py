"""Accuracy and cost of predictive distributions and of random samples, against a large reference sample.

The reference is 100,000 samples of each row. Errors are means over rows: of the mean and the 5%, 50% and 95% quantiles
in units of the row's standard deviation, the largest error of the distribution function, and the relative error of the
CRPS at the observation. Cost is the whole call on all test rows with one thread, in units of 400 random samples.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.datasets import DATA_SETS, ROOT, add_data_dir, data_directory, load
from benchmarks.protocol import Fold, prepare
from diffgbm import DiffGBM
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions.scalar import PredictiveDistribution

RESULTS = ROOT / "benchmarks" / "results"
FIGURE = ROOT / "docs" / "_static" / "accuracy_of_distributions.png"
QUANTILES = (0.05, 0.5, 0.95)
RANDOM = (50, 200, 400, 1000)
POINTS = (144, 233, 256, 377, 610)
METRICS = ("mean", "quantiles", "cdf", "crps")


@dataclass(frozen=True)
class Line:
    """One method under one recipe: its mean errors, and its cost in units of 400 random samples."""

    recipe: str
    method: str
    errors: dict[str, float]
    cost: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--rows", type=int, default=40, help="rows whose errors are averaged")
    parser.add_argument("--reference", type=int, default=100_000, help="samples of each row in the reference")
    parser.add_argument("--trees", type=int, default=300, help="boosting rounds of each model")


def models(trees: int) -> dict[str, DiffGBM]:
    """The recipes: two stochastic samplers, an interpolant and two deterministic ones."""
    common: dict[str, Any] = {
        "seed": 0,
        "n_jobs": 1,
        "n_estimators": trees,
        "early_stopping_rounds": None,
        "n_repeats": 10,
    }
    return {
        "published (SDE, 50 Euler)": DiffGBM.published(**common),
        "EDM, no mean (SDE, 50 Euler)": DiffGBM(residualize="off", **common),
        "flow (interpolant, 25 Euler)": DiffGBM.flow(
            velocity_stochasticity=1.0, sampler_method="euler", n_steps=25, **common
        ),
        "score+ (ODE, 25 Heun)": DiffGBM.score_plus(**common),
        "flow (ODE, 5 Heun)": DiffGBM.flow(**common),
    }


def errors(distribution: PredictiveDistribution, truth: PredictiveDistribution, y: Array) -> dict[str, float]:
    """Mean errors of ``distribution`` over its rows."""
    scale = truth.std()
    grid = truth.quantile(np.linspace(0.001, 0.999, 999))
    quantiles = np.abs(distribution.quantile(list(QUANTILES)) - truth.quantile(list(QUANTILES))).mean(axis=1)
    return {
        "mean": float(np.mean(np.abs(distribution.mean() - truth.mean()) / scale)),
        "quantiles": float(np.mean(quantiles / scale)),
        "cdf": float(np.mean(np.abs(distribution.cdf(grid) - truth.cdf(grid)).max(axis=1))),
        "crps": float(np.mean(np.abs(distribution.crps(y) / truth.crps(y) - 1.0))),
    }


def shortest(call: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the shortest of several runs, which other processes disturb least."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def measure(name: str, model: DiffGBM, fold: Fold, rows: int, reference: int) -> list[Line]:
    """Fit one recipe and measure every method."""
    model.fit(fold.X_train, fold.y_train)
    X, y = fold.X_test[:rows], (fold.y_test[:rows] - fold.response.mean) / fold.response.scale
    truth = PredictiveDistribution.from_points(model.sample(X, reference, seed=1).T)
    unit = shortest(lambda: model.sample(fold.X_test, 400, seed=0))
    lines = []
    for n in RANDOM:
        distributions = [PredictiveDistribution.from_points(model.sample(X, n, seed=seed).T) for seed in range(2, 12)]
        all_errors = [errors(distribution, truth, y) for distribution in distributions]
        mean = {metric: float(np.mean([e[metric] for e in all_errors])) for metric in METRICS}
        cost = shortest(lambda n=n: model.sample(fold.X_test, n, seed=0)) / unit  # type: ignore[misc]
        lines.append(Line(name, f"{n} random samples", mean, cost))
    for n in POINTS:
        cost = shortest(lambda n=n: model.predict_distribution(fold.X_test, grid=n)) / unit  # type: ignore[misc]
        distribution = cast(PredictiveDistribution, model.predict_distribution(X, grid=n))
        lines.append(Line(name, f"distribution, {n} points", errors(distribution, truth, y), cost))
    return lines


def table(lines: list[Line], args: argparse.Namespace) -> str:
    """Write the result as Markdown."""
    out = [
        "# Accuracy of predictive distributions",
        "",
        "`python -m benchmarks accuracy-of-distributions "
        f"--rows {args.rows} --reference {args.reference} --trees {args.trees}`:",
        f"california_housing, fold 1, {args.trees} trees of 31 leaves, one thread. Errors are against",
        f"{args.reference:,} samples of each of {args.rows} test rows (mean and quantiles in standard deviations",
        "of the row, distribution function at its worst, CRPS relative); those of random samples are means over ten",
        "seeds. Cost is the whole call on 2,000 test rows, in units of 400 random samples.",
        "",
        "| recipe | method | mean | quantiles | CDF | CRPS | cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        cells = " | ".join(f"{line.errors[metric]:.4f}" for metric in METRICS)
        out.append(f"| {line.recipe} | {line.method} | {cells} | {line.cost:.2f} |")
    return "\n".join(out) + "\n"


def figure(lines: list[Line], path: Path) -> None:
    """Draw error against cost, one panel for each recipe."""
    plt = need("matplotlib.pyplot")
    recipes = list(dict.fromkeys(line.recipe for line in lines))
    picture, axes = plt.subplots(1, len(recipes), figsize=(3.0 * len(recipes), 3.2), sharey=True, layout="constrained")
    for ax, recipe in zip(axes, recipes, strict=True):
        for kind, colour, marker in (("random", "#D55E00", "o"), ("distribution", "#0072B2", "s")):
            chosen = [line for line in lines if line.recipe == recipe and kind in line.method]
            xs, ys = [line.cost for line in chosen], [line.errors["cdf"] for line in chosen]
            ax.plot(
                xs, ys, marker + "-", color=colour, label="random samples" if kind == "random" else "distribution", ms=5
            )
            for line, x, y in zip(chosen, xs, ys, strict=True):
                ax.annotate(
                    "".join(c for c in line.method if c.isdigit()),
                    (x, y),
                    (3, 4),
                    textcoords="offset points",
                    fontsize=7,
                )
        ax.set(xscale="log", yscale="log", title=recipe.replace(" (", "\n("), xlabel="cost (400 samples = 1)")
        ax.set_xticks([0.25, 0.5, 1, 2], labels=["0.25", "0.5", "1", "2"])
        ax.minorticks_off()
        ax.title.set_fontsize(9)
    axes[0].set_ylabel("largest error of the\ndistribution function")
    axes[0].legend(frameon=False, fontsize=8)
    picture.savefig(path, dpi=130)
    plt.close(picture)


def run(args: argparse.Namespace) -> None:
    """Run the study and write ``results/accuracy_of_distributions.md`` and its figure."""
    fold = prepare(load(DATA_SETS["california_housing"], data_directory(args.data_dir)), 1, 2000)
    lines: list[Line] = []
    for name, model in models(args.trees).items():
        lines += measure(name, model, fold, args.rows, args.reference)
        print(f"done: {name}", flush=True)
    text = table(lines, args)
    (RESULTS / "accuracy_of_distributions.md").write_text(text)
    figure(lines, FIGURE)
    print(text)
