"""Playing what a subject built with ADK: the installed package, as a caller uses it."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cache
from typing import Any, Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.genai import types

from refengine.messages import Json, Message
from refengine.testing.adk.bridge import AdkBridge, WorldLlm
from refengine.testing.adk.contents import (
    calls_in,
    content_of,
    files_of,
    others_in,
    part_values,
    responses_in,
    text_in,
    user_content,
)
from refengine.testing.adk.kept import (
    files_of_service,
    held_by,
    let_go,
    put_back,
)
from refengine.testing.adk.lists import pair_of
from refengine.testing.adk.watching import AdkWatch
from refengine.testing.flows.events import (
    USER,
    FlowEvent,
    StoredSession,
    by_scope,
    known,
    question_of,
)
from refengine.testing.flows.halves import HalfPlay
from refengine.testing.flows.session import FlowPlay, FlowRequest
from refengine.testing.json_values import is_list
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import Scenario
from refengine.testing.subjects import Played, SubjectError, UnbuiltError
from refengine.testing.world import World

CONFIRMATION: Final = "adk_request_confirmation"
TOLD: Final = ("error_code", "error_message", "interrupted", "custom_metadata")
"""What else an event may carry that says something."""
TEXTUAL: Final = ("text/", "application/json")
APP: Final = "world"
"""The name of the app where a subject gives none."""
INSTEAD: Final = (
    "return an agent, (root_agent, plugins), an App or a Runner of google.adk, built"
    " from world.as_adk()"
)
MODEL_INSTEAD: Final = "give it world.as_adk().model"


def play_adk(scenario: Scenario, world: World, got: object) -> Played:
    """Play the agents that the subject built.

    Raises SubjectError, UnbuiltError where ADK refuses to run them, and EffectError.
    """
    try:
        stack = AdkStack(world, got)
    except SubjectError:
        raise
    except Exception as error:
        raise UnbuiltError(error) from error
    half = world.half
    play = (
        FlowPlay(scenario, world, stack)
        if half is None
        else HalfPlay(scenario, world, stack, half)
    )
    return replace(play.played(got, "agents of ADK"), keeps=stack.keeps)


class AdkStack:
    """Agents and services of the installed google-adk, ready to be played.

    Raises SubjectError for what cannot be.
    """

    def __init__(self, world: World, got: object) -> None:
        bridge = world.as_adk()
        assert isinstance(bridge, AdkBridge)  # noqa: S101  # the only one there is
        self._runner: Runner = runner_of(got, bridge)
        self._watch = AdkWatch(world)
        root: Any = self._runner.agent
        self._watch.dress(root, self._runner.plugin_manager.plugins)
        check_models(got, self._watch.agents, world)
        self._root = str(root.name)
        self._sessions: list[str] = []
        world.recorder.kept_in = files_of_service(self._runner.session_service)

    @property
    def keeps(self) -> str:
        """What keeps its sessions."""
        return type(self._runner.session_service).__name__

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran."""
        return self._watch.hooks

    @property
    def answered(self) -> tuple[type[BaseException], ...]:
        """What says something of what a subject did: calls without an end."""
        return (LlmCallsLimitExceededError,)

    async def begin(self, session: str, state: Mapping[str, Json]) -> None:
        """Create a session with this state."""
        service, place = self._runner.session_service, self._place(session)
        self._sessions.append(session)
        await service.create_session(**place, state=dict(state))

    async def remember(self, session: str, message: Message) -> None:
        """Put a message into a session that was said before it was played."""
        found = await self._session(session)
        mine = message.role == "assistant"
        event = Event(
            author=self._root if mine else USER,
            invocation_id="earlier",
            content=content_of(message),
        )
        await self._runner.session_service.append_event(found, event)

    async def run(self, request: FlowRequest) -> AsyncIterator[FlowEvent]:
        """Answer a message."""
        mode: Any = "sse" if request.streaming else None
        config = RunConfig(
            streaming_mode=mode, max_llm_calls=request.calls, **_untold()
        )
        run = self._runner.run_async(
            user_id=USER,
            session_id=request.session,
            new_message=user_content(request.said),
            state_delta=dict(request.state) or None,
            run_config=config,
        )
        async with aclosing(run) as events:
            async for event in events:
                yield seen(event)

    async def stored(self, session: str) -> StoredSession:
        """Return what is kept of a session; nothing if there is none."""
        found = await self._session(session)
        if found is None:
            return StoredSession()
        events = [seen(each) for each in found.events]
        state: Mapping[str, object] = found.state
        return StoredSession(events, by_scope(state), await self._artifacts(session))

    async def leave(self) -> Sequence[Json]:
        """Return what is kept of the sessions that were begun here."""
        places = [self._place(each) for each in self._sessions]
        return await held_by(self._runner.session_service, places)

    async def bring(self, held: Sequence[Json]) -> None:
        """Keep that, unless it is there already; raises what the service refuses."""
        await put_back(self._runner.session_service, held)

    async def state(self, session: str) -> Mapping[str, object]:
        """Return the state of a session as it is kept."""
        found = await self._session(session)
        return {} if found is None else dict(found.state)

    async def close(self) -> None:
        """Let plugins and toolsets end, and let go of what sessions are kept in."""
        await self._runner.close()
        await let_go(self._runner.session_service)

    async def _session(self, session: str) -> Any:  # noqa: ANN401  # of the framework
        return await self._runner.session_service.get_session(**self._place(session))

    def _place(self, session: str) -> dict[str, Any]:
        app = self._runner.app_name
        return {"app_name": app, "user_id": USER, "session_id": session}

    async def _artifacts(self, session: str) -> dict[str, Json]:
        service = self._runner.artifact_service
        if service is None:
            return {}
        files = await files_of(service, self._place(session))
        return {name: [*map(_artifact, parts)] for name, parts in files.items()}


def _artifact(part: types.Part | None) -> Json:
    """Return one version of an artifact: a text as such, bytes with their type."""
    if part is None:
        return None
    blob = part.inline_data
    kind = "" if blob is None else blob.mime_type or ""
    if blob is not None and blob.data is not None and kind.startswith(TEXTUAL):
        return {"mime_type": kind, "text": blob.data.decode("utf-8", "replace")}
    return dict(part_values(part))


def seen(event: Event) -> FlowEvent:
    """Return an event of ADK as observations have it."""
    parts = (event.content.parts if event.content else None) or []
    calls = calls_in(parts)
    more: dict[str, Json] = {
        name: snapshot(getattr(event, name, None))
        for name in TOLD
        if getattr(event, name, None)
    }
    if event.error_code and not event.error_code.isupper():
        more.pop("error_message", None)  # a class of exceptions; texts are not compared
    if event.long_running_tool_ids:
        more["long_running"] = [*map(known, sorted(event.long_running_tool_ids))]
    others = others_in(parts)
    if others:
        more["parts"] = others
    return FlowEvent(
        author=event.author,
        text=text_in(parts),
        calls=calls,
        responses=responses_in(parts),
        questions=tuple(question_of(e) for e in calls if e.name == CONFIRMATION),
        partial=bool(event.partial),
        final=event.is_final_response(),
        actions=_actions(event),
        more=more,
    )


def _actions(event: Event) -> dict[str, Json]:
    """Return what an event does besides saying something, without what is not set."""
    values = event.actions.model_dump(mode="json", exclude_none=True)
    return {key: snapshot(each) for key, each in values.items() if each not in ({}, [])}


def runner_of(got: object, bridge: AdkBridge) -> Runner:
    """Return a runner of what a subject returned; raises SubjectError."""
    if isinstance(got, Runner):
        return _checked(got, got)
    kept, files = bridge.session_service, bridge.artifact_service
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it takes plugins, if as of old
        if isinstance(got, App):
            runner = Runner(app=got, session_service=kept, artifact_service=files)
            return _checked(got, runner)
        root, plugins = _parts(got)
        runner = Runner(
            app_name=APP,
            agent=root,
            plugins=plugins,
            session_service=kept,
            artifact_service=files,
        )
    return _checked(got, runner)


def _parts(got: object) -> tuple[BaseAgent, list[BasePlugin]]:
    if isinstance(got, BaseAgent):
        return got, []
    parts = pair_of(got)
    if len(parts) != 2:
        raise SubjectError(got, "that is nothing of ADK that can be run", INSTEAD)
    root, plugins = parts
    if not isinstance(root, BaseAgent):
        why = f"its first part is {_named(root)}, not an agent"
        raise SubjectError(parts, why, INSTEAD)
    if not is_list(plugins):
        why = f"its second part is {_named(plugins)}, not a list of plugins"
        raise SubjectError(parts, why, INSTEAD)
    for at, each in enumerate(plugins):
        if not isinstance(each, BasePlugin):
            why = f"plugins[{at}] is {_named(each)}, not a plugin"
            raise SubjectError(parts, why, INSTEAD)
    return root, [*plugins]


def _named(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a {type(value).__name__}"


def _checked(got: object, runner: Runner) -> Runner:
    if not isinstance(runner.agent, BaseAgent):
        why = f"its root is {_named(runner.agent)}, not an agent"
        raise SubjectError(got, why, INSTEAD)
    return runner


def check_models(got: object, agents: list[BaseAgent], world: World) -> None:
    """Raise SubjectError for an agent that asks another model than the world's."""
    for each in agents:
        if isinstance(each, LlmAgent):
            _check_model(got, each, world)


def _check_model(got: object, agent: LlmAgent, world: World) -> None:
    model: object = agent.model
    parent = agent.parent_agent
    if model == "" and isinstance(parent, BaseAgent):
        return  # it has its parent's
    if not isinstance(model, WorldLlm):
        asked = repr(model) if model else "the framework's default"
        why = f"agent {agent.name!r} asks {asked}, which nobody sees"
        raise SubjectError(got, why, MODEL_INSTEAD)
    if model.world is not world:
        why = f"agent {agent.name!r} asks the model of another world"
        raise SubjectError(got, why, "build the agents inside the subject's function")


@cache
def _untold() -> Mapping[str, Any]:
    """Return what has spans of a run tell no messages, where a release can be told so.

    To write them down costs a tenth of a run, and the framework would ask the
    environment for each call.
    """
    if "telemetry" not in RunConfig.model_fields:  # before google-adk 2
        return {}
    from google.adk.telemetry import (  # noqa: PLC0415  # the older ones have neither
        ContentCapturingMode,
        TelemetryConfig,
    )

    none = ContentCapturingMode.NO_CONTENT
    return {
        "telemetry": TelemetryConfig(
            capture_message_content=none, genai_semconv_stability_opt_in="stable"
        )
    }
