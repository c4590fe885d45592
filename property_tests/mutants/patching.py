"""Doors to the reference engine with one of its steps broken.

A patch puts something else in the place of a step while an agent of the mutant is built
or run, and puts the step back; so a right engine beside it stays right. Two runs at the
same time would share the patch: the harness plays one after the other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.steps import STEPS, EngineStep
from refengine.agent import ChatModelAgentConfig
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.run import RunResult
from refengine.testing.doors import EngineAgent, EngineRun, ReferenceEngine
from refengine.tools import Options

Right: TypeAlias = Callable[..., Any]
"""A step as it is in the right engine."""
Given: TypeAlias = Any
"""What the engine gives a step, of whatever type: its public attributes may be used."""
Replace: TypeAlias = Callable[[Right], Right]
"""Makes the broken step of the right one, so that it may call it."""


class Installed(Protocol):
    """What is in the place of something right, until a stack is closed."""

    def install(self, stack: ExitStack, /) -> None:
        """Put it there."""
        ...


@dataclass(frozen=True, slots=True)
class Patch:
    """One step of the engine, and what takes its place."""

    step: EngineStep
    replace: Replace

    def install(self, stack: ExitStack) -> None:
        """Replace it until the stack is closed."""
        owner, attribute = self.step.owner, self.step.attribute
        right = vars(owner)[attribute]
        setattr(owner, attribute, self.replace(right))
        stack.callback(setattr, owner, attribute, right)


def patch(step: str, replace: Replace) -> Patch:
    """Return the patch of the step of that name; KeyError if there is none."""
    return Patch(STEPS[step], replace)


class PatchedEngine:
    """The reference engine under these patches."""

    def __init__(
        self, name: str, profile: Profile, patches: Sequence[Installed]
    ) -> None:
        self.name = name
        self.profile = profile
        self._patches = tuple(patches)

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; its runs are under the patches too."""
        with ExitStack() as stack:
            _install(self._patches, stack)
            agent = await ReferenceEngine(self.profile).build(config, on_notice)
        return _Agent(agent, self._patches)


@dataclass(frozen=True, slots=True)
class PatchedDoor:
    """The door to an engine under patches, which are made for each engine anew.

    So what they remember of one engine is nothing to the next.
    """

    name: str
    patches: Callable[[], Sequence[Installed]]

    def __call__(self, profile: Profile) -> PatchedEngine:
        """Return the broken engine under a profile."""
        return PatchedEngine(self.name, profile, self.patches())


def patched(name: str, *patches: Patch) -> PatchedDoor:
    """Return the door to an engine of that name, broken in these places."""
    return PatchedDoor(name, lambda: patches)


def wrong(  # what tells a mutant
    id_: str,
    about: str,
    violates: str,
    door: Door,
    under: str = "seed-001",
    says: str = "",
) -> Mutant:
    """Return the mutant behind a door; ``violates`` are clauses, spaces between."""
    clauses = tuple(violates.split())
    return Mutant(
        id=id_, about=about, violates=clauses, wrong=door, under=under, says=says
    )


def broken(
    id_: str,
    about: str,
    violates: str,
    *patches: Patch,
    under: str = "seed-001",
    says: str = "",
) -> Mutant:
    """Return the mutant under these patches."""
    return wrong(id_, about, violates, patched(id_, *patches), under, says)


class _Agent:
    def __init__(self, agent: EngineAgent, patches: Sequence[Installed]) -> None:
        self._agent = agent
        self._patches = patches

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
        **how: Any,  # noqa: ANN401  # as the agent takes them
    ) -> EngineRun:
        return self._made("run", messages, stream, options=options, **how)

    def resume(self, *given: Any, **how: Any) -> EngineRun:  # noqa: ANN401  # as run
        return self._made("resume", *given, **how)

    def _made(self, method: str, *given: Any, **how: Any) -> EngineRun:  # noqa: ANN401  # as run
        """Make a run; the patches may replace the method, and so is looked up late."""
        with ExitStack() as stack:
            _install(self._patches, stack)
            return _Run(getattr(self._agent, method)(*given, **how), self._patches)


class _Run:
    """A run under patches, from when it is entered until it is closed."""

    def __init__(self, run: EngineRun, patches: Sequence[Installed]) -> None:
        self._run = run
        self._patches = patches
        self._stack = ExitStack()

    @property
    def outcome(self) -> RunResult | None:
        return self._run.outcome

    async def __aenter__(self) -> Self:
        _install(self._patches, self._stack)
        try:
            await self._run.__aenter__()
        except BaseException:
            self._stack.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        with self._stack:
            await self._run.__aexit__(kind, error, trace)

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self._run.__aiter__()


def _install(patches: Sequence[Installed], stack: ExitStack) -> None:
    for each in patches:
        each.install(stack)
