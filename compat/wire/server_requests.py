"""What a request for a chat completion has to be: what OpenAI refuses is refused here.

What a script cannot do is refused as well, and said to be so: a second choice (``n``),
probabilities of tokens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from compat.wire.server_checks import (
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
)
from compat.wire.server_errors import ApiError
from compat.wire.server_messages import NAME, check_messages
from refengine.testing.narrowing import is_mapping

_FUNCTION: Final = fields(
    {"name": matching(NAME)},
    {"description": text, "parameters": mapping, "strict": nullable(flag)},
)


def _tool(param: str, value: object) -> None:
    """Ask for a function, or for a custom tool."""
    fields({"type": one_of("function", "custom")}, {}, open_ended=True)(param, value)
    custom = is_mapping(value) and value["type"] == "custom"
    named = fields({"name": matching(NAME)}, {}, open_ended=True)
    part: dict[str, Check] = {"custom": named} if custom else {"function": _FUNCTION}
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
_TEXT: Final = nullable(text)
_OBJECT: Final = nullable(mapping)

REQUIRED: Final[Mapping[str, Check]] = MappingProxyType(
    {"model": text, "messages": check_messages}
)
OPTIONAL: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "audio": _OBJECT,
        "frequency_penalty": _PENALTY,
        "function_call": either(str, one_of("none", "auto"), mapping),
        "functions": array(_FUNCTION),
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
        "prompt_cache_key": _TEXT,
        "prompt_cache_options": mapping,
        "prompt_cache_retention": _TEXT,
        "reasoning_effort": _TEXT,
        "response_format": _FORMAT,
        "safety_identifier": _TEXT,
        "seed": nullable(whole(-sys.maxsize - 1, sys.maxsize)),
        "service_tier": _TEXT,
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
    """Return what a body holds; raises ApiError if that is no JSON object."""
    try:
        found: Any = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ApiError(f"The body is no JSON that can be read: {error}.") from error
    if not is_mapping(found):
        raise wrong_type("body", "an object", found)
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


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
        raise _only("max_tokens", "'max_completion_tokens' is not given, too")
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
