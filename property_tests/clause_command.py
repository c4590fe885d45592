"""``refengine clause list|explain``: the command line; ``clause_work`` does it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from compat.commands import new_app, runner

app = new_app("List the clauses of the contract, and explain one by a run.")


class Which(StrEnum):
    """What may be asked for: one status of clauses."""

    checked = "checked"
    planned = "planned"
    untestable = "untestable"


@app.command("list")
def list_(
    status: Annotated[
        Which | None, typer.Option(help="only clauses of this status")
    ] = None,
    words: Annotated[
        list[str] | None, typer.Option("-k", help="only these, by a part of the id")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print them as JSON")] = False,
) -> None:
    """List the clauses with level, status and sentence."""
    from property_tests import clause_work

    clause_work.list_clauses(status, words or (), as_json=as_json)


@app.command()
def explain(id_: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Show what a clause means: where it comes from, a world, and a mutant in it."""
    from property_tests import clause_work

    clause_work.explain(id_)


main = runner(app, "clause")
