"""What the Gemini API answers, as a response: the seed's converter.

An answer without a candidate, or a candidate without parts, becomes an error code: why
the prompt was blocked, or why the model stopped.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from compat.dialects.flow.content import (
    Blob,
    CodeResult,
    Content,
    FileData,
    FunctionCall,
    FunctionResponse,
    Part,
)
from compat.dialects.flow.model import LlmResponse, Usage

Raw: TypeAlias = Mapping[str, Any]

UNKNOWN: Final = "UNKNOWN_ERROR"
"""The error code of an answer that says nothing, not even why."""


def response_of(answer: Raw) -> LlmResponse:
    """Return the response that an answer of ``generateContent`` is, as its JSON has it.

    Of several candidates the first one counts.
    """
    candidates = cast("Sequence[Raw]", answer.get("candidates") or ())
    usage = _usage(answer.get("usageMetadata"))
    if not candidates:
        return _blocked(answer.get("promptFeedback") or {}, usage)
    first = candidates[0]
    reason = str(first.get("finishReason", ""))
    content = _content(first.get("content") or {})
    if not content.parts:
        message = str(first.get("finishMessage", ""))
        return LlmResponse(error_code=reason, error_message=message, usage=usage)
    return LlmResponse(
        content=content,
        finish_reason=reason,
        grounding=first.get("groundingMetadata"),
        usage=usage,
    )


def _blocked(feedback: Raw, usage: Usage | None) -> LlmResponse:
    return LlmResponse(
        error_code=str(feedback.get("blockReason", UNKNOWN)),
        error_message=str(feedback.get("blockReasonMessage", "")),
        usage=usage,
    )


def _usage(given: Raw | None) -> Usage | None:
    if given is None:
        return None
    return Usage(
        prompt=given.get("promptTokenCount", 0),
        answer=given.get("candidatesTokenCount", 0),
        thoughts=given.get("thoughtsTokenCount", 0),
        total=given.get("totalTokenCount", 0),
    )


def _content(given: Raw) -> Content:
    parts = cast("Sequence[Raw]", given.get("parts") or ())
    return Content(str(given.get("role", "model")), tuple(map(_part, parts)))


def _part(given: Raw) -> Part:
    fields: dict[str, Any] = {
        field: read(given[key]) for key, (field, read) in _PARTS.items() if key in given
    }
    rest = {key: each for key, each in given.items() if key not in _PARTS}
    return Part(**fields, metadata=rest)


def _call(given: Raw) -> FunctionCall:
    return FunctionCall(given["name"], given.get("args") or {}, given.get("id") or "")


def _response(given: Raw) -> FunctionResponse:
    response = given.get("response")
    return FunctionResponse(given["name"], response, given.get("id") or "")


def _blob(given: Raw) -> Blob:
    data = base64.b64decode(given.get("data", ""))
    return Blob(data, given.get("mimeType", ""), given.get("displayName", ""))


def _file(given: Raw) -> FileData:
    names = given.get("mimeType", ""), given.get("displayName", "")
    return FileData(given.get("fileUri", ""), *names)


def _code_result(given: Raw) -> CodeResult:
    outcome = str(given.get("outcome", "OUTCOME_OK"))
    return CodeResult(given.get("output", ""), outcome.removeprefix("OUTCOME_").lower())


_PARTS: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "text": ("text", str),
    "thought": ("thought", bool),
    "functionCall": ("call", _call),
    "functionResponse": ("response", _response),
    "inlineData": ("blob", _blob),
    "fileData": ("file", _file),
    "executableCode": ("code", lambda given: str(given["code"])),
    "codeExecutionResult": ("code_result", _code_result),
}
