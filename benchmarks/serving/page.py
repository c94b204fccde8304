"""The page of the measurement, from its records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]

QUESTIONS = {"interval": "90% interval", "quantiles": "99 quantiles"}
LABELS = {
    "flow": "`DiffGBM.flow()`",
    "edm": "`DiffGBM()` (EDM)",
    "fast": "`AutoDiffGBM`, fast",
    "balanced": "`AutoDiffGBM`, balanced",
}
COMPRESSED = "{}, compressed"


def label(model: str) -> str:
    """Name a model in a table."""
    base, _, rest = model.partition(",")
    return LABELS.get(base, base) + (f",{rest}" if rest else "")


def seconds(records: Sequence[Record], **wanted: Any) -> float | None:
    """Least seconds of the records with these values; ``None`` without any."""
    found = [r["seconds"] for r in records if all(r.get(name) == value for name, value in wanted.items())]
    return min(found) if found else None


def per_row(value: float | None, n_rows: int) -> str:
    """Microseconds for each row."""
    return "" if value is None else f"{1e6 * value / n_rows:,.{0 if value / n_rows >= 1e-4 else 1}f}"


def page(records: Sequence[Record], facts: Record) -> str:
    """Write the tables as Markdown."""
    sizes = sorted({r["rows"] for r in records if "rows" in r})
    header = [f"{text}, {n:,} row{'s' if n > 1 else ''}" for text in QUESTIONS.values() for n in sizes]
    lines = [
        "# Time of a prediction",
        "",
        f"`python -m benchmarks serving`: a generated table of {facts['n_train']:,} rows and 8 columns, one thread,",
        f"processor time, the least of {facts['rounds']} rounds in which versions and packages take turns.",
        "Microseconds for each row:",
        "",
        "| model | " + " | ".join(header) + " |",
        "|:---|" + "---:|" * len(header),
    ]
    models = list(dict.fromkeys(r["model"] for r in records if r.get("kind") == "call" and r["version"] != "before"))
    for model in models:
        cells = [
            per_row(seconds(records, kind="call", model=model, version="now", question=q, rows=n), n)
            for q in QUESTIONS
            for n in sizes
        ]
        lines.append(f"| {label(model)} | " + " | ".join(cells) + " |")
    lines += ["", *_ratios(records, facts, models, sizes, header), *_first(records)]
    return "\n".join(lines).rstrip() + "\n"


def _ratios(
    records: Sequence[Record], facts: Record, models: Sequence[str], sizes: Sequence[int], header: Sequence[str]
) -> list[str]:
    """How many times faster the present version is than the one before, and compressed models than whole ones."""
    lines = [
        f"Times as fast as commit {facts['before'][:10]}, in the same run; compressed models, as the same model whole:",
        "",
        "| model | " + " | ".join(header) + " |",
        "|:---|" + "---:|" * len(header),
    ]
    for model in models:
        base, _, compressed = model.partition(",")
        cells = []
        for question in QUESTIONS:
            for n in sizes:
                which = {"kind": "call", "question": question, "rows": n}
                now = seconds(records, model=model, version="now", **which)
                version, name = ("now", base) if compressed else ("before", model)
                before = seconds(records, model=name, version=version, **which)
                cells.append("" if now is None or before is None else f"{before / now:.1f}")
        if any(cells):
            lines.append(f"| {label(model)} | " + " | ".join(cells) + " |")
    said = [f"{label(r['model'])}: {r['text']}" for r in records if r.get("kind") == "compression"]
    return [*lines, "", *[f"{text}\n" for text in said]]


def _first(records: Sequence[Record]) -> list[str]:
    """Import, loading and the first call, in a process of its own, with kernels compiled before."""
    lines = [
        "A new process, milliseconds of processor time, the least of some; kernels were compiled before:",
        "",
        "| model | version | import | load | first interval of a row | a later one |",
        "|:---|:---|---:|---:|---:|---:|",
    ]
    found = [r for r in records if r.get("kind") == "first"]
    for model, version in dict.fromkeys((r["model"], r["version"]) for r in found):
        parts = [r for r in found if (r["model"], r["version"]) == (model, version)]
        cells = [f"{1e3 * min(r[name] for r in parts):,.1f}" for name in ("import", "load", "first", "later")]
        lines.append(f"| {label(model)} | {version} | " + " | ".join(cells) + " |")
    return [*lines, ""] if found else []
