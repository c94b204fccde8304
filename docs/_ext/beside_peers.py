"""The table of `AutoDiffGBM` beside its peers, from the lines of the benchmarks: the directive ``{beside-peers}``.

    python docs/_ext/beside_peers.py    # prints the table

Every column is averaged over the folds on which `AutoDiffGBM` was measured, so that all of them saw the same rows.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
AUTO = {"best": "AutoDiffGBM `best`", "fast": "`fast`"}
PEERS = {
    "qreg_lightgbm": "quantile LightGBM",
    "ngboost": "NGBoost",
    "catboost": "CatBoost",
    "deep_ensemble": "deep ensemble",
}
NEARLY_EXACT = "naval"
"""All predictions hit one of few values: its ratios are left out of means."""

Lines = dict[tuple[str, str], dict[int, dict[str, Any]]]


def read_lines(results: Path = RESULTS) -> Lines:
    """Read lines by (data set, column) and fold; the last line of a fit counts."""
    lines: Lines = defaultdict(dict)
    for record in _records(results / "auto" / "auto.jsonl"):
        if record["variant"] == "full" and not record["deduplicated"] and record["preset"] in AUTO:
            lines[record["data_set"], record["preset"]][record["fold"]] = record
    for record in _records(results / "protocol" / "evaluation.jsonl"):
        if record["family"] in PEERS:
            lines[record["data_set"], record["family"]][record["fold"]] = record
    return lines


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def means(lines: Lines, metric: str) -> dict[str, dict[str, float]]:
    """Mean of a metric by data set (smallest first) and column, over the folds of ``best``."""
    rows = {name: _rows(folds) for (name, column), folds in lines.items() if column == "best"}
    result = {}
    for name in sorted(rows, key=lambda name: rows[name]):
        folds = lines[name, "best"].keys()
        columns = {c: lines[name, c] for c in (*AUTO, *PEERS) if folds <= lines.get((name, c), {}).keys()}
        result[name] = {c: sum(line[k]["metrics"][metric] for k in folds) / len(folds) for c, line in columns.items()}
    return result


def _rows(folds: dict[int, dict[str, Any]]) -> int:
    line = next(iter(folds.values()))
    return int(line["n_train"] + line["n_test"])


def table(lines: Lines, paper: dict[str, float]) -> str:
    """Make the Markdown table: CRPS, the lowest in bold; its mean ratio; the mean coverage error at 90%."""
    crps, coverage = means(lines, "crps"), means(lines, "coverage_error_90")
    columns = [*AUTO, *PEERS]
    out = [f"| CRPS | rows | {' | '.join({**AUTO, **PEERS}.values())} | best of nine |", "| :--- |" + " ---: |" * 8]
    for name, found in crps.items():
        values = [*(found.get(c) for c in columns), paper[name]]
        lowest = min(v for v in values if v is not None)
        cells = ["" if v is None else _bold(_number(v), v == lowest) for v in values]
        out.append(f"| {name} | {_rows(lines[name, 'best']):,} | {' | '.join(cells)} |")
    ratios = [_ratio(crps, {n: v[c] for n, v in crps.items() if c in v}) for c in columns]
    ratios.append(_ratio(crps, paper))
    out.append(f"| geometric mean of CRPS / `best` | | {' | '.join(ratios)} |")
    errors = [_mean([v[c] for v in coverage.values() if c in v]) for c in columns]
    cells = ["" if math.isnan(e) else f"{e:.3f}" for e in errors]
    out.append(f"| error of 90% coverage | | {' | '.join(cells)} | |")
    return "\n".join(out) + "\n"


def _ratio(crps: dict[str, dict[str, float]], column: dict[str, float]) -> str:
    """Geometric mean of a column over ``best``, without the nearly exact table."""
    logs = [math.log(v / crps[n]["best"]) for n, v in column.items() if n in crps and n != NEARLY_EXACT]
    return f"{math.exp(_mean(logs)):.2f}" if logs else ""


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _number(value: float) -> str:
    if value < 1e-3:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:#.3g}".rstrip(".")


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text


def front_table() -> str:
    """Return the table of the committed lines."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from benchmarks.automatic.summary import BEST_OF_NINE

    return table(read_lines(), dict(BEST_OF_NINE))


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    from sphinx.util.docutils import SphinxDirective

    class BesidePeers(SphinxDirective):
        def run(self) -> Any:
            return self.parse_text_to_nodes(front_table())

    app.add_directive("beside-peers", BesidePeers)
    return {"version": "1", "parallel_read_safe": True}


if __name__ == "__main__":
    print(front_table(), end="")
