"""The scripted server, asked by the official client."""

import asyncio
import json
import socket
import threading
from pathlib import Path

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from compat.wire.server.loopback import HOST, PortTakenError
from compat.wire.server.refusals import KINDS
from compat.wire.server.scripted import ScriptedServer
from compat.wire.server.sessions import NotAnAnswerError, SessionNameError
from refengine.testing.scenario_files import read_scenario

USER = {"role": "user", "content": "hi"}
TWO_CALLS = 'assistant:[1:add({"a": 1, "b": 2})][2:weather({"city": "Köln"})]'


def scenario(*script, **more):
    return read_scenario({"agent": {}, "model_script": list(script), **more})


def served(*script, **more):
    return ScriptedServer(scenario(*script, **more))


def address(server):
    return HOST, int(server.root.rpartition(":")[2])


def client(server):
    return OpenAI(base_url=server.base_url, api_key="any", max_retries=0)


def create(server, *messages, **more):
    with client(server) as asking:
        return asking.chat.completions.create(
            model="gpt-4o", messages=list(messages) or [USER], **more
        )


def streamed(server, *messages, **more):
    with client(server) as asking:
        return list(
            asking.chat.completions.create(
                model="gpt-4o", messages=list(messages) or [USER], stream=True, **more
            )
        )


def deltas(events):
    """Return what each event adds, without what it leaves out."""
    return [
        choice.delta.model_dump(exclude_unset=True)
        for each in events
        for choice in each.choices
    ]


def text_of(events):
    return "".join(delta.get("content") or "" for delta in deltas(events))


def raw(server, body, **headers):
    """Send bytes as they are."""
    sent = {"authorization": "Bearer any", **headers}
    address = f"{server.base_url}/chat/completions"
    with httpx2.Client(trust_env=False) as asking:
        return asking.post(address, content=body, headers=sent)


def asked(**more):
    return json.dumps({"model": "m", "messages": [USER], **more}).encode()


def test_an_answer_is_a_chat_completion() -> None:
    with served("assistant:Grüß dich 🎉") as server:
        answer = json.loads(raw(server, asked(model="gpt-4o")).content)

    assert answer == {
        "id": "chatcmpl-default-1",
        "object": "chat.completion",
        "created": 1_700_000_001,
        "model": "gpt-4o",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Grüß dich 🎉",
                    "refusal": None,
                    "annotations": [],
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
        "usage": {
            "prompt_tokens": 1,
            "completion_tokens": 3,
            "total_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
    }


def test_calls_are_answered_one_after_the_other() -> None:
    with served("assistant:one", "assistant:two") as server:
        said = [create(server).choices[0].message.content for _ in range(3)]

    assert said == ["one", "two", "EXHAUSTED"]


def test_equal_requests_get_equal_bytes_from_another_server() -> None:
    def played():
        with served("assistant:one", TWO_CALLS) as server:
            found = [raw(server, asked()), raw(server, asked(stream=True))]
            return [(each.headers.raw, each.content) for each in found]

    assert played() == played()


def test_only_tool_calls_leave_the_content_null() -> None:
    with served(TWO_CALLS) as server:
        choice = create(server).choices[0]

    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert [each.to_dict() for each in choice.message.tool_calls or ()] == [
        {
            "id": "1",
            "type": "function",
            "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
        },
        {
            "id": "2",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city": "Köln"}'},
        },
    ]


def test_text_and_tool_calls_come_together() -> None:
    with served("assistant:Let me see.[1:look({})]") as server:
        choice = create(server).choices[0]

    assert choice.message.content == "Let me see."
    assert choice.finish_reason == "tool_calls"


def test_an_empty_answer_is_empty_and_not_null() -> None:
    with served("assistant:", "assistant:") as server:
        assert create(server).choices[0].message.content == ""
        events = streamed(server)

    assert text_of(events) == ""
    assert events[-1].choices[0].finish_reason == "stop"


def test_a_stream_begins_with_the_role_and_ends_with_the_reason() -> None:
    with served("assistant:ein schöner 🎉 Tag") as server:
        events = streamed(server)

    assert deltas(events) == [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "ein "},
        {"content": "schöner "},
        {"content": "🎉 "},
        {"content": "Tag"},
        {},
    ]
    reasons = [each.choices[0].finish_reason for each in events]
    assert reasons == [*[None] * 5, "stop"]


def test_events_of_a_stream_share_id_and_time() -> None:
    with served("assistant:a b c") as server:
        events = streamed(server)

    assert {(each.id, each.created, each.object) for each in events} == {
        ("chatcmpl-default-1", 1_700_000_001, "chat.completion.chunk")
    }


def test_a_stream_is_sent_as_events_with_an_end_mark() -> None:
    with served("assistant:a") as server:
        answer = raw(server, asked(stream=True))

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, done, rest = answer.text.split("\n\n")
    assert all(each.startswith('data: {"id":') for each in events)
    assert (done, rest) == ("data: [DONE]", "")


def test_scripted_chunks_stay_as_they_are_cut() -> None:
    chunks = ["assistant:a b", "assistant:", "assistant:c[1:t({})]"]
    with served({"chunks": chunks}, {"chunks": chunks}) as server:
        assert create(server).choices[0].message.content == "a bc"
        events = streamed(server)

    said = [each["content"] for each in deltas(events) if "content" in each]
    assert said[1:] == ["a b", "", "c"]
    assert events[-1].choices[0].finish_reason == "tool_calls"


def calls_in(events):
    return [call for each in deltas(events) for call in each.get("tool_calls", ())]


def test_streamed_calls_open_with_id_and_name_and_go_on_in_pieces() -> None:
    with served(TWO_CALLS) as server:
        events = streamed(server)

    assert deltas(events)[0]["content"] is None
    found = calls_in(events)
    assert found[0] == {
        "index": 0,
        "id": "1",
        "type": "function",
        "function": {"name": "add", "arguments": ""},
    }
    assert found[1] == {"index": 0, "function": {"arguments": '{"a":'}}
    assert [each["index"] for each in found] == [0] * 5 + [1] * 5


def pieces(*calls):
    """Write a chunk that brings pieces of calls."""
    return json.dumps({"tool_calls": list(calls)})


IN_TURNS = {
    "chunks": [
        pieces({"index": 0, "id": "1", "name": "add", "arguments": ""}),
        pieces({"index": 1, "id": "2", "name": "weather", "arguments": "{"}),
        pieces({"index": 0, "arguments": "{}"}, {"index": 1, "arguments": '"a": '}),
        pieces({"index": 1, "arguments": "1}"}),
    ]
}


def test_pieces_of_a_script_are_sent_as_they_are_cut() -> None:
    with served(IN_TURNS, IN_TURNS) as server:
        calls = create(server).choices[0].message.tool_calls or ()
        found = calls_in(streamed(server))

    assert [each.to_dict()["function"] for each in calls] == [
        {"name": "add", "arguments": "{}"},
        {"name": "weather", "arguments": '{"a": 1}'},
    ]
    assert [each["index"] for each in found] == [0, 1, 0, 1, 1]
    assert [each["function"]["arguments"] for each in found] == [
        *("", "{", "{}", '"a": ', "1}")
    ]
    assert [each.get("id") for each in found] == ["1", "2", None, None, None]


def test_calls_of_later_chunks_are_counted_on() -> None:
    chunks = ["assistant:[1:a(x)]", "assistant:[2:b(y)]"]
    with served({"chunks": chunks}) as server:
        found = calls_in(streamed(server))

    assert [(each["index"], each.get("id")) for each in found] == [
        (0, "1"),
        (0, None),
        (1, "2"),
        (1, None),
    ]


def test_usage_comes_last_when_it_is_asked_for() -> None:
    with served("assistant:four", "assistant:four") as server:
        events = streamed(server, stream_options={"include_usage": True})
        without = streamed(server)

    *before, last = events
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.total_tokens == 2
    assert all(each.to_dict()["usage"] is None for each in before)
    assert not any("usage" in each.to_dict() for each in without)


def test_a_lone_surrogate_arrives() -> None:
    chunks = {"chunks": ["assistant:<u+d83d>", "assistant:<u+de00>"]}
    with served(chunks) as server:
        said = [each.get("content") for each in deltas(streamed(server))]

    assert said[1:3] == ["\ud83d", "\ude00"]


def beside(content, **extra):
    """Write an answer with something beside its text."""
    return json.dumps({"content": content, "extra": extra})


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_can_be_told_to_end_for_another_reason(reason) -> None:
    with served(*[beside("so far", finish_reason=reason)] * 2) as server:
        choice = create(server).choices[0]
        events = streamed(server)

    assert (choice.message.content, choice.finish_reason) == ("so far", reason)
    assert "finish_reason" not in choice.message.to_dict()
    assert text_of(events) == "so far"
    assert events[-1].choices[0].finish_reason == reason


def test_a_refusal_stands_beside_the_content() -> None:
    with served(*[beside("", refusal="I cannot.")] * 2) as server:
        choice = create(server).choices[0]
        found = deltas(streamed(server))

    assert choice.message.refusal == "I cannot."
    assert choice.message.content is None
    assert choice.finish_reason == "stop"
    assert found == [
        {"role": "assistant", "content": None, "refusal": None},
        {"refusal": "I cannot."},
        {},
    ]


def test_an_answer_can_have_an_id_of_its_own() -> None:
    with served(json.dumps({"content": "a", "id": "mine"})) as server:
        assert create(server).id == "mine"


@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_is_a_server_error_that_is_not_tried_again(stream) -> None:
    with served({"error": "boom"}, "assistant:for the next call") as server:
        asking = client(server).with_options(max_retries=2)
        with asking, pytest.raises(openai.InternalServerError) as caught:
            asking.chat.completions.create(model="m", messages=[USER], stream=stream)

    assert caught.value.body == {
        "message": "boom",
        "type": "server_error",
        "param": None,
        "code": None,
    }
    assert server.session().calls == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("rate_limit", openai.RateLimitError),
        ("Rate-limit reached, wait", openai.RateLimitError),
        ("RateLimitError", openai.RateLimitError),
        ("HTTP 429", openai.RateLimitError),
        ("HTTP 404 gone", openai.NotFoundError),
        ("HTTP 200", openai.InternalServerError),
        ("rate_limit_exceeded: 3 a minute", openai.RateLimitError),
        ("insufficient_quota", openai.RateLimitError),
        ("overloaded", openai.InternalServerError),
        ("server_error", openai.InternalServerError),
        ("context_length", openai.BadRequestError),
        ("invalid_request: no", openai.BadRequestError),
        ("invalid_api_key", openai.AuthenticationError),
        ("permission_denied", openai.PermissionDeniedError),
        ("model_not_found", openai.NotFoundError),
        ("length", openai.InternalServerError),
        ("connection", openai.APIConnectionError),
        ("connection: reset", openai.APIConnectionError),
    ],
)
def test_the_start_of_a_name_chooses_the_error(name, error) -> None:
    with served({"error": name}) as server, pytest.raises(error) as caught:
        create(server)

    assert type(caught.value) is error
    assert server.session().calls == 1


def test_a_rate_limit_says_when_to_come_back() -> None:
    served_so = served({"error": "rate_limit: slow down"})
    with served_so as server, pytest.raises(openai.RateLimitError) as caught:
        create(server)

    assert caught.value.response.headers["retry-after"] == "1"
    assert caught.value.code == "rate_limit_exceeded"


def test_no_kind_hides_behind_the_start_of_another() -> None:
    assert not [
        (one, other)
        for one in KINDS
        for other in KINDS
        if one != other and other.startswith(one)
    ]


def test_a_stream_that_fails_breaks_off() -> None:
    entry = {"chunks": ["assistant:a ", "assistant:b"], "stream_error": "boom"}
    said = []
    with served(entry) as server, client(server) as asking:
        stream = asking.chat.completions.create(model="m", messages=[USER], stream=True)
        with pytest.raises(openai.APIConnectionError) as caught:
            said.extend(each.choices[0].delta.content for each in stream)

    assert isinstance(caught.value.__cause__, httpx2.RemoteProtocolError)
    assert said == ["", "a ", "b"]


def test_an_error_in_a_stream_is_its_last_event() -> None:
    entry = {"chunks": ["assistant:a"], "stream_error": "in stream overloaded"}
    said = []
    with served(entry) as server, client(server) as asking:
        stream = asking.chat.completions.create(model="m", messages=[USER], stream=True)
        with pytest.raises(openai.APIError, match="in stream overloaded") as caught:
            said.extend(each.choices[0].delta.content for each in stream)

    assert type(caught.value) is openai.APIError
    assert said == ["", "a"]


def test_a_status_in_a_name_brings_type_and_code_with_it() -> None:
    name = "HTTP 400 invalid_request_error tool_use_failed"
    with served({"error": name}) as server:
        answer = raw(server, asked())

    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "message": name,
        "type": "invalid_request_error",
        "param": None,
        "code": "tool_use_failed",
    }


def test_a_stream_error_fails_a_call_that_does_not_stream() -> None:
    entry = {"chunks": ["assistant:a"], "stream_error": "boom"}
    failing = pytest.raises(openai.InternalServerError, match="boom")
    with served(entry) as server, failing:
        create(server)


def test_past_its_end_a_script_fails_or_repeats_itself_as_it_says() -> None:
    with served("assistant:one", script_end="fail") as server:
        create(server)
        with pytest.raises(openai.InternalServerError) as caught:
            create(server)
    with served("assistant:one", script_end="repeat_last") as server:
        said = [create(server).choices[0].message.content for _ in range(2)]

    assert caught.value.code == "script_ended"
    assert "model call 2, but the script has 1 answers" in str(caught.value)
    assert said == ["one", "one"]


def test_each_session_has_its_own_place_in_the_script() -> None:
    with served("assistant:one", "assistant:two") as server:
        ann, ben = server.session("ann"), server.session("ben")
        said = [
            create(each).choices[0].message.content for each in (ann, server, ann, ben)
        ]

    assert said == ["one", "one", "two", "one"]
    assert (ann.calls, len(ben.unplayed)) == (2, 1)
    assert [each.name for each in server.sessions] == ["ann", "ben", "default"]


def test_the_path_of_the_default_session_leads_to_it() -> None:
    with served("assistant:one", "assistant:two") as server:
        create(server)

        assert create(server.session()).choices[0].message.content == "two"


def test_a_session_can_have_its_own_script() -> None:
    with served("assistant:one") as server:
        other = server.open("other", scenario("assistant:mine"))

        assert create(other).choices[0].message.content == "mine"
        with pytest.raises(SessionNameError, match="is there already"):
            server.open("other", scenario())


def test_bodies_are_kept_by_session_refused_ones_too() -> None:
    with served("assistant:one") as server:
        create(server, temperature=0)
        create(server.session("ann"))
        with pytest.raises(openai.BadRequestError):
            create(server, n=2)

    assert server.requests["ann"] == ({"messages": [USER], "model": "gpt-4o"},)
    first, second = server.requests["default"]
    assert (first["temperature"], second["n"]) == (0, 2)
    assert server.session().calls == 1


def test_a_name_that_is_no_path_is_refused() -> None:
    with served() as server, pytest.raises(SessionNameError, match="cannot be a path"):
        server.session("a/b")


def test_a_client_cannot_make_up_such_a_name() -> None:
    with served() as server, httpx2.Client(trust_env=False) as asking:
        key = {"authorization": "Bearer any"}
        answer = asking.get(f"{server.root}/a%20b/v1/models", headers=key)

    assert answer.status_code == 404


def test_models_are_listed() -> None:
    with served() as server, client(server) as asking:
        assert [each.id for each in asking.models.list()] == ["scripted"]
        assert asking.models.retrieve("scripted").object == "model"
        with pytest.raises(openai.NotFoundError):
            asking.models.retrieve("gpt-5")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/v1/responses", 404), ("DELETE", "/v1/models", 405), ("GET", "/", 404)],
)
def test_other_paths_are_refused_with_what_there_is(method, path, status) -> None:
    with served() as server, httpx2.Client(trust_env=False) as asking:
        answer = asking.request(method, f"{server.root}{path}")

    assert answer.status_code == status
    assert "only POST /v1/chat/completions" in answer.json()["error"]["message"]


def test_the_asynchronous_client_gets_the_same() -> None:
    async def ask(server):
        url = server.base_url
        async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as asking:
            whole = await asking.chat.completions.create(model="m", messages=[USER])
            stream = await asking.chat.completions.create(
                model="m", messages=[USER], stream=True
            )
            return whole.choices[0].message.content, [each async for each in stream]

    with served("assistant:a b", "assistant:c d") as server:
        said, events = asyncio.run(ask(server))

    assert said == "a b"
    assert text_of(events) == "c d"


def test_calls_at_the_same_time_share_the_script() -> None:
    async def ask(server):
        url = server.base_url
        async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as asking:
            asked = [
                asking.chat.completions.create(model="m", messages=[USER])
                for _ in range(20)
            ]
            return await asyncio.gather(*asked)

    script = [f"assistant:{n}" for n in range(20)]
    with served(*script) as server:
        answers = asyncio.run(ask(server))

    said = {each.choices[0].message.content for each in answers}
    assert said == {str(n) for n in range(20)}


def test_the_end_leaves_no_thread_and_frees_the_port() -> None:
    before = threading.active_count()
    with served("assistant:one") as server, client(server) as asking:
        asking.chat.completions.create(model="m", messages=[USER])
        port = int(server.root.rpartition(":")[2])
        assert threading.active_count() == before + 1

    assert threading.active_count() == before
    with ScriptedServer(scenario(), port=port) as again:
        assert again.root == server.root


HALF = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\n"
    b"Authorization: Bearer any\r\nContent-Length: 9\r\n\r\n{"
)


@pytest.mark.parametrize("sent", [b"", b"POST", HALF])
def test_the_end_waits_for_no_client(sent, caplog) -> None:
    running = served("assistant:hi")
    with running as server, socket.create_connection(address(server)) as slow:
        slow.sendall(sent)
        create(server)  # by now the server has seen what was sent before
        running._end()
        assert slow.recv(1) == b""

    assert caplog.messages == []


def test_a_client_that_leaves_is_not_an_error(caplog) -> None:
    with served("assistant:hi") as server:
        with socket.create_connection(address(server)) as slow:
            slow.sendall(HALF)
            create(server)
        create(server)

    assert caplog.messages == []


def test_it_listens_on_loopback_only() -> None:
    with served() as server:
        assert server.root.startswith("http://127.0.0.1:")
        assert server._socket.getsockname()[0] == HOST


def test_a_port_in_use_is_told() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match="name another, or 0"):
            ScriptedServer(scenario(), port=port).__enter__()


@pytest.mark.parametrize("entry", ["user:hi", {"chunks": ["tool(1):hi"]}])
def test_a_script_whose_answers_are_none_is_refused(entry) -> None:
    with pytest.raises(NotAnAnswerError, match=r"model_script\[0\]"):
        ScriptedServer(scenario(entry))


def row(name, kind):
    wait = "".join(f", `{key}: {value}`" for key, value in kind.headers.items())
    code = f" `{kind.code}`" if kind.code else ""
    return f"| `{name}` | {kind.status}{wait} |{code} |"


def test_the_page_tells_each_kind_of_failure() -> None:
    page = Path(__file__).parent.parent / "cassettes" / "README.md"
    rows = set(page.read_text("utf-8").splitlines())

    assert {row(name, kind) for name, kind in KINDS.items()} <= rows
