"""A directive that makes a table of our recipes from the protocol's lines when the page is built: ``{measured}``.

Numbers are never typed into a page. Only data sets on which every recipe was evaluated on all five folds are used, so
that means over them are comparable; the page says which these are and how many trials each recipe had.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

RECIPES = {
    "published": "published, Euler SDE x50",
    "score_flex_sde": "score-flex, Euler SDE x50",
    "score_flex_ode": "score-flex, Heun ODE x25",
    "score_plus": "score+, Heun ODE x25",
    "flow_linear": "flow, linear, Heun ODE x5",
    "flow_trig": "flow, trig, Heun ODE x5",
    "flow_vp": "flow, VP, Heun ODE x5",
}
FOLDS = 5
NO_BREAK = "\u00a0"
HEADER = "| recipe | skill | CRPS / best | \\|cE\\|@50 | \\|cE\\|@90 | \\|cE\\|@95 | fit, s | sample, ms/row |"


def read_lines(path: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Read evaluated folds by data set and recipe, of data sets that every recipe has finished."""
    by: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["family"] in RECIPES:
            by[record["data_set"]][record["family"]].append(record)
    complete = {name: rows for name, rows in by.items() if all(len(rows[family]) == FOLDS for family in RECIPES)}
    return dict(sorted(complete.items()))


def table(data: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    """Make the Markdown table: folds are averaged first, then data sets."""
    if not data:
        raise ValueError("no data set was evaluated by every recipe")

    def fold_mean(name: str, family: str, value: Any) -> float:
        return sum(value(record) for record in data[name][family]) / FOLDS

    def over_data(family: str, value: Any) -> float:
        return sum(fold_mean(name, family, value) for name in data) / len(data)

    def relative(family: str) -> float:
        best = {n: min(fold_mean(n, f, lambda r: r["metrics"]["crps"]) for f in RECIPES) for n in data}
        return sum(fold_mean(n, family, lambda r: r["metrics"]["crps"]) / best[n] for n in data) / len(data)

    lines = [HEADER, "|" + " :--- |" + " ---: |" * 7]
    for family, label in RECIPES.items():
        scores = [
            over_data(family, lambda r, m=m: r["metrics"][m])
            for m in ("crpss", *(f"coverage_error_{q}" for q in (50, 90, 95)))
        ]
        fit = over_data(family, lambda r: r["fit_cpu_seconds"])
        sample = over_data(family, lambda r: 1000.0 * r["sample_cpu_seconds"] / r["n_test"])
        cells = [
            label.replace(" ", NO_BREAK),
            f"{scores[0]:.3f}",
            f"{relative(family):.3f}",
            *(f"{s:.3f}" for s in scores[1:]),
            f"{fit:.1f}",
            f"{sample:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    trials = sorted({r["budget"]["n_trials_finite"] for rows in data.values() for f in RECIPES for r in rows[f]})
    spent = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    note = (
        f"Measured on {', '.join(data)} (folds 1 to {FOLDS} of each, 200 samples of each row), every recipe tuned on "
        f"fold 0 with {spent} trials (the paper has 40): `python -m benchmarks run`, lines in "
        "`benchmarks/results/protocol/evaluation.jsonl`. Skill is that of the CRPS; CRPS / best is over the best row "
        "on the data set; cE is the error of coverage. Times are the processor's, of one thread."
    )
    return "\n".join([*lines, "", note, ""])


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    from sphinx.util.docutils import SphinxDirective

    class Measured(SphinxDirective):
        def run(self) -> Any:
            path = Path(self.env.srcdir).parent / "benchmarks/results/protocol/evaluation.jsonl"
            self.env.note_dependency(str(path))
            return self.parse_text_to_nodes(table(read_lines(path)))

    app.add_directive("measured", Measured)
    return {"version": "1", "parallel_read_safe": True}
