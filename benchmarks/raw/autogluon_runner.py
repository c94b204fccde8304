"""Fit AutoGluon's quantile regression: a script that runs in AutoGluon's environment.

``python autogluon_runner.py job.pickle result.npy``. The job holds the columns of both frames as lists with their
types, the responses, the levels, the time limit and the threads; the result the quantiles (n, K).
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from autogluon.tabular import TabularPredictor

TARGET = "__response__"


def frame(columns: dict[str, list[object]], types: dict[str, str]) -> pd.DataFrame:
    """Make a frame of the columns with the types that they had."""
    out = {}
    for name, values in columns.items():
        series = pd.Series(values, dtype=object if types[name] == "object" else None)
        typed = types[name].startswith(("datetime", "timedelta", "boolean"))
        out[name] = series.astype(types[name]) if typed else series
    return pd.DataFrame(out)


def main(job: str, result: str) -> None:
    """Run one job."""
    (train, test), types, y, levels, time_limit, threads = pickle.loads(Path(job).read_bytes())
    predictor = TabularPredictor(TARGET, problem_type="quantile", quantile_levels=levels, path="model", verbosity=0)
    data = frame(train, types).assign(**{TARGET: y})
    predictor.fit(data, time_limit=time_limit, num_cpus=threads)
    np.save(result, predictor.predict(frame(test, types)).to_numpy(dtype=float))


if __name__ == "__main__":
    main(*sys.argv[1:])
