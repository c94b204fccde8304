"""Responses with limits, atoms and counts: CRPS, coverage and predictions outside the support, beside other packages.

Tables are synthetic and small, so that every model is fitted in the same run. A second table compares ways to confine
the distributions of a model without limits.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.datasets import ROOT
from diffgbm import AutoDiffGBM, DiffGBM, PredictiveDistribution
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions.support import Support
from diffgbm.metrics.diagnostics import inside_central

RESULTS = ROOT / "benchmarks" / "results"
FIGURE = ROOT / "docs" / "_static" / "structure.png"
LEVELS = np.round(np.arange(0.025, 1.0, 0.05), 3)
"""Levels of models that predict quantiles; the 90% interval goes from the second to the last but one."""
OURS: dict[str, Any] = {
    "n_estimators": 300,
    "n_repeats": 20,
    "num_leaves": 8,
    "extra_residualizer_params": {"n_estimators": 200, "num_leaves": 8, "learning_rate": 0.05},
}
"""Small trees, which suit a few hundred rows."""

Table = tuple[Array, Array]
Ends = tuple[float | None, float | None]


def tables(n: int, seed: int) -> dict[str, tuple[Array, Array, Ends]]:
    """Return features (n, 4), responses (n,) and limits of each table."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    a, b = X[:, 0], X[:, 1]
    demand = np.exp(1.0 + 2.0 * a + np.sin(6.0 * b))
    return {
        "demand": (X, demand * rng.gamma(3.0, 1.0 / 3.0, size=n), (0.0, None)),
        "exponential": (X, rng.exponential(0.3 + 2.0 * a), (0.0, None)),
        "claims": (X, rng.gamma(1.5, 0.5 + 2.0 * a), (0.0, None)),
        "share": (X, rng.beta(0.5 + 2.0 * a, 0.5 + 2.0 * b), (0.0, 1.0)),
        "70% zeros": (X, np.where(rng.uniform(size=n) < 0.5 + 0.4 * a, 0.0, rng.exponential(1.0 + b)), (0.0, None)),
        "capped sensor": (X, np.clip(2.0 * a - 1.0 + 0.6 * rng.standard_normal(n), -0.8, 0.8), (-0.8, 0.8)),
        "counts": (X, rng.poisson(0.5 + 6.0 * a * b).astype(float), (0.0, None)),
    }


def _ours(support: bool) -> Callable[[Table, Array, Ends, int], PredictiveDistribution]:
    def predict(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
        counts = support and bool((train[1] == np.rint(train[1])).all())
        model = DiffGBM.flow(**OURS, seed=seed, n_jobs=1, support=ends if support else None, discrete=counts)
        return model.fit(*train).predict_distribution(X)  # type: ignore[return-value]

    return predict


def _automatic(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
    model = AutoDiffGBM(preset="fast", time_limit=10.0, seed=seed, n_jobs=1, support=ends)
    return model.fit(*train).predict_distribution(X)  # type: ignore[return-value]


def _lightgbm(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
    params = {"objective": "quantile", "num_leaves": 8, "learning_rate": 0.05, "verbose": -1, "num_threads": 1}
    fits = [
        lgb.train({**params, "alpha": level, "seed": seed}, lgb.Dataset(*train), 100).predict(X)
        for level in LEVELS.tolist()
    ]
    return PredictiveDistribution(np.sort(np.column_stack(fits), axis=1), LEVELS)


def _catboost(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
    loss = "MultiQuantile:alpha=" + ",".join(map(str, LEVELS.tolist()))
    options = {"iterations": 300, "depth": 4, "thread_count": 1, "random_seed": seed, "verbose": False}
    model = need("catboost").CatBoostRegressor(loss_function=loss, allow_writing_files=False, **options)
    return PredictiveDistribution(np.sort(model.fit(*train).predict(X), axis=1), LEVELS)


def _ngboost(family: str) -> Callable[[Table, Array, Ends, int], PredictiveDistribution]:
    def predict(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
        ngboost = need("ngboost")
        dist = getattr(ngboost.distns, family)
        y = train[1] + (1e-6 if family == "LogNormal" else 0.0)
        y = y.astype(int) if family == "Poisson" else y
        model = ngboost.NGBRegressor(Dist=dist, n_estimators=200, verbose=False, random_state=seed).fit(train[0], y)
        levels = (np.arange(199) + 0.5) / 199
        found = model.pred_dist(X)
        points = np.column_stack([found.ppf(level) for level in levels.tolist()])
        support = Support(0.0, integers=True) if family == "Poisson" else None
        return PredictiveDistribution(points, levels, support=support)

    return predict


MODELS: dict[str, Callable[[Table, Array, Ends, int], PredictiveDistribution]] = {
    "DiffGBM": _ours(False),
    "DiffGBM, support": _ours(True),
    "AutoDiffGBM, support": _automatic,
    "LightGBM quantiles": _lightgbm,
    "CatBoost quantiles": _catboost,
    "NGBoost Normal": _ngboost("Normal"),
    "NGBoost LogNormal": _ngboost("LogNormal"),
    "NGBoost Poisson": _ngboost("Poisson"),
}


def skipped(model: str, table: str) -> str:
    """Return why a model has no line for a table; empty if it has one."""
    package = {"CatBoost": "catboost", "NGBoost": "ngboost"}.get(model.split()[0])
    if package is not None and find_spec(package) is None:
        return f"{package} is not installed"
    if model == "NGBoost Poisson" and table != "counts":
        return "the family is for counts"
    if model == "NGBoost LogNormal" and table not in ("demand", "exponential", "claims"):
        return "the family is for positive responses"
    return ""


def scores(dist: PredictiveDistribution, y: Array, ends: Ends) -> dict[str, float]:
    """Mean CRPS, coverage of 90% intervals (randomised at atoms), and share of rows with a prediction outside.

    Predictions are the mean and the ends of the 90% interval. Boosted quantiles come close to an atom and do not reach
    it: outside is what is beyond a limit by more than a thousandth of a standard deviation of the response.
    """
    low, high = -np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1]
    predicted = np.column_stack([dist.quantile([0.05, 0.95]), dist.mean()])
    close = 0.001 * float(np.std(y))
    outside = (predicted < low - close) | (predicted > high + close)
    covered = inside_central(dist, y, np.array([0.9])).mean()
    return {
        "crps": float(dist.crps(y).mean()),
        "coverage": float(covered),
        "outside": float(outside.any(axis=1).mean()),
    }


def confinements(train: Table, X: Array, y: Array, ends: Ends, seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the scores of ways to confine the distributions of one model without limits, and of a transform."""
    low, high = -np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1]
    support = Support(low, high)
    free = _ours(False)(train, X, ends, seed)
    values = free.values
    mirrored = np.where(values < low, 2.0 * low - values, values)
    mirrored = np.where(mirrored > high, 2.0 * high - mirrored, mirrored)
    below, above = free.cdf(low), free.cdf(high)
    truncated = free.quantile(np.clip(below[:, None] + free.levels * (above - below)[:, None], 0.0, 1.0))
    ways = {
        "none": values,
        "clip": values,
        "reflect": mirrored,
        "truncate": truncated,
        "move inside": support.confined(values),
    }
    for name, points in ways.items():
        limited = None if name == "none" else support
        points = points if limited is None else np.clip(points, low, high)
        yield name, scores(PredictiveDistribution.from_points(points, support=limited), y, ends)
    forth: Callable[[Array], Array] = np.log if np.isinf(high) else lambda v: np.log(v / (1.0 - v))
    back: Callable[[Array], Array] = np.exp if np.isinf(high) else lambda v: 1.0 / (1.0 + np.exp(-v))
    inner = np.clip(train[1], 1e-12, None if np.isinf(high) else 1.0 - 1e-12)
    found = _ours(False)((train[0], forth(inner)), X, ends, seed)
    yield "log or logit", scores(PredictiveDistribution.from_points(back(found.values), support=support), y, ends)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, default=600, help="training rows")
    parser.add_argument("--seeds", type=int, default=2, help="tables of each kind")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="figure to write")


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one record for each table, seed and model; those that the file of lines has are not fitted again."""
    path = args.results_dir / "structure.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(line["rows"], line["table"], line["seed"], line["model"]) for line in lines}

    def keep(key: tuple[int, str, int, str], found: dict[str, float]) -> None:
        lines.append({**dict(zip(("rows", "table", "seed", "model"), key, strict=True)), **found})
        with path.open("a") as file:
            file.write(json.dumps(lines[-1]) + "\n")
        print(*lines[-1].values(), flush=True)

    for seed in range(args.seeds):
        for name, (X, y, ends) in tables(args.rows + 1000, seed).items():
            train, X_test, y_test = (X[: args.rows], y[: args.rows]), X[args.rows :], y[args.rows :]
            for model in args.models:
                key = (args.rows, name, seed, model)
                if key not in done and not skipped(model, name):
                    keep(key, scores(MODELS[model](train, X_test, ends, seed), y_test, ends))
            continuous = len(np.unique(train[1])) == len(train[1])
            if continuous and (args.rows, name, seed, "confined: none") not in done:
                for way, found in confinements(train, X_test, y_test, ends, seed):
                    keep((args.rows, name, seed, f"confined: {way}"), found)
    return [line for line in lines if line["rows"] == args.rows and line["seed"] < args.seeds]


def averages(lines: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, float]]:
    """Average the records of each table and model over seeds."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        grouped.setdefault((line["table"], line["model"]), []).append(line)
    names = ("crps", "coverage", "outside")
    return {
        key: {name: float(np.mean([part[name] for part in parts])) for name in names} for key, parts in grouped.items()
    }


def page(lines: Sequence[dict[str, Any]], rows: int, seeds: int) -> str:
    """Write the result as Markdown."""
    mean = averages(lines)
    kinds = list(dict.fromkeys(table for table, _ in mean))
    out = [
        "# Limits, atoms and counts",
        "",
        f"`python -m benchmarks structure --rows {rows} --seeds {seeds}`: synthetic tables, {rows} training and 1,000 "
        f"test rows, means over {seeds} tables. Each cell has the CRPS, the coverage of 90% intervals (randomised at "
        "atoms), and the share of rows whose mean or interval goes beyond the support "
        "by more than a thousandth of a standard deviation.",
        "",
    ]
    models = [model for model in MODELS if any((kind, model) in mean for kind in kinds)]
    out += _table(
        mean, kinds, models, lambda cell, _: f"{cell['crps']:.4g}, {cell['coverage']:.3f}, {cell['outside']:.0%}"
    )
    reasons = {model: skipped(model, kind) for model in MODELS for kind in kinds if skipped(model, kind)}
    out += ["", *(f"- {model}: elsewhere left out, {reason}." for model, reason in reasons.items())]
    ways = list(dict.fromkeys(model for _, model in mean if model.startswith("confined: ")))
    limited = [kind for kind in kinds if (kind, "confined: none") in mean]
    out += [
        "",
        "## Ways to confine",
        "",
        "The distributions of one model without limits, confined in different ways, and a model of the transformed",
        "response. Each cell has the CRPS in units of that without limits, and the coverage of 90% intervals.",
        "`move inside` is what `support` does: it leaves no pile of probability at the limit, which `clip` does.",
        "",
    ]
    out += _table(
        mean,
        limited,
        ways,
        lambda cell, kind: f"{cell['crps'] / mean[kind, 'confined: none']['crps']:.3f}, {cell['coverage']:.3f}",
    )
    out += [""]
    for way in ways:
        ratio = np.mean([mean[kind, way]["crps"] / mean[kind, "confined: none"]["crps"] for kind in limited])
        error = np.mean([abs(mean[kind, way]["coverage"] - 0.9) for kind in limited])
        out += [f"- {way.removeprefix('confined: ')}: mean ratio {ratio:.3f}, coverage off by {error:.3f}."]
    return "\n".join(out) + "\n"


def _table(
    mean: dict[tuple[str, str], dict[str, float]],
    kinds: Sequence[str],
    models: Sequence[str],
    cell: Callable[[dict[str, float], str], str],
) -> list[str]:
    head = ["| model | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    body = [[cell(mean[kind, model], kind) if (kind, model) in mean else "" for kind in kinds] for model in models]
    names = [model.removeprefix("confined: ") for model in models]
    return [*head, *(f"| {name} | {' | '.join(row)} |" for name, row in zip(names, body, strict=True))]


def draw(lines: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the CRPS in units of DiffGBM without limits, and the share of rows outside, of each model and table."""
    plt = need("matplotlib.pyplot")
    mean = averages(lines)
    kinds = list(dict.fromkeys(table for table, model in mean if model == "DiffGBM"))
    figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.6), sharey=True)
    for model in MODELS:
        found = [(i, mean[kind, model], mean[kind, "DiffGBM"]) for i, kind in enumerate(kinds) if (kind, model) in mean]
        position = [i for i, _, _ in found]
        axes[0].plot([cell["crps"] / base["crps"] for _, cell, base in found], position, "o", label=model, alpha=0.7)
        axes[1].plot([100.0 * cell["outside"] for _, cell, _ in found], position, "o", alpha=0.7)
    axes[0].set_yticks(range(len(kinds)), kinds)
    axes[0].set_xlabel("CRPS relative to DiffGBM without support")
    axes[1].set_xlabel("rows with a prediction outside the support, %")
    figure.legend(loc="lower center", ncols=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0.0, 0.14, 1.0, 1.0))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def run(args: argparse.Namespace) -> None:
    """Measure what is missing, and write page and figure."""
    args.results_dir.mkdir(parents=True, exist_ok=True)
    lines = measured(args)
    (args.results_dir / "structure.md").write_text(page(lines, args.rows, args.seeds))
    draw(lines, args.figure)
