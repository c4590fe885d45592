"""``refengine mutant list|matrix``: broken engines, and which clauses kill them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from compat.cli.command import group, option, refusing
from compat.cli.shared_options import CLUSTER, clauses, jobs
from compat.cli.spread_on import spread_on
from compat.cli.values import OUTPUT, WHOLE, at_least, one_of
from compat.report.plain_text import write_text
from compat.verdicts.exit_codes import (
    DIFFERS,
    FAULT,
    NOTHING_RAN,
    OK,
    STALE,
    exit_code,
)

if TYPE_CHECKING:
    from rich.table import Table

    from property_tests.dialects.dialect import Dialect, DialectMutant
    from property_tests.matrix import Matrix, Search
    from property_tests.mutants import Mutant
    from property_tests.mutants.made import MadeChange

EXAMPLES: Final = 100
MANY_MADE: Final = 60
"""So many small changes take a minute or two."""
SEARCHES: Final = ("fixed", "proof", "full")
WORDS: Final = "only mutants of these clauses: an id, a family (ORD) or part of an id"

app = group("List the mutants, and show which clauses kill them.")


@app.command("list")
@clauses(WORDS)
def list_(words: tuple[str, ...]) -> int:
    """List the mutants with what they violate and what is wrong with them."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from compat.report.conform_text import counted

    chosen: list[Mutant | DialectMutant] = [*_chosen("mutant list", words)[1]]
    chosen += (each for _, _, mine in _of_dialects(words) for each in mine)
    console = Console(highlight=False)
    for each in chosen:
        violates = ", ".join(each.violates)
        console.print(Text(f"{each.id}  under {each.under}, violates {violates}"))
        console.print(Padding(Text(each.about), (0, 0, 0, 2)))
    console.print(counted(len(chosen), "mutant"))
    return OK


@app.command("matrix")
@option("--json", "file", about="write the matrix to this file", kind=OUTPUT)
@option(
    "--examples",
    about="generated worlds",
    kind=at_least(0),
    default=EXAMPLES,
    formerly=("-n",),
)
@option("--seed", about="of the generated worlds", kind=WHOLE, default=0)
@clauses(WORDS)
@jobs("processes that work; without it, one for each core", 1)
@option(
    "--search",
    about="how far: fixed worlds, to the proof alone, or every check in every world",
    kind=one_of(*SEARCHES),
    default=SEARCHES[0],
)
@CLUSTER
def show_matrix(  # noqa: PLR0913  # the options of the command
    *,
    file: Path | None,
    examples: int,
    seed: int,
    words: tuple[str, ...],
    jobs: int | None,
    search: Search,
    on: str | None,
) -> int:
    """Play every mutant in the fixed worlds, and show which clauses kill it.

    A mutant that no clause it names kills there is played in generated worlds, too. The
    clauses that killed it are shown; --search full shows all that can, and takes long.
    --search proof is done with a mutant at the first clause that it names; the exit
    code is the same.

    Exit codes: 0 all were killed, 1 a checked clause kills no mutant that names it, or
    a mutant is killed by none, or only by clauses that it does not name, 2 a mistake in
    what was given, 3 a check broke down, 4 no mutant was played, 5 clauses, checks and
    mutants do not name each other.
    """
    from property_tests.checks import CHECKS
    from property_tests.dialects.matrix import dialect_matrix, joined
    from property_tests.judging.inputs import make_corpus
    from property_tests.matrix import matrix, unknown_names
    from property_tests.registry import contract, unmatched
    from property_tests.spread_matrix import spread_player

    clauses, mutants = _chosen("mutant matrix", words)
    spoken = _of_dialects(words)
    if file is not None:
        with refusing("mutant matrix", OSError):
            file.touch()  # what cannot be written is told before minutes are spent
    made = make_corpus(examples if mutants else 0, seed)
    processes = jobs or min(os.cpu_count() or 1, len(mutants) or 1)
    with spread_on("mutant matrix", on) as spread:
        elsewhere = None
        if spread is not None:
            elsewhere = spread_player(spread, made.corpus, examples, search)
        found = matrix(
            clauses,
            mutants,
            made.corpus,
            jobs=processes,
            search=search,
            elsewhere=elsewhere,
        )
    for dialect, ids, mine in spoken:
        full = search == "full"
        found = joined(found, dialect_matrix(dialect, ids, mine, full=full))
    if file is not None:
        write_text(file, json.dumps(found.as_json(), indent=1) + "\n")
    stale = (*unmatched(contract(), CHECKS), *unknown_names(contract()))
    worlds = sum(len(dialect.fixed()) for dialect, *_ in spoken)
    if mutants:
        worlds += len(made.corpus.worlds)
    _print(found, made.told if mutants else (), stale, worlds)
    return _code(found, stale)


@app.command("made")
@option(
    "--function",
    "words",
    about="only functions with this in their name",
    multiple=True,
    formerly=("-k",),
)
@option(
    "--changes",
    "many",
    about="so many of the changes",
    kind=at_least(1),
    default=MANY_MADE,
    formerly=("-n",),
)
@option("--seed", about="of the choice among them", kind=WHOLE, default=0)
@jobs("processes that work; without it, one for each core", 1)
def show_made(*, words: tuple[str, ...], many: int, seed: int, jobs: int | None) -> int:
    """Make small changes of the reference engine, and show which no clause notices.

    Each is played until a clause tells it from the reference. What nothing notices
    cannot be seen from outside, happens in no world, or is a gap of the contract.

    Exit codes: 0 each was noticed, 1 some were not, 3 a check broke down, 4 no change
    was made.
    """
    from property_tests.judging.inputs import make_corpus
    from property_tests.matrix import matrix
    from property_tests.mutants.made import ENGINE, changes, numbered_mutant
    from property_tests.registry import FAMILIES

    every = [each for name in ENGINE for each in changes(name)]
    named = [e for e in every if not words or any(word in e.where for word in words)]
    chosen = Random(seed).sample(named, min(many, len(named)))  # noqa: S311  # a choice
    mutants = [numbered_mutant(each, FAMILIES) for each in chosen]
    corpus = make_corpus(EXAMPLES if mutants else 0, 0).corpus
    processes = jobs or min(os.cpu_count() or 1, len(mutants) or 1)
    found = matrix((), mutants, corpus, jobs=processes, search="proof")
    silent = [each for each in chosen if each.id in set(found.silent)]
    _print_made(silent, found, len(named), len(corpus.worlds))
    return _code(found, ())


def _print_made(
    silent: Sequence[MadeChange], found: Matrix, of: int, worlds: int
) -> None:
    from rich.console import Console
    from rich.table import Table

    from compat.report.conform_text import counted, does

    table = Table(box=None, pad_edge=False)
    for title in ("where", "function", "change that nothing notices"):
        table.add_column(title, no_wrap=title == "where")
    for each in sorted(silent, key=lambda made: (made.module, made.change.line)):
        path = f"refengine/{each.module.replace('.', '/')}.py"
        table.add_row(f"{path}:{each.change.line}", each.function, each.change.text)
    console = Console(highlight=False)
    if silent:
        console.print(table)
    for fault in found.faults:
        console.print(fault, style="bold red", markup=False)
    noticed = len(found.kills) - len(silent)
    many = counted(len(found.kills), "small change")
    console.print(
        f"{noticed} of {many} {does(noticed, 'are')} noticed by a clause,"
        f" of {of} that there are; {counted(worlds, 'world')}"
    )


def _code(found: Matrix, stale: Sequence[str]) -> int:
    return exit_code(
        NOTHING_RAN if not found.kills else OK,
        FAULT if found.faults else OK,
        DIFFERS if found.is_red else OK,
        STALE if stale else OK,
    )


def _chosen(name: str, words: Sequence[str]) -> tuple[list[str], list[Mutant]]:
    """Return the checked clauses that words choose, and the mutants that name them."""
    from property_tests.all_clauses import with_others
    from property_tests.mutants import MUTANTS
    from property_tests.registry import UnknownSelectorError, contract

    with refusing(name, UnknownSelectorError):
        chosen = with_others(contract()).select(words)
    known = {each.id for each in contract().checked}
    clauses = [each.id for each in chosen if each.id in known]
    if not words:
        return clauses, list(MUTANTS)
    named = {each.id for each in chosen}
    return clauses, [each for each in MUTANTS if not named.isdisjoint(each.violates)]


def _of_dialects(
    words: Sequence[str],
) -> list[tuple[Dialect, list[str], list[DialectMutant]]]:
    """Return of each dialect the clauses that words choose, and their mutants."""
    from property_tests.all_clauses import with_others
    from property_tests.dialects.dialects import dialects
    from property_tests.registry import contract

    chosen = {each.id for each in with_others(contract()).select(words)}
    found: list[tuple[Dialect, list[str], list[DialectMutant]]] = []
    for each in dialects():
        clauses = [x.id for x in each.contract.checked if x.id in chosen]
        mutants = [x for x in each.mutants if not chosen.isdisjoint(x.violates)]
        if clauses:
            found.append((each, clauses, mutants))
    return found


def _print(
    found: Matrix, notes: Iterable[str], stale: Sequence[str], played_in: int
) -> None:
    from rich.console import Console
    from rich.text import Text

    from compat.report.conform_text import counted, does

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
    for each in notes:
        console.print(each)
    killed = len(found.by_named)
    many = counted(len(found.kills), "mutant")
    clauses = counted(len(found.clauses), "checked clause")
    worlds = counted(played_in, "world")
    console.print(
        f"{killed} of {many} {does(killed, 'are')} killed by a clause"
        f" {'it names' if killed == 1 else 'they name'}, {clauses}, {worlds}"
    )


def _table(found: Matrix) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("mutant", "named", "killed by"):
        table.add_column(title, no_wrap=title == "mutant")
    for each in found.kills:
        killed = ", ".join(each.by) or "nothing"
        red = each.mutant not in found.by_named
        named = ", ".join(found.named[each.mutant])
        table.add_row(each.mutant, named, killed, style="red" if red else "")
    return table
