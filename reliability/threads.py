"""Threads that load, fit, predict, sample and save at once: the process stays as it was, and so do all answers.

``python -m reliability threads``. Each call has an answer that was computed alone; in bursts of overlapping threads the
answers must be the same to the last bit. After each burst, what belongs to the whole process must be unchanged.
"""

from __future__ import annotations

import hashlib
import locale
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM, load, report
from diffgbm.auto.presets import PRESETS
from reliability.digest_cases import ROOT, SMALL, numbers
from reliability.records import record

WORKERS = 6
"""Threads of a burst."""
Call = Callable[[], bytes]
"""Does something and returns a digest of the answer."""


def process_state() -> dict[str, Any]:
    """Return what belongs to the whole process, in a form that can be compared."""
    return {
        "warning filters": list(warnings.filters),
        "warning display": (warnings.showwarning, warnings.formatwarning),
        "threads of linear algebra": sorted((lib["filepath"], lib["num_threads"]) for lib in threadpool_info()),
        "numpy's random state": hashlib.sha256(repr(np.random.get_state()).encode()).hexdigest(),  # noqa: NPY002
        "Python's random state": hashlib.sha256(repr(random.getstate()).encode()).hexdigest(),
        "working directory": os.getcwd(),
        "environment": dict(os.environ),
        "umask": _umask(),
        "floating-point errors": np.geterr(),
        "print options": np.get_printoptions(),
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion limit": sys.getrecursionlimit(),
        "import path": list(sys.path),
        "signal handlers": {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)},
        "standard streams": (sys.stdout, sys.stderr),
        "living threads": threading.active_count(),
    }


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of what differs between two states."""
    return [name for name, value in before.items() if value != after[name]]


def digest(*arrays: Any) -> bytes:
    """Digest of the bits of arrays."""
    return hashlib.sha256(b"".join(np.asarray(array, dtype=np.float64).tobytes() for array in arrays)).digest()


def calls(folder: Path) -> dict[str, Call]:
    """Return the calls by name; files are written below ``folder``."""
    X, y = numbers(150)
    zeros = np.where(X[:, 1] < 0.4, 0.0, np.abs(y))
    rows = X[:20]
    preset = replace(PRESETS["fast"], rounds=(), final_models=1, bags=2, noisy_rows=500, gp_rows=100)
    shared = DiffGBM.flow(**SMALL).fit(X, y)
    shared.save(folder / "shared.dgbm")

    def fit(model: Any, response: Any = y) -> bytes:
        return digest(model.fit(X, response).predict_quantiles(rows, [0.1, 0.9]))

    def read(path: Path) -> bytes:
        # the models of the tests have a category in the last column
        return digest(
            load(path).predict_quantiles(np.column_stack([rows[:, :2], np.floor(5.0 * rows[:, 2])]), [0.1, 0.9])
        )

    def save() -> bytes:
        path = folder / f"{threading.get_ident()}.dgbm"
        shared.save(path)
        return hashlib.sha256(path.read_bytes()).digest()

    def written() -> bytes:
        path = report(shared, X, y, folder / f"{threading.get_ident()}.html")
        return str(type(path)).encode()

    fixtures = [ROOT / "tests" / "fixtures" / f"version1_{name}.dgbm" for name in ("auto", "conformal", "mean_scale")]
    return {
        "fit flow": lambda: fit(DiffGBM.flow(**SMALL)),
        "fit a stack": lambda: fit(DiffGBM.flow(**SMALL, residualize="stack")),
        "fit atoms": lambda: fit(DiffGBM.flow(**SMALL, atoms=[0.0]), zeros),
        "fit automatically": lambda: fit(AutoDiffGBM(preset=preset, time_limit=3600.0, n_jobs=1, seed=0)),
        "calibrate": lambda: fit(ConformalDiffGBM(DiffGBM.flow(**SMALL), seed=0)),
        "sample": lambda: digest(shared.sample(rows, 20, seed=1), shared.sample(rows, 3, seed=2)),
        "predict": lambda: digest(shared.predict(rows), shared.predict_interval(rows, 0.8), shared.crps(X, y)),
        "save": save,
        "load": partial(read, folder / "shared.dgbm"),
        **{f"load {path.stem}": partial(read, path) for path in fixtures if path.exists()},
        "report": written,
    }


def run(minutes: float, name: str | None = None, workers: int = WORKERS) -> dict[str, Any]:
    """Run bursts of overlapping calls for some minutes; return and record the figures."""
    counts: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    rng, bursts = random.Random(0), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        named = calls(Path(folder))
        alone = {call: answer() for call, answer in named.items()}
        list(pool.map(lambda _: time.sleep(0.05), range(4 * workers)))  # all threads of the pool live by now
        before, started = process_state(), time.monotonic()
        while bursts == 0 or time.monotonic() - started < 60.0 * minutes:
            chosen = rng.choices(list(named), k=3 * workers)
            for call, answer in zip(chosen, pool.map(lambda call: named[call](), chosen), strict=True):
                counts[call] += 1
                if answer != alone[call]:
                    findings[f"another answer: {call}"] += 1
            findings.update(f"changed: {what}" for what in changed(before, process_state()))
            bursts += 1
    figures = {
        "minutes": round((time.monotonic() - started) / 60.0, 1),
        "workers": workers,
        "bursts": bursts,
        "calls": dict(sorted(counts.items())),
        "findings": len(findings),
        "reasons": dict(findings),
    }
    if name:
        record(name, figures)
    return figures
