"""The comparison as a Markdown page, from the recorded lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from benchmarks.datasets import DATA_SETS
from benchmarks.peers.recipes import BOOSTING, OURS, RECIPES, RELEASED, TREEFFUSER
from diffgbm.diffusion.recipe import RESIDUALIZER_C

Record = dict[str, Any]

COMMAND = "python -m benchmarks peers"
LIMIT = 1.02
"""Largest ratio of our CRPS to the released package's that is accepted."""


@dataclass(frozen=True)
class Side:
    """One package's cells on one row of the table."""

    records: tuple[Record, ...]

    def mean(self, field: str) -> float:
        """Mean over folds of the mean over repeats; NaN where a fold has no such field."""
        return float(np.mean([np.mean(values) if values else math.nan for values in self._by_fold(field)]))

    def standard_error(self, field: str) -> float:
        """Standard error of ``mean`` over model and sampler seeds at these folds; NaN with one seed for a fold."""
        folds = self._by_fold(field)
        if any(len(values) < 2 for values in folds):
            return math.nan
        return math.sqrt(sum(np.var(values, ddof=1) / len(values) for values in folds)) / len(folds)

    def _by_fold(self, field: str) -> list[list[float]]:
        ordered = sorted(self.records, key=lambda r: r["fold"])
        return [[r[field] for r in group if field in r] for _, group in groupby(ordered, key=lambda r: r["fold"])]


@dataclass(frozen=True)
class Ratio:
    """Our CRPS over the released package's, with its standard error over seeds."""

    value: float
    error: float

    @property
    def status(self) -> str:
        """Whether the ratio is within the limit, and if not, whether the seeds explain it."""
        if self.value <= LIMIT:
            return "within"
        return "worse" if self.value - 2.0 * self.error > LIMIT else "unclear"


def ratio(ours: Side, released: Side, field: str = "crps") -> Ratio:
    """Compare two packages; they share folds and rows but no random numbers, so their errors add."""
    a, b = ours.mean(field), released.mean(field)
    return Ratio(a / b, a / b * math.hypot(ours.standard_error(field) / a, released.standard_error(field) / b))


@dataclass(frozen=True)
class Row:
    """A data set and a recipe with every package's cells."""

    data_set: str
    recipe: str
    n_samples: int
    sides: dict[str, Side]

    @property
    def test_rows(self) -> str:
        """Scored rows of each fold."""
        return "+".join(str(n) for _, n in sorted({(r["fold"], r["test_rows"]) for r in self._all()}))

    @property
    def seeds(self) -> str:
        """Model seeds of each fold, and treeffuser's where they are fewer."""
        counts = {package: len({r["repeat"] for r in side.records}) for package, side in self.sides.items()}
        fewer = counts.get(TREEFFUSER, counts[OURS]) < counts[OURS]
        return f"{counts[OURS]} (treeffuser {counts[TREEFFUSER]})" if fewer else str(counts[OURS])

    def _all(self) -> list[Record]:
        return [r for side in self.sides.values() for r in side.records]


def rows_of(records: Iterable[Record]) -> list[Row]:
    """Group records into table rows; only folds and repeats that ours and the released package have finished count."""
    records = list(records)
    names = list(DATA_SETS)
    order = sorted(
        {(r["data_set"], r["n_samples"]) for r in records},
        key=lambda row: (names.index(row[0]) if row[0] in names else len(names), row),
    )
    out = []
    for data_set, n_samples in order:
        for recipe in RECIPES.values():
            mine = [
                r for r in records if (r["data_set"], r["n_samples"], r["recipe"]) == (data_set, n_samples, recipe.name)
            ]
            sides = _common(mine, recipe.packages)
            if sides:
                out.append(Row(data_set, recipe.name, n_samples, sides))
    return out


def _common(records: Sequence[Record], packages: Sequence[str]) -> dict[str, Side]:
    def cells(package: str) -> dict[tuple[int, int, int], Record]:
        return {(r["fold"], r["repeat"], r["test_rows"]): r for r in records if r["package"] == package}

    by_package = {package: cells(package) for package in packages}
    shared = by_package[OURS].keys() & by_package[RELEASED].keys()
    sides = {package: [result[key] for key in sorted(shared & result.keys())] for package, result in by_package.items()}
    # a mean over fewer folds than ours would be another quantity
    folds = {fold for fold, _, _ in shared}
    return {name: Side(tuple(side)) for name, side in sides.items() if side and {r["fold"] for r in side} == folds}


def report(records: Sequence[Record]) -> str:
    """Write the page."""
    rows = rows_of(records)
    if not rows:
        return f"# DiffGBM beside its predecessors\n\nNo complete row yet. Run `{COMMAND}`.\n"
    ratios = [ratio(row.sides[OURS], row.sides[RELEASED]) for row in rows]
    parts = [
        "# DiffGBM beside its predecessors",
        f"Made by `{COMMAND}` from `peers.jsonl`, one line for each fit.",
        _scores(rows, ratios),
        _summary(ratios),
        "## Seconds",
        "Fit of one fold, and samples of its test rows after a warm-up call of one sample; one thread. The "
        "machine ran other jobs at varying load, so that the times show orders of magnitude only.",
        _seconds(rows),
        "## Settings",
        _settings(rows, records),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    marks = ["---" if j < 2 else "---:" for j in range(len(header))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, marks, *body])


def _scores(rows: Sequence[Row], ratios: Sequence[Ratio]) -> str:
    def line(row: Row, result: Ratio) -> list[str]:
        error = "" if math.isnan(result.error) else f" ± {result.error:.3f}"
        return [
            row.data_set,
            row.recipe,
            *_cells(row, "crps", lambda v: f"{v:.4g}"),
            f"{result.value:.3f}{error}",
            *_cells(row, "coverage90", lambda v: f"{v:.3f}"),
            row.test_rows,
            row.seeds,
        ]

    header = ["data set", "recipe", "CRPS ours", "released", "treeffuser", "ours/released"]
    header += ["90% coverage ours", "released", "treeffuser", "test rows", "seeds"]
    return _markdown(header, map(line, rows, ratios))


def _seconds(rows: Sequence[Row]) -> str:
    header = ["data set", "recipe", "fit ours", "released", "treeffuser", "sample ours", "released", "treeffuser"]
    return _markdown(
        header,
        [
            [row.data_set, row.recipe, *_cells(row, "fit_seconds", _short), *_cells(row, "sample_seconds", _short)]
            for row in rows
        ],
    )


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 1.0 else f"{value:.1f}"


def _cells(row: Row, field: str, form: Callable[[float], str]) -> list[str]:
    values = [row.sides[p].mean(field) if p in row.sides else math.nan for p in (OURS, RELEASED, TREEFFUSER)]
    return ["" if math.isnan(value) else form(value) for value in values]


def _summary(ratios: Sequence[Ratio]) -> str:
    states = [ratio.status for ratio in ratios]
    text = (
        f"Means over folds, in the units of the response; ± is the standard error over model and sampler seeds at "
        f"these folds. Our CRPS is within {LIMIT - 1.0:.0%} of the released package's, or better, on "
        f"{states.count('within')} of {len(ratios)} rows"
    )
    settled = sum(result.value + 2.0 * result.error <= LIMIT for result in ratios)
    text += f" (on {settled} of them even with two standard errors added)"
    for state, meaning in (("worse", "worse by more than seeds explain"), ("unclear", "worse within two errors")):
        if state in states:
            text += f"; {meaning} on {states.count(state)}"
    mean = math.exp(float(np.mean([math.log(result.value) for result in ratios])))
    return f"{text}. Geometric mean of the ratios: {mean:.3f}."


def _settings(rows: Sequence[Row], records: Sequence[Record]) -> str:
    samples = ", ".join(str(n) for n in sorted({row.n_samples for row in rows}))
    lines = [
        f"- {samples} samples for each row; folds of the paper's six, standardised on the training part.",
        "- All packages: " + _arguments(BOOSTING),
        "- Residualizer of score+ and flow (variant C): " + _arguments(RESIDUALIZER_C),
        *(
            f"- {r.name}: {_arguments({k: v for k, v in {**r.axes, **r.sampler}.items() if not isinstance(v, dict)})}"
            for r in RECIPES.values()
        ),
        *(f"- Versions, {package}: {_versions(records, package)}" for package in (OURS, RELEASED, TREEFFUSER)),
    ]
    return "\n".join(lines)


def _arguments(values: dict[str, Any]) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, value in values.items())


def _versions(records: Iterable[Record], package: str) -> str:
    mine = [r for r in records if r["package"] == package]
    result = dict.fromkeys(", ".join(f"{k} {v}" for k, v in sorted(r["versions"].items())) for r in mine)
    sources = dict.fromkeys(
        f"commit {r['source']['commit']} (source {r['source']['tree']})" for r in mine if isinstance(r["source"], dict)
    )
    return "; ".join([*result, *sources]) or "not run"
