"""``refengine migrate check``: the command line; ``work`` does what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Optional

import typer

from compat.commands import new_app, refuse, runner, told
from compat.migration.options import EXAMPLES, TIMEOUT, UnknownWordError, known
from compat.verdicts.relations import DEFAULT_RELATION, RELATIONS
from refengine.errors import UnknownProfileError
from refengine.profile import profile

CHECK: Final = "migrate check"

app = new_app("Check that migrated middleware still does the same.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for; ``timeout`` in seconds.

    ``subjects`` are the positional ones, OLD first unless ``old`` names it. With
    ``every``, a folder, all but how worlds are played is taken from its files.
    """

    subjects: tuple[str, ...] = ()
    old: str | None = None
    every: Path | None = None
    require: str | None = None
    settings: Path | None = None
    examples: int = EXAMPLES
    seed: int = 0
    timeout: float = TIMEOUT
    profile: str = "seed-001"
    json_file: Path | None = None
    reproducer: Path | None = None
    wire: bool = False

    @property
    def sides(self) -> tuple[str, ...]:
        """The references that are given, OLD first."""
        return (*(() if self.old is None else (self.old,)), *self.subjects)


@app.callback()
def _migrate() -> None:
    """Check that migrated middleware still does the same."""


@app.command("check")
def check_command(  # noqa: PLR0913, PLR0917  # the options of the command
    subjects: Annotated[
        Optional[list[str]],  # noqa: UP045  # typer reads the annotation at run time
        typer.Argument(metavar="OLD NEW", help="module:name, file.py:name or file.py"),
    ] = None,
    old: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(help="OLD of an earlier commit: REV:file.py:name"),
    ] = None,
    every: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--all", help="judge every migration.toml of this folder"),
    ] = None,
    require: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(help=f"{', '.join(RELATIONS)} [default: {DEFAULT_RELATION}]"),
    ] = None,
    settings: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option(help="a migration.toml: volatile fields, allowances of NEW"),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="generated worlds")] = EXAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="of the generated worlds")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.01, help="seconds a world may take on one side")
    ] = TIMEOUT,
    profile_name: Annotated[
        str, typer.Option("--profile", help="the engine both sides are played on")
    ] = "seed-001",
    json_file: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--json", help="write the whole report to this file"),
    ] = None,
    reproducer: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option(metavar="DIR", help="write a script that shows the divergence"),
    ] = None,
    wire: Annotated[  # noqa: FBT002  # a flag, given by its name
        bool,
        typer.Option("--wire", help="graphs ask a server on loopback by ChatOpenAI"),
    ] = False,
) -> None:
    """Play OLD and NEW in the same worlds and tell whether NEW does the same.

    A subject is a function subject(world) that returns a list of struct middlewares or
    handlers, or the configuration of an agent. The answer is the strongest relation
    that holds, with the smallest world that breaks the next one.

    Exit codes: 0 what is required holds, 1 it diverges, 2 a mistake in what was given,
    3 a side hung or ended, 4 a hook was never entered or nothing ran, 5 an allowance
    is not used, 6 not comparable: a side differs from itself. If several apply, the
    first of 2, 3, 4, 6, 1, 5 wins.
    """
    wanted = Wanted(
        subjects=tuple(subjects or ()),
        old=old,
        every=every,
        require=require,
        settings=settings,
        examples=examples,
        seed=seed,
        timeout=timeout,
        profile=profile_name,
        json_file=json_file,
        reproducer=reproducer,
        wire=wire,
    )
    _refuse_mistakes(wanted)
    from compat.migration import work

    work.check_migrations(wanted)


def _refuse_mistakes(wanted: Wanted) -> None:
    """Tell what is wrong whatever the files hold, before the work is loaded."""
    with told(CHECK, UnknownProfileError, UnknownWordError):
        profile(wanted.profile)
        if wanted.require is not None:
            known(wanted.require, RELATIONS, "relation")
    if wanted.wire and wanted.reproducer is not None:
        refuse(CHECK, "--reproducer plays in process, so not with --wire")
    given = list(wanted.sides)
    if wanted.every is not None:
        if any((given, wanted.settings, wanted.reproducer, wanted.require)):
            refuse(CHECK, "--all takes all else from each migration.toml")
    elif len(given) != 2:
        refuse(CHECK, f"give OLD and NEW; {len(given)} given: {given}")


main = runner(app, "migrate")
