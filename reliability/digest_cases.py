"""Models whose digests are compared: small tables, few trees, every option that has its own code path.

Only the public interface is used, so that the cases do not depend on the modules of the library.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import diffgbm
from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM, DiffGBMCV

Part: TypeAlias = bytes | NDArray[Any]
Parts: TypeAlias = dict[str, Part]
Table: TypeAlias = tuple[Any, Any]

ROOT = Path(__file__).parent.parent
LEVELS = (0.01, 0.25, 0.5, 0.9)
SMALL: dict[str, Any] = {
    "n_repeats": 4,
    "n_estimators": 15,
    "early_stopping_rounds": 5,
    "num_leaves": 8,
    "n_jobs": 1,
    "seed": 0,
}
FEW_TREES: dict[str, Any] = {"extra_residualizer_params": {"n_estimators": 10}}
PATHS = ("vesde", "vpsde", "sub-vpsde", "vp", "linear", "trig")
TARGETS = ("noise", "x0", "velocity", "edm", "edm_raw_in")
FIRST_STAGE_FEATURES = "first_stage_features"
if FIRST_STAGE_FEATURES not in signature(DiffGBM).parameters:
    FIRST_STAGE_FEATURES = "guide_features"  # its name up to commit 83c101d
STORED = ("auto", "conformal", "first_stage", "frame", "mean_scale")
"""Model files of the tests: ``tests/fixtures/version1_<name>.dgbm``."""


def numbers(n: int = 200, d: int | None = None, seed: int = 0) -> Table:
    """Three numeric columns; the noise grows with the first."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    noise = rng.standard_normal((n, d or 1))
    y = np.sin(4.0 * X[:, :1]) + X[:, -1:] + (0.1 + X[:, :1]) * noise
    return X, y[:, 0] if d is None else y


def categories(n: int = 200, d: int | None = None, seed: int = 0) -> Table:
    """A frame with missing numbers, text and integer categories; ``d`` responses."""
    rng = np.random.default_rng(seed)
    size = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.uniform(size=n))
    town = pd.Categorical(rng.choice(["Zürich", "Århus", "a,b"], n), categories=["Zürich", "a,b", "Århus"])
    X = pd.DataFrame({"size": size, "town": town, "rooms": pd.Categorical(rng.integers(1, 4, n), categories=[1, 2, 3])})
    level = X["size"].fillna(0.5) + X["town"].cat.codes
    y = pd.DataFrame({"price": level + rng.normal(size=n), "days": 3.0 * level + rng.normal(size=n)})
    return X, y["price"] if d is None else y


def integers(n: int = 200, seed: int = 0) -> Table:
    """A discrete response."""
    X, y = numbers(n, seed=seed)
    return X, np.clip(np.round(2.0 * y), 0.0, 5.0)


def model_of(recipe: str = "flow", **params: Any) -> DiffGBM:
    """Make a small estimator of a named recipe; "default" is the class itself."""
    make = DiffGBM if recipe == "default" else getattr(DiffGBM, recipe)
    few = {} if recipe == "published" else FEW_TREES
    return make(**{**SMALL, **few, **params})


def answers(model: Any, table: Table, label: str = "") -> Parts:
    """Predict the first rows of a table with every method of a fitted model."""
    X, y = table[0][:30], table[1][:30]
    result: dict[str, Any] = {
        "predict": model.predict(X),
        "median": model.predict_median(X),
        "std": model.predict_std(X),
        "quantiles": model.predict_quantiles(X, LEVELS),
        "interval": model.predict_interval(X, 0.8),
        "shortest": model.predict_distribution(X).interval(0.8, "highest_density"),
        "cdf": model.predict_cdf(X, y),
        "crps": model.crps(X, y),
        "nll": model.compute_nll(X, y),
        "distribution samples": model.predict_distribution(X, grid=32).sample(3, seed=2),
    }
    if hasattr(model, "sample"):
        result["samples"] = model.sample(X, 5, seed=1)
    return {f"{label} {part}".strip(): np.asarray(value, dtype=np.float64) for part, value in result.items()}


def brief(model: Any, X: Any, label: str = "") -> Parts:
    """Samples and quantiles only."""
    result = {"samples": model.sample(X, 3, seed=1), "quantiles": model.predict_quantiles(X, LEVELS)}
    return {f"{label} {part}".strip(): np.asarray(value, dtype=np.float64) for part, value in result.items()}


def file_of(model: Any, X: Any) -> Parts:
    """Save a model: each entry of the file, and the quantiles of the model that is read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dgbm"
        model.save(path)
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(entries.pop("manifest.json"), object_hook=_without_seconds)
        loaded = diffgbm.load(path, trusted=manifest["types"])
    result: Parts = {
        "file manifest": json.dumps(manifest, sort_keys=True).encode(),
        "file numbers": np.sort(list(_leaves({**manifest, "version": None}))),
    }
    for name, content in entries.items():
        result |= _regressors(name, content) if name.endswith(".skops") else {f"file {name}": content}
    result["loaded quantiles"] = np.asarray(loaded.predict_quantiles(X[:30], LEVELS), dtype=np.float64)
    if hasattr(loaded, "sample"):
        result["loaded samples"] = loaded.sample(X[:30], 5, seed=1)
    return result


def _regressors(name: str, content: bytes) -> Parts:
    """Arrays of a skops entry, by content; its schema holds module names and addresses in memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        arrays = [archive.read(inner) for inner in archive.namelist() if not inner.endswith(".json")]
    return {f"file {name}": b"".join(sorted(hashlib.sha256(array).digest() for array in arrays))}


def _without_seconds(stored: dict[str, Any]) -> dict[str, Any]:
    """Remove the seconds of an automatic fit's candidates, the only entries that differ between runs."""
    return {name: value for name, value in stored.items() if name != "seconds"}


def _leaves(value: Any) -> Iterator[float]:
    """All numbers of a JSON value."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif isinstance(value, (int, float)):
        yield float(value)


def fitted(recipe: str = "flow", table: Table | None = None, **params: Any) -> Parts:
    """Fit one model, predict, save and load it."""
    X, y = numbers() if table is None else table
    model = model_of(recipe, **params).fit(X, y)
    result = answers(model, (X, y)) | file_of(model, X)
    result["iterations"] = np.asarray(model.n_iterations_)
    if hasattr(model, "oob_distribution_"):
        result["oob"] = model.oob_distribution_.quantile(LEVELS)
    return result


def several(settings: Mapping[str, Mapping[str, Any]], recipe: str = "flow", table: Table | None = None) -> Parts:
    """Samples and quantiles of one model for each of several settings."""
    X, y = numbers(150) if table is None else table
    result: Parts = {}
    for label, params in settings.items():
        result |= brief(model_of(recipe, **params).fit(X, y), X[:20], label)
    return result


def first_stage(**settings: Any) -> Parts:
    """Fit one model with a first-stage model; ``features`` are inputs of the noise model."""
    features = settings.pop("features", None)
    return fitted("flow", **settings, **({} if features is None else {FIRST_STAGE_FEATURES: features}))


def paths_and_targets() -> Parts:
    """Every valid pair of path and target."""
    fixed = {"residualize": "off", "n_estimators": 6, "n_steps": 6}
    pairs = {
        f"{path} {target}": {**fixed, "sde_name": path, "score_parameterization": target}
        for path in PATHS
        for target in TARGETS
        if not (target == "noise" and path in ("linear", "trig"))
    }
    flows = {f"flow {path}": {**fixed, "training_objective": "flow_matching", "flow_path": path} for path in PATHS}
    return several(pairs | flows, "default")


def noise_levels() -> Parts:
    """Times, weights, features and ranges of the noise."""
    fixed = {"residualize": "off", "n_estimators": 6, "n_steps": 6}
    options: dict[str, dict[str, Any]] = {
        "uniform": {"t_sampling": "uniform"},
        "log_snr": {"t_sampling": "log_snr_normal", "log_sigma_p_mean": -0.5, "log_sigma_p_std": 0.8},
        "raw_time": {"noise_features": "raw_time"},
        "min_snr": {"loss_weighting": "min_snr", "min_snr_gamma": 2.0},
        "sigma_data": {"edm_sigma_data": 0.7},
        "from_data": {"sde_initialize_from_data": True},
        "given_range": {"sde_hyperparam_min": 0.02, "sde_hyperparam_max": 10.0},
        "linear_tree": {"extra_lightgbm_params": {"linear_tree": True}},
        "no_early_stopping": {"early_stopping_rounds": None, "subsample": 0.7, "subsample_freq": 1},
    }
    return several({label: {**fixed, **params} for label, params in options.items()}, "default")


def samplers() -> Parts:
    """Samplers other than the recipe's default, with both engines."""
    result: Parts = {}
    for engine in ("collapse", "lightgbm"):
        for recipe in ("published", "flow"):
            X, y = numbers(150)
            model = model_of(recipe, engine=engine).fit(X, y)
            options: dict[str, dict[str, Any]] = {
                "euler": {"sampler_method": "euler", "n_steps": 7},
                "heun": {"sampler_method": "heun", "n_steps": 4},
                "ode": {"pf_ode": True, "n_steps": 4},
                "first_row": {"first_row": 11},
            }
            for schedule in ("linear", "sqrt", "quadratic", "tent") if recipe == "flow" else ():
                options[schedule] = {"velocity_stochasticity": 0.5, "velocity_stochasticity_schedule": schedule}
            for label, option in options.items():
                result[f"{engine} {recipe} {label}"] = model.sample(X[:20], 3, seed=1, **option)
    return result


def inputs() -> Parts:
    """Weights, categorical columns of an array, few rows, tables in files and in blocks."""
    X, y = numbers()
    weights = np.where(X[:, 1] < 0.2, 0.0, 1.0 + X[:, 2])
    rooms = np.column_stack([X, np.floor(5.0 * X[:, 0])])
    result = answers(model_of().fit(X, y, sample_weight=weights), (X, y), "weights")
    result |= answers(model_of().fit(rooms, y, cat_idx=[3]), (rooms, y), "cat_idx")
    result |= answers(model_of().fit(X[:60], y[:60]), (X, y), "few rows")
    frame, price = categories()
    model = model_of().fit(frame, price)
    asked = {"predict_quantiles": {}, "sample": {"n_samples": 3, "seed": 1}}
    for method, options in asked.items():
        blocks = list(diffgbm.stream(model, frame, method, rows=70, **options))
        result[f"stream {method}"] = np.concatenate(blocks, axis=1 if method == "sample" else 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame.assign(town=frame["town"].astype(str), price=price).drop(columns="rooms").to_parquet(path)
        encoded, response = diffgbm.from_parquet(path, "price", folder=folder)
        result["parquet samples"] = model_of().fit(encoded, response).sample(encoded, 3, seed=1)
    return result


def automatic(table: Table, **options: Any) -> Parts:
    """Fit automatically, with a time limit that is never reached."""
    X, y = table
    model = AutoDiffGBM(**{"preset": "fast", "time_limit": 3600.0, "n_jobs": 1, "seed": 0, **options}).fit(X, y)
    if model.cut_short_:
        raise RuntimeError("the time limit ended the automatic fit: its digests say nothing")
    result = answers(model, (X, y)) | file_of(model, X)
    result["weights"] = np.array(list(model.weights_.values()))
    result["first-stage errors"] = np.array(list(model.first_stage_errors_.values()))
    result["oob"] = model.oob_distribution_.quantile(LEVELS)
    return result


def conformal() -> Parts:
    """Calibration on held-out rows, by folds, within groups, and of a fitted model."""
    X, y = numbers(240)
    options: dict[str, dict[str, Any]] = {
        "split": {},
        "cv": {"method": "cv", "cv": 3},
        "groups": {"groups": "interquartile_range", "n_groups": 2, "recalibrate": True},
        "column": {"groups": 1, "n_groups": 2, "calibration_size": 0.4},
    }
    result: Parts = {}
    for label, option in options.items():
        model = ConformalDiffGBM(model_of(), seed=0, **option).fit(X, y)
        result |= answers(model, (X, y), label)
        result |= {f"{label} {part}": value for part, value in file_of(model, X).items()}
    return result | answers(
        ConformalDiffGBM(model_of().fit(X, y)).calibrate(*numbers(100, seed=1)), (X, y), "calibrate"
    )


def search() -> Parts:
    """A few trials of each of the paper's search spaces."""
    X, y = numbers(120)
    small = {"n_estimators": 10, "n_repeats": 3, **FEW_TREES}
    result: Parts = {}
    for space in ("score_flex", "flow"):
        cv = DiffGBMCV(space, n_trials=3, n_samples=20, estimator_params=small, n_jobs=1, seed=0).fit(X, y)
        result[f"{space} scores"] = np.asarray(cv.cv_results_["mean_crps"], dtype=np.float64)
        result |= brief(cv, X[:20], space)
    return result


def on_a_cluster() -> Parts:
    """Fits by two worker processes: arrays and a frame in several partitions, an array in one, and a search."""
    import dask.array as da
    import dask.dataframe as dd
    import distributed

    from diffgbm import dask

    estimator: Any = dask.DaskDiffGBM  # its constructors are annotated with the class of the local estimator
    X, y = numbers(300)
    frame, prices = categories(300, d=2)
    lazy = da.from_array(X, chunks=((120, 100, 80), 3)), da.from_array(y, chunks=((120, 100, 80),))
    frames = dd.from_pandas(frame, npartitions=3, sort=False), dd.from_pandas(prices, npartitions=3, sort=False)
    single = da.from_array(X, chunks=(300, 3)), da.from_array(y, chunks=300)
    small = {**SMALL, **FEW_TREES, "residualize_k_folds": 2}
    wide = {**small, "residualize": "mean_scale", FIRST_STAGE_FEATURES: "mean"}
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    result: Parts = {}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0", silence_logs=45) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        model = estimator.flow(**small).fit(*lazy, client=client)
        result |= answers(model.to_local(), (X, y), "arrays")
        result["arrays lazy samples"] = model.sample(lazy[0], 3, seed=1).compute()
        result["arrays lazy quantiles"] = np.asarray(model.predict_quantiles(lazy[0], LEVELS).compute())
        result |= {f"arrays {part}": value for part, value in file_of(model.to_local(), X).items()}
        model = estimator(**wide).fit(*frames, client=client)
        result |= answers(model.to_local(), (frame, prices), "frame")
        result["frame lazy interval"] = np.asarray(model.predict_interval(frames[0]).compute(), dtype=np.float64)
        local = estimator.flow(**{**small, FIRST_STAGE_FEATURES: "cdf", "n_bags": 2}).fit(*single, client=client)
        result |= brief(local.to_local(), X[:20], "one partition")
        tuned = DiffGBMCV("flow", n_trials=3, n_samples=20, estimator_params=small, n_jobs=1, seed=0)
        result["search scores"] = np.asarray(tuned.fit(X, y, client=client).cv_results_["mean_crps"], dtype=np.float64)
    return result


def stored_file(name: str) -> Parts:
    """A model file of the tests, read and written again."""
    X, y = categories(d=2) if name == "frame" else numbers()
    if name != "frame":
        X = np.column_stack([X[:, :2], np.floor(5.0 * X[:, 2])])
    model = diffgbm.load(ROOT / "tests" / "fixtures" / f"version1_{name}.dgbm")
    return answers(model, (X, y)) | file_of(model, X)


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=0.1)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=5, max_depth=4, random_state=0)


CASES: dict[str, Callable[[], Parts]] = {
    "default": partial(fitted, "default"),
    "published": partial(fitted, "published"),
    "score_plus": partial(fitted, "score_plus"),
    "flow_vp": partial(fitted, "flow", path="vp"),
    "flow_linear": partial(fitted, "flow", path="linear"),
    "flow_trig": partial(fitted, "flow", path="trig"),
    "paths_and_targets": paths_and_targets,
    "noise_levels": noise_levels,
    "samplers": samplers,
    "inputs": inputs,
    "categories": lambda: fitted("flow", categories()),
    "two_responses": lambda: fitted("flow", numbers(d=2)),
    "two_responses_frame": lambda: fitted("score_plus", categories(d=2), residualize="mean_scale"),
    "bags": partial(fitted, "flow", n_bags=3),
    "bag_mixture": lambda: fitted("published", numbers(d=2), n_bags=2, bag_mix="mixture"),
    "first_stage_mean_scale": partial(first_stage, residualize="mean_scale"),
    "first_stage_stack": partial(first_stage, residualize="stack"),
    "first_stage_gp": partial(first_stage, residualize="gp"),
    "first_stage_regressor": lambda: first_stage(residualize=_forest()),
    "first_stage_list": lambda: first_stage(residualize=["mean", _ridge()]),
    "first_stage_repeats": partial(first_stage, residualize_repeats=2, residualize_k_folds=3, features="mean"),
    "features_cdf": partial(first_stage, residualize="off", features="cdf"),
    "features_list": lambda: first_stage(table=categories(d=2), features=["mean", "cdf", "gp", _ridge()]),
    "features_stack": partial(first_stage, residualize="gp", features=["stack", "gp"]),
    "auto": lambda: automatic(categories()),
    "auto_integers": lambda: automatic(integers(), discrete=True),
    "auto_two_responses": lambda: automatic(numbers(d=2)),
    "conformal": conformal,
    "search": search,
    "dask": on_a_cluster,
    **{f"stored_{name}": partial(stored_file, name) for name in STORED},
}
"""Functions that return arrays and bytes by name, in the order in which they are run."""
