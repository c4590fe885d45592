"""Playing agents of the Flow dialect: as agents of ADK are, event by event.

A subject returns a root agent, ``(root_agent, plugins)`` or a ``Runner``, built from
``as_flow(world)``. What has no runner of its own runs under the default profile.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, cast

from compat.dialects.flow.agents import LlmAgent
from compat.dialects.flow.artifacts import ArtifactPlace, InMemoryArtifactService
from compat.dialects.flow.contexts import ReadonlyContext, ToolContext
from compat.dialects.flow.events import Event
from compat.dialects.flow.plugins import Plugin, Plugins
from compat.dialects.flow.run_errors import ModelCallsExceededError
from compat.dialects.flow.runner import Runner
from compat.dialects.flow.sessions import Session, SessionService
from compat.dialects.flow.tools import Tool, Toolset
from compat.dialects.flow.tree import Agent
from compat.dialects.playing.flow_world import (
    FlowScriptedTool,
    FlowWorldModel,
    artifact,
    content_of,
    seen_event,
    user_content,
)
from refengine.messages import Json, Message
from refengine.testing.flows.events import (
    USER,
    FlowEvent,
    StoredSession,
    by_scope,
)
from refengine.testing.flows.session import FlowPlay, FlowRequest
from refengine.testing.flows.watching import (
    STAGES,
    CountedHooks,
    Hook,
    OwnExecution,
    marking,
)
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.scenario import Scenario
from refengine.testing.subjects import Played, Subject, SubjectError
from refengine.testing.tool_runs import calling, written
from refengine.testing.world import World

APP: Final = "world"
"""The name of the app where a subject gives none."""
INSTEAD: Final = (
    "return an agent, (root_agent, plugins) or a Runner of compat.dialects.flow, built"
    " from as_flow(world)"
)
MODEL_INSTEAD: Final = "give it as_flow(world).model"
OF_PLUGINS: Final = ("on_user_message", "before_run", "on_event", "after_run")


def play(scenario: Scenario, subject: Subject, world: World, got: object) -> Played:  # noqa: ARG001  # a player's signature
    """Play the agents that the subject built; raises SubjectError and EffectError."""
    session = FlowPlay(scenario, world, DialectStack(world, got))
    return session.played(got, "agents of the dialect")


def runner_of(got: object) -> Runner:
    """Return a runner of what a subject returned; raises SubjectError."""
    if isinstance(got, Runner):
        return got
    parts = cast("tuple[object, ...]", got) if isinstance(got, tuple) else (got, ())
    root, plugins = parts if len(parts) == 2 else (None, None)
    if not isinstance(root, Agent):
        raise SubjectError(parts, "that is nothing of the dialect to run", INSTEAD)
    if not is_list(plugins) or not all(isinstance(each, Plugin) for each in plugins):
        raise SubjectError(parts, "its second part is not a list of plugins", INSTEAD)
    files = InMemoryArtifactService()
    return Runner(root, plugins=plugins, artifact_service=files, app=APP)


class DialectStack:
    """Agents and services of the dialect, ready to be played.

    Raises SubjectError for an agent that asks another model than the world's.
    """

    def __init__(self, world: World, got: object) -> None:
        self._world = world
        self._runner = runner_of(got)
        self._service = StateOfMessages(self._runner.session_service)
        self._runner.session_service = cast("SessionService", self._service)
        self._watch = FlowWatch(world)
        self._watch.dress(self._runner)
        self._models = [*self._checked(got)]

    def _checked(self, got: object) -> Iterator[FlowWorldModel]:
        for each in self._watch.agents:
            model = each.model if isinstance(each, LlmAgent) else None
            if model is None:
                continue
            if not isinstance(model, FlowWorldModel) or model.world is not self._world:
                why = f"agent {each.name!r} asks {model!r}, which nobody sees"
                raise SubjectError(got, why, MODEL_INSTEAD)
            yield model

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran."""
        return self._watch.hooks

    @property
    def answered(self) -> tuple[type[BaseException], ...]:
        """What says something of what a subject did: calls without an end."""
        return (ModelCallsExceededError,)

    async def begin(self, session: str, state: Mapping[str, Json]) -> None:
        """Create a session with this state."""
        await self._service.create(self._runner.app, USER, session, state)

    async def remember(self, session: str, message: Message) -> None:
        """Put a message into a session that was said before it was played."""
        found = await self._session(session)
        if found is None:
            return
        mine = message.role == "assistant"
        author = self._runner.tree.root.name if mine else USER
        content = content_of(message)
        event = Event(author=author, invocation_id="earlier", content=content)
        await self._service.append(found, event)

    async def run(self, request: FlowRequest) -> AsyncIterator[FlowEvent]:
        """Answer a message."""
        for each in self._models:
            each.most = self._world.model.calls + request.calls
        self._service.coming = dict(request.state)
        run = self._runner.run(
            USER, request.session, user_content(request.said), stream=request.streaming
        )
        async with aclosing(run) as events:
            async for event in events:
                yield seen_event(event, self._runner.profile)

    async def stored(self, session: str) -> StoredSession:
        """Return what is kept of a session; nothing if there is none."""
        found = await self._session(session)
        if found is None:
            return StoredSession()
        events = [seen_event(each, self._runner.profile) for each in found.events]
        return StoredSession(
            events, by_scope(found.state), await self._artifacts(session)
        )

    async def close(self) -> None:
        """Let plugins end."""
        await self._runner.close()

    async def _session(self, session: str) -> Session | None:
        found: Session | None
        found = await self._service.get(self._runner.app, USER, session)
        return found

    async def _artifacts(self, session: str) -> dict[str, Json]:
        service = self._runner.artifact_service
        if service is None:
            return {}
        place = ArtifactPlace(self._runner.app, USER, session)
        found: dict[str, Json] = {}
        for name in await service.names(place):
            versions: list[Json] = []
            while (part := await service.load(place, name, len(versions))) is not None:
                versions.append(artifact(part))
            found[name] = versions
        return found


class StateOfMessages:
    """A service of sessions that keeps, with a user's message, the state it brings.

    google-adk takes such a state with the message; the dialect's runner does not.
    """

    def __init__(self, inner: SessionService) -> None:
        self._inner = inner
        self.coming: dict[str, Json] = {}
        """what the next event of the user brings"""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # all else is the service's own
        return getattr(self._inner, name)

    async def append(self, session: Session, event: Event) -> Event:
        """Keep the event, with the state that comes with a message."""
        if self.coming and event.author == USER:
            delta = {**event.actions.state_delta, **self.coming}
            self.coming = {}
            event = replace(event, actions=replace(event.actions, state_delta=delta))
        return await self._inner.append(session, event)


class FlowWatch:
    """Counts hooks of one subject, and puts down what its own tools do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._hooks = CountedHooks(_call_of)
        self.agents: list[Agent] = []

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran."""
        return dict(self._hooks.counts)

    def dress(self, runner: Runner) -> None:
        """Watch all that is attached to a runner."""
        self._agent(runner.tree.root)
        wraps = runner.profile.plugin_errors == "wrapped"
        watched = [*map(self._plugin, runner.plugins)]
        runner.plugins = Plugins(watched, wraps=wraps)

    def _plugin(self, plugin: Plugin) -> Plugin:
        given: dict[str, Any] = {
            stage: self._hooks.watched(hook, f"{plugin.name}.{stage}", stage)
            for stage in (*STAGES, *OF_PLUGINS)
            if (hook := getattr(plugin, stage)) is not None
        }
        return replace(plugin, **given)

    def _agent(self, agent: Agent) -> None:
        if any(agent is each for each in self.agents):
            return
        self.agents.append(agent)
        for stage in STAGES:
            given: Sequence[Hook] = getattr(agent, stage, ())
            watched = tuple(
                self._hooks.watched(
                    each, _name(agent.name, stage, at, len(given)), stage
                )
                for at, each in enumerate(given)
            )
            if watched:
                object.__setattr__(agent, stage, watched)  # agents know each other
        if isinstance(agent, LlmAgent):
            tools = tuple(map(self._tool, cast("Sequence[Tool]", agent.tools)))
            object.__setattr__(agent, "tools", tools)
            toolsets = tuple(
                WatchedToolset(each, self._tool) for each in agent.toolsets
            )
            object.__setattr__(agent, "toolsets", toolsets)
        for each in agent.sub_agents:
            self._agent(each)

    def _tool(self, tool: Tool) -> Tool:
        if tool.agent is not None:
            self._agent(tool.agent)
            return tool
        run = tool.run
        if run is None or isinstance(run, FlowScriptedTool):
            return tool

        @functools.wraps(run)
        async def watched(ctx: ToolContext, args: dict[str, Any]) -> object:
            own = OwnExecution(self._world, tool.name, written(_known(tool, args)))
            with calling(ctx.call_id), marking("tool"), own as done:
                found = run(ctx, args)
                return done(await found if inspect.isawaitable(found) else found)

        return replace(tool, run=watched)


class WatchedToolset:
    """Tools that are known when an agent runs, watched from then on."""

    def __init__(self, inner: Toolset, watched: Callable[[Tool], Tool]) -> None:
        self._inner = inner
        self._watched = watched

    async def tools(self, ctx: ReadonlyContext) -> Sequence[Tool]:
        """Return the tools for this run."""
        return [*map(self._watched, await self._inner.tools(ctx))]


def _known(tool: Tool, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments that a tool's function is given: no others than it has."""
    schema: Mapping[str, Json] = tool.parameters or {}
    known = schema.get("properties")
    if schema.get("additionalProperties") or not is_mapping(known):
        return args
    return {key: each for key, each in args.items() if key in known}


def _name(agent: str, stage: str, at: int, of: int) -> str:
    return f"{agent}.{stage}" if of == 1 else f"{agent}.{stage}[{at}]"


def _call_of(values: Sequence[object]) -> str | None:
    """Return the id of the call that a hook is given the context of, if it is."""
    found = (each.call_id for each in values if isinstance(each, ToolContext))
    return next(found, None)
