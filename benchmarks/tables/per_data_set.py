"""Tables with one row for each data set: CRPSS, the paper's extended table, and the CRPS of every family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.tables import notes
from benchmarks.tables.aggregates import metric, sample_seconds
from benchmarks.tables.blocks import Block, rows_of
from benchmarks.tables.cells import Measure, Results
from benchmarks.tables.labels import FAMILY_ORDER, HEADLINE_FAMILIES, listed, short
from benchmarks.tables.paper_values import (
    EXTENDED_CE_90,
    EXTENDED_CRPS,
    EXTENDED_MARGIN,
    EXTENDED_SAMPLE,
    PER_DATA_SET,
    PaperTable,
)
from benchmarks.tables.value import MISSING, Column, Entry, Number, Page, Table, fixed, significant

THREE = ("published", "score_flex_sde", "flow_vp")
_DASH = f"A dash ({MISSING}): the family has no result; bold is the best of a data set."


def value(row: Block, family: str, measure: Measure) -> float:
    """Mean over folds of one family on the row's data set; NaN if it has none."""
    if family not in row.families:
        return float("nan")
    return float(np.mean([measure(cell) for cell in row.cells[row.data_sets[0], family]]))


def train_rows(row: Block) -> float:
    """Training rows of the data set, mean over folds."""
    sizes = [cell.n_train for cell in row.lines() if cell.n_train is not None]
    return float(np.mean(sizes)) if sizes else float("nan")


def _present(rows: Sequence[Block], families: Sequence[str]) -> list[str]:
    return [family for family in families if any(family in row.families for row in rows)]


def _notes(rows: Sequence[Block], paper: PaperTable, families: Sequence[str]) -> tuple[str, ...]:
    absent = [short(family) for family in families if family not in _present(rows, families)]
    return (
        _DASH,
        f"In parentheses: the paper ({paper.label}).",
        *([f"Not run: {listed(absent)}."] if absent else []),
        *(note for row in rows for note in row.omissions),
        *notes.budget([cell for row in rows for cell in row.lines()]),
    )


def crpss_page(results: Results) -> Page:
    """CRPSS of the headline's families on each data set, with training rows."""
    rows = rows_of(results, HEADLINE_FAMILIES)
    shown = _present(rows, HEADLINE_FAMILIES)
    columns = (
        Column("Data set", align="l"),
        Column("Train rows", lambda n: f"{n:,.0f}"),
        *(Column(short(family), fixed(3), "max", group="CRPSS ↑") for family in shown),
    )
    body: tuple[tuple[Entry, ...], ...] = tuple(
        (
            row.data_sets[0],
            Number(train_rows(row), _other_size(row)),
            *(Number(value(row, f, metric("crpss")), PER_DATA_SET.get(row.data_sets[0], f)) for f in shown),
        )
        for row in rows
    )
    title = "CRPSS on each data set"
    table = Table("per_data_set", title, columns, body, _notes(rows, PER_DATA_SET, HEADLINE_FAMILIES), "rows")
    return Page("per_data_set", title, (table,))


def _other_size(row: Block) -> float | None:
    """Return the paper's training rows where ours differ by more than the rounding of folds."""
    paper, ours = PER_DATA_SET.get(row.data_sets[0], "n_train"), train_rows(row)
    return paper if paper is not None and not abs(paper - ours) <= 1.0 else None


def margin(row: Block) -> str:
    """Name the best of the three rows in CRPS and by how much the second is above it; a dash with fewer than two."""
    result = sorted((value(row, f, metric("crps")), f) for f in THREE if f in row.families)
    if len(result) < 2:
        return MISSING
    return f"{short(result[0][1])} +{100.0 * (result[1][0] / result[0][0] - 1.0):.1f}%"


def _paper_margin(data_set: str) -> str:
    return "".join(f" ({short(f)} +{percent:.1f}%)" for name, f, percent in EXTENDED_MARGIN if name == data_set)


def extended_page(results: Results) -> Page:
    """The paper's extended table of the published, flex and flow rows."""
    rows = rows_of(results, THREE)
    blocks_of_columns = (
        ("CRPS ↓", metric("crps"), significant(3), EXTENDED_CRPS),
        ("|cE|@90 ↓", metric("coverage_error_90"), fixed(3), EXTENDED_CE_90),
        ("sample (s)", sample_seconds, significant(2), EXTENDED_SAMPLE),
    )
    columns = [Column("Data set", align="l"), Column("best margin", align="l")]
    for group, _, form, _ in blocks_of_columns:
        columns += [Column(short(family), form, "min", group=group) for family in THREE]
    body: list[tuple[Entry, ...]] = []
    for row in rows:
        data_set = row.data_sets[0]
        entries = [
            Number(value(row, family, measure), paper.get(data_set, family))
            for _, measure, _, paper in blocks_of_columns
            for family in THREE
        ]
        body.append((data_set, margin(row) + _paper_margin(data_set), *entries))
    title = "Published, score-flex and FM on each data set"
    remarks = (
        "Best margin: how far the second of the three is above the best in CRPS.",
        *_notes(rows, EXTENDED_CRPS, THREE),
        "The paper's seconds are of another machine with all its cores.",
    )
    table = Table("extended_per_data_set", title, tuple(columns), tuple(body), remarks, "rows")
    return Page("extended_per_data_set", title, (table,))


def crps_page(results: Results) -> Page:
    """CRPS of every family on each data set."""
    order = (*FAMILY_ORDER, *(f for f in results.families() if f not in FAMILY_ORDER))
    rows = rows_of(results, order)
    shown = _present(rows, order)
    columns = (
        Column("Data set", align="l"),
        *(Column(short(family), significant(4), "min", group="CRPS ↓") for family in shown),
    )
    body: tuple[tuple[Entry, ...], ...] = tuple(
        (
            row.data_sets[0],
            *(Number(value(row, f, metric("crps")), EXTENDED_CRPS.get(row.data_sets[0], f)) for f in shown),
        )
        for row in rows
    )
    title = "CRPS of every family on each data set"
    table = Table("crps_per_data_set", title, columns, body, _notes(rows, EXTENDED_CRPS, FAMILY_ORDER), "rows")
    return Page("crps_per_data_set", title, (table,))
