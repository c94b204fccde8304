"""From the estimator's arguments and the user's table to a fitted model: table -> first stage -> boosters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from diffgbm._util.errors import check_count, known
from diffgbm._util.parallel import n_threads, one_blas_thread
from diffgbm._util.progress import StatusLine
from diffgbm._util.types import Rows
from diffgbm.data.records import REPEATS
from diffgbm.data.splits import Split, bag_splits
from diffgbm.data.structure import Structure, check_groups
from diffgbm.diffusion.recipe import Recipe, resolve
from diffgbm.distributions.support import Support
from diffgbm.engine.factory import Kind, Mix
from diffgbm.first_stage import (
    FirstStageValues,
    FittedFirstStage,
    Plan,
    Task,
    fit_first_stage,
    n_fits,
    plan_first_stage,
)
from diffgbm.first_stage.cross_fitting import with_values
from diffgbm.first_stage.lightgbm_mean import regression_params
from diffgbm.fitting.atoms import AtomFit, Atoms, atom_values, fit_atoms
from diffgbm.fitting.bags import ORDERED, Bag, Tick, train_bag
from diffgbm.fitting.constraints import check_constraints, check_monotone, with_monotone
from diffgbm.fitting.fit_progress import FitProgress
from diffgbm.fitting.joint_atoms import joint_support
from diffgbm.fitting.limits import check_supports, listed_supports, table_support, table_supports, wanted_atoms
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.noise_design import NOISE_DESIGNS, check_copies
from diffgbm.fitting.noise_table import NoiseTable
from diffgbm.fitting.out_of_bag import Training
from diffgbm.fitting.outliers import fitted_without_outliers
from diffgbm.fitting.stopping import AUTO, held_out_share, stopping_folds
from diffgbm.fitting.training_table import TrainingTable, read_table
from diffgbm.fitting.weak_fits import warn_of_few_rounds, warn_of_first_stage, warn_of_pile


@one_blas_thread()
def fit_model(
    params: Mapping[str, Any],
    X: Any,
    y: Any,
    cat_idx: Sequence[int] | None,
    sample_weight: Any,
    owner: str,
    groups: Any = None,
    time: Any = None,
) -> tuple[FittedModel, Training]:
    """Fit everything; ``params`` are the estimator's arguments, ``owner`` its name for messages."""
    check_arguments(params)
    support = table_support(params["support"], params["discrete"], X, y)
    table = read_table(
        X, y, cat_idx, sample_weight, owner, params["repeats"], groups, time, n_threads(params["n_jobs"])
    )
    if table.repetition.kind == "groups":
        check_folds(params, table.structure)
    supports = table_supports(params["support"], params["discrete"], X, y)
    if table.response.is_1d:
        return fit_table(params, table, support, warns=True)
    *_, seed = np.random.SeedSequence(params["seed"]).spawn(6)
    threads = n_threads(params["n_jobs"])
    d = table.observed.shape[1]
    each = zip(listed_supports(params["support"], d), supports or (None,) * d, table.observed.T, strict=True)
    wanted = [wanted_atoms(params["atoms"], asked, found, column) for asked, found, column in each]
    fits = joint_atom_fits(table, wanted, seed_integer(seed), threads)
    model, training = fit_table({**params, "atoms": None}, table, support, warns=True)
    if params["atoms"] is None:
        for j, name in enumerate(model.response_names):
            if not (supports and supports[j]):
                warn_of_pile(table.observed[:, j], name)
    atoms = [None if fit is None else fit.atoms for fit in fits]
    return with_supports(model, supports, atoms), replace(training, joint_fits=fits)


def with_supports(
    model: FittedModel, supports: tuple[Support | None, ...], atoms: Sequence[Atoms | None]
) -> FittedModel:
    """Add the limits of several responses, and the atoms that they have."""
    if not any(atoms):
        return replace(model, supports=supports) if supports else model
    both = zip(supports or (None,) * len(atoms), atoms, strict=True)
    supports = tuple(one if found is None else joint_support(one, found) for one, found in both)
    return replace(model, supports=supports, joint_atoms=tuple(atoms))


def joint_atom_fits(
    table: TrainingTable, wanted: Sequence[Any], seed: int, threads: int, seconds: float = np.inf
) -> tuple[AtomFit | None, ...]:
    """Fit the atoms that are ``wanted`` of each of several responses, within a time; empty if there are none."""
    asked = sum(one is not None for one in wanted)
    if not asked:
        return ()
    return tuple(fit_response_atoms(table, j, one, seed, threads, seconds / asked) for j, one in enumerate(wanted))


def check_folds(params: Mapping[str, Any], structure: Structure) -> None:
    """Raise if the arguments ask for more folds or bags than there are groups."""
    folds = params["residualize_k_folds"]
    first_stage = plan_first_stage(params["residualize"], params["first_stage_features"], None) != Plan(None, None, ())
    if first_stage and isinstance(folds, (int, np.integer)):
        check_groups(structure.labels, int(folds), "residualize_k_folds")
    check_groups(structure.labels, params["n_bags"], "n_bags")
    if params["early_stopping_rounds"] is not None:
        check_groups(structure.labels, 2, "early_stopping_rounds")


def fit_table(
    params: Mapping[str, Any], whole: TrainingTable, support: Support | None = None, warns: bool = False
) -> tuple[FittedModel, Training]:
    """Fit a table that was read; ``params`` are the estimator's arguments, ``support`` what they mean for it.

    ``warns`` reports a first stage or a noise model that learned nothing.
    """
    params = with_monotone(params, whole.features, len(whole.y))
    recipe = resolve(params)
    check_constraints(params, whole.X.shape[1], whole.features.categorical)
    # a child of its own for each purpose: those of the first five do not depend on how many follow
    *seeds, atom_seed = np.random.SeedSequence(params["seed"]).spawn(6)
    threads = n_threads(params["n_jobs"])
    atoms = wanted_atoms(params["atoms"], params["support"], support, whole.observed[:, 0])
    atom_fit = fitted_atoms(whole, atoms, seed_integer(atom_seed), threads)
    table = whole if atom_fit is None else whole.continuous(atom_fit.rest)
    plan = plan_first_stage(params["residualize"], params["first_stage_features"], params["extra_residualizer_params"])
    task = _first_stage_task(params, table, seed_integer(seeds[0]), threads)
    n_boosters = params["n_bags"] * table.y.shape[1]
    with StatusLine("fit", params["verbose"]) as line:
        progress = FitProgress(
            line, n_fits(plan, task), n_boosters, params["n_estimators"], params["early_stopping_rounds"]
        )
        table, first_stage, stage_values, error = _fitted_first_stage(
            table, plan, task, progress.first_stage_fit, atom_fit is not None
        )
        noise_table = NoiseTable.of(table.X, table.y, table.weights, table.features.categorical, stage_values)
        if params["sde_initialize_from_data"]:
            recipe = recipe.fitted_to(with_values(noise_table.residuals))
        splits, folds = noise_splits(params, table, stage_values, seed_integer(seeds[1]))
        bags = train_bags(params, noise_table, recipe, seeds[2:], threads, progress.tick, splits, folds)
    model = FittedModel(
        table.features,
        table.response,
        first_stage,
        recipe,
        tuple(bag.boosters for bag in bags),
        params["bag_mix"],
        params["engine"],
        params["n_jobs"],
        None if atom_fit is None else atom_fit.atoms,
        whole.reference,
        support,
    )
    if warns:
        if params["atoms"] is None and support is None and whole.y.shape[1] == 1:
            warn_of_pile(whole.observed[:, 0], model.response_names[0])
        warn_of_first_stage(error if atom_fit is None else 0.0)
        warn_of_few_rounds(model, params, np.ptp(table.y, axis=0) == 0.0)
    training = Training(
        table.X,
        stage_values,
        tuple(bag.held_out for bag in bags),
        table.repetition,
        table.copies,
        whole.X,
        atom_fit,
        whole.division,
        whole.structure.order,
    )
    return model, training


def _first_stage_task(params: Mapping[str, Any], table: TrainingTable, seed: int, threads: int) -> Task:
    """Return the table and the folds that first-stage models are cross-fitted with."""
    folds = params["residualize_k_folds"]
    return Task(
        table.X,
        table.y,
        table.features.categorical,
        table.weights,
        folds,
        repeats_of(folds, params["residualize_repeats"], table.structure),
        seed,
        threads,
        structure=table.structure,
    )


def _fitted_first_stage(
    table: TrainingTable, plan: Plan, task: Task, tick: Callable[[], object], beside_atoms: bool
) -> tuple[TrainingTable, FittedFirstStage | None, FirstStageValues, float]:
    """Fit the first stage; outliers of its residuals are moved in the table that comes back.

    The last value is the relative error of what is subtracted. Beside atoms a mean worse than none is left out.
    """
    first_stage, values, cleaned, moved = fitted_without_outliers(
        replace(task, tick=tick), lambda task: fit_first_stage(task, plan), suspects=table.suspects
    )
    table = table.with_responses(cleaned, moved)
    subtracted = first_stage is not None and first_stage.location is not None
    error = _relative_error(values, table) if subtracted else 0.0
    if beside_atoms and error >= 1.0:
        unscaled = replace(plan, subtracted=None, scaled=None)
        first_stage, values = fit_first_stage(replace(task, y=table.y), unscaled)
    return table, first_stage, values, error


def _relative_error(stage_values: FirstStageValues, table: TrainingTable) -> float:
    """Out-of-fold squared error of the location that is subtracted, over that of the mean of the response.

    Few rows may be left beside atoms. A mean that was fitted to noise then widens every distribution: 1.17 times the
    CRPS of the truth on 240 exponential rows, 1.05 times without it.
    """
    spread = table.y - np.average(table.y, axis=0, weights=table.weights)
    errors = table.y - stage_values.location
    rows = stage_values.known(np.arange(len(errors)))
    weights = None if table.weights is None else table.weights[rows]
    error, variance = (np.average(part[rows] ** 2, axis=0, weights=weights).sum() for part in (errors, spread))
    return float(error / variance) if variance > 0.0 else 1.0


def fitted_atoms(
    table: TrainingTable, atoms: str | Sequence[float] | None, seed: int, threads: int, seconds: float = np.inf
) -> AtomFit | None:
    """Fit the atoms that an argument ``atoms`` asks for, within a time; ``None`` if there are none."""
    return fit_response_atoms(table, 0, atoms, seed, threads, seconds)


def fit_response_atoms(
    table: TrainingTable, j: int, atoms: str | Sequence[float] | None, seed: int, threads: int, seconds: float
) -> AtomFit | None:
    """Fit the atoms of response ``j``; ``None`` if there are none."""
    if atoms is None:
        return None
    values = atom_values(table.observed[:, j], atoms)
    rest = np.sum(~np.isin(table.observed[:, j], values))
    if len(values) and rest < 2:
        raise ValueError(f"atoms must leave at least 2 rows for the continuous part; {atoms!r} leave {rest}.")
    task = Task(
        table.X, table.y, table.features.categorical, table.weights, 2, 1, seed, threads, structure=table.structure
    )
    return fit_atoms(task, table.observed[:, j], values, seconds) if len(values) else None


def noise_splits(
    params: Mapping[str, Any], table: TrainingTable, stage_values: FirstStageValues, seed: int
) -> tuple[list[Split], list[Rows]]:
    """Return the rows that each bag learns from and holds out, and folds of the former that decide when to stop.

    There are either rows that are held out, or folds. Rows without first-stage values are in no part: by time, the
    first rows have no model of their past.
    """
    stopping = params["early_stopping_rounds"] is not None
    bags, share = params["n_bags"], params["eval_percent"]
    if stopping:
        known = stage_values.known(np.arange(len(table.X)))
        folds = stopping_folds(len(known), bags, share, seed, table.structure.part(known))
        if folds:
            return [(known, known[:0])], folds
    ordered = table.X.size > ORDERED
    parts = bag_splits(len(table.X), bags, held_out_share(share), seed, stopping, ordered, table.structure)
    return known_splits(parts, stage_values), []


def known_splits(parts: Sequence[Split], stage_values: FirstStageValues) -> list[Split]:
    """Leave rows without first-stage values out of splits; raise if nothing is left to learn from."""
    known = [(stage_values.known(train), stage_values.known(held_out)) for train, held_out in parts]
    check_earlier_rows(known)
    return known


def check_earlier_rows(splits: Sequence[Split]) -> None:
    """Raise if a split by time leaves the noise model nothing to learn from."""
    if any(len(train) == 0 for train, _ in splits):
        raise ValueError(
            "time leaves no earlier rows for the noise model: first-stage models take the first ones, and the others "
            "are of the last time. Give times in smaller units, leave time out, or set residualize='off'."
        )


def repeats_of(folds: Any, repeats: int, structure: Structure) -> int:
    """Return how often cross-fitting is repeated: once by time, and once with the folds of a splitter."""
    return repeats if structure.order is None and isinstance(folds, (int, np.integer)) else 1


def train_bags(
    params: Mapping[str, Any],
    table: NoiseTable,
    recipe: Recipe,
    seeds: Sequence[np.random.SeedSequence],
    threads: int,
    tick: Tick,
    parts: Sequence[Split],
    folds: Sequence[Rows] = (),
) -> list[Bag]:
    """Train one bag for each split; ``seeds`` are those of the two draws of noise and LightGBM.

    ``folds`` of the rows to learn from decide when to stop if no rows are held out.
    """
    # one bag uses the seeds themselves, several those spawned from them
    several = params["n_bags"] > 1
    per_bag = list(zip(*(seed.spawn(len(parts)) for seed in seeds), strict=True)) if several else [seeds]
    return [
        train_bag(
            table,
            recipe,
            part,
            params=params,
            lightgbm=lightgbm_params(params, seed_integer(seed[2]), threads),
            seeds=seed[:2],
            tick=tick,
            folds=folds,
        )
        for part, seed in zip(parts, per_bag, strict=True)
    ]


def lightgbm_params(params: Mapping[str, Any], seed: int, threads: int) -> dict[str, Any]:
    """Return LightGBM's parameters for the estimator's arguments."""
    return {
        **regression_params(seed, threads),
        "num_leaves": params["num_leaves"],
        "max_depth": params["max_depth"],
        "learning_rate": params["learning_rate"],
        "max_bin": params["max_bin"],
        "bin_construct_sample_cnt": params["subsample_for_bin"],
        "min_data_in_leaf": params["min_child_samples"],
        "bagging_fraction": params["subsample"],
        "bagging_freq": params["subsample_freq"],
        **(params["extra_lightgbm_params"] or {}),
    }


_COUNTS = {
    "n_estimators": 1,
    "residualize_k_folds": 2,
    "residualize_repeats": 1,
    "n_bags": 1,
    "num_leaves": 2,
    "max_depth": -1,
    "max_bin": 2,
    "subsample_for_bin": 1,
    "min_child_samples": 0,
    "subsample_freq": 0,
}
"""Arguments that are integers, with the least they may be."""


def check_arguments(params: Mapping[str, Any]) -> None:
    """Check arguments whose errors LightGBM and numpy would report less clearly."""
    plan_first_stage(params["residualize"], params["first_stage_features"], None)
    known("engine", params["engine"], get_args(Kind))
    known("bag_mix", params["bag_mix"], get_args(Mix))
    known("repeats", params["repeats"], REPEATS)
    known("noise_design", params["noise_design"], NOISE_DESIGNS)
    check_copies(params["n_repeats"])
    for name, low in _COUNTS.items():
        if not (name == "residualize_k_folds" and hasattr(params[name], "split")):
            check_count(name, params[name], low)
    for name in ("learning_rate", "subsample", "eval_percent"):
        value = params[name]
        if name == "eval_percent" and isinstance(value, str) and value == AUTO:
            continue
        most = np.inf if name == "learning_rate" else 1.0
        if not isinstance(value, (int, float, np.integer, np.floating)) or not 0.0 < value <= most:
            raise ValueError(f"{name} must be a number > 0{' and <= 1' if most == 1.0 else ''}; got {value!r}.")
    check_atoms(params["atoms"])
    check_monotone(params["monotone"])
    check_supports(params["support"])
    if not isinstance(params["discrete"], (bool, np.bool_)):
        raise ValueError(f"discrete must be True or False; got {params['discrete']!r}.")
    if params["seed"] is not None:
        check_count("seed", params["seed"], 0)
    if params["early_stopping_rounds"] is not None:
        check_count("early_stopping_rounds", params["early_stopping_rounds"], 1)
        if held_out_share(params["eval_percent"]) >= 1.0:
            raise ValueError(f"eval_percent must leave rows to train on; got {params['eval_percent']!r}.")
    for name in ("extra_lightgbm_params", "extra_residualizer_params"):
        if params[name] is not None and not isinstance(params[name], Mapping):
            raise TypeError(f"{name} must be a dict or None; got {type(params[name]).__name__}.")


def check_atoms(atoms: Any) -> None:
    """Raise unless ``atoms`` is ``None``, "auto" or some finite numbers."""
    if atoms is None or (isinstance(atoms, str) and atoms == "auto"):
        return
    try:
        numbers = np.asarray(atoms, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if isinstance(atoms, str) or numbers.ndim != 1 or len(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(f"atoms must be None, 'auto' or a list of finite numbers; got {atoms!r}.")


def seed_integer(seed: np.random.SeedSequence) -> int:
    """Return 31 bits of a seed sequence, for LightGBM and scikit-learn."""
    return int(seed.generate_state(1)[0] >> 1)
