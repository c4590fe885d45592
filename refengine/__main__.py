"""The command line: a table of commands, each loaded when it is called.

Nothing heavy is imported before a command is known, so help, version and a misspelt
command answer at once.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, NoReturn

OK: Final = 0
USAGE: Final = 2

COMMANDS: Final = {
    "baseline": (
        "property_tests.baseline_command",
        "write known failures down, and keep the file fresh",
    ),
    "bench": ("benchmarks.command", "measure what a handler costs"),
    "cassette": ("compat.wire.command", "serve a scenario, record and replay its wire"),
    "checkpoint": ("compat.state.command", "show and verify runs that are kept"),
    "clause": ("property_tests.clause_command", "list and explain the contract"),
    "conform": ("property_tests.conform_command", "judge whether engines keep it"),
    "failure": ("property_tests.failure_command", "list failures, replay one"),
    "init": ("compat.migration.skeleton", "write a migration or a door to start from"),
    "migrate": ("compat.migration.command", "check that a migration changed nothing"),
    "mutant": ("property_tests.mutant_command", "show what proves the checks"),
    "observe": ("compat.observe.command", "run rows of observed behaviour"),
    "profile": ("compat.profiles.command", "list profiles, show how two differ"),
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command; exits with its code (0 ok, 2 usage, others as documented)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help"}:
        sys.stdout.write(_help())
        sys.exit(OK if given else USAGE)
    if given[0] == "--version":
        sys.stdout.write(f"refengine {_version()}\n")
        sys.exit(OK)
    _command(given[0])(given[1:])
    sys.exit(OK)


def _command(name: str) -> Callable[[list[str]], None]:
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        known = ", ".join(COMMANDS)
        sys.stderr.write(f"refengine: no command {name!r}{hint}; there are {known}\n")
        sys.exit(USAGE)
    module = import_module(COMMANDS[name][0])
    run: Callable[[list[str]], None] = module.main
    return run


def _help() -> str:
    lines = [f"  {name:<10} {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        (
            "Usage: refengine COMMAND [ARGUMENTS]",
            "",
            "Compatibility and migration test harness for agent middleware.",
            "",
            *lines,
            "",
            "refengine COMMAND --help tells more; refengine --version, the version.",
            "",
        )
    )


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415  # only --version needs it

    return version("refengine")


def _leave_working_directory() -> None:
    """Drop the working directory from the path, as ``python -m`` puts it there.

    ``compat`` is a generic name, and a user may have a folder of that name.
    """
    if sys.path and sys.path[0] in {"", os.getcwd()}:  # noqa: PTH109  # no pathlib yet
        del sys.path[0]


if __name__ == "__main__":
    _leave_working_directory()
    main()
