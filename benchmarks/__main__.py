"""``python -m benchmarks <command>``: one module for each command.

A command is a module with ``add_arguments(parser)`` and ``run(args)``; the first line of its docstring is its
help. To add one, add its line to ``COMMANDS``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from benchmarks.layout import ResultsError
from benchmarks.table_files import DataSetError

COMMANDS: dict[str, str] = {
    "accuracy-of-distributions": "benchmarks.accuracy_of_distributions",
    "auto": "benchmarks.automatic.command",
    "bag-mix": "benchmarks.bag_mix",
    "busy-machine": "benchmarks.busy_machine",
    "chunks": "benchmarks.chunks",
    "cluster": "benchmarks.cluster",
    "early-stopping": "benchmarks.early_stopping",
    "engine": "benchmarks.engine_speed",
    "even-noise": "benchmarks.even_noise",
    "evaluate": "benchmarks.evaluate",
    "fetch": "benchmarks.fetching",
    "growth": "benchmarks.growth",
    "later-promises": "benchmarks.later_promises",
    "levels": "benchmarks.levels",
    "list": "benchmarks.listing",
    "members": "benchmarks.members",
    "model-files": "benchmarks.model_files",
    "nothing-to-learn": "benchmarks.nothing_to_learn",
    "peers": "benchmarks.peers.command",
    "pretrained": "benchmarks.pretrained",
    "promises": "benchmarks.promises",
    "raw": "benchmarks.raw.command",
    "rivals": "benchmarks.rivals.command",
    "run": "benchmarks.running",
    "sampler-choice": "benchmarks.sampler_choice",
    "short-limits": "benchmarks.short_limits",
    "shrunk-scale": "benchmarks.shrunk_scale",
    "scale": "benchmarks.scale",
    "serving": "benchmarks.serving.command",
    "structure": "benchmarks.structured.command",
    "study": "benchmarks.paper_studies.command",
    "style": "benchmarks.style",
    "tables": "benchmarks.tables.command",
    "time-limits": "benchmarks.time_limits",
    "tune": "benchmarks.tune",
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every command as a subparser."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Benchmarks of DiffGBM.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, module_name in COMMANDS.items():
        module = import_module(module_name)
        summary = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors of data sets and results are printed in one line."""
    args = build_parser().parse_args(argv)
    try:
        args.run(args)
    except (DataSetError, ResultsError) as error:
        print(f"benchmarks {args.command}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
