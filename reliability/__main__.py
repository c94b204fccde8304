"""``python -m reliability <command>``: stress tests that take minutes, and the page of their results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

COMMANDS = (
    *(
        "fuzz-model",
        "fuzz-forest",
        "soak",
        "load",
        "threads",
        "kills",
        "exits",
        "statistics",
        "package",
        "audit",
        "page",
        "digests",
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m reliability", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--kills", type=int, default=50, help="of each case")
    parser.add_argument("--cases", nargs="*", help="cases to kill; all if none is named")
    parser.add_argument("--quick", action="store_true", help="do not record the figures")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="cases of digests or statistics; all by default")
    parser.add_argument("--output", metavar="FILE", help="where digests are written")
    parser.add_argument("--compare", metavar="FILE", help="recorded digests to compare with")
    parser.add_argument("--ignore", nargs="*", default=(), metavar="WORD", help="ends of parts that are not compared")
    args = parser.parse_args(argv)
    if args.command == "page":
        from reliability import page

        page.write()
        return 0
    if args.command == "digests":
        from reliability import digests

        return digests.run(args.only, args.output, args.compare, args.ignore)
    figures = _figures(args)
    print(json.dumps(figures))
    return int(bool(figures.get("findings")) or not figures.get("flat", True))


def _figures(args: argparse.Namespace) -> dict[str, Any]:
    name = None if args.quick else args.command
    if args.command.startswith("fuzz-"):
        from reliability import fuzzing

        return fuzzing.run(args.command.removeprefix("fuzz-"), args.minutes, name)
    if args.command == "statistics":
        from reliability import statistical

        return statistical.run(name, args.only, args.minutes)
    if args.command == "threads":
        from reliability import threads

        return threads.run(args.minutes, name)
    if args.command == "load":
        from reliability import load

        return load.run(args.minutes, name)
    if args.command == "soak":
        from reliability import soak

        return soak.run(args.minutes, name)
    if args.command == "exits":
        from reliability import exits

        return exits.run(args.minutes, name, only=args.cases)
    if args.command == "kills":
        from reliability import kills

        return kills.run(args.kills, args.minutes, name=name, only=args.cases)
    from reliability import package

    return package.run(name) if args.command == "package" else package.audit(name)


if __name__ == "__main__":
    sys.exit(main())
