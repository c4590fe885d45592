"""Confirmation: a tool that asks its user first, and the event with the question.

The question is a call of the flow's own, ``adk_request_confirmation``, which is marked
long-running, so that the run stops behind it. Its answer is the user's function
response, which the confirmation processor finds (adk.md §1.14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from compat.dialects.flow.content import Content, FunctionCall, Part
from compat.dialects.flow.contents import CONFIRMATION, OWN_ID
from compat.dialects.flow.contexts import InvocationContext, ToolContext
from compat.dialects.flow.events import Event, ToolConfirmation
from compat.dialects.flow.run_errors import ConfirmationNeededError
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.values import as_json
from refengine.awaiting import settled

ORIGINAL: Final = "originalFunctionCall"
ASKED: Final = "toolConfirmation"
"""The arguments of the question: the call that waits, and what is asked about it."""

NEEDED: Final = "This tool call requires confirmation, please approve or reject."
REJECTED: Final = "This tool call is rejected."


async def refusal(
    tool: Tool, ctx: ToolContext, args: dict[str, Any]
) -> dict[str, str] | None:
    """Return the result of a call that may not run yet, or not at all; else None.

    Raises ConfirmationNeededError where errors are data, since it is one there.
    """
    needs = tool.needs_confirmation
    said = ctx.confirmation
    posture = ctx.invocation_context.profile.rejected_call
    if said is not None and not said.confirmed and posture == "never_runs":
        return {"error": REJECTED}
    if not (await settled(needs(**args)) if callable(needs) else needs):
        return None
    if said is None:
        return _asked(tool, ctx)
    return None if said.confirmed else {"error": REJECTED}


def _asked(tool: Tool, ctx: ToolContext) -> dict[str, str]:
    ctx.request_confirmation(f"may tool {tool.name!r} run? answer with confirmed")
    ctx.actions.skip_summarization = True
    if ctx.invocation_context.profile.tool_failures == "data":
        raise ConfirmationNeededError(tool.name)
    return {"error": NEEDED}


def with_confirmation(
    ctx: InvocationContext, event: Event, responses: Event
) -> Sequence[Event]:
    """Return the responses, and the event that asks for what they request, in order.

    ``event`` is the model's, with the calls. Nothing requested is not an event.
    """
    requested = responses.actions.requested_confirmations
    asked = [each for each in event.calls if each.id in requested]
    if not asked:
        return (responses,)
    calls = [_asking(ctx, each, requested[each.id]) for each in asked]
    question = _question(ctx, calls)
    place = ctx.profile.confirmation_place
    if place == "after_settled" and any(
        each.id not in requested for each in responses.responses
    ):
        told = replace(responses.actions, skip_summarization=None)
        return (replace(responses, actions=told), question)
    if place == "after_responses":
        return (responses, question)
    return (question, responses)


def _question(ctx: InvocationContext, calls: Sequence[FunctionCall]) -> Event:
    content = Content("model", tuple(Part(call=each) for each in calls))
    posture = ctx.profile.confirmation_ids
    if posture == "empty":
        return ctx.event(content=content, long_running_ids=("",) * len(calls), id="")
    ids = tuple(each.id for each in calls)
    own = {"id": ""} if posture == "calls_alone" else {}
    return ctx.event(content=content, long_running_ids=ids, **own)


def _asking(
    ctx: InvocationContext, call: FunctionCall, asked: ToolConfirmation
) -> FunctionCall:
    args = {ORIGINAL: as_json(call), ASKED: as_json(asked)}
    return FunctionCall(CONFIRMATION, args, f"{OWN_ID}{ctx.invocation.new_id()}")
