"""The result as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.structured.dependence import ENTITIES, FRESH, PAST, WINDOW, WINDOWS
from benchmarks.structured.limits import TEST_ROWS
from benchmarks.structured.models import MODELS, SECONDS, skipped
from benchmarks.structured.tables import REPEATS

Line = dict[str, Any]
NAMES = ("part", "rows", "table", "seed", "model")


def averages(lines: Sequence[Line], part: str) -> dict[tuple[str, str], dict[str, float]]:
    """Average the records of each table and model of a part over seeds."""
    grouped: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line["part"] == part:
            grouped.setdefault((line["table"], line["model"]), []).append(line)
    return {
        key: {name: float(np.mean([one[name] for one in some])) for name in some[0] if name not in NAMES}
        for key, some in grouped.items()
    }


def page(lines: Sequence[Line], rows: int, seeds: int) -> str:
    """Write all parts."""
    out = [
        "# Tables with structure",
        "",
        f"`python -m benchmarks structure --rows {rows} --seeds {seeds}`: synthetic tables, means over {seeds} seeds. "
        "Sizes and rounds were chosen on other seeds, ours on 100 and 101, those of other packages on 100. "
        f"`AutoDiffGBM` has {SECONDS:g} seconds for each fit.",
        "",
        *_limits(lines, rows),
        *_confinements(lines),
        *_groups(lines),
        *_time(lines, seeds),
    ]
    return "\n".join(out) + "\n"


def _limits(lines: Sequence[Line], rows: int) -> list[str]:
    mean = averages(lines, "limits")
    kinds = list(dict.fromkeys(table for table, _ in mean))
    models = [model for model in MODELS if any((kind, model) in mean for kind in kinds)]
    reasons = {model: skipped(model, kind) for model in MODELS for kind in kinds if skipped(model, kind)}
    return [
        "## Limits, atoms and counts",
        "",
        f"{rows} training and {TEST_ROWS:,} test rows. Each cell has the CRPS, the coverage of 90% intervals "
        "(randomised at atoms), and the share of rows whose mean or interval goes beyond the support by more than a "
        "thousandth of a standard deviation. `hourly rides` imitates the demand for rented "
        "bicycles: counts from 0 to about 900 by hour, weekday, month and weather.",
        "",
        *_table(
            mean, kinds, models, lambda cell, _: f"{cell['crps']:.4g}, {cell['coverage']:.3f}, {cell['outside']:.0%}"
        ),
        "",
        *(f"- {model}: elsewhere left out, {reason}." for model, reason in reasons.items()),
        "",
    ]


def _confinements(lines: Sequence[Line]) -> list[str]:
    mean = averages(lines, "limits")
    ways = list(dict.fromkeys(model for _, model in mean if model.startswith("confined: ")))
    limited = [kind for kind in dict.fromkeys(table for table, _ in mean) if (kind, "confined: none") in mean]
    out = [
        "### Ways to confine",
        "",
        "The distributions of one model without limits, confined in different ways, and a model of the transformed",
        "response. Each cell has the CRPS in units of that without limits, and the coverage of 90% intervals.",
        "`move inside` is what `support` does: it leaves no pile of probability at the limit, which `clip` does.",
        "",
        *_table(
            mean,
            limited,
            ways,
            lambda cell, kind: f"{cell['crps'] / mean[kind, 'confined: none']['crps']:.3f}, {cell['coverage']:.3f}",
        ),
        "",
    ]
    for way in ways:
        ratio = np.mean([mean[kind, way]["crps"] / mean[kind, "confined: none"]["crps"] for kind in limited])
        error = np.mean([abs(mean[kind, way]["coverage"] - 0.9) for kind in limited])
        out += [f"- {way.removeprefix('confined: ')}: mean ratio {ratio:.3f}, coverage off by {error:.3f}."]
    return [*out, ""]


def _groups(lines: Sequence[Line]) -> list[str]:
    mean = {model: cell for (_, model), cell in averages(lines, "groups").items()}
    rows = [
        f"| {model} | {c['promised_crps']:.3f} | {c['fresh_crps']:.3f} | {c['promised_coverage']:.1%} | "
        f"{c['fresh_coverage']:.1%} |"
        for model, c in mean.items()
    ]
    return [
        "## Groups",
        "",
        f"{ENTITIES} entities with {REPEATS} rows each and an effect that no feature explains; {FRESH} fresh entities. "
        "Promised is what out-of-bag distributions say, of other packages five-fold cross-validation, of rows or of "
        "whole groups. Other packages fit the same model with and without groups.",
        "",
        "| model | CRPS promised | of fresh entities | coverage of 90% promised | of fresh entities |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]


def _time(lines: Sequence[Line], seeds: int) -> list[str]:
    mean = {model: cell for (_, model), cell in averages(lines, "time").items()}
    windows = [f"window {k + 1}" for k in range(WINDOWS)]
    worst = {
        model: max(
            abs(line[w] - 0.9) for line in lines if line["part"] == "time" and line["model"] == model for w in windows
        )
        for model in mean
    }
    rows = [
        f"| {model} | {' | '.join(f'{cell[w]:.1%}' for w in windows)} | {100.0 * worst[model]:.1f} | "
        f"{cell['width']:.2f} |"
        for model, cell in mean.items()
    ]
    return [
        "## Time",
        "",
        f"{PAST} rows to learn from, then {WINDOWS} windows of {WINDOW} in which level, slope and noise drift. "
        f"Coverage of 90% intervals in each window, the largest distance from 90% in any window of {seeds} seeds in "
        "points, and the mean width. `AdaptiveConformal` observes each response after its interval; the "
        "others do not learn.",
        "",
        f"| model | {' | '.join(windows)} | worst window off by | width |",
        "|---" * (WINDOWS + 3) + "|",
        *rows,
    ]


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
