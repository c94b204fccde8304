"""Branches that the tests execute, from the report of coverage: ``nox -s coverage`` measures and calls this.

``python -m reliability.branches coverage.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from reliability.records import record

LEAST = 90.0
"""Per cent of the statements and branches that the tests must execute."""
SHOWN = 5
"""Number of modules to name: those with most statements not executed."""


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of a report by ``coverage json``, and the modules with most statements not executed."""
    whole = report["totals"]
    left_out = {
        name.replace("\\", "/").removeprefix("src/"): file["summary"]["missing_lines"]
        + file["summary"]["missing_branches"]
        for name, file in report["files"].items()
    }
    most = sorted(left_out, key=lambda name: -left_out[name])[:SHOWN]
    return {
        "statements": whole["num_statements"],
        "statements_run": whole["covered_lines"],
        "branches": whole["num_branches"],
        "branches_taken": whole["covered_branches"],
        "percent": round(whole["percent_covered"], 1),
        "files": len(left_out),
        "left_out": {name: left_out[name] for name in most},
    }


def main(path: str) -> int:
    """Record the figures; fail below the required percentage."""
    result = figures(json.loads(Path(path).read_text()))
    record("coverage", result)
    print(json.dumps(result))
    return int(result["percent"] < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
