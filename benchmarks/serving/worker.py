"""A process that fits, loads and times models with the library at a given path; it uses only what all versions have.

Started as ``python worker.py <path of the library>``. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

STARTED = time.process_time()


def table(n_train: int, n_test: int) -> tuple[Any, Any, Any]:
    """Make a generated table of eight columns: training rows, their responses, and test rows."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n_train + n_test, 8))
    signal = np.sin(2.0 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + 0.5 * X[:, 3] * X[:, 4] * X[:, 5]
    noise = (0.1 + 0.2 * np.abs(X[:, 6])) * rng.standard_normal(len(X))
    y = signal + np.where(X[:, 7] > 0.5, np.abs(noise), noise)
    return X[:n_train], y[:n_train], X[n_train:]


class Worker:
    """Loaded models and the rows that they predict."""

    def __init__(self, n_test: int = 10_000) -> None:
        self.models: dict[str, Any] = {}
        self.rows = table(1, n_test)[2]

    def fit(self, recipe: str, path: str, n_train: int, limits: dict[str, float]) -> float:
        """Fit a model and write its file; return the seconds."""
        from diffgbm import AutoDiffGBM, DiffGBM

        X, y, _ = table(n_train, 1)
        common: dict[str, Any] = {"n_jobs": 1, "seed": 0}
        if recipe in ("fast", "balanced"):
            model: Any = AutoDiffGBM(preset=recipe, time_limit=limits.get(recipe), **common)
        else:
            model = DiffGBM.flow(**common) if recipe == "flow" else DiffGBM(**common)
        started = time.perf_counter()
        model.fit(X, y).save(path)
        return time.perf_counter() - started

    def compress(self, path: str, to: str, tolerance: float) -> str:
        """Compress a model and write its file; return what it says."""
        import diffgbm

        smaller = diffgbm.load(path).compress(tolerance=tolerance)
        smaller.save(to)
        return str(smaller.compression_)

    def load(self, name: str, path: str) -> float:
        """Load a model; return the seconds."""
        import diffgbm

        started = time.process_time()
        self.models[name] = diffgbm.load(path).set_threads(1)
        return time.process_time() - started

    def call(self, name: str, question: str, n_rows: int) -> Callable[[], Any]:
        """Return a prediction as a function."""
        model, rows = self.models[name], self.rows[:n_rows]
        if question == "interval":
            return lambda: model.predict_interval(rows, 0.9)
        levels = [level / 100 for level in range(1, 100)]
        return lambda: model.predict_quantiles(rows, levels)

    def time(self, name: str, question: str, n_rows: int, repeats: int) -> float:
        """Least seconds of processor time of several calls."""
        call, found = self.call(name, question, n_rows), []
        for _ in range(repeats):
            started = time.process_time()
            call()
            found.append(time.process_time() - started)
        return min(found)

    def first(self, path: str) -> dict[str, float]:
        """Seconds of importing the library, of loading a model, of its first call and of a later one."""
        started = time.process_time()
        import diffgbm  # noqa: F401

        imported = time.process_time() - started
        loaded = self.load("first", path)
        first = self.time("first", "interval", 1, 1)
        later = self.time("first", "interval", 1, 30)
        return {"import": imported, "load": loaded, "first": first, "later": later}


def main() -> None:
    """Answer requests until there are no more."""
    sys.path.insert(0, sys.argv[1])
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
