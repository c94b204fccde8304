"""Options that several commands share: a flag means the same type in every command."""

from typing import get_args, get_type_hints

import pytest

from diffgbm.cli import commands, parameters

SHARED = {name: value for name, value in vars(parameters).items() if getattr(value, "__metadata__", None)}
COMMANDS = {command.callback.__name__: command.callback for command in commands.app.registered_commands}


def flags(annotation) -> tuple[str, ...]:
    """The names of an option, such as ``--output`` and ``-o``; none for an argument."""
    return tuple(getattr(annotation.__metadata__[0], "param_decls", None) or ())


def test_every_shared_parameter_has_help_and_a_type():
    assert SHARED
    for name, annotation in SHARED.items():
        assert annotation.__metadata__[0].help.endswith("."), name
        kinds = (parameters.Path, list[str], list[float], tuple[str, str] | None, str | None, bool, int)
        assert get_args(annotation)[0] in kinds


def test_a_flag_has_one_type():
    named = {(flag, str(get_args(annotation)[0])) for annotation in SHARED.values() for flag in flags(annotation)}
    assert len(named) == len({flag for flag, _ in named})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flag_has_the_same_type_in_every_command(command):
    shared = {flag: get_args(annotation)[0] for annotation in SHARED.values() for flag in flags(annotation)}
    for annotation in get_type_hints(COMMANDS[command], include_extras=True).values():
        for flag in flags(annotation) if hasattr(annotation, "__metadata__") else ():
            assert shared.get(flag, get_args(annotation)[0]) == get_args(annotation)[0]
