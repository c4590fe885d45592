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
HELP: Final = frozenset(("-h", "--help", "help"))
VERSION: Final = frozenset(("-V", "--version", "version"))

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
ABOUT: Final = "Compatibility and migration test harness for agent middleware."
PLAYED: Final = ("langchain", "langgraph", "google-adk", "pydantic-ai-slim")
"""What is named beside the version, if it is installed."""
GROUPS: Final = (
    ("First", ("init", "migrate", "audit", "conform", "bench")),
    ("What it rests on", ("clause", "profile", "mutant", "observe")),
    ("Sessions and what is kept", ("corpus", "cassette", "checkpoint")),
    ("In CI and over time", ("baseline", "failure", "timeline", "comment")),
    ("Set up", ("driver", "env")),
)
"""The commands as help lists them: those that a newcomer needs come first."""


COMPLETED: Final = (
    "To have your shell complete words, add a line to its start file:",
    '  bash  eval "$(_REFENGINE_COMPLETE=bash_source refengine)"',
    '  zsh   eval "$(_REFENGINE_COMPLETE=zsh_source refengine)"',
    "  fish  _REFENGINE_COMPLETE=fish_source refengine | source",
)
"""What help says of shells."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command; exits with its code (0 ok, 2 usage, others as documented)."""
    if COMPLETING in os.environ:
        from compat.cli.completing import complete

        sys.exit(complete(COMMANDS))
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        sys.exit(_say(_alone()) or USAGE)
    if given[0] in HELP:
        sys.exit(_run(given[1], ["--help"]) if given[1:] else _say(_help()))
    if given[0] in VERSION:
        sys.exit(_say(_versions()))
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
        sys.stderr.write(f"refengine: {_unknown(name)}\n")
        sys.exit(USAGE)
    from compat.cli.command import run

    return run(import_module(COMMANDS[name][0]).app, name, line)


def _unknown(name: str) -> str:
    """Return what is wrong with a first word that is no command."""
    what = "option" if name.startswith("-") else "command"
    close = difflib.get_close_matches(name, (*COMMANDS, "--help", "--version"), n=1)
    if close:
        return f"no {what} {name!r}; did you mean {close[0]!r}?"
    if name.endswith((".py", ".go", ".ts")):
        return f"no command {name!r}; to check it: refengine migrate check OLD NEW"
    return f"no {what} {name!r}; refengine --help lists what there is"


def _help() -> str:
    lines = ["Usage: refengine COMMAND [ARGUMENTS]", "", ABOUT]
    for title, names in GROUPS:
        lines += ["", f"{title}:", *_rows(names)]
    more = "refengine COMMAND --help tells more; refengine --version, the versions."
    return "\n".join((*lines, "", more, "", *COMPLETED, ""))


def _rows(names: Sequence[str]) -> list[str]:
    return [f"  {name:<11} {COMMANDS[name][1]}" for name in names]


def _alone() -> str:
    """Return what could be done in this folder, and the commands to begin with."""
    from compat.cli.migrate_here import here_lines

    first = GROUPS[0][1]
    lines = (ABOUT, "", *here_lines(), "", "To begin with:", *_rows(first))
    return "\n".join((*lines, "", "refengine --help lists all commands.", ""))


def _versions() -> str:
    """Return the version of refengine, and those of what it plays, if installed."""
    found = (f"{name} {at}" for name in PLAYED if (at := _version(name)))
    python = ".".join(map(str, sys.version_info[:3]))
    with_ = ", ".join((f"Python {python}", *found))
    return f"refengine {_version('refengine')}\nwith {with_}\n"


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""
