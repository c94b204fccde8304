"""List the data sets: rows, columns, source and where each was found."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.datasets import DATA_SETS, DataSet, DataSetError, add_data_dir, data_directory, load, locate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_data_dir(parser)


def describe(data_set: DataSet, directory: Path | None) -> tuple[str, str, str, str, str]:
    """Return name, rows, columns, source and place; a data set that cannot be read shows why instead."""
    try:
        table = load(data_set, directory)
    except DataSetError as error:
        place = "missing" if locate(data_set, directory) is None else str(error)
        return data_set.name, "-", "-", data_set.source, place
    place = str(locate(data_set, directory) or "scikit-learn")
    return data_set.name, str(table.X.shape[0]), str(table.X.shape[1]), data_set.source, place


def run(args: argparse.Namespace) -> None:
    """Print one line for each data set."""
    directory = data_directory(args.data_dir)
    lines = [("name", "rows", "columns", "source", "found"), *(describe(d, directory) for d in DATA_SETS.values())]
    widths = [max(len(line[j]) for line in lines) for j in range(4)]
    for name, rows, columns, source, place in lines:
        print(
            f"{name:<{widths[0]}}  {rows:>{widths[1]}}  {columns:>{widths[2]}}  {source:<{widths[3]}}  {place}".rstrip()
        )
