"""What the scripted server refuses, as OpenAI does, and what it takes."""

import json
from contextlib import suppress

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import completion_create_params as params

from compat.wire.server.refusals import ApiError
from compat.wire.server.requests import (
    OPTIONAL,
    REQUIRED,
    check_request,
    parsed,
)
from compat.wire.server.scripted import ScriptedServer
from compat.wire.server.shapes import prompt_tokens
from refengine.testing.scenario_files import read_scenario

USER = {"role": "user", "content": "hi"}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "r"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def request(**more):
    return {"model": "m", "messages": [USER], **more}


def talk(*messages):
    return request(messages=list(messages))


def refused(body):
    with pytest.raises(ApiError) as caught:
        check_request(body)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        request(),
        request(temperature=0.5, max_tokens=None, stop=["a"], n=1, user="ann"),
        request(tools=[TOOL], tool_choice="auto", parallel_tool_calls=False),
        request(
            tools=[TOOL],
            tool_choice={"type": "function", "function": {"name": "f"}},
        ),
        request(tools=[{"type": "custom", "custom": {"name": "f"}}]),
        request(stream=True, stream_options={"include_usage": True}),
        request(stream_options=None),
        request(response_format={"type": "json_schema", "json_schema": {"name": "x"}}),
        talk({"role": "developer", "content": [{"type": "text", "text": "be brief"}]}),
        talk(USER, CALLING, RESULT, {"role": "assistant", "content": "done"}, USER),
        talk(USER, CALLING, RESULT, CALLING, RESULT),
        talk(USER, {**CALLING, "refusal": None, "audio": None, "annotations": []}),
    ],
)
def test_what_openai_takes_is_taken(body) -> None:
    messages = body["messages"]
    if messages[-1].get("tool_calls"):
        messages.append(RESULT)

    check_request(body)


def test_an_image_is_part_of_a_users_message_only() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}

    check_request(talk({"role": "user", "content": [picture]}))
    error = refused(talk({"role": "system", "content": [picture]}))
    assert error.param == "messages[0].content[0].type"


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"messages": [USER]}, "model", "missing_required_parameter"),
        (request(model=""), "model", "missing_required_parameter"),
        (request(model=3), "model", "invalid_type"),
        ({"model": "m"}, "messages", "missing_required_parameter"),
        (talk(), "messages", "empty_array"),
        (request(messages="hi"), "messages", "invalid_type"),
        (request(messages=None), "messages", "invalid_type"),
        (talk("hi"), "messages[0]", "invalid_type"),
        (talk({"content": "hi"}), "messages[0].role", "missing_required_parameter"),
        (talk({**USER, "role": "robot"}), "messages[0].role", "invalid_value"),
        (talk({**USER, "role": None}), "messages[0].role", "invalid_type"),
        (talk({"role": "user"}), "messages[0].content", "missing_required_parameter"),
        (talk({**USER, "content": None}), "messages[0].content", "invalid_type"),
        (talk({**USER, "content": []}), "messages[0].content", "empty_array"),
        (
            talk({**USER, "content": [{}]}),
            "messages[0].content[0].type",
            "missing_required_parameter",
        ),
        (
            talk({**USER, "content": [{"type": "text"}]}),
            "messages[0].content[0].text",
            "missing_required_parameter",
        ),
        (talk({**USER, "name": "a b"}), "messages[0].name", "invalid_value"),
        (talk({**USER, "colour": "red"}), "messages[0].colour", "unknown_parameter"),
        (
            talk({"role": "assistant", "content": None}),
            "messages[0].content",
            "invalid_value",
        ),
        (
            talk(USER, {**CALLING, "tool_calls": []}),
            "messages[1].tool_calls",
            "empty_array",
        ),
        (
            talk(USER, {**CALLING, "tool_calls": [{**CALL, "id": 1}]}, RESULT),
            "messages[1].tool_calls[0].id",
            "invalid_type",
        ),
        (
            talk({"role": "tool", "content": "r"}),
            "messages[0].tool_call_id",
            "missing_required_parameter",
        ),
        (talk(USER, CALLING), "messages.[1].role", None),
        (talk(USER, CALLING, USER, RESULT), "messages.[1].role", None),
        (talk(USER, RESULT), "messages.[1].role", None),
        (talk(USER, CALLING, RESULT, USER, RESULT), "messages.[4].role", None),
        (
            talk(USER, CALLING, RESULT, RESULT),
            "messages.[3].tool_call_id",
            None,
        ),
        (request(tools=[]), "tools", "empty_array"),
        (request(tools=None), "tools", "invalid_type"),
        (request(tools=[{}]), "tools[0].type", "missing_required_parameter"),
        (
            request(tools=[{"type": "function"}]),
            "tools[0].function",
            "missing_required_parameter",
        ),
        (
            request(tools=[{"type": "function", "function": {"name": "a b"}}]),
            "tools[0].function.name",
            "invalid_value",
        ),
        (request(tool_choice="auto"), "tool_choice", None),
        (request(parallel_tool_calls=True), "parallel_tool_calls", None),
        (request(tools=[TOOL], tool_choice="some"), "tool_choice", "invalid_value"),
        (
            request(
                tools=[TOOL],
                tool_choice={"type": "function", "function": {"name": "g"}},
            ),
            "tool_choice.function.name",
            None,
        ),
        (request(temperature=3), "temperature", "invalid_value"),
        (request(temperature="hot"), "temperature", "invalid_type"),
        (request(temperature=True), "temperature", "invalid_type"),
        (request(max_tokens=0), "max_tokens", "invalid_value"),
        (request(max_tokens=1.5), "max_tokens", "invalid_type"),
        (request(max_tokens=1, max_completion_tokens=1), "max_tokens", None),
        (request(stop=list("abcde")), "stop", "invalid_value"),
        (request(stream="yes"), "stream", "invalid_type"),
        (request(stream_options={}), "stream_options", None),
        (
            request(stream=True, stream_options={"usage": True}),
            "stream_options.usage",
            "unknown_parameter",
        ),
        (request(top_logprobs=1), "top_logprobs", None),
        (
            request(response_format={"type": "xml"}),
            "response_format.type",
            "invalid_value",
        ),
        (request(temprature=1), "temprature", "unknown_parameter"),
        (request(n=2), "n", "unsupported_value"),
        (request(n=0), "n", "invalid_value"),
        (request(logprobs=True), "logprobs", "unsupported_value"),
        (request(modalities=["audio"]), "modalities", "unsupported_value"),
    ],
)
def test_what_openai_refuses_is_refused_by_its_parameter(body, param, code) -> None:
    error = refused(body)

    assert (error.param, error.code) == (param, code)
    assert (error.kind.status, error.kind.type) == (400, "invalid_request_error")


def test_calls_without_a_result_are_named() -> None:
    two = {**CALLING, "tool_calls": [CALL, {**CALL, "id": "2"}]}

    text = str(refused(talk(USER, two, {**RESULT, "tool_call_id": "2"}, USER)))

    assert text == (
        "messages[1] is an assistant message with 'tool_calls', so a tool message for"
        " each 'tool_call_id' must follow it at once; none does for: 1."
    )


def test_every_parameter_of_the_official_client_is_known() -> None:
    shared = params.CompletionCreateParamsBase.__annotations__

    assert set(REQUIRED) | set(OPTIONAL) == {*shared, "stream"}


def test_null_is_taken_where_the_official_client_may_send_it() -> None:
    shared = params.CompletionCreateParamsBase.__annotations__
    nullable = {
        name
        for name, annotation in shared.items()
        if "Optional[" in str(annotation) or "None]" in str(annotation)
    } & set(OPTIONAL)

    def takes_null(name):
        try:
            OPTIONAL[name](name, None)
        except ApiError:
            return False
        return True

    assert {name for name in OPTIONAL if takes_null(name)} == nullable | {"stream"}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"\xff", b'{"n": NaN}', b"[" * 100_000, b"1" * 5_000]
)
def test_a_body_that_is_no_object_is_refused(body) -> None:
    with pytest.raises(ApiError) as caught:
        parsed(body)

    assert caught.value.kind.status == 400


NAMES = sorted(
    {*REQUIRED, *OPTIONAL, "role", "content", "tool_calls", "tool_call_id", "id"}
    | {"type", "function", "custom", "name", "arguments", "parameters", "text"}
)
WORDS = ("user", "assistant", "tool", "function", "text", "auto", "1", "f")
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS)
TREES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=12,
)
MESSAGES = st.lists(
    st.sampled_from([USER, CALLING, RESULT])
    | st.dictionaries(st.sampled_from(NAMES), TREES, max_size=5)
    | st.builds(
        lambda message, more: {**message, **more},
        st.sampled_from([USER, CALLING, RESULT]),
        st.dictionaries(st.sampled_from(NAMES), TREES, max_size=2),
    ),
    max_size=4,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(MESSAGES, st.dictionaries(st.sampled_from(NAMES), TREES, max_size=2))
def test_any_request_is_taken_or_refused_and_counted(messages, more) -> None:
    body = {"model": "m", "messages": messages, **more}

    with suppress(ApiError):
        check_request(body)
        assert prompt_tokens(body["messages"]) >= 0


@pytest.fixture(scope="module")
def server():
    scenario = read_scenario({"agent": {}, "model_script": ["assistant:hi"]})
    with ScriptedServer(scenario) as running:
        yield running


def post(server, body, **headers):
    address = f"{server.base_url}/chat/completions"
    with httpx2.Client(trust_env=False) as asking:
        return asking.post(address, content=body, headers=headers)


@pytest.mark.parametrize("key", [None, "", "Bearer", "Basic YTpi"])
def test_without_a_key_nothing_is_answered(server, key) -> None:
    headers = {} if key is None else {"authorization": key}

    answer = post(server, json.dumps(request()), **headers)

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"


def test_a_refusal_reaches_the_client_and_takes_no_answer(server) -> None:
    answer = post(server, b"{", authorization="Bearer any")

    assert answer.status_code == 400
    assert answer.json() == {
        "error": {
            "message": answer.json()["error"]["message"],
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    }
    assert server.session().calls == 0
