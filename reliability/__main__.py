"""``python -m reliability <command>``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m reliability", description=__doc__)
    parser.add_argument("command", choices=["fuzz-model", "fuzz-forest"])
    parser.add_argument("--minutes", type=float, default=20.0)
    args = parser.parse_args(argv)
    from reliability import fuzzing

    figures: dict[str, Any] = fuzzing.run(args.command.removeprefix("fuzz-"), args.minutes)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
