"""Budget: trials, minutes, folds, rows and threads of each family, and the trials of each study."""

from __future__ import annotations

from benchmarks.tables import notes
from benchmarks.tables.cells import Results
from benchmarks.tables.labels import long, numbers, short
from benchmarks.tables.value import MISSING, Column, Number, Page, Table, significant

TITLE = "Budget"


def page(results: Results) -> Page:
    """Make the page."""
    return Page("budget", TITLE, (_families(results), _studies(results)))


def _families(results: Results) -> Table:
    rows = []
    for family in results.families():
        lines = [cell for cell in results.cells if cell.family == family]
        rows.append(
            (
                long(family),
                str(len({cell.data_set for cell in lines})),
                str(len(lines)),
                notes.trials(lines),
                notes.span(cell.budget.get("n_trials_failed") for cell in lines),
                notes.limits(lines),
                Number(notes.tuning_minutes(results, family)),
                numbers([cell.fold for cell in lines]),
                notes.span(cell.n_test for cell in lines),
                notes.span(cell.n_samples for cell in lines),
                notes.span(cell.threads for cell in lines),
            )
        )
    columns = (
        Column("Family", align="l"),
        *(Column(header) for header in ("data sets", "lines", "trials finite/target", "failed", "limit of a study")),
        Column("tuning (min)", significant(3)),
        *(Column(header) for header in ("folds", "test rows a fold", "samples", "threads")),
    )
    remarks = (
        "Trials and limits are those of one study (one data set); tuning minutes are of all studies of the family "
        "together. The paper: 40 trials for DiffGBM's families and the published one, 25 for the others, folds 1-5, "
        "all test rows, 200 samples.",
        *notes.provenance(results),
    )
    return Table("budget", "Budget of each family", columns, tuple(rows), remarks)


def _studies(results: Results) -> Table:
    grid, families = results.grid(), results.families()
    rows = tuple(
        (d, *(notes.trials(grid[d, f].values()) if (d, f) in grid else MISSING for f in families))
        for d in results.data_sets()
    )
    columns = (Column("Data set", align="l"), *(Column(short(family)) for family in families))
    remarks = (f"Finite/target trials; a dash ({MISSING}): the family has no result.",)
    return Table("trials", "Trials of each study", columns, rows, remarks)
