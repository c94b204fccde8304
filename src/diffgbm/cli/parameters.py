"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from diffgbm._util.optional import need
from diffgbm.data.file_format import DECIMALS, ReadingOptions, TableFileError

typer = need("typer")

TableFile = Annotated[Path, typer.Argument(help="CSV, TSV, Excel, JSON lines, Parquet or Arrow/Feather file.")]
ModelFile = Annotated[Path, typer.Argument(help="A model that 'diffgbm fit' wrote.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
TableOutput = Annotated[
    Path,
    typer.Option("--output", "-o", help="Table to write. Without it, or with -, CSV goes to standard output."),
]
Targets = Annotated[list[str], typer.Option("--target", "-t", help="Column to predict; repeat for several.")]
Keep = Annotated[list[str], typer.Option("--keep", help="Column of the input to copy; repeat for several.")]
Drop = Annotated[list[str], typer.Option("--drop", help="Column to leave out of the features; repeat for several.")]
Wanted = Annotated[
    list[str],
    typer.Option("--feature", help="Column to learn from although it seems to number the rows; repeat for several."),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="Column of customers, devices, ...: no split divides a group. It is no feature.",
        metavar="COLUMN",
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time",
        help="Column of times: models are judged on later rows only. It stays a feature unless it is dropped.",
        metavar="COLUMN",
    ),
]
Limits = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--support",
        help="Limits of the target, e.g. 0 none: no prediction lies outside. 'none' is an open end.",
        metavar="LOW HIGH",
    ),
]
Interval = Annotated[
    list[float], typer.Option("--interval", help="Coverage of a central interval, e.g. .9; repeat for several.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 takes all cores.")]
Trust = Annotated[
    list[str],
    typer.Option("--trust", help="Type of a regressor in the model file that you trust; repeat for several."),
]
Set = Annotated[
    list[str], typer.Option("--set", help="Argument of the estimator, e.g. num_leaves=63; repeat for several.")
]

READING: dict[str, Any] = {
    "sep": Annotated[str | None, typer.Option("--sep", help="Separator of columns, e.g. ';' or tab.")],
    "decimal": Annotated[str | None, typer.Option("--decimal", help="Decimal mark of all numbers: . or , (comma).")],
    "na": Annotated[
        list[str], typer.Option("--na", help="Mark of missing values besides the usual ones; repeat for several.")
    ],
    "encoding": Annotated[str | None, typer.Option("--encoding", help="Encoding of text, e.g. latin-1.")],
    "date_format": Annotated[str | None, typer.Option("--date-format", help="Format of dates, e.g. %d/%m/%Y.")],
    "sheet": Annotated[str | None, typer.Option("--sheet", help="Sheet of an Excel workbook: its name or number.")],
}
"""Options of all commands that read a table; without them the file is looked at."""


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options ``READING``; its argument ``options`` receives their values."""

    @wraps(command)
    def wrapped(**values: Any) -> None:
        asked = {name: values.pop(name) for name in READING}
        command(**values, options=reading_options(**asked))

    hints = get_type_hints(command, include_extras=True)
    kept = [parameter for name, parameter in inspect.signature(command).parameters.items() if name != "options"]
    kept = [parameter.replace(annotation=hints[parameter.name]) for parameter in kept]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=[] if name == "na" else None, annotation=kind)
        for name, kind in READING.items()
    ]
    vars(wrapped)["__signature__"] = inspect.Signature([*kept, *more])
    wrapped.__annotations__ = {**{p.name: p.annotation for p in [*kept, *more]}, "return": None}
    return wrapped


def reading_options(
    sep: str | None,
    decimal: str | None,
    na: list[str],
    encoding: str | None,
    date_format: str | None,
    sheet: str | None,
) -> ReadingOptions:
    """Check what the user says about a file."""
    if decimal is not None and decimal not in DECIMALS:
        raise TableFileError(f"--decimal must be . or , (comma); got {decimal!r}.")
    if date_format is not None and "%" not in date_format:
        raise TableFileError(f"--date-format must be a format such as %d/%m/%Y; got {date_format!r}.")
    return ReadingOptions(sep, decimal, tuple(na), encoding, date_format, sheet)
