"""The result of a search compared with the default settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from diffgbm._util.optional import need
from diffgbm.estimators.search import DiffGBMCV


def compared(
    search: DiffGBMCV, X: Any, y: Any, default: Mapping[str, Any], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the result of a fitted search, and the score of the arguments ``default`` on the same held-out rows.

    ``given`` are the groups and times that ``search`` was fitted with.
    """
    scores = search.cv_results_["mean_crps"]
    # seed and threads are those of the search, as in its trials
    arguments = {name: value for name, value in default.items() if name not in ("seed", "n_jobs")}
    default_crps = float(search.objective(X, y, **(given or {})).scores(arguments).mean())
    return {
        "trials": int(np.isfinite(scores).sum()),
        "failed": int(np.isnan(scores).sum()),
        "crps": search.best_score_,
        "default_crps": default_crps,
        "kept": "default" if default_crps < search.best_score_ else "found",
        "params": search.best_params_,
    }


def comparison(outcome: Mapping[str, Any], default: Mapping[str, Any]) -> str:
    """Format the outcome as a table: the two scores, and the settings that differ."""
    failed = f", {outcome['failed']} failed" if outcome["failed"] else ""
    table = need("rich.table").Table(title=f"{outcome['trials']} trials{failed}", title_justify="left")
    for column in ("", "best found", "fit --recipe flow"):
        table.add_column(column)
    table.add_row(
        "CRPS (lower is better)", f"{outcome['crps']:.5g}", f"{outcome['default_crps']:.5g}", end_section=True
    )
    for name, value in sorted(outcome["params"].items()):
        if value != default[name]:
            table.add_row(name, _shown(value), _shown(default[name]))
    console = need("rich.console").Console()
    with console.capture() as written:
        console.print(table)
        if outcome["kept"] == "default":
            console.print("No trial is better than the settings of 'diffgbm fit --recipe flow': the model uses those.")
    return str(written.get())


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)
