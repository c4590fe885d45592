"""Playing a world on an engine that is observed, or on one whose spans are known.

Each is an engine of this dialect: it plays a scenario of agents, and its trace ends
with what spans say, in entries of the kind ``span``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compat.engines.capabilities import CapabilityError
from compat.engines.loading import LoadedEngine
from compat.engines.needs import hidden_needs
from compat.engines.observers.known import known_rows, words_of
from compat.engines.observers.spans import SeenSpan, rows_of
from refengine.messages import Json
from refengine.profile import Profile
from refengine.testing import clock, play
from refengine.testing.projection import Entry, TraceEntries
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Observation, Trace

AFTERWARDS: Final = frozenset(("cancellation",))
"""Capabilities that are about what a run leaves, at which no observer looks."""
SPANS: Final = "spans"
"""The capability of an observer that makes spans; a runner may make none."""
CONTENTS: Final = "contents of calls"
"""The capability of an observer that records what was asked and answered."""
CALL_IDS: Final = "ids of calls"
"""That of one that records by which id a model asked for a call."""
RECORDS: Final = frozenset((SPANS, CONTENTS, CALL_IDS))


@dataclass(frozen=True, slots=True)
class SpansPlayer:
    """An engine, and what tells the spans of each world that it plays.

    ``begin`` forgets those of the world before; ``rows`` returns what the spans say
    once the world has been played.
    """

    engine: LoadedEngine
    name: str
    rows: Callable[[Trace], Iterable[Mapping[str, Json]]]
    begin: Callable[[], object] = lambda: None
    records: frozenset[str] = RECORDS
    _loops: clock.Loops = field(default_factory=clock.Loops)

    @property
    def version(self) -> str:
        """The engine's."""
        return self.engine.version

    @property
    def profile(self) -> Profile:
        """The engine's."""
        return self.engine.profile

    @property
    def capabilities(self) -> frozenset[str]:
        """The engine's, and what is recorded of calls."""
        return self.engine.capabilities | self.records

    def refuse(self, scenario: Scenario) -> None:
        """Raise CapabilityError for what only playing would show to be lacking."""
        for capability, where in hidden_needs(scenario):
            if capability not in self.engine.capabilities | AFTERWARDS:
                raise CapabilityError(self.name, capability, where)

    def play(self, scenario: Scenario) -> Trace:
        """Play a scenario."""
        self.begin()
        leaves = getattr(scenario, "leaves", None)
        trace = self._loops.run(play(scenario, self.engine.engine, leaves=leaves))
        return with_rows(trace, self.rows(trace))


def with_rows(trace: Trace, rows: Iterable[Mapping[str, Json]]) -> Trace:
    """Return a trace that ends with what spans say; which run's they are none tells."""
    spans = (Observation("span", 0, at, row) for at, row in enumerate(rows, len(trace)))
    return Trace([*trace, *spans])


def plainly(engine: LoadedEngine) -> SpansPlayer:
    """Return an engine whose spans are known, since nobody but its world sees it."""
    return SpansPlayer(engine, engine.name, known_rows)


def observed_by(
    take: Callable[[], Sequence[SeenSpan]],
    engine: LoadedEngine,
    name: str,
    begin: Callable[[], object],
) -> SpansPlayer:
    """Return an engine whose spans an observer makes, and that ``take`` returns."""
    return SpansPlayer(
        engine, name, lambda trace: rows_of(take(), words_of(trace)), begin
    )


def observed_entries(trace: Trace, scenario: Any) -> TraceEntries:  # noqa: ANN401  # of no use: the trace has all
    """Return a trace as projections read it: what spans say, and all else as it is."""
    del scenario
    found: list[Entry] = []
    for each in trace:
        data: Any = each.canonical()["data"]
        plain = {"kind": each.kind, "run": each.run}
        said = data if each.kind == "span" else {"data": data}
        found.append({**said, **plain})
    return TraceEntries(found)
