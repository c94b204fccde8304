"""Notes below tables: data sets, budget, and the source of the paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.configs import Config
from benchmarks.tables.blocks import Block
from benchmarks.tables.cells import Cell, Results, in_order
from benchmarks.tables.labels import FAMILY_ORDER, listed, long, numbers, short
from benchmarks.tables.paper_values import DATA_SETS, PaperTable
from benchmarks.tables.value import Form

NOTHING = "No two families have a fold of one of the paper's data sets in common yet: there is nothing to compare."


def span(values: Iterable[float | int | None]) -> str:
    """Format the smallest and the largest value, ``?`` if there is none."""
    result = sorted({value for value in values if value is not None and value == value})
    if not result:
        return "?"
    low, high = (f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" for value in (result[0], result[-1]))
    return low if low == high else f"{low}-{high}"


def scope(block: Block) -> str:
    """Name the averaged data sets."""
    plural = "s" if len(block.data_sets) > 1 else ""
    return f"Mean over folds, then over {len(block.data_sets)} data set{plural}: {listed(block.data_sets)}."


def beside(paper: PaperTable, over: str) -> str:
    """Explain the numbers in parentheses, with the number of families, on which ranks depend."""
    return f"In parentheses: the paper ({paper.label}), {len(paper.rows)} families, over {over}."


def same_data_sets(block: Block, paper: PaperTable, what: str, form: Form) -> list[str]:
    """Average the paper's numbers over the block's data sets, for the families it prints them for.

    Empty if the block has all data sets of the paper: then the means in parentheses are comparable.
    """
    shown = [family for family in block.families if family in paper.columns]
    if not shown or set(block.data_sets) >= set(DATA_SETS):
        return []
    means = [f"{short(f)} {form(float(np.mean(paper.column(f, block.data_sets))))}" for f in shown]
    return [f"The paper's {what} over the same data sets as ours ({paper.label}): {listed(means)}."]


def trials(cells: Iterable[Cell]) -> str:
    """Write finite/target trials of the studies behind these lines, ranges where they differ."""
    budgets = [cell.budget for cell in cells]
    finite, target = (span(b.get(name) for b in budgets) for name in ("n_trials_finite", "n_trials_target"))
    return f"{finite}/{target}"


def limits(cells: Iterable[Cell]) -> str:
    """Write the limits that were set for a study, ``none`` if none was."""
    budgets = [cell.budget for cell in cells]
    result = [(span(b.get(name) for b in budgets), name) for name in ("trials", "minutes")]
    return listed([f"{value} {name}" for value, name in result if value != "?"])


def budget(lines: Sequence[Cell]) -> list[str]:
    """Describe the budget of these lines, and where test rows are capped or differ."""
    families = in_order({cell.family for cell in lines}, FAMILY_ORDER)
    spent = [f"{short(f)} {trials(cell for cell in lines if cell.family == f)}" for f in families]
    threads = span(cell.threads for cell in lines)
    text = (
        f"Budget: finite/target trials of each study (the paper: 40, external families 25): {listed(spent)}; "
        f"limit of a study: {limits(lines)}; "
        f"folds {numbers([cell.fold for cell in lines])}; {span(cell.n_test for cell in lines)} test rows a fold; "
        f"{span(cell.n_samples for cell in lines)} samples; {threads} thread{'' if threads == '1' else 's'}."
    )
    return [text, *_capped(lines), *_unequal(lines)]


def _capped(lines: Sequence[Cell]) -> list[str]:
    """Name the data sets where fewer rows were scored than one of six folds has."""
    result: dict[str, str] = {}
    for cell in lines:
        if cell.n_test is not None and cell.n_train is not None and cell.n_test < cell.n_train // 5 - 1:
            result[cell.data_set] = (
                f"{cell.data_set} (fold {cell.fold}: {cell.n_test:,} of about {cell.n_train // 5:,})"
            )
    return [f"Not all test rows were scored on {listed(list(result.values()))}."] if result else []


def _unequal(lines: Sequence[Cell]) -> list[str]:
    """Name the data sets where families were scored on different numbers of rows, or from different samples."""
    seen: dict[tuple[str, int], set[tuple[int | None, int | None]]] = {}
    for cell in lines:
        seen.setdefault((cell.data_set, cell.fold), set()).add((cell.n_test, cell.n_samples))
    apart = in_order({data_set for (data_set, _), result in seen.items() if len(result) > 1}, DATA_SETS)
    return (
        [f"Families differ in test rows or in samples on {listed(apart)}: their scores are not comparable."]
        if apart
        else []
    )


def provenance(results: Results) -> list[str]:
    """List problems of the lines: unusable ones, mixed sources, superseded configurations."""
    out = []
    if results.unusable:
        out.append(
            "Lines without a finite CRPS, taken as missing: "
            + listed([f"{long(f)} on {d} fold {fold}" for d, f, fold in results.unusable])
            + "."
        )
    if (n := len({cell.source_hash for cell in results.cells})) > 1:
        out.append(f"The lines were written by {n} versions of the source tree.")
    if old := superseded(results):
        out.append(f"Evaluated with another configuration than the selected one: {listed(old)}.")
    return out


def superseded(results: Results) -> list[str]:
    """Return the (family, data set) pairs with lines whose hyperparameters are not those of the configuration."""
    selected: dict[tuple[str, str], Config] = {(c.data_set, c.family): c for c in results.configs}
    out = []
    for (data_set, family), cells in results.grid().items():
        config = selected.get((data_set, family))
        if config and any(_differ(config, cell) for cell in cells.values()):
            out.append(f"{long(family)} on {data_set}")
    return out


def _differ(config: Config, cell: Cell) -> bool:
    return cell.params != config.params


def tuning_minutes(results: Results, family: str) -> float:
    """Minutes that the studies of a family took, all data sets together; NaN without configurations."""
    seconds = [config.seconds for config in results.configs if config.family == family]
    return sum(seconds) / 60.0 if seconds else math.nan
