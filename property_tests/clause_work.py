"""What ``refengine clause`` does: list the clauses of the contract, and show one."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compat.commands import NOTHING_RAN, told
from compat.report.story import story
from property_tests.clause_command import Which
from property_tests.explaining import ExplainedClause, examples, shown, violating
from property_tests.registry import Clause, UnknownSelectorError, contract
from refengine.profile import PROFILES
from refengine.testing.trace import to_json

LEAST: Final = 40
"""So many columns a sentence has at least, however narrow the terminal is."""
DEFAULT: Final = "seed-001"


def list_clauses(status: Which | None, words: Sequence[str], *, as_json: bool) -> None:
    """Print the clauses of a status that words choose; raises typer.Exit for none."""
    with told("clause list", UnknownSelectorError):
        chosen = contract().select(words)
    found = [each for each in chosen if status in {None, each.status}]
    if not found:
        sys.stderr.write(f"refengine clause list: no clause is {status}\n")
        raise typer.Exit(NOTHING_RAN)
    if as_json:
        clauses = [each.model_dump(mode="json") for each in found]
        data = {"version": contract().version, "clauses": clauses}
        sys.stdout.write(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    console.print(_table(found))
    counted = Counter[str](each.status for each in found)
    parts = ", ".join(f"{counted[each]} {each}" for each in Which if counted[each])
    console.print(f"contract {contract().version}, {len(found)} clauses: {parts}")


def explain(id_: str) -> None:
    """Print what a clause means, by a run that shows it."""
    with told("clause explain", UnknownSelectorError):
        clause = contract().clause(id_)
    console = Console(highlight=False, soft_wrap=True)
    for line in explained(clause):
        console.print(line)


def explained(clause: Clause) -> Iterator[Text]:
    """Yield the lines about a clause; its mutants are played for it."""
    yield Text(f"{clause.id}  {clause.level}, {clause.status}", "bold")
    yield Text(clause.sentence)
    yield Text()
    yield Text(f"Why: {clause.intent}")
    yield Text(f"Source: {clause.source}")
    if clause.why:
        yield Text(f"Not checked ({clause.status}): {clause.why}")
    yield from _postures(clause)
    if clause.status == "checked":
        yield from _in_worlds(clause)


def _table(clauses: list[Clause]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("id", "level", "status"):
        table.add_column(title, no_wrap=True)
    table.add_column("sentence", min_width=LEAST)
    for each in clauses:
        table.add_row(each.id, each.level, each.status, Text(each.sentence))
    return table


def _postures(clause: Clause) -> Iterator[Text]:
    """Yield each posture that decides what is expected, with the profiles' options."""
    for posture in clause.postures:
        chosen: dict[str, list[str]] = {}
        for each in PROFILES:
            chosen.setdefault(getattr(each, posture), []).append(each.name)
        options = "; ".join(f"{key} ({', '.join(of)})" for key, of in chosen.items())
        yield Text(f"Depends on {posture}: {options}")


def _in_worlds(clause: Clause) -> Iterator[Text]:
    worlds = examples(clause.id)
    found = shown(clause.id, worlds)
    yield Text()
    for world in worlds[:1] if found is None else [found.world]:
        yield Text("A world that decides it:")
        yield from (_indented(line) for line in story(world.scenario))
    yield Text()
    yield Text("Mutants that violate it:")
    for mutant in violating(clause.id):
        under = "" if mutant.under == DEFAULT else f" (under {mutant.under})"
        yield _indented(f"{mutant.id}{under}: {mutant.about}")
    if found is not None:
        yield Text()
        yield from _decision(found)


def _decision(found: ExplainedClause) -> Iterator[Text]:
    decision = found.decision
    how = "" if decision.variant == "played" else f", {decision.variant}"
    yield Text(f"What {found.mutant.id} does in that world{how}:")
    yield _indented(f"asked for: {decision.asked}")
    yield _indented(f"expected:  {_value(decision.expected)}")
    yield _indented(f"got:       {_value(decision.got)}")
    for each in found.around:
        style = "bold" if each.mark == ">" else "dim"
        yield Text(f"  {each.mark} {each.text}", style)


def _value(value: object) -> str:
    return json.dumps(to_json(value), ensure_ascii=False)


def _indented(text: str) -> Text:
    return Text(f"  {text}")
