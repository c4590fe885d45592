"""Doors to the reference engine with one thing in it broken.

A patch replaces an attribute of a module or class of the engine while an agent of the
mutant is built or run, and puts it back; so a right engine beside it stays right. Two
runs at the same time would share the patch: the harness plays one after the other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any, Self, TypeAlias, cast

from property_tests.mutants.mutant import Door
from refengine.agent import ChatModelAgentConfig
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.run import RunResult
from refengine.testing.doors import EngineAgent, EngineRun, ReferenceEngine
from refengine.tools import Options

Replace: TypeAlias = Callable[[Any], Any]
"""Makes the broken thing of the right one, so that it may call it."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One attribute of a module or class, and what takes its place.

    A function that other modules import by name has to be patched where it is used.
    """

    owner: ModuleType | type
    attribute: str
    replace: Replace

    def install(self, stack: ExitStack) -> None:
        """Replace it until the stack is closed."""
        right = vars(self.owner)[self.attribute]
        setattr(self.owner, self.attribute, self.replace(right))
        stack.callback(setattr, self.owner, self.attribute, right)


class PatchedEngine:
    """The reference engine under these patches."""

    def __init__(self, name: str, profile: Profile, patches: Sequence[Patch]) -> None:
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


def patched(name: str, *patches: Patch) -> Door:
    """Return the door to an engine of that name, broken in these places."""
    return lambda profile: PatchedEngine(name, profile, patches)


class _Agent:
    def __init__(self, agent: EngineAgent, patches: Sequence[Patch]) -> None:
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
        return _Run(
            lambda: self._agent.run(messages, stream, options=options, **how),
            self._patches,
        )

    def resume(self, *given: Any, **how: Any) -> EngineRun:  # noqa: ANN401  # as run
        agent = cast("Any", self._agent)
        return _Run(lambda: agent.resume(*given, **how), self._patches)


class _Run:
    """A run under patches, from before it is made until it is closed."""

    def __init__(self, make: Callable[[], EngineRun], patches: Sequence[Patch]) -> None:
        self._make = make
        self._patches = patches
        self._stack = ExitStack()
        self._run: EngineRun | None = None

    @property
    def outcome(self) -> RunResult | None:
        return None if self._run is None else self._run.outcome

    async def __aenter__(self) -> Self:
        _install(self._patches, self._stack)
        try:
            self._run = self._make()
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
            if self._run is not None:
                await self._run.__aexit__(kind, error, trace)

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        if self._run is None:
            raise RuntimeError("iterate over a run inside its 'async with'")
        return self._run.__aiter__()


def _install(patches: Sequence[Patch], stack: ExitStack) -> None:
    for patch in patches:
        patch.install(stack)
