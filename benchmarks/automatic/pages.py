"""The tables of the comparison, from the recorded lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.automatic.rivals import NO_RIVALS, Rivals
from benchmarks.automatic.summary import (
    BEST_OF_NINE,
    FLOW,
    Fits,
    Lines,
    attainable_coverage,
    geometric_mean,
    metric,
    uniform,
)
from benchmarks.automatic.targets import targets
from benchmarks.automatic.variants import ABLATION_DATA, FULL, REPEATED_DATA, VARIANTS
from benchmarks.records import Record
from benchmarks.tables.labels import short
from benchmarks.tables.value import MISSING, Column, Entry, Number, Page, Table, fixed, significant

TITLE = "AutoDiffGBM on the paper's folds"

_CALIBRATION = (Column("|cE|@50", fixed(3)), Column("|cE|@90", fixed(3)), Column("KS p>.05", fixed(2)))
_SECONDS = (Column("fit (s)", fixed(0)), Column("processor (s)", fixed(0)))


def page(records: Sequence[Record], rivals: Rivals = NO_RIVALS) -> Page:
    """Return all tables that there are lines for, and whether each target is met."""
    fits = Fits.of(records)
    tables = [
        *([comparison("auto_best", "Preset best", fits.best, "best of nine", BEST_OF_NINE)] if fits.best else []),
        *([comparison("auto_fast", "Preset fast", fits.fast, "the paper's flow row", FLOW)] if fits.fast else []),
        *([best_without_repeated(fits, rivals)] if fits.best_unrepeated else []),
        *([fast_without_repeated(fits, rivals)] if fits.fast_unrepeated else []),
        *(ablation(records, preset) for preset in ("best", "fast") if _has_ablation(records, preset)),
        targets_table(fits, rivals),
    ]
    return Page("auto", TITLE, tuple(tables), _notes(records))


def _notes(records: Sequence[Record]) -> tuple[str, ...]:
    versions = {line["source_hash"] for line in records}
    threads = sorted({line["threads"] for line in records})
    cut = sum(line["cut_short"] for line in records)
    return (
        "`python -m benchmarks auto`: the paper's folds, 200 samples of each test row; fits use the training "
        "part only. CRPS is the mean over several draws of 200 samples if the test part is small (up to 20 draws, to "
        f"reach 5,000 rows; {sum(line.get('n_draws', 1) == 1 for line in records)} of the fits have one draw). "
        f"Fits: {len(records)}, with {' or '.join(map(str, threads))} thread(s), by {len(versions)} version(s) of "
        f"the code; the time limit cut {cut} of them short. Seconds are wall-clock seconds on a machine that ran other "
        "jobs as well; processor seconds follow.",
    )


def comparison(name: str, title: str, lines: Lines, label: str, reference: Mapping[str, float]) -> Table:
    """Compare a preset with a reference, data set by data set."""
    columns = (
        Column("data set", align="l"),
        Column("folds"),
        Column("CRPS", significant(3)),
        Column(label, significant(3)),
        Column("ratio", fixed(3)),
        *_CALIBRATION,
        *_SECONDS,
    )
    rows = [_row(lines, data_set, reference[data_set]) for data_set in lines.data_sets]
    ratios = {name: ratio for name, ratio in lines.ratios(reference).items() if name != "naval"}
    note = f"Geometric mean of the ratios without naval: {geometric_mean(ratios.values()):.3f}." if ratios else ""
    error = "The error of a CRPS is the standard error over folds."
    return Table(
        name, f"{title} against {label}", columns, tuple(rows), tuple(filter(None, (note, error, _discrete(lines))))
    )


def _discrete(lines: Lines) -> str:
    """Return the coverage of discrete responses under exact predictive distributions, as text."""
    sentences = []
    for data_set in lines.data_sets:
        folds = [f for f in lines.folds(data_set) if _misses_nominal(lines.by_fold[data_set, f])]
        if folds:
            exact, measured = (
                [lines.mean(data_set, metric(f"{kind}_{level}"), folds) for level in (50, 90)]
                for kind in ("attainable_coverage", "coverage")
            )
            sentences.append(
                f"{data_set} is discrete, and an interval contains all the probability of the values at its ends. "
                f"Under exact predictive distributions 50% and 90% intervals would cover {exact[0]:.3f} and "
                f"{exact[1]:.3f}; they cover {measured[0]:.3f} and {measured[1]:.3f} (fold {_runs(folds)})."
            )
    return " ".join(sentences)


def _misses_nominal(line: Record) -> bool:
    """Whether exact predictive distributions of a discrete response would miss the nominal coverage."""
    exact = attainable_coverage(line, 50)
    return exact is not None and abs(exact - 0.5) > 0.02


def _row(lines: Lines, data_set: str, reference: float) -> tuple[Entry, ...]:
    crps = lines.values(data_set, metric("crps"))
    return (
        data_set,
        _runs(lines.folds(data_set)),
        Number(float(np.mean(crps)), error=_standard_error(crps)),
        Number(reference),
        Number(float(np.mean(crps)) / reference),
        *_calibration(lines, data_set),
        *_seconds(lines, data_set),
    )


def _calibration(lines: Lines, data_set: str) -> tuple[Number, ...]:
    """Entries of the columns ``_CALIBRATION``."""
    measures = (metric("coverage_error_50"), metric("coverage_error_90"), uniform)
    return tuple(Number(lines.mean(data_set, measure)) for measure in measures)


def _seconds(lines: Lines, data_set: str) -> tuple[Number, ...]:
    """Entries of the columns ``_SECONDS``."""
    measures = (lambda line: line["fit_seconds"], lambda line: line["fit_cpu_seconds"])
    return tuple(Number(lines.mean(data_set, measure)) for measure in measures)


def best_without_repeated(fits: Fits, rivals: Rivals) -> Table:
    """Compare tables with and without their repeated rows; the paper's tables have them."""
    best, unrepeated, plain = fits.best, fits.best_unrepeated, fits.plain
    columns = (
        Column("data set", align="l"),
        Column("folds"),
        Column("rows left"),
        Column("CRPS", significant(3)),
        Column("all rows", significant(3)),
        Column("best of nine, all rows", significant(3)),
        Column("ratio", fixed(3)),
        Column("best of nine, same rows", significant(3)),
        Column("ratio", fixed(3)),
        Column("plain flow, same rows", significant(3)),
        Column("ratio", fixed(3)),
        *_CALIBRATION,
    )
    rows = []
    for name in unrepeated.data_sets:
        folds = unrepeated.folds(name)
        both, shared = ([fold for fold in folds if (name, fold) in lines.by_fold] for lines in (best, plain))
        left = unrepeated.by_fold[name, folds[0]]
        crps = unrepeated.mean(name, metric("crps"))
        rival = rivals.best(name, folds)
        same, flow = (lines.mean(name, metric("crps"), shared) for lines in (unrepeated, plain))
        rows.append(
            (
                name,
                _runs(folds),
                str(left["n_train"] + left["n_test"]),
                Number(crps),
                Number(best.mean(name, metric("crps"), both)),
                Number(BEST_OF_NINE[name]),
                Number(crps / BEST_OF_NINE[name]),
                *((MISSING, MISSING) if rival is None else (Number(rival), Number(crps / rival))),
                *((Number(flow), Number(same / flow)) if shared else (MISSING, MISSING)),
                *_calibration(unrepeated, name),
            )
        )
    note = (
        f"After removing duplicate rows, which reward memorisation: of rows with the same features the first is kept "
        f"({', '.join(REPEATED_DATA)}). The paper's numbers are for whole tables, with duplicates. Plain flow is the "
        "variant no_selection: the flow recipe on LightGBM's residuals, with as many bags, on the same rows."
    )
    notes = (note, *filter(None, (_rivals_note(unrepeated, rivals),)))
    return Table("auto_unrepeated", "Preset best without repeated rows", columns, tuple(rows), notes)


def fast_without_repeated(fits: Fits, rivals: Rivals) -> Table:
    """Compare the fast preset with the flow row, with and without repeated rows."""
    unrepeated = fits.fast_unrepeated
    columns = (
        Column("data set", align="l"),
        Column("folds"),
        Column("CRPS", significant(3)),
        Column("all rows", significant(3)),
        Column("the paper's flow row, all rows", significant(3)),
        Column("tuned flow, same rows", significant(3)),
        Column("ratio", fixed(3)),
        *_CALIBRATION,
        *_SECONDS,
    )
    rows = []
    for name in unrepeated.data_sets:
        folds = unrepeated.folds(name)
        crps, flow = unrepeated.mean(name, metric("crps")), rivals.flow(name, folds)
        rows.append(
            (
                name,
                _runs(folds),
                Number(crps),
                Number(fits.fast.mean(name, metric("crps"), [f for f in folds if (name, f) in fits.fast.by_fold])),
                Number(FLOW[name]),
                *((MISSING, MISSING) if flow is None else (Number(flow), Number(crps / flow))),
                *_calibration(unrepeated, name),
                *_seconds(unrepeated, name),
            )
        )
    note = "Tuned flow is the flow row as the protocol tuned it (`python -m benchmarks auto --rivals`)."
    return Table("auto_fast_unrepeated", "Preset fast without repeated rows", columns, tuple(rows), (note,))


def _rivals_note(unrepeated: Lines, rivals: Rivals) -> str:
    """Return the CRPS of each family on the same rows, as text."""
    sentences = []
    for name in unrepeated.data_sets:
        scores = sorted(rivals.crps(name, unrepeated.folds(name)).items(), key=lambda item: item[1])
        if scores:
            sentences.append(f"{name}: {', '.join(f'{short(family)} {crps:.3g}' for family, crps in scores)}")
    if not sentences:
        return ""
    return (
        "The best of nine on the same rows is the best of the families, tuned by the protocol on the whole "
        "tables and with fewer trials than in the paper (`python -m benchmarks auto --rivals`). "
        f"CRPS on {'; on '.join(sentences)}."
    )


_COVERAGE = {
    "|cE|@50": "coverage_error_50",
    "|cE|@90": "coverage_error_90",
    "IQR-MACE@50": "iqr_mace_50",
    "IQR-MACE@90": "iqr_mace_90",
}
"""Labels and names of the coverage errors in the ablation table."""


def _has_ablation(records: Sequence[Record], preset: str) -> bool:
    return any(line["preset"] == preset and line["variant"] != FULL for line in records)


def ablation(records: Sequence[Record], preset: str) -> Table:
    """CRPS of each variant as a multiple of the full fit's, on the folds that both have."""
    every = {variant: Lines.of(records, preset, variant) for variant in VARIANTS}
    full = every[FULL]
    parted = {key for variant, lines in every.items() if variant != FULL for key in lines.by_fold}
    names = [name for name in ABLATION_DATA if name in {key[0] for key in parted}]
    columns = (
        Column("variant", align="l"),
        *(Column(name, fixed(3)) for name in names),
        Column("geometric mean", fixed(3)),
        *(Column(label, fixed(3)) for label in _COVERAGE),
        Column("fit (s)", fixed(0)),
    )
    rows = []
    for variant, all_lines in every.items():
        lines = Lines({key: all_lines.by_fold[key] for key in parted & set(all_lines.by_fold) if key[0] in names})
        ratios = lines.ratios_to(full)
        if not ratios:
            continue
        rows.append(
            (
                variant,
                *(Number(ratios[name]) if name in ratios else MISSING for name in names),
                Number(geometric_mean(ratios.values())),
                *(Number(lines.overall(metric(name))) for name in _COVERAGE.values()),
                Number(lines.overall(lambda line: line["fit_seconds"])),
            )
        )
    note = (
        "CRPS as a multiple of the full fit's on the folds that both have; above 1 the removed part lowers the CRPS. "
        "IQR-MACE is the mean coverage error within fifths of the rows by interquartile range."
    )
    return Table(
        f"auto_ablation_{preset}", f"What each part of preset {preset} contributes", columns, tuple(rows), (note,)
    )


def targets_table(fits: Fits, rivals: Rivals) -> Table:
    """Return each target and whether it is met."""
    columns = (Column("target", align="l"), Column("measured"), Column("", align="l"))
    rows = tuple((target.text, target.measured, target.state) for target in targets(fits, rivals))
    pooled = [fits.best.pooled_coverage_error(level) for level in (50, 90)]
    left = "incomplete: data sets are missing that could still change the answer."
    notes = (
        *([left] if "incomplete" in {row[2] for row in rows} else []),
        "Seconds on two cores: seconds of a fit with one thread are halved.",
        "Coverage errors are those of single folds, which may have 51 test rows. With all folds of a data set pooled, "
        f"the coverage error is {pooled[0]:.3f} at 50% and {pooled[1]:.3f} at 90%, averaged over data sets.",
    )
    return Table("auto_targets", "Targets", columns, rows, notes)


def _runs(folds: Sequence[int]) -> str:
    """Write folds as text: consecutive ones by their ends."""
    if len(folds) > 1 and list(folds) == list(range(folds[0], folds[-1] + 1)):
        return f"{folds[0]}-{folds[-1]}"
    return ", ".join(map(str, folds))


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
