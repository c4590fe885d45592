"""What a subject builds agents of the Flow dialect from, and its values as observed.

``as_flow(world)`` is to the dialect what ``world.as_adk()`` is to the installed
google-adk: the world's model, its tools, and the instruction of its agent.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, Final, final

from compat.dialects.flow.content import (
    Content,
    FunctionCall,
    FunctionResponse,
    Part,
)
from compat.dialects.flow.contents import CONFIRMATION
from compat.dialects.flow.contexts import ToolContext
from compat.dialects.flow.events import Actions, Event
from compat.dialects.flow.merging import is_final
from compat.dialects.flow.model import (
    FunctionDeclaration,
    GenerateConfig,
    LlmRequest,
    LlmResponse,
    Usage,
)
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.run_errors import ModelCallsExceededError
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.values import plain
from refengine.messages import Json, Message
from refengine.testing.flows.events import (
    USER,
    FlowCall,
    FlowEvent,
    FlowResponse,
    Said,
    as_messages,
    as_object,
    known,
    object_in,
    question_of,
)
from refengine.testing.flows.world import (
    MODEL,
    FlowAnswer,
    FlowAsked,
    FlowToolRuns,
    answered,
)
from refengine.testing.notation import parts_of
from refengine.testing.recorder import snapshot
from refengine.testing.world import World

SETTINGS: Final = (
    "response_schema",
    "response_mime_type",
    "temperature",
    "top_p",
    "max_output_tokens",
    "stop_sequences",
)
TEXTUAL: Final = ("text/", "application/json")
SET: Final = ("skip_summarization", "transfer_to_agent", "escalate")
"""Flags of actions; what is not set is not told."""


@final
class FlowFace:
    """A world as the Flow dialect sees it.

    Agents may have other tools too, which are observed when they run, but no other
    model. A second model plays the same script, and requests name it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.model = self.model_named(MODEL)
        self.instruction: str = world.instruction or ""
        self._tools = [_tool(FlowToolRuns(spec, world)) for spec in world.tool_specs]

    @property
    def tools(self) -> Sequence[Tool]:
        """The world's tools, in a list that may be changed."""
        return list(self._tools)

    def model_named(self, name: str) -> FlowWorldModel:
        """Return a second model; it plays the same script, and requests name it."""
        return FlowWorldModel(self._world, name)


def as_flow(world: World) -> FlowFace:
    """Return model and tools of a world for agents of the Flow dialect."""
    return FlowFace(world)


@final
class FlowWorldModel:
    """Answers from the world's script, and puts down what each request carries.

    ``most`` is so many calls of the world's model that it answers no further one, and
    None means no limit.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.most: int | None = None

    async def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        """Yield the script's next answer; raises what is scripted."""
        if self.most is not None and self.world.model.calls >= self.most:
            raise ModelCallsExceededError(self.name, self.most)
        asked = self._asked(request)
        async for each in answered(self.world, asked, _response, stream=stream):
            yield each

    def _asked(self, request: LlmRequest) -> FlowAsked:
        config, contents = request.config, request.contents
        return FlowAsked(
            model=request.model or self.name,
            instruction=config.system_instruction,
            messages=[each for one in contents for each in said(one)],
            tools=[*map(_shown, config.tools)],
            options=_options(config),
            texts=(part.text for each in contents for part in each.parts),
        )


def _response(answer: FlowAnswer) -> LlmResponse:
    content = content_of(answer.message)
    if answer.partial:
        return LlmResponse(content=content, partial=True)
    asked, told = answer.words_asked, answer.words_told
    usage = Usage(prompt=asked, answer=told, total=asked + told)
    return LlmResponse(content=content, usage=usage)


def _options(config: GenerateConfig) -> dict[str, Json]:
    """Return the settings of a request that are set."""
    given: dict[str, Any] = {each: getattr(config, each) for each in SETTINGS}
    found = {**given, **plain(config.extra)}
    empty: tuple[object, ...] = (None, "", ())
    return {k: snapshot(plain(v)) for k, v in found.items() if v not in empty}


def _shown(declared: FunctionDeclaration) -> dict[str, Any]:
    schema: Any = plain(declared.parameters or {})
    return {
        "name": declared.name,
        "description": declared.description,
        "parameters": schema,
    }


@final
class FlowScriptedTool:
    """What a tool of the world runs."""

    def __init__(self, runs: FlowToolRuns) -> None:
        self._runs = runs

    async def __call__(self, ctx: ToolContext, args: dict[str, Any]) -> Json:
        """Give the result of the script; raises what is scripted."""
        result = await self._runs.result(args, ctx.call_id)
        if self._runs.is_direct:
            ctx.actions.skip_summarization = True
        return result


def _tool(runs: FlowToolRuns) -> Tool:
    return Tool(
        name=runs.name,
        description=runs.description,
        parameters=runs.parameters,
        run=FlowScriptedTool(runs),
    )


def said(content: Content) -> Iterator[Json]:
    """Return a content as messages: what is said, and each function response."""
    parts = content.parts
    said = text_in(parts), calls_in(parts), others_in(parts)
    return as_messages(content.role, *said, responses_in(content.responses))


def responses_in(given: Iterable[FunctionResponse]) -> tuple[FlowResponse, ...]:
    """Return function responses as observations have them, in order."""
    return tuple(
        FlowResponse(each.id, each.name, snapshot(plain(each.response)))
        for each in given
    )


def text_in(parts: Sequence[Part]) -> str:
    """Return the text of some parts, without what the model only thought."""
    return "".join(each.text for each in parts if each.text and not each.thought)


def calls_in(parts: Sequence[Part]) -> tuple[FlowCall, ...]:
    """Return the calls in some parts, in order."""
    return tuple(
        FlowCall(each.call.id, each.call.name, as_object(plain(each.call.args)))
        for each in parts
        if each.call is not None
    )


def others_in(parts: Sequence[Part]) -> list[Json]:
    """Return what of some parts is neither text nor a call nor a response."""
    return [found for each in parts if (found := _other(each))]


def _other(part: Part) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if part.thought:
        found = {"text": part.text, "thought": True}
    if part.blob is not None:
        data = base64.urlsafe_b64encode(part.blob.data).decode()
        found["inline_data"] = {"data": data, "mime_type": part.blob.mime_type}
    if part.file is not None:
        file = part.file
        found["file_data"] = {"file_uri": file.uri, "mime_type": file.mime_type}
    if part.code is not None:
        found["executable_code"] = {"code": part.code}
    if part.code_result is not None:
        result = part.code_result
        found["code_execution_result"] = {
            "outcome": result.outcome,
            "output": result.output,
        }
    return found


def content_of(message: Message) -> Content:
    """Return a message as the dialect has it; a call without an object has none."""
    if message.role == "tool":
        told = {"result": message.content}
        name, call_id = message.name or "tool", message.tool_call_id or ""
        return Content("user", (Part(response=FunctionResponse(name, told, call_id)),))
    parts = [Part(text=each) for each in parts_of(message.content)]
    for call in message.tool_calls:
        made = FunctionCall(call.name, object_in(call.arguments), call.id)
        parts.append(Part(call=made))
    role = "model" if message.role == "assistant" else "user"
    return Content(role, tuple(parts or [Part(text="")]))


def user_content(said: Said) -> Content:
    """Return what a user says: a text, or answers to what was asked."""
    if isinstance(said, str):
        return Content(USER, tuple(Part(text=e) for e in parts_of(said) or [said]))
    answers = (
        FunctionResponse(each.name, as_object(each.response), each.id) for each in said
    )
    return Content(USER, tuple(Part(response=each) for each in answers))


def artifact(part: Part | None) -> Json:
    """Return one version of an artifact: a text as such, bytes with their type."""
    if part is None:
        return None
    blob = part.blob
    if blob is not None and blob.mime_type.startswith(TEXTUAL):
        text = blob.data.decode("utf-8", "replace")
        return {"mime_type": blob.mime_type, "text": text}
    return _other(part) or {"text": part.text}


def seen_event(event: Event, profile: FlowProfile) -> FlowEvent:
    """Return an event of the dialect as observations have it."""
    parts = event.content.parts if event.content is not None else ()
    calls = calls_in(parts)
    return FlowEvent(
        author=event.author,
        text=text_in(parts),
        calls=calls,
        responses=responses_in(event.responses),
        questions=tuple(question_of(e) for e in calls if e.name == CONFIRMATION),
        partial=event.partial,
        final=not event.partial and is_final(event, profile),
        actions=_actions(event.actions),
        more=_more(event, others_in(parts)),
    )


def _more(event: Event, others: Sequence[Json]) -> dict[str, Json]:
    more: dict[str, Json] = {}
    if event.error_code:
        more["error_code"] = event.error_code
        if event.error_code.isupper():  # else a class of exceptions, told by that
            more["error_message"] = event.error_message
    if event.interrupted:
        more["interrupted"] = True
    if event.metadata:
        more["custom_metadata"] = snapshot(plain(event.metadata))
    if event.long_running_ids:
        more["long_running"] = [*map(known, sorted(event.long_running_ids))]
    if others:
        more["parts"] = [*others]
    return more


def _actions(actions: Actions) -> dict[str, Json]:
    """Return what an event does besides saying something, without what is not set."""
    asked = {
        known(call): {
            "hint": each.hint,
            "confirmed": each.confirmed,
            **({} if each.payload is None else {"payload": plain(each.payload)}),
        }
        for call, each in actions.requested_confirmations.items()
    }
    values: dict[str, Any] = {
        "state_delta": plain(actions.state_delta),
        "artifact_delta": dict(actions.artifact_delta),
        "requested_tool_confirmations": asked,
        **{name: getattr(actions, name) for name in SET},
    }
    empty: tuple[object, ...] = ({}, [], "", None)
    return {key: snapshot(each) for key, each in values.items() if each not in empty}
