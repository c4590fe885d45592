"""A program as the judge plays it: started over where it ended, requests counted.

Nothing else says what worlds a program is to be played in: its source may be in any
language. So it is asked once, and what it sends is read (``discovered``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Final

from compat.migration.check import NEVER_ASKED
from compat.migration.pairs import Pair, PlainSide, PlayError, SideRunner
from compat.migration.programs.commands import ProgramCommand
from compat.migration.programs.process import ProgramFault
from compat.migration.programs.side import ProgramPlayed, ProgramSide
from compat.migration.subject_process import Label
from compat.migration.subject_runner import SEEDS, CheckOptions
from compat.verdicts.migration import Exercise, FailedSide
from compat.wire.interfaces.request import VendorRequest
from compat.wire.server.programs import AskedModel, ProgramServer
from refengine.testing.channels import Seen
from refengine.testing.scenario import AgentSpec, RunSpec, Scenario
from refengine.testing.subject_worlds.declared import DeclaredTool

ASKED: Final = "request to the model"
"""What stands among the hooks of a program: it has no other one that is seen."""


STRICT: Final = "strict"
"""What tools say, and not a whole request."""


@dataclass(slots=True)
class SpokenInterfaces:
    """Which interfaces a side speaks, its settings, and what of theirs no other has."""

    names: dict[str, None] = field(default_factory=dict[str, None])
    settings: dict[str, None] = field(default_factory=dict[str, None])
    own: dict[str, None] = field(default_factory=dict[str, None])

    def hear(self, request: VendorRequest) -> None:
        """Take in a request."""
        self.names.setdefault(request.interface)
        for name in request.settings:
            self.settings.setdefault(name)
        for name in request.own:
            self.own.setdefault(name)
        if any(each.strict for each in request.tools):
            self.settings.setdefault(STRICT)


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


FIRST: Final = Scenario(
    agent=AgentSpec(),
    model_script=("assistant:fine",),
    runs=(RunSpec(input=("user:hello",)),),
)
"""The world of the first run: one turn, one answer."""


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """What the first request of a program says of it."""

    request: VendorRequest

    @property
    def tools(self) -> tuple[DeclaredTool, ...]:
        """Its tools, in their order."""
        return tuple(
            DeclaredTool(each.name, each.description, each.parameters)
            for each in self.request.tools
        )

    @property
    def texts(self) -> Iterable[str]:
        """What it says in words: instruction, descriptions of tools."""
        yield from (each.content for each in self.request.messages if each.content)
        yield from (each.description for each in self.request.tools if each.description)


def discovered(runner: ProgramRunner) -> FoundProgram:
    """Ask a program once; raises PlayError, also where it does not ask its model."""
    played = runner.begun(FIRST).result()
    for entry in played.log:
        if isinstance(entry, AskedModel):
            return FoundProgram(entry.request)
    text = (
        f"{runner.label} {str(runner.command)!r} never asks the model: in its first"
        " turn nothing came to the address in OPENAI_BASE_URL, ANTHROPIC_BASE_URL or"
        f" GOOGLE_GEMINI_BASE_URL{_instead(played.jsonl, runner)}"
    )
    raise PlayError(FailedSide(runner.label, NEVER_ASKED, text, usage=False))


def _instead(jsonl: str, runner: ProgramRunner) -> str:
    seen = Seen(jsonl)
    for each in seen.of("event", "effect"):
        data = each["data"]
        if data.get("kind") == "error":
            log = runner.log
            return f"; it ended with {data['class']}{f': {log}' if log else ''}"
        if each["kind"] == "effect":
            return f"; it did: {data['name']} {data['data']}"
        return f"; it answered {data['whole']['text'][:100]!r}"
    return ""


def all_tools(found: Sequence[FoundProgram]) -> tuple[DeclaredTool, ...]:
    """Return the tools of all sides, each name once."""
    by_name = {tool.name: tool for each in found[::-1] for tool in each.tools}
    return tuple(by_name.values())
