"""What a search found beside the settings that nobody searched for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from diffgbm._util.optional import need
from diffgbm.estimators.search import DiffGBMCV


def compared(search: DiffGBMCV, X: Any, y: Any, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a fitted search found, and how the arguments ``usual`` do on the same held-out rows."""
    scores = search.cv_results_["mean_crps"]
    # seeds and threads are the search's own, as they are in its trials
    usual = {name: value for name, value in usual.items() if name not in ("seed", "n_jobs")}
    default = float(search.objective(X, y).scores(usual).mean())
    return {
        "trials": int(np.isfinite(scores).sum()),
        "failed": int(np.isnan(scores).sum()),
        "crps": search.best_score_,
        "default_crps": default,
        "kept": "default" if default < search.best_score_ else "found",
        "params": search.best_params_,
    }


def comparison(found: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """Write it as a table: the two scores, and the settings that differ."""
    failed = f", {found['failed']} failed" if found["failed"] else ""
    table = need("rich.table").Table(title=f"{found['trials']} trials{failed}", title_justify="left")
    for column in ("", "best found", "diffgbm fit"):
        table.add_column(column)
    table.add_row("CRPS (lower is better)", f"{found['crps']:.5g}", f"{found['default_crps']:.5g}", end_section=True)
    for name, value in sorted(found["params"].items()):
        if value != usual[name]:
            table.add_row(name, _shown(value), _shown(usual[name]))
    console = need("rich.console").Console()
    with console.capture() as written:
        console.print(table)
        if found["kept"] == "default":
            console.print("The settings of 'diffgbm fit' are better than all that were tried: the model is theirs.")
    return str(written.get())


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)
