"""Means over data sets, one row for each family: headline, timing, competitors, and all families together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.tables import notes
from benchmarks.tables.blocks import Block, blocks, panel
from benchmarks.tables.cells import Cell, Measure, Results
from benchmarks.tables.labels import DIFFUSION, FAMILY_ORDER, HEADLINE_FAMILIES, long
from benchmarks.tables.paper_values import (
    COMPETITORS,
    EXTENDED_CRPS,
    EXTENDED_SAMPLE,
    HEADLINE,
    PER_DATA_SET,
    TIMING,
    PaperTable,
)
from benchmarks.tables.value import Column, Entry, Number, Page, Table, fixed, significant
from diffgbm._util.types import Array

KS_LEVEL = 0.05


def metric(name: str) -> Measure:
    """Return the measure that reads a metric."""
    return lambda cell: cell.metric(name)


def ks_pass(cell: Cell) -> float:
    """1 if the PIT passes the Kolmogorov–Smirnov test at 0.05, 0 if not, NaN if it was not tested."""
    p_value = cell.metric("pit_ks_p")
    return math.nan if math.isnan(p_value) else float(p_value > KS_LEVEL)


def fit_seconds(cell: Cell) -> float:
    """Seconds of the fit."""
    return cell.fit_seconds


def sample_seconds(cell: Cell) -> float:
    """Seconds of sampling the test rows."""
    return cell.sample_seconds


def total_seconds(cell: Cell) -> float:
    """Seconds of both."""
    return cell.fit_seconds + cell.sample_seconds


def mean(measure: Measure, block: Block) -> Array:
    """Mean over folds, then over data sets, (k,)."""
    return block.means(measure).mean(axis=1)


def relative_crps(block: Block) -> Array:
    """CRPS over that of the best family of the block on the same data set, (k, N)."""
    crps = block.means(metric("crps"))
    return crps / crps.min(axis=0)


@dataclass(frozen=True)
class Item:
    """A column of an aggregate table: its key in the paper's table, its look, and how it is computed, (k,)."""

    key: str
    column: Column
    compute: Callable[[Block], Array]


CRPSS = Item("crpss", Column("CRPSS ↑", fixed(3), "max"), partial(mean, metric("crpss")))
REL_CRPS = Item("rel_crps", Column("rel-CRPS ↓", fixed(3), "min"), lambda block: relative_crps(block).mean(axis=1))
CRPS = Item("crps", Column("CRPS ↓", fixed(3), "min"), partial(mean, metric("crps")))
DSS = Item("dss", Column("DSS ↓", fixed(3), "min"), partial(mean, metric("dss")))
Q_MACE = Item("q_mace", Column("q-MACE ↓", fixed(3), "min"), partial(mean, metric("q_mace")))
KS_PASS = Item("ks_pass", Column("KS p>.05 ↑", fixed(2), "max"), partial(mean, ks_pass))
FIT = Item("fit", Column("fit (s)", fixed(2), "min"), partial(mean, fit_seconds))
SAMPLE = Item("sample", Column("sample (s)", fixed(2), "min"), partial(mean, sample_seconds))
TOTAL = Item("total", Column("total (s)", fixed(2), "min"), partial(mean, total_seconds))


def coverage_error(level: int) -> Item:
    """Absolute coverage error at a level in per cent."""
    column = Column(f"|cE|@{level} ↓", fixed(3), "min")
    return Item(f"ce_{level}", column, partial(mean, metric(f"coverage_error_{level}")))


@dataclass(frozen=True)
class Spec:
    """An aggregate table: name, title, families, columns and the paper's table beside it.

    Attributes
    ----------
    exclude : tuple of str
        Data sets excluded by design.
    sort : str
        Key of the column by which rows are sorted, best first; empty keeps the order of ``families``.
    """

    name: str
    title: str
    families: tuple[str, ...]
    items: tuple[Item, ...]
    paper: PaperTable | None
    over: str = "eleven data sets"
    exclude: tuple[str, ...] = ()
    sort: str = ""
    notes: tuple[str, ...] = ()


_CALIBRATION = (coverage_error(50), coverage_error(90), coverage_error(95))

SPECS: tuple[Spec, ...] = (
    Spec(
        "headline",
        "Headline: accuracy and calibration",
        HEADLINE_FAMILIES,
        (CRPSS, REL_CRPS, KS_PASS, *_CALIBRATION),
        HEADLINE,
        notes=("rel-CRPS is CRPS over that of the best row on the same data set.",),
    ),
    Spec(
        "timing",
        "Seconds to fit a fold and to sample its test rows",
        HEADLINE_FAMILIES,
        (FIT, SAMPLE, TOTAL),
        TIMING,
        over="ten data sets without ct_slices, on another machine with all its cores",
        exclude=("ct_slices",),
        notes=(
            "Processor seconds, which exclude other jobs of the machine; the paper's are wall-clock seconds. "
            "ct_slices is excluded as in the paper.",
        ),
    ),
    Spec(
        "competitors",
        "Probabilistic families",
        ("score_flex_sde", "score_plus", "flow_vp", "published", *HEADLINE_FAMILIES[3:]),
        (CRPSS, REL_CRPS, CRPS, DSS, Q_MACE, coverage_error(95), SAMPLE),
        COMPETITORS,
        sort="crpss",
        notes=("CRPS and DSS are in the units of each response: their means weight data sets by scale.",),
    ),
    Spec(
        "all_families",
        "All families, with the rows that the paper's headline does not have",
        FAMILY_ORDER,
        (CRPSS, REL_CRPS, KS_PASS, *_CALIBRATION, Q_MACE, FIT, SAMPLE),
        None,
        notes=("rel-CRPS is relative to the best of these rows and therefore higher than in the headline.",),
    ),
)


def page(results: Results, spec: Spec) -> Page:
    """Make a page of one aggregate table, with further panels where fewer families have more data sets."""
    result = blocks(results, spec.families, spec.exclude)
    tables = tuple(_table(block, spec, i) for i, block in enumerate(result))
    return Page(spec.name, spec.title, tables, () if tables else (notes.NOTHING,))


def panel_title(title: str, block: Block) -> str:
    """Return a title with the size of the block."""
    plural = "s" if len(block.data_sets) > 1 else ""
    return f"{title} ({len(block.families)} families, {len(block.data_sets)} data set{plural})"


def _table(block: Block, spec: Spec, number: int) -> Table:
    order = _order(block, spec)
    families = [block.families[i] for i in order]
    numbers = [item.compute(block)[order] for item in spec.items]
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            long(family),
            *(Number(float(n[i]), _paper(spec, family, item)) for item, n in zip(spec.items, numbers, strict=True)),
        )
        for i, family in enumerate(families)
    )
    return Table(
        panel(spec.name, number),
        panel_title(spec.title, block),
        (Column("Family", align="l"), *(item.column for item in spec.items)),
        rows,
        tuple(_notes(block, spec)),
        rules=() if spec.sort else rules(families),
    )


def _order(block: Block, spec: Spec) -> list[int]:
    if not spec.sort:
        return list(range(len(block.families)))
    item = next(item for item in spec.items if item.key == spec.sort)
    values = item.compute(block)
    return [int(i) for i in np.argsort(-values if item.column.best == "max" else values, kind="stable")]


def _paper(spec: Spec, family: str, item: Item) -> float | None:
    return spec.paper.get(family, item.key) if spec.paper else None


def rules(families: Sequence[str]) -> tuple[int, ...]:
    """Return the row where the families that are not DiffGBM's begin, if there are both kinds."""
    inside = [family in DIFFUSION for family in families]
    return (inside.index(False),) if True in inside and False in inside else ()


def _notes(block: Block, spec: Spec) -> list[str]:
    keys = [item.key for item in spec.items]
    out = [notes.scope(block), *block.omissions]
    if spec.paper:
        out.append(notes.beside(spec.paper, spec.over))
    if "crpss" in keys:
        out += notes.same_data_sets(block, PER_DATA_SET, "CRPSS", fixed(3))
    if "crps" in keys:
        out += notes.same_data_sets(block, EXTENDED_CRPS, "CRPS", fixed(3))
    if "sample" in keys:
        out += notes.same_data_sets(block, EXTENDED_SAMPLE, "seconds of sampling", significant(3))
    return [*out, *spec.notes, *notes.budget(block.lines())]
