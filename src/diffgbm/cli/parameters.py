"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from diffgbm._util.optional import need

typer = need("typer")

TableFile = Annotated[Path, typer.Argument(help="CSV (.csv, .csv.gz), Parquet or Arrow/Feather file.")]
ModelFile = Annotated[Path, typer.Argument(help="A model that 'diffgbm fit' wrote.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
TableOutput = Annotated[
    Path,
    typer.Option("--output", "-o", help="Table to write. Without it, or with -, CSV goes to standard output."),
]
Targets = Annotated[list[str], typer.Option("--target", "-t", help="Column to predict; repeat for several.")]
Keep = Annotated[list[str], typer.Option("--keep", help="Column of the input to copy; repeat for several.")]
Drop = Annotated[list[str], typer.Option("--drop", help="Column to leave out of the features; repeat for several.")]
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
