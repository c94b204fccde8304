"""Evaluate the selected configurations on folds 1 to 5: a line of scores for each data set, family and fold."""

from __future__ import annotations

import argparse

from benchmarks import selection
from benchmarks.running import complain, work


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    selection.add_selectors(parser)
    selection.add_folds(parser)


def run(args: argparse.Namespace) -> None:
    """Evaluate what has no line yet."""
    complain(work(selection.settings_of(args), args.data_sets, args.families, args.jobs or 1, ("evaluate",)))
