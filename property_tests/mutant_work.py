"""What ``refengine mutant`` does: show broken engines, and which clauses kill them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compat.commands import DIFFERS, FAULT, NOTHING_RAN, OK, STALE, exit_code, told
from property_tests.checks import CHECKS
from property_tests.matrix import Matrix, matrix, unknown_names
from property_tests.mutant_command import Wanted
from property_tests.mutants import MUTANTS, Mutant
from property_tests.registry import UnknownSelectorError, contract, unmatched
from property_tests.running import Made, make_corpus


def list_mutants(words: Sequence[str]) -> None:
    """Print a table of the mutants that words choose."""
    table = Table(box=None, pad_edge=False)
    for title in ("mutant", "under", "violates"):
        table.add_column(title, no_wrap=True)
    table.add_column("what is wrong", min_width=40)
    chosen = _chosen("mutant list", words)[1]
    for each in chosen:
        named = ", ".join(each.violates)
        table.add_row(each.id, each.under, named, Text(each.about))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{len(chosen)} mutants")


def show_matrix(wanted: Wanted) -> None:
    """Play the mutants and print which clauses kill them; always raises typer.Exit."""
    clauses, mutants = _chosen("mutant matrix", wanted.words)
    file = wanted.file
    if file is not None:
        with told("mutant matrix", OSError):
            file.touch()  # what cannot be written is told before minutes are spent
    made = make_corpus(wanted.examples, wanted.seed)
    processes = wanted.jobs or min(os.cpu_count() or 1, len(mutants) or 1)
    found = matrix(clauses, mutants, made.corpus, jobs=processes, full=wanted.full)
    if file is not None:
        file.write_text(json.dumps(found.as_json(), indent=1) + "\n", "utf-8")
    stale = (*unmatched(contract(), CHECKS), *unknown_names(contract()))
    _print(found, made, stale)
    raise typer.Exit(_code(found, stale))


def _code(found: Matrix, stale: Sequence[str]) -> int:
    return exit_code(
        NOTHING_RAN if not found.kills else OK,
        FAULT if found.faults else OK,
        DIFFERS if found.is_red else OK,
        STALE if stale else OK,
    )


def _chosen(command: str, words: Sequence[str]) -> tuple[list[str], list[Mutant]]:
    """Return the checked clauses that words choose, and the mutants that name them."""
    with told(command, UnknownSelectorError):
        chosen = contract().select(words)
    clauses = [each.id for each in chosen if each.status == "checked"]
    if not words:
        return clauses, list(MUTANTS)
    named = {each.id for each in chosen}
    return clauses, [each for each in MUTANTS if not named.isdisjoint(each.violates)]


def _print(found: Matrix, made: Made, stale: Sequence[str]) -> None:
    console = Console(highlight=False)
    console.print(_table(found))
    for title, which in (
        (
            "checked clauses that kill no mutant naming them",
            found.clauses_without_mutant,
        ),
        ("mutants killed only by clauses they do not name", found.by_others_only),
        ("mutants that nothing kills", found.silent),
    ):
        if which:
            console.print(Text(f"{title}: {', '.join(which)}", "bold red"))
    for each in (*found.faults, *stale):
        console.print(Text(each, "bold red"))
    for each in made.told:
        console.print(each)
    worlds = len(made.corpus.worlds)
    console.print(
        f"{len(found.by_named)} of {len(found.kills)} mutants are killed by a clause"
        f" they name, {len(found.clauses)} checked clauses, {worlds} worlds"
    )


def _table(found: Matrix) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("mutant", "named", "killed by"):
        table.add_column(title, no_wrap=title == "mutant")
    for each in found.kills:
        killed = ", ".join(each.by) or "nothing"
        red = each.mutant not in found.by_named
        named = ", ".join(found.named[each.mutant])
        table.add_row(each.mutant, named, killed, style="red" if red else "")
    return table
