"""What all commands share: how an app is run and how a user's mistake is told.

A command is two modules: the command line, which answers help and usage errors and
loads next to nothing, and its work, imported once the line is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import typer

from compat.light_values import read_lightly

OK: Final = 0
DIFFERS: Final = 1
USAGE: Final = 2
FAULT: Final = 3
NOTHING_RAN: Final = 4
STALE: Final = 5
NOT_COMPARABLE: Final = 6
_FIRST_WINS: Final = (USAGE, FAULT, NOTHING_RAN, NOT_COMPARABLE, DIFFERS, STALE)


def exit_code(*codes: int) -> int:
    """Return the one that wins if several apply (one table for every command)."""
    return next((code for code in _FIRST_WINS if code in codes), OK)


def new_app(about: str) -> typer.Typer:
    """Return an app with the settings all commands have."""
    return typer.Typer(
        help=about,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def runner(app: typer.Typer, name: str) -> Callable[[Sequence[str]], None]:
    """Return the ``main`` of a command."""

    def main(arguments: Sequence[str]) -> None:
        command: Any = typer.main.get_command(app)
        read_lightly(command)
        command(list(arguments), prog_name=f"refengine {name}")

    return main


def refuse(command: str, message: object) -> NoReturn:
    """Tell a user's mistake in its own words and leave."""
    sys.stderr.write(f"refengine {command}: {message}\n")
    raise typer.Exit(USAGE)


@contextmanager
def told(command: str, *mistakes: type[Exception]) -> Generator[None, None, None]:
    """Turn these exceptions into a message and exit code 2, without a traceback."""
    try:
        yield
    except mistakes as error:
        refuse(command, _text(error))


def _text(error: Any) -> str:  # noqa: ANN401  # any of the mistakes
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return str(error)
