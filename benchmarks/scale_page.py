"""The page and the figure of ``python -m benchmarks scale``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.recipes import OURS, RELEASED
from benchmarks.records import Record
from diffgbm._util.optional import need

NAMES = {OURS: "this package", RELEASED: "released"}


def above(record: Record) -> float:
    """Peak bytes of a fit minus the bytes that its process held before: Python, libraries and the table."""
    return float(record["peak"] - record["before"])


def table(records: Sequence[Record]) -> str:
    """Write the records as Markdown."""
    lines = [
        "# Memory and time of fitting",
        "",
        "`python -m benchmarks scale`: one thread, each fit in a separate process. Memory is the peak during "
        '`fit`; "above" excludes what the process held before: Python, libraries and the table. Time is '
        "processor time.",
        "",
        *_versus([r for r in records if r["part"] == "versus"]),
        *_stages([r for r in records if r["part"] == "stages"]),
        *_growth([r for r in records if r["part"] == "growth"]),
        *_disk([r for r in records if r["part"] == "disk"]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _versus(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    lines = [
        "## Against the released package",
        "",
        "Both use their defaults, except for the number of trees. CRPS of held-out rows in units of the response, mean "
        "and standard error over the seeds; the rest is the median.",
        "",
        "| table | rows x columns | trees | package | peak, MB | above, MB | seconds | CRPS | fits |",
        "|---" * 9 + "|",
    ]
    shares = []
    for data in dict.fromkeys(r["data"] for r in records):
        by_package = {name: [r for r in records if (r["data"], r["package"]) == (data, name)] for name in NAMES}
        for name, group in by_package.items():
            if group:
                lines.append(_line(data, NAMES[name], group))
        if all(by_package.values()):
            shares.append(_shares(data, by_package[OURS], by_package[RELEASED]))
    return [*lines, "", *shares, ""]


def _line(data: str, name: str, group: Sequence[Record]) -> str:
    scores = np.array([r["crps"] for r in group])
    error = f" ± {scores.std(ddof=1) / np.sqrt(len(scores)):.4f}" if len(scores) > 1 else ""
    first = group[0]
    cells = [
        data,
        f"{first['rows']:,} x {first['width']}",
        str(first["trees"]),
        name,
        f"{np.median([r['peak'] for r in group]) / 1e6:,.0f}",
        f"{np.median([above(r) for r in group]) / 1e6:,.0f}",
        f"{np.median([r['processor_seconds'] for r in group]):.1f}",
        f"{scores.mean():.4f}{error}",
        str(len(group)),
    ]
    return "| " + " | ".join(cells) + " |"


def _shares(data: str, ours: Sequence[Record], theirs: Sequence[Record]) -> str:
    def share(value: Callable[[Record], float]) -> float:
        return float(np.median([value(r) for r in ours]) / np.median([value(r) for r in theirs]))

    seconds = {r["repeat"]: r["processor_seconds"] for r in theirs}
    pairs = [r["processor_seconds"] / seconds[r["repeat"]] for r in ours if r["repeat"] in seconds]
    return (
        f"- {data}: {share(lambda r: r['peak']):.2f} of the released package's memory in all, {share(above):.2f} above "
        f"the start; {np.median(pairs):.2f} of its time, the median over pairs measured in succession "
        f"({min(pairs):.2f} to {max(pairs):.2f})."
    )


STAGES = ("first stage", "noise", "targets", "binning", "trees", "evaluation", "other")


def _stages(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    lines = [
        "## Where the time goes",
        "",
        "Processor seconds of one fit, by the profiler. The first stage is the cross-fitted mean; trees are LightGBM's "
        "rounds, with the validation rows' scores, of which evaluation only takes the mean.",
        "",
        "| table | rows x columns | trees | " + " | ".join(STAGES) + " |",
        "|---" * (3 + len(STAGES)) + "|",
    ]
    for r in records:
        seconds, whole = r["stages"], sum(r["stages"].values())
        cells = [r["data"], f"{r['rows']:,} x {r['width']}", str(r["trees"])]
        cells += [f"{seconds[name]:.2f} ({seconds[name] / whole:.0%})" for name in STAGES]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _growth(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    lines = [
        "## As tables grow",
        "",
        "A memory map of float32 and a fixed number of trees; `n_repeats` is 30, but not more than 3 million copies in "
        "all, and at least 2.",
        "",
        "| rows | columns | n_repeats | trees | table, MB | above, MB | seconds | read, s |",
        "|---" * 8 + "|",
    ]
    for r in sorted(records, key=lambda r: r["rows"]):
        cells = [f"{r['rows']:,}", str(r["width"]), str(r["n_repeats"]), str(r["trees"])]
        cells += [f"{r['table_bytes'] / 1e6:,.1f}", f"{above(r) / 1e6:,.0f}", f"{r['processor_seconds']:.1f}"]
        lines.append("| " + " | ".join([*cells, f"{r['read_seconds']:.2f}"]) + " |")
    return [*lines, "", "![Time and memory against rows](scale.png)", ""]


def _disk(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    lines = [
        "## Tables on disk",
        "",
        "One noisy copy of each row. A fit holds one byte per number (LightGBM's bins), nearly twice that while the "
        "mean is cross-fitted, and the 50,000 rows that determine the bins.",
        "",
        "| table | rows x columns | as float32, MB | reading, peak MB | fit, above MB | share of the table | seconds |",
        "|---" * 7 + "|",
    ]
    for r in records:
        cells = [r["data"], f"{r['rows']:,} x {r['width']}", f"{r['table_bytes'] / 1e6:,.0f}"]
        cells += [f"{r['read_peak'] / 1e6:,.0f}", f"{above(r) / 1e6:,.0f}", f"{above(r) / r['table_bytes']:.2f}"]
        lines.append("| " + " | ".join([*cells, f"{r['processor_seconds']:.1f}"]) + " |")
    return [*lines, ""]


def figure(records: Sequence[Record], path: Path) -> None:
    """Draw time and memory against rows."""
    grown = sorted((r for r in records if r["part"] == "growth"), key=lambda r: r["rows"])
    if not grown:
        return
    plt = need("matplotlib.pyplot")
    picture, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    rows = [r["rows"] for r in grown]
    left.plot(rows, [r["processor_seconds"] for r in grown], "o-", color="#0072B2", ms=4)
    right.plot(rows, [above(r) / 1e6 for r in grown], "o-", color="#0072B2", ms=4, label="fit")
    tiled = [8e-6 * r["rows"] * r["n_repeats"] * r["width"] for r in grown]
    right.plot(rows, tiled, ":", color="#D55E00", label="X tiled as float64, once")
    for record in grown:
        left.annotate(
            f"x {record['n_repeats']}",
            (record["rows"], record["processor_seconds"]),
            textcoords="offset points",
            xytext=(0, 6),
            ha="center",
            fontsize=8,
        )
    top = 1.12 * max(r["processor_seconds"] for r in grown)
    left.set(ylabel="processor seconds, one thread", title="labels: noisy copies of each row", ylim=(0, top))
    left.title.set_fontsize(9)
    right.set(ylabel="memory above the start, MB", yscale="log")
    right.legend(frameon=False, fontsize=8)
    for ax in (left, right):
        ax.set(xscale="log", xlabel="rows")
    picture.savefig(path, dpi=130)
    plt.close(picture)
