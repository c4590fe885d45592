"""docs/contract.md and the pages beside it: every clause, a page for each family.

    python -m tools.pages contract

writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from property_tests.registry import (
    Clause,
    Contract,
    SeedSource,
    families,
)
from refengine.testing.projection import HOW
from tools.pages.blocks import DOCS, code, row

PAGE: Final = DOCS / "contract.md"

TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ORD": "in which order extensions act",
        "INS": "how an instruction is put together",
        "TOOL": "which tools there are",
        "RD": "which tools end a run",
        "MSG": "what a history is made of",
        "WRAP": "what wrappers may do to a tool call",
        "STR": "streams against whole results",
        "ERR": "where errors go",
        "CTX": "how far a context reaches",
        "EVT": "what the consumer receives",
        "RUN": "what a run does, in order",
        "CONC": "calls and runs at the same time",
        "DEEP": "very many extensions",
        "EXT": "what an extension is",
        "COMPAT": "adapted structs against native ones",
        "SER": "state that lasts",
        "INT": "interrupt and resume",
        "SURF": "the surface that handlers are written to",
        "STO": "what a checkpoint store does",
        "FLOW": "agents of the Flow dialect, with their callbacks and plugins",
        "LOOP": "streams that are asked again, of the loop dialect",
        "CB": "callbacks and who they are delivered to",
        "OBS": "what observers tell of an agent in their spans",
    }
)
"""What each family is about."""

_OPENING: Final = """\
# The contract

What a handler may rely on, and what an engine must do: one sentence a clause.
`refengine clause explain ID` shows a clause by its shortest world and by a broken engine in it; `refengine conform` judges an engine, and with `--store` a checkpoint store, by the clauses of family STO alone, and a door to a dialect by those of its family: the Flow dialect by FLOW, the stream loop by LOOP, sessions with callbacks by CB; with `--observer` what a setup turns on is judged, by OBS.

- **checked**: a check decides it from traces, and kills at least one broken engine that violates it.
- **planned**: part of the contract, not decided yet; the reason stands below it.
- **untestable**: no trace can show it; the reason says where it is tested instead.

Only checked clauses count for or against an engine.
Where a clause depends on a posture, the profile of the engine decides what is expected.
The seeds that are quoted are in [seeds](seeds/); [seeds.md](seeds.md) says where each of their statements went.
The contract has version {version}: while it is 0.x, statements are still missing and sentences may change; 1.0 is frozen when all seeds are in.
An id is never given twice.

Each family has a page with its clauses.
These pages are written by `python -m tools.pages contract`, and a test compares them with the registry.
"""  # noqa: E501  # one sentence a line


_FAMILY: Final = """\
A family of [the contract](../contract.md), which says what the words of each clause mean.
`refengine clause explain ID` shows a clause in its shortest world."""  # noqa: E501  # one sentence a line


def place(clause: str) -> str:
    """Return where a clause stands, from ``docs``."""
    family, _, _ = clause.partition("-")
    return f"contract/{family.lower()}.md#{clause.lower()}"


def pages(found: Contract) -> Iterator[tuple[Path, str]]:
    """Yield the page about the contract, and those of its families."""
    yield PAGE, page(found)
    for family, clauses in families(found.clauses):
        yield of_family(family), family_page(family, clauses)


def of_family(family: str) -> Path:
    """Return the page of a family."""
    return DOCS / "contract" / f"{family.lower()}.md"


def family_page(family: str, clauses: Sequence[Clause]) -> str:
    """Return the page about the clauses of a family."""
    parts = [f"# {family}: {TITLES[family]}", "", _FAMILY]
    parts += [line for each in clauses for line in _clause(each)]
    return "\n".join(parts) + "\n"


def page(found: Contract) -> str:
    """Return the page about all families."""
    parts = [_OPENING.format(version=found.version), *_summary(found.clauses)]
    if found.retired:
        parts += ["", "## Retired", ""]
        parts += [f"- {each.id}: {each.why}" for each in found.retired]
    return "\n".join(parts) + "\n"


def _summary(clauses: Sequence[Clause]) -> Iterator[str]:
    yield "| family | about | clauses | checked | planned | untestable |"
    yield "|---|---|---|---|---|---|"
    for family, mine in families(clauses):
        link = f"[{family}](contract/{family.lower()}.md)"
        yield _row(link, TITLES[family], mine)
    yield _row("all", "", clauses)


def _row(name: str, about: str, clauses: Sequence[Clause]) -> str:
    counted = Counter[str](each.status for each in clauses)
    numbers = [counted[each] for each in ("checked", "planned", "untestable")]
    return row(name, about, len(clauses), *numbers)


def _clause(clause: Clause) -> Iterator[str]:
    yield ""
    yield f"## {clause.id}"
    yield ""
    yield f"**{clause.level}, {clause.status}.** {clause.sentence}"
    yield ""
    yield f"- Why: {clause.intent}"
    yield f"- Source: {_source(clause)}"
    if clause.postures:
        yield f"- Depends on: {', '.join(f'`{each}`' for each in clause.postures)}"
    for each in clause.compares:
        of = ", ".join(map(code, each.of))
        yield f"- Compares {of}: {HOW[each.how]}, by {each.lanes.replace(' ', ', ')}"
    if clause.worlds:
        yield f"- In worlds: {', '.join(map(code, clause.worlds))}"
    if clause.why:
        yield f"- Not checked: {clause.why}"


def _source(clause: Clause) -> str:
    source = clause.source
    if isinstance(source, SeedSource):
        at = f"[seed {source.seed}](../seeds/{source.seed}.md) {source.section}"
        return f"{at}: {code(source.quote)}"
    return str(source)
