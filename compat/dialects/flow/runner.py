"""The runner: one message of the user, from the session to the session.

Plugins see the message first and the run, every event on its way out, and the end. An
event is kept before it is told, so that what the consumer has seen is never lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import fields, replace
from typing import Any, ClassVar, cast, final
from uuid import uuid4

from compat.dialects.flow.agents import LlmAgent
from compat.dialects.flow.artifacts import ArtifactService
from compat.dialects.flow.content import Content, text_content
from compat.dialects.flow.contexts import Invocation, InvocationContext
from compat.dialects.flow.errors import AgentNotFoundError
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.foreign import USER
from compat.dialects.flow.next_agent import next_agent
from compat.dialects.flow.plugins import Plugin, Plugins
from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.dialects.flow.run_errors import (
    EmptyMessageError,
    MadeUpCallError,
    SessionError,
)
from compat.dialects.flow.running import run_agent
from compat.dialects.flow.sessions import (
    InMemorySessionService,
    Session,
    SessionService,
)
from compat.dialects.flow.stages import plugin_value
from compat.dialects.flow.tracing import FlowTracer, installed_tracer
from compat.dialects.flow.tree import Agent, AgentTree
from refengine.awaiting import settled
from refengine.errors import RefengineError


@final
class Runner:
    """Runs a tree of agents for the sessions of an app.

    Raises AgentPlaceError for an agent or a name that stands twice, PluginNameError for
    two plugins of one name, UnknownProfileError.
    """

    __refengine_player__: ClassVar = "compat.dialects.playing.flows:play"

    def __init__(  # noqa: PLR0913  # the services and choices of a runner, by name
        self,
        root_agent: Agent,
        *,
        session_service: SessionService | None = None,
        artifact_service: ArtifactService | None = None,
        plugins: Sequence[Plugin] = (),
        app: str = "app",
        profile: FlowProfile | str = "flow-safe",
        new_id: Callable[[], str] = lambda: uuid4().hex,
        clock: Callable[[], float] = time.time,
        tracer: FlowTracer | None = None,
    ) -> None:
        self.tree = AgentTree(root_agent)
        self.profile = flow_profile(profile) if isinstance(profile, str) else profile
        self.plugins = Plugins(plugins, wraps=self.profile.plugin_errors == "wrapped")
        self.session_service = session_service or InMemorySessionService()
        self.artifact_service = artifact_service
        self.app = app
        self.watched = False
        """whether its consumer goes no further behind an error"""
        self._new_id, self._clock = new_id, clock
        self._tracer = tracer or installed_tracer()

    async def run(
        self,
        user_id: str,
        session_id: str,
        content: Content | str,
        *,
        stream: bool = False,
    ) -> Events:
        """Yield the events that the message leads to; an error ends the run.

        Raises SessionError if there is no such session, EmptyMessageError, and
        MadeUpCallError where the profile refuses such messages.
        """
        said = text_content(USER, content) if isinstance(content, str) else content
        if not said.parts:
            raise EmptyMessageError(session_id)
        session = await self._session(user_id, session_id)
        if self.profile.user_calls == "refused":
            refuse_made_up_calls(session, said)
        agent, branch = next_agent(self.tree, session.events, said, self.profile)
        ctx = self._context(session, agent, said, stream=stream)
        if self.profile.resumed_branch == "as_asked":
            ctx.branch = branch
        async with aclosing(self._invocation(ctx, said)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Have every plugin close; the first error is raised when all were called."""
        errors: list[Exception] = []
        for name, function in self.plugins.having("close"):
            try:
                await settled(function())
            except Exception as error:  # noqa: BLE001  # raised below
                errors.append(self.plugins.blamed(name, "close", error))
        if errors:
            raise errors[0]

    async def _session(self, user_id: str, session_id: str) -> Session:
        session = await self.session_service.get(self.app, user_id, session_id)
        if session is None:
            what = "is not there: create it with the session service"
            raise SessionError(self.app, user_id, session_id, what)
        return session

    def _context(
        self, session: Session, agent: Agent, said: Content, *, stream: bool
    ) -> InvocationContext:
        invocation = Invocation(
            id=f"e-{self._new_id()}",
            session=session,
            session_service=self.session_service,
            artifact_service=self.artifact_service,
            plugins=self.plugins,
            tree=self.tree,
            profile=self.profile,
            run_agent=run_agent,
            new_id=self._new_id,
            clock=self._clock,
            stream=stream,
            user_content=said,
            tracer=self._tracer,
        )
        return InvocationContext(
            invocation=invocation, agent=agent, first=True, watched=self.watched
        )

    async def _invocation(self, ctx: InvocationContext, said: Content) -> Events:
        """Yield the events of one invocation; then the plugins hear of its end."""
        try:
            async with aclosing(self._events(ctx, said)) as events:
                async for event in events:
                    yield event
        except Exception:
            if self.profile.after_run == "always" and ctx.invocation.begun:
                await self._after_run(ctx)
            for first in ctx.invocation.unstopping:
                raise first from first.__cause__
            raise
        except BaseException:  # its consumer left it, or was cancelled
            if self.profile.after_run != "on_completion":
                await self._after_run(ctx)
            raise
        await self._after_run(ctx)
        for error in ctx.invocation.unstopping:
            raise error

    async def _events(self, ctx: InvocationContext, said: Content) -> Events:
        message = await plugin_value(ctx, "on_user_message", ctx, said) or said
        ctx.invocation.user_content = message
        await self._keep(ctx, _by_user(ctx, message))
        ctx.invocation.begun = True
        early = await self._before_run(ctx, said)
        if early is not None:
            event = self._early(ctx, early, said)
            seen = self.profile.before_run_event == "through_on_event"
            kept = await (self._told(ctx, event) if seen else self._keep(ctx, event))
            if kept is not None:
                yield kept
            return
        ctx.invocation.speaker, telling = ctx.agent.name, False
        try:
            async with aclosing(run_agent(ctx)) as events:
                async for event in events:
                    telling = True  # an on_event hook's own exception is not told
                    told = await self._told(ctx, event)
                    telling = False
                    if told is None:
                        continue
                    yield told
                    ctx.invocation.speaker = event.author
        except Exception as error:
            if not telling and self._tells(ctx, error):
                code, text = error_code(error), str(error)
                author = ctx.invocation.speaker
                failed = ctx.event(author=author, error_code=code, error_message=text)
                if (told := await self._told(ctx, failed)) is not None:
                    yield told
            raise

    async def _before_run(
        self, ctx: InvocationContext, said: Content
    ) -> Content | None:
        """Return what a before_run hook gave; where that is an echo, so is an error."""
        try:
            return cast("Content | None", await plugin_value(ctx, "before_run", ctx))
        except Exception:
            if self.profile.before_run_value == "user_echo":
                await self._keep(ctx, _by_user(ctx, said))
            raise

    def _tells(self, ctx: InvocationContext, error: Exception) -> bool:
        """Tell whether an exception makes an event; a transfer to nobody does not.

        None does where the root asks no model itself, whoever goes on (adk-py-2).
        """
        root = ctx.invocation.tree.root
        told = self.profile.failure_event == "told" and isinstance(root, LlmAgent)
        return told and not isinstance(error, AgentNotFoundError)

    def _early(self, ctx: InvocationContext, early: Content, said: Content) -> Event:
        if self.profile.before_run_value == "user_echo":
            return _by_user(ctx, said)
        return ctx.event(author="model", content=early)

    async def _told(self, ctx: InvocationContext, event: Event) -> Event | None:
        """Keep the event, as on_event left it, and return what is told of it."""
        try:
            given = await plugin_value(ctx, "on_event", ctx, event)
        except Exception as error:
            if self.profile.on_event_error == "ends":
                raise
            ctx.invocation.unstopping.append(error)
            return None
        found = cast("Event | None", given)
        if found is None:
            return await self._keep(ctx, event)
        if self.profile.on_event_kept == "original":
            await self._keep(ctx, event)
            return found
        merged = self.profile.on_event_kept == "merged"
        return await self._keep(ctx, _over(event, found) if merged else found)

    async def _keep(self, ctx: InvocationContext, event: Event) -> Event:
        """Keep the event, unless it is partial, and return what is kept of it."""
        return await self.session_service.append(ctx.session, event)

    async def _after_run(self, ctx: InvocationContext) -> None:
        for name, function in self.plugins.having("after_run"):
            try:
                found = await settled(function(ctx))
            except Exception as error:
                blamed = self.plugins.blamed(name, "after_run", error)
                if blamed is error:  # an exception is not its own cause
                    raise
                raise blamed from error
            if found is not None and self.profile.after_run_value == "silences":
                return


def error_code(error: Exception) -> str:
    """Return the name of its class; of an error of ours, what it is in Python."""
    kinds = type(error).__mro__
    return next(x.__name__ for x in kinds if not issubclass(x, RefengineError))


def refuse_made_up_calls(session: Session, said: Content) -> None:
    """Raise MadeUpCallError for calls, and for responses to what nobody called."""
    known = {each.id for event in session.events for each in event.calls}
    unknown = [each.id for each in said.responses if each.id not in known]
    if said.calls or unknown:
        names = [each.name for each in said.calls]
        raise MadeUpCallError(session.id, names, unknown)


def _by_user(ctx: InvocationContext, content: Content) -> Event:
    return ctx.event(author=USER, branch="", content=content)


def _over(event: Event, found: Event) -> Event:
    """Return the event with what another one sets of it."""
    unset = Event()
    given: dict[str, Any] = {
        each.name: getattr(found, each.name)
        for each in fields(Event)
        if getattr(found, each.name) != getattr(unset, each.name)
    }
    return replace(event, **given)
