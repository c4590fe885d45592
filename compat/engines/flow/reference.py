"""The door to the reference of the Flow dialect, under any of its profiles."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from compat.dialects.flow.agents import (
    LlmAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from compat.dialects.flow.agents_as_tools import agent_tool
from compat.dialects.flow.aggregating import aggregator
from compat.dialects.flow.artifacts import ArtifactPlace, InMemoryArtifactService
from compat.dialects.flow.content import Part
from compat.dialects.flow.contexts import (
    ActionsDraft,
    CallbackContext,
    InvocationContext,
)
from compat.dialects.flow.model import GenerateConfig, LlmRequest, LlmResponse
from compat.dialects.flow.plugins import Plugin
from compat.dialects.flow.processing import RequestProcessor
from compat.dialects.flow.processors import DEFAULT_REQUEST_PROCESSORS
from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.dialects.flow.runner import Runner
from compat.dialects.flow.sessions import InMemorySessionService
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.tree import Agent
from compat.engines.flow.doors import FLOW_CAPABILITIES, KeptSession
from compat.engines.flow.scenario import FlowAgentSpec
from compat.engines.flow.world import FlowHook, FlowWorld, FlowWorldTool, WorldModel
from refengine.messages import Json

APP: Final = "app"

Port: TypeAlias = Callable[
    [Agent, FlowProfile, Sequence[Plugin]], tuple[Agent, Sequence[Plugin]]
]
"""Puts agents and plugins into the place of others that do the same."""


class FlowDialect:
    """The reference dialect; its values are frozen, so no hook edits a response."""

    name = "flow"
    version = ""
    capabilities = frozenset(FLOW_CAPABILITIES) - {"edited_response"}

    def __init__(
        self, profile: FlowProfile | str = "flow-safe", port: Port | None = None
    ) -> None:
        """Play under a profile, what ``port`` makes of each world if it is given.

        Raises UnknownProfileError for a name that is none.
        """
        self.profile = flow_profile(profile) if isinstance(profile, str) else profile
        self._port = port

    def open(self, world: FlowWorld) -> DialectWorld:
        """Open a world over services in memory."""
        return DialectWorld(world, self.profile, self._port)


class DialectWorld:
    """A world on the reference dialect."""

    def __init__(
        self, world: FlowWorld, profile: FlowProfile, port: Port | None = None
    ) -> None:
        self._world, self._profile, self._port = world, profile, port
        self._sessions = InMemorySessionService(world.new_id)
        self._artifacts = InMemoryArtifactService()

    async def create(
        self,
        user_id: str,
        session_id: str,
        state: Mapping[str, Json],
        artifacts: Mapping[str, str],
    ) -> None:
        """Make a session with that state and one version of each file."""
        await self._sessions.create(APP, user_id, session_id, state)
        place = ArtifactPlace(APP, user_id, session_id)
        for name, text in artifacts.items():
            await self._artifacts.save(place, name, Part(text=text))

    def runner(self) -> Runner:
        """Build agents, plugins and a runner; raises what building them raises."""
        world = self._world
        keeps = world.scenario.artifact_service
        root = self._agent(world.scenario.agent)
        given = [Plugin(name=x.name, **x.hooks) for x in world.plugins()]
        agent, plugins = (
            self._port(root, self._profile, given) if self._port else (root, given)
        )
        return Runner(
            agent,
            app=APP,
            profile=self._profile,
            session_service=self._sessions,
            artifact_service=self._artifacts if keeps else None,
            plugins=plugins,
            new_id=world.new_id,
            clock=world.clock,
        )

    async def kept(self, user_id: str, session_id: str) -> KeptSession:
        """Load a session afresh."""
        found = await self._sessions.get(APP, user_id, session_id)
        if found is None:
            return KeptSession()
        files = await self._files(ArtifactPlace(APP, user_id, session_id))
        return KeptSession(tuple(found.events), found.state, files)

    async def _files(self, place: ArtifactPlace) -> dict[str, tuple[str, ...]]:
        files: dict[str, tuple[str, ...]] = {}
        for name in await self._artifacts.names(place):
            texts: list[str] = []
            while part := await self._artifacts.load(place, name, len(texts)):
                texts.append(part.text)
            files[name] = tuple(texts)
        return files

    def _agent(self, spec: FlowAgentSpec) -> Agent:
        hooks = {each: self._world.callbacks(spec, each) for each in spec.callbacks}
        shared: dict[str, Any] = {
            "name": spec.name,
            "description": spec.description,
            "sub_agents": [self._agent(each) for each in spec.sub_agents],
            **hooks,
        }
        if spec.kind == "llm":
            return self._llm_agent(spec, shared)
        if spec.kind == "loop":
            return LoopAgent(**shared, max_iterations=spec.max_iterations)
        return (SequentialAgent if spec.kind == "sequential" else ParallelAgent)(
            **shared
        )

    def _llm_agent(self, spec: FlowAgentSpec, shared: Mapping[str, Any]) -> LlmAgent:
        provided = spec.provided_instruction
        heat = spec.temperature
        return LlmAgent(
            **shared,
            model=_Model(self._world.model(spec), self._profile),
            tools=[self._tool(each) for each in self._world.tools(spec)],
            instruction=spec.instruction,
            instruction_provider=None if provided is None else lambda _: provided,
            global_instruction=spec.global_instruction,
            include_contents=spec.include_contents,
            config=None if heat is None else GenerateConfig(temperature=heat),
            disallow_transfer_to_parent=spec.disallow_transfer_to_parent,
            disallow_transfer_to_peers=spec.disallow_transfer_to_peers,
            input_schema=spec.input_schema,
            output_schema=spec.output_schema,
            output_key=spec.output_key,
            request_processors=self._processors(spec),
        )

    def _processors(self, spec: FlowAgentSpec) -> Sequence[RequestProcessor] | None:
        """Return all processors of an agent; None if it has none of its user's own."""
        if not spec.processors:
            return None
        places = [
            (len(DEFAULT_REQUEST_PROCESSORS) if each.at is None else each.at)
            for each in spec.processors
        ]
        own = [*zip(places, map(_processor, self._world.processors(spec)), strict=True)]
        listed: list[RequestProcessor] = []
        for at, each in enumerate((*DEFAULT_REQUEST_PROCESSORS, None)):
            listed += [mine for place, mine in own if place == at]
            listed += [] if each is None else [each]
        return listed

    def _tool(self, tool: FlowWorldTool) -> Tool:
        spec = tool.spec
        if spec.agent is not None:
            inner = self._agent(spec.agent)
            return agent_tool(inner, skip_summarization=spec.skip_summarization)
        return Tool(
            name=spec.name,
            description=spec.description,
            parameters=spec.parameters,
            run=tool.run,
            long_running=spec.long_running,
            needs_confirmation=spec.needs_confirmation,
        )


def _processor(hook: FlowHook) -> RequestProcessor:
    """Return a processor that does what a hook does; what that gives is an event."""

    async def processor(ctx: InvocationContext, request: LlmRequest, _: object) -> Any:  # noqa: ANN401  # an Event or None
        content = await hook(CallbackContext(ctx, ActionsDraft()), request)
        return None if content is None else [ctx.event(content=content)]

    return processor


@dataclass(frozen=True, slots=True)
class _Model:
    """A model of the world, whose chunks are aggregated as the profile says."""

    asked: WorldModel
    profile: FlowProfile

    @property
    def name(self) -> str:
        return self.asked.name

    def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        return self.asked.generate(request, stream=stream, aggregate=self._aggregated)

    async def _aggregated(
        self, chunks: AsyncIterator[LlmResponse | None]
    ) -> AsyncGenerator[LlmResponse, None]:
        gathered = aggregator(self.profile)
        async for chunk in chunks:
            for response in gathered.feed(chunk):
                yield response
        last = gathered.close()
        if last is not None:
            yield last
