"""Tables with little or nothing to learn: no model is worse than climatology, and wide tables keep their time limit.

Climatology is the distribution of the training responses, whatever the columns. A row's own is that of all others.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT
from benchmarks.short_limits import processor_clock, simulated
from diffgbm import AutoDiffGBM, DiffGBMWarning, PredictiveDistribution
from diffgbm._util.types import Array
from diffgbm.fitting.warm import warmup

RESULTS = ROOT / "benchmarks" / "results" / "levels"
FRESH = 2000
Draw = Callable[[int, int], tuple[Array, Array]]
Line = dict[str, Any]


def _noise(n: int, p: int) -> Draw:
    def draw(rows: int, seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng([seed, 271])
        return rng.standard_normal((rows or n, p)), rng.standard_t(4, rows or n)

    return draw


def _kinds(rows: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, 274])
    return rng.integers(0, 10, (rows or 1500, 1)).astype(np.float64), rng.standard_t(4, rows or 1500)


def _twins(rows: int, seed: int) -> tuple[Array, Array]:
    """Draw responses of 500 kinds of rows: three rows of each kind, about."""
    rng = np.random.default_rng([seed, 275])
    kinds = np.random.default_rng(276).standard_normal((500, 2))
    return kinds[rng.integers(0, 500, rows or 1500)], rng.standard_t(4, rows or 1500)


def _one_of_200(rows: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, 272])
    n = rows or 200
    return rng.standard_normal((n, 4)), (np.arange(n) % 200 == 7).astype(np.float64)


def _constant(rows: int, seed: int) -> tuple[Array, Array]:
    return np.random.default_rng([seed, 273]).standard_normal((rows or 100, 4)), np.full(rows or 100, 5.0)


def _wide(n: int, p: int) -> Draw:
    return lambda rows, seed: simulated(rows or n, p, 1000 + seed)


CASES: dict[str, tuple[Draw, float]] = {
    "pure noise, 400 x 5": (_noise(400, 5), 5.0),
    "pure noise, 100 x 30": (_noise(100, 30), 5.0),
    "pure noise, 1,500 x 1": (_noise(1500, 1), 30.0),
    "pure noise, 1,500 rows of 10 kinds": (_kinds, 30.0),
    "pure noise, 1,500 rows of 500 kinds": (_twins, 30.0),
    "199 zeros and a one": (_one_of_200, 5.0),
    "constant response": (_constant, 5.0),
    "three rows": (_noise(3, 2), 5.0),
    "60 rows of 100 columns": (_wide(60, 100), 5.0),
    "2,000 x 200, 5 s": (_wide(2000, 200), 5.0),
    "2,000 x 200, 15 s": (_wide(2000, 200), 15.0),
}
"""Draws of tables (0 rows are the case's own), and limits in processor seconds."""


def climatology_of_others(y: Array) -> Array:
    """CRPS (n,) of each response under the empirical distribution of the others."""
    n = len(y)
    distances = np.abs(y[:, None] - y[None, :])
    to_others = distances.sum(axis=1) / (n - 1)
    # among the others: all pairs without those of the row
    among = (distances.sum() - 2.0 * distances.sum(axis=1)) / max(1, (n - 1) ** 2)
    return np.asarray(to_others - 0.5 * among)


def measure(case: str, seed: int) -> Line:
    """Fit one table; return scores beside climatology's, out of bag and on fresh rows, and processor seconds."""
    draw, limit = CASES[case]
    X, y = draw(0, seed)
    with warnings.catch_warnings(record=True) as caught, processor_clock():
        warnings.simplefilter("always")
        started = time.process_time()
        model = AutoDiffGBM(preset="fast", time_limit=limit, seed=seed, n_jobs=1).fit(X, y)
        seconds = time.process_time() - started
    ours = [str(one.message) for one in caught if issubclass(one.category, DiffGBMWarning)]
    fresh, observed = draw(FRESH, seed + 100)
    climatology = PredictiveDistribution.from_points(np.tile(np.sort(y), (FRESH, 1)))
    rows = model.oob_rows_
    return {
        "case": case,
        "seed": seed,
        "oob": float(model.oob_distribution_.crps(y[rows]).mean()),
        "oob_climatology": float(climatology_of_others(y)[rows].mean()),
        "fresh": float(model.predict_distribution(fresh).crps(observed).mean()),
        "fresh_climatology": float(climatology.crps(observed).mean()),
        "seconds": round(seconds, 2),
        "limit": limit,
        "warnings": [text[:100] for text in ours],
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="tables of each kind")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), metavar="CASE")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def measured(args: argparse.Namespace) -> list[Line]:
    """Return all lines; fits that have one are not repeated."""
    path = args.results_dir / "nothing_to_learn.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(line["case"], line["seed"]) for line in lines}
    for seed in args.seeds:
        for case in args.cases:
            if (case, seed) not in done:
                lines.append(measure(case, seed))
                print(*lines[-1].values(), flush=True)
                with path.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    return lines


OPENING = """\
# Little or nothing to learn

`python -m benchmarks nothing-to-learn`: `AutoDiffGBM(preset="fast")` on one thread. CRPS in units of climatology's, the
distribution of the other training responses: out of bag, which is what the model promises, the smallest and the
largest over seeds, and the largest on 2,000 fresh rows. On noise a promise below 1 is too much. Out of bag
models have fewer rows than this climatology, which matters for 199 zeros and a one. Seconds are processor seconds, the
most over seeds. The last column counts the fits that warned, and has the beginning of the first warning.
"""


def page(lines: Sequence[Line]) -> str:
    """Write the result as Markdown."""
    head = ("table", "seeds", "out of bag", "fresh rows", "seconds", "limit", "warned")
    out = [OPENING, f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for case in CASES:
        own = [line for line in lines if line["case"] == case]
        if own:
            oob, fresh = (sorted(_ratio(line[k], line[f"{k}_climatology"]) for line in own) for k in ("oob", "fresh"))
            warned = [line["warnings"] for line in own if line["warnings"]]
            first = f"{len(warned)}: {warned[0][0].split('. ')[0].split(':')[0]}" if warned else "0"
            promised = f"{oob[0]:.3f} to {oob[-1]:.3f}"
            cells = [promised, f"{fresh[-1]:.3f}", f"{max(line['seconds'] for line in own):.1f}"]
            out.append(f"| {case} | {len(own)} | {' | '.join(cells)} | {own[0]['limit']:g} | {first} |")
    return "\n".join(out) + "\n"


def _ratio(crps: float, climatology: float) -> float:
    return 1.0 if crps == climatology else crps / max(climatology, 1e-12)


def run(args: argparse.Namespace) -> None:
    """Measure what is missing, and write the page."""
    args.results_dir.mkdir(parents=True, exist_ok=True)
    warmup()
    (args.results_dir / "nothing_to_learn.md").write_text(page(measured(args)))
