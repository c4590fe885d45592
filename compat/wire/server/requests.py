"""What a request for a chat completion has to be: what OpenAI refuses is refused here.

What a script cannot do is refused as well, and said to be so: a second choice (``n``),
probabilities of tokens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from compat.wire.server.refusals import (
    ApiError,
    Check,
    array,
    either,
    fields,
    flag,
    mapping,
    matching,
    missing,
    nullable,
    number,
    one_of,
    text,
    whole,
    wrong_type,
    wrong_value,
)
from refengine.testing.json_values import is_mapping

NAME: Final = r"[a-zA-Z0-9_-]{1,64}"
"""What a tool can be called."""
_WHO: Final = nullable(matching(r"[^\s<|\\/>]+"))


def _of_type(kinds: Mapping[str, Check]) -> Check:
    """Return the check for an object whose ``type`` says which check it has to pass."""
    known = one_of(*kinds)

    def check(param: str, value: object) -> None:
        mapping(param, value)
        found: Mapping[str, Any] = value if is_mapping(value) else {}
        if "type" not in found:
            raise missing(f"{param}.type")
        known(f"{param}.type", found["type"])
        kinds[found["type"]](param, value)

    return check


def _part(name: str, inner: Check = mapping) -> Check:
    return fields({"type": text, name: inner}, {}, open_ended=True)


_TEXT: Final = {"text": _part("text", text)}
_SAID: Final = _TEXT | {"refusal": _part("refusal", text)}
_SHOWN: Final = _TEXT | {
    "image_url": _part("image_url", fields({"url": text}, {}, open_ended=True)),
    "input_audio": _part("input_audio"),
    "file": _part("file"),
}
_FUNCTION: Final = fields({"name": matching(NAME), "arguments": text}, {})
_CUSTOM: Final = fields({"name": matching(NAME), "input": text}, {})
_CALL: Final = _of_type(
    {
        "function": fields({"id": text, "type": text, "function": _FUNCTION}, {}),
        "custom": fields({"id": text, "type": text, "custom": _CUSTOM}, {}),
    }
)


def _content(parts: Mapping[str, Check]) -> Check:
    """Return the check for a text, or for an array of such parts."""
    in_parts = array(_of_type(parts))

    def check(param: str, value: object) -> None:
        if value is None:
            raise wrong_type(param, "a string or an array of parts", value)
        either(str, text, in_parts)(param, value)

    return check


def _anything(param: str, value: object) -> None:
    """Ask for nothing: a client may send back whatever an answer had there."""


_SPOKEN: Final = fields({"role": text, "content": _content(_TEXT)}, {"name": _WHO})
_ASSISTANT: Final = fields(
    {"role": text},
    {
        "content": nullable(_content(_SAID)),
        "name": _WHO,
        "refusal": nullable(text),
        "audio": nullable(mapping),
        "annotations": _anything,
        "function_call": nullable(_FUNCTION),
        "tool_calls": nullable(array(_CALL)),
    },
)
ROLES: Final[Mapping[str, Check]] = {
    "system": _SPOKEN,
    "developer": _SPOKEN,
    "user": fields({"role": text, "content": _content(_SHOWN)}, {"name": _WHO}),
    "assistant": _ASSISTANT,
    "tool": fields(
        {"role": text, "content": _content(_TEXT), "tool_call_id": text},
        {"name": _WHO},
    ),
    "function": fields({"role": text, "content": nullable(text), "name": text}, {}),
}


def check_messages(param: str, value: object) -> None:
    """Refuse what OpenAI refuses; raises ApiError."""
    array(_check_message)(param, value)
    messages: Sequence[Mapping[str, Any]] = value  # type: ignore[assignment]  # checked
    waiting = _Waiting()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            waiting.answered(at, message["tool_call_id"])
        else:
            waiting.over()
            waiting = _Waiting(at, dict(_ids(message)))
    waiting.over()


def _check_message(param: str, value: object) -> None:
    mapping(param, value)
    found: Mapping[str, Any] = value if is_mapping(value) else {}
    if "role" not in found:
        raise missing(f"{param}.role")
    one_of(*ROLES)(f"{param}.role", found["role"])
    ROLES[found["role"]](param, found)
    if found["role"] == "assistant" and not any(
        found.get(name) is not None
        for name in ("content", "tool_calls", "function_call", "refusal", "audio")
    ):
        raise wrong_value(
            f"{param}.content", "a text, unless there are tool calls", None
        )


def _ids(message: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    for call in message.get("tool_calls") or ():
        yield call["id"], None


class _Waiting:
    """The calls of one assistant message, and which message answered each."""

    def __init__(
        self, at: int = 0, answers: dict[str, int | None] | None = None
    ) -> None:
        self._at = at
        self._answers = answers or {}

    def answered(self, at: int, call_id: str) -> None:
        """Take a tool message; raises ApiError."""
        if call_id not in self._answers:
            raise ApiError(
                f"messages[{at}] has the role 'tool', but no preceding message with"
                f" 'tool_calls' asks for its tool_call_id '{call_id}'.",
                param=f"messages.[{at}].role",
            )
        earlier = self._answers[call_id]
        if earlier is not None:
            raise ApiError(
                f"The tool_call_id '{call_id}' is answered by messages[{earlier}] and"
                f" once more by messages[{at}].",
                param=f"messages.[{at}].tool_call_id",
            )
        self._answers[call_id] = at

    def over(self) -> None:
        """Ask that all calls are answered; raises ApiError."""
        left = [name for name, answer in self._answers.items() if answer is None]
        if left:
            raise ApiError(
                f"messages[{self._at}] is an assistant message with 'tool_calls', so a"
                " tool message for each 'tool_call_id' must follow it at once; none"
                f" does for: {', '.join(left)}.",
                param=f"messages.[{self._at}].role",
            )


_DECLARED: Final = fields(
    {"name": matching(NAME)},
    {"description": text, "parameters": mapping, "strict": nullable(flag)},
)


def _tool(param: str, value: object) -> None:
    """Ask for a function, or for a custom tool."""
    fields({"type": one_of("function", "custom")}, {}, open_ended=True)(param, value)
    custom = is_mapping(value) and value["type"] == "custom"
    named = fields({"name": matching(NAME)}, {}, open_ended=True)
    part: dict[str, Check] = {"custom": named} if custom else {"function": _DECLARED}
    fields({"type": text} | part, {})(param, value)


_TYPED: Final = fields({"type": text}, {}, open_ended=True)
_FORMAT: Final = fields(
    {"type": one_of("text", "json_object", "json_schema")},
    {"json_schema": fields({"name": matching(NAME)}, {}, open_ended=True)},
)
_STREAM_OPTIONS: Final = fields(
    {}, {"include_usage": flag, "include_obfuscation": flag}
)
_PENALTY: Final = nullable(number(-2, 2))
_OPTIONAL_TEXT: Final = nullable(text)
_OBJECT: Final = nullable(mapping)

REQUIRED: Final[Mapping[str, Check]] = MappingProxyType(
    {"model": text, "messages": check_messages}
)
OPTIONAL: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "audio": _OBJECT,
        "frequency_penalty": _PENALTY,
        "function_call": either(str, one_of("none", "auto"), mapping),
        "functions": array(_DECLARED),
        "logit_bias": _OBJECT,
        "logprobs": nullable(flag),
        "max_completion_tokens": nullable(whole(1)),
        "max_tokens": nullable(whole(1)),
        "metadata": _OBJECT,
        "modalities": nullable(array(one_of("text", "audio"))),
        "moderation": _OBJECT,
        "n": nullable(whole(1, 128)),
        "parallel_tool_calls": flag,
        "prediction": _OBJECT,
        "presence_penalty": _PENALTY,
        "prompt_cache_key": _OPTIONAL_TEXT,
        "prompt_cache_options": mapping,
        "prompt_cache_retention": _OPTIONAL_TEXT,
        "reasoning_effort": _OPTIONAL_TEXT,
        "response_format": _FORMAT,
        "safety_identifier": _OPTIONAL_TEXT,
        "seed": nullable(whole(-sys.maxsize - 1, sys.maxsize)),
        "service_tier": _OPTIONAL_TEXT,
        "stop": nullable(either(str, text, array(text, most=4))),
        "store": nullable(flag),
        "stream": nullable(flag),
        "stream_options": nullable(_STREAM_OPTIONS),
        "temperature": nullable(number(0, 2)),
        "tool_choice": either(str, one_of("none", "auto", "required"), _TYPED),
        "tools": array(_tool),
        "top_logprobs": nullable(whole(0, 20)),
        "top_p": nullable(number(0, 1)),
        "user": text,
        "verbosity": nullable(one_of("low", "medium", "high")),
        "web_search_options": mapping,
    }
)
"""Every parameter of OpenAI's chat completions; null is allowed where it is there."""


def parsed(body: bytes) -> Mapping[str, Any]:
    """Return what a body holds; raises ApiError if that is not a JSON object."""
    try:
        found: Any = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ApiError(f"The body is not JSON that can be read: {error}.") from error
    if not is_mapping(found):
        raise wrong_type("body", "an object", found)
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def check_request(body: Mapping[str, Any]) -> None:
    """Refuse what OpenAI refuses, and what a script cannot do; raises ApiError."""
    if body.get("model") in (None, ""):
        raise missing("model")
    fields(REQUIRED, OPTIONAL)("", body)
    _check_tools(body)
    if body.get("stream_options") is not None and not body.get("stream"):
        raise _only("stream_options", "'stream' is on")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        raise _only("top_logprobs", "'logprobs' is on")
    if body.get("max_tokens") and body.get("max_completion_tokens"):
        raise _only("max_tokens", "'max_completion_tokens' is not given as well")
    _check_scripted(body)


def _check_tools(body: Mapping[str, Any]) -> None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and "tools" not in body:
            raise _only(name, "'tools' are given")
    choice = body.get("tool_choice")
    if not is_mapping(choice) or choice["type"] != "function":
        return
    fields({"type": text, "function": fields({"name": text}, {})}, {})(
        "tool_choice", choice
    )
    named = {tool["function"]["name"] for tool in body["tools"] if "function" in tool}
    if choice["function"]["name"] not in named:
        raise _only("tool_choice", "it names one of the 'tools'", "function.name")


def _check_scripted(body: Mapping[str, Any]) -> None:
    if (body.get("n") or 1) > 1:
        raise _not_scripted("n", "a script has one choice for each call, so n is 1")
    if body.get("logprobs"):
        raise _not_scripted("logprobs", "scripted answers have no probabilities")
    if "audio" in (body.get("modalities") or ()):
        raise _not_scripted("modalities", "scripted answers are text")


def _only(param: str, when: str, inner: str = "") -> ApiError:
    text = f"'{param}' is only allowed when {when}."
    return ApiError(text, param=f"{param}.{inner}" if inner else param)


def _not_scripted(param: str, why: str) -> ApiError:
    text = f"'{param}' cannot be served here: {why}."
    return ApiError(text, param=param, code="unsupported_value")
