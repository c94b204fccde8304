"""The section of ``docs/reliability.md`` about known truths."""

from __future__ import annotations

from typing import Any

from reliability.statistical import FRESH, MODELS, means
from reliability.statistical_cases import CASES
from reliability.tables import table

TITLES = {"published": "published", "score_plus": "score+", "flow": "flow", "auto": "AutoDiffGBM"}
TEXT = f"""\
## Known truths

`python -m reliability statistics` fits models to tables with one difficulty each, whose true distributions are known,
and scores them on {FRESH:,} fresh rows. The recipes are told the atoms (`atoms=`); `AutoDiffGBM(preset="fast")` finds
them, without a time limit. A run continues where the last one ended. Figures are means over the tables of the
last column: those of the recipes, and those of `AutoDiffGBM`.

CRPS as a multiple of the truth's. Recipes that subtract a mean (score+, flow) lose 10% and more on small, noisy tables:
the mean follows noise. `residualize="off"` and `AutoDiffGBM` lose less. A stacked table gives what the table gives.
"""
COVERAGE = """\
Coverage of central 50% and 90% intervals, in percent, randomised at atoms. The truth's differs from nominal by chance
(standard errors 1.1 and 0.7 points for one table). A model's coverage also varies with its training table: at 90% by 4
points between tables of 50 independent rows (entities) and by 1 point between tables of 800.
"""
REST = """\
Predicted probability of impossible values (beyond the limits of the response), in percent; root mean squared error of
the probabilities of atoms; and `AutoDiffGBM`'s out-of-bag CRPS as a multiple of its CRPS on fresh rows, which is what
`explain()` promises. The recipes know no limits: use `AutoDiffGBM`, or name the atoms at the limits.
"""


def section() -> str:
    """Return the section."""
    of: dict[str, dict[str, dict[str, Any]]] = {}
    for line in means():
        of.setdefault(line["case"], {})[line["model"]] = line
    if not of:
        return "## Known truths\n\nNo figures are recorded yet (`python -m reliability statistics`).\n"
    heads = tuple(TITLES[model] for model in MODELS)
    ratios = [
        (CASES[case].about, *(_cell(lines, model, "ratio", 1.0, 3) for model in MODELS), _seeds(lines))
        for case, lines in of.items()
    ]
    coverages = [
        (
            CASES[case].about,
            _both(next(iter(lines.values())), "oracle"),
            *(_both(lines.get(m), "coverage") for m in MODELS),
        )
        for case, lines in of.items()
    ]
    rest = [
        (
            CASES[case].about,
            *(_cell(lines, model, "outside", 100.0, 1) for model in MODELS),
            *(_cell(lines, model, "atom_rmse", 1.0, 3) for model in ("flow", "auto")),
            _claimed(lines.get("auto")),
        )
        for case, lines in of.items()
    ]
    impossible = tuple(f"impossible, {head}" for head in heads)
    return "\n".join(
        [
            TEXT,
            table(("table", *heads, "tables"), ratios),
            COVERAGE,
            table(("table", "truth", *heads), coverages),
            REST,
            table(("table", *impossible, "atoms, flow", "atoms, AutoDiffGBM", "out of bag / fresh"), rest),
        ]
    )


def _cell(lines: dict[str, dict[str, Any]], model: str, key: str, factor: float, digits: int) -> str:
    value = lines.get(model, {}).get(key)
    return "" if value is None else f"{factor * value:,.{digits}f}"


def _seeds(lines: dict[str, dict[str, Any]]) -> str:
    return f"{lines['flow']['seeds'] if 'flow' in lines else 0}, {lines['auto']['seeds'] if 'auto' in lines else 0}"


def _both(line: dict[str, Any] | None, name: str) -> str:
    return "" if line is None else f"{100.0 * line[f'{name}_50']:.1f} / {100.0 * line[f'{name}_90']:.1f}"


def _claimed(line: dict[str, Any] | None) -> str:
    return "" if line is None else f"{line['claimed'] / line['crps']:.3f}"
