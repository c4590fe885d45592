"""``refengine baseline write|update``: the command line; ``baseline_work`` does it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from compat.commands import new_app, runner
from property_tests.defaults import EXAMPLES, SEED, TIMEOUT

Engine: TypeAlias = Annotated[str, typer.Argument(help="the engine, as for conform")]
File: TypeAlias = Annotated[
    Path | None,
    typer.Option("--known", dir_okay=False, help="the file; ENGINE-known.toml if not"),
]
Words: TypeAlias = Annotated[
    list[str] | None, typer.Option("-k", help="a family (ORD) or part of an id")
]
ProfileName: TypeAlias = Annotated[
    str | None, typer.Option("--profile", help="judge under this one")
]
Examples: TypeAlias = Annotated[int, typer.Option(min=0, help="generated worlds")]
Seed: TypeAlias = Annotated[int, typer.Option(help="other numbers, other worlds")]
Seconds: TypeAlias = Annotated[float, typer.Option(min=0.1, help="for one world")]

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")

app = new_app("Write the known failures of an engine down, and keep the file fresh.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for; ``timeout`` in seconds."""

    engine: str
    known: Path | None = None
    words: tuple[str, ...] = ()
    profile: str | None = None
    examples: int = EXAMPLES
    seed: int = SEED
    timeout: float = TIMEOUT

    @property
    def path(self) -> Path:
        """The file that is meant; one in the working directory if none was given."""
        return self.known or default_file(self.engine)


def default_file(engine: str) -> Path:
    """Return the file that is meant if none is given, in the working directory."""
    return Path(f"{_UNFIT.sub('-', engine).strip('-.')}-known.toml")


@app.command()
def write(  # noqa: PLR0913  # options of a command line
    engine: Engine,
    *,
    known: File = None,
    words: Words = None,
    profile: ProfileName = None,
    examples: Examples = EXAMPLES,
    seed: Seed = SEED,
    timeout: Seconds = TIMEOUT,
) -> None:
    """Judge an engine, and write an entry for each clause that fails.

    Reason and issue of each are left to be filled in: conform refuses the file before.

    Exit codes: 0 all that fails is written, 1 a failing clause has no world to pin, 2
    usage, 3 an engine or its door broke down, 4 nothing ran.
    """
    from property_tests import baseline_work

    wanted = Wanted(
        engine=engine,
        known=known,
        words=tuple(words or ()),
        profile=profile,
        examples=examples,
        seed=seed,
        timeout=timeout,
    )
    baseline_work.write(wanted)


@app.command()
def update(  # noqa: PLR0913  # options of a command line
    engine: Engine,
    *,
    known: File = None,
    words: Words = None,
    profile: ProfileName = None,
    examples: Examples = EXAMPLES,
    seed: Seed = SEED,
    timeout: Seconds = TIMEOUT,
) -> None:
    """Judge an engine, drop entries that are stale, and add those that are missing.

    All else in the file stays as it is: order, comments, reasons, other engines.

    Exit codes: 0 the file is fresh, 1 a failing clause has no world to pin, 2 usage, 3
    an engine or its door broke down, 4 nothing ran, 5 an entry matches nothing.
    """
    from property_tests import baseline_work

    wanted = Wanted(
        engine=engine,
        known=known,
        words=tuple(words or ()),
        profile=profile,
        examples=examples,
        seed=seed,
        timeout=timeout,
    )
    baseline_work.update(wanted)


main = runner(app, "baseline")
