"""Robustness: mean ranks with Friedman's test, Nemenyi's pairs, and DiffGBM's rows paired with the published one."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.tables import notes
from benchmarks.tables.aggregates import metric, panel_title, relative_crps
from benchmarks.tables.blocks import Block, blocks, panel
from benchmarks.tables.cells import Results
from benchmarks.tables.labels import HEADLINE_FAMILIES, OURS, listed, long, short
from benchmarks.tables.paper_values import FRIEDMAN_CHI2, NEMENYI_CD, RANKS, WILCOXON
from benchmarks.tables.ranking import ALPHA, critical_difference, friedman, mean_ranks, nemenyi, wilcoxon
from benchmarks.tables.value import Column, Entry, Number, Page, Table, fixed

TITLE = "Ranks and their tests"


def page(results: Results) -> Page:
    """Make the page: ranks and pairs of each block, then the paired tests."""
    tables: list[Table] = []
    for i, block in enumerate(blocks(results, HEADLINE_FAMILIES)):
        tables += [_ranks(block, i), *([_pairs(block, i)] if testable(block) else [])]
    paired = _paired(results)
    tables += [paired] if paired.rows else []
    return Page("ranks", TITLE, tuple(tables), () if tables else (notes.NOTHING,))


def testable(block: Block) -> bool:
    """Whether ranks can be tested at all: three families, two data sets."""
    return len(block.families) > 2 and len(block.data_sets) > 1


def p_text(p_value: float) -> str:
    """Write a p-value: three decimals, and below 0.001 two digits with a power of ten."""
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1e}"


def tests(block: Block) -> list[str]:
    """Return the results of the Friedman and Nemenyi tests, with the paper's numbers."""
    crps = block.means(metric("crps"))
    result = friedman(crps)
    if result is None:
        return ["Friedman's test needs three families that are not all tied, and two data sets: not computed."]
    k, n = crps.shape
    difference = critical_difference(k, n)
    return [
        f"Friedman on CRPS, {k} families, {n} data sets: χ² = {result.chi2:.1f}, p = {p_text(result.p_value)} "
        f"(paper, 9 and 11: {FRIEDMAN_CHI2}, p < 0.001).",
        f"Nemenyi's critical difference of mean ranks at {ALPHA}: {difference:.2f} (paper: {NEMENYI_CD}). "
        f"Below the best row by more than that: {listed(_separated(block, difference))}.",
    ]


def _separated(block: Block, difference: float) -> list[str]:
    ranks = mean_ranks(block.means(metric("crps")))
    return [long(f) for f, r in zip(block.families, ranks, strict=True) if r > ranks.min() + difference]


def _ranks(block: Block, number: int) -> Table:
    crpss = block.means(metric("crpss"))
    n = len(block.data_sets)
    errors = crpss.std(axis=1, ddof=1) / math.sqrt(n) if n > 1 else np.full(len(crpss), math.nan)
    crps_rank = mean_ranks(block.means(metric("crps")))
    cover_rank = mean_ranks(block.means(metric("coverage_error_95")))
    relative = relative_crps(block).mean(axis=1)
    rows = []
    for i in np.argsort(crps_rank, kind="stable"):
        family = block.families[i]
        paper = {name: RANKS.get(family, name) for name in RANKS.columns}
        rows.append(
            (
                long(family),
                Number(crps_rank[i], paper["crps_rank"]),
                Number(float(crpss[i].mean()), paper["crpss"], float(errors[i]), paper["crpss_se"]),
                Number(relative[i], paper["rel_crps"]),
                Number(cover_rank[i], paper["ce_95_rank"]),
            )
        )
    columns = (
        Column("Family", align="l"),
        Column("CRPS rank ↓", fixed(2), "min"),
        Column("CRPSS ± SE ↑", fixed(3), "max"),
        Column("rel-CRPS ↓", fixed(3), "min"),
        Column("|cE|@95 rank ↓", fixed(2), "min"),
    )
    remarks = (
        f"Ranks within each data set of the mean over folds, then averaged over {n}: {listed(block.data_sets)}. "
        "SE is the standard error over data sets.",
        *block.omissions,
        *tests(block),
        notes.beside(RANKS, "eleven data sets"),
        *notes.budget(block.lines()),
    )
    return Table(panel("ranks", number), panel_title("Ranks", block), columns, tuple(rows), remarks)


def _pairs(block: Block, number: int) -> Table:
    ranks = mean_ranks(block.means(metric("crps")))
    order = np.argsort(ranks, kind="stable")
    p_values = nemenyi(ranks, len(block.data_sets))[np.ix_(order, order)]
    names = [block.families[i] for i in order]
    rows: list[tuple[Entry, ...]] = [
        (long(name), *("" if i == j else Number(float(p)) for j, p in enumerate(line)))
        for i, (name, line) in enumerate(zip(names, p_values, strict=True))
    ]
    columns = (Column("Family", align="l"), *(Column(short(name), p_text) for name in names))
    remarks = ("p-values of Nemenyi's test on mean CRPS ranks, corrected for all pairs.", *block.omissions)
    return Table(panel("nemenyi", number), panel_title("Nemenyi's pairs", block), columns, tuple(rows), remarks)


def _paired(results: Results) -> Table:
    """Test each DiffGBM row against the published one, over the data sets where both have results."""
    rows, remarks = [], []
    for family in OURS:
        result = blocks(results, ("published", family))
        if not result:
            remarks.append(f"{long(family)} left out: no results beside the published row's.")
            continue
        block = result[0]
        published, crps = block.means(metric("crps"))
        test = wilcoxon(crps, published)
        counts = f"{test.wins}/{test.losses}" + (f", {test.ties} tied" if test.ties else "")
        paper = {name: WILCOXON.get(family, name) for name in WILCOXON.columns}
        if paper["wins"] is not None and paper["losses"] is not None:
            counts += f" ({paper['wins']:.0f}/{paper['losses']:.0f})"
        rows.append(
            (
                long(family),
                Number(len(block.data_sets)),
                counts,
                Number(test.statistic, paper["statistic"]),
                Number(test.p_value, paper["p_value"]),
            )
        )
        remarks += [f"{short(family)}: {note}" for note in block.fold_notes]
    columns = (
        Column("Row", align="l"),
        Column("data sets", fixed(0)),
        Column("wins/losses"),
        Column("W", fixed(0)),
        Column("p, one-sided", p_text),
    )
    notes_ = (
        "Wilcoxon's signed-rank test that a row's CRPS is lower than the published row's, on the logarithm of their "
        "ratio on each data set (in the paper the scale of the differences is not named; with 11/0 it does not "
        "matter). One test for each row, not corrected for their number.",
        "The least p that N data sets can give is one half to the power N.",
        f"In parentheses: the paper ({WILCOXON.label}), over eleven data sets.",
        *remarks,
        *notes.budget([c for c in results.cells if c.family in ("published", *OURS)]),
    )
    return Table("wilcoxon", "DiffGBM's rows paired with the published one", columns, tuple(rows), notes_)
