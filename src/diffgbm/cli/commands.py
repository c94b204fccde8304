"""The commands: they read tables and write model files, predictions, samples and reports."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from diffgbm._util.atomic_files import check_folder
from diffgbm._util.errors import check_count, known
from diffgbm._util.optional import need
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm._version import __version__
from diffgbm.auto.presets import PRESETS
from diffgbm.cli.comparison import compared, comparison
from diffgbm.cli.options import (
    DEFAULT_PRESET,
    DEFAULT_RECIPE,
    RECIPES,
    coverage_levels,
    estimator_of,
    limits_of,
    quantile_levels,
    seconds,
    settings,
)
from diffgbm.cli.output import (
    STANDARD_OUTPUT,
    check_table_output,
    fit_summary,
    hide_warnings,
    print_reading,
    print_result,
    repeats,
    rows_at_once,
    write_predictions,
)
from diffgbm.cli.parameters import (
    Drop,
    GroupColumn,
    Interval,
    Jobs,
    Json,
    Keep,
    Limits,
    ModelFile,
    Output,
    Quiet,
    Seed,
    Set,
    TableFile,
    TableOutput,
    Targets,
    TimeColumn,
    Trust,
    Wanted,
    reads_tables,
)
from diffgbm.cli.serving import explore, serve
from diffgbm.data.columns import feature_names
from diffgbm.data.file_format import ReadingOptions
from diffgbm.data.file_tables import (
    FOUND,
    observed_labels,
    observed_table,
    report_missing,
    table_blocks,
    target_table,
    training_table,
    with_targets,
)
from diffgbm.data.table_files import TableFileError
from diffgbm.distributions.base import interval_labels, quantile_labels
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.estimators.loading import load
from diffgbm.estimators.search import DiffGBMCV
from diffgbm.metrics.evaluation import LEVELS, Scores
from diffgbm.reporting import report as write_report
from diffgbm.tuning.search_spaces import space_names

typer = need("typer")

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
)

DISTRIBUTION_POINTS = 256
"""Numbers that a predictive distribution takes, about."""
DEFAULT_TRIALS = 40
"""Trials of ``tune`` without --trials and --minutes."""


def print_version(wanted: bool) -> None:
    """Print the version and leave, if that is wanted."""
    if wanted:
        print(f"diffgbm {__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Predict the whole distribution of a column of a table."""


@app.command()
@reads_tables
def fit(
    table: TableFile,
    target: Targets,
    output: Output,
    recipe: Annotated[str | None, typer.Option(help=f"One model without a search: {', '.join(RECIPES)}.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help=f"Try many models and pool the best: {', '.join(PRESETS)}; {DEFAULT_PRESET} by default.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Approximate seconds for that; by default those of the preset.")
    ] = None,
    groups: GroupColumn = None,
    time_column: TimeColumn = None,
    support: Limits = None,
    drop: Drop = [],  # noqa: B006  # typer reads the default, nothing writes to it
    feature: Wanted = [],  # noqa: B006
    option: Set = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Fit the distribution of --target given the other columns, and write a model file.

    By default several models are tried and the best are pooled (AutoDiffGBM, preset fast). How each column is read is
    printed first. Leave out columns that are not features with --drop.
    """
    started = time.perf_counter()
    hide_warnings(quiet)
    check_folder(output, table)
    verbose = int(not quiet and not as_json)
    model = estimator_of(recipe, preset, time_limit, option, seed=seed, jobs=jobs, verbose=verbose, support=support)
    found = training_table(table, target, drop, options, groups, time_column, feature)
    X, y = found.X, found.y
    print_reading(table, found.reading, target, not verbose)
    model.fit(X, y, **found.given).set_params(verbose=0)
    model.file_reading_ = found.reading
    model.save(output)
    facts = {"output": str(output), "rows": len(X), "bytes": output.stat().st_size, **model.describe()}
    text = f"{fit_summary(output, target, X, started)} {facts.get('chosen', '')}"
    if isinstance(model, DiffGBM):
        facts["repeats"] = repeats(model.records_)
        text += model.division_
    print_result(facts, text.strip(), quiet, as_json)


@app.command()
@reads_tables
def tune(
    table: TableFile,
    target: Targets,
    output: Output,
    trials: Annotated[int | None, typer.Option(help=f"Models to try; {DEFAULT_TRIALS} by default.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes after which no further model is started.")] = None,
    space: Annotated[str, typer.Option(help=f"Search space: {', '.join(space_names())}.")] = space_names()[0],
    folds: Annotated[int | None, typer.Option(help="Score on this many folds instead of one row in six.")] = None,
    storage: Annotated[
        Path | None, typer.Option(help="File that keeps the search; the same command resumes it.")
    ] = None,
    groups: GroupColumn = None,
    time_column: TimeColumn = None,
    support: Limits = None,
    drop: Drop = [],  # noqa: B006
    feature: Wanted = [],  # noqa: B006
    option: Set = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Search for better settings than those of 'fit --recipe flow', fit the best of them, and write a model file.

    Settings are compared by the CRPS of held-out rows. If none is better than those of the recipe, the model uses those
    of the recipe.
    """
    started = time.perf_counter()
    hide_warnings(quiet)
    check_folder(output, table)
    need("optuna")
    fixed = {**limits_of(support), **settings(option)}
    if trials is None and minutes is None:
        trials = DEFAULT_TRIALS
    search = DiffGBMCV(
        known("--space", space, space_names()),
        n_trials=None if trials is None else check_count("--trials", trials, 1),
        timeout=seconds("--minutes", minutes, 60.0),
        cv=None if folds is None else check_count("--folds", folds, 2),
        storage=None if storage is None else check_folder(storage, table, output),
        estimator_params=fixed,
        n_jobs=jobs,
        seed=check_count("--seed", seed, 0),
        verbose=int(not quiet and not as_json),
    )
    found = training_table(table, target, drop, options, groups, time_column, feature)
    X, y, given = found.X, found.y, found.given
    print_reading(table, found.reading, target, quiet or as_json)
    default = {**RECIPES[DEFAULT_RECIPE]().get_params(deep=False), **fixed}
    outcome = compared(search.fit(X, y, **given), X, y, default, given)
    best = search.best_estimator_
    if outcome["kept"] == "default":
        # few trials may all be worse than the settings of the recipe: the better model is written
        best = DiffGBM(**{**default, "seed": seed, "n_jobs": jobs}).fit(X, y, **given)
    best.file_reading_ = found.reading
    best.save(output)
    facts = {"output": str(output), "rows": len(X), "bytes": output.stat().st_size, "space": space, **outcome}
    text = f"{comparison(outcome, default)}{fit_summary(output, target, X, started)} {best.division_}".strip()
    print_result({**facts, **best.describe()}, text, quiet, as_json)


@app.command()
@reads_tables
def predict(
    model: ModelFile,
    table: TableFile,
    output: TableOutput = STANDARD_OUTPUT,
    quantiles: Annotated[str | None, typer.Option(help="Levels, separated by commas, e.g. .05,.5,.95.")] = None,
    interval: Interval = [],  # noqa: B006
    mean: Annotated[bool, typer.Option("--mean", help="The mean.")] = False,
    prob_below: Annotated[float | None, typer.Option(help="The probability of at most this value.")] = None,
    keep: Keep = [],  # noqa: B006
    trust: Trust = [],  # noqa: B006
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Write means, quantiles, intervals or probabilities of each row; by default the mean and the 90% interval."""
    hide_warnings(quiet)
    check_table_output(output, as_json, model, table)
    levels = None if quantiles is None else quantile_levels(quantiles)
    coverages = coverage_levels(interval)
    if prob_below is not None and not math.isfinite(prob_below):
        raise TableFileError(f"--prob-below must be a finite number; got {prob_below:g}.")
    if levels is None and not coverages and prob_below is None and not mean:
        mean, coverages = True, [0.9]
    loaded = loaded_model(model, trust, jobs)

    def columns(X: Any) -> dict[str, Array]:
        distribution = loaded.predict_distribution(X)
        parts: dict[str, Array] = {}
        if mean:
            parts["mean"] = distribution.mean()
        if levels is not None:
            values = distribution.quantile(levels)
            parts |= {label: values[..., k] for k, label in enumerate(quantile_labels(levels))}
        if coverages:
            asked = coverages if len(coverages) > 1 else coverages[0]
            ends = loaded.interval_of(distribution, X, asked)
            ends = ends.reshape(*distribution.shape, -1)
            parts |= {label: ends[..., k] for k, label in enumerate(interval_labels(asked))}
        if prob_below is not None:
            parts["prob_below"] = distribution.cdf(prob_below)
        return parts

    write_predictions(loaded, table, output, keep, columns, DISTRIBUTION_POINTS, quiet, as_json, options)


@app.command()
@reads_tables
def sample(
    model: ModelFile,
    table: TableFile,
    output: TableOutput = STANDARD_OUTPUT,
    n: Annotated[int, typer.Option("-n", "--samples", help="Samples for each row.")] = 1000,
    keep: Keep = [],  # noqa: B006
    trust: Trust = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Draw samples for each row: columns s0, s1, ..."""
    hide_warnings(quiet)
    check_table_output(output, as_json, model, table)
    check_count("--samples", n, 1)
    check_count("--seed", seed, 0)
    loaded = loaded_model(model, trust, jobs)
    first = 0

    def columns(X: Any) -> dict[str, Array]:
        nonlocal first
        samples = loaded.sample(X, n, seed=seed, first_row=first)
        first += len(X)
        return {f"s{k}": values for k, values in enumerate(samples)}

    write_predictions(loaded, table, output, keep, columns, n, quiet, as_json, options)


@app.command()
@reads_tables
def evaluate(
    model: ModelFile,
    table: TableFile,
    interval: Interval = [],  # noqa: B006
    trust: Trust = [],  # noqa: B006
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Score a model on a table that holds the target: CRPS, skill, coverage, calibration."""
    hide_warnings(quiet)
    levels = coverage_levels(interval)
    loaded = loaded_model(model, trust, jobs)
    features, names = loaded.fitted_models()[0].features, loaded.response_names()
    scores = Scores(names, levels or LEVELS)
    rows = rows_at_once(loaded, DISTRIBUTION_POINTS)
    blocks = table_blocks(features, table, rows, targets=names, reading=loaded.file_reading_, options=options)
    missing = 0
    with progress_bar(None, "evaluate", not (quiet or as_json), "row") as bar:
        for block in blocks:
            X, y, without = with_targets(table, *block, names, scores.rows + missing)
            missing += without
            bar.update(len(y) + without)
            if len(y):
                distribution = loaded.predict_distribution(X)
                scores.add(distribution, y, partial(loaded.interval_of, distribution, X))
    report_missing(table, missing, scores.rows)
    summary = scores.summary()
    print_result(summary, scores.table(summary), quiet, as_json)


@app.command()
@reads_tables
def report(
    model: ModelFile,
    table: TableFile,
    output: Output,
    train: Annotated[
        Path | None, typer.Option(help="Training table of the model: its responses are the climatology.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column that labels the rows: readers search for its values.")
    ] = None,
    threshold: Annotated[
        list[float],
        typer.Option(help="Value c whose predicted P(y > c) is checked; may be repeated. One target only."),
    ] = [],  # noqa: B006
    importance_rows: Annotated[
        int | None, typer.Option(help="Most rows for permutation importance; the default predicts 2,000 rows in all.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Permutations of each feature.")] = 1,
    rows_shown: Annotated[int, typer.Option(help="Most rows whose densities are in the file.")] = 2000,
    trust: Trust = [],  # noqa: B006
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Write an HTML report on a table that holds the target; the file needs no network."""
    hide_warnings(quiet)
    check_folder(output, model, table, *([] if train is None else [train]))
    if importance_rows is not None:
        check_count("--importance-rows", importance_rows, 2)
    check_count("--repeats", repeats, 1)
    check_count("--rows-shown", rows_shown, 1)
    check_count("--seed", seed, 0)
    loaded = loaded_model(model, trust, jobs)
    features, names = loaded.fitted_models()[0].features, loaded.response_names()
    X, y = observed_table(features, names, table, loaded.file_reading_, options)
    labels = None
    if id_column is not None:
        labels = observed_labels(features, names, table, id_column, loaded.file_reading_, options)
    page = write_report(
        loaded,
        X,
        y,
        output,
        y_train=None if train is None else target_table(train, names, loaded.file_reading_, options),
        title=title,
        labels=labels,
        thresholds=threshold or None,
        importance_rows=importance_rows,
        n_repeats=repeats,
        rows_shown=rows_shown,
        file_bytes=model.stat().st_size,
        seed=seed,
        verbose=int(not quiet and not as_json),
    )
    targets = {r.name: {"crps": r.model.crps, "skill": r.model.skill} for r in page.facts.responses}
    size = output.stat().st_size
    text = f"{output}: {len(y):,} rows, {size / 1e6:.2f} MB."
    print_result({"output": str(output), "rows": len(y), "bytes": size, "targets": targets}, text, quiet, as_json)


@app.command()
def inspect(model: ModelFile, trust: Trust = [], as_json: Json = False) -> None:  # noqa: B006
    """Show what a model file holds."""
    loaded = load(model, trusted=trust)
    facts = {"file": str(model), **loaded.describe(), "bytes": model.stat().st_size}
    shown = {name: value for name, value in facts.items() if name != "schema"}
    lines = [f"{name:<10} {', '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in shown.items()]
    reading = loaded.file_reading_
    lines += ["", str(loaded.schema_)]
    if reading is not None:
        lines += [
            "",
            f"Read from {reading.file.describe()}:",
            *(f"  {line}" for line in reading.lines(loaded.response_names())),
        ]
        facts["reading"] = asdict(reading)
    print_result(facts, "\n".join(lines), False, as_json)


@app.command()
def demo(output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write.")] = Path("demo.png")) -> None:
    """Fit two embedded tables, print scores, save a picture."""
    # imported here: no other command needs its data sets
    from diffgbm.cli.demo import main as run_demo

    check_folder(output)
    need("matplotlib.pyplot")
    run_demo(str(output))


app.command()(serve)
app.command()(explore)


def loaded_model(path: Path, trust: Sequence[str], jobs: int) -> DistributionalRegressor:
    """Load a model that predicts with ``jobs`` threads and whose columns have names."""
    model = load(path, trusted=trust).set_threads(jobs)
    if getattr(model, "preprocess", None) is not None:
        raise ValueError("a model with preprocess predicts in Python: diffgbm.load(path).predict_interval(X).")
    feature_names(model.fitted_models()[0].features)
    return model
