"""Tune families on fold 0 of data sets and write the selected configurations.

Several of these commands may work on the same results directory at once, and any of them may be interrupted.
"""

from __future__ import annotations

import argparse

from benchmarks import selection
from benchmarks.running import complain, work


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    selection.add_selectors(parser)
    selection.add_budget(parser)


def run(args: argparse.Namespace) -> None:
    """Tune what is not tuned within the budget."""
    complain(work(selection.settings_of(args), args.data_sets, args.families, args.jobs or 1, ("tune",)))
