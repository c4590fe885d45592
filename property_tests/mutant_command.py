"""``refengine mutant list|matrix``: the command line; ``mutant_work`` does it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from compat.commands import new_app, runner

EXAMPLES: Final = 100

app = new_app("List the mutants, and show which clauses kill them.")
Words = Annotated[
    list[str] | None,
    typer.Option("-k", help="only mutants of these clauses, by a part of the id"),
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks of the matrix; ``jobs`` None is one a processor."""

    words: tuple[str, ...] = ()
    examples: int = EXAMPLES
    seed: int = 0
    jobs: int | None = None
    file: Path | None = None
    full: bool = False


@app.command("list")
def list_(words: Words = None) -> None:
    """List the mutants with what they violate and what is wrong with them."""
    from property_tests import mutant_work

    mutant_work.list_mutants(words or ())


@app.command("matrix")
def matrix_(
    file: Annotated[
        Path | None, typer.Option("--json", help="write the matrix to this file")
    ] = None,
    examples: Annotated[
        int, typer.Option("-n", min=0, help="so many generated worlds")
    ] = EXAMPLES,
    seed: Annotated[int, typer.Option(help="of the generated worlds")] = 0,
    words: Words = None,
    jobs: Annotated[
        int | None, typer.Option("-j", min=1, help="processes; as many as processors")
    ] = None,
    *,
    full: Annotated[
        bool,
        typer.Option(help="ask every check in every world, which takes long"),
    ] = False,
) -> None:
    """Play every mutant in the fixed worlds, and show which clauses kill it.

    Generated worlds are for those that a clause which they name does not kill there.
    What is shown killed; --full shows all that do.

    Exit code 1: a checked clause kills no mutant that names it, or a mutant is killed
    by none, or only by clauses that it does not name. Exit code 3: a check broke down.
    Exit code 4: no mutant was played. Exit code 5: clauses, checks and mutants do not
    name each other.
    """
    from property_tests import mutant_work

    wanted = Wanted(tuple(words or ()), examples, seed, jobs, file, full)
    mutant_work.show_matrix(wanted)


main = runner(app, "mutant")
