"""What pytest's summary says of engines: kept or not, of each kind how many, what next.

All of it is read from the reports of tests, since with pytest-xdist another process has
judged: each test leaves engine, clause and verdict in its properties, where JUnit files
have them, too.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import pytest

from compat.report.conform_gathered import counts_as
from compat.report.conform_text import counted, does
from compat.report.plain_text import plain
from compat.verdicts.conformance import ClauseResult
from property_tests.defaults import EXAMPLES, SEED
from property_tests.judging.inputs import ConformRequest

OURS: Final = "property_tests/test_contract.py::"
TITLE: Final = "refengine: engines and the contract"
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pass": "kept",
        "fail": "failed",
        "blocked": "blocked",
        "error": "could not be judged",
        "stale": "listed as known, though kept",
        "known": "known to fail",
        "not-applicable": "not applicable",
    }
)
"""What a clause counts as, in the order in which it is told."""
GOOD: Final = frozenset(("pass", "known", "not-applicable"))
SHOWN: Final = 6
"""So many ids stand in a line."""


def tell(
    record: Callable[[str, object], None],
    engine: str,
    clause: str,
    result: ClauseResult | None,
) -> None:
    """Leave with a test what is told of its clause; None if it could not be judged."""
    verdict = "error" if result is None else result.known or counts_as(result)
    for name, value in (("engine", engine), ("clause", clause), ("verdict", verdict)):
        record(name, value)


@dataclass(frozen=True, slots=True)
class ToldTest:
    """What the report of one test says: of a clause, or "" of an engine's door.

    The test of a door leaves the engine alone: its outcome says the rest.
    """

    engine: str
    clause: str
    verdict: str


def told_by(reports: Iterable[pytest.TestReport]) -> list[ToldTest]:
    """Return what tests of ours among these say."""
    found: list[ToldTest] = []
    for each in reports:
        said = {str(name): str(value) for name, value in each.user_properties}
        if each.when == "call" and each.nodeid.startswith(OURS) and "engine" in said:
            verdict = said.get("verdict", "error" if each.failed else "pass")
            found.append(ToldTest(said["engine"], said.get("clause", ""), verdict))
    return found


def summary_lines(
    told: Sequence[ToldTest], request: ConformRequest, words: Sequence[str] = ()
) -> Iterator[tuple[str, bool]]:
    """Yield what is said of all engines; True with a line that says what is wrong.

    ``words`` are those by which clauses were chosen.
    """
    bad: list[str] = []
    for engine in request.engines:
        mine = [each for each in told if each.engine == engine]
        if mine:
            yield from _of_engine(plain(engine), mine)
            bad += (each.clause for each in mine if each.verdict not in GOOD)
    named = next(filter(None, bad), "")
    yield "", False
    yield f"each clause by engine: {line_of(request, words)} --html page.html", False
    if named:
        yield f"what a clause says: refengine clause explain {named}", False


def _of_engine(engine: str, told: Sequence[ToldTest]) -> Iterator[tuple[str, bool]]:
    clauses = [each for each in told if each.clause]
    door = any(each.verdict not in GOOD for each in told if not each.clause)
    lost = sum(each.verdict not in GOOD for each in clauses)
    many = counted(len(clauses), "clause")
    if door:
        yield f"CANNOT BE RELIED ON  {engine}: test_door tells why", True
    elif lost:
        yield f"NOT KEPT  {engine}: {lost} of {many} {does(lost, 'are')} not kept", True
    else:
        yield f"KEPT  {engine}: {many} asked", False
    for verdict, word in WORDS.items():
        ids = [each.clause for each in clauses if each.verdict == verdict]
        if ids:
            which = "" if verdict == "pass" else f": {some(ids)}"
            yield f"  {len(ids):>4} {word}{which}", verdict not in GOOD


def some(ids: Sequence[str]) -> str:
    """Return the first of some ids."""
    more = f", and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return f"{', '.join(ids[:SHOWN])}{more}"


def line_of(request: ConformRequest, words: Sequence[str]) -> str:
    """Return the command that judges the same in the same worlds."""
    given: tuple[tuple[str, Sequence[object]], ...] = (
        ("--clause", words),
        ("--engine-profile", [request.profile] if request.profile else ()),
        ("--known", [request.known] if request.known else ()),
        ("--worlds", request.worlds),
        ("--examples", [request.examples] if request.examples != EXAMPLES else ()),
        ("--seed", [request.seed] if request.seed != SEED else ()),
    )
    said = (word for name, of in given for each in of for word in (name, str(each)))
    return plain(shlex.join(["refengine", "conform", *request.engines, *said]))
