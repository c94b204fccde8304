"""Download data sets into the cache; existing files are kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.datasets import DATA_SETS, add_data_dir, data_directory, load
from benchmarks.listing import location
from benchmarks.table_files import DataSetError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_data_dir(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"data sets: {', '.join(DATA_SETS)}")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--base-url", help="mirror that has the originals at the same paths")


def chosen(names: list[str], everything: bool) -> list[str]:
    """Return the requested names; raise if a name is unknown or none is given."""
    unknown = [name for name in names if name not in DATA_SETS]
    if unknown:
        raise DataSetError(f"unknown data sets: {', '.join(unknown)}. There are {', '.join(DATA_SETS)}.")
    if not names and not everything:
        raise DataSetError(f"name the data sets to fetch, or --all. There are {', '.join(DATA_SETS)}.")
    return list(DATA_SETS) if everything else names


def fetch(name: str, directory: Path | None, base_url: str | None = None) -> bool:
    """Get one data set and print where it is, or why it is not available."""
    try:
        load(DATA_SETS[name], directory, base_url=base_url)
    except DataSetError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return False
    print(f"{name}: {location(DATA_SETS[name], directory)}", flush=True)
    return True


def run(args: argparse.Namespace) -> None:
    """Get all data sets in turn; a failure does not stop the others."""
    directory = data_directory(args.data_dir)
    failed = [name for name in chosen(args.names, args.all) if not fetch(name, directory, args.base_url)]
    if failed:
        raise DataSetError(f"not fetched: {', '.join(failed)}.")
