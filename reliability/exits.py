"""Exit codes after errors: a command that refuses its input ends with code 2 and one line, every time.

A process that ends beside a thread of a library may abort instead (code 134). Each run is a process of its own, because
only the end of a process shows it: a fork of one that has imported the library, which takes a tenth of the time. Cases
take turns, so that a short run has all of them. Runs that earlier lines recorded count towards the total.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reliability.forked import Forks
from reliability.records import lines, record

FIT = ("fit", "table.csv", "-t", "y", "-o", "m.dgbm", "-q", "--jobs", "1", "--recipe", "flow")
SMALL = ("--set", "n_estimators=5", "--set", "n_repeats=2", "--set", "early_stopping_rounds=null")
CASES: dict[str, Sequence[str]] = {
    "predict, a column is missing": ("predict", "m.dgbm", "lacks.csv", "-o", "o.csv"),
    "evaluate, the target is missing": ("evaluate", "m.dgbm", "rows.csv"),
    "predict, words for numbers": ("predict", "m.dgbm", "words.csv", "-o", "o.csv"),
    "predict, a row is too long": ("predict", "m.dgbm", "ragged.csv", "-o", "o.csv"),
    "sample, a column to keep is missing": ("sample", "m.dgbm", "rows.csv", "--keep", "none", "-o", "o.csv"),
    "predict, Parquet, a column is missing": ("predict", "m.dgbm", "lacks.parquet", "-o", "o.csv"),
    "fit, words in the target": (*FIT[:1], "words.csv", *FIT[2:3], "a", *FIT[4:]),
}
"""Commands that must be refused."""
REFUSED = 2


def prepare(folder: Path) -> None:
    """Write a model and the tables of the cases."""
    rows = [f"{i % 7}.5,{'xy'[i % 2]},{i % 11}" for i in range(2000)]
    _write(folder / "table.csv", ["a,b,y", *rows])
    _write(folder / "rows.csv", ["a,b", *(row.rsplit(",", 1)[0] for row in rows)])
    _write(folder / "lacks.csv", ["a", *(row.split(",")[0] for row in rows)])
    _write(folder / "words.csv", ["a,b,y", *(f"big{row}" for row in rows)])
    _write(folder / "ragged.csv", ["a,b", *(row.rsplit(",", 1)[0] for row in rows), "1,2,3"])
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": [1.0] * 2000}), folder / "lacks.parquet")
    done = command((*FIT, *SMALL), folder)
    if done.returncode:
        raise RuntimeError(f"the model of the cases was not fitted: {done.stderr}")


def _write(path: Path, rows: Sequence[str]) -> None:
    path.write_text("\n".join(rows) + "\n")


def command(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    call = [sys.executable, "-m", "diffgbm", *words]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=600)


def run(
    minutes: float, name: str | None = "exits", most: int = 500, only: Sequence[str] | None = None
) -> dict[str, Any]:
    """Run each case within some minutes until ``most`` runs of it are recorded; count those that ended otherwise."""
    cases = {case: words for case, words in CASES.items() if not only or case in only}
    left = {case: most - (recorded(case) if name else 0) for case in cases}
    counts = {case: {"runs": 0, "others": 0} for case in cases}
    endings: list[str] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        try:
            with Forks(Path(folder)) as forks:
                for case in _turns(left):
                    if time.monotonic() - started > 60.0 * minutes:
                        break
                    done = forks.command(cases[case])
                    counts[case]["runs"] += 1
                    if not refused(done):
                        counts[case]["others"] += 1
                        endings.append(f"{case}: code {done.returncode}: {done.stderr[-200:]}")
        finally:  # an interrupted run counts too
            figures = {
                "minutes": round((time.monotonic() - started) / 60.0, 1),
                "runs": sum(count["runs"] for count in counts.values()),
                "findings": sum(count["others"] for count in counts.values()),
                "forked": True,
                "cases": counts,
                **({"endings": endings[:5]} if endings else {}),
            }
            if name and figures["runs"]:
                record(name, figures)
    return figures


def recorded(case: str) -> int:
    """Return the number of runs of a case that earlier lines hold."""
    return sum(line["cases"].get(case, {}).get("runs", 0) for line in lines("exits"))


def _turns(left: Mapping[str, int]) -> Iterator[str]:
    """Yield each case as often as it has runs left, in turns."""
    for turn in range(max(left.values(), default=0)):
        yield from (case for case, runs in left.items() if turn < runs)


def refused(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a process ended with code 2 and one line that says why."""
    lines = done.stderr.splitlines()
    return done.returncode == REFUSED and len(lines) == 1 and lines[0].startswith("diffgbm: ")
