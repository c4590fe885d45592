"""Requests of the four interfaces, read as canonical ones and written again."""

import json
from urllib.parse import urlsplit

import pytest

from compat.models.exchanges import api_of
from compat.wire.cassette_files import read_cassette
from compat.wire.interfaces.anthropic import ANTHROPIC
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.gemini import GEMINI, _camel, _lowered
from compat.wire.interfaces.request import SentBody
from compat.wire.interfaces.responses import RESPONSES
from compat.wire.interfaces.spoken import INTERFACES
from tests.wire_support import corpus
from tests.written_requests import written_request

BY_NAME = {each.name: each for each in INTERFACES.values()}
TEXTS = {"text", "input_text", "output_text"}
NOT_CARRIED = {
    CHAT: {
        "messages[].tool_calls[].index": "a place of a stream, sent back by mistake",
    },
    RESPONSES: {
        "input[].id": "a name that the vendor gave, which is not part of what is said",
        "input[].status": "that an item has ended is known of what is sent back",
        "input[].namespace": "a group of tools of the vendor's search; calls have none",
    },
    ANTHROPIC: {},
    GEMINI: {
        "contents[].parts[].functionCall.id": "known by its place where it has none",
        "contents[].parts[].functionResponse.id": "the same",
        "contents[].parts[].functionResponse.response.error": "read as its text",
        "contents[].parts[].functionResponse.response.output": "the same",
        "contents[].parts[].functionResponse.response.result": "what a text is put in",
        "contents[].parts": "how many there are, where an empty text is one of them",
        "tools": "in how many groups the functions stand",
        "systemInstruction.role": "nobody but the system says it",
    },
}
"""What a request says that is not written again, with the reason."""
USUAL = {
    "stream": (False,),
    "tool_choice": ("auto", {"type": "auto"}),
    "is_error": (False,),
    "toolConfig": ({"functionCallingConfig": {"mode": "AUTO"}},),
}
RENAMED = {
    "max_completion_tokens": "max_tokens",
    "parametersJsonSchema": "parameters",
}


def said(tree, interface):
    """Return a request in the one form of those that mean the same."""
    if isinstance(tree, list):
        return [said(each, interface) for each in tree]
    if not isinstance(tree, dict):
        return tree
    made = {}
    for key, value in tree.items():
        found = said(_form(key, value), interface)
        if found not in (None, "", {}, []) and found not in USUAL.get(key, ()):
            made[RENAMED.get(key, key)] = found
    if "strict" in made and made["strict"] is (interface == RESPONSES):
        del made["strict"]
    if "role" in made and interface == RESPONSES:
        made.setdefault("type", "message")
    if "function" in made:
        made.setdefault("type", "function")
    return made


def _form(key, value):
    if key == "arguments" and isinstance(value, str):
        return json.loads(value or "{}")
    if key == "stop" and isinstance(value, str):
        return [value]
    if key in {"parameters", "parametersJsonSchema"} and isinstance(value, dict):
        return _lowered(value)
    plain = key in {"content", "system"} and isinstance(value, list)
    if plain and all(_is_text(each) for each in value):
        return "".join(each["text"] for each in value)
    return value


def _is_text(part):
    return set(part) <= {"type", "text"} and part.get("type", "text") in TEXTS


def differences(one, other, path=""):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            at = f"{path}.{key}" if path else key
            yield from differences(one.get(key), other.get(key), at)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for each, its in zip(one, other, strict=True):
            yield from differences(each, its, f"{path}[]")
    elif one != other:
        yield path


def test_every_recorded_request_is_written_again_as_it_was() -> None:
    seen = {name: set() for name in BY_NAME}
    count = 0
    for path in corpus():
        for exchange in read_cassette(path):
            interface = BY_NAME.get(api_of(exchange))
            if interface is None:
                continue
            body = json.loads(exchange.request.body)
            address = urlsplit(exchange.request.url).path
            asked = interface.read(SentBody(body, address))
            again = written_request(asked)
            plain = _camel(body) if interface.name == GEMINI else body
            sides = (said(plain, interface.name), said(again, interface.name))

            assert interface.read(SentBody(again, address)) == asked, path.name
            seen[interface.name] |= set(differences(*sides))
            count += 1

    assert count == 99
    for name, listed in NOT_CARRIED.items():
        assert sorted(seen[name]) == sorted(listed)


FUNCTION = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
CALL = {"name": "look", "arguments": '{"at": 1}'}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
BODIES = {
    CHAT: {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 9,
        "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object"}},
        },
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]},
            {
                "role": "assistant",
                "content": "let me",
                "tool_calls": [{"id": "c", "type": "function", "function": CALL}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "found"},
            {"role": "assistant", "refusal": "I will not"},
        ],
    },
    RESPONSES: {
        "model": "m",
        "instructions": "be kind",
        "tool_choice": {"type": "function", "name": "look"},
        "text": {"format": {"type": "json_object"}},
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [{"type": "function", **FUNCTION, "strict": False}],
        "input": [
            {"type": "message", "role": "user", "content": "hi"},
            {"type": "reasoning", "encrypted_content": "xyz", "summary": []},
            {"type": "function_call", "call_id": "c", **CALL},
            {"type": "function_call_output", "call_id": "c", "output": "found"},
        ],
    },
    ANTHROPIC: {
        "model": "m",
        "max_tokens": 9,
        "system": [
            {
                "type": "text",
                "text": "be kind",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "tools": [
            {"name": "look", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "c", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": "no",
                        "is_error": True,
                    }
                ],
            },
        ],
    },
    GEMINI: {
        "systemInstruction": {"parts": [{"text": "be kind"}]},
        "generationConfig": {"temperature": 0.5, "thinkingConfig": {"x": 1}},
        "toolConfig": {
            "functionCallingConfig": {
                "mode": "ANY",
                "allowedFunctionNames": ["look", "find"],
            }
        },
        "tools": [{"functionDeclarations": [FUNCTION]}, {"googleSearch": {}}],
        "contents": [
            {"role": "user", "parts": [{"text": "see"}, {"inlineData": {"d": "AA=="}}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"id": "c", "name": "look", "args": {}},
                        "thoughtSignature": "s",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "c",
                            "name": "look",
                            "response": {"result": "found"},
                        }
                    }
                ],
            },
        ],
    },
}


@pytest.mark.parametrize("name", BODIES)
def test_request_with_all_kinds_of_parts_is_written_again(name) -> None:
    """Images, reasoning, marks of caches, tools of the vendor's and failed results."""
    path = "/v1beta/models/m:generateContent"
    asked = BY_NAME[name].read(SentBody(BODIES[name], path))
    again = written_request(asked)

    assert BY_NAME[name].read(SentBody(again, path)) == asked
    assert list(differences(said(BODIES[name], name), said(again, name))) == []
