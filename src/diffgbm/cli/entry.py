"""The entry point ``diffgbm``: runs a command; errors the user can fix become one line and exit code 2."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lightgbm.basic import LightGBMError

from diffgbm._util.errors import DiffGBMWarning

USER_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError, LightGBMError)
"""Errors of a wrong file, table, option or installation."""

INTERRUPTED = 130
"""Exit code after an interruption."""
CLOSED_PIPE = 1
"""Exit code if the reader of standard output leaves, as ``head`` does; nothing is printed then."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its exit code."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        shown: set[str] = set()

        def show_one_line(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, DiffGBMWarning):
                if (text := _one_line(message)) not in shown:  # once, not for each of many models
                    print(f"diffgbm: warning: {text}", file=sys.stderr)
                shown.add(text)
            else:
                show(message, category, *where, **more)

        warnings.showwarning = show_one_line
        sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # imported here: without typer the message says what to install
        from diffgbm.cli.commands import app

        code = int(app(words or ["--help"], prog_name="diffgbm", standalone_mode=False) or 0)
        sys.stdout.flush()
        return _print_error("interrupted", code) if code == INTERRUPTED else code
    except BrokenPipeError:
        _discard_output()
        return CLOSED_PIPE
    except USER_ERRORS as error:
        return _print_error(str(error) or type(error).__name__, 2)
    except KeyboardInterrupt:
        return _print_error("interrupted", INTERRUPTED)
    except Exception as error:
        # typer's errors: a wrong option or an interruption; without typer their classes do not exist
        if hasattr(error, "format_message"):
            return _print_error(error.format_message(), 2)
        if type(error).__name__ == "Abort":
            return _print_error("interrupted", INTERRUPTED)
        raise


def _discard_output() -> None:
    """Send what is left in the buffer of standard output nowhere, so that closing it raises nothing."""
    with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _print_error(message: str, code: int) -> int:
    print(f"diffgbm: {_one_line(message)}", file=sys.stderr)
    return code


def _one_line(message: object) -> str:
    return " ".join(str(message).split())
