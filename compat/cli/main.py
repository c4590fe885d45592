"""``refengine``: a table of commands, each loaded when it is called.

Nothing is imported before a command is known, so help, version and a misspelt command
answer at once.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn

OK: Final = 0
USAGE: Final = 2
COMPLETING: Final = "_REFENGINE_COMPLETE"
"""As in ``compat.verdicts.exit_codes``; nothing is imported for the two."""

COMMANDS: Final = {
    "audit": ("compat.cli.audit", "find extensions whose order matters"),
    "baseline": (
        "compat.cli.baseline",
        "write known failures down, and keep the file fresh",
    ),
    "bench": ("compat.cli.bench", "measure what a handler costs"),
    "cassette": (
        "compat.cli.cassette",
        "serve a scripted model, record and replay requests",
    ),
    "checkpoint": ("compat.cli.checkpoint", "show and verify runs that are kept"),
    "clause": ("compat.cli.clause", "list and explain the contract"),
    "comment": ("compat.cli.comment", "keep a page as a pull request's comment"),
    "conform": ("compat.cli.conform", "judge whether engines keep the contract"),
    "corpus": ("compat.cli.corpus", "keep more sessions than one run plays"),
    "driver": ("compat.cli.driver", "try a program that plays engines"),
    "env": ("compat.cli.env", "list and remove the environments of sides"),
    "failure": ("compat.cli.failure", "list failures, and play one again"),
    "init": ("compat.cli.init", "write a migration, a door or a skill to start from"),
    "migrate": ("compat.cli.migrate", "check that a migration changed nothing"),
    "mutant": ("compat.cli.mutant", "show what proves the checks"),
    "observe": ("compat.cli.observe", "run rows of observed behaviour"),
    "profile": ("compat.cli.profile", "list profiles, show how two differ"),
    "timeline": ("compat.cli.timeline", "keep verdicts of releases over time"),
}
"""The module of each command, and what it is for."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command; exits with its code (0 ok, 2 usage, others as documented)."""
    if COMPLETING in os.environ:
        from compat.cli.completing import complete

        sys.exit(complete(COMMANDS))
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help"}:
        sys.exit(_say(_help()) or (OK if given else USAGE))
    if given[0] == "--version":
        sys.exit(_say(f"refengine {_version()}\n"))
    sys.exit(_run(given[0], given[1:]))


def _say(text: str) -> int:
    """Write a text to standard output; return the code of that."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        from compat.cli.command import untold

        return untold("--help", error)
    return OK


def _run(name: str, line: Sequence[str]) -> int:
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        known = ", ".join(COMMANDS)
        sys.stderr.write(f"refengine: no command {name!r}{hint}; there are {known}\n")
        sys.exit(USAGE)
    from compat.cli.command import run

    return run(import_module(COMMANDS[name][0]).app, name, line)


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
    from importlib.metadata import version

    return version("refengine")
