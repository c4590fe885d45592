"""A program as the judge plays it: started over where it ended, requests counted."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Final

from compat.migration.pairs import Pair, PlainSide, PlayError, SideRunner
from compat.migration.programs.commands import ProgramCommand
from compat.migration.programs.interfaces import SpokenInterfaces
from compat.migration.programs.process import ProgramFault
from compat.migration.programs.side import ProgramPlayed, ProgramSide
from compat.migration.subject_process import Label
from compat.migration.subject_runner import SEEDS, CheckOptions
from compat.verdicts.migration import Exercise, FailedSide
from compat.wire.server.programs import AskedModel, ProgramServer
from refengine.testing.scenario import Scenario

ASKED: Final = "request to the model"
"""What stands among the hooks of a program: it has no other one that is seen."""


class ProgramRunner(PlainSide):
    """One side of a check of programs."""

    def __init__(
        self,
        command: ProgramCommand,
        label: Label,
        server: ProgramServer,
        check: CheckOptions,
        hash_seed: int | None = None,
    ) -> None:
        """Make its folder; the program is started when it is played first."""
        self.command = command
        self.label: Label = label
        self._server = server
        self._check = check
        self._seed = hash_seed or SEEDS[label]
        self._asked = 0
        self.spoken = SpokenInterfaces()
        self._played = 0
        self._side: ProgramSide | None = None
        self.queue = ThreadPoolExecutor(1, thread_name_prefix=f"program {label}")

    def anew(self) -> ProgramRunner:
        """Return the same side in a folder and process of its own, otherwise seeded."""
        seed = sum(SEEDS.values()) - self._seed
        return ProgramRunner(self.command, self.label, self._server, self._check, seed)

    def close(self) -> None:
        """End the program, and remove what was made for it."""
        self.queue.shutdown(wait=True, cancel_futures=True)
        if self._side is not None:
            self._side.close()
            self._side = None

    @property
    def exercise(self) -> Exercise:
        """How often it asked the model."""
        return Exercise(str(self.command), {ASKED: self._asked})

    @property
    def log(self) -> str:
        """The last line that it logged before it ended last."""
        return "" if self._side is None else self._side.log

    def play(self, world: Scenario) -> ProgramPlayed:
        """Play one world; raises PlayError."""
        self._played += 1
        try:
            found = self._running().play(world)
        except ProgramFault as fault:
            text = f"{self.label} {str(self.command)!r} {fault} (world {self._played})"
            failed = FailedSide(self.label, fault.kind, text, usage=False)
            raise PlayError(failed) from fault
        self._asked += found.requests
        for entry in found.log:
            if isinstance(entry, AskedModel):
                self.spoken.hear(entry.request)
        return found

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[ProgramPlayed]:
        """Play many worlds; raises PlayError."""
        return map(self.play, worlds)

    def begun(self, world: Scenario) -> Future[ProgramPlayed]:
        """Have a world played when those before it are."""
        return self.queue.submit(self.play, world)

    def _running(self) -> ProgramSide:
        if self._side is None:
            self._side = ProgramSide(
                self.command,
                self._server,
                self._check.reach,
                hash_seed=self._seed,
                timeout=self._check.timeout,
            )
        return self._side


def anew(player: SideRunner) -> AbstractContextManager[SideRunner]:
    """Open a side once more, in a folder that goes with the block."""
    return closing(_runner(player).anew())


def beside(
    old: SideRunner, new: SideRunner, worlds: Sequence[Scenario]
) -> Iterator[Pair]:
    """Play the same worlds on two sides at the same time; raises PlayError."""
    with _cancelled(
        [[_runner(side).begun(world) for side in (old, new)] for world in worlds]
    ) as pairs:
        for ours, theirs in pairs:
            yield ours.result(), theirs.result()


@contextmanager
def _cancelled(
    pairs: list[list[Future[ProgramPlayed]]],
) -> Generator[list[list[Future[ProgramPlayed]]], None, None]:
    """Begin nothing more once the block is left, whatever the reason."""
    try:
        yield pairs
    finally:
        for each in (future for pair in pairs for future in pair):
            each.cancel()


def _runner(player: SideRunner) -> ProgramRunner:
    if not isinstance(player, ProgramRunner):
        raise TypeError(player)
    return player
