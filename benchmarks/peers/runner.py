"""Fit and sample one package: a script that runs in the package's environment and needs only numpy.

``python runner.py job.npz result.npz``. The job holds ``X_train, y_train, X_test`` and a JSON ``spec`` with the
module, the estimator, its arguments, those of ``sample``, and optionally a path to import from and how many times to
sample (the shortest counts); the result holds ``samples`` (n_samples, n_rows) or (n_samples, n_rows, d) and a JSON
``report`` of seconds and versions.
"""

from __future__ import annotations

import importlib
import json
import platform
import sys
import time
from importlib import metadata
from types import ModuleType

import numpy as np


def versions(module: ModuleType, installed: bool) -> dict[str, str]:
    """Return the versions that matter for a result; a source tree says its own, an installed package its metadata's."""
    result = {name: metadata.version(name) for name in ("lightgbm", "numpy", "scikit-learn")}
    version = metadata.version(module.__name__) if installed else module.__version__
    return {**result, "python": platform.python_version(), "package": version}


def main(job_path: str, result_path: str) -> None:
    """Run one job."""
    with np.load(job_path, allow_pickle=False) as job:
        X_train, y_train, X_test = job["X_train"], job["y_train"], job["X_test"]
        spec = json.loads(str(job["spec"]))
    if spec["path"]:
        sys.path.insert(0, spec["path"])
    module = importlib.import_module(spec["module"])
    model = getattr(module, spec["estimator"])(**spec["constructor"])

    started = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    # a first small call compiles and imports, for every package alike
    model.sample(X_test[:1], **{**spec["sample"], "n_samples": 1})
    seconds = []
    for _ in range(spec.get("timings", 1)):
        begun = time.perf_counter()
        samples = model.sample(X_test, **spec["sample"])
        seconds.append(time.perf_counter() - begun)

    report = {
        "fit_seconds": fitted - started,
        "sample_seconds": min(seconds),
        "n_iterations": [int(n) for n in getattr(model, "n_estimators_true", [])],
        "versions": versions(module, installed=not spec["path"]),
    }
    samples = np.asarray(samples, dtype=float).reshape(len(samples), len(X_test), *y_train.shape[1:])
    np.savez(result_path, samples=samples, report=json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
