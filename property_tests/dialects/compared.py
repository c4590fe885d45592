"""The one judge: an engine beside the reference, by the projections of clauses.

The reference plays each world under the engine's profile, and its trace says what is
right; a clause fails in a world where its projection of the engine's trace differs. Of
several that differ, those fail that do so first, in what the engine does upon the same
thing that it was given: what comes behind that may be its consequence, and is another
world's to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel

from property_tests.dialects.decision import DialectDecision, lacking, scenario_json
from property_tests.registry import Clause
from refengine.messages import Json
from refengine.postures import AnyProfile
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.projection import (
    Entry,
    Key,
    Lane,
    Projection,
    TraceEntries,
    lane_difference,
)
from refengine.testing.trace import Trace, are_alike
from refengine.testing.world_condition import WorldValues

Entries: TypeAlias = Callable[[Trace, Any], TraceEntries]
Lanes: TypeAlias = "Mapping[Key, Lane]"

GIVEN: Final = frozenset(
    (
        *("run_start", "run_end", "model_chunk", "model_response", "model_error"),
        *("tool_chunk", "tool_end", "tool_error"),
    )
)
"""What a world does; all else in a trace is what an engine does upon it.

At the end of a run the world looks at what was kept.
"""
CLAIM: Final = "what the reference does"
BEHIND: Final = 1 << 30
NOTICES: Final = frozenset(
    ("warning", "ignored_change", "tools_removed", "caller_object_changed", "span")
)
"""What an engine says of itself, what the world says of the caller's objects, and what
observers say: nothing that an engine does is a consequence of that.
"""
INERT: Final = ("options",)
"""What the models and tools of a world are given and do not look at."""
LONG: Final = 100
NEAR: Final = 3
"""Of lanes with more entries so many on both sides of the first difference are told."""
KEPT: Final = 1000
"""So many worlds of a reference are kept: those of a matrix come again and again."""


@dataclass(frozen=True, slots=True)
class ComparedClause:
    """A clause that is decided by its projections alone.

    ``claim`` is what a report calls the side that is right.
    """

    about: Clause
    claim: str = CLAIM

    @property
    def clause(self) -> str:
        """Its id."""
        return self.about.id

    def missing(self, profile: AnyProfile, capabilities: Iterable[str]) -> str:
        """Return why it does not apply to a door, "" if it does."""
        return lacking(self.about.under, self.about.needs, profile, capabilities)

    def decisions(
        self, right: RightTrace, seen: Sequence[Entry]
    ) -> Iterator[DialectDecision]:
        """Yield a decision for each lane, what the reference did against what is seen.

        In a world that is none of the clause's there are none.
        """
        expected = right.lanes(self)
        for projection, lanes in zip(self.about.compares, expected, strict=False):
            same = seen is right.entries
            found = lanes if same else projection.lanes_of(seen)
            yield from lane_decisions(projection, lanes, found, self.claim)


def lane_decisions(
    projection: Projection, right: Lanes, seen: Lanes, claim: str = CLAIM
) -> Iterator[DialectDecision]:
    """Yield a decision for each lane of a projection that counts."""
    for key in {**right, **seen}:
        if not projection.shared or (key in right and key in seen):
            lanes = right.get(key), seen.get(key)
            yield _decision(projection, key, *lanes, claim)


def _decision(
    projection: Projection,
    key: Key,
    right: Lane | None,
    seen: Lane | None,
    claim: str,
) -> DialectDecision:
    names = zip(projection.lanes.split(), key, strict=True)
    lane = ", ".join(f"{name} {value}" for name, value in names if name != "run")
    claim += f" ({lane})" if lane else ""
    if right is not None and right is seen:
        return DialectDecision(claim, right.entries, right.entries)
    one, other = projection.sides(right or Lane([], []), seen or Lane([], []))
    found = lane_difference(one, other, projection.how)
    if found is None:
        return DialectDecision(claim, one.entries, one.entries)
    causes = all(
        each.kind not in NOTICES and each.show != INERT for each in projection.patterns
    )
    cut = _cut(found.number, one, other)
    claim += f", from entry {cut.start} on" if cut.start else ""
    return DialectDecision(
        claim,
        one.entries[cut],
        other.entries[cut],
        found.place,
        found.at,
        causes,
        found.lacks,
        found.more,
    )


def _cut(number: int, one: Lane, other: Lane) -> slice:
    """Return what is told of lanes that differ: of long ones what is near to where."""
    if max(len(one.entries), len(other.entries)) <= LONG:
        return slice(0, None)
    return slice(max(0, number - NEAR), number + NEAR)


class Oracle:
    """Plays worlds on the reference of a dialect, each once.

    ``play`` takes a scenario, a profile and capabilities; ``entries`` makes of a trace
    in a scenario what is compared. The last ``kept`` worlds are not played again.
    """

    def __init__(
        self, play: Callable[..., Trace], entries: Entries, kept: int = KEPT
    ) -> None:
        self._play, self.entries = play, entries
        self._kept = lru_cache(kept)(self._right)

    def right(
        self, scenario: BaseModel, profile: AnyProfile, capabilities: frozenset[str]
    ) -> RightTrace:
        """Return what is right in a world, for a door under a profile."""
        text = scenario.model_dump_json()
        return self._kept(Asked(scenario, profile, capabilities, text))

    def _right(self, asked: Asked) -> RightTrace:
        trace = self._play(asked.scenario, asked.profile, asked.capabilities)
        entries = self.entries(trace, asked.scenario)
        return RightTrace(WorldValues(scenario_json(asked.scenario)), entries)


@dataclass(frozen=True, slots=True)
class Asked:
    """A world under a profile; worlds that are written alike are the same."""

    scenario: Any = field(compare=False)
    profile: AnyProfile
    capabilities: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class RightTrace:
    """What the reference did in a world, and its projections as they are asked for."""

    world: WorldValues
    entries: TraceEntries
    _lanes: dict[str, Sequence[Lanes]] = field(
        default_factory=dict[str, "Sequence[Lanes]"]
    )

    def same(self, seen: Sequence[Entry]) -> bool:
        """Tell at once that entries are these; False says nothing."""
        return are_alike([*self.entries], [*seen])

    def given_before(self, place: int) -> int:
        """Return how often the world had given the engine something before a place.

        A place behind the end is behind all of it, each behind those before it.
        """
        if place >= len(self.entries) > 0:
            return BEHIND + place
        return given_in(self.entries[:place])

    def lanes(self, clause: ComparedClause) -> Sequence[Lanes]:
        """Return a clause's projections, none where the world is not one of its own."""
        about = clause.about
        if about.id not in self._lanes:
            mine = about.compares if all(map(self.world.meet, about.worlds)) else ()
            self._lanes[about.id] = [each.lanes_of(self.entries) for each in mine]
        return self._lanes[about.id]


def given_in(entries: Iterable[Entry]) -> int:
    """Return how often the world gave the engine something."""
    return sum(each["kind"] in GIVEN or "given" in each for each in entries)


def spelled_by(words: Callable[[Any], Iterable[str]]) -> Entries:
    """Return what makes entries of a trace, by the words of errors in a scenario."""
    return lambda trace, scenario: entries_of(trace, words(scenario))


def entries_of(trace: Trace, words: Iterable[str]) -> TraceEntries:
    """Return a trace as projections read it.

    Of which class an error is, and how an engine puts it into words, is the engine's
    own business: of its text, those of the world's ``words`` that are in it are left.
    So it is where an engine sends the text of an error that it told of to the model.
    """
    written = dict[int, Json]()
    rows = [cast("dict[str, Json]", each.canonical(written)["data"]) for each in trace]
    spelling = Spelling(tuple(words), frozenset(_error_texts(rows)))
    return TraceEntries(
        {**cast("Entry", spelling.plain(row)), "kind": each.kind, "run": each.run}
        for each, row in zip(trace, rows, strict=True)
    )


def _error_texts(value: object) -> Iterator[str]:
    """Yield the texts that an engine told of errors instead of results."""
    if is_mapping(value):
        if is_mapping(value.get("error")) and isinstance(value.get("text"), str):
            yield value["text"]
        for each in value.values():
            yield from _error_texts(each)
    elif is_list(value):
        for each in value:
            yield from _error_texts(each)


@dataclass(frozen=True, slots=True)
class Spelling:
    """What errors of a world are made of, and how one engine spelled them."""

    words: tuple[str, ...]
    texts: frozenset[str]

    def plain(self, value: Any) -> Any:  # noqa: ANN401  # a value of JSON
        """Return a value with the world's words alone in place of an engine's own."""
        if isinstance(value, str):
            return self._said(value) if value in self.texts else value
        if is_mapping(value):
            row = {key: self.plain(each) for key, each in value.items()}
            if "class" in row and "text" in row:
                del row["class"], row["text"]
                row.update(self._said(str(value["text"])))
            return row
        return [self.plain(each) for each in value] if is_list(value) else value

    def _said(self, text: str) -> dict[str, list[str]]:
        return {"says": [each for each in self.words if each in text]}


def first_of(
    decisions: Mapping[str, Sequence[DialectDecision]],
    right: RightTrace,
    seen: Sequence[Entry],
) -> tuple[Mapping[str, DialectDecision], Sequence[str]]:
    """Return the clauses that fail in a world, and those that differ behind them."""
    failing = {
        clause: min(each, key=lambda one: one.at)
        for clause, all_ in decisions.items()
        if (each := [one for one in all_ if not one.holds])
    }
    when = {clause: _when(each, right, seen) for clause, each in failing.items()}
    first = min((when[c] for c, each in failing.items() if each.causes), default=inf)
    behind = [clause for clause in failing if when[clause] > first]
    return {c: each for c, each in failing.items() if when[c] <= first}, behind


def _when(decision: DialectDecision, right: RightTrace, seen: Sequence[Entry]) -> int:
    """Return how often the world had given something where sides differ first.

    A place of what was seen is counted there: notices alone move it in the other trace.
    """
    at = decision.at
    if at == decision.more and at < len(right.entries):
        return given_in(seen[:at])
    return right.given_before(at)
