"""Fit one contestant and predict 99 quantiles: a script that runs in its environment and needs only numpy.

``python runner.py job.npz result.npz``. The job holds ``X_train, y_train, X_test`` and a JSON ``spec`` with the recipe,
the contestant's name, levels, threads, time limit, seed and optionally a path to import from. The result holds
``quantiles`` (rows, levels) and a JSON ``report``: seconds, peak memory, versions.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import resource
import sys
import tempfile
import time
from importlib import metadata
from statistics import NormalDist
from typing import Any, Callable  # noqa: UP035 - other environments have older versions of Python

import numpy as np

N_SAMPLES = 200
Spec = dict[str, Any]
Quantiles = Callable[[Any], Any]
"""Rows (n, p) to quantiles (n, k), which may cross."""


def ours_auto(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit AutoDiffGBM with a preset and the time limit."""
    from diffgbm import AutoDiffGBM

    model = AutoDiffGBM(preset=spec["name"], time_limit=spec["limit"], n_jobs=spec["threads"], seed=spec["seed"])
    model.fit(X, y)
    return lambda rows: model.predict_quantiles(rows, spec["levels"])


def ours_row(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit a named recipe of DiffGBM."""
    from diffgbm import DiffGBM

    model = DiffGBM.from_recipe(spec["name"], n_jobs=spec["threads"], seed=spec["seed"]).fit(X, y)
    return lambda rows: model.predict_quantiles(rows, spec["levels"])


def autogluon(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit AutoGluon's quantile regression with one of its presets and the time limit.

    It trains a LightGBM for each level, and drops a model that is not finished in time: 99 levels leave no model at all
    on thousands of rows. It is therefore asked for 21, and those between are interpolated in normal scores.
    """
    import pandas as pd
    from autogluon.tabular import TabularPredictor

    columns = [f"x{j}" for j in range(X.shape[1])]
    table = pd.DataFrame(X, columns=columns).assign(y=y)
    folder = tempfile.mkdtemp(dir=os.getcwd())
    levels = _few(spec["levels"])
    predictor = TabularPredictor("y", "quantile", path=folder, quantile_levels=levels, verbosity=0)
    options = {"time_limit": spec["limit"], "num_cpus": spec["threads"], "num_gpus": 0}
    if spec["name"] == "autogluon":
        # the trial of stacking takes a quarter of the time, and ends the whole fit if it has trained nothing (1.6.3)
        options.update(presets="best_quality", dynamic_stacking=False)
    predictor.fit(table, **options)

    def quantiles(rows: Any) -> Any:
        few = predictor.predict(pd.DataFrame(rows, columns=columns)).to_numpy(dtype=float)
        return _interpolated(few, levels, spec["levels"])

    return quantiles


def _few(levels: Any) -> Any:
    """Return 21 of 99 levels: 0.01, 0.05, 0.1, ..., 0.95, 0.99."""
    return [levels[0], *levels[4:-1:5], levels[-1]]


def _interpolated(quantiles: Any, known: Any, wanted: Any) -> Any:
    """Interpolate quantiles (n, k) at other levels, in normal scores."""
    rows = np.sort(quantiles, axis=1)
    return np.array([np.interp(_scores(wanted), _scores(known), row) for row in rows])


def catboost_quantile(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit CatBoost's loss for several quantiles; 99 take five times as long as 21, minutes on thousands of rows."""
    from catboost import CatBoostRegressor

    levels = _few(spec["levels"])
    loss = "MultiQuantile:alpha=" + ",".join(map(str, levels))
    model = CatBoostRegressor(loss_function=loss, **_catboost_options(spec)).fit(X, y)
    return lambda rows: _interpolated(model.predict(rows), levels, spec["levels"])


def catboost_normal(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit CatBoost's normal distribution: data uncertainty and knowledge uncertainty of virtual ensembles."""
    from catboost import CatBoostRegressor

    options = {**_catboost_options(spec), "posterior_sampling": True}
    model = CatBoostRegressor(loss_function="RMSEWithUncertainty", **options).fit(X, y)

    def quantiles(rows: Any) -> Any:
        # columns: mean, knowledge uncertainty (variance of the mean), data uncertainty (variance)
        mean, knowledge, data = model.virtual_ensembles_predict(
            rows, prediction_type="TotalUncertainty", virtual_ensembles_count=10, thread_count=spec["threads"]
        ).T
        return _normal(mean, np.sqrt(np.maximum(knowledge + data, 0.0)), spec["levels"])

    return quantiles


def _catboost_options(spec: Spec) -> Spec:
    return {
        "thread_count": spec["threads"],
        "random_seed": spec["seed"],
        "verbose": False,
        "allow_writing_files": False,
    }


def ngboost(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit NGBoost's normal distribution."""
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=spec["seed"]).fit(X, y)

    def quantiles(rows: Any) -> Any:
        parameters = model.pred_dist(rows).params
        return _normal(parameters["loc"], parameters["scale"], spec["levels"])

    return quantiles


def _normal(mean: Any, deviation: Any, levels: Any) -> Any:
    return mean[:, None] + deviation[:, None] * _scores(levels)


def _scores(levels: Any) -> Any:
    return np.array([NormalDist().inv_cdf(p) for p in levels])


def lightgbm_quantile(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit one quantile regression of LightGBM for each level."""
    from lightgbm import LGBMRegressor

    options = {"objective": "quantile", "n_jobs": spec["threads"], "random_state": spec["seed"], "verbose": -1}
    models = [LGBMRegressor(alpha=level, **options).fit(X, y) for level in spec["levels"]]
    return lambda rows: np.column_stack([model.predict(rows) for model in models])


def quantile_forest(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit a quantile regression forest."""
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(n_jobs=spec["threads"], random_state=spec["seed"]).fit(X, y)
    return lambda rows: model.predict(rows, quantiles=spec["levels"])


def hessboost(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit hessboost's flow matching or its default diffusion."""
    from hessboost.diffusion import DiffusionModel, DiffusionParams

    flow = spec["name"] == "hessboost_flow"
    model = DiffusionModel.fit(DiffusionParams.flow_matching() if flow else DiffusionParams.default(), X, y)

    def quantiles(rows: Any) -> Any:
        return np.quantile(model.sample(rows, N_SAMPLES, seed=spec["seed"])[:, :, 0], spec["levels"], axis=1).T

    return quantiles


def sampler(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit treeffuser or the released diffgbm, which draw samples."""
    if spec["name"] == "treeffuser":
        from treeffuser import Treeffuser

        model = Treeffuser(seed=spec["seed"])
    else:
        from diffgbm import DiffGBM

        model = DiffGBM(seed=spec["seed"])
    model.fit(X, y)

    def quantiles(rows: Any) -> Any:
        samples = np.asarray(model.sample(rows, n_samples=N_SAMPLES, seed=spec["seed"]))
        return np.quantile(samples.reshape(N_SAMPLES, len(rows)), spec["levels"], axis=0).T

    return quantiles


def crepes(X: Any, y: Any, spec: Spec) -> Quantiles:
    """Fit LightGBM and a conformal predictive system, normalised by the residuals of neighbours."""
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator
    from lightgbm import LGBMRegressor

    order = np.random.default_rng(spec["seed"]).permutation(len(y))
    calibration, proper = order[: len(y) // 4], order[len(y) // 4 :]
    learner = LGBMRegressor(n_jobs=spec["threads"], random_state=spec["seed"], verbose=-1)
    model = WrapRegressor(learner)
    model.fit(X[proper], y[proper])
    difficulty = DifficultyEstimator()
    difficulty.fit(X=X[proper], residuals=y[proper] - model.predict(X[proper]), scaler=True)
    model.calibrate(X[calibration], y[calibration], de=difficulty, cps=True, seed=spec["seed"])
    percentiles = [100.0 * level for level in spec["levels"]]
    low, high = float(y.min()), float(y.max())
    return lambda rows: model.predict_percentiles(rows, lower_percentiles=percentiles, y_min=low, y_max=high)


RECIPES = {
    f.__name__: f
    for f in (
        ours_auto,
        ours_row,
        autogluon,
        catboost_quantile,
        catboost_normal,
        ngboost,
        lightgbm_quantile,
        quantile_forest,
        hessboost,
        sampler,
        crepes,
    )
}


MODULES = {
    "autogluon": ("pandas", "autogluon.tabular", "catboost", "lightgbm", "xgboost", "torch", "fastai.tabular.all"),
    "catboost_quantile": ("catboost",),
    "catboost_normal": ("catboost",),
    "ngboost": ("ngboost",),
    "lightgbm_quantile": ("lightgbm", "sklearn"),
    "quantile_forest": ("quantile_forest",),
    "hessboost": ("hessboost.diffusion",),
    "crepes": ("crepes", "crepes.extras", "lightgbm"),
    "treeffuser": ("treeffuser",),
    "released": ("diffgbm",),
}
"""What a recipe, or a contestant of a shared recipe, imports: before the clock starts, for all alike."""


def imported(spec: Spec) -> None:
    """Import what the recipe needs."""
    for name in MODULES.get(spec["name"], MODULES.get(spec["recipe"], ())):
        importlib.import_module(name)


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pinned(threads: int) -> None:
    """Keep the process to as many cores as it has threads, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def peak_megabytes() -> float:
    """Return the largest memory that the process, or one that it started, has used.

    Linux counts the memory of the process that started this one in ``ru_maxrss``, but not in ``VmHWM``.
    """
    unit = 1024.0 if platform.system() == "Darwin" else 1.0
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as status:
            own = next((float(line.split()[1]) for line in status if line.startswith("VmHWM:")), own)
    return max(own, children) / 1024.0


def versions() -> dict[str, str]:
    """Return the versions of the packages that matter."""
    names = (
        *("autogluon.tabular", "catboost", "crepes", "diffgbm", "hessboost", "lightgbm", "ngboost", "numpy"),
        *("quantile-forest", "scikit-learn", "treeffuser"),
    )
    installed = {name: metadata.version(name) for name in names if _is_installed(name)}
    return {"python": platform.python_version(), **installed}


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def main(job_path: str, result_path: str) -> None:
    """Run one job."""
    with np.load(job_path, allow_pickle=False) as job:
        X_train, y_train, X_test = job["X_train"], job["y_train"], job["X_test"]
        spec = json.loads(str(job["spec"]))
    pinned(spec["threads"])
    if spec["path"]:
        sys.path.insert(0, spec["path"])
        import diffgbm

        diffgbm.warmup()  # compiling happens once on a machine
    imported(spec)
    before, spent = peak_megabytes(), processor_seconds()
    started = time.perf_counter()
    predict = RECIPES[spec["recipe"]](X_train, y_train, spec)
    fitted = time.perf_counter()
    spent = processor_seconds() - spent
    predict(X_test[:1])  # imports and prepares, for every contestant alike
    begun = time.perf_counter()
    quantiles = np.sort(np.asarray(predict(X_test), dtype=float).reshape(len(X_test), len(spec["levels"])), axis=1)
    report = {
        "fit_seconds": fitted - started,
        "fit_processor_seconds": spent,
        "predict_seconds": time.perf_counter() - begun,
        "peak_megabytes": peak_megabytes(),
        "start_megabytes": before,
        "versions": versions(),
    }
    np.savez(result_path, quantiles=quantiles, report=json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
