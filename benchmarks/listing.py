"""List the data sets: rows, columns, source and where each was found."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.datasets import DATA_SETS, add_data_dir, data_directory, find, load
from benchmarks.table_files import DataSet, DataSetError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_data_dir(parser)


def place(data_set: DataSet, directory: Path | None) -> str:
    """Say where a data set would be read from: ``local: file``, ``cache: file``, ``scikit-learn`` or ``missing``."""
    if data_set.embedded:
        return "scikit-learn"
    found = find(data_set, directory)
    return "missing" if found is None else f"{found[0]}: {found[1]}"


def describe(data_set: DataSet, directory: Path | None) -> tuple[str, str, str, str, str]:
    """Return name, rows, columns, source and place; a file that cannot be read shows why instead. Downloads nothing."""
    found = place(data_set, directory)
    if found != "missing":
        try:
            load(data_set, directory, download=False)
        except DataSetError as error:
            found = str(error)
    return data_set.name, str(data_set.rows), str(len(data_set.features)), data_set.source, found


def run(args: argparse.Namespace) -> None:
    """Print one line for each data set."""
    directory = data_directory(args.data_dir)
    lines = [("name", "rows", "columns", "source", "found"), *(describe(d, directory) for d in DATA_SETS.values())]
    widths = [max(len(line[j]) for line in lines) for j in range(4)]
    for name, rows, columns, source, found in lines:
        print(
            f"{name:<{widths[0]}}  {rows:>{widths[1]}}  {columns:>{widths[2]}}  {source:<{widths[3]}}  {found}".rstrip()
        )
