"""How the cost of sampling grows with rows and samples, and how much memory it takes beyond its result.

Times are processor times of whole ``sample`` calls with one thread, the shortest of several. Memory is the peak of a
separate process that samples a large table, minus its memory before the call.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import DATA_SETS, ROOT, add_data_dir, data_directory, load
from benchmarks.protocol import Fold, prepare
from diffgbm import DiffGBM
from diffgbm._util.optional import need

RESULTS = ROOT / "benchmarks" / "results"
FIGURE = ROOT / "docs" / "_static" / "growth.png"

ROWS = (500, 1000, 2000, 4000, 8000, 16_000)
SAMPLES = (50, 200, 1000, 3000, 10_000)

MEASURE = """
import json, pickle, resource, sys, time
import numpy as np
model, X, n = pickle.load(open(sys.argv[1], "rb"))
model.sample(X[:64], 2, seed=0)
def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024
before = status("VmRSS")
started = time.perf_counter()
samples = model.sample(X, n, seed=0)
seconds = time.perf_counter() - started
print(json.dumps({"before": before, "peak": status("VmHWM"), "result": samples.nbytes, "seconds": seconds}))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--memory-rows", type=int, default=100_000, help="rows of the measurement of memory")


def models(fold: Fold) -> dict[str, DiffGBM]:
    """Small and large models of a deterministic and a stochastic recipe."""
    common: dict[str, Any] = {"early_stopping_rounds": None, "n_repeats": 10, "seed": 0, "n_jobs": 1}
    small: dict[str, Any] = {"n_estimators": 300}
    large: dict[str, Any] = {"n_estimators": 1000, "num_leaves": 255, "max_bin": 1023}
    makers = {
        "flow, 5 Heun, 300 x 31": DiffGBM.flow(**small, **common),
        "EDM, 50 Euler, 300 x 31": DiffGBM(residualize="off", **small, **common),
        "flow, 5 Heun, 1000 x 255": DiffGBM.flow(**large, **common),
        "EDM, 50 Euler, 1000 x 255": DiffGBM(residualize="off", **large, **common),
    }
    fitted = {}
    for name, model in makers.items():
        print(f"growth: fitting {name}", file=sys.stderr, flush=True)
        fitted[name] = model.fit(fold.X_train[:5000], fold.y_train[:5000])
    return fitted


def seconds(model: DiffGBM, X: Any, n: int) -> float:
    """Processor time of the shortest of at least five calls, and of as many as fit into five seconds."""
    times: list[float] = []
    while len(times) < 5 or sum(times) < 5.0:
        started = time.process_time()
        model.sample(X, n, seed=0)
        times.append(time.process_time() - started)
    return min(times)


def peak_memory(model: DiffGBM, X: Any, n: int) -> dict[str, float]:
    """Measure one call in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.pkl"
        file.write_bytes(pickle.dumps((model, X, n)))
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True, check=True, env=dict(os.environ)
        )
    actual: dict[str, float] = json.loads(done.stdout)
    return actual


def measure(fitted: dict[str, DiffGBM], fold: Fold, memory_rows: int) -> dict[str, Any]:
    """Run every measurement."""
    X = np.tile(fold.X_test, (-(-max(memory_rows, ROWS[-1]) // len(fold.X_test)), 1))
    rows = {name: [seconds(model, X[:n], 200) for n in ROWS] for name, model in fitted.items()}
    samples = {name: [seconds(model, X[:200], n) for n in SAMPLES] for name, model in fitted.items()}
    memory = {
        name: peak_memory(model.set_params(n_jobs=-1), X[:memory_rows], 200)
        for name, model in fitted.items()
        if "300" in name
    }
    return {"rows": rows, "samples": samples, "memory": memory, "memory_rows": memory_rows}


def table(result: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    lines = [
        "# Growth of the cost of sampling",
        "",
        "`python -m benchmarks growth`: whole `sample` calls on california_housing, one thread; processor time of the",
        "shortest of at least five.",
        "Rows at 200 samples each, in milliseconds for 1,000 rows; samples for 200 rows, in units of 200 samples.",
        "",
        "| model | "
        + " | ".join(f"{n:,} rows" for n in ROWS)
        + " | "
        + " | ".join(f"{n:,} samples" for n in SAMPLES)
        + " |",
        "|---" * (1 + len(ROWS) + len(SAMPLES)) + "|",
    ]
    for name, times in result["rows"].items():
        unit = result["samples"][name][SAMPLES.index(200)]
        cells = [f"{1e6 * t / n:.1f}" for t, n in zip(times, ROWS, strict=True)]
        cells += [f"{t / unit:.2f}" for t in result["samples"][name]]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", f"Memory of `sample` for {result['memory_rows']:,} rows x 200 samples, all threads:", ""]
    lines += ["| model | result, MB | peak above the start, MB | beyond the result, MB |", "|---|---|---|---|"]
    for name, actual in result["memory"].items():
        above = actual["peak"] - actual["before"]
        cells = [f"{v / 1e6:,.0f}" for v in (actual["result"], above, above - actual["result"])]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figure(result: dict[str, Any]) -> None:
    """Draw time against rows and against samples."""
    plt = need("matplotlib.pyplot")
    picture, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    colours = ("#0072B2", "#D55E00", "#56B4E9", "#E69F00")
    for (name, times), colour in zip(result["rows"].items(), colours, strict=True):
        left.plot(ROWS, times, "o-", color=colour, label=name, ms=4)
        right.plot(SAMPLES, result["samples"][name], "o-", color=colour, ms=4)
    for ax, axis in ((left, "rows (200 samples each)"), (right, "samples (of 200 rows)")):
        ax.set(xscale="log", yscale="log", xlabel=axis, ylabel="seconds, one thread")
    left.plot(ROWS, [2e-5 * n for n in ROWS], ":", color="0.5", label="proportional")
    right.plot(SAMPLES, [5e-5 * n for n in SAMPLES], ":", color="0.5")
    left.legend(frameon=False, fontsize=8)
    picture.savefig(FIGURE, dpi=130)
    plt.close(picture)


def run(args: argparse.Namespace) -> None:
    """Measure, and write ``results/growth.md`` and its figure."""
    fold = prepare(load(DATA_SETS["california_housing"], data_directory(args.data_dir)), 1)
    result = measure(models(fold), fold, args.memory_rows)
    text = table(result)
    (RESULTS / "growth.md").write_text(text)
    (RESULTS / "growth.json").write_text(json.dumps(result, indent=1) + "\n")
    figure(result)
    print(text)
