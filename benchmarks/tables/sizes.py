"""CRPSS by size of the training part: small, medium and large data sets."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.tables import notes
from benchmarks.tables.aggregates import metric, panel_title, rules
from benchmarks.tables.blocks import Block, blocks, panel
from benchmarks.tables.cells import Results
from benchmarks.tables.labels import HEADLINE_FAMILIES, listed, long
from benchmarks.tables.paper_values import SIZES
from benchmarks.tables.value import Column, Entry, Number, Page, Table, fixed

LIMITS = (("small", 0, 1_000), ("medium", 1_000, 10_000), ("large", 10_000, math.inf))
"""Training rows of each group: above the first number, at most the second."""
TITLE = "CRPSS by size of the data set"


def groups(block: Block) -> dict[str, tuple[str, ...]]:
    """Return the data sets of each size."""
    sizes = {d: _train_rows(block, d) for d in block.data_sets}
    return {name: tuple(d for d, n in sizes.items() if low < n <= high) for name, low, high in LIMITS}


def _train_rows(block: Block, data_set: str) -> float:
    sizes = [cell.n_train for cell in block.lines() if cell.data_set == data_set and cell.n_train is not None]
    return float(np.mean(sizes)) if sizes else math.nan


def page(results: Results) -> Page:
    """Make the page."""
    result = blocks(results, HEADLINE_FAMILIES)
    tables = tuple(_table(block, i) for i, block in enumerate(result))
    return Page("sizes", TITLE, tables, () if tables else (notes.NOTHING,))


def _table(block: Block, number: int) -> Table:
    crpss = block.means(metric("crpss"))
    members = groups(block)
    columns = [Column("Family", align="l")]
    columns += [Column(f"{name} ({len(names)})", fixed(3), "max") for name, names in members.items()]
    rows: list[tuple[Entry, ...]] = []
    for family, values in zip(block.families, crpss, strict=True):
        by_size = [
            [v for v, d in zip(values, block.data_sets, strict=True) if d in names] for names in members.values()
        ]
        means = [float(np.mean(v)) if v else math.nan for v in by_size]
        entries = [Number(m, SIZES.get(family, name)) for m, name in zip(means, members, strict=True)]
        rows.append((long(family), *entries))
    remarks = (
        "Small: at most 1,000 training rows; medium: at most 10,000; large: more. "
        + " ".join(f"{name.capitalize()}: {listed(names)}." for name, names in members.items()),
        *block.omissions,
        notes.beside(SIZES, "4 small, 4 medium and 3 large data sets"),
        *notes.budget(block.lines()),
    )
    name = panel("sizes", number)
    return Table(name, panel_title(TITLE, block), tuple(columns), tuple(rows), remarks, rules=rules(block.families))
