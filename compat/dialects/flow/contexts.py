"""What a run knows, and what of it each extension sees.

An invocation is one message of the user and all that follows. Its context is made anew
for each agent, so that what ends one agent does not end the one above it. Hooks see
less: a name, the state, the artifacts; a tool sees its call as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from compat.dialects.flow.artifacts import ArtifactPlace, ArtifactService
from compat.dialects.flow.content import Content, Part
from compat.dialects.flow.events import Actions, Event, Events, ToolConfirmation
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.run_errors import NoArtifactServiceError
from compat.dialects.flow.sessions import Session, SessionService
from compat.dialects.flow.state import State, checked_json
from compat.dialects.flow.tree import Agent, AgentTree
from compat.dialects.flow.values import plain
from refengine.messages import Json


class PluginHooks(Protocol):
    """The plugins of a runner, as a run asks for their hooks."""

    def having(self, hook: str) -> Iterator[tuple[str, Any]]:
        """Yield name and function of each plugin that has this hook."""
        ...

    def blamed(self, name: str, hook: str, error: Exception) -> Exception:
        """Return what leaves the run for an exception of a plugin's hook."""
        ...


@dataclass(slots=True, kw_only=True)
class ActionsDraft:
    """The actions of an event that is still being made."""

    state_delta: dict[str, Json] = field(default_factory=dict[str, Json])
    artifact_delta: dict[str, int] = field(default_factory=dict[str, int])
    requested_confirmations: dict[str, ToolConfirmation] = field(
        default_factory=dict[str, ToolConfirmation]
    )
    skip_summarization: bool | None = None
    transfer_to_agent: str = ""
    escalate: bool | None = None

    @property
    def says_anything(self) -> bool:
        """Tell whether an event is worth making for it."""
        return self.made() != Actions()

    def made(self) -> Actions:
        """Return them as they are now."""
        return Actions(
            state_delta=self.state_delta,
            artifact_delta=self.artifact_delta,
            requested_confirmations=dict(self.requested_confirmations),
            skip_summarization=self.skip_summarization,
            transfer_to_agent=self.transfer_to_agent,
            escalate=self.escalate,
        )


class AgentRun(Protocol):
    """Runs an agent of the tree; the run gives it to those that hand over to others."""

    def __call__(self, ctx: InvocationContext) -> Events:
        """Run ``ctx.agent``."""
        ...


@dataclass(slots=True, kw_only=True)
class Invocation:
    """One message of the user and what follows: what all of its agents share."""

    id: str
    session: Session
    session_service: SessionService
    artifact_service: ArtifactService | None
    plugins: PluginHooks
    tree: AgentTree
    profile: FlowProfile
    run_agent: AgentRun
    new_id: Callable[[], str]
    clock: Callable[[], float]
    stream: bool = False
    user_content: Content | None = None
    tracer: object | None = None
    """what starts spans, a FlowTracer"""
    begun: bool = False
    """whether the user's message is kept"""
    crashed: bool = False
    """whether its program is at its end, and no hook of an agent is called any more"""
    speaker: str = ""
    """who spoke last; of an agent that was handed the turn and has said nothing yet,
    the one above it if that one handed it down, and itself if not"""
    model_calls: int = 0
    unstopping: list[Exception] = field(default_factory=list[Exception])
    """errors that did not end what they happened in: raised when the run is over"""


@dataclass(slots=True, kw_only=True)
class InvocationContext:
    """The invocation as one agent of it has it; ``end()`` ends this agent's part."""

    invocation: Invocation
    agent: Agent
    branch: str = ""
    ended: bool = False
    first: bool = False
    """whether the run began with this agent, or reached it by transfers alone"""
    watched: bool = False
    """whether who runs this agent goes no further behind an error of it: one that
    handed over to it, that runs it beside others, or that calls it as a tool"""
    span: object | None = None
    """the span that its own are under"""
    waits: bool = False
    """whether it asked for something that nobody goes on without"""
    above: tuple[str, ...] = ()
    """the agents above this one that handed the turn down to it, the outermost first"""

    @property
    def profile(self) -> FlowProfile:
        """The choices where versions differ."""
        return self.invocation.profile

    @property
    def session(self) -> Session:
        """The live session, with every event that was told so far."""
        return self.invocation.session

    def end(self) -> None:
        """End this agent's part of the invocation, not that of the agent above it."""
        self.ended = True

    def within(self, agent: Agent, branch: str | None = None) -> InvocationContext:
        """Return a context for another agent, on this branch if no other is named."""
        return InvocationContext(
            invocation=self.invocation,
            agent=agent,
            branch=self.branch if branch is None else branch,
            span=self.span,
            watched=self.watched,
        )

    def event(self, **fields: Any) -> Event:  # noqa: ANN401  # fields of Event
        """Return an event of this agent, with id, time and branch."""
        given: dict[str, Any] = {
            "author": self.agent.name,
            "id": self.invocation.new_id(),
            "invocation_id": self.invocation.id,
            "branch": self.branch,
            "timestamp": self.invocation.clock(),
        }
        return Event(**(given | fields))


class ReadonlyContext:
    """What a provider of instructions or tools sees; it changes nothing."""

    def __init__(self, ctx: InvocationContext) -> None:
        self._ctx = ctx

    @property
    def agent_name(self) -> str:
        """The agent that runs."""
        return self._ctx.agent.name

    @property
    def invocation_id(self) -> str:
        """The invocation that it runs in."""
        return self._ctx.invocation.id

    @property
    def session_id(self) -> str:
        """The session that the invocation belongs to."""
        return self._ctx.session.id

    @property
    def user_id(self) -> str:
        """Whose session it is."""
        return self._ctx.session.user_id

    @property
    def branch(self) -> str:
        """The path of agents that a parallel run is in."""
        return self._ctx.branch

    @property
    def user_content(self) -> Content | None:
        """What the user said, as on_user_message left it."""
        return self._ctx.invocation.user_content

    @property
    def state(self) -> Mapping[str, Any]:
        """A copy of the state, which nobody can change."""
        return MappingProxyType(
            {key: plain(each) for key, each in self._ctx.session.state.items()}
        )


class CallbackContext(ReadonlyContext):
    """What a callback of agent or model sees: the state and the artifacts to write."""

    def __init__(self, ctx: InvocationContext, actions: ActionsDraft) -> None:
        super().__init__(ctx)
        self.actions = actions
        self._state = State(ctx.session.state, actions.state_delta)

    @property
    def invocation_context(self) -> InvocationContext:
        """The whole context: for a hook of several agents, or a tool that runs one."""
        return self._ctx

    @property
    def state(self) -> State:
        """The state; what is written goes into the event's delta."""
        return self._state

    @property
    def _place(self) -> ArtifactPlace:
        session = self._ctx.session
        return ArtifactPlace(session.app, session.user_id, session.id)

    def _artifacts(self, name: str) -> ArtifactService:
        service = self._ctx.invocation.artifact_service
        if service is None:
            raise NoArtifactServiceError(self.agent_name, name)
        return service

    async def save_artifact(self, name: str, part: Part) -> int:
        """Keep one more version of a file and return its number."""
        version = await self._artifacts(name).save(self._place, name, part)
        self.actions.artifact_delta[name] = version
        return version

    async def load_artifact(self, name: str, version: int | None = None) -> Part | None:
        """Return a version of a file, the newest if none is named."""
        return await self._artifacts(name).load(self._place, name, version)

    async def delete_artifact(self, name: str) -> None:
        """Forget all versions of a file; nothing happens if there is none."""
        await self._artifacts(name).delete(self._place, name)

    async def artifact_names(self) -> tuple[str, ...]:
        """Return the names of the files that this session sees."""
        return await self._artifacts("").names(self._place)


class ToolContext(CallbackContext):
    """What a tool and its hooks see: their call, and the actions of its response."""

    def __init__(
        self,
        ctx: InvocationContext,
        actions: ActionsDraft,
        call_id: str,
        confirmation: ToolConfirmation | None = None,
    ) -> None:
        super().__init__(ctx, actions)
        self.call_id = call_id
        self.confirmation = confirmation

    def request_confirmation(self, hint: str = "", payload: object = None) -> None:
        """Ask the user before the tool goes on; the run stops behind this response."""
        asked = ToolConfirmation(
            hint=hint, payload=checked_json(payload, "the confirmation's payload")
        )
        self.actions.requested_confirmations[self.call_id] = asked
        if self._ctx.profile.confirmation_skips == "yes":
            self.actions.skip_summarization = True
