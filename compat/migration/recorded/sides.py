"""Both sides of a check by recordings: OLD is looked up, and NEW is played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Protocol

from compat.migration.pairs import PlainSide, SideRunner, TracedWorld
from compat.migration.recorded.traces import is_reworded, recorded_trace, shown_trace
from compat.models.recordings import SeenSession
from compat.verdicts.migration import Exercise
from refengine.testing.channels import Seen
from refengine.testing.scenario import Scenario


class RecordedSessions:
    """Which session a world is of, also where only a beginning of it is played."""

    def __init__(self, sessions: Sequence[SeenSession]) -> None:
        self._by_world = {id(each.scenario): each for each in sessions}

    def of(self, world: Scenario) -> SeenSession:
        """Return the session whose world this is; raises KeyError."""
        return self._by_world[id(world)]

    def add(self, session: SeenSession) -> None:
        """Know one more."""
        self._by_world[id(session.scenario)] = session


@dataclass(frozen=True, slots=True)
class SeenPlayed:
    """A session as far as a recording shows it."""

    jsonl: str
    refused: str | None = None
    way: str | None = None


class RecordedSide(PlainSide):
    """OLD, which has been played once and for all."""

    def __init__(self, name: str, sessions: RecordedSessions) -> None:
        self._sessions = sessions
        self.exercise = Exercise(name, {})

    def play(self, world: Scenario) -> SeenPlayed:
        """Return what was recorded in a world."""
        return SeenPlayed(recorded_trace(self._sessions.of(world)).to_jsonl())

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[SeenPlayed]:
        """Return what was recorded in several."""
        return map(self.play, worlds)


class NewRunner(Protocol):
    """NEW as it is played; what it does may raise PlayError."""

    def play(self, world: Scenario) -> TracedWorld:
        """Play one world."""
        ...

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[TracedWorld]:
        """Play many worlds, in this order."""
        ...

    @property
    def exercise(self) -> Exercise:
        """What all worlds so far made it do."""
        ...

    def anew(self) -> NewRunner:
        """Return the same side in a process of its own."""
        ...

    def close(self) -> None:
        """End its process."""
        ...


class ShownSide(PlainSide):
    """NEW, of which only that is looked at which the recording shows of OLD."""

    def __init__(self, runner: NewRunner, sessions: RecordedSessions) -> None:
        self._runner = runner
        self._sessions = sessions
        self.reworded: set[int] = set()
        """Worlds in which it answered otherwise than its model, where no answer of OLD
        is known."""

    @property
    def exercise(self) -> Exercise:
        """What all sessions so far made it do."""
        return self._runner.exercise

    def play(self, world: Scenario) -> SeenPlayed:
        """Play one world; raises PlayError."""
        return self._shown(world, self._runner.play(world).jsonl)

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[SeenPlayed]:
        """Play many worlds; raises PlayError."""
        for world, each in zip(worlds, self._runner.play_all(worlds), strict=True):
            yield self._shown(world, each.jsonl)

    def anew(self) -> ShownSide:
        """Return the same side in a process of its own."""
        return ShownSide(self._runner.anew(), self._sessions)

    def close(self) -> None:
        """End its process."""
        self._runner.close()

    def _shown(self, world: Scenario, jsonl: str) -> SeenPlayed:
        session = self._sessions.of(world)
        seen = Seen(jsonl)
        if is_reworded(session, seen):
            self.reworded.add(id(world))
        return SeenPlayed(shown_trace(session, seen).to_jsonl())


def anew_shown(side: SideRunner) -> AbstractContextManager[SideRunner]:
    """Open a side once more; one that is looked up is the same for ever."""
    return closing(side.anew()) if isinstance(side, ShownSide) else nullcontext(side)
