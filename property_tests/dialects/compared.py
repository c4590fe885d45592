"""The one judge: an engine beside the reference, by the projections of clauses.

The reference plays each world under the engine's profile, and its trace says what is
right; a clause fails in a world where its projection of the engine's trace differs. Of
several that differ, those fail whose difference stands first in the trace: what comes
behind it may be its consequence, and is another world's to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel, JsonValue

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
    in_worlds,
    lane_difference,
)
from refengine.testing.trace import Trace

Words: TypeAlias = Callable[[Any], Iterable[str]]
Lanes: TypeAlias = "Mapping[Key, Lane]"

KEPT: Final = 1000
"""So many worlds of the reference are kept: those of a matrix come again and again."""


@dataclass(frozen=True, slots=True)
class ComparedClause:
    """A clause that is decided by its projections alone."""

    about: Clause

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
        same = seen == right.entries
        expected = right.lanes(self)
        for projection, lanes in zip(self.about.compares, expected, strict=False):
            found = lanes if same else projection.lanes_of(seen)
            for key in {**lanes, **found}:
                if not projection.shared or (key in lanes and key in found):
                    yield _decision(projection, key, lanes.get(key), found.get(key))


def _decision(
    projection: Projection, key: Key, right: Lane | None, seen: Lane | None
) -> DialectDecision:
    one, other = projection.sides(right or Lane([], []), seen or Lane([], []))
    found = None if right is seen else lane_difference(one, other)
    names = zip(projection.lanes.split(), key, strict=True)
    lane = ", ".join(f"{name} {value}" for name, value in names if name != "run")
    claim = f"what the reference does{f' ({lane})' if lane else ''}"
    if found is None:
        return DialectDecision(claim, one.entries, other.entries)
    return DialectDecision(claim, one.entries, other.entries, found.place, found.at)


class Oracle:
    """Plays worlds on the reference of a dialect, each once.

    ``play`` takes a scenario and a profile; ``words`` are those that a world's errors
    are made of.
    """

    def __init__(self, play: Callable[[Any, Any], Trace], words: Words) -> None:
        self._play, self.words = play, words
        self._kept = lru_cache(KEPT)(self._right)

    def right(self, scenario: BaseModel, profile: AnyProfile) -> RightTrace:
        """Return what is right in a world under a profile."""
        return self._kept(Asked(scenario, profile, scenario.model_dump_json()))

    def _right(self, asked: Asked) -> RightTrace:
        trace = self._play(asked.scenario, asked.profile)
        entries = entries_of(trace, self.words(asked.scenario))
        return RightTrace(scenario_json(asked.scenario), entries)


@dataclass(frozen=True, slots=True)
class Asked:
    """A world under a profile; worlds that are written alike are the same."""

    scenario: Any = field(compare=False)
    profile: AnyProfile
    text: str


@dataclass(frozen=True, slots=True)
class RightTrace:
    """What the reference did in a world, and its projections as they are asked for."""

    world: Mapping[str, JsonValue]
    entries: Sequence[Entry]
    _lanes: dict[str, Sequence[Lanes]] = field(
        default_factory=dict[str, "Sequence[Lanes]"]
    )

    def lanes(self, clause: ComparedClause) -> Sequence[Lanes]:
        """Return a clause's projections, none where the world is not one of its own."""
        about = clause.about
        if about.id not in self._lanes:
            mine = about.compares if in_worlds(about.worlds, self.world) else ()
            self._lanes[about.id] = [each.lanes_of(self.entries) for each in mine]
        return self._lanes[about.id]


def entries_of(trace: Trace, words: Iterable[str]) -> Sequence[Entry]:
    """Return a trace as projections read it.

    Of which class an error is, and how an engine puts it into words, is the engine's
    own business: of its text, those of the world's ``words`` that are in it are left.
    """
    known, written = tuple(words), dict[int, Json]()
    found: list[Entry] = []
    for each in trace:
        data = cast("dict[str, Json]", each.canonical(written)["data"])
        head = {"kind": each.kind, "run": each.run}
        found.append({**_said(data, known), **head})
    return found


def _said(value: Any, words: Sequence[str]) -> Any:  # noqa: ANN401  # JSON
    if is_mapping(value):
        row = dict(value)
        if "class" in row and "text" in row:
            row = {
                key: each for key, each in row.items() if key not in ("class", "text")
            }
            row["says"] = [each for each in words if each in str(value["text"])]
        return {key: _said(each, words) for key, each in row.items()}
    if is_list(value):
        return [_said(each, words) for each in value]
    return value


def first_of(
    decisions: Mapping[str, Sequence[DialectDecision]],
) -> tuple[Mapping[str, DialectDecision], Sequence[str]]:
    """Return the clauses that fail in a world, and those that differ behind them."""
    failing = {
        clause: min(each, key=lambda one: one.at)
        for clause, all_ in decisions.items()
        if (each := [one for one in all_ if not one.holds])
    }
    first = min((each.at for each in failing.values()), default=0)
    behind = [clause for clause, each in failing.items() if each.at != first]
    return {c: each for c, each in failing.items() if each.at == first}, behind
