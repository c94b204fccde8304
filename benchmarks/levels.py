"""Categories of many levels: what a column of noise costs, and what an informative one wins beside CatBoost.

Tables are synthetic. A column of noise must cost less than 2% of the CRPS, whatever its number of levels; a column of
1,000 levels that matters must win what CatBoost wins with it, within 2%.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT
from benchmarks.short_limits import processor_clock
from diffgbm import AutoDiffGBM, DiffGBM, PredictiveDistribution
from diffgbm._util.optional import need
from diffgbm._util.types import Array, Integers
from diffgbm.fitting.warm import warmup
from diffgbm.metrics.diagnostics import inside_central

RESULTS = ROOT / "benchmarks" / "results" / "levels"
NUMBERS = (0, 20, 100, 300, 1000, -1)
"""Numbers of levels of a column of noise; -1 stands for a level of its own in each row."""
MANY = 1000
"""Levels of an informative column."""
TEST_ROWS = 4000
QUANTILES = np.round(np.arange(0.025, 1.0, 0.05), 3)
LIMIT = 6.0
"""Processor seconds of AutoDiffGBM with a short limit; without one it has time for all its work."""
TARGET = 1.02


@dataclass(frozen=True)
class Table:
    """Numbers (n, 5), levels (n,) or ``None``, and a response (n,); the first ``rows`` are for training."""

    X: Array
    levels: Integers | None
    y: Array
    rows: int

    def frame(self, test: bool, with_levels: bool = True) -> Any:
        """Return the training or test rows as a frame of pandas; levels are text."""
        part = slice(self.rows, None) if test else slice(self.rows)
        columns: dict[str, Any] = {f"x{j}": self.X[part, j] for j in range(self.X.shape[1])}
        if self.levels is not None and with_levels:
            columns["level"] = [f"L{level}" for level in self.levels[part].tolist()]
        return need("pandas").DataFrame(columns)

    @property
    def train(self) -> Array:
        """Responses of the training rows."""
        return self.y[: self.rows]

    @property
    def test(self) -> Array:
        """Responses of the test rows."""
        return self.y[self.rows :]


def _draw(rows: int, seed: int) -> tuple[np.random.Generator, Array]:
    rng = np.random.default_rng([seed, 27])
    return rng, rng.standard_normal((rows + TEST_ROWS, 5))


def _waves(X: Array, rng: np.random.Generator) -> Array:
    """Waves and a product; the noise is normal, and wider for large x3."""
    mean = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return np.asarray(mean + np.exp(-0.7 + 0.6 * X[:, 3]) * rng.standard_normal(len(X)))


def _heavy(X: Array, rng: np.random.Generator) -> Array:
    """A linear mean; Student's noise of three degrees of freedom."""
    return np.asarray(X[:, 0] - 0.5 * X[:, 1] + 0.7 * rng.standard_t(3, len(X)))


def _positive(X: Array, rng: np.random.Generator) -> Array:
    """Gamma, whose mean depends on three columns."""
    return np.asarray(rng.gamma(2.0, 0.5, len(X)) * np.exp(0.6 * X[:, 0] + 0.4 * np.abs(X[:, 1]) - 0.3 * X[:, 4]))


RESPONSES: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "waves": _waves,
    "heavy tails": _heavy,
    "positive": _positive,
}


def noise_table(response: str, number: int, rows: int, seed: int) -> Table:
    """Draw a table with a column of noise of some levels, of which half are ten times as frequent as the others."""
    rng, X = _draw(rows, seed)
    y = RESPONSES[response](X, rng)
    if number == 0:
        return Table(X, None, y, rows)
    if number < 0:
        return Table(X, np.arange(len(X)), y, rows)
    shares = np.where(np.arange(number) % 2 == 0, 1.0, 0.1)
    return Table(X, rng.choice(number, len(X), p=shares / shares.sum()), y, rows)


EFFECTS = ("normal", "heavy-tailed", "spread", "unequal frequencies", "with a number", "few that matter")


def informative_table(effect: str, number: int, rows: int, seed: int) -> Table:
    """Draw a table with a column of ``MANY`` levels that matters."""
    rng, X = _draw(rows, seed)
    shares = 1.0 / (np.arange(MANY) + 10.0) if effect == "unequal frequencies" else np.ones(MANY)
    levels = rng.choice(MANY, len(X), p=shares / shares.sum())
    size = rng.standard_normal(MANY)
    if effect == "heavy-tailed":
        size = rng.standard_t(2, MANY)
    if effect == "few that matter":
        size = np.where(rng.uniform(size=MANY) < 0.1, 3.0, 0.0) * np.sign(size)
    mean, noise = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1], 0.5 * rng.standard_normal(len(X))
    own = size[levels]
    if effect == "spread":
        return Table(X, levels, mean + np.exp(own) * noise, rows)
    if effect == "with a number":  # the level says how strongly x2 acts
        return Table(X, levels, mean + own * (1.0 + X[:, 2]) + noise, rows)
    return Table(X, levels, mean + own + noise, rows)


def _diffgbm(table: Table, with_levels: bool, seed: int) -> Any:
    model = DiffGBM(seed=seed, n_jobs=1).fit(table.frame(False, with_levels), table.train)
    return model.predict_distribution(table.frame(True, with_levels))


def _automatic(limit: float) -> Callable[[Table, bool, int], Any]:
    def predict(table: Table, with_levels: bool, seed: int) -> Any:
        with processor_clock():
            model = AutoDiffGBM(preset="fast", time_limit=limit, seed=seed, n_jobs=1)
            model.fit(table.frame(False, with_levels), table.train)
        return model.predict_distribution(table.frame(True, with_levels))

    return predict


def _catboost(table: Table, with_levels: bool, seed: int) -> Any:
    """Boosted quantiles with native categories: a fifth of the rows says when to stop, then all rows are fitted."""
    X = table.frame(False, with_levels)
    cut = table.rows * 4 // 5
    options: dict[str, Any] = {
        "learning_rate": 0.1,
        "depth": 4,
        "thread_count": 1,
        "random_seed": seed,
        "verbose": False,
    }
    options |= {"loss_function": "MultiQuantile:alpha=" + ",".join(map(str, QUANTILES.tolist()))}
    options |= {"cat_features": ["level"] if "level" in X else [], "allow_writing_files": False}
    make = need("catboost").CatBoostRegressor
    first = make(iterations=1000, early_stopping_rounds=50, **options)
    first.fit(X[:cut], table.train[:cut], eval_set=(X[cut:], table.train[cut:]))
    model = make(iterations=first.best_iteration_ + 1, **options).fit(X, table.train)
    return PredictiveDistribution(np.sort(model.predict(table.frame(True, with_levels)), axis=1), QUANTILES)


MODELS: dict[str, Callable[[Table, bool, int], Any]] = {
    "DiffGBM": _diffgbm,
    "AutoDiffGBM fast": _automatic(600.0),
    "AutoDiffGBM, 6 s": _automatic(LIMIT),
    "CatBoost": _catboost,
}


@dataclass(frozen=True)
class Job:
    """One fit: a table (``part``, ``kind``, ``levels``, ``rows``, ``seed``), a model, with the column or without."""

    part: str
    kind: str
    levels: int
    rows: int
    seed: int
    model: str

    def scores(self) -> dict[str, float]:
        """Fit and return the mean CRPS and the coverage of 90% intervals on the test rows."""
        make = noise_table if self.part == "noise" else informative_table
        table = make(self.kind, self.levels, self.rows, self.seed)
        found = MODELS[self.model](table, self.levels != 0, self.seed)
        covered = inside_central(found, table.test, np.array([0.9])).mean()
        return {"crps": float(found.crps(table.test).mean()), "coverage": float(covered)}


OURS = [model for model in MODELS if model != "CatBoost"]


def jobs(seeds: Sequence[int], models: Sequence[str]) -> list[Job]:
    """Return all fits, those of the first seed first.

    AutoDiffGBM takes no table without the informative column, and no noise under a short limit: what the clock cuts
    differs from fit to fit by more than the column does.
    """
    out = []
    for seed in seeds:
        for rows in (2000, 5000):
            for model in models:
                numbers = (MANY,) if model.startswith("Auto") else (0, MANY)
                out += [Job("informative", one, k, rows, seed, model) for one in EFFECTS for k in numbers]
                if model in ("DiffGBM", "AutoDiffGBM fast"):
                    out += [Job("noise", one, k, rows, seed, model) for one in RESPONSES for k in NUMBERS]
    return out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1], help="tables of each kind")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument("--rows", nargs="+", type=int, default=[2000, 5000], help="training rows")
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="responses and effects; all by default")
    parser.add_argument("--levels", nargs="+", type=int, help="numbers of levels; all by default")
    parser.add_argument("--parts", nargs="+", choices=("noise", "informative"), default=["noise", "informative"])
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")
    parser.add_argument("--page", action="store_true", help="write the page of the lines without a fit")


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return all lines; fits that have one are not repeated."""
    path = args.results_dir / "levels.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {Job(**{name: line[name] for name in Job.__annotations__}) for line in lines}
    chosen = {"rows": args.rows, "part": args.parts, "kind": args.kinds, "levels": args.levels}
    wanted = [
        job
        for job in jobs(args.seeds, args.models)
        if all(not allowed or getattr(job, name) in allowed for name, allowed in chosen.items())
    ]
    for job in [] if args.page else wanted:
        if job in done or (job.model == "CatBoost" and find_spec("catboost") is None):
            continue
        lines.append({**asdict(job), **job.scores()})
        with path.open("a") as file:
            file.write(json.dumps(lines[-1]) + "\n")
        print(*lines[-1].values(), flush=True)
    return lines


Line = dict[str, Any]


def ratios(lines: Sequence[Line], part: str, model: str, rows: int) -> dict[tuple[str, int], tuple[float, float, int]]:
    """Return for each kind and number of levels the CRPS with the column in units of that of the comparison.

    A column of noise is compared with the same model without it, an informative one with CatBoost with it. The values
    are the mean ratio over seeds, the largest, and the number of seeds.
    """
    chosen = [line for line in lines if line["part"] == part and line["rows"] == rows]
    known = {(line["kind"], line["levels"], line["seed"], line["model"]): line["crps"] for line in chosen}
    found: dict[tuple[str, int], list[float]] = {}
    for (kind, number, seed, name), crps in known.items():
        base = (kind, 0, seed, model) if part == "noise" else (kind, number, seed, "CatBoost")
        if name == model and number != 0 and base in known:
            found.setdefault((kind, number), []).append(crps / known[base])
    return {key: (float(np.mean(one)), max(one), len(one)) for key, one in found.items()}


OPENING = """\
# Categories of many levels

`python -m benchmarks levels`: synthetic tables of five numbers and one column of text, {test:,} test rows. AutoDiffGBM
has the preset `fast`, and time for all its work or {limit:g} processor seconds; DiffGBM its default arguments; CatBoost
20 boosted quantiles with native categories, in as many rounds as a fifth of the rows says. A column of noise is not
measured under a short limit: what the clock cuts differs from fit to fit, by up to 7% of the CRPS.
"""
NOISE = """\
## A column of noise

CRPS with the column in units of that without it: the mean over seeds (the largest, number of seeds). The target is less
than 1.02. Half of the levels are ten times as frequent as the others; in "n" each row has its own.
"""
INFORMATIVE = """\
## A column of 1,000 levels that matters

CRPS with the column in units of CatBoost's with it: the mean over seeds (the largest, number of seeds). The target is
at most 1.02. "Gain" is the share of the CRPS without the column that the column saves, of the model and of CatBoost;
then the coverage of 90% intervals, of both.
"""


def page(lines: Sequence[Line]) -> str:
    """Write the result as Markdown."""
    out = [OPENING.format(test=TEST_ROWS, limit=LIMIT), NOISE]
    sizes = sorted({line["rows"] for line in lines})
    head = ["20", "100", "300", "1,000", "n"]
    out += ["| model, rows | response | " + " | ".join(head) + " |", "|---" * (len(head) + 2) + "|"]
    for model in OURS:
        for rows in sizes:
            found = ratios(lines, "noise", model, rows)
            for kind in RESPONSES:
                if any(key[0] == kind for key in found):
                    out.append(f"| {model}, {rows:,} | {kind} | {' | '.join(_cells(found, kind))} |")
    out += ["", INFORMATIVE, "| model, rows | effect | ratio | gain | coverage |", "|---|---|---|---|---|"]
    for model in OURS:
        for rows in sizes:
            for (kind, _), (mean, most, count) in ratios(lines, "informative", model, rows).items():
                own, theirs = (_summary(lines, kind, rows, name) for name in (model, "CatBoost"))
                cells = [f"{mean:.3f} ({most:.3f}, {count})", f"{own[0]}, {theirs[0]}", f"{own[1]}, {theirs[1]}"]
                out.append(f"| {model}, {rows:,} | {kind} | {' | '.join(cells)} |")
    missed = [
        f"{model}, {rows:,} rows, {kind}, {_number(number)}: {mean:.3f}"
        for part in ("noise", "informative")
        for model in OURS
        for rows in sizes
        for (kind, number), (mean, _, _) in ratios(lines, part, model, rows).items()
        if mean > TARGET
    ]
    out += ["", "Missed: " + ("; ".join(missed) if missed else "none") + "."]
    return "\n".join(out) + "\n"


def _number(number: int) -> str:
    return "n levels" if number < 0 else f"{number:,} levels"


def _cells(found: dict[tuple[str, int], tuple[float, float, int]], kind: str) -> list[str]:
    keys = [(kind, number) for number in NUMBERS[1:]]
    return [f"{found[key][0]:.3f} ({found[key][1]:.3f}, {found[key][2]})" if key in found else "" for key in keys]


def _summary(lines: Sequence[Line], kind: str, rows: int, model: str) -> tuple[str, str]:
    """Return the gain by an informative column, and the coverage with it, as text."""
    mine = [line for line in lines if (line["kind"], line["rows"], line["model"]) == (kind, rows, model)]
    with_it, without = ([line for line in mine if line["levels"] == number] for number in (MANY, 0))
    seeds = {line["seed"] for line in without}
    both = [line for line in with_it if line["seed"] in seeds]
    coverage = f"{np.mean([line['coverage'] for line in with_it]):.3f}"
    if not both:
        return "", coverage
    mean = [np.mean([line["crps"] for line in part]) for part in (both, without)]
    return f"{1.0 - mean[0] / mean[1]:.0%}", coverage


def run(args: argparse.Namespace) -> None:
    """Measure what is missing, and write the page."""
    args.results_dir.mkdir(parents=True, exist_ok=True)
    warmup()
    (args.results_dir / "levels.md").write_text(page(measured(args)))
