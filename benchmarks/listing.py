"""List the data sets: rows, columns, source and location."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.datasets import DATA_SETS, add_data_dir, data_directory, find, load
from benchmarks.table_files import DataSet, DataSetError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_data_dir(parser)


def location(data_set: DataSet, directory: Path | None) -> str:
    """Return the source of a data set: ``local: file``, ``cache: file``, ``scikit-learn`` or ``missing``."""
    if data_set.embedded:
        return "scikit-learn"
    result = find(data_set, directory)
    return "missing" if result is None else f"{result[0]}: {result[1]}"


def describe(data_set: DataSet, directory: Path | None) -> tuple[str, str, str, str, str]:
    """Return name, rows, columns, source and location, or why a file cannot be read. Downloads nothing."""
    result = location(data_set, directory)
    if result != "missing":
        try:
            load(data_set, directory, download=False)
        except DataSetError as error:
            result = str(error)
    return data_set.name, str(data_set.rows), str(len(data_set.features)), data_set.source, result


def run(args: argparse.Namespace) -> None:
    """Print one line for each data set."""
    directory = data_directory(args.data_dir)
    lines = [("name", "rows", "columns", "source", "location"), *(describe(d, directory) for d in DATA_SETS.values())]
    widths = [max(len(line[j]) for line in lines) for j in range(4)]
    for name, rows, columns, source, where in lines:
        start = f"{name:<{widths[0]}}  {rows:>{widths[1]}}  {columns:>{widths[2]}}  {source:<{widths[3]}}"
        print(f"{start}  {where}".rstrip())
