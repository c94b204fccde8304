"""The command ``diffgbm``: runs a command and turns whatever the user can mend into one line and exit code 2."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from lightgbm.basic import LightGBMError

from diffgbm._util.errors import DiffGBMWarning

MENDABLE = (ValueError, TypeError, OSError, ImportError, MemoryError, LightGBMError)
"""What a wrong file, table, option or installation raises."""

INTERRUPTED = 130
"""Exit code of a program that was told to stop."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        said: set[str] = set()

        def show_one_line(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, DiffGBMWarning):
                if (text := _one_line(message)) not in said:  # once, and not for each of many models
                    print(f"diffgbm: warning: {text}", file=sys.stderr)
                said.add(text)
            else:
                show(message, category, *where, **more)

        warnings.showwarning = show_one_line
        sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from diffgbm.cli.commands import app

        code = int(app(given or ["--help"], prog_name="diffgbm", standalone_mode=False) or 0)
        return _complain("interrupted", code) if code == INTERRUPTED else code
    except MENDABLE as error:
        return _complain(str(error) or type(error).__name__, 2)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        # typer's own: a wrong option or an interruption; its classes are not to be had where it is missing
        if hasattr(error, "format_message"):
            return _complain(error.format_message(), 2)
        if type(error).__name__ == "Abort":
            return _complain("interrupted", INTERRUPTED)
        raise


def _complain(message: str, code: int) -> int:
    print(f"diffgbm: {_one_line(message)}", file=sys.stderr)
    return code


def _one_line(message: object) -> str:
    return " ".join(str(message).split())
