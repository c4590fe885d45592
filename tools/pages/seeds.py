"""docs/seeds.md: what the seeds say, and where it went.

The mapping is data, ``seeds.toml``. Each statement became clauses, or tests of a
dialect hold it, or a decision overrules it, or it was not taken up; one that has none
of these does not load.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from pydantic import model_validator

from property_tests.registry import ContractError, Frozen, read_entry
from tools.pages.blocks import DOCS, code
from tools.pages.contract import place

FILE: Final = Path(__file__).with_name("seeds.toml")
PAGE: Final = DOCS / "seeds.md"

TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "000": "the review of a first design, with what it asks for",
        "001": "the design of the handler interface",
        "002": "a loop over streams with tools",
        "003": "flows of processors, as adk-go has them",
        "004": "callbacks with duties of their own",
    }
)
"""The seeds whose statements are taken up one by one."""

_OPENING: Final = """\
# Where the seeds went

The contract was not invented: it is made of design documents of others, the seeds, and of what upstream projects shipped.
They are in Chinese and kept as they were written.
Here is each statement of those that are taken up, with the clauses of [the contract](contract.md) that hold it.
Seeds 002 to 004 are dialects, other shapes that agents are written in: the facts that their tests state hold them, and clauses where there are some, of family LOOP for seed 002, FLOW for 003 and CB for 004.
Where the two disagree, or a sketch does not do what it is for, a decision says what holds; [seed-findings.md](seed-findings.md) shows such sketches by runs.

This page is written by `python -m tools.pages seeds`; a test looks every quote up in its seed.
"""  # noqa: E501  # one sentence a line


class Statement(Frozen):
    """One statement of a seed: its own words, what they say, where that went."""

    seed: str
    section: str
    quote: str
    says: str
    clauses: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Tests of a dialect whose facts hold it, as pytest names them."""
    decision: str = ""
    """What holds in its place."""
    not_taken_up: str = ""
    """Why nothing came of it."""

    @model_validator(mode="after")
    def _went_somewhere(self) -> Self:
        if not self.quote or not self.says:
            raise ValueError("a statement has a quote and says something")
        taken_up = self.clauses or self.tests or self.decision
        if bool(taken_up) == bool(self.not_taken_up):
            raise ValueError(
                "it has clauses, tests or a decision, or else was not taken up"
            )
        return self


def statements() -> tuple[Statement, ...]:
    """Return the mapping that comes with the package."""
    return read_statements(FILE.read_text("utf-8"), FILE.name)


def read_statements(text: str, where: str) -> tuple[Statement, ...]:
    """Read the text of a mapping; raises ContractError that names the entry."""
    data = tomllib.loads(text)
    found = tuple(
        read_entry(Statement, each, f"{where}, statement {number}")
        for number, each in enumerate(data["statement"], 1)
    )
    quotes = [(each.seed, each.quote) for each in found]
    for each in found:
        if quotes.count((each.seed, each.quote)) > 1:
            raise ContractError(where, f"{each.quote!r} is there twice")
    return found


def page(found: Sequence[Statement]) -> str:
    """Return the page about all statements."""
    return "\n".join([_OPENING, *_counts(found), *_seeds(found)]) + "\n"


def _counts(found: Sequence[Statement]) -> Iterator[str]:
    for seed, of_seed in groupby(found, lambda each: each.seed):
        mine = list(of_seed)
        kept = sum(bool(each.clauses or each.tests) for each in mine)
        held = _held(mine)
        decided = sum(bool(each.decision) for each in mine)
        left = sum(bool(each.not_taken_up) for each in mine)
        lines = f"{kept} are {held}, {decided} have a decision, {left} neither"
        yield f"- Seed {seed}, {TITLES[seed]}: {len(mine)} statements; {lines}."


def _held(found: Sequence[Statement]) -> str:
    """Return by what the statements of a seed are held that were taken up."""
    in_clauses = sum(bool(each.clauses) for each in found)
    if not any(each.tests for each in found):
        return "in clauses"
    if not in_clauses:
        return "held by tests"
    return f"held by tests, {in_clauses} of them in clauses as well"


def _seeds(found: Sequence[Statement]) -> Iterator[str]:
    for seed, of_seed in groupby(found, lambda each: each.seed):
        yield ""
        yield f"## [Seed {seed}](seeds/{seed}.md): {TITLES[seed]}"
        for section, mine in groupby(of_seed, lambda each: each.section):
            yield ""
            yield f"### {section} of seed {seed}"
            for each in mine:
                yield from _statement(each)


def _statement(each: Statement) -> Iterator[str]:
    yield ""
    yield f"{code(each.quote)}"
    yield ""
    yield f"- Says: {each.says}"
    if each.clauses:
        yield f"- Clauses: {', '.join(map(_link, each.clauses))}"
    if each.tests:
        yield f"- Facts: {', '.join(map(_fact, each.tests))}"
    if each.decision:
        yield f"- Decision: {each.decision}"
    if each.not_taken_up:
        yield f"- Not taken up: {each.not_taken_up}"


def _link(clause: str) -> str:
    return f"[{clause}]({place(clause)})"


def _fact(test: str) -> str:
    """Return the fact that a test states, which is its name."""
    return test.partition("::")[2].removeprefix("test_").replace("_", " ")
