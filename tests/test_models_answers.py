"""Answers and requests of chat completions, in the dialects of their vendors."""

import json
from typing import Any

import pytest

from compat.models.chat_answers import answer_of
from compat.models.chat_requests import LeftOut, request_of
from compat.models.errors import RequestError, ShapeError
from compat.models.exchanges import OTHER, api_of, read_exchanges
from compat.wire.exchanges import Exchange, Request, Response
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.recorded import RecordedAnswer
from refengine.messages import Message, ToolCall

URL = "https://vendor.example/v1/chat/completions"


def answered(tree: Any, status: int = 200) -> tuple[RecordedAnswer, dict[str, int]]:
    left = LeftOut()
    body = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    return answer_of(status, body, left), dict(left.found)


def said(message: dict[str, Any], **choice: Any) -> Message | None:
    answer, _ = answered({"choices": [{"index": 0, "message": message, **choice}]})
    return answer.whole


def call(**parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [parts]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        ("", ""),
        ([], ""),
        (["a", "b"], "ab"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
    ],
)
def test_content_is_a_text_or_nothing_or_parts(content: Any, text: str):
    assert said({"role": "assistant", "content": content}) == Message("assistant", text)


@pytest.mark.parametrize(
    ("parts", "made"),
    [
        (
            {"id": "1", "type": "function", "function": {"name": "t", "arguments": ""}},
            ToolCall("1", "t", ""),
        ),
        ({"id": "1", "function": {"name": "t"}, "index": 0}, ToolCall("1", "t", "")),
        (
            {"id": None, "function": {"name": "t", "arguments": None}},
            ToolCall("", "t", ""),
        ),
        ({"id": 7, "function": {"name": "t"}}, ToolCall("7", "t", "")),
        (
            {"id": "1", "function": {"name": "t", "arguments": {"a": "ä"}}},
            ToolCall("1", "t", '{"a": "ä"}'),
        ),
        (
            {"id": "1", "type": "custom", "custom": {"name": "t", "input": "x"}},
            ToolCall("1", "t", "x"),
        ),
    ],
)
def test_call_is_read_in_the_shapes_that_vendors_give_it(parts: Any, made: ToolCall):
    assert said(call(**parts)) == Message("assistant", "", (made,))


def test_calls_of_one_message_keep_their_order():
    calls = [{"id": str(n), "function": {"name": "t", "arguments": ""}} for n in (2, 1)]

    message = said({"role": "assistant", "content": None, "tool_calls": calls})

    assert message is not None
    assert [each.id for each in message.tool_calls] == ["2", "1"]


def test_call_of_the_old_form_has_no_id():
    old = {"content": None, "function_call": {"name": "t", "arguments": "{}"}}

    assert said(old) == Message("assistant", "", (ToolCall("", "t", "{}"),))


@pytest.mark.parametrize("key", ["refusal", "reasoning", "reasoning_content"])
def test_text_beside_the_content_goes_to_extra_by_its_name(key: str):
    message = said({"role": "assistant", "content": "a", key: "why"})

    assert message == Message("assistant", "a", extra={key: "why"})


def test_parts_that_are_thinking_or_a_refusal_go_to_extra():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "refusal", "refusal": "no"},
        {"type": "text", "text": "a"},
    ]

    assert said({"content": parts}) == Message(
        "assistant", "a", extra={"thinking": "hm", "refusal": "no"}
    )


def test_what_is_not_carried_is_counted_by_its_place():
    message = {"role": "assistant", "content": [{"type": "image_url"}], "audio": {}}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    tree = {"id": "1", "usage": {}, "choices": [choice, {"index": 1}]}

    answer, left = answered(tree)

    assert answer.whole == Message("assistant", "")
    assert left == {
        "response.id": 1,
        "response.usage": 1,
        "response.choices[1:]": 1,
        "response.choices[].finish_reason": 1,
        "response.choices[].message.audio": 1,
        "response.choices[].message.content[image_url]": 1,
    }


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_end_that_is_no_plain_one_is_noted(reason: str):
    choice = {"message": {"content": "a"}, "finish_reason": reason}

    answer, _ = answered({"choices": [choice]})

    assert answer.notes == (f"the answer ended by {reason}",)


@pytest.mark.parametrize(
    ("status", "tree", "name"),
    [
        (
            400,
            {"error": {"type": "invalid_request_error", "code": "tool_use_failed"}},
            "HTTP 400 invalid_request_error tool_use_failed",
        ),
        (429, {"error": {"code": 429, "message": "later"}}, "HTTP 429"),
        (429, {"error": {"code": "429"}}, "HTTP 429"),
        (422, {"object": "error", "type": "invalid", "code": "3051"}, None),
        (500, {"error": "down"}, "HTTP 500"),
        (500, {"detail": "down"}, "HTTP 500"),
        (401, {"error": {"type": "no key sk-123", "code": None}}, "HTTP 401"),
        (200, {"error": {"code": 502}}, "HTTP 200 502"),
        (200, {"choices": [{"error": {"code": 502}}]}, "HTTP 200 502"),
        (502, b"<html>bad gateway</html>", "HTTP 502 without a JSON object"),
        (200, b"", "HTTP 200 without a JSON object"),
        (200, [1], "HTTP 200 without a JSON object"),
        (200, {"choices": []}, "HTTP 200 without a choice"),
        (200, {}, "HTTP 200 without a choice"),
        (200, {"choices": [{"index": 0}]}, "HTTP 200 without a message"),
        (200, {"choices": "x"}, "HTTP 200 of another shape"),
        (
            200,
            {"choices": [{"message": {"content": 5}}]},
            "HTTP 200 of another shape",
        ),
        (
            200,
            {"choices": [{"message": {"tool_calls": [{"function": {"name": []}}]}}]},
            "HTTP 200 of another shape",
        ),
    ],
)
def test_failure_is_named_by_status_type_and_code(
    status: int, tree: Any, name: str | None
):
    answer, _ = answered(tree, status)

    assert answer.whole is None
    assert answer.failure == (name or "HTTP 422 invalid 3051")


def test_text_of_an_error_is_left_out_and_counted():
    tree = {"error": {"message": "org-x is out of money"}, "user_id": "u"}

    answer, left = answered(tree, 402)

    assert answer.failure == "HTTP 402"
    assert left == {"response.user_id": 1, "response.error.message": 1}


def asked(**parts: Any) -> tuple[Any, dict[str, int]]:
    left = LeftOut()
    return request_of(json.dumps(parts).encode(), left), dict(left.found)


def test_request_has_messages_tools_and_whether_it_streams():
    tools = [
        {"type": "function", "function": {"name": "a", "description": "d"}},
        {"function": {"name": "b"}},
        {"type": "custom", "custom": {"name": "c"}},
        {"type": "web_search"},
        {"type": "function", "function": {"name": "a"}},
    ]

    found, left = asked(
        messages=[{"role": "user", "content": "hi"}],
        tools=tools,
        functions=[{"name": "d"}],
        stream=True,
        model="m",
    )

    assert found.messages == (Message("user", "hi"),)
    assert found.tools == ("a", "b", "c", "d")
    assert found.streaming
    assert left == {
        "request.model": 1,
        "request.tools[].function.description": 1,
        "request.tools[] of type web_search": 1,
    }


@pytest.mark.parametrize(
    ("tree", "made"),
    [
        ({"role": "system", "content": "x"}, Message("system", "x")),
        ({"role": "developer", "content": "x"}, Message("system", "x")),
        (
            {"role": "tool", "content": "x", "tool_call_id": "1"},
            Message("tool", "x", tool_call_id="1"),
        ),
        ({"role": "tool", "content": "x"}, Message("tool", "x", tool_call_id="")),
        (
            {"role": "function", "name": "t", "content": "x"},
            Message("tool", "x", tool_call_id=""),
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [{"function": {"name": "t", "arguments": "{}"}}],
            },
            Message("assistant", "", (ToolCall("", "t", "{}"),)),
        ),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "x"}, {"type": "image_url"}],
            },
            Message("user", "x"),
        ),
        (
            {"role": "assistant", "content": "x", "reasoning_content": "hm"},
            Message("assistant", "x", extra={"reasoning_content": "hm"}),
        ),
    ],
)
def test_message_of_a_request_is_read(tree: Any, made: Message):
    found, _ = asked(messages=[tree])

    assert found.messages == (made,)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "request has no JSON body"),
        (b"[1]", "request has a body that is not an object"),
        (b"{}", "request has no list of messages"),
        (b'{"messages": ["hi"]}', "request.messages[] is not an object"),
        (b'{"messages": [{"role": "bot"}]}', "request.messages[].role is none"),
        (b'{"messages": [{"role": "user", "content": 5}]}', "content is not text"),
        (b'{"messages": [], "tools": {}}', "request.tools is not a list"),
        (b'{"messages": [], "tools": [1]}', "request.tools[] is not an object"),
        (b'{"messages": [], "functions": {}}', "request.functions is not a list"),
    ],
)
def test_request_without_input_is_refused_with_its_place(body: bytes, problem: str):
    with pytest.raises(ShapeError) as caught:
        request_of(body, LeftOut())
    assert problem in str(caught.value)

    exchange = Exchange(Request("POST", URL, {}, body), Response(200))
    with pytest.raises(RequestError) as refused:
        read_exchanges([exchange, exchange], "x.yaml")
    assert str(refused.value).startswith("x.yaml, interaction 1: ")
    assert problem in str(refused.value)
    assert "record the request" in str(refused.value)


def exchange(url: str, request: str = "", response: str = "") -> Exchange:
    return Exchange(
        Request("POST", url, {}, request.encode()),
        Response(200, "OK", {}, response.encode()),
    )


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("api.openai.com/v1/chat/completions", CHAT),
        (
            "x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            CHAT,
        ),
        ("api.openai.com/v1/responses", "OpenAI Responses"),
        ("api.openai.com/v1/responses/resp_1/cancel", "OpenAI Responses"),
        ("api.anthropic.com/v1/messages?beta=true", "Anthropic Messages"),
        (
            "g.example/v1/publishers/anthropic/models/c:streamRawPredict",
            "Anthropic Messages",
        ),
        ("g.example/v1beta/models/m:generateContent", "Gemini generateContent"),
        ("g.example/v1/models/m:streamGenerateContent", "Gemini generateContent"),
        ("b.example/model/m/converse", "Bedrock Converse"),
        ("b.example/model/m/converse-stream", "Bedrock Converse"),
        ("b.example/model/m/invoke", "Bedrock InvokeModel"),
        ("api.cohere.com/v2/chat", "Cohere chat"),
        ("127.0.0.1:11434/api/chat", "Ollama"),
        ("api.openai.com/v1/completions", "OpenAI completions"),
        ("api.openai.com/v1/embeddings", "embeddings"),
        ("t.example/v1/traces/ingest", OTHER),
        ("notcohere.example/v2/chat", OTHER),
    ],
)
def test_api_is_told_by_the_address(path: str, api: str):
    assert api_of(exchange(f"https://{path}")) == api


@pytest.mark.parametrize(
    ("request_", "response", "api"),
    [
        ('{"messages": []}', '{"choices": []}', CHAT),
        ('{"messages": []}', 'data: {"choices": []}\n\n', CHAT),
        ('{"messages": []}', '{"message": {}}', OTHER),
        ('{"prompt": ""}', '{"choices": []}', OTHER),
        ("", "", OTHER),
    ],
)
def test_chat_completions_under_another_address_are_told_by_their_shape(
    request_: str, response: str, api: str
):
    url = "https://api.writer.example/v1/chat"

    assert api_of(exchange(url, request_, response)) == api


@pytest.mark.parametrize(
    ("request_", "response", "api"),
    [
        ('{"messages": []}', '{"choices": []}', CHAT),
        ('{"messages": []}', '{"content": []}', "Anthropic Messages"),
        ('{"input": "hi"}', '{"output": []}', "OpenAI Responses"),
        ('{"input": "hi"}', '{"data": []}', OTHER),
        ('{"contents": []}', '{"candidates": []}', "Gemini generateContent"),
        ("{}", "{}", OTHER),
    ],
)
def test_where_the_address_is_redacted_the_body_tells(request_, response, api):
    assert api_of(exchange("**REDACTED**", request_, response)) == api


def test_what_asks_no_model_is_no_chat():
    listing = Exchange(Request("GET", URL), Response(200))

    assert api_of(listing) == OTHER
