"""The commands: a table in; a model file, intervals, quantiles, probabilities and samples out."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from diffgbm._util.atomic_files import check_folder
from diffgbm._util.errors import DiffGBMWarning, check_count, known
from diffgbm._util.optional import need
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.cli.comparison import compared, comparison
from diffgbm.cli.options import RECIPES, USUAL, estimator_of, quantile_levels, seconds, settings
from diffgbm.data.columns import feature_names, observed_table, pieces, target_table, target_values, training_table
from diffgbm.data.table_files import TableFileError, check_output, write_table
from diffgbm.distributions.base import quantile_labels
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.estimators.loaded import Model, draw, facts, interval_of, members, set_jobs
from diffgbm.estimators.search import DiffGBMCV
from diffgbm.metrics.evaluation import Scores
from diffgbm.persistence.files import load
from diffgbm.reporting import report as write_report
from diffgbm.tuning.search_spaces import space_names

typer = need("typer")
arrow = need("pyarrow")


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Predict the whole distribution of a column of a table.",
)

PIECE = 4_000_000
"""Numbers that are held at a time (32 MB): points of laws, or samples."""
DISTRIBUTION_POINTS = 256
USUAL_TRIALS = 40
"""Trials of ``tune`` if it is told neither a number nor a time."""

TableFile = Annotated[Path, typer.Argument(help="CSV (.csv, .csv.gz), Parquet or Arrow/Feather file.")]
ModelFile = Annotated[Path, typer.Argument(help="A model that 'diffgbm fit' wrote.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
Targets = Annotated[list[str], typer.Option("--target", "-t", help="Column to predict; repeat for several.")]
Keep = Annotated[list[str], typer.Option("--keep", help="Column of the input to carry over; repeat for several.")]
Drop = Annotated[list[str], typer.Option("--drop", help="Column to leave out of the features; repeat for several.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 takes all cores.")]
Trust = Annotated[
    list[str],
    typer.Option("--trust", help="Type of a regressor inside the model file that may be loaded; repeat for several."),
]
Set = Annotated[
    list[str], typer.Option("--set", help="Argument of the estimator, e.g. num_leaves=63; repeat for several.")
]


@app.command()
def fit(
    table: TableFile,
    target: Targets,
    output: Output,
    recipe: Annotated[
        str | None, typer.Option(help=f"One model: {', '.join(RECIPES)}; {USUAL} if nothing is said.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Try many models, pool the best: fast, balanced or best (AutoDiffGBM).")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for that, about; the preset's if nothing is said.")
    ] = None,
    drop: Drop = [],  # noqa: B006  # typer reads the default, nobody writes to it
    option: Set = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn the distribution of --target given the other columns, and write a model file.

    Text columns become categories; leave out what is no feature with --drop.
    """
    started = time.perf_counter()
    silence(quiet)
    check_folder(output, table)
    verbose = int(not quiet and not as_json)
    model = estimator_of(recipe, preset, time_limit, option, seed=seed, jobs=jobs, verbose=verbose)
    X, y = training_table(table, target, drop)
    model.fit(X, y).set_params(verbose=0).save(output)
    found = {"output": str(output), "rows": len(X), "bytes": output.stat().st_size, **facts(model)}
    text = f"{learned(output, target, X, started)} {found.get('chosen', '')}"
    say(found, text.strip(), quiet, as_json)


@app.command()
def tune(
    table: TableFile,
    target: Targets,
    output: Output,
    trials: Annotated[int | None, typer.Option(help=f"Models to try; {USUAL_TRIALS} if nothing is said.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes after which no other model is begun.")] = None,
    space: Annotated[str, typer.Option(help=f"What is searched: {', '.join(space_names())}.")] = space_names()[0],
    folds: Annotated[int | None, typer.Option(help="Score on this many folds instead of one row in six.")] = None,
    storage: Annotated[
        Path | None, typer.Option(help="File to keep the search in; the same command goes on with it.")
    ] = None,
    drop: Drop = [],  # noqa: B006
    option: Set = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Search for better settings than those of 'fit', learn with the best of them, and write a model file.

    Settings are compared by the CRPS of rows that they have not learned from. If none is better than those of 'fit',
    the model is theirs.
    """
    started = time.perf_counter()
    silence(quiet)
    check_folder(output, table)
    need("optuna")
    fixed = settings(option)
    search = DiffGBMCV(
        known("--space", space, space_names()),
        n_trials=check_count("--trials", trials, 1)
        if trials is not None
        else USUAL_TRIALS
        if minutes is None
        else None,
        timeout=seconds("--minutes", minutes, 60.0),
        cv=None if folds is None else check_count("--folds", folds, 2),
        storage=None if storage is None else check_folder(storage, table, output),
        estimator_params=fixed,
        n_jobs=jobs,
        seed=check_count("--seed", seed, 0),
        verbose=int(not quiet and not as_json),
    )
    X, y = training_table(table, target, drop)
    usual = {**RECIPES[USUAL]().get_params(deep=False), **fixed}
    outcome = compared(search.fit(X, y), X, y, usual)
    chosen = search.best_estimator_
    if outcome["kept"] == "default":
        # few trials may all be worse than what nobody searched for: the model written is the better one
        chosen = DiffGBM(**{**usual, "seed": seed, "n_jobs": jobs}).fit(X, y)
    chosen.save(output)
    found = {"output": str(output), "rows": len(X), "bytes": output.stat().st_size, "space": space, **outcome}
    text = comparison(outcome, usual) + learned(output, target, X, started)
    say({**found, **facts(chosen)}, text, quiet, as_json)


@app.command()
def predict(
    model: ModelFile,
    table: TableFile,
    output: Output,
    quantiles: Annotated[str | None, typer.Option(help="Levels, separated by commas, e.g. .05,.5,.95.")] = None,
    interval: Annotated[float | None, typer.Option(help="Coverage of a central interval, e.g. .9.")] = None,
    mean: Annotated[bool, typer.Option("--mean", help="The mean.")] = False,
    prob_below: Annotated[float | None, typer.Option(help="The probability of at most this value.")] = None,
    keep: Keep = [],  # noqa: B006
    trust: Trust = [],  # noqa: B006
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write means, quantiles, intervals or probabilities of each row; mean and 90% interval if nothing is asked."""
    silence(quiet)
    check_output(output, model, table)
    levels = None if quantiles is None else quantile_levels(quantiles)
    if interval is not None and not 0.0 < interval < 1.0:
        raise TableFileError(f"--interval must lie between 0 and 1, e.g. .9; got {interval:g}.")
    if prob_below is not None and not math.isfinite(prob_below):
        raise TableFileError(f"--prob-below must be a finite number; got {prob_below:g}.")
    if levels is None and interval is None and prob_below is None and not mean:
        mean, interval = True, 0.9
    loaded = loaded_model(model, trust, jobs)

    def columns(X: Any) -> dict[str, Array]:
        distribution = loaded.predict_distribution(X)
        parts: dict[str, Array] = {}
        if mean:
            parts["mean"] = distribution.mean()
        if levels is not None:
            values = distribution.quantile(levels)
            parts |= {label: values[..., k] for k, label in enumerate(quantile_labels(levels))}
        if interval is not None:
            ends = interval_of(loaded, distribution, X, interval)
            parts |= {"lower": ends[..., 0], "upper": ends[..., 1]}
        if prob_below is not None:
            parts["prob_below"] = distribution.cdf(prob_below)
        return parts

    transform(loaded, table, output, keep, columns, DISTRIBUTION_POINTS, quiet, as_json)


@app.command()
def sample(
    model: ModelFile,
    table: TableFile,
    output: Output,
    n: Annotated[int, typer.Option("-n", "--samples", help="Samples for each row.")] = 1000,
    keep: Keep = [],  # noqa: B006
    trust: Trust = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw samples for each row: columns s0, s1, ..."""
    silence(quiet)
    check_output(output, model, table)
    check_count("--samples", n, 1)
    check_count("--seed", seed, 0)
    loaded = loaded_model(model, trust, jobs)
    first = 0

    def columns(X: Any) -> dict[str, Array]:
        nonlocal first
        drawn = draw(loaded, X, n, seed, first)
        first += len(X)
        return {f"s{k}": values for k, values in enumerate(drawn)}

    transform(loaded, table, output, keep, columns, n, quiet, as_json)


@app.command()
def evaluate(
    model: ModelFile,
    table: TableFile,
    trust: Trust = [],  # noqa: B006
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score a model on a table that holds the target: CRPS, skill, coverage, calibration."""
    silence(quiet)
    loaded = loaded_model(model, trust, jobs)
    names = members(loaded)[0].response_names
    scores = Scores(names)
    with progress_bar(None, "evaluate", not (quiet or as_json), "row") as bar:
        for X, piece in pieces(loaded, table, rows_at_once(loaded, DISTRIBUTION_POINTS), targets=names):
            y = np.column_stack([target_values(table, name, piece.column(name), scores.rows) for name in names])
            distribution = loaded.predict_distribution(X)
            scores.add(distribution, y, partial(interval_of, loaded, distribution, X))
            bar.update(len(y))
    found = scores.summary()
    say(found, scores.table(found), quiet, as_json)


@app.command()
def report(
    model: ModelFile,
    table: TableFile,
    output: Output,
    train: Annotated[
        Path | None, typer.Option(help="Table that the model learned from: its responses are the climatology.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    importance_rows: Annotated[int, typer.Option(help="Rows between which features are shuffled, at most.")] = 2000,
    repeats: Annotated[int, typer.Option(help="How often each feature is shuffled.")] = 5,
    rows_shown: Annotated[int, typer.Option(help="Rows whose densities are in the file, at most.")] = 200,
    trust: Trust = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write what a model is worth on a table that holds the target: one HTML file that needs no network."""
    silence(quiet)
    check_folder(output, model, table, *([] if train is None else [train]))
    for option, value, low in (("--importance-rows", importance_rows, 2), ("--repeats", repeats, 1)):
        check_count(option, value, low)
    check_count("--rows-shown", rows_shown, 1)
    check_count("--seed", seed, 0)
    loaded = loaded_model(model, trust, jobs)
    X, y = observed_table(loaded, table)
    found = write_report(
        loaded,
        X,
        y,
        output,
        y_train=None if train is None else target_table(train, members(loaded)[0].response_names),
        title=title,
        importance_rows=importance_rows,
        n_repeats=repeats,
        rows_shown=rows_shown,
        file_bytes=model.stat().st_size,
        seed=seed,
        verbose=int(not quiet and not as_json),
    )
    said = {r.name: {"crps": r.model.crps, "skill": r.model.skill} for r in found.facts.responses}
    bytes_written = output.stat().st_size
    text = f"{output}: {len(y):,} rows, {bytes_written / 1e6:.2f} MB."
    say({"output": str(output), "rows": len(y), "bytes": bytes_written, "targets": said}, text, quiet, as_json)


@app.command()
def inspect(model: ModelFile, trust: Trust = [], as_json: Json = False) -> None:  # noqa: B006
    """Say what a model file holds."""
    found = {"file": str(model), **facts(opened(model, trust)), "bytes": model.stat().st_size}
    lines = (f"{name:<10} {', '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in found.items())
    say(found, "\n".join(lines), False, as_json)


@app.command()
def demo(output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write.")] = Path("demo.png")) -> None:
    """Learn two embedded tables, print scores, save a picture."""
    from diffgbm.cli.demo import main as run_demo

    check_folder(output)
    need("matplotlib.pyplot")
    run_demo(str(output))


def opened(path: Path, trust: Sequence[str]) -> Model:
    """Load a model: the one place where a command does."""
    return load(path, trusted=trust)


def loaded_model(path: Path, trust: Sequence[str], jobs: int) -> Model:
    """Load a model to be asked with ``jobs`` threads."""
    model = opened(path, trust)
    set_jobs(model, jobs)
    feature_names(model)
    return model


def rows_at_once(model: Model, numbers: int) -> int:
    """Rows of a piece, if each row needs ``numbers`` for each response."""
    return max(1, PIECE // (numbers * members(model)[0].n_responses))


def transform(
    model: Model,
    table: Path,
    output: Path,
    keep: Sequence[str],
    columns: Callable[[Any], dict[str, Array]],
    numbers: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write ``columns`` of a table's features piece by piece into ``output``, and say so."""
    rows = 0
    with write_table(output) as writer, progress_bar(None, "rows", not (quiet or as_json), "row") as bar:
        for X, piece in pieces(model, table, rows_at_once(model, numbers), keep):
            kept = {name: piece.column(name) for name in keep}
            found = named(columns(X), model)
            if both := kept.keys() & found.keys():
                raise TableFileError(f"--keep: the output has a column {sorted(both)[0]!r} of its own.")
            writer.write(arrow.table({**kept, **found}))
            rows += len(X)
            bar.update(len(X))
    say({"output": str(output), "rows": rows}, f"{output}: {rows:,} rows.", quiet, as_json)


def named(parts: dict[str, Array], model: Model) -> dict[str, Array]:
    """Put the response's name before each column if there are several responses."""
    first = members(model)[0]
    if first.response.is_1d:
        return parts
    names = first.response_names
    return {f"{name}_{key}": values[:, j] for key, values in parts.items() for j, name in enumerate(names)}


def learned(output: Path, target: Sequence[str], X: Any, started: float) -> str:
    """Say what was learned."""
    return (
        f"{output}: learned {', '.join(target)} from {len(X):,} rows and {X.num_columns} columns "
        f"in {time.perf_counter() - started:.1f} s ({output.stat().st_size / 1e6:.2f} MB)."
    )


def silence(quiet: bool) -> None:
    """Show no warnings if only errors are wanted."""
    if quiet:
        warnings.simplefilter("ignore", DiffGBMWarning)


def say(found: dict[str, Any], text: str, quiet: bool, as_json: bool) -> None:
    """Print the result for a program or for a person."""
    if as_json:
        print(json.dumps(found))
    elif not quiet:
        print(text)
