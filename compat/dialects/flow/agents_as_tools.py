"""An agent as a tool of another: it runs in a session of its own, inside the call.

Its last words are the result. Whether what it wrote to the state is handed to the
calling agent is a posture, and whether the runner's plugins see it: where they do, they
see a second invocation inside the first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, cast, final

from compat.dialects.flow.agents import LlmAgent
from compat.dialects.flow.artifacts import ArtifactPlace, ArtifactService
from compat.dialects.flow.content import Part
from compat.dialects.flow.contexts import ToolContext
from compat.dialects.flow.events import Event
from compat.dialects.flow.plugins import Plugin, Plugins
from compat.dialects.flow.run_errors import (
    CalledAgentError,
    InvalidAnswerError,
    ToolArgumentsError,
)
from compat.dialects.flow.runner import Runner
from compat.dialects.flow.schemas import misfits
from compat.dialects.flow.sessions import InMemorySessionService
from compat.dialects.flow.state import lasting
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.tree import Agent
from compat.dialects.flow.values import plain
from refengine.messages import Json

REQUEST: Final = "request"
"""The one argument, of an agent without an input schema: what it is asked."""


def agent_tool(agent: Agent, *, skip_summarization: bool = False) -> Tool:
    """Make a tool of an agent, with its name and description.

    Its arguments are those of its input schema, or ``request``. With
    ``skip_summarization`` the result ends the turn of the calling agent.
    """
    schema = agent.input_schema if isinstance(agent, LlmAgent) else None
    wanted: dict[str, Any] = {
        "type": "object",
        "properties": {REQUEST: {"type": "string"}},
        "required": [REQUEST],
    }

    async def run(ctx: ToolContext, args: dict[str, Any]) -> object:
        if skip_summarization:
            ctx.actions.skip_summarization = True
        wrong = "; ".join(misfits(args, schema or wanted))
        if wrong:
            raise ToolArgumentsError(agent.name, wrong)
        asked = str(args[REQUEST]) if schema is None else json.dumps(args)
        said = await _last_words(ctx, agent, asked)
        if not said and _result_of(ctx) == "lines_or_error":
            return {}
        return _result(agent, said)

    return Tool(
        name=agent.name,
        description=agent.description,
        parameters=schema or wanted,
        run=run,
        agent=agent,
    )


async def _last_words(ctx: ToolContext, agent: Agent, asked: str) -> str:
    """Run the agent in a session of its own; return the text it said last."""
    outer = ctx.invocation_context.invocation
    runner = Runner(
        agent,
        app=outer.session.app,
        profile=outer.profile,
        plugins=_plugins(ctx),
        artifact_service=_of_caller(ctx),
        session_service=InMemorySessionService(outer.new_id),
        new_id=outer.new_id,
        clock=outer.clock,
    )
    runner.watched = True
    session = await runner.session_service.create(
        outer.session.app, outer.session.user_id, None, lasting(outer.session.state)
    )
    last: Event | None = None
    waiting: set[str] = set()
    streams = outer.profile.agent_tool_stream == "always"
    events = runner.run(session.user_id, session.id, asked, stream=streams)
    async with aclosing(events) as flowing:
        async for event in flowing:
            if outer.profile.agent_tool_state == "handed_on":
                ctx.state.update(plain(event.actions.state_delta))
            _refuse_failed(ctx, agent, event)
            waiting |= {x.name for x in event.calls if x.id in event.long_running_ids}
            waiting -= {each.name for each in event.responses}
            last = last if event.content is None and not event.error_code else event
    if _result_of(ctx) == "why_none" and waiting:
        ctx.actions.skip_summarization = False
        named = ", ".join(sorted(waiting))
        return f"agent {agent.name!r} waits for {named}, which a tool cannot be told"
    return "" if last is None else _said(last, ctx)


def _result_of(ctx: ToolContext) -> str:
    return ctx.invocation_context.profile.agent_tool_result


def _refuse_failed(ctx: ToolContext, agent: Agent, event: Event) -> None:
    """Raise CalledAgentError for a failed model's event, if that is the call's."""
    failed = event.error_code or event.error_message
    if failed and _result_of(ctx) == "lines_or_error":
        raise CalledAgentError(agent.name, event.error_code, event.error_message)


def _said(last: Event, ctx: ToolContext) -> str:
    """Return the text of an event; of a failed model's, perhaps why it failed."""
    if last.content is None:
        return last.error_message if _result_of(ctx) == "why_none" else ""
    if _result_of(ctx) == "lines_or_error":
        return "\n".join(each.text for each in last.content.parts if each.text)
    return last.content.text


def _plugins(ctx: ToolContext) -> Sequence[Plugin]:
    invocation = ctx.invocation_context.invocation
    if invocation.profile.agent_tool_plugins == "none":
        return ()
    return tuple(cast("Plugins", invocation.plugins))


def _result(agent: Agent, said: str) -> object:
    """Return what the call gives: its text, or the answer itself if it has a schema."""
    if not isinstance(agent, LlmAgent) or agent.output_schema is None:
        return said
    try:
        answer: Json = json.loads(said)
    except ValueError as cause:
        raise InvalidAnswerError(f"agent {agent.name!r} said {said!r}") from cause
    wrong = "; ".join(misfits(answer, agent.output_schema))
    if wrong:
        raise InvalidAnswerError(wrong)
    return answer


def _of_caller(ctx: ToolContext) -> ArtifactService | None:
    outer = ctx.invocation_context.invocation
    return None if outer.artifact_service is None else _CallersArtifacts(ctx)


@final
@dataclass(frozen=True, slots=True)
class _CallersArtifacts:
    """The calling session's artifacts, under whatever place they are asked for."""

    ctx: ToolContext

    async def save(self, place: ArtifactPlace, name: str, part: Part) -> int:
        del place
        return await self.ctx.save_artifact(name, part)

    async def load(
        self, place: ArtifactPlace, name: str, version: int | None = None
    ) -> Part | None:
        del place
        return await self.ctx.load_artifact(name, version)

    async def names(self, place: ArtifactPlace) -> tuple[str, ...]:
        del place
        return await self.ctx.artifact_names()

    async def delete(self, place: ArtifactPlace, name: str) -> None:
        del place
        await self.ctx.delete_artifact(name)
