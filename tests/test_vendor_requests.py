"""Requests of vendors' interfaces as one canonical request, the recorded ones too."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from compat.migration.programs.checking import (
    SpokenInterfaces,
    masks_between,
    uncompared,
)
from compat.wire.cassette_files import read_cassette
from compat.wire.interfaces.anthropic import ANTHROPIC, anthropic_request
from compat.wire.interfaces.chat import CHAT, chat_request
from compat.wire.interfaces.counterparts import OWN, SETTINGS
from compat.wire.interfaces.gemini import GEMINI, gemini_request
from compat.wire.interfaces.request import SentBody, VendorRequest
from compat.wire.interfaces.responses import RESPONSES, responses_request
from compat.wire.interfaces.spoken import interface_at
from refengine.messages import Message
from refengine.testing.trace import to_json
from tests.wire_support import corpus
from tools.pages.__main__ import pages_now

SORTS = {"type", "role", "object", "status", "id", "mode", "cache_control"}
"""Keys whose values say of what sort something is, or what of a stored part it was."""


def texts(tree: Any, key: str = "") -> Iterator[str]:
    """Yield the texts of a JSON value that somebody may have written."""
    if isinstance(tree, dict):
        for name, each in tree.items():
            if name not in SORTS:
                yield from texts(each, name)
    elif isinstance(tree, list):
        for each in tree:
            yield from texts(each, key)
    elif isinstance(tree, str) and tree not in {"", "auto"} and key != "arguments":
        yield tree


def test_no_text_of_a_recorded_request_is_lost() -> None:
    seen: dict[str, int] = {}
    for file in corpus():
        for number, exchange in enumerate(read_cassette(file), 1):
            path = urlsplit(exchange.request.url).path.strip("/")
            found = interface_at(exchange.request.method, path)
            if found is None:
                continue
            body = json.loads(exchange.request.body)
            asked = found.read(SentBody(body, path))
            seen[found.name] = seen.get(found.name, 0) + 1
            whole = [
                to_json(asked.messages),
                [each.json for each in asked.tools],
                asked.options,
            ]
            kept = json.dumps(whole, ensure_ascii=False).lower()
            lost = [
                each
                for each in texts(body)
                if json.dumps(each, ensure_ascii=False)[1:-1].lower() not in kept
            ]
            assert lost == [], (file.name, number)

    assert len(seen) == 4
    assert all(many >= 10 for many in seen.values()), seen


def test_stored_response_is_put_where_it_is_named() -> None:
    before = (Message("user", "hi"), Message("assistant", "hello"))
    body = {"model": "m", "previous_response_id": "r", "input": "and now?"}

    found = responses_request(body, {"r": before})

    assert found.messages == (*before, Message("user", "and now?"))
    assert responses_request(body, {}).own == {"not_stored": "r"}


def test_thoughts_in_a_row_and_between_calls_are_all_kept_and_part_no_answer() -> None:
    thoughts = [{"type": "reasoning", "encrypted_content": each} for each in "abc"]
    calls = [
        {"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"}
        for each in "xy"
    ]
    given = [*thoughts[:2], calls[0], thoughts[2], calls[1]]

    found = responses_request({"input": given}, {})

    (message,) = found.messages
    assert [each.id for each in message.tool_calls] == ["x", "y"]
    places = [(0, at, each) for at, each in enumerate(thoughts)]
    kept = [{"message": m, "at": at, "part": each} for m, at, each in places]
    assert found.own == {"thoughts": kept}


def test_functions_of_responses_are_strict_unless_they_say_otherwise() -> None:
    tool = {"type": "function", "name": "a", "parameters": {}}

    strict = responses_request({"tools": [tool]}, {}).tools[0]
    plain = responses_request({"tools": [{**tool, "strict": False}]}, {}).tools[0]
    chat = chat_request({"tools": [{"type": "function", "function": tool}]}).tools[0]

    assert (strict.strict, plain.strict, chat.strict) == (True, False, False)


def test_choice_of_tools_and_format_have_one_form_in_all_interfaces() -> None:
    schema = {"type": "object"}
    found = [
        chat_request(
            {
                "tool_choice": {"type": "function", "function": {"name": "a"}},
                "max_tokens": 5,
                "stop": "x",
            }
        ),
        responses_request(
            {
                "tool_choice": {"type": "function", "name": "a"},
                "max_output_tokens": 5,
            },
            {},
        ),
        anthropic_request(
            {
                "tool_choice": {"type": "tool", "name": "a"},
                "max_tokens": 5,
                "stop_sequences": ["x"],
            }
        ),
        gemini_request(
            {
                "toolConfig": {
                    "functionCallingConfig": {
                        "mode": "ANY",
                        "allowedFunctionNames": ["a"],
                    }
                },
                "generationConfig": {
                    "maxOutputTokens": 5,
                    "stopSequences": ["x"],
                    "responseMimeType": "application/json",
                    "responseJsonSchema": schema,
                },
            },
            "v1beta/models/m:generateContent",
        ),
    ]

    assert [each.settings["tool_choice"] for each in found] == [{"name": "a"}] * 4
    assert [each.settings["max_tokens"] for each in found] == [5] * 4
    assert [each.settings.get("stop") for each in found] == [["x"], None, ["x"], ["x"]]
    assert found[3].settings["response_format"] == {
        "type": "json_schema",
        "schema": schema,
    }


def test_results_without_ids_of_gemini_go_to_their_calls_by_name_and_place() -> None:
    call = {"functionCall": {"name": "add", "args": {}}}
    result = {"functionResponse": {"name": "add", "response": {"result": "3"}}}
    contents = [
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [result, result]},
    ]

    said, *given = gemini_request({"contents": contents}, "m:generateContent").messages

    assert [each.tool_call_id for each in given] == [c.id for c in said.tool_calls]
    assert len({each.tool_call_id for each in given}) == 2


VALUES: dict[str, Any] = {
    "tool_choice": {"type": "none", "mode": "NONE"},
    "disable_parallel_tool_use": True,
    "responseMimeType": "application/json",
    "functionCallingConfig": {"mode": "NONE"},
    "parallel_tool_calls": False,
    "stream": True,
    "response_format": {"type": "json_object"},
}
"""What settings are set to whose readers ask what they say; others to 1."""
READERS: dict[str, Callable[[dict[str, Any]], VendorRequest]] = {
    CHAT: chat_request,
    RESPONSES: lambda body: responses_request(body, {}),
    ANTHROPIC: anthropic_request,
    GEMINI: lambda body: gemini_request(body, "models/m:streamGenerateContent"),
}


def placed(path: str) -> dict[str, Any]:
    """Return a body that has a value at a path."""
    *above, key = path.split(".")
    body: dict[str, Any] = {key: VALUES.get(key, 1)}
    for each in reversed(above):
        body = {each: body}
    return body


@pytest.mark.parametrize(
    ("interface", "ours", "theirs"),
    [(i, *pair) for i, names in SETTINGS.items() for pair in names.items()],
)
def test_each_setting_of_the_table_is_read_from_where_it_says(
    interface: str, ours: str, theirs: str
) -> None:
    asked = READERS[interface]({} if theirs.startswith("(") else placed(theirs))

    assert ours in asked.settings
    assert not asked.own


def test_every_own_name_has_a_reason_and_is_no_setting_there() -> None:
    for name, own in OWN.items():
        assert own.reason
        assert all(name not in SETTINGS[each] for each in own.interfaces)


def test_marks_of_a_cache_and_thoughts_are_kept_as_their_own() -> None:
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    said = {"messages": [{"role": "user", "content": [marked]}], "system": [marked]}
    thought = {"role": "model", "parts": [{"text": "hm", "thought": True}]}

    assert anthropic_request(said).own == {
        "cache_marks": ["system[0]", "messages[0].content[0]"]
    }
    asked = gemini_request({"contents": [thought]}, "m:generateContent")
    part = {"type": "thought", "text": "hm", "thought": True}
    assert asked.own == {"thoughts": [{"message": 0, "at": 0, "part": part}]}
    assert asked.messages == ()


def test_table_of_the_page_is_what_the_code_does() -> None:
    [(page, text)] = pages_now(["interfaces"])

    assert page.read_text("utf-8") == text


def test_what_has_no_counterpart_is_listed_and_only_between_interfaces() -> None:
    old, new = SpokenInterfaces(), SpokenInterfaces()
    old.hear(chat_request({"model": "m", "seed": 1, "logit_bias": {"1": 2}}))
    new.hear(responses_request({"model": "m", "store": False}, {}))

    found = [*uncompared({"old": old, "new": new})]

    assert [(e.side, e.name) for e in found] == [
        ("old", "seed"),
        ("old", "logit_bias"),
        ("new", "store"),
    ]
    assert all(each.reason for each in found)
    assert [*uncompared({"old": old, "new": old})] == []
    assert masks_between([old.names, old.names]) == ()


def test_between_vendors_only_what_a_side_sends_is_listed() -> None:
    tool = {"type": "function", "function": {"name": "a", "strict": True}}
    old, new = SpokenInterfaces(), SpokenInterfaces()
    old.hear(chat_request({"model": "m", "tools": [tool]}))
    new.hear(anthropic_request({"model": "m", "max_tokens": 5}))

    found = [*uncompared({"old": old, "new": new})]

    assert [(e.side, e.name) for e in found] == [
        ("both sides", "model"),
        ("new", "max_tokens"),
        ("old", "strict"),
    ]
