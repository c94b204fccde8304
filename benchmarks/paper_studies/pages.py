"""A study as a page: a table with the paper's numbers beside ours, paired tests, and the result of every claim."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import records
from benchmarks.paper_studies.measures import MEASURES
from benchmarks.paper_studies.results import COMPUTED_DATA, Results
from benchmarks.paper_studies.rules import Outcome, decide_all, differences, paired_test
from benchmarks.paper_studies.schema import Claim, Paired, Shown, Study
from benchmarks.paper_studies.work import KEY, lines_path
from benchmarks.records import Record
from benchmarks.tables.render import latex
from benchmarks.tables.value import MISSING, Column, Entry, Number, Page, Table, fixed, significant

_STATISTIC = {"t": "t", "wilcoxon": "Wilcoxon W", "sign": "pairs above", "exact": "exact"}


@dataclass(frozen=True)
class Finished:
    """A study with its lines."""

    study: Study
    lines: tuple[Record, ...]

    @property
    def results(self) -> Results:
        """Numbers by arm."""
        return Results.of(self.lines)

    @property
    def substitute(self) -> bool:
        """Whether lines come from a generated table in place of the paper's."""
        return any("SUBSTITUTE TABLE" in (line.get("note") or "") for line in self.lines)

    @property
    def on(self) -> str:
        """Remark for results that come from a substitute table."""
        return " (substitute table)" if self.substitute else ""

    def outcomes(self) -> list[tuple[Claim, Outcome]]:
        """Decide every claim."""
        results = self.results
        return [(claim, decide_all(claim.rules, results)) for claim in self.study.claims]


def finished(study: Study, results_dir: object) -> Finished:
    """Read the lines of a study: those of its data sets and folds, in their order."""
    result = records.latest(lines_path(results_dir, study.name), KEY)  # type: ignore[arg-type]
    names = study.data_sets if study.kind == "models" else (COMPUTED_DATA,)
    order = [(name, fold) for name in names for fold in study.folds]
    return Finished(study, tuple(result[key] for key in order if key in result))


def page_of(done: Finished) -> Page:
    """Return all tables of a study."""
    study = done.study
    tables = [_arms(done), *([_paired(done)] if study.paired else []), claims_table(done)]
    notes = (
        f"Paper: {study.paper.where}; {study.paper.setting}",
        "Our number first, the paper's in parentheses where it has one.",
    )
    return Page(study.name, study.title, tuple(tables), notes)


def _arms(done: Finished) -> Table:
    study, results = done.study, done.results
    columns = [Column("", align="l"), *(_column(shown) for shown in study.columns)]
    rows: list[tuple[Entry, ...]] = [
        (
            arm.label,
            *(Number(results.mean(arm.name, s.measure), arm.paper.get(s.measure)) for s in study.columns),
        )
        for arm in study.arms
    ]
    series = [arm.series for arm in study.arms]
    rules = tuple(i for i in range(1, len(series)) if series[i] != series[i - 1])
    return Table(study.name, study.title, tuple(columns), tuple(rows), tuple(_notes(done)), rules=rules)


def _column(shown: Shown) -> Column:
    known = MEASURES.get(shown.measure)
    header = shown.header or (known.header if known else shown.measure.replace("_", " "))
    digits = shown.digits if shown.digits is not None else (known.digits if known else -4)
    best = shown.best if shown.best is not None else (known.best if known else None)
    return Column(header, significant(-digits) if digits < 0 else fixed(digits), None if best == "none" else best)


def _notes(done: Finished) -> list[str]:
    study, lines = done.study, done.lines
    if not lines:
        return ["No measurements yet."]
    if study.kind != "models":
        return [f"Computed; seeds {', '.join(str(line['fold']) for line in lines)}."]
    folds = sorted({line["fold"] for line in lines})
    names = list(dict.fromkeys(line["data_set"] for line in lines))
    notes = [
        f"Means over the folds of each of {len(names)} data sets, then over these: {', '.join(names)}. "
        f"Test folds {', '.join(map(str, folds))} of six, {lines[0]['n_samples']} samples a row, {len(lines)} units."
    ]
    by_note: dict[str, list[str]] = {}
    for line in lines:
        if line.get("note") and line["data_set"] not in by_note.get(line["note"], []):
            by_note.setdefault(line["note"], []).append(line["data_set"])
    notes += [f"{', '.join(who)}: {note}." for note, who in by_note.items()]
    if any(model.tuned for model in study.models.values()):
        tuned = list(dict.fromkeys(line["data_set"] for line in lines if line.get("tuned")))
        rest = [name for name in names if name not in tuned]
        notes.append(
            f"LightGBM parameters tuned by this repository's protocol: {', '.join(tuned) or 'none'}; "
            f"the study's fixed ones: {', '.join(rest) or 'none'}."
        )
    timed = sum(all("sample_seconds" in cell for cell in line["arms"].values()) for line in lines)
    if any(shown.measure == "sample_seconds" for shown in study.columns) and timed < len(lines):
        notes.append(f"Sampling times of {timed} of {len(lines)} units; those of the others were not comparable.")
    if any(shown.measure.endswith("_seconds") for shown in study.columns):
        notes.append("Seconds are of one thread's processor time, and not comparable with the paper's machine.")
    return notes


def _paired(done: Finished) -> Table:
    columns = (
        Column("left - right", align="l"),
        Column("measure", align="l"),
        Column("mean difference", significant(3)),
        Column("left lower", align="r"),
        Column("test", align="l"),
        Column("statistic", significant(3)),
        Column("p (two-sided)", significant(2)),
    )
    rows = tuple(_paired_row(pair, done.results) for pair in done.study.paired)
    notes = ("Pairs are data sets and folds; folds of one data set share training rows and are not independent.",)
    return Table(f"{done.study.name}_paired", "Paired tests", columns, rows, notes)


def _paired_row(pair: Paired, results: Results) -> tuple[Entry, ...]:
    d = differences(results, pair.left, pair.right, pair.measure, "folds", False)
    head = (f"{pair.left} - {pair.right}", pair.measure)
    paper = pair.paper
    if not len(d):
        nothing = Number(math.nan)
        return (*head, Number(math.nan, paper.get("difference")), MISSING, _STATISTIC[pair.test], nothing, nothing)
    result = paired_test(d, pair.test)
    wins = f" ({paper['lower']:g} of {paper['pairs']:g})" if "lower" in paper else ""
    return (
        *head,
        Number(result.difference, paper.get("difference")),
        f"{result.lower} of {result.n}{wins}",
        _STATISTIC[pair.test],
        Number(result.statistic, paper.get("statistic")),
        Number(result.p_two_sided, paper.get("p_value")),
    )


def claims_table(done: Finished) -> Table:
    """Return the claims, what the paper says, our numbers, and the result."""
    columns = tuple(Column(header, align="l") for header in ("Claim", "Paper", "Here", "Result"))
    rows = tuple(
        (claim.claim, claim.paper, outcome.numbers, outcome.finding.upper() + done.on)
        for claim, outcome in done.outcomes()
    )
    return Table(f"{done.study.name}_claims", "Claims", columns, rows)


def as_latex(page: Page) -> str:
    """Write a page as LaTeX; columns of sentences are broken into lines."""
    return latex(page).replace(
        r"\begin{tabular}{llll}", r"\begin{tabular}{p{0.3\textwidth}p{0.2\textwidth}p{0.32\textwidth}l}"
    )


def counts(all_done: Sequence[Finished], substitute: bool = False) -> dict[str, int]:
    """Count the results of claims, most frequent first: those on the paper's data, or those on a substitute table.

    The two are never added: a generated table does not test the paper's numbers.
    """
    chosen = [done for done in all_done if done.substitute == substitute]
    return dict(Counter(outcome.finding for done in chosen for _, outcome in done.outcomes()).most_common())
