"""``refengine clause list|explain``: the clauses of the contract, and one in a run."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, group, option, refusing
from compat.cli.shared_options import AS_JSON, clauses
from compat.cli.values import CLAUSE, one_of
from compat.verdicts.exit_codes import NOTHING_RAN, OK
from refengine.profile import PROFILES

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from property_tests.explaining import ExplainedClause
    from property_tests.registry import Clause
    from refengine.postures import AnyProfile

STATUSES: Final = ("checked", "planned", "untestable")
LEAST: Final = 40
"""So many columns a sentence has at least, however narrow the terminal is."""
WIDE: Final = 200
DEFAULT: Final = "seed-001"

app = group("List the clauses of the contract, and explain one by a run.")


@app.command("list")
@option("--status", about="only clauses of this status", kind=one_of(*STATUSES))
@clauses("only these: an id (ORD-001), a family (ORD) or part of an id")
@AS_JSON
def list_(status: str | None, words: tuple[str, ...], *, as_json: bool) -> int:
    """List the clauses with level, status and sentence.

    Exit codes: 0 listed, 2 a mistake in what was given, 4 none has the status.
    """
    from rich.console import Console

    from compat.report.conform_text import counted
    from property_tests.all_clauses import with_others
    from property_tests.registry import UnknownSelectorError, contract

    with refusing("clause list", UnknownSelectorError):
        chosen = with_others(contract()).select(words)
    found = [each for each in chosen if status in {None, each.status}]
    if not found:
        sys.stderr.write(f"refengine clause list: no clause is {status}\n")
        return NOTHING_RAN
    if as_json:
        clauses = [each.model_dump(mode="json") for each in found]
        data = {"version": contract().version, "clauses": clauses}
        sys.stdout.write(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        return OK
    console = Console(highlight=False)
    table = _table(found)
    # A narrower one would lose the end of each line: the terminal breaks lines instead.
    least = console.measure(table, options=console.options.update(width=WIDE)).minimum
    console.width = max(console.width, least)
    console.print(table)
    statuses = Counter[str](each.status for each in found)
    parts = ", ".join(f"{statuses[each]} {each}" for each in STATUSES if statuses[each])
    many = counted(len(found), "clause")
    console.print(f"contract {contract().version}, {many}: {parts}")
    return OK


def _table(clauses: list[Clause]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in ("id", "level", "status"):
        table.add_column(title, no_wrap=True)
    table.add_column("sentence", min_width=LEAST)
    for each in clauses:
        table.add_row(each.id, each.level, each.status, Text(each.sentence))
    return table


@app.command()
@argument("id_", kind=CLAUSE, metavar="ID")
def explain(id_: str) -> int:
    """Show what a clause means: its source, a world, and what a mutant does in it."""
    from rich.console import Console

    from property_tests.all_clauses import with_others
    from property_tests.registry import UnknownSelectorError, contract

    with refusing("clause explain", UnknownSelectorError):
        clause = with_others(contract()).clause(id_)
    console = Console(highlight=False, soft_wrap=True)
    for line in explained(clause):
        console.print(line)
    return OK


def explained(clause: Clause) -> Iterator[Text]:
    """Yield the lines about a clause; its mutants are played for it."""
    from rich.text import Text

    from property_tests.dialects.dialects import dialect_of_family

    yield Text(f"{clause.id}  {clause.level}, {clause.status}", "bold")
    yield Text(clause.sentence)
    yield Text()
    yield Text(f"Why: {clause.intent}")
    yield Text(f"Source: {clause.source}")
    if clause.why:
        yield Text(f"Not checked ({clause.status}): {clause.why}")
    yield from map(Text, _postures(clause))
    if clause.family == "STO":
        yield from map(Text, _in_calls(clause))
    elif dialect_of_family(clause.family):
        yield from map(Text, _in_scenarios(clause))
    elif clause.status == "checked":
        yield from _in_worlds(clause)


def _postures(clause: Clause) -> Iterator[str]:
    """Yield each posture that decides what is expected, with the profiles' options."""
    for posture in clause.postures:
        chosen: dict[str, list[str]] = {}
        for each in _profiles(clause.family):
            chosen.setdefault(getattr(each, posture), []).append(each.name)
        options = "; ".join(f"{key} ({', '.join(of)})" for key, of in chosen.items())
        yield f"Depends on {posture}: {options}"


def _profiles(family: str) -> Sequence[AnyProfile]:
    """Return the profiles under which a family is judged."""
    from compat.profiles.kinds import KINDS
    from property_tests.dialects.dialects import dialect_of_family

    key = dialect_of_family(family)
    return next((each.profiles for each in KINDS if each.key == key), PROFILES)


def _in_scenarios(clause: Clause) -> Iterator[str]:
    """Yield a world of a dialect's clause, and what a mutant does in it."""
    from property_tests.dialects.dialects import dialect_named, dialect_of_family
    from property_tests.dialects.explaining import explained_dialect

    dialect = dialect_named(dialect_of_family(clause.family))
    if clause.status != "checked":
        return
    found = explained_dialect(dialect, clause.id)
    yield from ("", "A world that decides it:")
    text = json.dumps(found.failure.scenario, ensure_ascii=False, indent=1)
    yield from (f"  {line}" for line in text.splitlines())
    yield from ("", "Mutants that violate it:")
    for each in found.mutants:
        yield f"  {each.id} (under {each.under}): {each.about}"
    yield from ("", f"What {found.mutant.id} does in that world:")
    yield f"  asked for: {found.failure.asked}"
    yield f"  expected:  {_value(found.failure.expected)}"
    yield f"  got:       {_value(found.failure.got)}"
    yield from (f"  {each.mark} {each.text}" for each in found.failure.around)


def _in_worlds(clause: Clause) -> Iterator[Text]:
    from rich.text import Text

    from compat.report.story import story
    from property_tests.explaining import examples, shown, violating

    worlds = examples(clause.id)
    found = shown(clause.id, worlds)
    yield Text()
    for world in worlds[:1] if found is None else [found.world]:
        yield Text("A world that decides it:")
        yield from (Text(f"  {line}") for line in story(world.scenario))
    yield Text()
    yield Text("Mutants that violate it:")
    for mutant in violating(clause.id):
        under = "" if mutant.under == DEFAULT else f" (under {mutant.under})"
        yield Text(f"  {mutant.id}{under}: {mutant.about}")
    if found is not None:
        yield Text()
        yield from _decision(found)


def _in_calls(clause: Clause) -> Iterator[str]:
    """Yield a world of a store's clause, and what a broken store does in it."""
    from property_tests.stores.explaining import breaking, check_of, explained_store

    if needs := check_of(clause.id).needs:
        yield f"Only for a store that declares {', '.join(sorted(needs))}"
    found = explained_store(clause.id)
    if found is not None:
        yield from ("", "A world that decides it:", *(f"  {e}" for e in found.world))
    yield from ("", "Broken stores that violate it:")
    yield from (f"  {each.id}: {each.about}" for each in breaking(clause.id))
    if found is not None:
        yield from ("", f"What {found.store.id} does in that world:")
        yield from (f"  {each}" for each in found.lines)
        yield f"  asked for: {found.fault.asked}"
        yield f"  expected:  {_value(found.fault.expected)}"
        yield f"  got:       {_value(found.fault.got)}"


def _decision(found: ExplainedClause) -> Iterator[Text]:
    from rich.text import Text

    decision = found.decision
    how = "" if decision.variant == "played" else f", {decision.variant}"
    yield Text(f"What {found.mutant.id} does in that world{how}:")
    yield Text(f"  asked for: {decision.claim}")
    yield Text(f"  expected:  {_value(decision.expected)}")
    yield Text(f"  got:       {_value(decision.got)}")
    for each in found.around:
        style = "bold" if each.mark == ">" else "dim"
        yield Text(f"  {each.mark} {each.text}", style)


def _value(value: object) -> str:
    from refengine.testing.trace import to_json

    return json.dumps(to_json(value), ensure_ascii=False)
