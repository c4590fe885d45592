"""Why a clause is not kept: the deciding observation and the world, in plain texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from compat.report.conform_stream import finite
from compat.report.conform_text import LONGEST, brief, counted, value_text
from compat.report.plain_text import plain
from compat.report.story import story
from compat.verdicts.conformance import ClauseFailure, FirstDivergence, SeenLine
from refengine.testing.scenario_files import ScenarioError, read_scenario
from refengine.testing.trace import difference

WORLD_LINES: Final = 30
"""So many lines of a world are told; worlds of ten thousand handlers exist."""
_NEIGHBOUR: Final = "neighbour in "


@dataclass(frozen=True, slots=True)
class FailureText:
    """A failure as a report shows it; every text is plain and of a bearable length."""

    variant: str
    how: str
    """What the variant is, in words; empty for the world as it is."""
    asked: str
    expected: str
    got: str
    differs: str
    """Where the two first differ and in what; empty if they are single values."""
    around: tuple[SeenLine, ...]
    world: tuple[str, ...]
    reproduce: str
    begins: str = ""
    """Where the engine first does otherwise than the reference engine, and in what."""

    @property
    def asked_where(self) -> str:
        """What was asked for, and in which variant if it was one."""
        where = f" (variant {self.variant})" if self.variant != "played" else ""
        return f"{self.asked}{where}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What was asked for and what came, each with its label."""
        differs = (("differs", self.differs),) if self.differs else ()
        values = ("expected", self.expected), ("got", self.got)
        return ("asked", self.asked_where), *values, *differs

    @property
    def world_title(self) -> str:
        """What stands over the world, which is told as it was played."""
        title = "the smallest world found"
        if self.variant == "played":
            return title
        how = f": {self.how}" if self.how else ""
        return f"{title}, as it was played ({self.variant}{how})"


def failure_texts(failure: ClauseFailure, longest: int = LONGEST) -> FailureText:
    """Return a failure in texts; ``longest`` is for expected and got."""
    # As a file has them, so that a report is the same from there.
    expected, got = finite(failure.expected), finite(failure.got)
    return FailureText(
        variant=plain(failure.variant),
        how=plain(failure.how),
        asked=plain(failure.asked),
        expected=value_text(expected, longest),
        got=value_text(got, longest),
        differs=_differs(expected, got),
        around=tuple(seen_lines(failure.around)),
        world=tuple(world_lines(failure.played or failure.scenario)),
        reproduce=plain(failure.reproduce),
        begins=_begins(failure.divergence, longest),
    )


def _begins(found: FirstDivergence | None, longest: int) -> str:
    if found is None:
        return ""
    ours, theirs = (value_text(finite(e), longest) for e in (found.expected, found.got))
    return f"{plain(found.sign)}: expected {ours}, got {theirs}"


def seen_lines(around: Iterable[SeenLine]) -> Iterator[SeenLine]:
    """Yield observations whose texts can be shown."""
    for each in around:
        yield SeenLine(mark=each.mark, text=brief(each.text, LONGEST + LONGEST))


def world_lines(scenario: dict[str, JsonValue]) -> Iterator[str]:
    """Yield a world as a story; one that this version cannot read, as its JSON."""
    try:
        calls = scenario.get("calls")  # those of a store are told already
        lines = (
            list(map(str, calls))
            if isinstance(calls, list)
            else list(story(read_scenario(scenario)))
        )
    except ScenarioError:
        lines = [json.dumps(scenario, ensure_ascii=False, sort_keys=True)]
    for line in lines[:WORLD_LINES]:
        yield brief(line.removeprefix(_NEIGHBOUR), LONGEST + LONGEST)
    if len(lines) > WORLD_LINES:
        yield f"… and {counted(len(lines) - WORLD_LINES, 'line')} more"


def _differs(expected: JsonValue, got: JsonValue) -> str:
    """Return path and values of the first difference inside two values."""
    found = difference(expected, got)
    if found is None or not found[0]:
        return ""
    path, *values = found
    ours, theirs = (value_text(cast("JsonValue", each)) for each in values)
    return f"at {plain(path.removeprefix('.'))}: expected {ours}, got {theirs}"
