"""Confirmation, answered: calls that waited for their user run now, or are rejected.

The answer is in the user's last message. What waits is told by the question, an event
of the session; where answers are checked, question and call must be the flow's own and
must not have been settled since (adk.md §1.14).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compat.dialects.flow.confirming import ORIGINAL, with_confirmation
from compat.dialects.flow.content import Content, FunctionCall, FunctionResponse, Part
from compat.dialects.flow.contents import CONFIRMATION
from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.errors import ValueReadError
from compat.dialects.flow.events import Event, Events, ToolConfirmation
from compat.dialects.flow.flow import Flow
from compat.dialects.flow.foreign import USER
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.run_errors import ConfirmationAnswerError
from compat.dialects.flow.tool_calls import call_tools
from compat.dialects.flow.values import from_json, plain
from refengine.messages import Json


@dataclass(frozen=True, slots=True)
class _Question:
    """A question of the session: the call that waits, and where it was asked."""

    call: FunctionCall
    author: str
    place: int


async def resume_confirmed_calls(
    ctx: InvocationContext, _: LlmRequest, flow: Flow
) -> Events:
    """Run what the user's last message confirms; yield its responses."""
    events = ctx.session.events
    place = _last_user_place(events)
    if place is None:
        return
    answers = _answers(events[place], ctx)
    questions = _questions(events[:place]) if answers else {}
    waiting: dict[str, tuple[FunctionCall, ToolConfirmation]] = {}
    for answer_id, confirmation in answers.items():
        question = _asked(ctx, questions.get(answer_id), answer_id)
        if question is None or _is_settled(ctx, question, place):
            continue
        waiting[question.call.id] = (question.call, confirmation)
    # What follows an answer in the same turn are later steps of it.
    unheard = bool(answers) and place == len(events) - 1
    if not waiting and unheard and ctx.profile.confirmation_check == "checked_and_ends":
        ctx.end()
    if not waiting:
        return
    calls = tuple(call for call, _ in waiting.values())
    responses, error = await call_tools(
        ctx,
        flow.tool_hooks,
        calls,
        {each.name: each for each in flow.tools},
        {call_id: confirmation for call_id, (_, confirmation) in waiting.items()},
    )
    if error is not None:  # what ended beside it is told behind a model's call only
        raise error
    if responses is not None:
        parts = tuple(Part(call=each) for each in calls)
        asking = ctx.event(content=Content("model", parts))
        for event in with_confirmation(ctx, asking, responses):
            yield event


def _last_user_place(events: Sequence[Event]) -> int | None:
    places = (n for n in range(len(events) - 1, -1, -1) if events[n].author == USER)
    return next(places, None)


def _answers(event: Event, ctx: InvocationContext) -> dict[str, ToolConfirmation]:
    """Return the confirmations in the user's message, by the id of their question."""
    found: dict[str, ToolConfirmation] = {}
    for each in event.responses:
        if each.name != CONFIRMATION:
            continue
        read = _read(each)
        checked = ctx.profile.confirmation_check != "trusted"
        if checked and found.get(each.id, read) != read:
            raise ConfirmationAnswerError(each.id, "it is answered twice, differently")
        found[each.id] = read
    return found


def _read(response: FunctionResponse) -> ToolConfirmation:
    """Return what an answer says: its own fields, or JSON text under ``response``."""
    body: Json = {} if response.response is None else plain(response.response)
    if isinstance(body, Mapping) and set(body) == {"response"}:
        try:
            body = json.loads(str(body["response"]))
        except ValueError as cause:
            why = "its response is not a JSON text"
            raise ConfirmationAnswerError(response.id, why) from cause
    try:
        return from_json(ToolConfirmation, body)
    except ValueReadError as cause:
        raise ConfirmationAnswerError(response.id, str(cause)) from cause


def _questions(events: Sequence[Event]) -> dict[str, _Question]:
    """Return the questions that the session asked, by id; of equal ids the last."""
    found: dict[str, _Question] = {}
    for place, event in enumerate(events):
        for each in event.calls:
            if each.name == CONFIRMATION and ORIGINAL in each.args:
                call = from_json(FunctionCall, each.args[ORIGINAL])
                found[each.id] = _Question(call, event.author, place)
    return found


def _asked(
    ctx: InvocationContext, question: _Question | None, answer_id: str
) -> _Question | None:
    """Return the question, None for one that this agent did not ask.

    Raises ConfirmationAnswerError, where answers are checked, if nobody asked it.
    """
    if ctx.profile.confirmation_check == "trusted":
        return question
    if question is None:
        raise ConfirmationAnswerError(answer_id, "nobody asked")
    before = ctx.session.events[: question.place + 1]
    own = [each for each in before if each.author == question.author != USER]
    if not any(question.call in each.calls for each in own):
        raise ConfirmationAnswerError(answer_id, "the call it is about was never made")
    return question if question.author == ctx.agent.name else None


def _is_settled(ctx: InvocationContext, question: _Question, answered: int) -> bool:
    """Tell whether the call has its response already.

    A response that asks for confirmation is none. Where answers are trusted, only what
    stands behind the answer is looked at, so a repeated answer runs the call again.
    """
    trusted = ctx.profile.confirmation_check == "trusted"
    start = answered + 1 if trusted else question.place
    call_id = question.call.id
    return any(
        each.id == call_id and call_id not in event.actions.requested_confirmations
        for event in ctx.session.events[start:]
        for each in event.responses
    )
