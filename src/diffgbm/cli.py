"""The command line: a table in, a model file, intervals, quantiles, probabilities and samples out."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from diffgbm import metrics
from diffgbm.errors import choose
from diffgbm.estimator import DiffGBM
from diffgbm.files import TableFileError, kind_of, read_pieces, read_table, write_table
from diffgbm.optional import need
from diffgbm.persistence import load
from diffgbm.progress import progress_bar

typer = need("typer")
arrow = need("pyarrow")

Array = NDArray[np.float64]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Predict the whole distribution of a column of a table.",
)

RECIPES: dict[str, Callable[..., DiffGBM]] = {
    "flow": DiffGBM.flow,
    "score+": DiffGBM.score_plus,
    "published": DiffGBM.published,
    "edm": DiffGBM,
}
LEVELS = (0.5, 0.8, 0.9, 0.95)

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


@app.command()
def fit(
    table: TableFile,
    target: Targets,
    output: Output,
    recipe: Annotated[str, typer.Option(help=f"One of {', '.join(RECIPES)}.")] = "flow",
    drop: Drop = [],  # noqa: B006  # typer reads the default, nobody writes to it
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn the distribution of --target given the other columns, and write a model file."""
    started = time.perf_counter()
    X, y = training_table(table, target, drop)
    make = choose("--recipe", recipe, RECIPES)
    model = make(seed=seed, n_jobs=jobs, verbose=int(not quiet and not as_json)).fit(X, y)
    model.set_params(verbose=0).save(output)
    say(
        {"model": str(output), "rows": len(X), "features": X.num_columns, "target": target, **report(model)},
        f"{output}: learned {', '.join(target)} from {len(X):,} rows and {X.num_columns} columns "
        f"in {time.perf_counter() - started:.1f} s ({output.stat().st_size / 1e6:.2f} MB).",
        quiet,
        as_json,
    )


@app.command()
def predict(
    model: ModelFile,
    table: TableFile,
    output: Output,
    quantiles: Annotated[str, typer.Option(help="Levels, separated by commas, e.g. .05,.5,.95.")] = "",
    interval: Annotated[float | None, typer.Option(help="Coverage of a central interval, e.g. .9.")] = None,
    mean: Annotated[bool, typer.Option("--mean", help="The mean.")] = False,
    prob_below: Annotated[float | None, typer.Option(help="The probability of at most this value.")] = None,
    keep: Keep = [],  # noqa: B006
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write means, quantiles, intervals or probabilities of each row; mean and 90% interval if nothing is asked."""
    loaded = load(model).set_params(n_jobs=jobs)
    levels = numbers("--quantiles", quantiles)
    if not (levels or interval or mean or prob_below is not None):
        mean, interval = True, 0.9

    def columns(X: Any) -> dict[str, Array]:
        law = loaded.predict_distribution(X)
        parts: dict[str, Array] = {}
        if mean:
            parts["mean"] = law.mean()
        if levels:
            values = law.quantile(levels)
            parts |= {f"q{q:g}": values[..., k] for k, q in enumerate(levels)}
        if interval is not None:
            ends = law.interval(interval)
            parts |= {"lower": ends[..., 0], "upper": ends[..., 1]}
        if prob_below is not None:
            parts["prob_below"] = law.cdf(prob_below)
        return named(parts, loaded)

    rows = transform(loaded, table, output, keep, columns, quiet or as_json)
    say({"output": str(output), "rows": rows}, f"{output}: {rows:,} rows.", quiet, as_json)


@app.command()
def sample(
    model: ModelFile,
    table: TableFile,
    output: Output,
    n: Annotated[int, typer.Option("-n", "--samples", help="Samples for each row.")] = 1000,
    keep: Keep = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write samples for each row, one column for each sample."""
    loaded = load(model).set_params(n_jobs=jobs)
    first = 0

    def columns(X: Any) -> dict[str, Array]:
        nonlocal first
        drawn = loaded.sample(X, n, seed=seed, first_row=first)
        first += len(X)
        return named({f"s{k}": values for k, values in enumerate(drawn)}, loaded)

    rows = transform(loaded, table, output, keep, columns, quiet or as_json)
    say({"output": str(output), "rows": rows, "samples": n}, f"{output}: {rows:,} rows x {n} samples.", quiet, as_json)


@app.command()
def evaluate(model: ModelFile, table: TableFile, jobs: Jobs = -1, quiet: Quiet = False, as_json: Json = False) -> None:
    """Score a model on a table that holds the target: CRPS, skill, coverage, calibration."""
    loaded = load(model).set_params(n_jobs=jobs)
    names = loaded.model_.response_names
    whole = read_table(table, column_types(loaded, names))
    require(table, whole.column_names, [*names_of(loaded), *names])
    X = feature_table(loaded, whole)
    y = np.column_stack([target_values(table, whole, name) for name in names])
    observed = y[:, 0] if loaded.model_.response.is_1d else y
    law = loaded.predict_distribution(X)
    scores = {
        "rows": len(y),
        "crps": float(law.crps(observed).mean()),
        "skill": metrics.crpss(law, observed, observed),
        "rmse": float(np.sqrt(np.mean((law.mean() - observed) ** 2))),
        "mae": float(np.mean(np.abs(law.median() - observed))),
        "log_score": loaded.compute_nll(X, observed) / len(y),
        "pit_ks_pvalue": metrics.pit_ks(law, observed).pvalue,
        **{f"coverage_{level:g}": metrics.coverage(law, observed, level) for level in LEVELS},
        **{f"width_{level:g}": metrics.width(law, level) for level in LEVELS},
    }
    text = "\n".join(f"{name:<16} {value:.6g}" for name, value in scores.items())
    say(scores, text + "\n(skill: against the responses of this table)", quiet, as_json)


@app.command()
def inspect(model: ModelFile, as_json: Json = False) -> None:
    """Say what a model file holds."""
    loaded = load(model)
    facts = {"file": str(model), "bytes": os.path.getsize(model), **report(loaded)}
    say(facts, "\n".join(f"{name:<12} {value}" for name, value in facts.items()), False, as_json)


@app.command()
def demo(output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write.")] = Path("demo.png")) -> None:
    """Learn two embedded tables, print scores, save a picture."""
    from diffgbm.demo import main as run_demo

    run_demo(str(output))


def training_table(path: Path, targets: list[str], drop: list[str]) -> tuple[Any, Any]:
    """Read a table for training: features with text as categories, and the targets."""
    whole = read_table(path)
    require(path, whole.column_names, [*targets, *drop])
    y = arrow.table({name: target_values(path, whole, name) for name in targets})
    X = whole.drop_columns([*targets, *drop])
    for i, column in enumerate(X.schema):
        if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
            X = X.set_column(i, column.name, X.column(i).dictionary_encode())
        elif arrow.types.is_temporal(column.type):
            raise TableFileError(
                f"{path}: column {column.name!r} holds dates. Turn it into numbers (days, month, weekday, ...) "
                f"or leave it out with --drop {column.name}."
            )
        elif arrow.types.is_null(column.type):
            X = X.set_column(i, column.name, X.column(i).cast(arrow.float64()))
    return X, y.column(0).to_numpy() if len(targets) == 1 else y


def target_values(path: Path, table: Any, name: str) -> Array:
    """Read a target column; say which line has none."""
    column = table.column(name)
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        raise TableFileError(f"{path}: target {name!r} must hold numbers; it holds {column.type}.")
    values = column.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise TableFileError(f"{path}: target {name!r} is missing or infinite in row {row + 1}. Drop such rows.")
    return values


def column_types(model: DiffGBM, targets: tuple[str, ...] = ()) -> dict[str, str]:
    """How the model's columns are to be read from a CSV file, whatever the first rows look like."""
    features = model.model_.features
    kinds = {
        name: "number" if levels is None else "text"
        for name, levels in zip(names_of(model), features.levels, strict=True)
    }
    return {**kinds, **dict.fromkeys(targets, "number")}


def names_of(model: DiffGBM) -> tuple[str, ...]:
    """Names of the model's columns."""
    features = model.model_.features
    return features.names or tuple(str(j) for j in range(features.n_features))


def feature_table(model: DiffGBM, table: Any) -> Any:
    """Select the model's columns in its order."""
    return table.select(list(names_of(model)))


def require(path: Path, present: list[str], wanted: Any) -> None:
    """Refuse a table that lacks columns."""
    missing = [name for name in wanted if name not in present]
    if missing:
        raise TableFileError(
            f"{path}: no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, present))}."
        )


def transform(model: DiffGBM, table: Path, output: Path, keep: list[str], columns: Any, silent: bool) -> int:
    """Predict a table piece by piece into ``output``; return its number of rows."""
    rows = 0
    kind_of(output)
    with write_table(output) as writer, progress_bar(0, "rows", not silent, "row") as bar:
        for piece in checked_pieces(model, table, keep):
            parts = {name: piece.column(name) for name in keep}
            writer.write(arrow.table({**parts, **columns(feature_table(model, piece))}))
            rows += len(piece)
            bar.update(len(piece))
    return rows


def checked_pieces(model: DiffGBM, table: Path, keep: list[str]) -> Iterator[Any]:
    """Yield pieces of a table that has all the model's columns and those to keep."""
    for number, piece in enumerate(read_pieces(table, column_types(model))):
        if number == 0:
            require(table, piece.column_names, [*names_of(model), *keep])
        if len(piece):
            yield piece


def named(parts: dict[str, Array], model: DiffGBM) -> dict[str, Array]:
    """Put the response's name before each column if there are several responses."""
    if model.model_.response.is_1d:
        return parts
    names = model.model_.response_names
    return {f"{name}_{key}": values[:, j] for key, values in parts.items() for j, name in enumerate(names)}


def numbers(option: str, text: str) -> list[float]:
    """Read numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise TableFileError(f"{option}: {text!r} must be numbers separated by commas, e.g. .05,.5,.95.") from None


def report(model: DiffGBM) -> dict[str, Any]:
    """What is worth knowing of a model."""
    fitted = model.model_
    return {
        "recipe": str(model.recipe),
        "responses": list(fitted.response_names),
        "columns": list(names_of(model)),
        "categories": [name for name, levels in zip(names_of(model), fitted.features.levels, strict=True) if levels],
        "trees": fitted.n_iterations,
    }


def say(facts: dict[str, Any], text: str, quiet: bool, as_json: bool) -> None:
    """Print the result for a program or for a person."""
    if as_json:
        print(json.dumps(facts))
    elif not quiet:
        print(text)


def main() -> None:
    """Run the command line; what the user can mend is one line and exit code 2, never a traceback."""
    try:
        app()
    except (ValueError, TypeError, FileNotFoundError, IsADirectoryError, PermissionError, ImportError) as error:
        print(f"diffgbm: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None
