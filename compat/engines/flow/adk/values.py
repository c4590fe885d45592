"""Values of google-adk and google-genai, and those of the dialect: one as the other.

What the dialect has no word for, such as paths of workflow nodes, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, cast

from google.adk.events.event import Event as AdkEvent
from google.adk.models.llm_request import LlmRequest as AdkRequest
from google.adk.models.llm_response import LlmResponse as AdkResponse
from google.genai import types
from pydantic import BaseModel

from compat.dialects.flow.content import (
    Blob,
    CodeResult,
    Content,
    FileData,
    FunctionCall,
    FunctionResponse,
    Part,
)
from compat.dialects.flow.events import Actions, Event, ToolConfirmation
from compat.dialects.flow.model import (
    FunctionDeclaration,
    GenerateConfig,
    LlmRequest,
    LlmResponse,
    Usage,
)
from compat.dialects.flow.values import plain
from compat.engines.flow.observing import plain_schema
from refengine.testing.json_values import is_mapping


def adk_part(part: Part) -> types.Part:
    """Return a part as the vendor's package has it."""
    given: dict[str, Any] = {}
    if part.call is not None:
        call = part.call
        given["function_call"] = types.FunctionCall(
            name=call.name, args=plain(call.args), id=call.id or None
        )
    elif part.response is not None:
        told = part.response
        given["function_response"] = types.FunctionResponse(
            name=told.name, response=plain(told.response), id=told.id or None
        )
    elif part.blob is not None:
        blob = part.blob
        given["inline_data"] = types.Blob(data=blob.data, mime_type=blob.mime_type)
    elif part.file is not None:
        file = part.file
        given["file_data"] = types.FileData(file_uri=file.uri, mime_type=file.mime_type)
    else:
        given["text"] = part.text
    return types.Part(thought=True if part.thought else None, **given)


def adk_content(content: Content | None) -> types.Content | None:
    """Return a content as the vendor's package has it."""
    if content is None:
        return None
    parts = [adk_part(each) for each in content.parts]
    return types.Content(role=content.role or None, parts=parts)


def adk_response(response: LlmResponse) -> AdkResponse:
    """Return a response as google-adk has it; what is not said is None there."""
    usage = response.usage
    return AdkResponse(
        content=adk_content(response.content),
        partial=response.partial or None,
        turn_complete=response.turn_complete or None,
        error_code=response.error_code or None,
        error_message=response.error_message or None,
        finish_reason=_finish_reason(response),
        usage_metadata=None if usage is None else _adk_usage(usage),
    )


def adk_chunk(response: LlmResponse | None) -> types.GenerateContentResponse:
    """Return a chunk as a vendor's stream brings it; None is one of no candidate."""
    if response is None:
        return types.GenerateContentResponse(candidates=[])
    usage = response.usage
    candidate = types.Candidate(
        content=adk_content(response.content), finish_reason=_finish_reason(response)
    )
    return types.GenerateContentResponse(
        candidates=[candidate],
        usage_metadata=None if usage is None else _adk_usage(usage),
    )


def _finish_reason(response: LlmResponse) -> types.FinishReason | None:
    reason = response.finish_reason
    return types.FinishReason(reason) if reason else None


def _adk_usage(usage: Usage) -> types.GenerateContentResponseUsageMetadata:
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=usage.prompt,
        candidates_token_count=usage.answer,
        thoughts_token_count=usage.thoughts,
        total_token_count=usage.total,
    )


def flow_part(part: types.Part) -> Part:
    """Return a part as the dialect has it."""
    call, told = part.function_call, part.function_response
    blob, file = part.inline_data, part.file_data
    ran = part.code_execution_result
    return Part(
        text=part.text or "",
        thought=bool(part.thought),
        call=None if call is None else _flow_call(call),
        response=None
        if told is None
        else FunctionResponse(told.name or "", told.response, told.id or ""),
        blob=None if blob is None else Blob(blob.data or b"", blob.mime_type or ""),
        file=None
        if file is None
        else FileData(file.file_uri or "", file.mime_type or ""),
        code=None if part.executable_code is None else part.executable_code.code,
        code_result=None
        if ran is None
        else CodeResult(ran.output or "", str(ran.outcome)),
    )


def _flow_call(call: types.FunctionCall) -> FunctionCall:
    return FunctionCall(call.name or "", call.args or {}, call.id or "")


def flow_content(content: types.Content | None) -> Content | None:
    """Return a content as the dialect has it."""
    if content is None:
        return None
    return Content(content.role or "", tuple(map(flow_part, content.parts or ())))


def _said(response: AdkResponse) -> dict[str, Any]:
    usage, grounding = response.usage_metadata, response.grounding_metadata
    return {
        "content": flow_content(response.content),
        "partial": bool(response.partial),
        "turn_complete": bool(response.turn_complete),
        "interrupted": bool(response.interrupted),
        "error_code": _text(response.error_code),
        "error_message": response.error_message or "",
        "finish_reason": _text(response.finish_reason),
        "usage": None if usage is None else _flow_usage(usage),
        "grounding": None if grounding is None else _json(grounding),
    }


def flow_response(response: AdkResponse) -> LlmResponse:
    """Return a response as the dialect has it."""
    return LlmResponse(**_said(response))


def _flow_usage(usage: types.GenerateContentResponseUsageMetadata) -> Usage:
    return Usage(
        prompt=usage.prompt_token_count or 0,
        answer=usage.candidates_token_count or 0,
        thoughts=usage.thoughts_token_count or 0,
        total=usage.total_token_count or 0,
    )


def flow_event(event: AdkEvent) -> Event:
    """Return an event as the dialect has it.

    Long-running calls stand in call order; behind them, those that a plugin took out
    of its content.
    """
    actions, long = event.actions, event.long_running_tool_ids or set()
    content = flow_content(event.content)
    calls = [] if content is None else [each.id for each in content.calls]
    ordered = (*calls, *sorted(long - set(calls)))
    return Event(
        **_said(event),
        author=event.author,
        id=event.id,
        invocation_id=event.invocation_id,
        branch=event.branch or "",
        timestamp=event.timestamp,
        long_running_ids=tuple(each for each in ordered if each in long),
        actions=Actions(
            state_delta=actions.state_delta,
            artifact_delta=actions.artifact_delta,
            requested_confirmations={
                key: flow_confirmation(each)
                for key, each in actions.requested_tool_confirmations.items()
            },
            skip_summarization=actions.skip_summarization,
            transfer_to_agent=actions.transfer_to_agent or "",
            escalate=actions.escalate,
        ),
    )


def flow_confirmation(asked: Any) -> ToolConfirmation:  # noqa: ANN401  # of google-adk
    """Return a confirmation as the dialect has it."""
    return ToolConfirmation(
        hint=asked.hint, confirmed=asked.confirmed, payload=asked.payload
    )


def flow_request(request: AdkRequest) -> LlmRequest:
    """Return a request as the dialect has it; its tools are declarations only."""
    config = request.config
    schema = config.response_schema or config.response_json_schema
    return LlmRequest(
        model=request.model or "",
        contents=[flow_content(each) or Content() for each in request.contents],
        config=GenerateConfig(
            system_instruction=_instruction(config.system_instruction),
            tools=tuple(map(_declaration, declarations(config))),
            response_schema=None if schema is None else _schema(schema),
            response_mime_type=config.response_mime_type or "",
            temperature=config.temperature,
        ),
    )


def declarations(
    config: types.GenerateContentConfig,
) -> Sequence[types.FunctionDeclaration]:
    """Return the declarations of functions that a request has, in order."""
    tools: Any = config.tools or ()
    return [one for each in tools for one in each.function_declarations or ()]


def change_request(request: AdkRequest, before: LlmRequest, after: LlmRequest) -> None:
    """Change a request of google-adk as a hook changed what it was given of it."""
    if after.contents != before.contents:
        request.contents = [adk_content(x) or types.Content() for x in after.contents]
    config = request.config
    if after.config.system_instruction != before.config.system_instruction:
        config.system_instruction = after.config.system_instruction
    left = {each.name for each in after.config.tools}
    tools: Any = config.tools or ()
    for each in tools:
        given = each.function_declarations or ()
        each.function_declarations = [x for x in given if x.name in left]


def _declaration(given: types.FunctionDeclaration) -> FunctionDeclaration:
    schema: Any = given.parameters_json_schema or given.parameters
    return FunctionDeclaration(
        name=given.name or "",
        description=given.description or "",
        parameters=None if schema is None else _schema(schema),
    )


def _schema(schema: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a schema as JSON, whatever it was written as."""
    if isinstance(schema, type):
        return plain_schema(cast("type[BaseModel]", schema).model_json_schema())
    return plain_schema(schema if is_mapping(schema) else _json(schema))


def _instruction(given: Any) -> str:  # noqa: ANN401  # as the vendor's package takes it
    return given if isinstance(given, str) else ""


def _json(value: Any) -> Any:  # noqa: ANN401  # a model of pydantic, as JSON
    return value.model_dump(mode="json", exclude_none=True)


def _text(value: Any) -> str:  # noqa: ANN401  # a text or one of an enumeration
    found = value.value if isinstance(value, Enum) else value
    return str(found or "")
