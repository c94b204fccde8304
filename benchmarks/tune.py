"""Tune families on fold 0 of data sets and write the selected configurations.

You can run several of these commands on the same results directory at once and interrupt any of them.
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
    """Tune every study whose budget is not spent."""
    complain(work(selection.settings_of(args), args.data_sets, args.families, args.jobs or 1, ("tune",)))
